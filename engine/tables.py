"""Compact tables of texts that only grow.

Each has a *sealed* part, a few flat arrays without a Python object an entry, and a live part of
ordinary lists and dictionaries that new entries go into. `seal` moves the live part into new sealed
arrays, which may be written to a file and mapped from it; no answer changes. One thread writes;
readers need no lock: a reader looks at the live part first, and a seal puts its entries into the
sealed part before it takes them out of the live one.
"""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic_core import from_json, to_json

__all__ = [
    "HASH",
    "NONE",
    "Ids",
    "Index",
    "Ints",
    "Names",
    "Objects",
    "Strings",
    "Texts",
]

NONE: Final = -1
Ints = npt.NDArray[Any]

HASH: Final = 30  # bits of the hash of a text
_LONG: Final = 64  # words of 4 bytes; longer texts are hashed one by one


def prime() -> int:
    """A random prime of 30 bits, which is one digit of Python's whole numbers: the secret of an
    index, so that nobody can choose texts that all fall together. It begins with two ones, so that
    its remainders are spread over most of the buckets."""
    while True:
        candidate = secrets.randbits(27) << 1 | 3 << 28 | 1
        if all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7, 11, 13)):
            return candidate


_ASKED: Final = 4_096  # codes that are kept at hand beside the sealed ones


def spread(secret: int) -> int:
    """What remainders of a prime are multiplied with, modulo it, so that neighbours come apart: the
    prime over the golden ratio (Knuth, vol. 3, 6.4)."""
    return int(secret * 0.6180339887498949)


def text_hash(text: bytes, secret: int) -> int:
    """The remainder of a text, as one big-endian number, modulo a secret prime, spread: two given
    texts meet for few primes only (Karp and Rabin 1987)."""
    return int.from_bytes(text, "big") * spread(secret) % secret


def _text_hashes(blob: bytes, ends: Ints, secret: int) -> Ints:
    """`text_hash` of all texts of a blob, by Horner's rule over their words, many at a time."""
    starts = ends[:-1]
    factor = np.uint64(spread(secret))
    words = (np.diff(ends) + 3) // 4
    hashes = np.zeros(len(words), dtype=np.uint64)
    padded = np.frombuffer(bytes(4 * _LONG) + blob, dtype=np.uint8)
    for count in np.unique(words).tolist():
        chosen = np.flatnonzero(words == count)
        if count > _LONG:
            for i in chosen.tolist():
                hashes[i] = text_hash(blob[ends[i] : ends[i + 1]], secret)
            continue
        for some in np.array_split(chosen, len(chosen) // 65_536 + 1):
            end = ends[some + 1]
            before = 4 * count - (end - starts[some])  # of its first word, what is another's
            found = padded[(end + 4 * (_LONG - count))[:, None] + np.arange(4 * count)]
            found[np.arange(4 * count) < before[:, None]] = 0
            total = np.zeros(len(some), dtype=np.uint64)
            for word in found.view(">u4").astype(np.uint64).T:
                total = ((total << np.uint64(32)) | word) % np.uint64(secret)
            hashes[some] = total * factor % np.uint64(secret)
    return hashes


@dataclass(frozen=True, slots=True)
class Index:
    """Numbers found by a hash: those of one bucket lie side by side.

    ``heads`` (buckets + 1,) says where each bucket begins; ``entries`` are hash << 32 | number,
    in order.
    """

    shift: int
    heads: Any
    entries: Any

    @classmethod
    def over(cls, hashes: Ints, numbers: Ints, bits: int = 31, roomy: int = 0) -> Index:
        """The index of numbers by their hashes, which have up to 31 ``bits``; with 2^``roomy``
        times the usual number of buckets. O(n log n)."""
        shift = max(0, bits - max(1, len(hashes)).bit_length() - roomy)
        entries = np.sort(hashes.astype(np.int64) << 32 | numbers.astype(np.int64))
        bounds = np.arange(1 << (bits - shift), dtype=np.int64) << (shift + 32)
        # the end of the last bucket is 2^63, which no entry can say
        heads = np.append(np.searchsorted(entries, bounds), len(entries)).astype(np.int32)
        return cls(shift, heads.data, entries.data)


class Texts(NamedTuple):
    """Texts one after another: text i is ``blob[ends[i]:ends[i + 1]]``."""

    blob: Any
    ends: Any
    size: int


_NO_TEXTS: Final = Texts(b"", np.zeros(1, np.int64).data, 0)


def _joined(old: Texts, texts: Sequence[bytes]) -> Texts:
    ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts)) + old.ends[old.size]
    blob = bytes(old.blob) + b"".join(texts)
    return Texts(blob, np.concatenate([np.asarray(old.ends), ends]).data, old.size + len(texts))


