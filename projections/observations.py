"""Observations that a consolidation has recorded: found again by what they rest on.

The id of an observation is made of the ids of its evidence and of how many origins are behind it.
What consolidations record is told from what people record by these ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from doxa.engine import events as ev
from doxa.engine.belief import HELD, Standing
from doxa.engine.declared import ARCHIVED, RESTORED
from doxa.engine.graph import CLAIM, CORRECTION, NONE, POLICY, entity
from doxa.engine.insight import keyed
from doxa.engine.retention import archived
from doxa.engine.view import TruthView

__all__ = ["OBSERVATION", "SHELVED", "Observations", "Told"]

OBSERVATION: Final = "observation"  # the kind of the claims, and how their ids begin
SHELVED: Final = "consolidated"  # why what an observation says is archived, and brought back


class Told(NamedTuple):
    """What becomes of an observation, as a `Step`, and what is to be appended for that."""

    step: str
    events: tuple[ev.Event, ...] = ()
    supersedes: tuple[str, ...] = ()
    reason: str | None = None


class Observations:
    """The observations at a view of one workspace."""

    def __init__(self, view: TruthView) -> None:
        self.view, self.graph, self.belief = view, view.graph, view.belief

    def id_of(self, claims: Iterable[ev.Claim], proofs: int) -> str:
        """The id of the observation of some claims, with so many origins behind them."""
        ids = [claim.id for claim in claims]
        return f"{keyed(OBSERVATION, ids)}/{proofs}"

    def resting_on(self, rows: Iterable[int]) -> list[int]:
        """The rows of the observations that rest on any of some claims, in log order."""
        graph, found = self.graph, set()
        for row in rows:
            for support in graph.dependents.get(row):
                claim = graph.s_claim[support]
                if graph.c_carried[claim] == support and self._ours(claim):
                    found.add(claim)
        return sorted(found)

    def evidence(self, row: int) -> frozenset[int]:
        """The rows of the claims that an observation rests on."""
        return frozenset(self.graph.s_because.get(self.graph.c_carried[row]))

    def shelves(
        self, kind: str | None, but: Collection[str], also: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """The ids of the claims that standing observations rest on, and of those that were archived
        behind one that no longer stands, though they are held; of claims of one kind where it is
        given. ``but`` some observations that will fall, ``also`` claims that new ones will rest on.
        O(claims).
        """
        graph = self.graph
        spoken: dict[int, bool] = {}  # claim → whether an observation that stands rests on it
        for item in self.view.claims(kind=OBSERVATION, standing="any"):
            if self._ours(item.row):
                stands = item.held and item.id not in but
                for claim in self.evidence(item.row):
                    spoken[claim] = spoken.get(claim, False) or stands
        spoken |= {self.view.find(id) >> 3: True for id in also}
        of_kind = [
            row
            for row in sorted(spoken)
            if kind is None or graph.names.texts[graph.c_kind[row]] == kind
        ]
        said = [graph.claim_id(row) for row in of_kind if spoken[row]]
        alone = [row for row in of_kind if not spoken[row] and self._put_away(row)]
        return said, [graph.claim_id(row) for row in alone]

    def _put_away(self, row: int) -> bool:
        """Whether a held claim was archived by a consolidation."""
        newest = self._hiding(row)
        return (
            newest != NONE
            and self.graph.p_what[newest] == ARCHIVED
            and self._by_us(newest)
            and self.belief.held(row, self.view.v, self.view.k)
        )

    def brought_back(self, id: str) -> bool:
        """Whether a claim was restored from the archive last, by somebody."""
        newest = self._hiding(self.view.find(id) >> 3)
        return newest != NONE and self.graph.p_what[newest] == RESTORED and not self._by_us(newest)

    def _hiding(self, row: int) -> int:
        """The newest policy that counts and hides a claim, or shows it again."""
        graph, view = self.graph, self.view
        for policy in reversed(graph.policies_on.get(entity(CLAIM, row))):
            if (
                graph.p_what[policy] in (ARCHIVED, RESTORED)
                and graph.p_pos[policy] <= view.k
                and self.belief.counts(entity(POLICY, policy), view.v, view.k)
            ):
                return policy
        return NONE

    def _by_us(self, policy: int) -> bool:
        event = self.view.payload(self.graph.p_pos[policy])
        return isinstance(event, ev.Policy) and event.reason == SHELVED

    def _ours(self, row: int) -> bool:
        graph = self.graph
        kind = graph.names.texts[graph.c_kind[row]]
        return (
            graph.c_pos[row] <= self.view.k
            and kind == OBSERVATION
            and graph.claim_id(row).startswith(f"{OBSERVATION}-")
        )

    def standing_by(self, claim: ev.Claim, rows: Sequence[int]) -> Told | None:
        """What is to be appended so that an observation of some claims stands, and no other of
        fewer of them; ``None`` where that is so."""
        found = self.graph.find(claim.workspace, claim.id)
        evidence = frozenset(rows)
        resting = self.resting_on(rows)
        older = [row for row in resting if self._replaced(row, found, evidence)]
        supersedes = tuple(self.graph.claim_id(row) for row in older)
        replacing = [self._correction(claim, id) for id in supersedes]
        if found == NONE and self.graph.taken(claim.workspace, claim.id):
            return Told("settled", reason=f"{claim.id!r} was compacted, and does not come back")
        if found == NONE:
            if not resting and all(self._archived(row) for row in rows):
                return None  # nobody wants to see it, in whatever words
            return Told("observed", (claim, *replacing), supersedes)
        if found & 7 != CLAIM or not self._ours(found >> 3):
            return Told("settled", reason=f"the id {claim.id!r} is taken")
        standing = self.belief.standing(found >> 3, self.view.v, self.view.k)
        if standing in HELD:
            return Told("observed", tuple(replacing), supersedes) if replacing else None
        own = self._own_corrections(found >> 3) if standing is Standing.SUPERSEDED else None
        if own is None:
            return Told("settled", reason=f"the observation is {standing}: somebody took it back")
        return Told("restored", (*map(self._withdrawal, own), *replacing), supersedes)

    def _replaced(self, row: int, new: int, evidence: frozenset[int]) -> bool:
        """Whether an earlier observation gives way to that of some claims: what still holds of its
        evidence is among them, and it is not one of more, which comes back by itself."""
        view, belief = self.view, self.belief
        if new == entity(CLAIM, row):
            return False
        standing = belief.standing(row, view.v, view.k)
        if standing not in HELD and standing is not Standing.UNSUPPORTED:
            return False
        own = self.evidence(row)
        left = {claim for claim in own if belief.held(claim, view.v, view.k)}
        return left <= evidence and not evidence < own

    def _archived(self, row: int) -> bool:
        return archived(self.belief, entity(CLAIM, row), self.view.v, self.view.k)

    def _own_corrections(self, row: int) -> list[int] | None:
        """The live corrections of an observation, if all put other observations in its place."""
        found = list(self.belief.live_corrections(row, self.view.v, self.view.k))
        by = self.graph.k_by
        if all(by[each] != NONE and self._ours(by[each]) for each in found):
            return found
        return None

    def _correction(self, claim: ev.Claim, older: str) -> ev.Correction:
        # another one each time: what was taken back since is not recorded again under its id
        return ev.Correction(
            id=keyed("consolidation", (claim.id, older, str(self.view.k))),
            workspace=claim.workspace,
            corrects=older,
            by=claim.id,
            reason="consolidated anew: its evidence has changed",
        )

    def _withdrawal(self, correction: int) -> ev.Withdrawal:
        graph = self.graph
        id = graph.id_of(entity(CORRECTION, correction))
        workspace = graph.names.texts[graph.k_ws[correction]]
        return ev.Withdrawal(
            id=keyed("consolidation", (id, str(self.view.k))),
            workspace=workspace,
            target=id,
            reason="consolidated anew: its evidence is as it was",
        )
