"""Whose content an event is: under whose keys it is encrypted.

A claim's is its subject's. That of a support, correction, withdrawal or policy is the subjects'
whose claims it names, that of a citation or summary theirs whose claims it declares. A policy that
names no claim is the ledger's; any other event that names none has a key of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import islice
from typing import Final

from doxa.engine import events as ev
from doxa.engine.errors import DamageError, WrongKeys
from doxa.engine.fold import Fold
from doxa.engine.graph import CLAIM, NONE, SUPPORT, Graph, entity
from doxa.engine.keyfile import Owner
from doxa.engine.log import NewEvent
from doxa.engine.plain import Plain
from doxa.engine.sealing import LEDGER, MARK, Cipher, Whose, key_ids
from doxa.engine.transaction import Transaction

__all__ = ["EVENT", "SUBJECT", "as_stored", "whose"]

SUBJECT, EVENT = "subject", "event"  # sorts of owners

Named = Owner | bytes
Commits = list[tuple[list[NewEvent], int | None]]

_DATA: Final = "SELECT data FROM log WHERE position = ?"


def as_stored(
    cipher: Cipher | None,
    fold: Fold,
    transaction: Transaction,
    commits: Commits,
    events: Sequence[ev.Event | Plain],
) -> Commits:
    """Commits as they are written: encrypted, where the ledger is. ``events`` are theirs, in order.
    Raises `StorageError` where keys can't be made."""
    if cipher is None:
        if transaction.head.position == 0 and transaction.select(MARK):
            raise WrongKeys(
                "the ledger was made an encrypted one after it was opened; nothing was written: "
                "open it again, with its key file"
            )
        return commits
    flat = [new for commit, _ in commits for new in commit]
    cipher.keys.follow()

    def stored(position: int) -> bytes | None:
        content: bytes | None = transaction.select(_DATA, (position,))[0][0]
        return content

    found = whose(fold.belief.graph, events, stored, cipher.keys.destroyed)
    sealed = iter(cipher.sealed(flat, found))
    return [([*islice(sealed, len(commit))], at) for commit, at in commits]


def whose(
    graph: Graph,
    events: Sequence[ev.Event | Plain],
    stored: Callable[[int], bytes | None],
    destroyed: Set[bytes] = frozenset(),
) -> list[Whose]:
    """Whose each of some events is, that are about to be recorded together. ``stored`` gives the
    content at a position of the log, as it is stored; ``destroyed`` are ids of keys that nobody has
    any more. O(references)."""
    return _Finding(graph, events, stored, destroyed).all()


class _Finding:
    def __init__(
        self,
        graph: Graph,
        events: Sequence[ev.Event | Plain],
        stored: Callable[[int], bytes | None],
        destroyed: Set[bytes],
    ) -> None:
        self.graph, self.events = graph, events
        self.stored, self.destroyed = stored, destroyed
        self.coming = {ev.Ref(event.workspace, event.id): event for event in events}
        self.found: dict[ev.Ref, list[Named]] = {}

    def all(self) -> list[Whose]:
        return [self._of(event) or [_own(event)] for event in self.events]

    def _of(self, event: ev.Event | Plain) -> list[Named]:
        if isinstance(event, Plain):
            if event.claim is None:
                return [(SUBJECT, event.workspace, event.content["subject"])]
            return self._named(ev.Ref(event.workspace, event.claim))
        if isinstance(event, ev.Claim) and not event.erased:
            return [(SUBJECT, event.workspace, event.subject)]
        found: dict[Named, None] = {}
        for ref in _references(event):
            found.update(dict.fromkeys(self._named(ref)))
        if isinstance(event, ev.Artefact) and event.subjects:
            found.update(((SUBJECT, event.workspace, name), None) for name in event.subjects)
        return [*found]

    def _named(self, ref: ev.Ref) -> list[Named]:
        """Whose an event is that another names."""
        known = self.found.get(ref)
        if known is not None:
            return known
        self.found[ref] = []  # of events that name one another, until it is known
        coming = self.coming.get(ref)
        if coming is None and ref.id.endswith(ev.CARRIED):
            coming = self.coming.get(ev.Ref(ref.workspace, ref.id[: -len(ev.CARRIED)]))
        found = self._recorded(self.graph.find(*ref)) if coming is None else self._of(coming)
        self.found[ref] = found
        return found

    def _recorded(self, number: int) -> list[Named]:
        """Whose an event of the log is; of what is erased nobody knows."""
        graph = self.graph
        if number == NONE:
            return []
        if number & 7 == SUPPORT:
            number = entity(CLAIM, graph.s_claim[number >> 3])
        if number & 7 == CLAIM and number not in graph.erased:
            texts, row = graph.names.texts, number >> 3
            subject = texts[graph.c_subject[row]]
            return [(SUBJECT, texts[graph.c_ws[row]], subject)] if subject else []
        position = graph.position_of(number)
        try:
            return [id for id in key_ids(self.stored(position)) if id not in self.destroyed]
        except ValueError as error:
            raise DamageError(
                f"the content of event {position} can't be decrypted: {error}; run verify, and "
                "restore the last backup"
            ) from None


_FIELDS: Final = {
    "support": ("claim",),
    "correction": ("corrects", "by", "candidates", "unresolved"),
    "withdrawal": ("target",),
    "citation": ("facts", "supports"),
    "summary": ("facts", "supports", "citations"),
    "policy": ("contradicts", "verified", "pinned", "scored", "expires", "of"),
}  # where an event names what its content is about


def _references(event: ev.Event) -> Iterator[ev.Ref]:
    for field in _FIELDS.get(event.TYPE, ()):
        yield from map(event.key, ev.named(getattr(event, field, None)))


def _own(event: ev.Event | Plain) -> Named:
    if isinstance(event, ev.Policy):
        return LEDGER
    return (EVENT, event.workspace, event.id)