def _blanked(old: Texts, numbers: Sequence[int], by: bytes) -> Texts:
    """Texts, some of which are overwritten, given in order. O(bytes)."""
    stored = np.asarray(old.ends)
    sizes = np.diff(stored[: old.size + 1])
    sizes[list(numbers)] = len(by)
    parts, start = [], 0
    for number in numbers:
        parts += [bytes(old.blob[start : stored[number]]), by]
        start = int(stored[number + 1])
    parts.append(bytes(old.blob[start : stored[old.size]]))
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Texts(b"".join(parts), ends.data, old.size)


class Strings:
    """Texts by number, in order of arrival."""

    def __init__(self) -> None:
        self.parts: tuple[Texts, list[str]] = (_NO_TEXTS, [])

    def __len__(self) -> int:
        sealed, live = self.parts
        return sealed.size + len(live)

    def __getitem__(self, number: int) -> str:
        (blob, ends, size), live = self.parts
        if number >= size:
            return live[number - size]
        return str(blob[ends[number] : ends[number + 1]], "utf-8", "surrogatepass")

    text = __getitem__

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def append(self, text: str) -> None:
        self.parts[1].append(text)

    @property
    def live(self) -> list[str]:
        """The texts that are not sealed yet, to be appended to."""
        return self.parts[1]

    def blank(self, numbers: Sequence[int]) -> None:
        """Empties texts, given in order. O(bytes) where one of them is sealed."""
        sealed, live = self.parts
        for number in numbers:
            if number >= sealed.size:
                live[number - sealed.size] = ""
        if inside := [number for number in numbers if number < sealed.size]:
            self.parts = (_blanked(sealed, inside, b""), live)

    def seal(self) -> Texts:
        """Moves the live texts into the sealed part."""
        sealed, live = self.parts
        if live:
            joined = _joined(sealed, [text.encode("utf-8", "surrogatepass") for text in live])
            self.parts = (joined, [])
        return self.parts[0]

    def load(self, sealed: Texts) -> None:
        """Takes a sealed part over."""
        self.parts = (sealed, [])


class Objects:
    """JSON values by number, in order of arrival; sealed as their JSON text."""

    def __init__(self) -> None:
        self.parts: tuple[Texts, list[object]] = (_NO_TEXTS, [])

    def __len__(self) -> int:
        sealed, live = self.parts
        return sealed.size + len(live)

    def __getitem__(self, number: int) -> object:
        (blob, ends, size), live = self.parts
        if number >= size:
            return live[number - size]
        value: object = from_json(bytes(blob[ends[number] : ends[number + 1]]))
        return value

    def append(self, value: object) -> None:
        self.parts[1].append(value)

    @property
    def live(self) -> list[object]:
        """The values that are not sealed yet, to be appended to."""
        return self.parts[1]

    def text(self, number: int) -> str:
        """The JSON text of a value."""
        (blob, ends, size), live = self.parts
        if number >= size:
            return to_json(live[number - size]).decode()
        return str(blob[ends[number] : ends[number + 1]], "utf-8")

    def blank(self, numbers: Sequence[int]) -> None:
        """Puts null in place of values, given in order. O(bytes) where one of them is sealed."""
        sealed, live = self.parts
        for number in numbers:
            if number >= sealed.size:
                live[number - sealed.size] = None
        if inside := [number for number in numbers if number < sealed.size]:
            self.parts = (_blanked(sealed, inside, b"null"), live)

    def seal(self) -> Texts:
        """Moves the live values into the sealed part."""
        sealed, live = self.parts
        if live:
            self.parts = (_joined(sealed, [to_json(value) for value in live]), [])
        return self.parts[0]

    def load(self, sealed: Texts) -> None:
        """Takes a sealed part over."""
        self.parts = (sealed, [])


