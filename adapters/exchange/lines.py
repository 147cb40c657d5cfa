"""The lines of an exchange file, or of any iterable, each read strictly and none dropped."""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn, cast

from pydantic_core import from_json

from doxa.engine.codec import PAYLOAD_LIMIT
from doxa.engine.errors import CallerError, InvalidEvent, PayloadTooLarge, StorageError

__all__ = [
    "LINE_LIMIT",
    "Given",
    "Line",
    "Lines",
    "decoder",
    "fields_of",
    "overlong",
    "quick_fields",
    "shown",
]

# An event has at most 1 MiB as it is stored; with every character escaped, its line has six times
# as much. What is longer can't be an event and is passed over without being kept in memory.
LINE_LIMIT: Final = 8 * PAYLOAD_LIMIT
_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"
_KEPT: Final = 1_000  # bytes of an overlong line that are shown

Given = str | bytes | Mapping[str, Any]


class Line(NamedTuple):
    """One line as it was found: its number from 1, and its text, bytes or mapping.

    ``problem`` says why nothing can be read from it, where that is known already.
    """

    number: int
    raw: Given
    problem: str | None = None

    @property
    def blank(self) -> bool:
        """Whether there is nothing on the line."""
        return isinstance(self.raw, str | bytes) and not self.raw.strip()


class Lines:
    """The lines of a source of events, one by one, and how far the reading has come.

    ``given`` is the path of a file (gzip is recognised), an open file, or an iterable of texts,
    bytes and mappings. ``done`` and ``total`` count bytes for files and lines otherwise; ``total``
    is ``None`` where it can't be known.
    """

    def __init__(self, given: str | os.PathLike[str] | Iterable[Given]) -> None:
        if isinstance(given, bytes | Mapping):
            raise CallerError(
                f"{given!r:.80} is one line; give a list of lines, or the path of a file"
            )
        self.path: Path | None = None
        self._given: Iterable[Given] | None = None
        self._file: IO[bytes] | None = None
        self._read = 0
        if isinstance(given, str | os.PathLike):
            self.path = Path(given)
            self.total = self._size(self.path)
        elif not isinstance(given, Iterable) and not hasattr(given, "readline"):
            raise CallerError(f"{given!r:.80} holds no lines; give a list of lines, or a path")
        else:
            self._given = given
            self.total = len(given) if isinstance(given, list | tuple) else None

    @staticmethod
    def _size(path: Path) -> int | None:
        if path.is_dir():
            raise CallerError(f"{path} is a folder; give the path of a file of exchange lines")
        try:
            return path.stat().st_size if path.is_file() else None
        except OSError as error:
            raise StorageError(f"{path} can't be read: {error.strerror}") from None

    @property
    def name(self) -> str:
        """The file's absolute path; empty where the lines are no file's."""
        return "" if self.path is None else str(self.path.absolute())

    @property
    def done(self) -> int:
        """Bytes of the file, or lines, that were read."""
        return self._read if self._file is None else self._file.tell()

    def __iter__(self) -> Iterator[Line]:
        if self.path is not None:
            yield from self._of_path(self.path)
        elif hasattr(self._given, "readline"):
            file = cast("IO[Any]", self._given)
            start = file.peek(4)[:4] if isinstance(file, BufferedReader) else b""
            if start == _PARQUET:
                raise CallerError("a Parquet file can't be read from a stream; give its path")
            if start[:2] == _GZIP:
                with gzip.open(file) as unpacked:
                    yield from _read(cast("IO[bytes]", unpacked).readline, self._count)
            else:
                yield from _read(file.readline, self._count)
        else:
            assert self._given is not None
            for number, raw in enumerate(self._given, 1):
                self._read = number
                if isinstance(raw, str | bytes) and len(raw) > LINE_LIMIT:
                    yield overlong(number, raw)
                else:
                    yield _without_mark(Line(number, raw))

    def _count(self, number: int) -> None:
        self._read = number

    def _of_path(self, path: Path) -> Iterator[Line]:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise CallerError(f"there is no file {path}") from None
        except OSError as error:
            raise StorageError(f"{path} can't be read: {error.strerror}") from None
        with file:
            try:
                start = file.peek(4) if path.is_file() else b""
            except OSError as error:
                raise StorageError(f"{path} can't be read: {error.strerror}") from None
            if start[:4] == _PARQUET:
                raise CallerError(
                    f"{path} is a Parquet file; doxa.adapters.tables.import_table reads its rows"
                )
            if path.is_file():
                self._file = file
            try:
                if start[:2] == _GZIP:
                    with gzip.open(file) as unpacked:
                        yield from _read(cast("IO[bytes]", unpacked).readline, self._count)
                else:
                    yield from _read(file.readline, self._count)
            finally:
                if self._file is not None:
                    self._read = file.tell()
                    self._file = None


