"""What a document says that it rests on, in the metadata that is kept beside it in an index.

The keys are flat. A list of ids may be given as a list or, where a store takes scalars alone, as
the JSON text of one; a single id also as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["ANNOTATIONS", "OURS", "annotated", "declared"]

# The keys of metadata, and what each is called in a candidate of an assembly.
ANNOTATIONS: Final[Mapping[str, str]] = {
    "claim_ids": "facts",
    "support_ids": "supports",
    "citation_ids": "citations",
    "source_ids": "sources",
    "artefact_id": "artefact",
}
# The keys that a judgement adds.
OURS: Final = (
    *("truth_status", "truth_label", "truth_reason", "truth_verdict", "truth_confidence"),
    "truth_valid_at",
    *("view_revision", "known_at", "valid_from", "valid_to"),
)


def declared(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata declares, as the fields of a candidate; other keys are not looked at, and a
    value that can't be read is handed on, to be refused where it is judged.

    >>> declared({"claim_ids": '["c1", "c2"]', "source_ids": "a.md", "page": 3})
    {'facts': ['c1', 'c2'], 'sources': ['a.md']}
    """
    found: dict[str, Any] = {}
    for key, name in ANNOTATIONS.items():
        value = metadata.get(key)
        if _nothing(value):
            continue
        found[name] = value if name == "artefact" else _ids(value)
        if _nothing(found[name]):
            del found[name]
    return found


def annotated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that declares these fields of a candidate: JSON scalars alone.

    >>> annotated({"facts": ["c1"], "artefact": "n1"})
    {'claim_ids': '["c1"]', 'artefact_id': 'n1'}
    """
    return {
        key: fields[name] if name == "artefact" else _text(fields[name])
        for key, name in ANNOTATIONS.items()
        if name in fields
    }


def _nothing(value: object) -> bool:
    """Whether a value is none, as stores and data frames write it."""
    if value is None or (isinstance(value, float) and value != value):
        return True
    return isinstance(value, str | list | tuple) and not value


def _ids(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        try:
            listed = json.loads(value)
        except ValueError:
            return [value]
        return listed if isinstance(listed, list) else [value]
    return [value]


def _text(value: Any) -> str:
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return json.dumps(listed, ensure_ascii=False, default=str)
