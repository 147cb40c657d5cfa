"""Versions of a CSV file, each read with the help of the one before.

A line that was a row by itself before is that row again, so that a version costs what changed in
it. Where a row spans lines, the whole file is read: with the same result, only slower.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from typing import Final, cast

from doxa.adapters.git.cells import Columns
from doxa.adapters.git.rows import Row, Unsound, Version
from doxa.adapters.git.settings import Settings
from doxa.engine.codec import PAYLOAD_LIMIT

__all__ = ["Tables"]

_FIELD: Final = 2 * PAYLOAD_LIMIT  # characters; what is longer than an event is told of by its row
_lock = threading.Lock()  # the limit is one for the process


class Tables:
    """The reader of one file's versions, one after the other. Raises `Unsound`."""

    def __init__(self, settings: Settings, delimiter: str) -> None:
        self.settings, self.delimiter = settings, delimiter
        self._header = ""
        self._columns: Columns | None = None
        self._known: dict[str, Row] = {}  # lines of the last version

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
            self._header, self._known = lines[first], {}
        body = lines[first + 1 :]
        places: Sequence[int] = range(first + 2, first + 2 + len(body))
        if "" in body:
            places = [at for at, line in zip(places, body, strict=True) if line]
            body = list(filter(None, body))
        rows = list(map(self._known.get, body))
        if None in rows:
            fresh = [at for at, row in enumerate(rows) if row is None]
            fields = self._fields([body[at] for at in fresh])
            if fields is None:
                return None
            for at, values in zip(fresh, fields, strict=True):
                rows[at] = _at_line(self._columns, places[at], values)
        found = cast("list[Row]", rows)
        self._known = dict(zip(body, found, strict=True))
        return Version.of(found, places, bool(self.settings.bounds))

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
