"""What a cell of a table means, whatever version wrote it and through whatever tool it came."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["first", "listed", "number", "shown", "text"]

_QUOTED: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DIGITS: Final = 18  # of a row's number; longer ones are none
_SHOWN: Final = 200  # characters of a row that is told of


def first(row: Mapping[str, Any], *names: str) -> Any:
    """The cell of the first of these columns that says something."""
    for name in names:
        value = row.get(name)
        if not _missing(value):
            return value
    return None


def _missing(value: object) -> bool:
    """Whether a cell is empty as stores and data frames write it: null, not a number, no time."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def text(value: object) -> str | None:
    """A cell as text; `None` where it is empty. Halves of surrogate pairs become U+FFFD.

    >>> text(3.0), text(float("nan")), text(b"a"), text("")
    ('3', None, 'a', None)
    """
    if _missing(value):
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif isinstance(value, dt.datetime | dt.date):
        value = value.isoformat()
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    return _SURROGATE.sub("\ufffd", str(value)) or None


def number(value: object) -> int | None:
    """A row's number; `None` where the cell holds none.

    >>> number("12"), number(12.0), number("12.0"), number("x"), number(None)
    (12, 12, 12, None, None)
    """
    if _missing(value) or isinstance(value, bool):
        return None
    said = str(value).strip().removesuffix(".0")
    sign, digits = said[:1] == "-", said.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS:
        return None
    return -int(digits) if sign else int(digits)


def listed(value: object, *, joined: bool = True) -> list[str]:
    """The ids that a cell lists: a list or array, the text of one (JSON, Python, numpy), or ids
    ``joined`` by commas, also where a list holds such a text. Each once, in their order.

    >>> listed("['a', 'b']"), listed("['a'\\n 'b']"), listed(["a,b"]), listed("[7 8]")
    (['a', 'b'], ['a', 'b'], ['a', 'b'], ['7', '8'])
    """
    found: dict[str, None] = {}
    for item in _items(value):
        said = text(item)
        for part in () if said is None else said.split(",") if joined else [said]:
            if part.strip():
                found[part.strip()] = None
    return list(found)


def _items(value: object) -> Iterable[object]:
    if isinstance(value, bytes):
        value = text(value)
    if not isinstance(value, str):
        if isinstance(value, Iterable) and not isinstance(value, Mapping):
            return list(value)
        return [] if _missing(value) else [value]
    said = value.strip()
    if not said.startswith("["):
        return [said]
    try:
        read = json.loads(said)
        if isinstance(read, list):
            return read
    except (ValueError, RecursionError):
        pass
    quoted = [one or other for one, other in _QUOTED.findall(said)]
    return quoted or said.strip("[]").replace(",", " ").split()


def shown(value: object) -> str:
    """As much of a value as helps to find it, in one line."""
    said = " ".join((text(value) or "").split())
    return said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
