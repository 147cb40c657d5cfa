"""What was erased from a log, and what its questions are still recognised by.

Erasure leaves of an event its header: id, interval and edges. So that a question whose answer is
gone can say so, the policy that erases a claim keeps keyed digests of its subject, its predicate
and its perspective (see `keyed`); of its object and words it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.keyed import Keyed
from doxa.engine.store import LogStore

__all__ = ["Erasures"]


class Erasures:
    """What the policies of one log say of erased events, read when it is first asked for. The
    policy comes later in the log than what it erases, and is needed when that is taken in."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._upto = 0
        self._found: dict[ev.Ref, ev.Erasure] = {}

    @property
    def keyed(self) -> Keyed:
        """What makes the digests."""
        return self._store.keyed

    def find(self, workspace: str, id: str) -> ev.Erasure | None:
        """What is kept of an erased event; ``None`` where no policy says that it was."""
        last = self._store.last_tagged(codec.ERASING)
        if last > self._upto:
            for policy in self._policies():
                for one in policy.redacted:
                    self._found[ev.Ref(policy.workspace, one.id)] = one
            self._upto = last
        return self._found.get(ev.Ref(workspace, id))

    def _policies(self) -> Iterator[ev.Policy]:
        for row in self._store.tagged(codec.ERASING):
            policy = codec.decode(row.type, row.head, row.data)
            assert isinstance(policy, ev.Policy), policy
            yield policy
