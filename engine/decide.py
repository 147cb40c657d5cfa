"""Whether events may be appended: references, repeats, portions, rings, sources, expectations.

Pure: takes the belief at the head and the events of one commit, and says what is new, what is a
repeat, and what is wrong with the rest. A commit is judged whole; every event of it may name any
other, except that a withdrawal must come after a withdrawal that it takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.errors import (
    CorrectionRing,
    DoxaError,
    DuplicateId,
    InvalidEvent,
    InvalidTime,
    RevisionConflict,
    WasErased,
    workspace_in_words,
)
from doxa.engine.graph import (
    CLAIM,
    NONE,
    POLICY,
    SOURCE,
    Graph,
    entity,
)
from doxa.engine.overlay import Meaning, Overlay
from doxa.engine.plain import Plain
from doxa.engine.references import References
from doxa.engine.times import (
    ALL,
    Intervals,
    intersect,
    shown,
    span,
)

__all__ = ["Judged", "Plainly", "expect", "judge"]

Stored = Callable[[int], ev.Event]


@dataclass
class Judged:
    """The events of one commit: those to append, those already there, and what is wrong."""

    new: dict[int, ev.Event] = field(default_factory=dict)  # by index, references resolved
    repeated: list[int] = field(default_factory=list)  # indexes
    problems: dict[int, DoxaError] = field(default_factory=dict)  # by index


def expect(belief: Belief, workspaces: Iterable[str], expected: int, upto: int) -> None:
    """Raises `RevisionConflict` where one of the workspaces has moved past ``expected``."""
    graph = belief.graph
    for workspace in sorted(workspaces):
        code = graph.names.find(workspace)
        actual = graph.revision(code, upto) if code != NONE else 0
        if actual > expected:
            raise RevisionConflict(
                f"workspace {workspace!r} is at revision {actual}, not at {expected} as expected; "
                "read again and repeat the append"
            )


class Plainly:
    """Accepts commits of plain claims and supports against which nothing can be said, one after
    another, each before the one before it is taken in."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.come: dict[tuple[str, str], str] = {}  # what was accepted: workspace and id → type
        self.counting: set[tuple[str, str]] = set()  # sources that were never withdrawn

    def accepts(self, commit: Iterable[Plain]) -> bool:
        """Whether all ids of a commit are new, its claims are there or in it, and no source of it
        was ever withdrawn. Otherwise it is for `judge`, and nothing more is accepted here."""
        graph, come, counting = self.graph, self.come, self.counting
        gone = graph.gone
        code, known = graph.names.find, graph.ids.find
        later: list[tuple[str, str]] = []  # claims that must be in this commit
        for kind, _, _, workspace, id, claim, source, _, _ in commit:
            place, ws = (workspace, id), code(workspace)
            if place in come or known(ws, id) != NONE:
                return False
            if gone is not None and gone.event(workspace, id) != NONE:
                return False
            come[place] = kind
            if source is not None and (workspace, source) not in counting:
                if _ever_withdrawn(graph, workspace, source):
                    return False
                counting.add((workspace, source))
            if claim is not None:
                found = graph.find(workspace, claim)
                if found == NONE:
                    later.append((workspace, claim))
                elif found & 7 != CLAIM or (graph.erased and found in graph.erased):
                    return False
        return not later or all(come.get(place) == "claim" for place in later)


def _ever_withdrawn(graph: Graph, workspace: str, source: str) -> bool:
    """Whether a source, as an event of that workspace names it, has ever been withdrawn."""
    for place in (workspace, "") if workspace else ("",):
        row = graph.find_source(place, source)
        if row != NONE and len(graph.withdrawals_of.get(entity(SOURCE, row))):
            return True
    return False


def judge(belief: Belief, events: Sequence[ev.Event], stored: Stored) -> Judged:
    """Judges one commit against the belief at the head.

    ``stored`` reads the event at a log position. Problems name what is wrong with each event by
    its index; `CorrectionRing` and a withdrawn source are looked for once all references resolve.
    """
    if len(events) == 1 and _plainly_withdraws(belief.graph, events[0]):
        return Judged({0: events[0]})
    return _Judge(belief, events, stored).run()


