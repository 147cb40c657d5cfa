"""Values that nobody is to record: rejecting them, and what is rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from doxa.arguments import Instant, check_text, fresh
from doxa.declaring import Declaring
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.declared import REJECTED
from doxa.engine.errors import CallerError, ConflictError, InvalidTime, ValueHeld
from doxa.engine.fold import Fold
from doxa.engine.gate import Gate, Override, in_force
from doxa.engine.graph import CLAIM, NONE, entity
from doxa.engine.parse import parse
from doxa.engine.rejecting import checked
from doxa.engine.saying import Saying
from doxa.engine.stream import Request, Stream

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["Guard", "OverrideLike", "Rejecting", "Rejection", "override_of"]

EVERYWHERE: Final = "*"  # the workspace of a rejection that bears on all: the shared one
NAMED: Final = 5  # ids in a message

OverrideLike = str | Mapping[str, Any]
Guard = Callable[[Fold], None]


@dataclass(frozen=True, slots=True)
class Rejection:
    """What was rejected: everything but the value, of which nobody keeps more than a digest.

    ``workspace`` is the shared one where it bears on all; ``predicate`` is ``None`` where it bears
    on any. ``in_force`` is whether it keeps out what would be recorded now.
    """

    id: str
    workspace: str
    predicate: str | None
    until: datetime | None
    reason: str | None
    evidence: str | None
    author: str | None
    recorded_at: datetime
    in_force: bool


class _Moved(ConflictError):
    """Other claims say the value than those that were found at first."""


class Rejecting(Declaring):
    """The calls about rejected values."""

    _stream: Stream

    def reject(
        self,
        value: Any,
        *,
        predicate: str | None = None,
        workspace: str = "",
        reason: str | None = None,
        evidence: str | None = None,
        author: str | None = None,
        until: Instant | None = None,
        withdraw: bool = False,
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> str:
        """Rejects a value: from now on no claim is recorded whose object or text it is, whatever
        its subject. Returns the id of the rejection, by which it is withdrawn.

        It bears on the claims of a ``predicate`` (left out: of any) in a ``workspace`` (the shared
        one, also written ``"*"``: in all), on what is recorded before ``until``. Only a keyed
        digest of the value is kept. Raises `ValueHeld` where claims that are held say it, unless
        ``withdraw`` takes these back in the same commit. The same again is not repeated. With
        ``dry_run`` it is judged, and nothing is written. ``progress(claims, all)`` is called now
        and then. O(claims that it might bear on).
        """
        place = _place(workspace)
        fields = {
            "event": "policy",
            "id": fresh("rejection") if id is None else id,
            "workspace": place,
            "rejected": self._gate().digest(checked(value)),
            "predicate": predicate,
            "until": until,
            "evidence": evidence,
            "author": author,
            "reason": reason,
        }
        event = parse(fields)
        assert isinstance(event, ev.Policy), event
        stamp = None if recorded_at is None else times.instant(recorded_at, "recorded_at")
        self._check_until(event, stamp)
        saying = Saying((value,), place, predicate, self._stream.rows)
        while True:
            fold, head = self._stream.capture()
            there = self._like(fold, event) if id is None else None
            named = event.id if there is None else there
            events: list[ev.Event] = [event] if there is None else []
            if there is not None and not withdraw:
                return there
            saying.look(fold.belief.graph, head, progress)
            held = saying.held(fold.belief) if withdraw else []
            events += self._withdrawals(fold, held, named, reason)
            if not events:
                return named
            guard = partial(_unmoved, saying, held) if withdraw else partial(_unheld, saying, None)
            try:
                self._put(Request(events, stamp, guard=guard), dry_run)
            except _Moved:
                continue
            if not dry_run:
                self._forget()
            return named

    def _check_until(self, event: ev.Policy, stamp: int | None) -> None:
        """Raises `InvalidTime` for a new rejection that would never be in force."""
        graph = self._stream.capture()[0].belief.graph
        at = self._now() if stamp is None else stamp
        new = graph.find(event.workspace, event.id) == NONE
        if new and event.until is not None and event.until <= at:
            raise InvalidTime(
                f"until is {times.iso(event.until)}, and the rejection would be recorded at "
                f"{times.iso(at)}: it would never be in force; give a later instant, or none"
            )

    def _forget(self) -> None:
        """Takes lines that say a rejected value out of those that imports have set aside."""
        from doxa.adapters.exchange.kept_out import forget

        forget(cast("Ledger", self))

    def _put(self, request: Request, dry_run: bool) -> None:
        if dry_run:
            self._stream.weigh(request)
        else:
            self._stream.append(request)

    def _like(self, fold: Fold, event: ev.Policy) -> str | None:
        """The id of a rejection that is in force and says the same."""
        graph, now = fold.belief.graph, self._now()
        code = graph.names.find(event.rejected or "")
        for row in graph.rejections.get(code) if code != NONE else ():
            other = self._stream.payload(graph.p_pos[row])
            alike = ev.same_content(other.model_copy(update={"id": event.id}), event)
            if alike and in_force(fold.belief, row, now):
                return other.id
        return None

    def _withdrawals(
        self, fold: Fold, claims: Sequence[int], rejection: str, reason: str | None
    ) -> list[ev.Event]:
        graph = fold.belief.graph
        return [
            ev.Withdrawal(
                id=fresh("withdrawal"),
                workspace=graph.names.texts[graph.c_ws[claim]],
                target=graph.claim_id(claim),
                reason=f"its value is rejected by {rejection}" if reason is None else reason,
            )
            for claim in claims
        ]

    def _reject_old(
        self, old: ev.Claim, new: Mapping[str, Any] | None, correction: str | None
    ) -> tuple[list[dict[str, Any]], Guard]:
        """What rejects the object of a claim that is corrected, and its text, as values of its
        predicate; and what sees to it that no other claim that is held says them.

        What the new claim, if there is one, says as well is not rejected.
        """
        gate = self._gate()
        kept = [] if new is None else [new["object"], new["text"]]
        digests = {gate.digest(checked(value)) for value in kept if value is not None}
        values = {
            part: value
            for part, value in (("object", old.object), ("text", old.text))
            if (part == "object" or value is not None) and gate.digest(value) not in digests
        }
        if not values:
            raise CallerError(
                f"correct of {old.id!r} with reject: the new claim says what is to be rejected; "
                "give another object, or leave reject out"
            )
        policies = [
            {
                "event": "policy",
                "id": fresh("rejection") if correction is None else f"{correction}/{part}",
                "workspace": old.workspace,
                "rejected": gate.digest(value),
                "predicate": old.predicate,
                "reason": f"{old.id} was corrected",
            }
            for part, value in values.items()
        ]
        saying = Saying(values.values(), old.workspace, old.predicate, self._stream.rows)
        fold, head = self._stream.capture()
        saying.look(fold.belief.graph, head)
        return policies, partial(_unheld, saying, old.id)

    # ------------------------------------------------------------ asking

    def rejections(self, *, workspace: str | None = None) -> list[Rejection]:
        """All rejections in the order of their recording, without their values: those that bear on
        a workspace, or, where it is left out, on any."""
        place = None if workspace is None else _place(workspace)
        fold, _ = self._stream.capture()
        graph = fold.belief.graph
        seen = None if place is None else {graph.names.find(""), graph.names.find(place)}
        rows = [
            row for row, what in enumerate(graph.p_what[: len(graph.p_pos)]) if what == REJECTED
        ]
        return self._told(fold, [row for row in rows if seen is None or graph.p_ws[row] in seen])

    def is_rejected(
        self, value: Any, *, predicate: str | None = None, workspace: str = ""
    ) -> tuple[Rejection, ...]:
        """The rejections in force that would keep a claim with this object or text out of a
        workspace; none where it would be recorded. Nothing is written.

        Without ``predicate`` those of any predicate are given.
        """
        place = _place(workspace)
        asked = checked(value)
        fold, _ = self._stream.capture()
        keyed = self._stream.store.keyed_if_made()
        if keyed is None:  # nothing was ever rejected here
            return ()
        gate = Gate(fold.belief, keyed, self._stream.payload)
        found = self._told(fold, gate.naming((asked,), place, predicate))
        return tuple(one for one in found if one.in_force)

    def _told(self, fold: Fold, rows: Iterable[int]) -> list[Rejection]:
        graph, now = fold.belief.graph, self._now()
        at = {graph.p_pos[row]: row for row in rows}
        found = []
        for position in at:
            event = self._stream.payload(position)
            assert isinstance(event, ev.Policy), event
            found.append(
                Rejection(
                    event.id,
                    event.workspace,
                    event.predicate,
                    None if event.until is None else times.moment(event.until),
                    event.reason,
                    event.evidence,
                    event.author,
                    times.moment(graph.recorded_of(position)),
                    in_force(fold.belief, at[position], now),
                )
            )
        return found

    def _gate(self) -> Gate:
        belief = self._stream.capture()[0].belief
        return Gate(belief, self._stream.store.keyed, self._stream.payload)

    def _now(self) -> int:
        """When a commit would be recorded."""
        return self._stream.store.moment(self._stream.store.head())


def override_of(given: OverrideLike | None) -> Override | None:
    """What an ``override`` argument says: a reason, or a mapping with it and the author."""
    if given is None:
        return None
    fields = {"reason": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or not set(fields) <= {"reason", "author"}:
        raise CallerError(
            f"override is {given!r:.80}; give the reason, or a mapping with reason and author"
        )
    reason, author = fields.get("reason"), fields.get("author")
    check_text(reason, "the reason of an override")
    assert isinstance(reason, str), reason
    if not reason.strip():
        raise CallerError("an override needs a reason: say why the value is recorded all the same")
    if author is not None:
        check_text(author, "the author of an override")
    return Override(reason, author)


def _place(workspace: object) -> str:
    """The workspace that a rejection is recorded in."""
    check_text(workspace, "workspace")
    assert isinstance(workspace, str), workspace
    return "" if workspace == EVERYWHERE else workspace


def _unmoved(saying: Saying, held: Sequence[int], fold: Fold) -> None:
    """Raises `_Moved` where other claims are to be withdrawn than was thought."""
    saying.look(fold.belief.graph, fold.position)
    if saying.held(fold.belief) != held:
        raise _Moved("claims came or went meanwhile")


def _unheld(saying: Saying, corrected: str | None, fold: Fold) -> None:
    """Raises `ValueHeld` where a claim, other than the one that is corrected, is held and says the
    value."""
    graph = fold.belief.graph
    saying.look(graph, fold.position)
    held = saying.held(fold.belief)
    if corrected is not None:
        known = graph.find(saying.workspace, corrected)
        held = [claim for claim in held if entity(CLAIM, claim) != known]
    if not held:
        return
    ids = [graph.claim_id(claim) for claim in held]
    named = ", ".join(map(repr, ids[:NAMED])) + (
        f" and {len(ids) - NAMED} more" * (len(ids) > NAMED)
    )
    told = "it is held" if corrected is None else "what was wrong is held by other claims"
    error = ValueHeld(
        f"the value can't be rejected while {told}, by {named}; withdraw what is wrong first, or "
        "reject the value with withdraw, which takes back all that say it"
    )
    error.claims = tuple(ids)
    raise error
