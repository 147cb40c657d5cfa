"""Versions of a CSV file, each read with the help of the one before.

A line that was a row by itself before is that row again, so that a version costs what changed in
it. Where a row spans lines, the whole file is read: with the same result, only slower.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import ne
from typing import Final, NamedTuple, cast
from weakref import ref

from doxa.adapters.git.cells import Columns
from doxa.adapters.git.rows import Row, RowKey, Since, Unsound, Version
from doxa.adapters.git.settings import Settings
from doxa.engine.codec import PAYLOAD_LIMIT

__all__ = ["Tables"]

_FIELD: Final = 2 * PAYLOAD_LIMIT  # characters; what is longer than an event is told of by its row
_lock = threading.Lock()  # the limit is one for the process


class _Last(NamedTuple):
    """The last version that was read line by line."""

    lines: list[str]
    places: Sequence[int]
    rows: list[Row]
    version: Version


class Tables:
    """The reader of one file's versions, one after the other. Raises `Unsound`."""

    def __init__(self, settings: Settings, delimiter: str) -> None:
        self.settings, self.delimiter = settings, delimiter
        self._header = ""
        self._columns: Columns | None = None
        self._known: dict[str, Row] = {}  # lines of the last version
        self._last: _Last | None = None

    def read(self, text: str) -> Version:
        """What a version says."""
        with _lock:
            before = csv.field_size_limit(_FIELD)
            try:
                found = self._quick(text)
                return self.slow(text) if found is None else found
            finally:
                csv.field_size_limit(before)

    def _reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        return csv.reader(lines, delimiter=self.delimiter, strict=True)

    # ------------------------------------------------------------ line by line

    def _quick(self, text: str) -> Version | None:
        """The version, where each row is one line; else `None`."""
        plain = text.replace("\r\n", "\n") if "\r" in text else text
        if "\r" in plain:
            return None
        lines = plain.split("\n")
        first = next((at for at, line in enumerate(lines) if line), None)
        if first is None:
            raise Unsound("the file is empty")
        if lines[first] != self._header or self._columns is None:
            header = self._fields([lines[first]])
            if header is None:
                return None
            self._columns = Columns(header[0], self.settings)
            self._header, self._known, self._last = lines[first], {}, None
        body = lines[first + 1 :]
        places: Sequence[int] = range(first + 2, first + 2 + len(body))
        if "" in body:
            places = [at for at, line in zip(places, body, strict=True) if line]
            body = list(filter(None, body))
        found = self._nearly(body, places)
        if found is not None:
            return found
        rows = list(map(self._known.get, body))
        if None in rows:
            fresh = [at for at, row in enumerate(rows) if row is None]
            fields = self._fields([body[at] for at in fresh])
            if fields is None:
                return None
            for at, values in zip(fresh, fields, strict=True):
                rows[at] = _at_line(self._columns, places[at], values)
        whole = cast("list[Row]", rows)
        self._known = dict(zip(body, whole, strict=True))
        version = Version.of(whole, places, bool(self.settings.bounds))
        self._last = _Last(body, places, whole, version)
        return version

    def _nearly(self, body: list[str], places: Sequence[int]) -> Version | None:
        """The version, where it has the lines of the last one, but for a few that are about the
        same: it is that one with these rows; else `None`."""
        last = self._last
        if last is None or self.settings.bounds or last.places != places:
            return None
        if len(last.lines) != len(body) or self._columns is None:
            return None
        at = list(compress(count(), map(ne, last.lines, body)))
        fields = self._fields([body[n] for n in at]) if 4 * len(at) <= len(body) else None
        if fields is None:
            return None
        rows, changed = dict(last.version.rows), dict[RowKey, int | str]()
        fresh = [
            _at_line(self._columns, places[n], said) for n, said in zip(at, fields, strict=True)
        ]
        for n, row in zip(at, fresh, strict=True):
            if row.key != last.rows[n].key:
                return None
            rows[row.key], changed[row.key] = row, places[n]
        for n, row in zip(at, fresh, strict=True):
            self._known.pop(last.lines[n], None)
            self._known[body[n]] = last.rows[n] = row
        version = Version(rows, places, Since(ref(last.version), changed))
        self._last = _Last(body, places, last.rows, version)
        return version

    def _fields(self, lines: list[str]) -> list[list[str]] | None:
        """The fields of each line; `None` where one is no row by itself."""
        try:
            found = list(self._reader(iter(lines)))
        except csv.Error:
            return None
        return found if len(found) == len(lines) and [] not in found else None

    # ------------------------------------------------------------ the whole

    def slow(self, text: str) -> Version:
        """What `read` says, made without what is known of other versions."""
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True)
        columns: Columns | None = None
        rows: list[Row] = []
        places: list[int] = []
        line = 1
        try:
            for fields in reader:
                at, line = line, reader.line_num + 1
                if not fields:
                    continue
                if columns is None:
                    columns = Columns(fields, self.settings)
                else:
                    rows.append(_at_line(columns, at, fields))
                    places.append(at)
        except csv.Error as error:
            raise Unsound(f"line {line}: {error}") from None
        if columns is None:
            raise Unsound("the file is empty")
        return Version.of(rows, places, bool(self.settings.bounds))


def _at_line(columns: Columns, line: int, fields: list[str]) -> Row:
    try:
        return columns.row(fields)
    except Unsound as error:
        raise Unsound(f"line {line}: {error}") from None