def _plainly_withdraws(graph: Graph, event: ev.Event) -> bool:
    """Whether an event is new and takes back something that is in the log by its id."""
    if type(event) is not ev.Withdrawal or event.target is None or graph.gone is not None:
        return False
    find, workspace = graph.find, event.workspace
    target = find(workspace, event.target)
    if target == NONE or target & 7 == POLICY or target in graph.erased:
        return False
    return find(workspace, event.id) == NONE


_SOURCED: Final = (ev.Claim, ev.Support, ev.Correction)
_ENDING: Final = (ev.Correction, ev.Withdrawal)


class _Judge(References):
    def __init__(self, belief: Belief, events: Sequence[ev.Event], stored: Stored) -> None:
        super().__init__(belief, events)
        self.stored = stored
        self.result = Judged()
        self.fresh: list[int] = []
        self.ringed: dict[int, str] = {}  # index → the ring that it is known to be in

    def run(self) -> Judged:
        for index, event in enumerate(self.events):
            first = self.ids.setdefault((event.workspace, event.id), index)
            if first != index:
                self._attempt(index, partial(self._same, self.events[first], index))
        sourced: list[int] = []
        ending: list[int] = []  # the new corrections and withdrawals
        for index in self.ids.values():
            event = self.events[index]
            if self._plain(event):
                self.fresh.append(index)
            else:
                self._attempt(index, partial(self._resolve, index))
                if not self.fresh or self.fresh[-1] != index:
                    continue
                if isinstance(event, _ENDING):
                    ending.append(index)
            if _names_source(event):
                sourced.append(index)
        replacing = [index for index in ending if _replaces(self.events[index])]
        if not self.result.problems and (sourced or replacing):
            self._weigh(sourced, ending, replacing)
        new = self.result.new = {i: self.events[i] for i in self.fresh}
        for index in self.result.problems:
            new.pop(index, None)
        return self.result

    def _plain(self, event: ev.Event) -> bool:
        """Whether an event is one of the many that are new and name nothing but, at most, a source
        and a claim that is there."""
        if type(event) is ev.Support:
            if not self._is_claim(event.workspace, event.claim):
                return False
        elif type(event) is not ev.Claim:
            return False
        if event.because or self.graph.gone is not None:
            return False
        return self.graph.find(event.workspace, event.id) == NONE

    def _is_claim(self, workspace: str, id: str) -> bool:
        found = self.graph.find(workspace, id)
        if found != NONE:
            return found & 7 == CLAIM and found not in self.graph.erased
        here = self.ids.get((workspace, id))
        return here is not None and type(self.events[here]) is ev.Claim

    def _weigh(
        self, sourced: Sequence[int], ending: Sequence[int], replacing: Sequence[int]
    ) -> None:
        """Looks for sources with nothing left, and for rings, now that all references resolve."""
        overlay = Overlay(self.belief, self.events, ending, self._meaning) if ending else None
        left: dict[tuple[str, str], Intervals] = {}
        events: Sequence[Any] = self.events
        for index in sourced:
            event = events[index]
            place = (event.workspace, event.source.id)
            found = left.get(place)
            if found is None:
                if overlay is None and _ever_withdrawn(self.graph, *place):
                    overlay = Overlay(self.belief, self.events, ending, self._meaning)
                found = left[place] = ALL if overlay is None else overlay.source(*place)
            if found != ALL:
                self._attempt(index, partial(self._sourced, found, index))
        if overlay is not None and replacing and (circling := overlay.circling(replacing)):
            for index in replacing:
                self._attempt(index, partial(self._ringless, overlay, circling, index))

    def _attempt(self, index: int, step: Callable[[], None]) -> None:
        try:
            step()
        except DoxaError as error:
            self.result.problems.setdefault(index, error)

    # -- repeats

    def _same(self, one: ev.Event, index: int) -> None:
        other = self.events[index]
        if isinstance(other, ev.Correction):
            other = self.events[index] = self._with_portion(other)
        if other.erased and type(one) is type(other):
            self.result.repeated.append(index)  # what it said is gone where it comes from
            return
        if one.erased:
            raise WasErased(
                f"{other.TYPE} {other.id!r} was erased here, and does not come back; what is "
                "recorded anew has a new id"
            )
        if not ev.same_content(one, other):
            raise DuplicateId(
                f"the id {other.id!r} is taken in {workspace_in_words(other.workspace)}, by a "
                f"{one.TYPE} with other content; give this event another id, or correct the one "
                "there"
            )
        self.result.repeated.append(index)

    # -- references

    def _resolve(self, index: int) -> None:
        event = self.events[index]
        known = self.graph.find(event.workspace, event.id)
        if isinstance(event, ev.Correction):
            if event.corrects is not None:
                self._living(event, event.corrects, "corrects")
            if event.by is not None:
                self._living(event, event.by, "by")
            event = self.events[index] = self._with_portion(event)
        if known != NONE:
            position = self.graph.position_of(known)
            self._same(self.stored(position), index)
            return
        if self.graph.gone is not None:
            self.graph.gone.refuse(event.workspace, event.id, f"{event.TYPE} has the id")
        self._targets(event, index)
        self.fresh.append(index)

    # -- portions

    def _own(self, event: ev.Event, ref: str) -> Intervals:
        where, number = self._meaning(event, ref, "corrects")
        if where == "log":
            return self.graph.base(number)
        claim = self.events[number]
        assert isinstance(claim, ev.Claim)
        return claim.valid

    def _with_portion(self, event: ev.Correction) -> ev.Correction:
        """A correction with the bounds that were left out: the replacement's interval cut to the
        target's, or the target's whole interval where nothing replaces it."""
        bounds = (event.valid_from, event.valid_to)
        if event.corrects is None or None not in bounds:
            return event
        own = self._own(event, event.corrects)
        default = own if event.by is None else intersect(own, self._own(event, event.by))
        if not default:
            replacement = self._own(event, event.by or "")
            raise InvalidTime(
                f"correction {event.id!r}: {event.by!r} applies from {shown(replacement[0])} to "
                f"{shown(replacement[1])}, which {event.corrects!r} (from {shown(own[0])} to "
                f"{shown(own[1])}) does not; give valid_from and valid_to of what is corrected"
            )
        start = default[0] if event.valid_from is None else event.valid_from
        end = default[1] if event.valid_to is None else event.valid_to
        if start >= end:
            raise InvalidTime(
                f"correction {event.id!r}: the portion from {shown(start)} to {shown(end)} is "
                "empty or inverted once the default bound is filled in; give both bounds"
            )
        return event.model_copy(update={"valid_from": start, "valid_to": end})

    # -- sources with nothing left

    def _sourced(self, left: Intervals, index: int) -> None:
        event = self.events[index]
        assert isinstance(event, ev.Claim | ev.Support | ev.Correction), event
        assert event.source is not None, event
        if not intersect(left, event.valid):
            raise InvalidEvent(
                f"{event.TYPE} {event.id!r}: nothing is left of the source {event.source.id!r} "
                f"{span(*event.valid)}: it has been withdrawn; withdraw that withdrawal first, or "
                "name another source"
            )

    # -- rings of corrections

    def _ringless(self, overlay: Overlay, circling: Set[Meaning], index: int) -> None:
        event = self.events[index]
        assert isinstance(event, ev.Correction), event
        assert event.by is not None, event
        assert event.corrects is not None, event
        start = self._meaning(event, event.by, "by")
        goal = self._meaning(event, event.corrects, "corrects")
        if start not in circling or goal not in circling:
            return
        members = self.ringed.get(index)
        if members is None:
            found = overlay.path(start, goal, overlay.correction(index))
            if found is not None:
                path, others = found
                members = " by ".join([event.corrects, *path])
                self.ringed.update(dict.fromkeys(others, members))  # it is theirs as well
        if members is not None:
            raise CorrectionRing(
                f"correction {event.id!r} would close a ring, in which nothing stands: {members}; "
                "to go back, withdraw the earlier correction or claim anew"
            )


def _names_source(event: ev.Event) -> bool:
    return isinstance(event, _SOURCED) and event.source is not None


def _replaces(event: ev.Event) -> bool:
    return isinstance(event, ev.Correction) and None not in (event.by, event.corrects)
