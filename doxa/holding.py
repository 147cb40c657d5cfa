"""A ledger that is opened when it is needed, once for all who need it, and anew once it failed."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from doxa.degrading import Trouble, is_trouble, trouble_of
from doxa.engine.errors import CallerError, DamageError, DoxaError, NotALedger, StorageError
from doxa.ledger import Ledger
from doxa.ledger import open as open_ledger
from doxa.places import LOG, OWN

__all__ = ["Failed", "Holder"]

_all: weakref.WeakSet[Holder] = weakref.WeakSet()
_BROKEN: Final = (DamageError, OSError, sqlite3.Error)


class Failed(Exception):
    """What came in the way, and the word for it; without one it is the host's own mistake."""

    def __init__(self, error: BaseException, word: Trouble | None) -> None:
        super().__init__(error, word)
        self.error, self.word = error, word


_Mark = tuple[int, int]  # which file a log is, whatever its name


class _Held:
    """An open ledger, how many use it, and which file its log was when it was opened."""

    def __init__(self, ledger: Ledger, mark: _Mark | None = None) -> None:
        self.ledger, self.users = ledger, 0
        self.folder = None if ledger.path is None else ledger.path.absolute()  # hosts change theirs
        self.mark = _mark(self.folder) if mark is None else mark

    @property
    def is_there(self) -> bool:
        """Whether its log is still where it was, and no other took its place: an open ledger can
        go on for long with what was deleted."""
        return self.mark is None or _mark(self.folder) == self.mark


class Holder:
    """Opens a ledger for those who use it. All that may wait is done in their threads."""

    def __init__(
        self,
        given: str | os.PathLike[str] | Ledger | Callable[[], Ledger],
        create: bool,
        options: dict[str, Any],
        pause: float,
    ) -> None:
        self.closed = False
        self.path: str | None = None
        self._own = not isinstance(given, Ledger)
        self._held = _Held(given) if isinstance(given, Ledger) else None
        self._pause = pause
        self._failure: tuple[float, BaseException, Trouble] | None = None
        self._old: list[_Held] = []
        self._kept: list[_Held] = []  # of a parent process: never closed here
        self.name = repr(given) if not callable(given) else getattr(given, "__name__", "a function")
        if isinstance(given, str | os.PathLike):
            path = self.path = os.fsdecode(given)
            if not path:
                raise CallerError("the path of the ledger is empty; give that of its folder")
            if "://" not in path and "\0" not in path:
                path = self.path = os.path.abspath(path)
            self._open: Callable[[], Any] = lambda: open_ledger(path, create=create, **options)
        elif isinstance(given, Ledger) or callable(given):
            if create or any(options.get(name) is not None for name in ("embedder", "keys")):
                raise CallerError("create, embedder and keys go with a folder; open it with them")
            self._open = given if callable(given) else _never
        else:
            raise CallerError(f"{given!r:.80} is no ledger; give a folder, or what opens a ledger")
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        self._opening, self._brief = threading.Lock(), threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._held is not None

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        """The ledger, open while it is used. Raises `Failed`."""
        with self._opening:
            held = self._taken() or self._opened()
        try:
            yield held.ledger
        finally:
            self._give_back(held)

    def _taken(self) -> _Held | None:
        """What is open, as used once more; nothing where it was removed or replaced."""
        with self._brief:  # so that nobody closes it between
            held = self._held
            if held is None:
                return None
            held.users += 1
        if held.is_there:
            return held
        if self._own:
            self._retire(held)
        self._give_back(held)
        if self._own:
            return None
        what = f"the ledger that was open at {held.folder} was removed or replaced"
        raise Failed(StorageError(f"{what}: open it anew, and guard that"), Trouble.MISSING)

    def _give_back(self, held: _Held) -> None:
        with self._brief:
            held.users -= 1
            last = not held.users and held in self._old
        if last:
            self._close_old()

    def _retire(self, held: _Held) -> None:
        """Has a ledger opened anew by who needs it next, and closed by who used it last."""
        with self._brief:
            if self._held is held:
                self._old.append(held)
                self._held = None

    def _opened(self) -> _Held:
        """The ledger, opened and used once."""
        self._close_old()
        if self.closed:
            raise Failed(CallerError(f"the guard of {self.name} is closed; make another"), None)
        if self._failure is not None and time.monotonic() - self._failure[0] < self._pause:
            raise Failed(self._failure[1].with_traceback(None), self._failure[2])
        mark = None if self.path is None else _mark(Path(self.path))
        try:
            ledger = self._open()
        except BaseException as raised:
            host = self.path is None and not isinstance(raised, DoxaError | OSError)
            if host or not is_trouble(raised):
                raise Failed(raised, None) from raised
            word = self._word(raised)
            self._failure = (time.monotonic(), raised, word)
            raise Failed(raised, word) from raised
        if not isinstance(ledger, Ledger):
            raise Failed(CallerError(f"what opens the ledger gave {ledger!r:.80}"), None)
        held = _Held(ledger, mark)
        held.users = 1
        with self._brief:
            self._held = held
        return held

    def _word(self, error: BaseException) -> Trouble:
        word = trouble_of(error)
        if isinstance(error, NotALedger) and self.path is not None:
            with suppress(OSError):
                return Trouble.MISSING if _nothing_at(Path(self.path)) else word
        return word

    def failed(self, error: BaseException, *, writing: bool = False) -> None:
        """Has a ledger that broke opened anew: after a pause, or at once where only a write failed.
        Where a disk refuses a write, and that is all, what is open can be read on, and opened it
        might not be. Waits for nothing."""
        broken = isinstance(error, _BROKEN)
        if isinstance(error, StorageError):
            broken = error.uncertain if writing else not error.locked
        if not broken or not self._own:
            return
        if (held := self._held) is not None:
            self._retire(held)
            if not writing:
                self._failure = (time.monotonic(), error, trouble_of(error))

    def drop(self) -> None:
        """Closes what was opened here and is not used."""
        with self._opening:
            with self._brief:
                if self._held is not None and self._own:
                    self._old.append(self._held)
                self._held = None
            self._close_old()

    def _close_old(self) -> None:
        with self._brief:
            idle = [held for held in self._old if not held.users]
            self._old = [held for held in self._old if held.users]
        for held in idle:
            with suppress(DoxaError, OSError, sqlite3.Error):  # it is given up for that
                held.ledger.close()

    def renew_after_fork(self) -> None:
        """In the child: what a thread of the parent was using is not touched again."""
        self._renew()
        used = [held for held in (self._held, *self._old) if held is not None and held.users]
        self._kept += used
        self._old = [held for held in self._old if not held.users]
        if self._held in used and self._own:
            self._held = None


def _never() -> Ledger:
    raise CallerError("the ledger that was given is closed")


def _mark(path: Path | None) -> _Mark | None:
    """Which file the log in a folder is; ``None`` where there is none."""
    if path is None:
        return None
    try:
        found = os.stat(path / LOG)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _nothing_at(path: Path) -> bool:
    """Whether there is no ledger at a path, and nothing else either."""
    if not path.exists():
        return True
    if not path.is_dir() or (path / LOG).exists():
        return False
    return {entry.name for entry in path.iterdir() if not entry.name.startswith(LOG)} <= OWN


def _renew_after_fork() -> None:
    for holder in tuple(_all):
        holder.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
