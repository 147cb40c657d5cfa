"""What is kept in sight of a ledger, and what is put away: importance, expiry, decay, archiving.

Nothing here touches what is true: an archived record is hidden, and comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant, check_list, check_text, refuse_unknown
from doxa.declaring import Declaring
from doxa.engine import times
from doxa.engine.collector import uncollected
from doxa.engine.errors import (
    CallerError,
    InvalidEvent,
    StorageError,
    UnknownTarget,
    WasErased,
    workspace_in_words,
)
from doxa.engine.graph import ARTEFACT, CLAIM, KINDS, NONE
from doxa.using import Using

if TYPE_CHECKING:
    from doxa.engine.belief import Belief
    from doxa.engine.events import Policy, Ref
    from doxa.engine.fading import Due, Wanted
    from doxa.engine.shelving import Swept
    from doxa.engine.usage import Usage

__all__ = ["Progress", "Retaining", "check_limit"]

Progress = Callable[[int, int | None], None]
FADED: Final = "decay"  # why a record was archived
EXPIRED: Final = "expired"


class Retaining(Declaring, Using):
    """The calls that put records away, and bring them back."""

    def score(
        self,
        record: str,
        importance: float,
        *,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> str:
        """Declares how important a claim, summary or citation is, from 0 to 1: it fades no further
        than that. The last score counts, and 0 clears it. Returns the id by which the score is
        withdrawn. With ``dry_run`` it is judged, and nothing is written.
        """
        fields = {"scored": record, "importance": importance}
        return self._declare(fields, reason, id, workspace, recorded_at, dry_run)

    def expire(
        self,
        record: str,
        at: Instant,
        *,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> str:
        """Declares that a claim, summary or citation is to be archived by maintenance from an
        instant on, whatever it has faded to; what is true stays so. Returns the id by which that
        is withdrawn. With ``dry_run`` it is judged, and nothing is written.
        """
        fields = {"expires": record, "at": at}
        return self._declare(fields, reason, id, workspace, recorded_at, dry_run)

    def decays(
        self,
        kind: str,
        days: float | None,
        *,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> str:
        """Declares in how many days of rest claims of a kind fade to 1/e, in place of seven; with
        ``None`` they never do. Returns the id by which that is withdrawn. With ``dry_run`` it is
        judged, and nothing is written.
        """
        fields = {"decays": kind, "days": days}
        return self._declare(fields, reason, id, workspace, recorded_at, dry_run)

    def archive(
        self,
        ids: str | Iterable[str],
        *,
        reason: str | None = None,
        workspace: str = "",
        dry_run: bool = False,
    ) -> Swept:
        """Hides claims, summaries and citations from recall and context, unless they are asked for;
        they stay true and go on supporting what rests on them. In one commit; what is archived
        already is not archived again. What is pinned is refused.

        Raises `UnknownTarget`, `InvalidEvent` for what is no record, `CallerError` for what is
        pinned.
        """
        from doxa.engine.shelving import archiving, pinned_now

        numbers, _ = self._records_of(ids, workspace)

        def make(belief: Belief) -> Any:
            for number in numbers:
                if pinned_now(belief, number):
                    raise CallerError(
                        f"{belief.graph.id_of(number)!r} is pinned, and what is pinned is never "
                        "archived; withdraw the pin first"
                    )
            return archiving(belief, numbers, reason)

        return self._swept(make, dry_run)

    def restore(
        self,
        ids: str | Iterable[str],
        *,
        reason: str | None = None,
        workspace: str = "",
        dry_run: bool = False,
    ) -> Swept:
        """Brings archived claims, summaries and citations back, in one commit; what is not archived
        stays as it is. Raises `UnknownTarget`, and `InvalidEvent` for what is no record."""
        from doxa.engine.shelving import restoring

        numbers, _ = self._records_of(ids, workspace, living=True)
        return self._swept(lambda belief: restoring(belief, numbers, reason), dry_run)

    def usage(
        self,
        ids: str | Iterable[str],
        *,
        workspace: str = "",
        now: Instant | None = None,
    ) -> list[dict[str, Any]]:
        """How warm records are: when they were used last (or recorded, supported, restored), how
        often, their layer, what is left of each by ``now``, and what protects it."""
        from doxa.engine.fading import vitals

        at = self._instant_of(now)
        numbers, belief = self._records_of(ids, workspace)
        graph = belief.graph
        keys = [(workspace, graph.id_of(number)) for number in numbers]
        used = self._usage.of(keys)
        return [
            vitals(belief, number, used.get(key), at).as_dict(graph)
            for number, key in zip(numbers, keys, strict=True)
        ]

    def decay(
        self,
        *,
        now: Instant | None = None,
        limit: int | None = None,
        workspace: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Swept:
        """Archives the claims of which less than 0.05 is left by ``now``: exp(-idle / 7 days) since
        their last use or, where they were never used, since they were recorded, supported or
        restored last.

        The longest at rest come first, ``limit`` of them at most, in commits of up to 1,000; a run
        that was broken off is gone on with by another. ``progress(archived, due)`` is called after
        each commit. O(claims).
        """
        check_limit(limit)
        return self._faded(now, limit, workspace, dry_run, progress)

    def prune(
        self,
        *,
        kind: str | None = None,
        decay_below: float | None = None,
        older_than: float | None = None,
        workspace: str | None = None,
        reason: str | None = None,
        now: Instant | None = None,
        limit: int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        **unknown: object,
    ) -> Swept:
        """Archives the claims that pass all filters given, at least one of them: of a ``kind``, of
        which less than ``decay_below`` is left, recorded more than ``older_than`` days ago. What is
        pinned, verified or scored above 0 is protected. As for the rest, as `decay`."""
        from doxa.engine.decay import DAY
        from doxa.engine.fading import Wanted

        if unknown:
            refuse_unknown(unknown, "prune", "kind, decay_below, older_than, workspace, limit")
        if kind is None and decay_below is None and older_than is None:
            raise CallerError("prune needs a filter: kind, decay_below, older_than, or several")
        if kind is not None:
            check_text(kind, "kind")
        check_limit(limit)
        at = self._instant_of(now)
        below = _between("decay_below", decay_below, 1.0, "a number above 0, up to 1")
        if below == 0:
            raise CallerError("decay_below is 0, and less than nothing is left of none; give more")
        days = _between("older_than", older_than, 1e6, "days, 0 or more")
        before = None if days is None else max(times.FIRST, at - int(days * DAY))
        wanted = Wanted(below, kind, before, _place(workspace), protecting=True)
        return self._put_away(wanted, reason or "pruned", now, limit, dry_run, progress)

    # -- how it is done

    def _faded(
        self,
        now: Instant | None,
        limit: int | None,
        workspace: str | None,
        dry_run: bool,
        progress: Progress | None,
        named: Collection[Ref] = (),
    ) -> Swept:
        from doxa.engine.fading import Wanted

        wanted = Wanted(workspace=_place(workspace))
        return self._put_away(wanted, FADED, now, limit, dry_run, progress, named)

    def _put_away(
        self,
        wanted: Wanted,
        reason: str,
        now: Instant | None,
        limit: int | None,
        dry_run: bool,
        progress: Progress | None,
        named: Collection[Ref] = (),
    ) -> Swept:
        """Archives the claims that are wanted, less those ``named``, which are due for another
        reason."""
        from doxa.engine.fading import faded, still_due

        at, usage = self._instant_of(now), self._usage
        with uncollected():
            belief = self._belief_now()
            due = faded(belief, usage, at, wanted, limit)
        _check_read(usage)
        if named:
            others = {belief.graph.find(*one) for one in named}
            due = due._replace(numbers=[each for each in due.numbers if each not in others])

        def still(belief: Belief, some: list[int]) -> list[int]:
            found = still_due(belief, usage, some, at, wanted)
            _check_read(usage)
            return found

        return self._archive_due(
            due,
            still,
            reason,
            limit,
            dry_run,
            progress,
        )

    def _expired(
        self, now: Instant | None, limit: int | None, workspace: str | None, dry_run: bool
    ) -> Swept:
        """Archives what was declared to expire by now."""
        from doxa.engine.fading import expired

        at, place = self._instant_of(now), _place(workspace)

        def still(belief: Belief, some: list[int]) -> list[int]:
            due = set(expired(belief, at, place).numbers)
            return [number for number in some if number in due]

        due = expired(self._belief_now(), at, place)
        return self._archive_due(due, still, EXPIRED, limit, dry_run, None)

    def _archive_due(
        self,
        due: Due,
        still: Callable[[Belief, list[int]], list[int]],
        reason: str,
        limit: int | None,
        dry_run: bool,
        progress: Progress | None,
    ) -> Swept:
        """Archives what is due, in commits that each hold by themselves: what one of them names is
        looked at once more under the lock of the log, so that nothing is archived that somebody
        has just used, and nothing twice."""
        from doxa.engine.shelving import AT_ONCE, archiving, sweep, swept

        chosen = due.numbers[:limit]
        left = len(due.numbers) - len(chosen)
        if dry_run:
            made = archiving(self._belief_now(), chosen, reason)
            return swept(made, kept=due.kept, left=left, dry_run=True)
        events = []
        for start in range(0, len(chosen), AT_ONCE):
            some = chosen[start : start + AT_ONCE]
            events += sweep(self._stream, partial(_still, still, some, reason))
            if progress is not None:
                progress(start + len(some), len(chosen))
        return swept(events, kept=due.kept, left=left)

    def _swept(self, make: Callable[[Belief], Any], dry_run: bool) -> Swept:
        from doxa.engine.shelving import sweep, swept

        if dry_run:
            return swept(make(self._belief_now()), dry_run=True)
        return swept(sweep(self._stream, make))

    def _belief_now(self) -> Belief:
        return self._stream.capture(wait=True)[0].belief

    def _instant_of(self, now: Instant | None) -> int:
        return self.clock() if now is None else times.instant(now, "now")

    def _records_of(
        self, ids: str | Iterable[str], workspace: str, *, living: bool = False
    ) -> tuple[list[int], Belief]:
        """The records of a workspace that ids mean, as entities, in the belief at the head; where
        ``living``, none that is erased."""
        check_text(workspace, "workspace")
        belief = self._belief_now()
        graph, found = belief.graph, []
        for id in [ids] if isinstance(ids, str) else check_list(ids, "ids"):
            check_text(id, "id")
            number = graph.find(workspace, id)
            if number == NONE:
                raise UnknownTarget(
                    f"{id!r} is not in {workspace_in_words(workspace)}; give the id of a claim, "
                    "summary or citation there"
                )
            if number & 7 not in (CLAIM, ARTEFACT):
                raise InvalidEvent(
                    f"{id!r} is a {KINDS[number & 7]}; claims, summaries and citations are "
                    "archived, and what belongs to them is hidden with them"
                )
            if living and number in graph.erased:
                raise WasErased(f"{id!r} was erased, and does not come back")
            found.append(number)
        if not found:
            raise CallerError("ids is empty; give the ids of claims, summaries or citations")
        return list(dict.fromkeys(found)), belief


def _still(
    still: Callable[[Belief, list[int]], list[int]],
    some: list[int],
    reason: str,
    belief: Belief,
) -> list[Policy]:
    """The events that archive those of some records that are still due."""
    from doxa.engine.shelving import archiving

    return archiving(belief, still(belief, some), reason)


def _check_read(usage: Usage) -> None:
    """Raises `StorageError` where it can't be seen just now what was used; of a damaged file that
    is lost, and nothing was."""
    if usage.problem is not None and usage.passing:
        raise StorageError(f"{usage.problem}, so that nothing may be put away; try again")


def check_limit(limit: object) -> None:
    """Raises `CallerError` for what is no limit."""
    if limit is None:
        return
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise CallerError(f"limit is {limit!r:.80}; give a whole number, 1 or more")


def _place(workspace: object) -> str | None:
    if workspace is not None:
        check_text(workspace, "workspace")
        assert isinstance(workspace, str)
    return workspace


def _between(name: str, value: object, most: float, wanted: str) -> float | None:
    if value is None:
        return None
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
    if not good:
        raise CallerError(f"{name} is {value!r:.80}; give {wanted}")
    assert isinstance(value, int | float)
    return float(value)


def step(found: Swept | Mapping[str, Any]) -> dict[str, Any]:
    """What a step of maintenance did, as a JSON object."""
    return dict(found) if isinstance(found, Mapping) else found.as_dict()
