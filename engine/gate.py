"""The gate: whether the rejections in force let a claim in, asked under the write lock.

A rejection bears on the claims of its workspace, or of all where it is in the shared one, and of
its predicate, or of any. It is in force at a time of recording that comes before its ``until`` and
at which it isn't withdrawn. Kept of the value itself is a keyed digest of its normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Belief
from doxa.engine.blocking import Blocking
from doxa.engine.errors import DoxaError, ValueRejected
from doxa.engine.graph import CLAIM, NONE, POLICY, entity
from doxa.engine.keyed import BLOCKED, VALUE, Keyed
from doxa.engine.plain import Plain
from doxa.engine.rejecting import normal
from doxa.engine.rows import SHARED

__all__ = ["Asked", "Gate", "Override", "in_force"]

Stored = Callable[[int], ev.Event]


class Override(NamedTuple):
    """Why claims are recorded in spite of the rejections in force, and who says so."""

    reason: str
    author: str | None = None


@dataclass(slots=True)
class Asked:
    """What became of the claims of a commit: those kept out, by index, what tells of them in the
    log, and what is recorded with those that are let in by an override."""

    blocked: dict[int, ValueRejected] = field(default_factory=dict)
    audits: list[Blocking] = field(default_factory=list)
    overrides: list[ev.Policy] = field(default_factory=list)


class _Claim(NamedTuple):
    workspace: str
    id: str
    predicate: str
    said: tuple[object, ...]  # its object and, where there is one, its text


class Gate:
    """The rejections of one ledger, as they stand at the head of its fold."""

    def __init__(self, belief: Belief, keyed: Keyed, stored: Stored) -> None:
        """``stored`` reads the event at a log position."""
        self.belief, self.graph = belief, belief.graph
        self.keyed, self.stored = keyed, stored
        self._keys: dict[int, ev.Ref] = {}  # by row
        self._met: tuple[Plain, list[int]] | None = None  # what may be blocked, and by what

    # ------------------------------------------------------------ values

    def digest(self, value: object) -> str:
        """The digest by which a value is known again."""
        return self.keyed.digest(VALUE, normal(value))

    def naming(
        self, values: Iterable[object], workspace: str | None, predicate: str | None
    ) -> list[int]:
        """The rejections of any of the values, as policy rows, that bear on a workspace and
        predicate (``None``: on any), in force or not. O(bytes, and rejections of the values)."""
        find, rejections = self.graph.names.find, self.graph.rejections.get
        digest, found = self.keyed.digest, list[int]()
        for value in values:
            code = find(digest(VALUE, normal(value)))
            if code != NONE:
                found += [row for row in rejections(code) if self._bears(row, workspace, predicate)]
        return sorted(set(found)) if len(found) > 1 else found

    def _bears(self, row: int, workspace: str | None, predicate: str | None) -> bool:
        graph, find = self.graph, self.graph.names.find
        place, about = graph.p_ws[row], graph.p_about.get(row)
        if workspace is not None and place not in (SHARED, find(workspace)):
            return False
        return predicate is None or about in (NONE, find(predicate))

    # ------------------------------------------------------------ commits

    def may_block(self, commit: Iterable[Plain]) -> bool:
        """Whether any rejection bears on a commit, whether it is in force or not."""
        naming = self.naming
        for event in commit:
            kind, _, _, workspace, _, _, _, _, content = event
            if kind == "claim":
                rows = naming(_said(content), workspace, content["predicate"])
                if rows:
                    self._met = event, rows  # `ask` comes next
                    return True
        return False

    def ask(
        self,
        events: Sequence[ev.Event | Plain],
        at: times.Instant,
        override: Override | None = None,
    ) -> Asked:
        """Asks for the claims of one commit that is to be recorded at an instant.

        Passed are repeats of what is there, and claims for which the commit itself, or
        ``override``, overrides each rejection that keeps them out.
        """
        asked, met = Asked(), self._met
        self._met = None
        overridden: set[tuple[ev.Ref, ev.Ref]] | None = None  # claim and rejection
        for index, event in enumerate(events):
            claim = _claim_of(event)
            if claim is None:
                continue
            if met is not None and met[0] is event:
                rows = met[1]
            else:
                rows = self.naming(claim.said, claim.workspace, claim.predicate)
            rows = [row for row in rows if in_force(self.belief, row, at)]
            if not rows or self._repeats(claim, event):
                continue
            if len(events) > 1:
                if overridden is None:
                    overridden = set(_overriding(events))
                place = ev.Ref(claim.workspace, claim.id)
                rows = [row for row in rows if (place, self.key(row)) not in overridden]
            if rows and override is not None:
                asked.overrides += [self._overrides(claim, row, override) for row in rows]
            elif rows:
                audits = [self.blocking(row, claim.workspace, claim.id, claim.said) for row in rows]
                asked.audits += audits
                asked.blocked[index] = self.refusal(rows, claim.workspace, claim.id, audits)
        return asked

    def _repeats(self, claim: _Claim, event: ev.Event | Plain) -> bool:
        """Whether a claim is in the log already, with the same content."""
        known = self.graph.find(claim.workspace, claim.id)
        if known == NONE or known & 7 != CLAIM:
            return False
        told = event.event if isinstance(event, Plain) else event
        return ev.same_content(self.stored(self.graph.position_of(known)), told)

    def key(self, row: int) -> ev.Ref:
        """The workspace and id of a rejection."""
        found = self._keys.get(row)
        if found is None:
            workspace = self.graph.names.texts[self.graph.p_ws[row]]
            found = self._keys[row] = ev.Ref(workspace, self.graph.id_at(self.graph.p_pos[row]))
        return found

    def _ref(self, row: int, workspace: str) -> str | ev.Ref:
        """A rejection as an event of a workspace names it."""
        key = self.key(row)
        return key.id if key.workspace == workspace else key

    def _own_id(self, kind: str, row: int, workspace: str, id: str) -> str:
        """An id that is the same whenever the same claim meets the same rejection."""
        named = "\x00".join((*self.key(row), workspace, id)).encode()
        return f"{kind}-{blake2b(named, digest_size=16).hexdigest()}"

    def blocking(self, row: int, workspace: str, id: str, said: Iterable[object] = ()) -> Blocking:
        """What says that a claim was kept out. Of an id that is itself what was said, nothing is
        written down but a digest."""
        if normal(id) in map(normal, said):
            id = f"withheld-{self.keyed.digest(BLOCKED, id)[:32]}"
        name = self._own_id("blocked", row, workspace, id)
        return Blocking(workspace, name, self._ref(row, workspace), id)

    def _overrides(self, claim: _Claim, row: int, override: Override) -> ev.Policy:
        return ev.Policy(
            id=self._own_id("override", row, claim.workspace, claim.id),
            workspace=claim.workspace,
            overrides=self._ref(row, claim.workspace),
            of=claim.id,
            author=override.author,
            reason=override.reason,
        )

    def refusal(
        self, rows: Sequence[int], workspace: str, id: str, audits: Sequence[Blocking] = ()
    ) -> ValueRejected:
        """What is raised for a claim that rejections keep out."""
        named = tuple([self.key(row).id for row in rows])
        positions = tuple([self.graph.p_pos[row] for row in rows])
        error = ValueRejected(_in_words, self.stored, id, named, positions)
        error.claim, error.workspace, error.rejections = id, workspace, named
        error.audits = tuple([blocking.id for blocking in audits])
        return error


def in_force(belief: Belief, row: int, at: times.Instant) -> bool:
    """Whether a rejection, given as a policy row, counts for what is recorded at an instant."""
    until = belief.graph.p_at[row]
    return (until == times.NEG or at < until) and belief.counts(
        entity(POLICY, row), at, belief.graph.position
    )


def _plain_claim(event: Plain) -> _Claim:
    content = event.content
    return _Claim(event.workspace, event.id, content["predicate"], _said(content))


def _said(content: Mapping[str, object]) -> tuple[object, ...]:
    """The object and, where there is one, the text of a claim's fields."""
    if "text" in content and content["text"] is not None:
        return content["object"], content["text"]
    return (content["object"],)


