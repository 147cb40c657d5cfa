"""What has been recorded, as rows and edges.

Edges lead from what is pointed at to what points. Nothing here says what is true, only what was
said.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from doxa.engine import events as ev
from doxa.engine.keyed import PERSPECTIVE, PREDICATE, SUBJECT
from doxa.engine.rows import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    KINDS,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    Rows,
    entity,
)
from doxa.engine.times import Intervals

__all__ = [
    "ARTEFACT",
    "CLAIM",
    "CORRECTION",
    "KINDS",
    "NONE",
    "POLICY",
    "SOURCE",
    "SUPPORT",
    "WITHDRAWAL",
    "Graph",
    "entity",
]


class Graph(Rows):
    """The rows and edges of one log. Written by one thread; readers look below their position."""

    def add(self, first: int, recorded_at: int, events: Sequence[ev.Event]) -> list[int]:
        """Adds the rows and edges of one commit; returns the entity of each event.

        The events have been judged: every reference resolves, in the log or in the commit.
        """
        assert first == self.position + 1, (first, self.position)
        assert recorded_at > self.recorded_at, (recorded_at, self.recorded_at)
        numbers = []
        for position, event in enumerate(events, first):
            ws = self.names.code(event.workspace)
            number = self.add_row(position, recorded_at, ws, event)
            self.ids.add(ws, event.id, number)
            numbers.append(number)
        self.link([(event, number >> 3) for event, number in zip(events, numbers, strict=True)])
        self.close_commit(
            first + len(events) - 1, recorded_at, {self.workspace_of(number) for number in numbers}
        )
        return numbers

    @property
    def has_dangling(self) -> bool:
        """Whether a correction names a claim that is still to come."""
        return bool(self._dangling)

    def link(self, added: Iterable[tuple[ev.Event, int]]) -> None:
        """Adds the edges of the events of one commit, whose rows are there."""
        self.bound = []
        for event, row in added:
            self._link(event, row)
            if event.erased:
                foreseen = self.foreseen(event.workspace, event.id)
                self._erase(self._find(event, event.id), foreseen or ev.Erasure(id=event.id))

    def _find(self, event: ev.Event, ref: str | ev.Ref) -> int:
        key = event.key(ref)
        found = self.find(key.workspace, key.id)
        assert found != NONE, f"{event.id!r} names {key}, which was judged to exist"
        return found

    def _rows(self, event: ev.Event, refs: Sequence[str | ev.Ref]) -> tuple[int, ...]:
        return tuple(self._find(event, ref) >> 3 for ref in refs)

    def _link(self, event: ev.Event, row: int) -> None:
        if isinstance(event, ev.Claim):
            if event.because:
                self.rest(self.c_carried[row], self._rows(event, event.because))
            for dangling in self._dangling.pop((self.c_ws[row], event.id), ()):
                self._bind(dangling, row)
        elif isinstance(event, ev.Support):
            self.support_of(row, self._find(event, event.claim) >> 3)
            if event.because:
                self.rest(row, self._rows(event, event.because))
        elif isinstance(event, ev.Correction):
            self._link_target(event, row)
            by = NONE if event.by is None else self._find(event, event.by) >> 3
            self.k_by[row] = by
            if by != NONE:
                self.replaces.add(by, row)
            if self.k_source[row] != NONE:
                self.r_corrections.add(self.k_source[row], row)
        elif isinstance(event, ev.Withdrawal):
            if event.target is not None:
                target = self._find(event, event.target)
            else:
                assert event.source is not None
                target = entity(SOURCE, self.source(self.w_ws[row], event.source))
            self.w_target[row] = target
            self.withdrawals_of.add(target, row)
        elif isinstance(event, ev.Citation | ev.Summary):
            self.a_facts.append(self._rows(event, event.facts))
            self.a_supports.append(self._rows(event, event.supports))
            self.a_citations.append(self._rows(event, event.citations))
        elif isinstance(event, ev.Policy):
            self._link_policy(event, row)

    def support_of(self, row: int, claim: int) -> None:
        """Says which claim a support is of."""
        self.s_claim[row] = claim
        self.extra_supports.add(claim, row)

    def confirms(self, row: int, claim: int) -> bool:
        """Whether a support adds a source, without a content digest, for all of a claim that its
        own source carries."""
        return (
            self.s_source[row] != NONE
            and self.c_plain[claim] != 0
            and self.c_carried[claim] not in (NONE, row)
            and not self.s_refutes[row]
            and self.s_digest[row] == NONE
            and self.s_from[row] <= self.c_from[claim]
            and self.s_to[row] >= self.c_to[claim]
        )

    def find_again(self, unresolved: Iterable[int], payload: Callable[[int], ev.Event]) -> None:
        """What no column holds: unresolved corrections as they were recorded, given their rows,
        those of them that still wait for a claim, and which predicates are single-valued."""
        for row in unresolved:
            event = payload(self.k_pos[row])
            assert isinstance(event, ev.Correction), event
            self.k_unresolved[row] = event
            if event.unresolved is not None and self._waits(event, row):
                self._dangling.setdefault((self.k_ws[row], event.unresolved), []).append(row)
        blank, self.blank = self.blank, array("i")
        for number in blank:
            workspace, id = self.names.texts[self.workspace_of(number)], self.id_of(number)
            self._erase(number, self.foreseen(workspace, id) or ev.Erasure(id=id))
        for row in self.redactions:
            redaction = payload(self.p_pos[row])
            assert isinstance(redaction, ev.Policy), redaction
            self._note_erased(redaction, row)
        for row, predicate in sorted(self.p_predicate.items()):
            by_workspace = self.single_valued.setdefault(predicate, {})
            by_workspace.setdefault(self.p_ws[row], []).append(row)

    def _waits(self, event: ev.Correction, row: int) -> bool:
        return event.corrects is None and not event.candidates and self.k_target[row] == NONE

    def _link_target(self, event: ev.Correction, row: int) -> None:
        if event.resolves is not None:
            settled = self._find(event, event.resolves) >> 3
            self.resolvers_of.add(settled, row)
            self.k_resolves[row] = settled
        if event.corrects is not None:
            target = self._find(event, event.corrects) >> 3
            self.k_target[row] = target
            self.corrections_of.add(target, row)
            return
        assert event.unresolved is not None
        for claim in self._rows(event, event.candidates):
            self.k_candidates.add(claim, row)
        if not event.candidates:
            place = self.k_ws[row], event.unresolved
            here = self.ids.find(*place)
            if here != NONE and here & 7 == CLAIM:  # in this very commit
                self._bind(row, here >> 3)
            else:
                self._dangling.setdefault(place, []).append(row)

    def base_at(self, number: int, k: int) -> Intervals:
        """`base` as it was known at ``k``: a correction that named a claim still to come had the
        portion that it stated, until the claim came."""
        row = number >> 3
        if number & 7 == CORRECTION and row in self.k_unresolved:
            target = self.k_target[row]
            if target != NONE and self.c_pos[target] > k:
                return self.k_unresolved[row].valid
        return self.base(number)

    def _bind(self, row: int, claim: int) -> None:
        """A dangling correction meets the claim that it named: from now on it corrects it, over
        its own portion or, where bounds were left out, the default one."""
        event = self.k_unresolved[row]
        self.k_target[row] = claim
        start, end = self.c_from[claim], self.c_to[claim]
        if event.by is not None:
            by = self._find(event, event.by) >> 3
            start, end = max(start, self.c_from[by]), min(end, self.c_to[by])
        if event.valid_from is None:
            self.k_from[row] = start
        if event.valid_to is None:
            self.k_to[row] = end
        self.corrections_of.add(claim, row)
        self.bound.append(row)

    def rest(self, support: int, premises: Sequence[int]) -> None:
        """Says which claims a support rests on."""
        for premise in premises:
            self.s_because.add(support, premise)
            self.dependents.add(premise, support)

    def _link_policy(self, event: ev.Policy, row: int) -> None:
        if event.single_valued is not None:
            predicate = self.names.code(event.single_valued)
            self.p_predicate[row] = predicate
            by_workspace = self.single_valued.setdefault(predicate, {})
            by_workspace.setdefault(self.p_ws[row], []).append(row)
        elif event.contradicts:
            claims = self._rows(event, event.contradicts)
            for claim in claims:
                self.p_claims.add(row, claim)
                self.contradictions.add(claim, row)
        elif event.verified is not None:
            claim = self._find(event, event.verified) >> 3
            self.verifications.add(claim, row)
        elif event.pinned is not None:
            claim = self._find(event, event.pinned) >> 3
            self.p_pinned[row] = claim
            self.pinnings.add(claim, row)
            self.pins_in.add(self.p_ws[row], row)
        elif event.calibrated is not None:
            self.calibrations.add(self.names.code(event.calibrated["embedder"]), row)
        elif event.decays is not None:
            self.decays_of.add(self.names.code(event.decays), row)
        elif event.rejected is not None:
            self.rejections.add(self.names.code(event.rejected), row)
            if event.predicate is not None:
                self.p_about[row] = self.names.code(event.predicate)
        elif event.redacted:
            self.redactions.append(row)
            self._note_erased(event, row)
        else:
            named = (*event.archived, *event.restored, event.scored, event.expires)
            overridden = event.of if event.overrides is not None else None
            for ref in dict.fromkeys((*named, overridden)):
                if ref is not None:
                    self.policies_on.add(self._find(event, ref), row)

    def _note_erased(self, event: ev.Policy, row: int) -> None:
        """Notes what a policy says was erased; it counts no longer from the policy on."""
        for one in event.redacted:
            number = self._find(event, one.id)
            self.erased_at[number] = self.p_pos[row]
            if number & 7 == CLAIM and self.c_carried[number >> 3] != NONE:
                self.erased_at[entity(SUPPORT, self.c_carried[number >> 3])] = self.p_pos[row]
            if number not in self.erased:
                self.unblanked[number] = one
            else:
                self._erase(number, one)

    def blank_out(self) -> list[int]:
        """Has what was just erased be without content; returns the entities that this is new for,
        a claim's own support with it. Only for what is durable."""
        fresh = list(self.unblanked)
        for number in tuple(fresh):
            if number & 7 == CLAIM and self.c_carried[number >> 3] != NONE:
                fresh.append(entity(SUPPORT, self.c_carried[number >> 3]))
            self._erase(number, self.unblanked[number])
        self.unblanked = {}
        return fresh

    def _erase(self, number: int, one: ev.Erasure) -> None:
        if number not in self.erased:
            self.blank.append(number)
        elif one.subject is None or self.erased[number].subject is not None:
            return
        self.erased[number] = one
        if number & 7 != CLAIM:
            return
        carried = self.c_carried[number >> 3]
        if carried != NONE:
            self.erased[entity(SUPPORT, carried)] = one
        if one.subject is not None:
            self.erased_about.setdefault(one.subject, []).append(number >> 3)

    def taken(self, workspace: str, id: str) -> bool:
        """Whether an id is that of an event, or of one that was compacted."""
        if self.find(workspace, id) != NONE:
            return True
        return self.gone is not None and self.gone.event(workspace, id) != NONE

    def erased_claims(self, subject: str, predicate: str | None) -> list[int]:
        """The erased claims that were about a subject, and a predicate where one is given, in log
        order. Two digests, and O(those about the subject)."""
        if not self.erased_about or self.keyed is None:
            return []
        digest = self.keyed().digest
        rows = self.erased_about.get(digest(SUBJECT, subject), ())
        if rows and predicate is not None:
            said = digest(PREDICATE, predicate)
            rows = [row for row in rows if self.erased[entity(CLAIM, row)].predicate == said]
        return sorted(rows)

    def erased_saying(self, predicate: str) -> set[int]:
        """The erased claims of a predicate. O(erased claims)."""
        if not self.erased_about or self.keyed is None:
            return set()
        said = self.keyed().digest(PREDICATE, predicate)
        rows = [row for rows in self.erased_about.values() for row in rows]
        return {row for row in rows if self.erased[entity(CLAIM, row)].predicate == said}

    def of_perspective(self, row: int, perspective: str) -> bool:
        """Whether a claim is of a perspective; what an erased one was of is told by its digest."""
        one = self.erased.get(entity(CLAIM, row)) if self.erased else None
        if one is None or one.perspective is None or self.keyed is None:
            return self.names.texts[self.c_perspective[row]] == perspective
        return one.perspective == self.keyed().digest(PERSPECTIVE, perspective)

    def agree(self, one: int, other: int) -> bool:
        """Whether of two claims, one of them erased, it is known that they said the same."""
        for row, fellow in (one, other), (other, one):
            kept = self.erased.get(entity(CLAIM, row))
            if kept is not None and self.claim_id(fellow) in kept.agrees:
                return True
        return False
