"""The belief and the registry of one log, folded from its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.errors import DamageError, DoxaError
from doxa.engine.log import Row
from doxa.engine.registry import Registry
from doxa.engine.settle import apply

__all__ = ["Fold"]


class Fold:
    """The belief and the registry of one log, up to one position."""

    def __init__(self, payload: Callable[[int], ev.Event]) -> None:
        self.belief = Belief()
        self.registry = Registry(self.belief, payload)

    @property
    def position(self) -> int:
        """The last position taken in."""
        return self.belief.graph.position

    def apply(self, first: int, recorded_at: int, events: Sequence[ev.Event]) -> None:
        """Takes one commit in."""
        self.registry.take(apply(self.belief, first, recorded_at, events))

    def follow(self, rows: Iterable[Row]) -> None:
        """Takes stored rows in, commit by commit."""
        for recorded_at, commit in groupby(rows, key=lambda row: row.recorded_at):
            taken = list(commit)
            decoded = [codec.decode(row.type, row.head, row.data) for row in taken]
            try:
                self.apply(taken[0].position, recorded_at, decoded)
            except (DoxaError, MemoryError):
                raise
            except Exception as error:  # it was judged before it was written, so it has changed
                raise DamageError(
                    f"the commit at {taken[0].position} to {taken[-1].position} can't be taken in "
                    f"({type(error).__name__}: {error}); run verify, and restore the last backup"
                ) from error
