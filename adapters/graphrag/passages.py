"""Documents and text units as sources and passages, by the hash of their content.

A document is a source. A text unit is a passage of it: evidence is keyed by both, so that one text
unit in two documents is two pieces of evidence. That a passage is part of the index is a claim of
its own, with the evidence of each document that has it: it is held while any of them is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from doxa.adapters.carrying import label
from doxa.adapters.graphrag.cells import shown
from doxa.adapters.graphrag.dates import ASSUMED
from doxa.adapters.graphrag.naming import claim_id, digest_of, source_id
from doxa.adapters.graphrag.rows import TextUnit
from doxa.adapters.graphrag.tables import Remark, Tables

__all__ = ["KIND", "Passage", "Passages", "Source"]

KIND = "text_unit"


@dataclass(frozen=True, slots=True)
class Source:
    """A document, or a text unit that belongs to none."""

    id: str
    title: str | None = None


@dataclass(frozen=True)
class Passage:
    """A text unit: its content's digest, its text where that is kept, and the documents that have
    it."""

    digest: str
    text: str | None
    sources: tuple[Source, ...]

    @cached_property
    def name(self) -> str:
        """What the passage is called in a ledger."""
        return f"text unit {self.digest.removeprefix('sha256:')[:16]}"

    @cached_property
    def claim(self) -> dict[str, object]:
        """The claim that the index has it."""
        said = (self.name, "HAS_DIGEST", self.digest, KIND, ASSUMED)
        return {
            "event": "claim",
            "id": claim_id(*said),
            "subject": said[0],
            "predicate": said[1],
            "object": said[2],
            "kind": said[3],
            "assumed": said[4],
        }


class Passages:
    """The passages of an index, by the ids of its text units."""

    def __init__(self, tables: Tables) -> None:
        self.remarks: list[Remark] = []  # of what was carried over
        self.set_aside: list[Remark] = []
        self.known = "text_units" in tables.present
        self.documents: dict[str, Source] = {}
        self._by_id: dict[str, str] = {}  # a text unit → its digest
        self._by_digest: dict[str, Passage] = {}
        self._read: set[str] = set()  # sources that are made of a document's text
        self._stand_ins: set[str] = set()  # and those made of its id
        self._holders: dict[str, dict[str, Source]] = {}  # a digest → the documents that have it
        self._read_documents(tables)
        self._read_text_units(tables)

    def __iter__(self) -> Iterator[Passage]:
        return iter(self._by_digest.values())

    @property
    def stand_ins(self) -> set[str]:
        """The sources that no document's text makes: its text isn't known, or no document is."""
        own = {source_id(digest) for digest, held in self._holders.items() if not held}
        return (self._stand_ins | own) - self._read

    def find(self, unit: str) -> Passage | None:
        """The passage that a text unit's id names; where there is no table of them, each id is
        one."""
        if unit not in self._by_id and not self.known:
            self._put(unit, digest_of(unit), None, [])
        digest = self._by_id.get(unit)
        return None if digest is None else self._by_digest[digest]

    def _read_documents(self, tables: Tables) -> None:
        first: dict[str, tuple[int, str]] = {}
        for document in tables.documents:
            if document.id is None:
                self.set_aside.append(Remark("documents", document.row, "it has no id"))
                continue
            digest = digest_of(document.id if document.text is None else document.text)
            row, known = first.setdefault(document.id, (document.row, digest))
            if known != digest:
                reason = f"its id is that of row {row}, whose text is another"
                told = shown(document.title)
                self.set_aside.append(Remark("documents", document.row, reason, None, told))
                continue
            title = label(document.title) if document.title is not None else ""
            source = Source(source_id(digest), title or None)
            self.documents.setdefault(document.id, source)
            (self._stand_ins if document.text is None else self._read).add(source.id)

    def _read_text_units(self, tables: Tables) -> None:
        holders: dict[str, list[str]] = {}
        for document in tables.documents:
            if document.id is not None:
                for named in document.text_units:
                    holders.setdefault(named, []).append(document.id)
        for unit in tables.text_units:
            if unit.id is None and unit.text is None:
                self.set_aside.append(_of(unit, "it has neither an id nor a text"))
                continue
            digest = digest_of(unit.text or unit.id or "")
            id = unit.id or digest
            if self._by_id.get(id, digest) != digest:
                reason = "its id is that of a row above, whose text is another"
                self.set_aside.append(_of(unit, reason, shown(unit.text)))
                continue
            self._put(id, digest, unit.text, self._sources(unit, holders.get(id, [])))

    def _sources(self, unit: TextUnit, holders: list[str]) -> list[Source]:
        found: dict[str, Source] = {}
        for document in unit.documents or holders:
            source = self.documents.get(document)
            if source is None:
                source = self.documents[document] = Source(source_id(digest_of(document)))
                self._stand_ins.add(source.id)
                reason = f"names the document {shown(document)}, which documents does not have"
                self.remarks.append(_of(unit, reason))
            found[source.id] = source
        if not found:
            self.remarks.append(_of(unit, "names no document: it is a source itself"))
        return list(found.values())

    def _put(self, id: str, digest: str, text: str | None, sources: list[Source]) -> None:
        held = self._holders.setdefault(digest, {})  # a document may be one text unit, all of it
        held.update((source.id, source) for source in sources)
        passage = Passage(digest, text, tuple(held.values()) or (Source(source_id(digest)),))
        self._by_digest[digest] = passage
        self._by_id[id] = digest


def _of(unit: TextUnit, reason: str, text: str = "") -> Remark:
    return Remark("text_units", unit.row, reason, unit.number, text or shown(unit.id))
