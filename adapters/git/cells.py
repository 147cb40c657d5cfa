"""From columns to rows: the key, the interval, and the cells with their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from doxa.adapters.git.rows import Row, Unsound, checked_cell, key_text, name_of
from doxa.adapters.git.settings import Settings
from doxa.engine import times
from doxa.engine.errors import InvalidTime

__all__ = ["Columns", "bounds_of", "record_row", "typed"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_BROKEN: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_DIGITS: Final = 15  # that a number with a fraction keeps


def typed(text: str) -> Any:
    """What a cell says if its form leaves no doubt: a plain number, true or false; else the text.
    Each cell is judged by itself.

    >>> typed("12"), typed("-0.5"), typed("true")
    (12, -0.5, True)
    >>> typed("007"), typed("1e5"), typed("2024-03-01"), typed("NaN"), typed("TRUE"), typed("+1")
    ('007', '1e5', '2024-03-01', 'NaN', 'TRUE', '+1')
    """
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text) and text != "-0":
        return int(text)
    if _BROKEN.fullmatch(text) and len(text.replace(".", "").lstrip("-0")) <= _DIGITS:
        return float(text)
    return text


def bounds_of(settings: Settings, said: Mapping[str, Any]) -> tuple[int, int]:
    """The interval that a row states; an empty bound is open."""
    start, end = times.NEG, times.POS
    try:
        if settings.valid_from is not None:
            start = times.valid_start(_bound(said[settings.valid_from]), settings.valid_from)
        if settings.valid_to is not None:
            end = times.valid_end(_bound(said[settings.valid_to]), settings.valid_to)
        if settings.valid_until is not None:
            until = _bound(said[settings.valid_until])
            end = times.POS if until is None else times.valid_until(until, settings.valid_until)
        times.interval(start, end)
    except InvalidTime as error:
        raise Unsound(str(error)) from None
    return start, end


def _bound(value: Any) -> Any:
    return None if value == "" else value


class Columns:
    """The columns of a table, and what becomes of the fields of its rows. Raises `Unsound`."""

    def __init__(self, header: Sequence[str], settings: Settings) -> None:
        kept = [name for name in header if name not in settings.ignore]
        for at, name in enumerate(header, 1):
            if not name and name in kept:
                raise Unsound(f"column {at} has no name")
        if twice := [name for name in kept if kept.count(name) > 1]:
            raise Unsound(f"two columns are named {twice[0]!r:.60}")
        for name in (*settings.key, *settings.bounds):
            if name not in header:
                raise Unsound(
                    f"there is no column {name!r:.60}; the columns are "
                    f"{', '.join(map(repr, header))!s:.300}"
                )
        self.count, self.settings = len(header), settings
        self.key = [header.index(name) for name in settings.key]
        self.single = self.key[0] if len(self.key) == 1 else None
        self.bounds = {name: header.index(name) for name in settings.bounds}
        self.cells = [
            (name_of(name, "the column"), at)
            for at, name in enumerate(header)
            if name not in settings.ignore and name not in self.bounds
        ]

    def row(self, fields: Sequence[str]) -> Row:
        """The row that some fields are."""
        if len(fields) != self.count:
            raise Unsound(f"the row has {len(fields)} fields, and the header {self.count}")
        subject = key_text([fields[at] for at in self.key], self.settings.prefix)
        start, end = times.NEG, times.POS
        if self.bounds:
            said = {name: fields[at] for name, at in self.bounds.items()}
            start, end = bounds_of(self.settings, said)
        if not all(map(str.isascii, fields)) or max(map(len, fields)) > 100_000:
            for field in fields:
                checked_cell(field)
        empty = self.settings.empty
        cells: dict[str, Any] = {name: fields[at] for name, at in self.cells}
        if empty != "text" and "" in cells.values():
            if empty == "none":
                cells = {name: field for name, field in cells.items() if field != ""}
            else:
                cells = {name: None if field == "" else field for name, field in cells.items()}
        if self.settings.types == "infer":
            cells = {n: typed(v) if isinstance(v, str) else v for n, v in cells.items()}
            return Row((subject, start), end, cells, to_json(cells))
        return Row((subject, start), end, cells)


def record_row(record: Mapping[str, Any], settings: Settings, key: str | None = None) -> Row:
    """The row that an object is; ``key`` is the one under which it stands in a mapping."""
    for name in (*(() if key is not None else settings.key), *settings.bounds):
        if name not in record:
            raise Unsound(f"the record has no {name!r:.60}")
    cells: dict[str, Any] = {}
    if key is None:
        parts = [record[name] for name in settings.key]
    else:
        parts = [key]
        for name in settings.key:
            if name in record and record[name] != key:
                raise Unsound(
                    f"the record under {key!r:.60} says {record[name]!r:.60} as its {name}"
                )
            cells[name] = key
    subject = key_text(parts, settings.prefix)
    start, end = bounds_of(settings, record) if settings.bounds else (times.NEG, times.POS)
    for name, value in record.items():
        if name not in settings.ignore and name not in settings.bounds:
            cells[name_of(name, "the column")] = checked_cell(value)
    return Row((subject, start), end, cells, to_json(cells))
