"""Why a claim stands as it does: the events, sources and steps behind it, as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.errors import UnknownTarget, workspace_in_words
from doxa.engine.graph import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    KINDS,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    entity,
)
from doxa.engine.lost import in_place
from doxa.engine.times import covers, shown, span
from doxa.engine.view import Id, TruthView

__all__ = ["DEPTH", "Explainer", "Why", "why"]

DEPTH = 20  # how many premises deep a tree goes; ask about the last one for more


@dataclass
class Why:
    """One step: an event or source, what it says, whether it counts here, and what is behind it.

    ``role`` is how it bears on the step above. ``standing`` is a claim's; ``counts`` is whether an
    event of another kind is live at the view's valid time. With ``more`` the tree ends here, and
    not what is behind.
    """

    role: str
    kind: str
    id: str
    says: str
    standing: Standing | None = None
    counts: bool | None = None
    position: int | None = None
    recorded_at: datetime | None = None
    behind: list[Why] = field(default_factory=list)
    more: bool = False

    def lines(self) -> Iterator[str]:
        """The tree as text, one step a line, indented by depth."""
        stack: list[tuple[int, Why]] = [(0, self)]
        while stack:
            depth, step = stack.pop()
            yield f"{'  ' * depth}{step._line()}"
            stack.extend((depth + 1, child) for child in reversed(step.behind))

    def _line(self) -> str:
        role = f"{self.role}: " if self.role else ""
        state = f" [{self.standing}]" if self.standing is not None else ""
        if self.counts is False:
            state = " [does not count here]"
        when = ""
        if self.recorded_at is not None:
            when = f" (position {self.position}, {times.iso(times.instant(self.recorded_at))})"
        return f"{role}{self.kind} {self.id}{state}: {self.says}{when}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """The tree as a JSON object; times are ISO text."""
        found: dict[str, Any] = {"role": self.role, "kind": self.kind, "id": self.id}
        if self.standing is not None:
            found["standing"] = str(self.standing)
        if self.counts is not None:
            found["counts"] = self.counts
        found["says"] = self.says
        if self.recorded_at is not None:
            found |= {
                "position": self.position,
                "recorded_at": times.iso(times.instant(self.recorded_at)),
            }
        if self.more:
            found["more"] = True
        found["behind"] = [step.as_dict() for step in self.behind]
        return found


def why(view: TruthView, id: Id, *, workspace: str | None = None) -> Why:
    """The tree behind a claim's standing, or behind any other event.

    A claim that occurs twice is spelled out once. Raises `UnknownTarget` where the id is not
    known at the view.
    """
    number = view.find(id, workspace)
    if number == NONE:
        raise UnknownTarget(
            f"{id!r} is not known at revision {view.k} in {workspace_in_words(view.workspace)}; "
            "the claims of the view, of any standing, have their ids; or look at a later revision, "
            "or in another workspace"
        )
    return Explainer(view).explain(number)


class Explainer:
    """Makes the steps of one tree."""

    def __init__(self, view: TruthView) -> None:
        self.view, self.graph, self.belief = view, view.graph, view.belief
        self.v, self.k = view.v, view.k
        self.told: set[int] = set()

    def explain(self, number: int) -> Why:
        kind, row = number & 7, number >> 3
        if kind == CLAIM:
            return self.claim("", row, 0)
        step = self.event("", number)
        if kind == SUPPORT:
            step = self.support(row, 0)
            step.role = ""
        elif kind == ARTEFACT:
            self.artefact(step, row)
        elif kind == CORRECTION:
            target = self.graph.k_target[row]
            if target != NONE and self.graph.c_pos[target] <= self.k:
                step.behind.append(self.brief("corrects", target))
            if self.graph.k_by[row] != NONE:
                step.behind.append(self.brief("replaces it", self.graph.k_by[row]))
        return step

    # -- claims

    def claim(self, role: str, row: int, depth: int) -> Why:
        step = self.brief(role, row)
        if row in self.told:
            step.says += " (told above)"
            return step
        if depth > DEPTH:
            step.says += " (ask why of it for what is behind)"
            step.more = True
            return step
        self.told.add(row)
        graph = self.graph
        step.behind += self.taken_back(entity(CLAIM, row))
        for correction in graph.corrections_of.get(row):
            if graph.k_pos[correction] <= self.k:
                step.behind.append(self.correction("corrected by", correction, "by"))
        for correction in self.belief.ambiguous(row, self.v, self.k):
            step.behind.append(self.event("perhaps meant by", entity(CORRECTION, correction)))
        for correction in graph.replaces.get(row):
            if graph.k_pos[correction] <= self.k:
                step.behind.append(self.correction("put in by", correction, "target"))
        for position, count, digest in in_place(self.view, graph.c_pos[row]):
            says = f"lies among {count} events that were compacted, digest {digest}"
            at = times.moment(graph.recorded_of(position))
            step.behind.append(
                Why("put in by", "correction", "", says, Standing.COMPACTED, None, position, at)
            )
        successors = self.belief.successors(row, self.v, self.k)
        if step.standing is Standing.SUPERSEDED:
            step.behind += [self.brief("now stands", other) for other in successors]
        for support in graph.supports_of(row):
            if graph.s_pos[support] <= self.k:
                step.behind.append(self.support(support, depth))
        if step.standing is Standing.CONTESTED:
            for other in self.belief.rivals(row, self.v, self.k):
                step.behind.append(self.brief("contested by", other))
        step.behind += self.policies(row, step.standing is Standing.CONTESTED)
        return step

    def brief(self, role: str, row: int) -> Why:
        """A claim on one line, without what is behind it."""
        graph, texts = self.graph, self.graph.names.texts
        value = json.dumps(graph.c_object[row], ensure_ascii=False)
        says = f"{texts[graph.c_subject[row]]} {texts[graph.c_predicate[row]]} {value}"
        if entity(CLAIM, row) in graph.erased:
            says = "(erased)"
        applies = span(graph.c_from[row], graph.c_to[row])
        kind = texts[graph.c_kind[row]]
        place = texts[graph.c_ws[row]]
        extra = "" if kind == "fact" else f", a {kind}"
        extra += f", in workspace {place!r}" if place != self.view.workspace else ""
        position = graph.c_pos[row]
        return Why(
            role,
            "claim",
            graph.claim_id(row),
            f"{says}, {applies}{extra}",
            standing=self.belief.standing(row, self.v, self.k),
            position=position,
            recorded_at=times.moment(graph.recorded_of(position)),
        )

    def policies(self, row: int, contested: bool) -> Iterator[Why]:
        """The policies that name a claim, and those on its predicate where they bear on it."""
        graph = self.graph
        known = [p for p in graph.contradictions.get(row) if graph.p_pos[p] <= self.k]
        declared = graph.single_valued.get(graph.c_predicate[row], {}) if contested else {}
        for workspace in {graph.c_ws[row], self.belief.shared}:
            known += [p for p in declared.get(workspace, ()) if graph.p_pos[p] <= self.k]
        for naming, of in (
            (graph.verifications, row),
            (graph.pinnings, row),
            (graph.policies_on, entity(CLAIM, row)),
        ):
            known += [p for p in naming.get(of) if graph.p_pos[p] <= self.k]
        if (at := graph.erased_at.get(entity(CLAIM, row), self.k + 1)) <= self.k:
            known += [p for p in graph.redactions if graph.p_pos[p] == at]
        for policy in sorted(known):
            yield self.event("under", entity(POLICY, policy))

    # -- supports

    def support(self, row: int, depth: int) -> Why:
        graph = self.graph
        role = "refuted by" if graph.s_refutes[row] else "supported by"
        step = self.event(role, entity(SUPPORT, row))
        step.counts = self.belief.live(row, self.v, self.k)
        source = graph.s_source[row]
        if source != NONE:
            step.behind += self.source_taken_back(source)
        for premise in graph.s_because.get(row):
            step.behind.append(self.claim("because", premise, depth + 1))
        return step

    def source_taken_back(self, source: int) -> Iterator[Why]:
        graph = self.graph
        name = graph.names.texts[graph.r_name[source]]
        for row in self.belief.with_shared(source):
            yield from self.taken_back(entity(SOURCE, row), f"source {name} ")

    # -- everything else

    def correction(self, role: str, row: int, other: str) -> Why:
        graph = self.graph
        step = self.event(role, entity(CORRECTION, row))
        claim = graph.k_by[row] if other == "by" else graph.k_target[row]
        if claim != NONE and graph.c_pos[claim] <= self.k:
            step.behind.append(self.brief("by" if other == "by" else "in place of", claim))
        if graph.k_source[row] != NONE:
            step.behind += self.source_taken_back(graph.k_source[row])
        return step

    def taken_back(self, number: int, what: str = "") -> Iterator[Why]:
        for row in self.graph.withdrawals_of.get(number):
            if self.graph.w_pos[row] <= self.k:
                yield self.event(f"{what}withdrawn by", entity(WITHDRAWAL, row))

    def event(self, role: str, number: int) -> Why:
        """An event with what took it back, and that in turn."""
        graph = self.graph
        top: Why | None = None
        stack: list[tuple[Why | None, str, int, int]] = [(None, role, number, 0)]
        while stack:
            above, role, at, depth = stack.pop()
            position = graph.position_of(at)
            step = Why(
                role,
                KINDS[at & 7],
                graph.id_of(at),
                self.says(at, position),
                counts=covers(self.belief.extent(at, self.k), self.v),
                position=position,
                recorded_at=times.moment(graph.recorded_of(position)),
            )
            if above is None:
                top = step
            else:
                above.behind.append(step)
            known = [w for w in graph.withdrawals_of.get(at) if graph.w_pos[w] <= self.k]
            if known and depth >= DEPTH:
                step.says += " (withdrawn in turn; ask why of it for what is behind)"
                step.more = True
                continue
            for row in reversed(known):
                stack.append((step, "withdrawn by", entity(WITHDRAWAL, row), depth + 1))
        assert top is not None
        return top

    def says(self, number: int, position: int) -> str:
        event = self.view.payload(position)
        if event.erased and number & 7 in (ARTEFACT, POLICY):
            return "(erased)"
        if number & 7 == SUPPORT:
            return self.evidence(event, number >> 3)
        portion = self.graph.base(number)
        where = "" if portion == times.ALL else f" {span(*portion)}" if portion else " at no time"
        if isinstance(event, ev.Correction):
            what = f"by {event.by}" if event.by is not None else "by nothing"
            if event.unresolved is not None:
                meant = f", one of {', '.join(event.candidates)}" if event.candidates else ""
                what = f"{what} (as written, unresolved{meant})"
            named = "" if event.source is None else f", says {source_words(event.source)}"
            return (
                f"{event.corrects or event.unresolved} {what}{where}{_reason(event.reason)}{named}"
            )
        if isinstance(event, ev.Withdrawal):
            asked = "" if event.asked_by is None else f", asked by {source_words(event.asked_by)}"
            what = event.target if event.target is not None else f"the source {event.source}"
            return f"takes back {what}{where}{_reason(event.reason)}{asked}"
        if isinstance(event, ev.Policy):
            return _declared(event) + _reason(event.reason)
        assert isinstance(event, ev.Artefact), event
        return json.dumps(event.text, ensure_ascii=False)

    def evidence(self, event: ev.Event, row: int) -> str:
        assert isinstance(event, ev.Claim | ev.Support), event
        low, high = self.graph.base(entity(SUPPORT, row))
        where = "" if (low, high) == times.ALL else f", {span(low, high)}"
        if event.source is not None:
            return source_words(event.source) + where
        named = [ref if isinstance(ref, str) else ref.id for ref in event.because]
        return f"derived from {', '.join(named)}{where}"

    def artefact(self, step: Why, row: int) -> None:
        graph = self.graph
        for claim in graph.a_facts[row]:
            step.behind.append(self.claim("rests on", claim, 1))
        for support in graph.a_supports[row]:
            step.behind.append(self.support(support, 1))
        for source in graph.a_sources[row]:
            step.behind += self.source_taken_back(source)
        for citation in graph.a_citations[row]:
            cited = self.event("cites", entity(ARTEFACT, citation))
            self.artefact(cited, citation)
            step.behind.append(cited)


def _declared(event: ev.Policy) -> str:
    if event.single_valued is not None:
        return f"{event.single_valued} is single-valued"
    if event.verified is not None:
        return f"{event.verified} is verified"
    if event.pinned is not None:
        return f"{event.pinned} is pinned"
    if event.calibrated is not None:
        return f"confidence in what {event.calibrated['embedder']} finds is calibrated"
    if event.scored is not None:
        return f"{event.scored} has the importance {event.importance}"
    if event.expires is not None:
        return f"{event.expires} is to be archived from {shown(event.at or 0)} on"
    if event.decays is not None:
        rate = "never" if event.days is None else f"to 1/e in {event.days:g} days"
        return f"what is of the kind {event.decays} fades {rate}"
    if event.archived or event.restored:
        named, done = (event.archived, "archived") if event.archived else (event.restored, "back")
        return f"{', '.join(named[:9])}{' and more' * (len(named) > 9)}: {done}"
    if event.rejected is not None:
        of = "" if event.predicate is None else f" as {event.predicate}"
        return f"a value is rejected{of}"
    if event.overrides is not None:
        return f"{event.of} is recorded in spite of the rejection {event.key(event.overrides).id}"
    if event.blocked is not None:
        return f"{event.of} was kept out by the rejection {event.key(event.blocked).id}"
    if event.redacted:
        return (
            "one event was erased"
            if len(event.redacted) == 1
            else (f"{len(event.redacted)} events were erased")
        )
    if event.compacted is not None:
        said = event.compacted
        return f"{said.events} events in {said.stretches} stretches were compacted"
    return f"{', '.join(event.contradicts)} contradict each other"


def _reason(reason: str | None) -> str:
    return "" if reason is None else f": {reason}"


def source_words(source: ev.SourceRef) -> str:
    """A source with its place, words and origin, on one line."""
    parts = [source.id]
    if source.locator is not None:
        parts.append(source.locator)
    if source.quote is not None:
        parts.append(json.dumps(source.quote, ensure_ascii=False))
    if source.origin is not None:
        parts.append(f"origin {source.origin}")
    if source.observed_at is not None:
        parts.append(f"observed {shown(source.observed_at)}")
    return ", ".join(parts)