def _read(readline: Callable[[int], Any], count: Callable[[int], None]) -> Iterator[Line]:
    number = 0
    while True:
        number += 1
        try:
            raw = readline(LINE_LIMIT)
            if not raw:
                return
            length = len(raw)
            rest = raw
            while len(rest) == LINE_LIMIT and not _ended(rest):
                rest = readline(LINE_LIMIT)
                length += len(rest)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Line(number, b"", f"the compressed file can't be read from here on: {error}")
            return
        except OSError as error:
            raise StorageError(f"line {number} can't be read: {error}") from None
        except UnicodeDecodeError as error:
            raise CallerError(
                f"line {number} can't be read as text ({error.reason}); open the file in binary "
                "mode, or give its path"
            ) from None
        count(number)
        if length > LINE_LIMIT:
            yield overlong(number, raw, length)
        elif number == 1:
            yield _without_mark(Line(number, raw))
        else:
            yield Line(number, raw)


def overlong(number: int, raw: str | bytes, length: int | None = None) -> Line:
    """A line that is too long to be kept: its beginning, and why."""
    length = len(raw) if length is None else length
    return Line(
        number,
        raw[:_KEPT],
        f"the line has {length:,} bytes, and an event at most {PAYLOAD_LIMIT:,}; only its "
        "beginning is kept",
    )


def _ended(raw: str | bytes) -> bool:
    return raw[-1:] in ("\n", b"\n")


def _without_mark(line: Line) -> Line:
    """The line without the byte order mark that a file may begin with."""
    if line.number == 1 and isinstance(line.raw, str):
        return Line(1, line.raw.removeprefix("\ufeff"))
    if line.number == 1 and isinstance(line.raw, bytes):
        return Line(1, line.raw.removeprefix(b"\xef\xbb\xbf"))
    return line


# ---------------------------------------------------------------- one line, quickly


def quick_fields(raw: Given) -> dict[str, Any] | None:
    """The fields that `fields_of` reads from a line, where a faster reader can be sure of them;
    else ``None``.

    That reader takes the last of several equal keys and doesn't say so. But where no quotation
    mark has white space behind it, the text of each key ends in ``":``: if there are no more of
    those than keys of the line and of its source, no key is there twice, and nothing else has keys.
    """
    try:
        if type(raw) is bytes:
            if b'" ' in raw or b'"\t' in raw or b'"\r' in raw or b'"\n' in raw:
                return None
            ends = raw.count(b'":')
        elif type(raw) is str:
            if '" ' in raw or '"\t' in raw or '"\r' in raw or '"\n' in raw:
                return None
            ends = raw.count('":')
        else:
            return None
        fields = from_json(raw, allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter for a text with half of a surrogate pair
        return None
    if type(fields) is not dict:
        return None
    source = fields.get("source")
    keys = len(fields) + (len(source) if type(source) is dict else 0)
    return fields if keys == ends else None


# ---------------------------------------------------------------- one line, strictly


def fields_of(line: Line) -> Mapping[str, Any]:
    """The fields that a line holds. Raises `InvalidEvent` where it is not one JSON object, as the
    standard has it: no NaN, no key twice, no number beyond what can be represented."""
    if line.problem is not None:
        raise (PayloadTooLarge if "bytes, and" in line.problem else InvalidEvent)(line.problem)
    raw = line.raw
    if isinstance(raw, Mapping):
        return raw
    try:
        text = raw if isinstance(raw, str) else raw.decode()
        value = decoder.decode(text)
    except UnicodeDecodeError as error:
        raise InvalidEvent(
            f"the line is not UTF-8: byte 0x{error.object[error.start]:02x} at {error.start}"
        ) from None
    except json.JSONDecodeError as error:
        at = min(error.pos, len(error.doc.rstrip())) + 1
        raise InvalidEvent(f"the line is not JSON: {error.msg} at character {at}") from None
    except RecursionError:
        raise InvalidEvent("the line is nested too deep to be read") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidEvent(_reason(raw, error)) from None
    if not isinstance(value, dict):
        raise InvalidEvent(f"the line is {_NAMES[type(value)]}, not a JSON object")
    return value


_NAMES: Final = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _reason(raw: object, error: Exception) -> str:
    if not isinstance(raw, str | bytes):
        return f"something of type {type(raw).__name__} is no line; give text, bytes or a mapping"
    if "digits" in str(error):
        return "a whole number has more digits than can be read (4300)"
    return str(error)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {twice!r} is there twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"the line holds {name}, which is not a number that JSON has")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text:.40} is too large to be represented")
    return value


decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite
)


def shown(raw: Given) -> str:
    """A line as text that can be kept anywhere: what is not UTF-8 is written as escapes."""
    if isinstance(raw, Mapping):
        try:
            text = json.dumps(raw, ensure_ascii=False, default=str)
        except (ValueError, TypeError, RecursionError):
            text = repr(raw)
    elif isinstance(raw, bytes):
        return raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
    else:
        text = str(raw)
    return text.encode("utf-8", "backslashreplace").decode().rstrip("\r\n")
