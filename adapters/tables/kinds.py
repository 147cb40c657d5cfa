"""The types that a column may have, by what it holds, and what else to make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from doxa.adapters.tables.schema import COMPACTION_KEYS, ERASURE_KEYS, SOURCE_KEYS, Form

__all__ = ["bare", "fits", "inner", "is_json", "is_list", "is_text", "wanted"]


def fits(type_: pa.DataType, form: Form) -> bool:
    """Whether a column of a type can hold what a form asks for."""
    type_ = bare(type_)
    if pa.types.is_null(type_):
        return True
    if is_text(type_):
        return form in _SAID
    return bool(_FITS[form](type_))


def wanted(type_: pa.DataType, form: Form) -> str:
    """What a column of another type may be instead, and how to make it so."""
    if pa.types.is_timestamp(bare(type_)) and form is Form.TIME:
        return "it has no time zone: say which, with tz_localize or the like"
    return f"{_WORDS[form]}: cast it"


def bare(type_: pa.DataType) -> pa.DataType:
    """The type without the coats that it may wear. One that says how its storage is to be
    understood is not taken for that: a year is not the number that stands for it."""
    while True:
        if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
            type_ = type_.value_type
        elif isinstance(type_, pa.BaseExtensionType) and is_text(type_.storage_type):
            type_ = type_.storage_type
        else:
            return type_


def is_json(type_: pa.DataType) -> bool:
    """Whether a column says of itself that it holds JSON text."""
    return getattr(type_, "extension_name", "") == "arrow.json"


def is_text(type_: pa.DataType) -> bool:
    return _is_one_of(type_, "string", "large_string", "string_view")


def is_list(type_: pa.DataType) -> bool:
    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return _is_one_of(type_, *kinds)


def inner(form: Form, key: str) -> Form:
    """What a key of a struct holds."""
    return _INNER[form][key]


def _is_one_of(type_: pa.DataType, *kinds: str) -> bool:
    return any(getattr(pa.types, f"is_{kind}")(type_) for kind in kinds)


def _is_instant(type_: pa.DataType) -> bool:
    return (pa.types.is_timestamp(type_) and type_.tz is not None) or pa.types.is_date(type_)


def _is_number(type_: pa.DataType) -> bool:
    return _is_one_of(type_, "integer", "floating", "decimal")


def _is_struct(type_: pa.DataType, form: Form) -> bool:
    """Whether it is a struct of some of the keys that a form has, each once."""
    if not pa.types.is_struct(type_) or not _once(type_):
        return False
    keys = _INNER[form]
    return all(field.name in keys and fits(field.type, keys[field.name]) for field in type_)


def _once(type_: pa.DataType) -> bool:
    names = [field.name for field in type_]
    return len(set(names)) == len(names)


def _is_value(type_: pa.DataType) -> bool:
    type_ = bare(type_)
    if is_list(type_):
        return _is_value(type_.value_type)
    if pa.types.is_struct(type_):
        return _once(type_) and all(_is_value(field.type) for field in type_)
    kinds = ("null", "boolean", "date", "time", "timestamp")
    return is_text(type_) or _is_number(type_) or _is_one_of(type_, *kinds)


def _list_of(form: Form) -> Callable[[pa.DataType], bool]:
    return lambda type_: is_list(type_) and fits(type_.value_type, form)


_INNER: Final[Mapping[Form, Mapping[str, Form]]] = {
    Form.SOURCE: {k: Form.TIME if k == "observed_at" else Form.TEXT for k in SOURCE_KEYS},
    Form.REFERENCE: {"workspace": Form.TEXT, "id": Form.TEXT},
    Form.ERASURE: {k: Form.NAMES if k == "agrees" else Form.TEXT for k in ERASURE_KEYS},
    Form.COMPACTION: {k: Form.TEXT if k == "digest" else Form.COUNT for k in COMPACTION_KEYS},
}
_SAID: Final = {  # what text may hold
    *(Form.TEXT, Form.TIME, Form.DAY, Form.VALUE, Form.JSON, Form.SOURCE, Form.REFERENCE),
}
_FITS: Final[Mapping[Form, Callable[[pa.DataType], bool]]] = {
    Form.TEXT: lambda type_: False,
    Form.TIME: _is_instant,
    Form.DAY: pa.types.is_date,
    Form.FLAG: pa.types.is_boolean,
    Form.NUMBER: _is_number,
    Form.COUNT: lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
    Form.VALUE: _is_value,
    Form.JSON: lambda type_: False,
    Form.NAMES: _list_of(Form.TEXT),
    Form.SOURCE: lambda type_: _is_struct(type_, Form.SOURCE),
    Form.REFERENCE: lambda type_: _is_struct(type_, Form.REFERENCE),
    Form.REFERENCES: _list_of(Form.REFERENCE),
    Form.ERASURE: lambda type_: _is_struct(type_, Form.ERASURE),
    Form.ERASURES: _list_of(Form.ERASURE),
    Form.COMPACTION: lambda type_: _is_struct(type_, Form.COMPACTION),
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
    Form.ERASURES: f"it is lists of structs of {', '.join(ERASURE_KEYS)}",
    Form.COMPACTION: f"it is structs of {', '.join(COMPACTION_KEYS)}",
}
