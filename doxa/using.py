"""What the use of records does: it is noted beside the log, and brings back what is archived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doxa.engine.errors import CallerError, DamageError, StorageError
from doxa.engine.outcomes import Tier
from doxa.engine.stream import Stream

if TYPE_CHECKING:
    from doxa.engine.block import Block
    from doxa.engine.candidates import Given
    from doxa.engine.envelope import Hit, Recalled
    from doxa.engine.usage import Key, Usage
    from doxa.engine.view import TruthView

__all__ = ["Using"]

USED: Final = "used"  # why an archived record was restored


class Using:
    """How often the records of a ledger are used, and when last; written on request alone."""

    path: Path | None
    clock: Callable[[], int]
    _stream: Stream
    _uses: Usage | None = None

    @property
    def _usage(self) -> Usage:
        from doxa.engine.usage import USAGE, Usage

        if self._uses is None:
            self._uses = Usage(None if self.path is None else self.path / USAGE)
        return self._uses

    def _stop_using(self) -> None:
        if self._uses is not None:
            self._uses.close()

    def _reinforced(self, answer: Recalled) -> Recalled:
        """An answer, the hits of which were used."""
        return self._all_reinforced([answer])[0]

    def _all_reinforced(self, answers: Sequence[Recalled]) -> list[Recalled]:
        """Answers, the hits of which were used: what is in several of them, as often."""
        problem = self._used(
            key
            for answer in answers
            for key in dict.fromkeys(key for hit in answer.hits for key in _records(hit))
        )
        told = () if problem is None else (problem,)
        return [answer.but(warnings=(*answer.warnings, *told)) for answer in answers]

    def _used(self, keys: Iterable[Key]) -> str | None:
        """Notes the use of records, and brings back those that are archived. Returns what went
        wrong, which is no error for whoever reads."""
        used = [*keys]
        graph = self._stream.capture()[0].belief.graph
        problem = self._usage.touch(used, self.clock(), graph)
        try:
            self._bring_back(dict.fromkeys(used))
        except (StorageError, DamageError) as error:
            problem = f"what was used could not be restored: {error}"
        return problem

    def _bring_back(self, keys: Iterable[Key]) -> None:
        from doxa.engine.shelving import restoring, sweep

        belief = self._stream.capture()[0].belief
        if not belief.graph.policies_on:
            return
        numbers = [belief.graph.find(*key) for key in keys]
        if restoring(belief, numbers, USED):
            sweep(self._stream, lambda belief: restoring(belief, numbers, USED))


def check_sides(reinforce: object, skip_side_effects: object) -> bool:
    """Whether the use of what is returned is to be noted. Raises `CallerError`."""
    for name, value in (("reinforce", reinforce), ("skip_side_effects", skip_side_effects)):
        if value is not True and value is not False:
            raise CallerError(f"{name} is {value!r:.80}; give True or False")
    return reinforce is True and skip_side_effects is False


def _records(hit: Hit) -> list[Key]:
    """The records that a hit is of: the claim that a quote is about; of a text that was brought,
    the registered summary that it is, or else the claims that it rests on."""
    if hit.tier in (Tier.CLAIM, Tier.SUMMARY):
        return [(hit.workspace, hit.id)]
    claims = [(one.workspace, one.id) for one in hit.references if one.kind == "claim"]
    if hit.tier is Tier.QUOTE:
        return claims[:1]
    return [(one.workspace, one.id) for one in hit.references if one.kind == "summary"] or claims


def printed_records(block: Block, view: TruthView) -> list[Key]:
    """The records that are printed in a block, each once."""
    return [*dict.fromkeys(_printed(block, view))]


def _printed(block: Block, view: TruthView) -> Iterator[Key]:
    from doxa.engine.candidates import Unread
    from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity

    graph = view.graph
    read = block._made.candidates or ()
    candidates = {one.id: one for one in read if not isinstance(one, Unread)}
    for one in block._made.printed:
        given = candidates.get(one.id) if one.kind == "candidate" else None
        numbers = [view.find(one.id)] if given is None else _named(given, view)
        for number in dict.fromkeys(numbers):
            if number == NONE:
                continue
            if number & 7 == SUPPORT:
                number = entity(CLAIM, graph.s_claim[number >> 3])
            if number & 7 in (CLAIM, ARTEFACT):
                yield graph.names.texts[graph.workspace_of(number)], graph.id_of(number)


def _named(given: Given, view: TruthView) -> list[int]:
    """What a candidate is or, where it is nothing registered, what it rests on, as entities."""
    if given.artefact is not None:
        return [view.find(given.artefact, given.workspace)]
    if not (given.facts or given.supports or given.citations or given.sources):
        return [view.find(given.id, given.workspace)]
    return [view.find(id, given.workspace) for id in (*given.facts, *given.supports)]