class Names:
    """Texts as small numbers, given out in order of arrival."""

    def __init__(self) -> None:
        self.texts = Strings()
        self.secret = prime()
        self.spread = spread(self.secret)
        self.live: dict[str, int] = {}  # the codes that are at hand; others may be sealed
        self._asked: dict[str, int] = {}  # sealed ones that were found of late
        self._index: Index | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def code(self, text: str) -> int:
        """The number of a text, given out where it is new."""
        found = self.live.get(text)
        if found is None:
            found = self._sealed(text)
            if found == NONE:
                found = len(self.texts)
                self.texts.append(text)
            self.live[text] = found
        return found

    def find(self, text: str) -> int:
        """The number of a text, or NONE where it never occurred."""
        found = self.live.get(text)
        if found is None:
            found = self._asked.get(text)
            if found is None:
                found = self._sealed(text)
                if found != NONE:
                    if len(self._asked) >= _ASKED:
                        self._asked = {}
                    self._asked[text] = found
        return found

    def blank(self, codes: Sequence[int]) -> None:
        """Forgets texts that nothing goes by any more, given in order; their codes stay taken."""
        gone = set(codes)
        self.live = {text: code for text, code in self.live.items() if code not in gone}
        self._asked = {}
        self.texts.blank(codes)
        if self._index is not None:  # the hash of a text confirms it to whoever guesses
            self._index = self._indexed(self.texts.parts[0])

    def _sealed(self, text: str) -> int:
        index = self._index
        if index is None:
            return NONE
        sought = text.encode("utf-8", "surrogatepass")
        blob, ends, _ = self.texts.parts[0]
        hash = int.from_bytes(sought, "big") * self.spread % self.secret
        heads, bucket = index.heads, hash >> index.shift
        for entry in index.entries[heads[bucket] : heads[bucket + 1]]:
            if entry >> 32 == hash:
                code: int = entry & 0xFFFFFFFF
                if blob[ends[code] : ends[code + 1]] == sought:
                    return code
        return NONE

    def seal(self) -> None:
        """Moves what is live into the sealed part."""
        if not self.live:
            return
        self._index = self._indexed(self.texts.seal())
        self.live = {}

    def _indexed(self, sealed: Texts) -> Index:
        """The index of sealed texts; of those that are blank the first is found."""
        hashes = _text_hashes(bytes(sealed.blob), np.asarray(sealed.ends), self.secret)
        return Index.over(hashes, np.arange(sealed.size), HASH)

    def hashes(self) -> Ints:
        """The hashes of the sealed texts, by code."""
        index = self._index
        assert index is not None
        entries = np.asarray(index.entries)
        found = np.empty(len(entries), np.uint64)
        found[entries & 0xFFFFFFFF] = entries >> 32
        return found

    def sealed(self) -> dict[str, Any]:
        """The sealed parts by name."""
        return {"texts": self.texts, "secret": self.secret, "index": self._index}

    def load(self, texts: Texts, secret: int, index: Index | None) -> None:
        """Takes sealed parts over."""
        self.texts.load(texts)
        self.secret, self._index, self.live = secret, index, {}
        self.spread = spread(secret)


class Ids:
    """The ids of all events by position, and the entities that they are known by in their
    workspaces."""

    def __init__(self) -> None:
        self.texts = Strings()
        self.secret = prime()
        self.spread = spread(self.secret)
        self.workspace = array("i")  # by position - 1
        self.number = array("i")  # entity by position - 1
        self.live: dict[int, dict[str, int]] = {}  # workspace → id → entity
        self.index: Index | None = None
        self.mixed = 0x2545F491

    def __len__(self) -> int:
        return len(self.number)

    def add(self, workspace: int, id: str, number: int) -> None:
        """The id of the next position."""
        self.texts.append(id)
        self.workspace.append(workspace)
        known = self.live.get(workspace)
        if known is None:
            known = self.live[workspace] = {}
        known[id] = number
        self.number.append(number)

    def extend(self, workspaces: Sequence[int], ids: Sequence[str], numbers: Sequence[int]) -> None:
        """The ids of the next positions."""
        self.texts.live.extend(ids)
        self.workspace.extend(workspaces)
        if len(set(workspaces)) == 1:
            self.live.setdefault(workspaces[0], {}).update(zip(ids, numbers, strict=True))
        else:
            for workspace, id, number in zip(workspaces, ids, numbers, strict=True):
                self.live.setdefault(workspace, {})[id] = number
        self.number.extend(numbers)

    def find(self, workspace: int, id: str) -> int:
        """The entity of an id in a workspace, or NONE."""
        known = self.live.get(workspace)
        if known is not None:
            found = known.get(id)
            if found is not None:
                return found
        index = self.index
        if index is None or workspace == NONE:
            return NONE
        sought = id.encode("utf-8", "surrogatepass")
        blob, ends, _ = self.texts.parts[0]
        secret = self.secret
        hash = (int.from_bytes(sought, "big") * self.spread + workspace * self.mixed) % secret
        heads, bucket = index.heads, hash >> index.shift
        for entry in index.entries[heads[bucket] : heads[bucket + 1]]:
            if entry >> 32 == hash:
                place: int = entry & 0xFFFFFFFF
                if (
                    self.workspace[place] == workspace
                    and blob[ends[place] : ends[place + 1]] == sought
                ):
                    return self.number[place]
        return NONE

    def seal(self) -> None:
        """Moves what is live into the sealed part."""
        if not self.live:
            return
        sealed = self.texts.seal()
        secret = np.uint64(self.secret)
        hashes = _text_hashes(bytes(sealed.blob), np.asarray(sealed.ends), self.secret)
        places = np.frombuffer(self.workspace[: sealed.size], dtype=np.int32).astype(np.uint64)
        hashes = (hashes + places * np.uint64(self.mixed)) % secret
        known = np.flatnonzero(np.frombuffer(self.number[: sealed.size], np.int32) != NONE)
        self.index = Index.over(hashes[known], known, HASH)  # less those of which nothing is known
        self.live = {}

    def sealed(self) -> dict[str, Any]:
        """The sealed parts by name."""
        return {
            "texts": self.texts,
            "secret": self.secret,
            "index": self.index,
            "workspace": self.workspace,
            "number": self.number,
        }

    def load(self, texts: Texts, secret: int, index: Index | None) -> None:
        """Takes sealed parts over; the two columns are filled beside."""
        self.texts.load(texts)
        self.secret, self.index, self.live = secret, index, {}
        self.spread = spread(secret)
