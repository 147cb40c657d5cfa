"""When a fold is made compact, and when it is written down for the next opening."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from doxa.engine import checkpoint
from doxa.engine import events as ev
from doxa.engine.codec import ERASING
from doxa.engine.erasures import Erasures
from doxa.engine.errors import StorageError
from doxa.engine.fold import Fold
from doxa.engine.sealing import Cipher
from doxa.engine.store import LogStore

__all__ = ["Upkeep"]

# A checkpoint is written when so many events are new, or this part of those before: at closing, so
# that the next opening has little to read; at opening, when they have just been read; while the
# ledger is open, rarely.
FEW = 1_000
CLOSING_PART = 1_024
PART = 256
MANY = 100_000
LARGE_PART = 2


class Upkeep:
    """The checkpoint of one log; in memory, or in a folder that can't be written, folds are made
    compact all the same."""

    def __init__(self, store: LogStore, path: Path | None, cipher: Cipher | None = None) -> None:
        """``cipher`` encrypts the checkpoint."""
        self.store, self.path, self.cipher = store, path, cipher
        self.erasures = Erasures(store)
        self.position = 0  # up to where the fold was written down last
        self.problem: str | None = None  # why the last checkpoint could not be written
        self._misfit = False  # whether what lies there is of no use

    def opened(self, payload: Callable[[int], ev.Event]) -> Fold:
        """The fold to begin with: that of the checkpoint, where there is one that fits."""
        fold, gone = None, self.store.holes.gone
        if self.path is not None:
            store = self.store
            fold = checkpoint.load(
                self.path, store.ledger_id, store.clean_link_at, payload, self.erasures, self.cipher
            )
            self._misfit = fold is None
            if self._misfit and self.store.last_tagged(ERASING):
                with contextlib.suppress(OSError):  # it may be of before, by a process killed since
                    self.discard()
        found = Fold(payload, self.erasures) if fold is None else fold
        found.without(gone)
        self.position = found.position
        return found

    def tend(self, fold: Fold, *, pausing: bool = False, closing: bool = False) -> None:
        """Makes a fold compact, and writes it down, where it is worth it; sooner when ``pausing``,
        at the beginning of work, and still sooner when ``closing``, at its end. Nobody may change
        the fold meanwhile, or have changed it beyond the log."""
        if self.path is None:
            fold.tend()
            return
        fresh = fold.position - self.position
        few, part = (FEW, PART) if pausing else (MANY, LARGE_PART)
        if closing:
            few, part = FEW, CLOSING_PART
        if fresh >= max(few, self.position // part):
            self.keep(fold)

    def discard(self) -> None:
        """Removes the checkpoint, and what killed processes left of one. Raises `OSError`."""
        self.position = 0
        for left in () if self.path is None else self.path.parent.glob(f"{self.path.name}*"):
            left.unlink(missing_ok=True)

    def keep(self, fold: Fold) -> None:
        """Writes a fold down, which makes it compact."""
        if self.path is None or fold.chain is None:
            return
        if self.store.clean_link_at(fold.position) is None:  # it is to be cleared first
            fold.seal()
            return
        self.position = fold.position
        before = checkpoint.bound(self.path, self.cipher)
        if (
            before is not None
            and not self._misfit
            and before.ledger == self.store.ledger_id
            and before.position >= fold.position
        ):
            fold.seal()
            return
        to = checkpoint.Bound(
            self.store.ledger_id,
            fold.position,
            fold.belief.graph.recorded_at,
            fold.chain.hex(),
        )
        try:
            checkpoint.save(self.path, fold, to, self.cipher)
            if self.store.clean_link_at(fold.position) is None:
                self.discard()  # something was erased while it was written
            self.problem, self._misfit = None, False
        except (OSError, StorageError) as error:  # the ledger is whole without it; stats tells
            self.problem = f"{self.path}: {getattr(error, 'strerror', None) or error}"
            fold.seal()
