"""What a model extracted from one chunk, read from LightRAG's cache of answers: records of entities
and relations, in the tool's own form with delimiters, or in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from doxa.adapters.lightrag.names import cleaned, cleaned_name, cleaned_type

__all__ = ["SEP", "Debris", "Entity", "Relation", "extracted"]

SEP: Final = "<SEP>"  # between the parts of what LightRAG keeps as one text
_FIELD: Final = "<|#|>"
_DONE: Final = "<|COMPLETE|>"
_FENCE: Final = re.compile(r"^\s*```(?:json)?\s*\n?(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
# Ways in which models misspell the delimiter, in the order in which LightRAG mends them.
_MISSPELT: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"<\|#\|*?#\|>",
        r"<\|\\#\|>",
        r"(?<=\S)<\|+>(?=\S)",
        r"<.?\|#\|.?>",
        r"<\|?#\|?>",
        r"<[^|]#\|>|<\|#[^|]>",
        r"<\|#\|+(?!>)",
        r"<\|#:(?!>)",
        r"<\|+#>",
        r"(?<=\S)<\|\|(?!>)",
        r"(?<!<)\|#\|>",
        r"<\|#\|>\|",
        r"\|\|#\|\|",
    )
)


class Entity(NamedTuple):
    """An entity as a chunk describes it."""

    name: str
    kind: str
    description: str


class Relation(NamedTuple):
    """A relation as a chunk describes it."""

    source: str
    target: str
    description: str


class Debris(NamedTuple):
    """A piece of an answer that is no record, and why."""

    text: str
    reason: str


Record = Entity | Relation | Debris


def extracted(answer: str) -> list[Record]:
    """The records of one answer, each once, in their order, with what is none."""
    text = answer.strip()
    found = _of_json(text) if _looks_like_json(text) else None
    return list(dict.fromkeys(_of_lines(text) if found is None else found))


def _looks_like_json(text: str) -> bool:
    fenced = _FENCE.match(text)
    return (fenced[1].strip() if fenced else text).startswith(("{", "["))


# ---------------------------------------------------------------- with delimiters


def _of_lines(answer: str) -> Iterator[Record]:
    for piece in _split(answer, "\n", _DONE, _DONE.lower()):
        for record in _pieces(piece):
            for pattern in _MISSPELT:
                record = pattern.sub(_FIELD, record)
            yield _read(record, _split(record, _FIELD))


def _split(text: str, *marks: str) -> list[str]:
    parts = re.split("|".join(map(re.escape, marks)), text)
    return [stripped for part in parts if (stripped := part.strip())]


def _pieces(record: str) -> Iterator[str]:
    """The records of a line: some models put the delimiter between records as well."""
    for entity in _split(record, f"{_FIELD}entity{_FIELD}"):
        if not entity.startswith(("entity", "relation")):
            entity = f"entity<|{entity}"
        for piece in _split(entity, f"{_FIELD}relationship{_FIELD}", f"{_FIELD}relation{_FIELD}"):
            yield piece if piece.startswith(("entity", "relation")) else f"relation{_FIELD}{piece}"


def _read(record: str, fields: list[str]) -> Record:
    head = fields[0].lower() if fields else ""
    if len(fields) == 5 and "entity" in head and "relation" not in head:
        fields = ["relation", *fields[1:]]  # a relation under the wrong name
    if fields and "entity" in fields[0]:
        if len(fields) == 4:
            return _entity(record, *fields[1:])
        return Debris(record, f"has {len(fields)} of the 4 fields of an entity")
    if fields and "relation" in fields[0]:
        if len(fields) == 5:
            return _relation(record, fields[1], fields[2], fields[4])
        return Debris(record, f"has {len(fields)} of the 5 fields of a relation")
    return Debris(record, "is neither an entity nor a relation")


def _entity(record: str, name: str, kind: str, description: str) -> Record:
    found = Entity(cleaned_name(name), cleaned_type(kind), cleaned(description))
    missing = next((key for key, value in found._asdict().items() if not value), None)
    if missing is None:
        return found
    word = "type" if missing == "kind" else missing
    return Debris(record, f"the entity has no {word} that counts")


def _relation(record: str, source: str, target: str, description: str) -> Record:
    found = Relation(cleaned_name(source), cleaned_name(target), cleaned(description))
    missing = next((key for key, value in found._asdict().items() if not value), None)
    if missing is not None:
        return Debris(record, f"the relation has no {missing} that counts")
    if found.source == found.target:
        return Debris(record, "the relation leads from an entity to itself")
    return found


# ---------------------------------------------------------------- in JSON


def _of_json(answer: str) -> list[Record] | None:
    """The records of an answer in JSON; `None` where it can't be read as that."""
    fenced = _FENCE.match(answer)
    text = fenced[1].strip() if fenced else answer
    if not text.startswith("{"):
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return [
        *_rows(found, "entities", _json_entity),
        *_rows(found, "relationships", _json_relation),
    ]


def _rows(answer: dict[str, Any], name: str, read: Any) -> Iterable[Record]:
    rows = answer.get(name, [])
    if not isinstance(rows, list):
        return [Debris(json.dumps(rows, ensure_ascii=False), f"{name} is no list")]
    return [
        read(json.dumps(row, ensure_ascii=False), row)
        if isinstance(row, dict)
        else Debris(json.dumps(row, ensure_ascii=False), f"is no object in {name}")
        for row in rows
    ]


def _json_entity(record: str, row: dict[str, Any]) -> Record:
    return _entity(record, *(str(row.get(key, "")) for key in ("name", "type", "description")))


def _json_relation(record: str, row: dict[str, Any]) -> Record:
    keys = ("source", "target", "description")
    return _relation(record, *(str(row.get(key, "")) for key in keys))
