"""What the cells of an Arrow column say, as values of the exchange form: nothing is guessed, and
what can't be used is told of where it stands."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from doxa.adapters.exchange.lines import decoder
from doxa.adapters.tables.kinds import inner, is_json, is_list, is_text
from doxa.adapters.tables.schema import Form
from doxa.engine import times
from doxa.engine.errors import CallerError

__all__ = ["Null", "Unusable", "cells", "is_empty", "misfits", "plain"]

_UNITS: Final = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
_SECOND: Final = 1_000_000  # µs
_DEEP: Final = 200  # brackets, with fewer of which no text is nested too deep to be written


class Null(Enum):
    """JSON null, which somebody said, where an empty cell says nothing."""

    NULL = "null"


class Unusable(NamedTuple):
    """A cell that says nothing which could be recorded: all that it shows, in a form that JSON has,
    and why, with the value that is in the way."""

    shown: Any
    why: str


def cells(array: pa.Array, form: Form, as_json: bool) -> list[Any]:
    """The values of a column, ``None`` where it is empty. ``as_json``: text that holds values is
    JSON text."""
    as_json |= is_json(array.type)
    array = plain(array)
    if array.null_count == len(array):
        return [None] * len(array)
    if form is Form.VALUE and as_json and is_text(array.type):
        return _json_texts(array)
    return _READ[form](array)


def misfits(array: pa.Array, why: str) -> list[Any]:
    """The same of a column of a type that its name can't have: what is there can't be used."""
    found = _values(plain(array))
    return [None if _is_missing(value) else Unusable(_shown(value), why) for value in found]


def is_empty(array: pa.Array) -> bool:
    """Whether a column says nothing, as one of numbers that are all missing does not."""
    if pa.types.is_floating(array.type):
        return bool(pc.all(pc.is_null(array, nan_is_null=True)).as_py() is not False)
    return bool(array.null_count == len(array))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, Unusable) and value.shown == "nan")


def plain(array: pa.Array) -> pa.Array:
    """The same values without the coats that they may wear."""
    while True:
        if pa.types.is_dictionary(array.type):
            array = _taken(array.dictionary, array.indices)
        elif pa.types.is_run_end_encoded(array.type):
            ends = np.asarray(array.run_ends)  # of the whole, of which this is a part
            places = np.arange(array.offset, array.offset + len(array))
            array = _taken(array.values, pa.array(np.searchsorted(ends, places, "right")))
        elif isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        else:
            return array


def _taken(values: pa.Array, indices: pa.Array) -> pa.Array:
    if pa.types.is_string_view(values.type):  # of which Arrow takes none
        values = values.cast(pa.large_string())
    return values.take(indices)


# ---------------------------------------------------------------- whatever is there


def _listing(array: pa.Array) -> list[Any]:
    """The values as Python has them."""
    try:
        found: list[Any] = array.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [_gathered(_part(array, at)) for at in range(len(array))]
    return found


def _part(array: pa.Array, at: int) -> Any:
    """One value, with what can't be read of it at its place within."""
    array = plain(array)
    cell = array[at]
    if not cell.is_valid:
        return None
    if is_list(array.type):
        return [_part(cell.values, n) for n in range(len(cell.values))]
    if pa.types.is_struct(array.type):
        return {field.name: _part(array.field(n), at) for n, field in enumerate(array.type)}
    try:
        return cell.as_py()
    except UnicodeDecodeError as error:
        shown = error.object.decode("utf-8", "backslashreplace")
        return Unusable(shown, f"is no UTF-8: byte 0x{error.object[error.start]:02x}")
    except (ValueError, OverflowError, pa.ArrowException) as error:
        shown = array.slice(at, 1).to_string(skip_new_lines=True).strip("[]<> \n")
        return Unusable(shown, f"holds {shown:.80}, which can't be read: {error}")


