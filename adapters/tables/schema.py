"""The columns of a table of events: one for each key of the exchange form, and what goes in it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

import pyarrow as pa

__all__ = [
    "COLUMNS",
    "COMPACTION_KEYS",
    "ERASURE_KEYS",
    "OPEN",
    "POSITION",
    "SCHEMA",
    "SOURCE_KEYS",
    "Form",
]


class Form(Enum):
    """What a column holds."""

    TEXT = "text"
    TIME = "instants"
    DAY = "days"
    FLAG = "true or false"
    NUMBER = "numbers"
    COUNT = "whole numbers"
    VALUE = "values"  # JSON text, or values as a frame has them
    JSON = "JSON text"
    NAMES = "lists of text"
    SOURCE = "sources"
    REFERENCE = "a reference"
    REFERENCES = "lists of references"
    ERASURE = "one that was erased"
    ERASURES = "what was erased"
    COMPACTION = "what was compacted"


POSITION: Final = "position"
"""Where in its log an event lies: told by an export, passed over by an import."""

OPEN: Final = MappingProxyType({"valid_from": "open_from", "valid_to": "open_to"})
"""The bounds, each with the column that says whether it is open where it is empty. Without that
an empty bound is one that was left out."""

_FORMS: Final[Mapping[Form, str]] = {
    Form.TEXT: "event id workspace subject predicate text kind perspective assumed claim stance "
    "corrects unresolved resolves by reason target binding single_valued verified pinned scored "
    "expires decays rejected evidence author of digest",
    Form.TIME: "recorded_at stated_at valid_from valid_to valid_at at until",
    Form.DAY: "valid_until",
    Form.FLAG: "open_from open_to whole_source",
    Form.NUMBER: "importance days",
    Form.COUNT: "position first last count",
    Form.VALUE: "object",
    Form.JSON: "calibrated",
    Form.NAMES: "recall_when candidates sources subjects contradicts archived restored",
    Form.SOURCE: "source asked_by",
    Form.REFERENCE: "overrides blocked",
    Form.REFERENCES: "because facts supports citations",
    Form.ERASURES: "redacted",
    Form.COMPACTION: "compacted",
}
COLUMNS: Final[Mapping[str, Form]] = MappingProxyType(
    {name: form for form, names in _FORMS.items() for name in names.split()}
)
"""Every column that an import knows, and its form."""

# ---------------------------------------------------------------- what an export has

_TIME: Final = pa.timestamp("us", "UTC")
_NAMES: Final = pa.list_(pa.string())
_REFERENCE: Final = pa.struct([("workspace", pa.string()), ("id", pa.string())])
_SOURCE: Final = pa.struct(
    [
        ("id", pa.string()),
        ("locator", pa.string()),
        ("quote", pa.string()),
        ("digest", pa.string()),
        ("origin", pa.string()),
        ("observed_at", _TIME),
    ]
)
_ERASURE: Final = pa.struct(
    [
        ("id", pa.string()),
        ("subject", pa.string()),
        ("predicate", pa.string()),
        ("perspective", pa.string()),
        ("agrees", _NAMES),
    ]
)
_COMPACTION: Final = pa.struct(
    [
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("stretches", pa.int64()),
        ("events", pa.int64()),
        ("digest", pa.string()),
    ]
)
SOURCE_KEYS: Final = tuple(field.name for field in _SOURCE)
ERASURE_KEYS: Final = tuple(field.name for field in _ERASURE)
COMPACTION_KEYS: Final = tuple(field.name for field in _COMPACTION)
_TYPES: Final = {
    Form.TEXT: pa.string(),
    Form.TIME: _TIME,
    Form.FLAG: pa.bool_(),
    Form.NUMBER: pa.float64(),
    Form.COUNT: pa.int64(),
    Form.VALUE: pa.string(),
    Form.JSON: pa.string(),
    Form.NAMES: _NAMES,
    Form.SOURCE: _SOURCE,
    Form.REFERENCE: _REFERENCE,
    Form.REFERENCES: pa.list_(_REFERENCE),
    Form.ERASURES: pa.list_(_ERASURE),
    Form.COMPACTION: _COMPACTION,
}
_ORDER: Final = (
    *("position", "event", "id", "workspace", "recorded_at", "stated_at"),
    *("subject", "predicate", "object", "text", "kind", "perspective"),
    *("valid_from", "open_from", "valid_to", "open_to"),
    *("source", "because", "assumed", "recall_when"),
    *("claim", "stance"),
    *("corrects", "unresolved", "candidates", "by", "resolves", "reason"),
    *("target", "whole_source", "asked_by"),
    *("facts", "supports", "sources", "citations", "binding", "subjects", "valid_at"),
    *("single_valued", "contradicts", "verified", "pinned", "calibrated"),
    *("scored", "importance", "expires", "at", "decays", "days", "archived", "restored"),
    *("rejected", "until", "evidence", "author", "overrides", "blocked", "of"),
    *("redacted", "compacted", "first", "last", "count", "digest"),
)

SCHEMA: Final = pa.schema([(name, _TYPES[COLUMNS[name]]) for name in _ORDER])
"""The columns of an exported table, in their order."""
