"""The fold of a log in one file, to be mapped at the next opening instead of being made anew.

The file is one of the things that may be thrown away at any time. It is bound to the log: it names
the ledger, the position that it goes up to and the link of the chain there. It is written whole
under another name and then renamed, and what doesn't fit (another ledger, another past, another
shape, a byte that changed) is not used: all of it is read through at the opening, beside the rest
of the work. Columns that grow are copied into memory, long ones when they are first asked for;
texts, lists, indexes and records are read where they lie in the file.

Layout: `_HEAD` (magic, length and CRC of the directory, CRC of the rest), the directory (JSON: what
the file is bound to, and each section's place and type), and the sections, each at a multiple of 64
bytes, in the machine's byte order.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic_core import from_json, to_json

from doxa.engine import events as ev
from doxa.engine.erasures import Erasures
from doxa.engine.fold import Fold
from doxa.engine.graph import Graph
from doxa.engine.history import History
from doxa.engine.later import complete, put_off
from doxa.engine.moments import Moments
from doxa.engine.numbers import Keys, Lists, Numbers, Series
from doxa.engine.points import Points
from doxa.engine.sealing import Cipher
from doxa.engine.tables import Ids, Index, Names, Objects, Strings, Texts
from doxa.engine.whole import put

__all__ = ["SHAPE", "Bound", "bound", "load", "save"]

SHAPE: Final = 10  # of what is stored here; another one is thrown away
_MAGIC: Final = b"doxa-fold\x00"
_HEAD: Final = struct.Struct("<10sIII")  # magic, length and CRC of the directory, CRC of the rest
_ALIGN: Final = 64
_RUN: Final = 4_096  # rows
LONG = 4_096  # rows of a column from which on it is not made before it is asked for
_ROWS: Final = ("owner", "code", "low", "high", "until", "before", "jump", "known")
_ASKED_FIRST: Final = ("belief.beliefs.since", "belief.beliefs.leaf_of")

# What a fold has beside columns and tables: found again from them, or kept only for speed.
_FOUND_AGAIN: Final = {
    "graph": (
        *("position", "recorded_at", "k_unresolved", "_dangling", "bound", "single_valued"),
        *("erased", "erased_at", "erased_about", "unblanked", "foreseen", "keyed"),
        *("gone", "compacted_at"),
    ),
    "belief": (
        "graph",
        "hypothesis",
        "shared",
        "_rivals",
        "_spans",
        "_origins",
        "_object_keys",
        "_rivals_about",
        "_digested",
        "crowds",
    ),
    "registry": ("belief", "graph", "payload", "_bound", "_fingerprints"),
    "history": ("default", "_drafts", "_drafted"),
}


class Bound(NamedTuple):
    """What a checkpoint is of: a ledger, up to a position, with the link of the chain there."""

    ledger: str
    position: int
    recorded_at: int
    chain: str


# ---------------------------------------------------------------- what is stored


class _Writing:
    """Collects sections by name."""

    def __init__(self) -> None:
        self.sections: dict[str, tuple[str, Any]] = {}
        self.numbers: dict[str, int] = {}
        self.usual: dict[str, tuple[int, int]] = {}  # of columns mostly of one value: it, and rows

    def put(self, name: str, value: Any) -> None:
        """One part of a fold, by what it is."""
        if isinstance(value, array):
            self._column(name, np.frombuffer(value, value.typecode))
        elif isinstance(value, bytearray):
            self._column(name, np.frombuffer(value, np.uint8))
        elif isinstance(value, bytes):
            self.sections[name] = ("B", memoryview(value))
        elif isinstance(value, memoryview):
            self.sections[name] = (value.format, value.cast("B"))
        elif isinstance(value, Texts):
            self.put(f"{name}.blob", value.blob)
            self.put(f"{name}.ends", value.ends)
        elif isinstance(value, Index):
            self.numbers[f"{name}.shift"] = value.shift
            self.put(f"{name}.heads", value.heads)
            self.put(f"{name}.entries", value.entries)
        elif isinstance(value, Strings | Objects):
            self.put(name, value.seal())
        elif isinstance(value, Names | Ids | Numbers | Lists):
            value.seal()
            for part, of in value.sealed().items():
                self.put_any(f"{name}.{part}", of)
        elif isinstance(value, Points):
            if value.laid is not None:
                *_, self.numbers[f"{name}.shift"], heads, records = value.laid
                self.put(f"{name}.heads", heads)
                self.put(f"{name}.records", records)
        elif isinstance(value, Series | Moments):
            for part in ("ends", "values") if isinstance(value, Series) else ("at", "row"):
                self.put(f"{name}.{part}", getattr(value, part))
        elif isinstance(value, History):
            self.put_all(name, value, _FOUND_AGAIN["history"])
        elif isinstance(value, dict):
            keys = array("i", value)
            self.put(f"{name}.keys", keys)
            self.put(f"{name}.sizes", array("i", map(len, value.values())))
            self.put(f"{name}.values", array("i", b"".join(map(bytes, value.values()))))
        else:
            raise TypeError(f"{name} is a {type(value).__name__}, which no checkpoint can hold")

    def _column(self, name: str, column: Any) -> None:
        """A column; of one that has mostly one value, that value and where there are others."""
        some = np.sort(column[:: max(1, len(column) // 999)])
        usual = int(some[len(some) // 2]) if len(some) else 0
        other = np.flatnonzero(column != usual).astype(np.int32)
        if len(column) and len(other) * (column.itemsize + 4) < column.nbytes // 2:
            self.usual[name] = usual, len(column)
            self.put(f"{name}.at", other.data)
            column, name = column[other], f"{name}.is"
        self.sections[name] = (column.dtype.char, np.ascontiguousarray(column).data.cast("B"))

    def put_any(self, name: str, value: Any) -> None:
        """A part, or a number."""
        if isinstance(value, int):
            self.numbers[name] = value
        elif value is not None:
            self.put(name, value)

    def put_all(self, name: str, of: object, but: tuple[str, ...]) -> None:
        """All parts of an object, so that none that is added later can be forgotten; by name, as
        those that were asked for first come first in it."""
        complete(of)
        for part in sorted(vars(of)):
            if part not in but:
                self.put(f"{name}.{part}", getattr(of, part))


def save(path: Path, fold: Fold, to: Bound, cipher: Cipher | None = None) -> None:
    """Writes a checkpoint of a fold, which nobody may change meanwhile; encrypted, where there is a
    cipher. Raises `OSError`, and `StorageError` for keys that can't be written."""
    belief = fold.belief
    fold.seal()
    writing = _Writing()
    writing.put_all("graph", belief.graph, _FOUND_AGAIN["graph"])
    writing.put_all("belief", belief, _FOUND_AGAIN["belief"])
    writing.put_all("registry", fold.registry, _FOUND_AGAIN["registry"])
    writing.put("unresolved", array("i", sorted(belief.graph.k_unresolved)))
    places, at = {}, 0
    for name, (kind, data) in writing.sections.items():
        places[name] = (at, len(data), kind)
        at += -(-len(data) // _ALIGN) * _ALIGN
    directory = to_json(
        {
            "shape": SHAPE,
            "order": sys.byteorder,
            "bound": to._asdict(),
            "numbers": writing.numbers,
            "usual": writing.usual,
            "sections": places,
            "size": at,
        }
    )
    start = _HEAD.size + len(directory)
    start += -start % _ALIGN
    crc = 0
    for _, data in writing.sections.values():
        crc = zlib.crc32(bytes(-len(data) % _ALIGN), zlib.crc32(data, crc))
    parts: list[Any] = [
        _HEAD.pack(_MAGIC, len(directory), zlib.crc32(directory), crc),
        directory,
        bytes(start - _HEAD.size - len(directory)),
    ]
    for _, data in writing.sections.values():
        parts += data, bytes(-len(data) % _ALIGN)
    put(path, parts if cipher is None else [cipher.wrapped(parts)])


# ---------------------------------------------------------------- what is found


class _Reading:
    """The sections of a mapped file."""

    def __init__(self, data: memoryview, directory: dict[str, Any]) -> None:
        self.data, self.sections = data, directory["sections"]
        self.numbers, self.usual = directory["numbers"], directory["usual"]
        self.lengths: dict[str, dict[str, int]] = {}  # of columns, by what they belong to

    def view(self, name: str) -> memoryview:
        at, length, kind = self.sections[name]
        return self.data[at : at + length].cast(kind) if length else memoryview(b"").cast("B")

    def texts(self, name: str) -> Texts:
        ends = self.view(f"{name}.ends")
        return Texts(self.view(f"{name}.blob"), ends, len(ends) - 1)

    def index(self, name: str) -> Index | None:
        if f"{name}.shift" not in self.numbers:
            return None
        heads, entries = self.view(f"{name}.heads"), self.view(f"{name}.entries")
        return Index(self.numbers[f"{name}.shift"], heads, entries)

    def keys(self, name: str) -> Keys:
        index = self.index(f"{name}.index")
        assert index is not None, name
        return Keys(self.view(f"{name}.keys"), index)

    def rows(self, name: str, column: array[Any] | bytearray) -> int:
        """How many rows a column is going to have. Raises `ValueError` where it can't be made."""
        size = column.itemsize if isinstance(column, array) else 1
        if name not in self.usual:
            stored = self.view(name)
            rows = len(stored)
        else:
            rows = self.usual[name][1]
            stored, at = self.view(f"{name}.is"), self.view(f"{name}.at")
            if len(stored) != len(at) or (at and not 0 <= at[-1] < rows):
                raise ValueError(f"{name} has values for rows that it does not have")
        if rows and stored and stored.itemsize != size:
            raise ValueError(f"the values of {name} have another size")
        return rows

    def _made(self, name: str, kind: str) -> array[Any]:
        column = array(kind)
        self._fill_column(name, column)
        return column

    def _fill_column(self, name: str, column: array[Any] | bytearray) -> None:
        """Fills a column; one that has mostly one value by copies of a run of it."""
        del column[:]
        if name not in self.usual:
            stored = self.view(name).cast("B")
            column.frombytes(stored) if isinstance(column, array) else column.extend(stored)
            return
        usual, rows = self.usual[name]
        column.append(usual)
        column *= _RUN
        column *= -(-rows // _RUN)
        del column[rows:]
        others = np.asarray(self.view(f"{name}.is"))
        np.frombuffer(column, others.dtype)[np.asarray(self.view(f"{name}.at"))] = others

    def fill(self, name: str, value: Any) -> None:
        """Fills one part of an empty fold, by what it is."""
        if isinstance(value, array | bytearray):
            self._fill_column(name, value)
        elif isinstance(value, Strings | Objects):
            value.load(self.texts(name))
        elif isinstance(value, Names):
            value.load(
                self.texts(f"{name}.texts"),
                self.numbers[f"{name}.secret"],
                self.index(f"{name}.index"),
            )
        elif isinstance(value, Ids):
            self.fill_columns(name, value, {"workspace", "number"})
            value.load(
                self.texts(f"{name}.texts"),
                self.numbers[f"{name}.secret"],
                self.index(f"{name}.index"),
            )
        elif isinstance(value, Numbers):
            if f"{name}.values" in self.sections:
                value.load(self.keys(f"{name}.keys"), self.view(f"{name}.values"))
        elif isinstance(value, Lists):
            if f"{name}.values" in self.sections:
                values = self.view(f"{name}.values")
                value.load(self.keys(f"{name}.keys"), self.view(f"{name}.starts"), values)
        elif isinstance(value, Series):
            self.fill(f"{name}.ends", value.ends)
            self.fill(f"{name}.values", value.values)
        elif isinstance(value, Moments):
            self.fill(f"{name}.at", value.at)
            self.fill(f"{name}.row", value.row)
        elif isinstance(value, Points):
            pass  # laid when the names are there
        elif isinstance(value, History):
            self.fill_all(name, value, _FOUND_AGAIN["history"])
        else:
            assert isinstance(value, dict), (name, value)
            keys, sizes, rows = array("i"), array("i"), array("i")
            for side, filled in (("keys", keys), ("sizes", sizes), ("values", rows)):
                self.fill(f"{name}.{side}", filled)
            for key, size, end in zip(keys, sizes, accumulate(sizes), strict=True):
                value[key] = rows[end - size : end]

    def lay(self, name: str, graph: Graph) -> None:
        """Takes the records of a graph over, whose names are there."""
        shift = self.numbers[f"{name}.shift"]
        heads, records = self.view(f"{name}.heads"), self.view(f"{name}.records")
        graph.points.lay(graph.names, shift, heads, records)

    def fill_all(self, name: str, of: object, but: tuple[str, ...]) -> None:
        """Fills all parts of an empty object."""
        parts = {part: value for part, value in vars(of).items() if part not in but}
        columns = {part for part, value in parts.items() if isinstance(value, array | bytearray)}
        for part in parts.keys() - columns:
            self.fill(f"{name}.{part}", parts[part])
        self.fill_columns(name, of, columns)

    def fill_columns(self, name: str, of: object, parts: Iterable[str]) -> None:
        """Fills columns of an empty object; long ones are made when they are first asked for."""
        makers: dict[str, Callable[[], object]] = {}
        self.lengths[name] = {}
        for part in parts:
            column, place = vars(of)[part], f"{name}.{part}"
            rows = self.lengths[name][part] = self.rows(place, column)
            if rows > LONG and isinstance(column, array) and place not in _ASKED_FIRST:
                makers[part] = partial(self._made, place, column.typecode)
            else:
                self.fill(place, column)
        put_off(of, makers)


def _directory(data: memoryview) -> tuple[dict[str, Any], int, int] | None:
    """The directory of a checkpoint, where its sections begin, and their CRC."""
    if len(data) < _HEAD.size:
        return None
    magic, length, crc, rest = _HEAD.unpack_from(data)
    end = _HEAD.size + length
    if magic != _MAGIC or len(data) < end or zlib.crc32(data[_HEAD.size : end]) != crc:
        return None
    found: dict[str, Any] = from_json(bytes(data[_HEAD.size : end]))
    start = end + -end % _ALIGN
    if found["shape"] != SHAPE or found["order"] != sys.byteorder:
        return None
    return (found, start, rest) if len(data) == start + found["size"] else None


@contextlib.contextmanager
def _mapped(path: Path, cipher: Cipher | None) -> Iterator[memoryview | None]:
    """What a file holds; of an encrypted one, decrypted in memory."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # there is none, or an empty one
        yield None
        return
    if cipher is None:
        yield data
        return
    content = cipher.unwrapped(bytes(data))
    yield None if content is None else memoryview(content)


def bound(path: Path, cipher: Cipher | None = None) -> Bound | None:
    """What a checkpoint is of, as far as its directory can be read."""
    with _mapped(path, cipher) as data, _forgiving():
        found = None if data is None else _directory(data)
        return None if found is None else Bound(**found[0]["bound"])
    return None


def load(
    path: Path,
    ledger: str,
    chain_at: Callable[[int], tuple[int, bytes] | None],
    payload: Callable[[int], ev.Event],
    erasures: Erasures | None = None,
    cipher: Cipher | None = None,
) -> Fold | None:
    """The fold that a checkpoint holds, or ``None`` where there is none that fits.

    ``chain_at`` gives when the event at a position of the log was recorded, and its link.
    """
    with _mapped(path, cipher) as data, _forgiving():
        found = None if data is None else _directory(data)
        if data is None or found is None:
            return None
        directory, start, crc = found
        to = Bound(**directory["bound"])
        there = chain_at(to.position)
        if to.ledger != ledger or there != (to.recorded_at, bytes.fromhex(to.chain)):
            return None
        sections = data[start:]
        with ThreadPoolExecutor(1) as beside:  # a file is read through while columns are made of it
            read = beside.submit(zlib.crc32, sections)
            reading = _Reading(sections, directory)
            fold = _fold(reading, to, Fold(payload, erasures))
            if read.result() != crc:
                return None
        return _found_again(fold, reading, payload)
    return None


@contextlib.contextmanager
def _forgiving() -> Iterator[None]:
    """Leaves a file alone that is put together wrongly, though its checksums are right."""
    with contextlib.suppress(
        ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError
    ):
        yield


def _check(lengths: dict[str, int], *names: str) -> None:
    """Raises `ValueError` where columns that belong together, by how their names begin, have
    several lengths."""
    for name in names:
        sizes = {length for part, length in lengths.items() if part.startswith(name)}
        if len(sizes) > 1:
            raise ValueError(f"columns {name}… of {sizes} rows")


def _fold(reading: _Reading, to: Bound, fold: Fold) -> Fold:
    belief, graph = fold.belief, fold.belief.graph
    reading.fill_all("graph", graph, _FOUND_AGAIN["graph"])
    reading.lay("graph.points", graph)
    reading.fill_all("belief", belief, _FOUND_AGAIN["belief"])
    reading.fill_all("registry", fold.registry, _FOUND_AGAIN["registry"])
    graph.position, graph.recorded_at = to.position, to.recorded_at
    fold.chain, fold.sealed = bytes.fromhex(to.chain), to.position
    lengths = reading.lengths
    _check(lengths["graph"], "commit_", "c_", "s_", "k_", "w_", "r_", "a_", "p_")
    for history in ("belief.beliefs", "belief.extents"):
        rows = {part: length for part, length in lengths[history].items() if part in _ROWS}
        _check(rows, "")
    upto = lengths["graph.ids"]["number"], len(graph.c_object)
    if upto != (to.position, lengths["graph"]["c_pos"]):
        raise ValueError("the columns don't go up to the position")
    return fold


def _found_again(fold: Fold, reading: _Reading, payload: Callable[[int], ev.Event]) -> Fold:
    """The fold with what no column holds."""
    unresolved = array("i")
    reading.fill("unresolved", unresolved)
    fold.belief.graph.find_again(unresolved, payload)
    return fold
