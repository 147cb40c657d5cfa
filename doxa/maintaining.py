"""Maintenance: everything that is to be done to a ledger now and then, in one call.

Each step can be broken off at any point and gone on with later, and several processes may be at it
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from doxa.arguments import Instant
from doxa.retaining import Progress, Retaining, check_limit, step

if TYPE_CHECKING:
    from doxa.engine.shelving import Swept
    from doxa.searching import Search

__all__ = ["Maintaining", "Maintenance", "Plan"]


class Plan(NamedTuple):
    """How maintenance is to be done: as of when, in which workspace (``None``: all), how many
    records may still be put away (``None``: all that are due), and whether only to say so."""

    now: Instant | None
    workspace: str | None
    limit: int | None
    dry_run: bool


@dataclass(frozen=True)
class Maintenance:
    """What maintenance did, or would do: the report of each step, by its name."""

    steps: Mapping[str, Swept | Mapping[str, Any]] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def left(self) -> int:
        """How many records are due still: with a limit there may be more than one run is for."""
        found = (getattr(each, "left", 0) for each in self.steps.values())
        return sum(found)

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        steps = {name: step(found) for name, found in self.steps.items()}
        return {"dry_run": self.dry_run, "left": self.left, **steps}


Step = Callable[[Plan], "Swept | Mapping[str, Any]"]


class Maintaining(Retaining):
    """What keeps a ledger in order."""

    if TYPE_CHECKING:
        _searching: Callable[[], Search]

    def maintain(
        self,
        *,
        now: Instant | None = None,
        limit: int | None = None,
        workspace: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Maintenance:
        """Archives what was declared to expire and what has faded, and brings the index of words up
        to the log.

        ``limit`` bounds how many records are archived in this run, ``progress(done, steps)`` is
        called before each step and at the end. With ``dry_run`` it is only said what would be done.
        """
        check_limit(limit)
        found: dict[str, Swept | Mapping[str, Any]] = {}
        plan, steps = Plan(now, workspace, limit, dry_run), self._maintenance()
        for name, do in steps.items():
            if progress is not None:
                progress(len(found), len(steps))
            found[name] = do(plan)
            plan = plan._replace(limit=_rest(plan.limit, found[name]))
        if progress is not None:
            progress(len(found), len(steps))
        return Maintenance(found, dry_run)

    def _maintenance(self) -> dict[str, Step]:
        """The steps, by name, in their order."""
        return {"expired": self._expire_step, "decay": self._decay_step, "index": self._index_step}

    def _expire_step(self, plan: Plan) -> Swept:
        return self._expired(plan.now, plan.limit, plan.workspace, plan.dry_run)

    def _decay_step(self, plan: Plan) -> Swept:
        return self._faded(plan.now, plan.limit, plan.workspace, plan.dry_run, None)

    def _index_step(self, plan: Plan) -> Mapping[str, Any]:
        """The index of words; vectors are made by `index`, where an embedder is asked for them."""
        search, head = self._searching(), self._stream.capture()[1]
        behind = head - search.words.position
        if plan.dry_run:
            return {"behind": behind, "saved": False}
        search.follow()
        return {"behind": behind, "saved": search.save()}


def _rest(limit: int | None, found: Swept | Mapping[str, Any]) -> int | None:
    """What is left of a limit after a step."""
    return limit if limit is None or isinstance(found, Mapping) else limit - len(found)
