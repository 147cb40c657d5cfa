"""The rows of an index, typed: one form for all versions.

``row`` is the place in its table, from 0; ``number`` is what citations call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from doxa.adapters.graphrag.cells import first, listed, number, text

__all__ = [
    "NEEDED",
    "Community",
    "Covariate",
    "Document",
    "Entity",
    "Relationship",
    "Report",
    "Row",
    "TextUnit",
]


@dataclass(frozen=True, slots=True)
class Row:
    """What all rows have."""

    row: int
    number: int | None
    id: str | None


@dataclass(frozen=True, slots=True)
class Document(Row):
    title: str | None
    text: str | None
    text_units: tuple[str, ...]

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Document:
        return cls(
            *_named(row, said),
            text(first(said, "title", "name")),
            text(first(said, "text", "raw_content", "content")),
            _ids(said, "text_unit_ids", "text_units"),
        )


@dataclass(frozen=True, slots=True)
class TextUnit(Row):
    text: str | None
    documents: tuple[str, ...]

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> TextUnit:
        # the id of a document may be a path, with a comma in it
        every = said.get("document_ids")
        documents = listed(said.get("document_id"), joined=False) or listed(
            every, joined=isinstance(every, str)
        )
        return cls(*_named(row, said), text(first(said, "text", "chunk")), tuple(documents))


@dataclass(frozen=True, slots=True)
class Entity(Row):
    """``places`` are the communities in which 0.x puts it."""

    title: str | None
    type: str | None
    description: str | None
    text_units: tuple[str, ...]
    places: tuple[int, ...] = ()

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Entity:
        place = number(said.get("community"))
        return cls(
            *_named(row, said),
            text(first(said, "title", "name")),
            text(said.get("type")),
            text(said.get("description")),
            _ids(said, "text_unit_ids", "source_id"),
            () if place is None or place < 0 else (place,),
        )


@dataclass(frozen=True, slots=True)
class Relationship(Row):
    source: str | None
    target: str | None
    description: str | None
    text_units: tuple[str, ...]

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Relationship:
        return cls(
            *_named(row, said),
            text(said.get("source")),
            text(said.get("target")),
            text(said.get("description")),
            _ids(said, "text_unit_ids", "source_id"),
        )


@dataclass(frozen=True, slots=True)
class Covariate(Row):
    subject: str | None
    type: str | None
    object: str | None
    status: str | None
    start: str | None
    end: str | None
    description: str | None
    quote: str | None
    text_units: tuple[str, ...]

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Covariate:
        return cls(
            *_named(row, said),
            text(first(said, "subject_id", "subject")),
            text(said.get("type")),
            text(first(said, "object_id", "object")),
            text(said.get("status")),
            text(said.get("start_date")),
            text(said.get("end_date")),
            text(said.get("description")),
            text(first(said, "source_text", "source")),
            tuple(listed(said.get("text_unit_id"), joined=False)) or _ids(said, "text_unit_ids"),
        )


@dataclass(frozen=True, slots=True)
class Community(Row):
    """``number`` is the community's own; ``entities`` and ``relationships`` are ids of rows."""

    children: tuple[int, ...]
    parent: int | None
    entities: tuple[str, ...]
    relationships: tuple[str, ...]

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Community:
        own = first(said, "community", "raw_community", "human_readable_id", "id")
        parent = number(said.get("parent"))
        return cls(
            row,
            number(own),
            text(said.get("id")),
            tuple(n for child in listed(said.get("children")) if (n := number(child)) is not None),
            None if parent is None or parent < 0 else parent,
            _ids(said, "entity_ids"),
            _ids(said, "relationship_ids"),
        )


@dataclass(frozen=True, slots=True)
class Report(Row):
    """``number`` is the community's, by which reports are cited."""

    title: str | None
    text: str | None

    @classmethod
    def of(cls, row: int, said: Mapping[str, Any]) -> Report:
        own = first(said, "community", "human_readable_id")
        title, summary = text(said.get("title")), text(said.get("summary"))
        whole = text(said.get("full_content"))
        if whole is None:
            parts = [f"# {title}" if title else None, summary, *_findings(said.get("findings"))]
            whole = "\n\n".join(part for part in parts if part) or None
        return cls(row, number(own), text(said.get("id")), title, whole)


def _named(row: int, said: Mapping[str, Any]) -> tuple[int, int | None, str | None]:
    return row, number(said.get("human_readable_id")), text(said.get("id"))


def _ids(said: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    for name in names:
        if found := listed(said.get(name)):
            return tuple(found)
    return ()


def _findings(value: object) -> list[str]:
    """What a report found, where its whole text is not kept."""
    if not isinstance(value, list | tuple):
        return [said] if (said := text(value)) else []
    found = []
    for item in value:
        if isinstance(item, Mapping):
            summary, why = text(item.get("summary")), text(item.get("explanation"))
            found += [f"## {summary}" if summary else "", why or ""]
        else:
            found.append(text(item) or "")
    return found


# The columns that a table can't be read without: one of each list.
NEEDED: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "documents": (("id",),),
    "text_units": (("id",),),
    "entities": (("title", "name"),),
    "relationships": (("source",), ("target",)),
    "covariates": (("subject_id", "subject"), ("status",), ("type",), ("description",)),
    "communities": (("community", "raw_community", "human_readable_id", "id"),),
    "community_reports": (
        ("community", "human_readable_id"),
        ("full_content", "summary", "findings"),
    ),
}
