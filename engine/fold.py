"""The belief and the registry of one log, folded from its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.blanking import blank
from doxa.engine.blocking import Blocking, note
from doxa.engine.bulk import Bulk
from doxa.engine.collector import uncollected
from doxa.engine.erasures import Erasures
from doxa.engine.errors import DamageError, DoxaError
from doxa.engine.gone import Gone
from doxa.engine.history import History
from doxa.engine.holes import Moved
from doxa.engine.later import complete
from doxa.engine.log import Row
from doxa.engine.numbers import Lists, Numbers
from doxa.engine.pages import Page
from doxa.engine.plain import Plain
from doxa.engine.registry import Registry
from doxa.engine.settle import apply
from doxa.engine.tables import Ids, Names, Objects

__all__ = ["Fold"]

FEW: Final = 100  # events that are taken in while the collector of cycles goes on
WAITING: Final = 2_000  # new events, in which most columns of a checkpoint may not be needed
MANY = 1_000_000  # events that may be new before all is made compact


class Fold:
    """The belief and the registry of one log, up to one position."""

    def __init__(
        self, payload: Callable[[int], ev.Event], erasures: Erasures | None = None
    ) -> None:
        """``payload`` reads the event at a position; ``erasures`` say what the log has lost."""
        self.belief = Belief()
        if erasures is not None:
            self.belief.graph.foreseen = erasures.find
            self.belief.graph.keyed = lambda: erasures.keyed
        self.registry = Registry(self.belief, payload)
        self.sealed = 0  # up to where all is compact
        self.chain: bytes | None = None  # the link of the last event, where it is known
        self.compacted: int | None = None  # the last compaction that it is made without
        registry = self.registry
        self._bulk = Bulk(self.belief, registry.take, registry.watches_claims, registry.depends_on)

    @property
    def position(self) -> int:
        """The last position taken in."""
        return self.belief.graph.position

    def without(self, gone: Gone | None) -> None:
        """Says what was compacted of the log that is to be taken in. A later compaction, met in the
        log, raises `Moved`: what it took out may be in here."""
        self.compacted, self.belief.graph.gone = 0 if gone is None else gone.at, gone

    def seal(self) -> None:
        """Makes all of it compact; no answer changes."""
        self.sealed = self.position
        for part in (self.belief.graph, self.belief, self.registry):
            seal_all(part)
        self.belief.graph.points.seal(self.belief.graph)

    def apply(
        self, first: int, recorded_at: int, events: Sequence[ev.Event], chain: bytes | None = None
    ) -> None:
        """Takes one commit in, whose last event has the link ``chain``."""
        self._complete(len(events))
        self.chain = chain
        self.registry.take(apply(self.belief, first, recorded_at, events))

    def note(
        self, first: int, recorded_at: int, blockings: Sequence[Blocking], chain: bytes
    ) -> None:
        """Takes in a commit that says only that claims were kept out, which changes no belief."""
        self.chain = chain
        note(self.belief.graph, first, recorded_at, blockings)

    def follow(self, pages: Iterable[Sequence[Row]]) -> None:
        """Takes stored rows in, commit by commit; a commit may go on from one page to the next."""
        rest: list[Row] = []
        with uncollected():
            for page in pages:
                rest += page
                if not page or rest[0].recorded_at == page[-1].recorded_at:
                    continue  # a commit that goes on
                last = len(rest) - 1
                while rest[last - 1].recorded_at == page[-1].recorded_at:
                    last -= 1
                self._follow(rest[:last])
                self.blank()
                self.tend()
                rest = rest[last:]
            self._follow(rest)
            self.blank()

    def follow_plain(self, rows: Sequence[Row], events: Sequence[Plain]) -> None:
        """Takes whole commits in as `follow` does, of plain events as they were stored."""
        if len(rows) < FEW:  # no time for the collector to be in the way
            self._follow(rows, Page.of(events))
            return
        with uncollected():
            self._follow(rows, Page.of(events))

    def tend(self) -> None:
        """Makes all of it compact once it has doubled."""
        if self.position - self.sealed >= max(MANY, self.sealed):
            self.seal()

    def _complete(self, coming: int) -> None:
        """Makes the columns that are still in a checkpoint alone, once it is for more than a few
        new events."""
        if self.position + coming - self.sealed >= WAITING:
            self._complete_all()

    def blank(self) -> None:
        """Takes the content of what was just erased out. Only for what is durable: captured views
        see it at once."""
        if self.belief.graph.unblanked:
            self._complete_all()
            blank(self.belief, self.belief.graph.blank_out())
            self.registry.forget_fingerprints()

    def _complete_all(self) -> None:
        belief, graph = self.belief, self.belief.graph
        for part in (belief, graph, graph.ids, belief.beliefs, belief.extents, self.registry):
            complete(part)

    def _follow(self, rows: Sequence[Row], page: Page | None = None) -> None:
        if not rows:
            return
        self._complete(len(rows))
        try:
            self._bulk.follow(rows, page)
            if self.compacted is not None and self.belief.graph.compacted_at > self.compacted:
                raise Moved("the log was compacted; read it again")
            self.chain = rows[-1].chain
        except (DoxaError, MemoryError):
            raise
        except Exception as error:  # it was judged before it was written, so it has changed
            at = self.position + 1
            raise DamageError(
                f"the commit that begins at {at} can't be taken in ({type(error).__name__}: "
                f"{error}); run verify, and restore the last backup"
            ) from error


def seal_all(part: object) -> None:
    """Seals the tables that an object holds."""
    for value in vars(part).values():
        if isinstance(value, Names | Ids | Objects | Numbers | Lists):
            value.seal()
        elif isinstance(value, History):
            seal_all(value)