def _gathered(value: Any) -> Any:
    """A list or struct with all that is in it; unusable where something in it is."""
    parts: Iterable[Any] = ()
    if isinstance(value, dict):
        value = {key: _gathered(one) for key, one in value.items()}
        parts = value.values()
    elif type(value) is list:
        parts = value = list(map(_gathered, value))
    bad = next((one for one in parts if isinstance(one, Unusable)), None)
    return value if bad is None else Unusable(_shown(value), bad.why)


def _shown(value: Any) -> Any:
    """What is there, in a form that JSON has."""
    if isinstance(value, Unusable):
        return value.shown
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(_shown, value))
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


# ---------------------------------------------------------------- times


def _instants(array: pa.Array) -> list[Any]:
    """Times as ISO text in UTC."""
    if is_text(array.type):
        return _each(_said_time, _listing(array))
    return _each(_iso, _ticks(array))


def _each(make: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    """What is made of each value, once of those that are equal."""
    made = {value: make(value) for value in set(values) if value is not None}
    made[None] = None
    return [made[value] for value in values]


def _said_time(text: Any) -> Any:
    """A time in words, in the form that all have; what is none is left for the import to refuse."""
    if not isinstance(text, str):
        return text
    try:
        return times.iso(times.instant(text))
    except CallerError:
        return text


def _ticks(array: pa.Array) -> list[Any]:
    """Instants in microseconds, and what is beyond them."""
    if pa.types.is_date32(array.type):
        wide, (up, down) = array.cast(pa.int32()), (times.DAY, 1)
    else:
        unit = "ms" if pa.types.is_date(array.type) else array.type.unit
        wide, (up, down) = array.cast(pa.int64()), _UNITS[unit]
    return [None if n is None else divmod(n * up, down) for n in wide.to_pylist()]


def _iso(tick: tuple[int, int]) -> str | Unusable:
    micros, rest = tick
    if not times.FIRST <= micros <= times.LAST:
        shown = f"{micros} µs from 1970"
        why = "outside the years 1 to 9999; an open end is an empty cell"
        return Unusable(shown, f"holds {shown}, {why}")
    if rest:
        second, fraction = divmod(micros, _SECOND)
        whole = times.iso(second * _SECOND).removesuffix("Z")
        shown = f"{whole}.{fraction:06}{rest:03}Z"
        return Unusable(shown, f"holds {shown}, with digits beyond the microsecond: round it")
    return times.iso(micros)


def _days(array: pa.Array) -> list[Any]:
    return _listing(array) if is_text(array.type) else _each(_day, _ticks(array))


def _day(tick: tuple[int, int]) -> str | Unusable:
    said = _iso(tick)
    if isinstance(said, str) and tick[0] % times.DAY:
        return Unusable(said, f"holds {said}, which is no whole day")
    return said[:10] if isinstance(said, str) else said


# ---------------------------------------------------------------- numbers, references, sources


def _numbers(array: pa.Array) -> list[Any]:
    """Numbers with a fraction, though it be 0, as an export has them."""
    return [float(n) if type(n) is int else n for n in _values(array)]


def _counts(array: pa.Array) -> list[Any]:
    return [int(n) if isinstance(n, float) and n.is_integer() else n for n in _values(array)]


def _sources(array: pa.Array) -> list[Any]:
    if is_text(array.type):
        return _listing(array)
    return list(map(_named, _structs(array, Form.SOURCE)))


def _structs(array: pa.Array, form: Form) -> list[Any]:
    """Structs, of each what is not empty in it."""
    parts = {
        field.name: cells(pc.struct_field(array, [n]), inner(form, field.name), False)
        for n, field in enumerate(array.type)
    }
    rows = zip(*parts.values(), strict=True) if parts else [()] * len(array)
    return [
        _gathered({k: v for k, v in zip(parts, row, strict=True) if v is not None}) for row in rows
    ]


def _named(said: Any) -> Any:
    """A source or a reference of which there is but the id, as that."""
    if isinstance(said, dict):
        return (said["id"] if said.keys() == {"id"} else said) or None
    return said


def _reference(array: pa.Array) -> list[Any]:
    return [_named(_filled(value)) for value in _listing(array)]


def _references(array: pa.Array) -> list[Any]:
    return [_within(each, lambda value: _named(_filled(value))) for each in _listing(array)]


def _erasures(array: pa.Array) -> list[Any]:
    return [_within(each, _filled) for each in _listing(array)]


def _within(value: Any, make: Callable[[Any], Any]) -> Any:
    return list(map(make, value)) if isinstance(value, list) else value


def _filled(value: Any) -> Any:
    """What is not empty in a struct."""
    if isinstance(value, dict):
        return {k: v for k, v in value.items() if v is not None and v != []}
    return value


def _compactions(array: pa.Array) -> list[Any]:
    return [said or None for said in _structs(array, Form.COMPACTION)]


# ---------------------------------------------------------------- values


def _json_texts(array: pa.Array) -> list[Any]:
    return [text if text is None else _decoded(text) for text in _listing(array)]


def _decoded(text: Any) -> Any:
    if isinstance(text, Unusable):
        return text
    try:
        value = decoder.decode(text)
        if text.count("[") + text.count("{") > _DEEP and _is_deep(value):
            raise RecursionError
    except RecursionError:
        return Unusable(text, f"holds {text[:40]}…, which is nested too deep to be read")
    except json.JSONDecodeError as error:
        return _no_json(text, f"{error.msg} at character {error.pos + 1}")
    except ValueError as error:
        return _no_json(text, str(error))
    return Null.NULL if value is None else value


def _no_json(text: str, why: str) -> Unusable:
    plain_text = "where objects are plain text, say json_objects=False, or --text-objects"
    return Unusable(text, f"holds {text[:80]!r}, which is no JSON text ({why}); {plain_text}")


def _is_deep(value: Any) -> bool:
    """Whether it is nested deeper than any event, so deep that it may not be written."""
    level = [value]
    for _ in range(_DEEP):
        within = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for each in within for one in each if isinstance(one, list | dict)]
    return bool(level)


