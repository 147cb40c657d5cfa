"""What the cells of an Arrow column say, as values of the exchange form: nothing is guessed, and
what can't be used is told of where it stands."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from doxa.adapters.exchange.lines import decoder
from doxa.adapters.tables.schema import SOURCE_KEYS, Form
from doxa.engine import times
from doxa.engine.errors import CallerError

__all__ = ["Null", "Unusable", "cells", "fits", "plain", "wanted"]

_UNITS: Final = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


class Null(Enum):
    """JSON null, which somebody said, where an empty cell says nothing."""

    NULL = "null"


class Unusable(NamedTuple):
    """A cell that says nothing which could be recorded: what it shows, and why."""

    shown: str
    why: str


def cells(array: pa.Array, form: Form, as_json: bool) -> list[Any]:
    """The values of a column, ``None`` where it is empty. ``as_json``: text that holds values is
    JSON text."""
    as_json |= getattr(array.type, "extension_name", "") == "arrow.json"
    array = plain(array)
    if array.null_count == len(array):
        return [None] * len(array)
    if form is Form.VALUE:
        is_text = _is_text(array.type)
        return _json_texts(array) if is_text and as_json else _values(array)
    return _READ[form](array)


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


# ---------------------------------------------------------------- types


def fits(type_: pa.DataType, form: Form) -> bool:
    """Whether a column of a type can hold what a form asks for."""
    type_ = _bare(type_)
    if pa.types.is_null(type_):
        return True
    if _is_text(type_):
        return form not in (*_LISTED, Form.FLAG, Form.NUMBER, Form.COUNT, Form.COMPACTION)
    return bool(_FITS[form](type_))


def wanted(type_: pa.DataType, form: Form) -> str:
    """What a column of another type may be instead, and how to make it so."""
    type_ = _bare(type_)
    if pa.types.is_timestamp(type_) and form is Form.TIME:
        return "it has no time zone: say which, with tz_localize or the like"
    return f"{_WORDS[form]}: cast it"


def _bare(type_: pa.DataType) -> pa.DataType:
    while True:
        if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
            type_ = type_.value_type
        elif isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        else:
            return type_


def _is_one_of(type_: pa.DataType, *kinds: str) -> bool:
    return any(getattr(pa.types, f"is_{kind}")(type_) for kind in kinds)


def _is_text(type_: pa.DataType) -> bool:
    return _is_one_of(type_, "string", "large_string", "string_view")


def _is_list(type_: pa.DataType) -> bool:
    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return _is_one_of(type_, *kinds)


def _is_instant(type_: pa.DataType) -> bool:
    return (pa.types.is_timestamp(type_) and type_.tz is not None) or pa.types.is_date(type_)


def _is_number(type_: pa.DataType) -> bool:
    return _is_one_of(type_, "integer", "floating", "decimal")


def _is_source(type_: pa.DataType) -> bool:
    return pa.types.is_struct(type_) and all(
        field.name in SOURCE_KEYS and fits(field.type, _source_form(field.name)) for field in type_
    )


def _source_form(key: str) -> Form:
    return Form.TIME if key == "observed_at" else Form.TEXT


def _is_reference(type_: pa.DataType) -> bool:
    type_ = _bare(type_)
    if pa.types.is_struct(type_):
        return all(f.name in ("workspace", "id") and fits(f.type, Form.TEXT) for f in type_)
    return _is_text(type_) or pa.types.is_null(type_)


def _is_value(type_: pa.DataType) -> bool:
    type_ = _bare(type_)
    if _is_list(type_):
        return _is_value(type_.value_type)
    if pa.types.is_struct(type_):
        return all(_is_value(field.type) for field in type_)
    kinds = ("null", "boolean", "date", "time", "timestamp")
    return _is_text(type_) or _is_number(type_) or _is_one_of(type_, *kinds)


_LISTED: Final = (Form.NAMES, Form.REFERENCES, Form.ERASURES)
_FITS: Final[Mapping[Form, Callable[[pa.DataType], bool]]] = {
    Form.TEXT: lambda type_: False,
    Form.TIME: _is_instant,
    Form.DAY: pa.types.is_date,
    Form.FLAG: pa.types.is_boolean,
    Form.NUMBER: _is_number,
    Form.COUNT: lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
    Form.VALUE: _is_value,
    Form.JSON: lambda type_: False,
    Form.NAMES: lambda type_: _is_list(type_) and fits(type_.value_type, Form.TEXT),
    Form.SOURCE: _is_source,
    Form.REFERENCE: _is_reference,
    Form.REFERENCES: lambda type_: _is_list(type_) and _is_reference(type_.value_type),
    Form.ERASURES: lambda type_: _is_list(type_) and pa.types.is_struct(_bare(type_.value_type)),
    Form.COMPACTION: pa.types.is_struct,
}
_WORDS: Final[Mapping[Form, str]] = {
    Form.TEXT: "it is text",
    Form.TIME: "it is timestamps with a time zone, dates, or ISO text",
    Form.DAY: "it is dates, or ISO text of days",
    Form.FLAG: "it is booleans",
    Form.NUMBER: "it is numbers",
    Form.COUNT: "it is whole numbers",
    Form.VALUE: "it is text, numbers, booleans, dates or times, or lists and structs of them",
    Form.JSON: "it is JSON text",
    Form.NAMES: "it is lists of text",
    Form.SOURCE: f"it is text, the source's id, or structs of {', '.join(SOURCE_KEYS)}",
    Form.REFERENCE: "it is text, an id, or structs of workspace and id",
    Form.REFERENCES: "it is lists of ids, or of structs of workspace and id",
    Form.ERASURES: "it is lists of structs",
    Form.COMPACTION: "it is structs",
}

# ---------------------------------------------------------------- values


def _listing(array: pa.Array) -> list[Any]:
    """The values as Python has them."""
    try:
        found: list[Any] = array.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [_one(array, at) for at in range(len(array))]
    return found


def _one(array: pa.Array, at: int) -> Any:
    try:
        return array[at].as_py()
    except UnicodeDecodeError as error:
        shown = error.object.decode("utf-8", "backslashreplace")
        return Unusable(shown, f"is no UTF-8: byte 0x{error.object[error.start]:02x}")
    except (ValueError, OverflowError, pa.ArrowException) as error:
        return Unusable("", f"can't be read: {error}")


def _instants(array: pa.Array) -> list[Any]:
    """Times as ISO text in UTC."""
    if _is_text(array.type):
        return [_said_time(text) for text in _listing(array)]
    return [None if m is None else _iso(m, rest) for m, rest in _micros(array)]


def _said_time(text: Any) -> Any:
    """A time in words, in the form that all have; what is none is left for the import to refuse."""
    if not isinstance(text, str):
        return text
    try:
        return times.iso(times.instant(text))
    except CallerError:
        return text


def _micros(array: pa.Array) -> list[tuple[int | None, int]]:
    """Instants in microseconds, and what is beyond them."""
    if pa.types.is_date(array.type):
        wide, (up, down) = array.cast(pa.date32()).cast(pa.int32()), (times.DAY, 1)
    else:
        wide, (up, down) = array.cast(pa.int64()), _UNITS[array.type.unit]
    return [(None, 0) if n is None else divmod(n * up, down) for n in wide.to_pylist()]


def _iso(micros: int, rest: int) -> str | Unusable:
    if rest:
        return Unusable(f"{micros} µs and {rest} ns", "has digits beyond the microsecond: round it")
    if not times.FIRST <= micros <= times.LAST:
        return Unusable(f"{micros} µs", "lies outside the years 1 to 9999")
    return times.iso(micros)


def _days(array: pa.Array) -> list[Any]:
    if _is_text(array.type):
        return _listing(array)
    found = [None if m is None else _iso(m, rest) for m, rest in _micros(array)]
    return [day[:10] if isinstance(day, str) else day for day in found]


def _numbers(array: pa.Array) -> list[Any]:
    return list(map(_json_value, _listing(array)))


def _counts(array: pa.Array) -> list[Any]:
    found = _numbers(array)
    return [int(n) if isinstance(n, float) and n.is_integer() else n for n in found]


def _sources(array: pa.Array) -> list[Any]:
    if _is_text(array.type):
        return _listing(array)
    parts = {}
    for field in array.type:
        part = pc.struct_field(array, field.name)
        parts[field.name] = cells(part, _source_form(field.name), False)
    found = []
    for values in zip(*parts.values(), strict=True):
        said = {k: v for k, v in zip(parts, values, strict=True) if v is not None}
        bad = next((v for v in said.values() if isinstance(v, Unusable)), None)
        found.append(bad or (said["id"] if set(said) == {"id"} else said) or None)
    return found


def _references(array: pa.Array) -> list[Any]:
    return [each and list(map(_said_reference, each)) for each in _listing(array)]


def _reference(array: pa.Array) -> list[Any]:
    return list(map(_said_reference, _listing(array)))


def _said_reference(value: Any) -> Any:
    if isinstance(value, dict):
        said = {k: v for k, v in value.items() if v is not None}
        return (said["id"] if set(said) == {"id"} else said) or None
    return value


def _erasures(array: pa.Array) -> list[Any]:
    return [each and [_filled(one) for one in each] for each in _listing(array)]


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: v for k, v in value.items() if v is not None and v != []}
    return value


def _compactions(array: pa.Array) -> list[Any]:
    return [_filled(each) or None for each in _listing(array)]


def _json_texts(array: pa.Array) -> list[Any]:
    return [text if text is None else _decoded(text) for text in _listing(array)]


def _decoded(text: Any) -> Any:
    if isinstance(text, Unusable):
        return text
    try:
        value = decoder.decode(text)
        return Null.NULL if value is None else value
    except json.JSONDecodeError as error:
        return Unusable(text, f"is no JSON text: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return Unusable(text[:1_000], "is nested too deep to be read")
    except ValueError as error:
        return Unusable(text[:1_000], f"is no JSON text: {error}")


def _values(array: pa.Array) -> list[Any]:
    """Values as a frame has them, as JSON has them."""
    if pa.types.is_timestamp(array.type):
        end = "Z" if array.type.tz is not None else ""
        found = [None if m is None else _iso(m, rest) for m, rest in _micros(array)]
        return [t.removesuffix("Z") + end if isinstance(t, str) else t for t in found]
    return list(map(_json_value, _listing(array)))


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return Unusable(str(value), "is no number that JSON has; leave the cell empty, or the row")
    if value is None or isinstance(value, str | bool | int | float | Unusable):
        return value
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):
            return Unusable(str(value), "has digits beyond the microsecond: round it")
        return value.isoformat() if value.tzinfo is None else times.iso(times.instant(value))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list):
        found = list(map(_json_value, value))
        return next((one for one in found if isinstance(one, Unusable)), found)
    assert isinstance(value, dict), f"{value!r} is no value of a column that was let in"
    said = {key: _json_value(one) for key, one in value.items()}
    return next((one for one in said.values() if isinstance(one, Unusable)), said)


def _decimal(value: Decimal) -> Any:
    if not value.is_finite():
        return Unusable(str(value), "is no number that JSON has")
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    if Decimal(repr(near)) != value:
        return Unusable(
            str(value), "has more digits than a number here keeps: cast it to text, or to a float"
        )
    return near


_READ: Final[Mapping[Form, Callable[[pa.Array], list[Any]]]] = {
    Form.TEXT: _listing,
    Form.TIME: _instants,
    Form.DAY: _days,
    Form.FLAG: _listing,
    Form.NUMBER: _numbers,
    Form.COUNT: _counts,
    Form.JSON: _json_texts,
    Form.NAMES: _listing,
    Form.SOURCE: _sources,
    Form.REFERENCE: _reference,
    Form.REFERENCES: _references,
    Form.ERASURES: _erasures,
    Form.COMPACTION: _compactions,
}
