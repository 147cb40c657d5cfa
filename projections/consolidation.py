"""What a consolidation does: observations of what several claims say, contradictions declared.

Pure: takes a view, and says what is to be appended, and why. Nothing depends on what an earlier
pass remembered: what is there already is found in the log, so that a second pass finds nothing to
do, and one that was interrupted is gone on with by the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.corroboration import distinct_origins
from doxa.engine.documents import spoken
from doxa.engine.fields import PHRASES
from doxa.engine.graph import NONE
from doxa.engine.insight import keyed
from doxa.engine.texts import Rows
from doxa.engine.view import TruthView
from doxa.projections.clusters import LastUsed, last_use
from doxa.projections.observations import OBSERVATION, Observations
from doxa.projections.overlaps import Block, blocks, denials, grouped
from doxa.projections.similarity import within
from doxa.projections.words import split

__all__ = ["Consolidated", "Step", "plan"]


class Step(StrEnum):
    """What becomes of one cluster."""

    OBSERVED = "observed"  # an observation is recorded
    RESTORED = "restored"  # an earlier observation stands again
    DECLARED = "declared"  # a contradiction is declared; nothing is merged
    CONTESTED = "contested"  # it is contested as it is: nothing is merged
    SETTLED = "settled"  # somebody took back what would be recorded
    REFUSED = "refused"  # it can't be recorded; the reason says why


@dataclass(frozen=True, slots=True)
class Consolidated:
    """One cluster of claims, and what becomes of it.

    ``id`` is that of the observation or of the declared contradiction; ``proofs`` how many distinct
    origins are behind the evidence; ``supersedes`` the observations of fewer claims, or of what
    has fallen since, that the new one replaces.
    """

    step: Step
    subject: str
    predicate: str
    kind: str
    perspective: str
    evidence: tuple[str, ...]
    id: str | None = None
    object: Any = None
    text: str | None = None
    proofs: int | None = None
    supersedes: tuple[str, ...] = ()
    reason: str | None = None
    last_used: int = times.NEG
    events: tuple[ev.Event, ...] = ()

    @property
    def observed(self) -> tuple[str, ...]:
        """The evidence of an observation that is made, or stands again."""
        return self.evidence if self.step in (Step.OBSERVED, Step.RESTORED) else ()

    def as_dict(self) -> dict[str, Any]:
        """The cluster as a JSON object."""
        names = ("subject", "predicate", "kind", "perspective", "id", "object", "text", "proofs")
        return {
            "step": str(self.step),
            **{name: getattr(self, name) for name in names},
            "evidence": list(self.evidence),
            "supersedes": list(self.supersedes),
            "reason": self.reason,
            "last_used": times.iso(self.last_used),
        }


def plan(
    view: TruthView,
    rows: Rows,
    *,
    kind: str | None = None,
    last_used: LastUsed | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Consolidated]:
    """What is to be done at a view, for the longest unused claims first, then in log order.

    ``rows`` reads stored events. O(claims), and see `overlaps.grouped`.
    """
    planner = _Planner(view)
    found: list[tuple[int, int, Consolidated]] = []
    done = 0
    for block in blocks(view, rows, kind):
        for members, each in planner.of_block(block):
            used = max(last_use(view, block.rows[member], last_used) for member in members)
            found.append((used, block.rows[members[0]], each))
        done += len(block.rows)
        if progress is not None:
            progress(done, None)
    found.sort(key=lambda item: item[:2])
    return [replace(each, last_used=used) for used, _, each in found]


class _Planner:
    def __init__(self, view: TruthView) -> None:
        self.view, self.graph, self.belief = view, view.graph, view.belief
        self.observations = Observations(view)

    def of_block(self, block: Block) -> Iterator[tuple[Sequence[int], Consolidated]]:
        """What is to be done with the claims of a block, each with the numbers of its claims."""
        contested = [
            n for n, standing in enumerate(block.standings) if standing is Standing.CONTESTED
        ]
        apart = set(contested)
        for pair in denials(block.denials):
            found = self._contradiction(block, pair)
            if found is not None:
                apart.update(pair)
                yield pair, found
        if contested:
            reason = "contested at the view: nothing is merged"
            yield contested, self._about(block, Step.CONTESTED, contested, reason=reason)
        for group in grouped(block.wordings):
            if len(group) > 1 and apart.isdisjoint(group):
                found = self._observation(block, group)
                if found is not None:
                    yield group, found

    def _about(self, block: Block, step: Step, members: Iterable[int], **more: Any) -> Consolidated:
        first = block.events[0]
        evidence = tuple(block.events[n].id for n in members)
        return Consolidated(
            step, first.subject, first.predicate, first.kind, first.perspective, evidence, **more
        )

    # -- contradictions

    def _contradiction(self, block: Block, pair: tuple[int, int]) -> Consolidated | None:
        """The declaration that two claims contradict each other; ``None`` where they are rivals
        already, or somebody took the declaration back."""
        one, other = (block.rows[n] for n in pair)
        if other in self.belief.rivals(one, self.view.v, self.view.k):
            return None
        workspace = block.events[0].workspace
        ids = sorted(block.events[n].id for n in pair)
        id = keyed("contradiction", ids)
        if self.graph.taken(workspace, id):
            return None
        event = ev.Policy(
            id=id,
            workspace=workspace,
            contradicts=tuple(ids),
            reason="one says what the other denies",
        )
        reason = "one says what the other denies: nothing is merged"
        return self._about(block, Step.DECLARED, pair, id=id, reason=reason, events=(event,))

    # -- observations

    def _observation(self, block: Block, group: Sequence[int]) -> Consolidated | None:
        """The observation of claims that say the same; ``None`` where it is there, and nothing of
        it has changed."""
        value, said = _shortest(block, group)
        proofs = self._proofs([block.rows[n] for n in group])
        origins = f"{proofs} origin" if proofs == 1 else f"{proofs} origins"
        claims = [block.events[n] for n in group]
        claim = ev.Claim(
            id=self.observations.id_of(claims, proofs),
            workspace=claims[0].workspace,
            subject=claims[0].subject,
            predicate=claims[0].predicate,
            object=value,
            text=f"{said} ({origins})",
            kind=OBSERVATION,
            perspective=claims[0].perspective,
            valid_from=max(each.valid_from for each in claims),
            valid_to=min(each.valid_to for each in claims),
            because=tuple(each.id for each in claims),
            recall_when=tuple(dict.fromkeys(p for each in claims for p in each.recall_when))[
                :PHRASES
            ],
        )
        told = self.observations.standing_by(claim, [block.rows[n] for n in group])
        if told is None:
            return None
        return self._about(
            block,
            Step(told.step),
            group,
            id=claim.id,
            object=value,
            text=claim.text,
            proofs=proofs,
            supersedes=told.supersedes,
            reason=told.reason,
            events=told.events,
        )

    def _proofs(self, rows: Iterable[int]) -> int:
        """How many distinct origins are behind some claims; those of equal content count once."""
        graph, belief, v, k = self.graph, self.belief, self.view.v, self.view.k
        supports = [
            support
            for row in rows
            for support in belief.live_supports(row, v, k)
            if graph.s_source[support] != NONE and not graph.s_refutes[support]
        ]
        return distinct_origins(graph, supports)


def _shortest(block: Block, group: Sequence[int]) -> tuple[Any, str]:
    """What all claims of a group say: the object in the fewest words, as most of them write it, and
    the shortest of their texts if it is in all of them word for word, else the object in words."""
    claims = [block.events[n] for n in group]
    fewest = min(len(block.wordings[n].words) for n in group)
    shortest = [block.events[n] for n in group if len(block.wordings[n].words) == fewest]
    keys = [ev.equality_key(claim.object) for claim in shortest]
    ((often, _),) = Counter(keys).most_common(1)  # of equals, the first
    value = shortest[keys.index(often)].object
    texts = [claim.text for claim in claims]
    told = [text for text in texts if text is not None and text.strip()]
    if len(told) == len(claims):
        words = [split(text) for text in told]
        first = min(range(len(told)), key=lambda n: len(words[n]))
        if words[first] and all(within(words[first], other) for other in words):
            return value, told[first].strip().rstrip(".")
    return value, spoken(claims[0].subject, claims[0].predicate, value)