def _values(array: pa.Array) -> list[Any]:
    """Values as a frame has them, as JSON has them."""
    if pa.types.is_timestamp(array.type):
        found = _each(_iso, _ticks(array))
        if array.type.tz is None:
            return [t.removesuffix("Z") if isinstance(t, str) else t for t in found]
        return found
    if pa.types.is_date(array.type):
        return _days(array)
    found = _listing(array)
    if is_text(array.type) or pa.types.is_integer(array.type) or pa.types.is_boolean(array.type):
        return found
    return list(map(_json_value, found))


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | Unusable):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _no_number(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list):
        return _gathered(list(map(_json_value, value)))
    if isinstance(value, dict):
        return _gathered({key: _json_value(one) for key, one in value.items()})
    return value


def _no_number(value: object) -> Unusable:
    why = "which is no number that JSON has; leave the cell empty, or the row out"
    return Unusable(str(value), f"holds {value}, {why}")


def _moment(value: datetime) -> Any:
    if getattr(value, "nanosecond", 0):
        why = f"holds {value.isoformat()}, with digits beyond the microsecond: round it"
        return Unusable(value.isoformat(), why)
    return value.isoformat() if value.tzinfo is None else times.iso(times.instant(value))


def _decimal(value: Decimal) -> Any:
    if not value.is_finite():
        return _no_number(value)
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    if Decimal(repr(near)) != value:
        why = "which has more digits than a number here keeps: cast it to text, or to a float"
        return Unusable(str(value), f"holds {value}, {why}")
    return near


_READ: Final[Mapping[Form, Callable[[pa.Array], list[Any]]]] = {
    Form.TEXT: _listing,
    Form.TIME: _instants,
    Form.DAY: _days,
    Form.FLAG: _listing,
    Form.NUMBER: _numbers,
    Form.COUNT: _counts,
    Form.VALUE: _values,
    Form.JSON: _json_texts,
    Form.NAMES: _listing,
    Form.SOURCE: _sources,
    Form.REFERENCE: _reference,
    Form.REFERENCES: _references,
    Form.ERASURES: _erasures,
    Form.COMPACTION: _compactions,
}
