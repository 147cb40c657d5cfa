"""What is recorded where records are archived or restored: which of them, in which events.

Only what is not so already is named, so that doing it again records nothing; and it is looked at
under the lock of the log, so that several processes may do it at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, POLICY, entity
from doxa.engine.retention import archived_now
from doxa.engine.stream import Request, Stream

__all__ = ["AT_ONCE", "Swept", "archiving", "pinned_now", "restoring", "sweep", "swept"]

AT_ONCE: Final = 1_000  # records that one event names
BYTES: Final = 500_000  # that their ids take
Verb = Literal["archived", "restored"]


@dataclass(frozen=True, slots=True)
class Swept:
    """Which records were archived or restored; with ``dry_run``, which would be.

    ``policies`` are the ids of the events that say so, by which it can be withdrawn. ``kept`` says
    how many were due and are protected, by what protects them; ``left`` how many are due still.
    """

    records: tuple[ev.Ref, ...] = ()
    policies: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    dry_run: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records."""
        return tuple(one.id for one in self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __bool__(self) -> bool:
        return bool(self.records)

    def as_dict(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "records": [one._asdict() for one in self.records],
            "policies": list(self.policies),
            "kept": dict(self.kept),
            "left": self.left,
            "dry_run": self.dry_run,
        }


def swept(events: Iterable[ev.Policy], **more: Any) -> Swept:
    """What events archive or restore, as a report."""
    made = [*events]
    records = (ev.Ref(each.workspace, id) for each in made for id in each.archived + each.restored)
    policies = () if more.get("dry_run") else tuple(event.id for event in made)
    return Swept(tuple(records), policies, **more)


def archiving(belief: Belief, numbers: Iterable[int], reason: str | None) -> list[ev.Policy]:
    """The events that archive those of some records that are not archived, nor pinned."""
    graph = belief.graph
    fresh = [
        number
        for number in dict.fromkeys(numbers)
        if number & 7 in (CLAIM, ARTEFACT)
        and number not in graph.erased
        and not archived_now(belief, number)
        and not pinned_now(belief, number)
    ]
    return list(_events(belief, fresh, "archived", reason))


def restoring(belief: Belief, numbers: Iterable[int], reason: str | None) -> list[ev.Policy]:
    """The events that restore those of some records that are archived."""
    hidden = [
        number
        for number in dict.fromkeys(numbers)
        if number != NONE and archived_now(belief, number)
    ]
    return list(_events(belief, hidden, "restored", reason))


def pinned_now(belief: Belief, number: int) -> bool:
    """Whether a record is a claim that is pinned by what was recorded last."""
    if number & 7 != CLAIM:
        return False
    pins = belief.graph.pinnings.get(number >> 3)
    return any(belief.extent_now(entity(POLICY, row)) for row in pins)


def _events(
    belief: Belief, numbers: Sequence[int], verb: Verb, reason: str | None
) -> Iterator[ev.Policy]:
    graph, by_place = belief.graph, dict[int, list[str]]()
    for number in numbers:
        by_place.setdefault(graph.workspace_of(number), []).append(graph.id_of(number))
    for place, ids in by_place.items():
        for some in _parts(ids):
            said: Any = {verb: tuple(some), "reason": reason}
            id, workspace = f"policy-{os.urandom(10).hex()}", graph.names.texts[place]
            yield ev.Policy(id=id, workspace=workspace, **said)


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    """Ids in parts that one event can hold."""
    part: list[str] = []
    size = 0
    for id in ids:
        more = len(json.dumps(id, ensure_ascii=False).encode()) + 1
        if part and (len(part) >= AT_ONCE or size + more > BYTES):
            yield part
            part, size = [], 0
        part.append(id)
        size += more
    if part:
        yield part


def sweep(stream: Stream, making: Callable[[Belief], Sequence[ev.Policy]]) -> list[ev.Policy]:
    """Records what a function makes of the belief at the head, under the lock, as one commit; and
    gives it back. It is no commit where nothing is made."""
    made: list[ev.Policy] = []

    def make(belief: Belief) -> Sequence[ev.Event]:
        made[:] = making(belief)
        return made

    stream.append(Request((), making=make))
    return made
