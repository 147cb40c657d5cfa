"""What an index no longer says, and what it says again, beside what a ledger has of it.

The log alone tells what was imported before, by ids. Evidence is withdrawn where its passage is
gone from its document; what is only not repeated stays, since another run words and cuts the same
text otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.graphrag.naming import Naming
from doxa.engine.belief import Belief
from doxa.engine.errors import CallerError
from doxa.engine.graph import ARTEFACT, NONE, SUPPORT, entity
from doxa.engine.words import counted

if TYPE_CHECKING:
    from doxa.adapters.graphrag.mapping import Mapped

__all__ = ["Changes"]

GONE: Final = "its text unit is no longer in the document that the evidence names"
BACK: Final = "its text unit is in the document again"


@dataclass(slots=True)
class Changes:
    """``withdrawals`` are the events that take back what is gone, or take that back; ``gone``,
    ``back`` and ``not_repeated`` are ids of evidence, ``stale`` those of summaries that are not
    repeated."""

    withdrawals: list[dict[str, Any]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    not_repeated: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @classmethod
    def between(
        cls,
        belief: Belief,
        naming: Naming,
        workspace: str,
        said: Mapped,
        whole: Sequence[Mapped] | None,
        *,
        replace: bool,
    ) -> Changes:
        """The changes of a run beside a belief. ``whole`` are the runs that together are the whole
        index; where a run is not known to be of one (`None`), nothing is taken back.
        Raises `CallerError` where nothing at all of what the index had is left, or where documents
        are gone that its text units were known by, unless it may ``replace`` it. O(evidence in the
        ledger)."""
        changes, seen = cls(), _Seen(belief, workspace)
        had: set[str] = set()  # all passages that it ever had
        evidence = set().union(*(run.evidence for run in whole or (said,)))
        unnamed = _unnamed(said)
        lost: set[str] = set()  # passages that stand in for what the ledger knows by its document
        for number, id, digest, source in seen.supports(naming.prefix):
            counts = bool(belief.extent_now(number))
            had.add(digest)
            if source not in unnamed.get(digest, {source}) and not seen.gone(id):
                lost.add(digest)
            if id in said.events:
                changes._restore(seen, id)
            elif not whole or any(id in run.events for run in whole):
                continue
            elif (digest, source) in evidence:
                changes.not_repeated.extend([id] if counts else ())
            elif counts:
                changes._withdraw(seen, id)
        changes.stale = [
            id
            for id in (seen.artefacts(naming.prefix) if whole else ())
            if not any(id in run.events for run in whole or ())
        ]
        if lost and not replace:
            raise CallerError(
                f"the documents of {counted(len(lost), 'text unit')} of the index {naming.index!r} "
                "are not there with their text, and the ledger knows those text units by their "
                "documents: what was withdrawn with one would come back. Put the table of "
                "documents there, whole, or say that this index takes the other's place (replace)"
            )
        left = {digest for digest, _ in evidence}
        if whole and changes.gone and not had & left and not replace:
            raise CallerError(
                f"the ledger has {counted(len(had), 'text unit')} of the index {naming.index!r}, "
                f"and none of them is among the {len(left)} of this folder: give another index a "
                "name of its own (index), or say that this one takes the other's place (replace)"
            )
        return changes

    def _withdraw(self, seen: _Seen, id: str) -> None:
        n = seen.times(id)
        if n and not seen.has(f"{id}/gone-{n}/back"):
            return  # somebody took the last withdrawal back by hand
        self.gone.append(id)
        event = {"event": "withdrawal", "id": f"{id}/gone-{n + 1}", "target": id, "reason": GONE}
        self.withdrawals.append(event)

    def _restore(self, seen: _Seen, id: str) -> None:
        last = f"{id}/gone-{seen.times(id)}"
        if not seen.counts(last):
            return
        self.back.append(id)
        event = {"event": "withdrawal", "id": f"{last}/back", "target": last, "reason": BACK}
        self.withdrawals.append(event)


def _unnamed(said: Mapped) -> dict[str, set[str]]:
    """The passages of a run that no document with a text has, and what stands for it."""
    found: dict[str, set[str]] = {}
    for digest, source in said.evidence if said.stand_ins else ():
        found.setdefault(digest, set()).add(source)
    return {digest: sources for digest, sources in found.items() if sources <= said.stand_ins}


class _Seen:
    """What a belief has of an index."""

    def __init__(self, belief: Belief, workspace: str) -> None:
        self.belief, self.graph, self.workspace = belief, belief.graph, workspace

    def has(self, id: str) -> bool:
        return self.graph.find(self.workspace, id) != NONE

    def counts(self, id: str) -> bool:
        number = self.graph.find(self.workspace, id)
        return number != NONE and bool(self.belief.extent_now(number))

    def gone(self, id: str) -> bool:
        """Whether an import took evidence back, and that counts."""
        return self.counts(f"{id}/gone-{self.times(id)}")

    def times(self, id: str) -> int:
        """How often evidence was taken back by an import."""
        return next(n for n in count(1) if not self.has(f"{id}/gone-{n}")) - 1

    def supports(self, prefix: str) -> Iterator[tuple[int, str, str, str]]:
        """The evidence whose id begins so: its number, id, digest and source."""
        graph = self.graph
        names, ws = graph.names.texts, graph.names.find(self.workspace)
        for row, (digest, source) in enumerate(zip(graph.s_digest, graph.s_source, strict=True)):
            if digest == NONE or source == NONE:
                continue
            number = entity(SUPPORT, row)
            id = graph.id_of(number)
            if id.startswith(prefix) and graph.workspace_of(number) == ws:
                yield number, id, names[digest], names[graph.r_name[source]]

    def artefacts(self, prefix: str) -> Iterator[str]:
        """The summaries whose ids begin so, and that were not taken back."""
        ws = self.graph.names.find(self.workspace)
        for row, its in enumerate(self.graph.a_ws):
            number = entity(ARTEFACT, row)
            id = self.graph.artefact_id(row)
            if its == ws and id.startswith(prefix) and self.belief.extent_now(number):
                yield id
