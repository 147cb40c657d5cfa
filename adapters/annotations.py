"""What a document says that it rests on, in the metadata that is kept beside it in an index.

The keys are flat. A list of ids may be given as a list or, where a store takes scalars alone, as
the JSON text of one; a single id also as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
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
        listed = _ids(value)
        if name == "artefact" and isinstance(listed, list | tuple) and len(listed) == 1:
            listed = listed[0]
        if not _nothing(listed):
            found[name] = listed
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
    if value is None or (isinstance(value, str | list | tuple) and not value):
        return True
    if isinstance(value, Iterable):
        return False
    try:
        return bool(value != value)  # not a number, not a time
    except TypeError:  # what pandas writes for none at all can't be compared
        return True


def _ids(value: Any) -> Any:
    """A list of ids, whatever holds them; what can't be read as ids stays as it is."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, Mapping):
        return [value]  # an id with its workspace, or to be refused
    if not isinstance(value, Iterable) or isinstance(value, bytes | list | tuple):
        return value
    try:
        listed = list(value)  # it may be gone when it was read once
    except TypeError:  # an array of no dimension
        return [value]
    return sorted(listed, key=repr) if isinstance(value, Set) else listed


def _of_text(value: str) -> list[Any]:
    """The ids in a text: it is one, or JSON of several, or of one with its workspace."""
    if value.lstrip().startswith(("[", "{")):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        if isinstance(read, list):
            return read
        if isinstance(read, dict) and read.keys() == {"workspace", "id"}:
            return [read]
    return [value]


def _text(value: Any) -> str:
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return json.dumps(listed, ensure_ascii=False, default=str)
