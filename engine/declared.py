"""The rows of policies: what was declared, about which claim, artefact, predicate or kind."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Final

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.keyed import Keyed
from doxa.engine.numbers import Keys, Lists, Numbers
from doxa.engine.timeline import Timeline

__all__ = [
    "ARCHIVED",
    "BLOCKED",
    "COMPACTED",
    "EXPIRES",
    "REDACTED",
    "REJECTED",
    "RESTORED",
    "SCORED",
    "Notes",
    "Policies",
]

_WHAT: Final = {name: place for place, name in enumerate(ev.POLICIES)}
SCORED, EXPIRES, ARCHIVED, RESTORED = (
    _WHAT[name] for name in ("scored", "expires", "archived", "restored")
)
REJECTED, BLOCKED, REDACTED = (_WHAT[name] for name in ("rejected", "blocked", "redacted"))
COMPACTED = _WHAT["compacted"]


class Notes(Lists):
    """Lists that know in which order their values came, so that nobody has to look at all of them
    to see what is new."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: tuple[Keys, Any, Any] | None = None  # what was there at the opening
        self.added_key, self.added = array("q"), array("i")

    def add(self, key: int, value: int) -> None:
        """Appends to the list of a key."""
        super().add(key, value)
        self.added_key.append(key)
        self.added.append(value)  # the last of all: readers look at no more than that

    def load(self, keys: Keys, starts: Any, values: Any) -> None:
        """Takes sealed parts over."""
        super().load(keys, starts, values)
        self.loaded = keys, starts, values


class Policies(Timeline):
    """The policies of one log, by row."""

    def __init__(self) -> None:
        super().__init__()
        self.p_pos, self.p_ws = array("i"), array("i")
        self.single_valued: dict[int, dict[int, list[int]]] = {}  # predicate → workspace → rows
        self.contradictions = Lists()  # claim → policy rows
        self.p_claims = Lists()
        self.p_predicate = Numbers()
        self.verifications = Lists()  # claim → policy rows
        self.pinnings = Lists()  # claim → policy rows
        self.p_pinned = Numbers()  # policy → claim
        self.pins_in = Lists()  # workspace → policy rows
        self.calibrations = Lists()  # name of the embedder → policy rows
        self.p_what = bytearray()  # which of `POLICIES` it is, by place
        self.p_at = array("q")  # when it ends, or what it names; else NEG
        self.p_number = array("d")  # an importance, or days; else -1
        self.policies_on = Notes()  # claim or artefact → policies that score, archive, … it
        self.decays_of = Lists()  # kind → policy rows
        self.rejections = Lists()  # digest → policy rows
        self.p_about = Numbers()  # rejection → predicate, where it is meant of that alone
        self.redactions = array("i")  # the policies that say what was erased
        # What has no content any more. The policy that says so counts from its own position on; the
        # content is gone at every one.
        self.blank = array("i")  # entities, as they were found to be so
        self.erased: dict[int, ev.Erasure] = {}  # entity → what is kept of it
        self.erased_at: dict[int, int] = {}  # entity → position of that policy
        self.unblanked: dict[int, ev.Erasure] = {}  # those whose content is still here
        self.erased_about: dict[str, list[int]] = {}  # digest of the subject → rows of claims
        self.foreseen: Callable[[str, str], ev.Erasure | None] = lambda workspace, id: None
        self.keyed: Callable[[], Keyed] | None = None  # what makes the digests

    def add_policy(self, position: int, ws: int, event: ev.Policy) -> int:
        """The row of a new policy, whose edges are still to be added."""
        at = event.at if event.until is None else event.until
        number = event.importance if event.days is None else event.days
        if event.compacted is not None:
            self.compacted_at = position
        return self.put_policy(
            position,
            ws,
            _WHAT.get(event.policy, 0),
            times.NEG if at is None else at,
            -1.0 if number is None else number,
        )

    def put_policy(
        self, position: int, ws: int, what: int, at: int = times.NEG, number: float = -1.0
    ) -> int:
        """Adds the row of a policy, in codes."""
        self.p_ws.append(ws)
        self.p_what.append(what)
        self.p_at.append(at)
        self.p_number.append(number)
        self.p_pos.append(position)
        return len(self.p_pos) - 1