def _claim_of(event: ev.Event | Plain) -> _Claim | None:
    if isinstance(event, Plain):
        return _plain_claim(event) if event.type == "claim" else None
    if not isinstance(event, ev.Claim) or event.erased:
        return None
    return _Claim(event.workspace, event.id, event.predicate, _said(event.__dict__))


def _overriding(events: Iterable[ev.Event | Plain]) -> Iterable[tuple[ev.Ref, ev.Ref]]:
    """The claims of a commit that override rejections, each with what it overrides."""
    for event in events:
        if isinstance(event, ev.Policy) and event.overrides is not None and event.of is not None:
            yield ev.Ref(event.workspace, event.of), event.key(event.overrides)


def _in_words(stored: Stored, id: str, named: Sequence[str], positions: Sequence[int]) -> str:
    """The message of a refusal; the value is not in it."""
    told = [f"{one!r}{_reason(stored, at)}" for one, at in zip(named, positions, strict=True)]
    several = len(told) > 1
    return (
        f"claim {id!r} is not recorded: its object or its text is a value that is rejected, by "
        f"{' and '.join(told)}; withdraw {'those' if several else 'that'} if "
        f"{'they were' if several else 'it was'} wrong, or override "
        f"{'them' if several else 'it'} with a reason"
    )


def _reason(stored: Stored, position: int) -> str:
    try:
        event = stored(position)
    except DoxaError:  # the ledger was closed before anybody read the message
        return ""
    reason = event.reason if isinstance(event, ev.Policy) else None
    return "" if reason is None else f" ({reason:.200})"
