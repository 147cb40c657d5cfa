"""Maintenance: everything that is to be done to a ledger now and then, in one call.

Each step can be broken off at any point and gone on with later, and several processes may be at it
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doxa.arguments import Instant
from doxa.engine.errors import CallerError
from doxa.retaining import Progress, Retaining, check_limit, step

if TYPE_CHECKING:
    from doxa.compacting import CompactionReport
    from doxa.engine.events import Ref
    from doxa.engine.shelving import Swept
    from doxa.searching import Search

__all__ = ["Maintaining", "Maintenance", "Plan"]


HISTORY: Final = frozenset({"older_than", "versions", "bytes", "limit"})


class Plan(NamedTuple):
    """How maintenance is to be done: as of when, in which workspace (``None``: all), how many
    records may still be put away (``None``: all that are due), whether only to say so, what of the
    history is to be compacted (``None``: nothing), and which records are named by now."""

    now: Instant | None
    workspace: str | None
    limit: int | None
    dry_run: bool
    history: Mapping[str, Any] | None = None
    named: frozenset[Ref] = frozenset()


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
        compact: Callable[..., CompactionReport]

    def maintain(
        self,
        *,
        now: Instant | None = None,
        limit: int | None = None,
        workspace: str | None = None,
        history: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Maintenance:
        """Archives what was declared to expire and what has faded, and brings the index of words up
        to the log.

        With ``history``, the arguments of `compact` (older_than, versions, bytes, limit), what they
        name is compacted first. ``limit`` bounds how many records are archived in this run,
        ``progress(done, steps)`` is called before each step and at the end. With ``dry_run`` it is
        only said what would be done.
        """
        check_limit(limit)
        check_history(history)
        found: dict[str, Swept | Mapping[str, Any]] = {}
        plan, steps = Plan(now, workspace, limit, dry_run, history), self._maintenance()
        if history is not None:
            steps = {"history": self._history_step, **steps}
        for name, do in steps.items():
            if progress is not None:
                progress(len(found), len(steps))
            found[name] = do(plan)
            plan = plan._replace(
                limit=_rest(plan.limit, found[name]), named=plan.named | _named(found[name])
            )
        if progress is not None:
            progress(len(found), len(steps))
        return Maintenance(found, dry_run)

    def _maintenance(self) -> dict[str, Step]:
        """The steps, by name, in their order."""
        return {"expired": self._expire_step, "decay": self._decay_step, "index": self._index_step}

    def _expire_step(self, plan: Plan) -> Swept:
        return self._expired(plan.now, plan.limit, plan.workspace, plan.dry_run)

    def _decay_step(self, plan: Plan) -> Swept:
        how = plan.now, plan.limit, plan.workspace, plan.dry_run
        return self._faded(*how, None, plan.named)

    def _history_step(self, plan: Plan) -> Mapping[str, Any]:
        """Compaction, of which the log keeps a record; as `compact` for who asks for it alone."""
        wanted = dict(plan.history or {})
        if plan.now is not None and "older_than" in wanted:
            wanted["now"] = plan.now
        done = self.compact(**wanted, dry_run=plan.dry_run)
        return {"claims": done.claims, "events": done.events, "bytes": done.bytes}

    def _index_step(self, plan: Plan) -> Mapping[str, Any]:
        """The index of words; vectors are made by `index`, where an embedder is asked for them."""
        search, head = self._searching(), self._stream.capture()[1]
        behind = head - search.words.position
        if plan.dry_run:
            return {"behind": behind, "saved": False}
        search.follow()
        return {"behind": behind, "saved": search.save()}


def check_history(given: object) -> None:
    """Raises `CallerError` for what `compact` takes no arguments from."""
    if given is not None and not (isinstance(given, Mapping) and given and set(given) <= HISTORY):
        raise CallerError(
            f"history is {given!r:.80}; give a mapping of what compact takes: "
            f"{', '.join(sorted(HISTORY))}"
        )


def _named(found: Swept | Mapping[str, Any]) -> frozenset[Ref]:
    """The records that a step put away, or would."""
    return frozenset() if isinstance(found, Mapping) else frozenset(found.records)


def _rest(limit: int | None, found: Swept | Mapping[str, Any]) -> int | None:
    """What is left of a limit after a step."""
    return limit if limit is None or isinstance(found, Mapping) else limit - len(found)
