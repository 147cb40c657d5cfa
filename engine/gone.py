"""What is still known of compacted events: when each was recorded, and how the claims among them
stood.

Their words are gone. Ids, subjects, predicates and perspectives are kept as short keyed digests
(see `keyed`): whoever asks for one by name finds it, and nobody can read them. How a compacted
claim stood at each (v, k) is kept whole, so that a question knows whether it would have been part
of the answer. Columns are as in `rows` and `history`; an event is referred to by its place here.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic_core import from_json, to_json

from doxa.engine.errors import Compacted, DamageError
from doxa.engine.events import CARRIED
from doxa.engine.keyed import Keyed
from doxa.engine.log import Row
from doxa.engine.transaction import as_row

__all__ = ["HYPOTHETICAL", "Columns", "Gone", "Stretches", "joined", "mark", "marks"]

Ints = npt.NDArray[Any]
NONE: Final = -1

VERSION: Final = 1
HYPOTHETICAL: Final = 1  # a flag of a claim, beside PLAIN
LEVEL: Final = 1  # of compression
LABELS: Final = ("subject", "predicate", "perspective")

_TYPES: Final = {
    # events, in order of their positions
    "position": "i4", "recorded_at": "i8", "workspace": "i4", "kind": "u1", "id": "u8",
    # claims, in the same order
    "event": "i4", "subject": "u8", "predicate": "u8", "perspective": "u8", "start": "i8",
    "end": "i8", "flags": "u1", "pieces": "i4",
    # pieces of a claim's history, one claim after another: see `History`
    "low": "i8", "high": "i8", "known": "i4", "until": "i4", "code": "u1",
    # corrections by a claim that stayed, and its position
    "correction": "i4", "by": "i4",
    # claims, and the sources that their supports name
    "sourced": "i4", "source": "u8",
}  # fmt: skip
_RISING: Final = ("position", "recorded_at", "event", "sourced")  # stored as differences


class Columns(NamedTuple):
    """The columns of some compacted events, and the names of their workspaces."""

    names: tuple[str, ...]
    position: Ints
    recorded_at: Ints
    workspace: Ints
    kind: Ints
    id: Ints
    event: Ints
    subject: Ints
    predicate: Ints
    perspective: Ints
    start: Ints
    end: Ints
    flags: Ints
    pieces: Ints
    low: Ints
    high: Ints
    known: Ints
    until: Ints
    code: Ints
    correction: Ints
    by: Ints
    sourced: Ints
    source: Ints

    def packed(self) -> bytes:
        """All of it in few bytes."""
        arrays = {name: np.ascontiguousarray(getattr(self, name), t) for name, t in _TYPES.items()}
        for name in _RISING:
            arrays[name] = np.diff(arrays[name], prepend=arrays[name].dtype.type(0))
        head = to_json(
            {
                "v": VERSION,
                "names": self.names,
                "sizes": {name: len(column) for name, column in arrays.items()},
            }
        )
        body = b"".join(column.astype(f"<{_TYPES[n]}").tobytes() for n, column in arrays.items())
        return zlib.compress(len(head).to_bytes(4, "little") + head + body, LEVEL)

    @classmethod
    def unpacked(cls, stored: bytes) -> Columns:
        """What was packed. Raises `DamageError`."""
        try:
            text = zlib.decompress(stored)
            end = 4 + int.from_bytes(text[:4], "little")
            head = from_json(text[4:end])
            if head["v"] != VERSION:
                raise ValueError(f"version {head['v']}")
            found: dict[str, Any] = {}
            for name, kind in _TYPES.items():
                size = head["sizes"][name]
                column = np.frombuffer(text, f"<{kind}", size, end)
                end += column.nbytes
                found[name] = np.cumsum(column, dtype=np.int64) if name in _RISING else column
            return cls(tuple(head["names"]), **found)
        except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error) as error:
            raise DamageError(
                f"the record of compacted events can't be read ({error}); run verify, and restore "
                "the last backup"
            ) from None


def joined(parts: Sequence[Columns]) -> Columns:
    """Several lots of events as one, in order of their positions."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    place = {name: at for at, name in enumerate(names)}
    bases = np.cumsum([0, *(len(part.position) for part in parts)])
    found: dict[str, Ints] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _TYPES
    }
    codes = [np.array([place[name] for name in part.names], np.int32) for part in parts]
    found["workspace"] = np.concatenate(
        [code[part.workspace] for code, part in zip(codes, parts, strict=True)]
    )
    for name in ("event", "correction"):
        found[name] = np.concatenate(
            [getattr(part, name) + base for part, base in zip(parts, bases, strict=False)]
        )
    bases = np.cumsum([0, *(len(part.event) for part in parts)])
    found["sourced"] = np.concatenate(
        [part.sourced + base for part, base in zip(parts, bases, strict=False)]
    )
    order = np.argsort(found["position"], kind="stable")
    moved = np.empty(len(order), np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    for name in ("position", "recorded_at", "workspace", "kind", "id"):
        found[name] = found[name][order]
    found["correction"] = moved[found["correction"]]
    events = moved[found["event"]]
    claims = np.argsort(events, kind="stable")
    new = np.empty(len(claims), np.int64)
    new[claims] = np.arange(len(claims))
    found["sourced"] = new[found["sourced"]]
    found["event"] = events[claims]
    starts = np.cumsum(found["pieces"]) - found["pieces"]
    sizes = found["pieces"][claims]
    pieces = spelled_out(starts[claims], sizes)
    for name in ("subject", "predicate", "perspective", "start", "end", "flags", "pieces"):
        found[name] = found[name][claims]
    for name in ("low", "high", "known", "until", "code"):
        found[name] = found[name][pieces]
    return Columns(tuple(names), **found)


def spelled_out(starts: Ints, sizes: Ints) -> Ints:
    """Of ranges, all that is in them, one range after another."""
    ends = np.cumsum(sizes)
    found: Ints = np.arange(ends[-1] if len(ends) else 0)
    found += np.repeat(starts - (ends - sizes), sizes)
    return found


class Stretches(NamedTuple):
    """The stretches of a log: first and last positions, and the digests of the records, one after
    another."""

    first: Ints
    last: Ints
    digests: bytes

    def holding(self, positions: Ints) -> Ints:
        """The places of the stretches that hold positions which are in some."""
        return np.unique(np.searchsorted(self.first, positions, side="right") - 1)

    def told(self, places: Ints) -> tuple[int, str]:
        """How many events some stretches hold, and the digest of their records: of several, the
        SHA-256 over those of each."""
        count = int(np.sum(self.last[places] - self.first[places] + 1))
        each = [self.digests[32 * place : 32 * place + 32] for place in places.tolist()]
        return count, (each[0] if len(each) == 1 else sha256(b"".join(each)).digest()).hex()


class Gone:
    """What is known of the compacted events of one log. Never changes.

    ``at`` is the position of the event that states the last compaction.
    """

    def __init__(self, keyed: Keyed, at: int, stretches: Stretches, columns: Columns) -> None:
        self.keyed, self.at, self.stretches, self.columns = keyed, at, stretches, columns
        self.last = int(columns.position[-1])  # from here on none of the claims is held anywhere
        self.starts = np.cumsum(columns.pieces) - columns.pieces

    # -- positions

    def rows(self, after: int, upto: int) -> list[Row]:
        """The events after a position and up to another, as rows that say nothing."""
        columns = self.columns
        low, high = columns.position.searchsorted((after, upto), side="right")
        heads = [to_json(_head(name)) for name in columns.names]
        return [
            as_row((position, at, "compacted", heads[ws], None, None))
            for position, at, ws in zip(
                columns.position[low:high].tolist(),
                columns.recorded_at[low:high].tolist(),
                columns.workspace[low:high].tolist(),
                strict=True,
            )
        ]

    def holds(self, position: int) -> bool:
        """Whether the event at a position was compacted."""
        columns = self.columns
        at = int(np.searchsorted(columns.position, position))
        return at < len(columns.position) and columns.position[at].item() == position

    # -- finding

    @cached_property
    def _by_id(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.columns.id, kind="stable")
        return self.columns.id[order], order

    @cached_property
    def _by_subject(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.columns.subject, kind="stable")
        return self.columns.subject[order], order

    def event(self, workspace: str, id: str) -> int:
        """The place of the event of an id in a workspace, or NONE."""
        ids, order = self._by_id
        sought = np.uint64(mark(self.keyed, "id", workspace, id))
        at = int(np.searchsorted(ids, sought))
        return int(order[at]) if at < len(ids) and ids[at] == sought else NONE

    def refuse(self, workspace: str, id: str, what: str) -> None:
        """Raises `Compacted` where an id in a workspace is that of a compacted event: nothing can
        be said of it any more, and it is not given out again."""
        event = self.event(workspace, id)
        if event == NONE and id.endswith(CARRIED):
            event = self.event(workspace, id[: -len(CARRIED)])
        if event != NONE:
            count, digest = self.told(np.array([event]))
            raise Compacted(
                f"{what} {id!r}, which lies among {count:,} events that were compacted, with the "
                f"digest {digest}: what is left of it is a record; give another id",
                count,
                digest,
            )

    def claim(self, event: int) -> int:
        """The claim at the place of an event, or NONE where that is no claim."""
        events = self.columns.event
        at = int(np.searchsorted(events, event))
        return at if at < len(events) and events[at] == event else NONE

    @cached_property
    def _sources(self) -> frozenset[tuple[str, int]]:
        columns = self.columns
        places = columns.workspace[columns.event[columns.sourced]].tolist()
        pairs = set(zip(places, columns.source.tolist(), strict=True))
        return frozenset((columns.names[place], said) for place, said in pairs)

    def names_source(self, workspace: str, name: str) -> bool:
        """Whether a compacted event named a source, in a workspace, or in any by ``""``."""
        said = mark(self.keyed, "source", name)
        if workspace:
            return (workspace, said) in self._sources
        return any((place, said) in self._sources for place in self.columns.names)

    def about(
        self,
        subject: str | None,
        predicate: str | None,
        workspaces: Collection[str],
        perspective: str | None,
        k: int,
    ) -> Ints:
        """The claims about a subject and a predicate, or all, that were in sight and known at
        ``k``. O(log n + those about the subject), or O(n) without one."""
        columns = self.columns
        if subject is None:
            found = np.arange(len(columns.event))
        else:
            subjects, order = self._by_subject
            sought = np.uint64(mark(self.keyed, "subject", subject))
            low, high = (int(np.searchsorted(subjects, sought, side=s)) for s in ("left", "right"))
            found = np.sort(order[low:high])
        for label, text in (("predicate", predicate), ("perspective", perspective)):
            if text is not None and len(found):
                column = getattr(columns, label)
                found = found[column[found] == np.uint64(mark(self.keyed, label, text))]
        if not len(found):
            return found
        events = columns.event[found]
        seen = [place for place, name in enumerate(columns.names) if name in workspaces]
        sighted = np.isin(columns.workspace[events], seen) & (columns.position[events] <= k)
        return found[sighted]

    # -- saying so

    def told(self, events: Ints) -> tuple[int, str]:
        """The count and the digest of the stretches that hold events, given by their places."""
        positions = self.columns.position[events]
        return self.stretches.told(self.stretches.holding(positions))

    def refusal(self, what: str, events: Ints, k: int, claim: bool = False) -> Compacted:
        """That an answer as known at ``k`` lies among events, given by their places."""
        count, digest = self.told(events)
        plural = "s" if count > 1 else ""
        later = f"ask as known at revision {self.last} or later, or " if k < self.last else ""
        return Compacted(
            f"{what} was compacted: the answer lies among {count:,} event{plural} of which the log "
            f"keeps a record alone, with the digest {digest}; {later}open a backup from before",
            count,
            digest,
            claim,
        )


def _head(workspace: str) -> dict[str, Any]:
    return {"v": 1, "id": "", **({"workspace": workspace} if workspace else {})}


@lru_cache(64)
def _secret(keyed: Keyed, label: str) -> bytes:
    """The secret for one kind of text."""
    return bytes.fromhex(keyed.digest(f"compacted {label}"))


def mark(keyed: Keyed, label: str, *texts: str) -> int:
    """The short keyed digest of one kind of text: keyed BLAKE2b, 8 bytes."""
    return int(marks(keyed, label, ["\x00".join(texts)])[0])


def marks(keyed: Keyed, label: str, texts: Iterable[str]) -> Ints:
    """The marks of many texts."""
    secret = _secret(keyed, label)
    found = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), key=secret, digest_size=8).digest()
        for text in texts
    )
    return np.frombuffer(found, "<u8")
