"""What a guarded ledger gives to a host: context that may be missing, writes that may have failed,
and the words for why."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

from doxa.engine.errors import (
    CallerError,
    Compacted,
    ConflictError,
    DamageError,
    DoxaError,
    Erased,
    NewerFormat,
    NotALedger,
    StorageError,
    ViewMoved,
    WrongKeys,
)
from doxa.engine.outcomes import Gap, Unavailable

if TYPE_CHECKING:
    from doxa.engine.block import Block
    from doxa.engine.envelope import Recalled

__all__ = ["Context", "Reason", "Trouble", "Written", "is_trouble", "said", "trouble_of"]

Source = Literal["ledger", "local-only", "none"]


class Trouble(StrEnum):
    """Why a ledger can't be used just now."""

    MISSING = "missing"
    NOT_A_LEDGER = "not_a_ledger"
    NOT_READY = "not_ready"
    LOCKED = "locked"
    SLOW = "slow"
    STUCK = "stuck"
    VIEW_MOVED = "view_moved"
    REFUSED = "refused"
    STORAGE = "storage"
    DAMAGED = "damaged"
    NEWER_FORMAT = "newer_format"
    WRONG_KEYS = "wrong_keys"
    ERASED = "erased"
    COMPACTED = "compacted"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"
    UNEXPECTED = "unexpected"


Reason = Trouble | Gap

_TROUBLES: Final[tuple[tuple[type[BaseException], Trouble], ...]] = (
    (ViewMoved, Trouble.VIEW_MOVED),
    (ConflictError, Trouble.REFUSED),
    (DamageError, Trouble.DAMAGED),
    (NotALedger, Trouble.NOT_A_LEDGER),
    (NewerFormat, Trouble.NEWER_FORMAT),
    (WrongKeys, Trouble.WRONG_KEYS),
    (Erased, Trouble.ERASED),
    (Compacted, Trouble.COMPACTED),
    (Unavailable, Trouble.DEPENDENCY_UNAVAILABLE),
    (StorageError, Trouble.STORAGE),
    (OSError, Trouble.STORAGE),
    (sqlite3.Error, Trouble.STORAGE),
)


def is_trouble(error: BaseException) -> bool:
    """Whether an error is the ledger's, and not a mistake of whoever called."""
    if isinstance(error, CallerError):
        return isinstance(error, NotALedger | NewerFormat | WrongKeys | Erased | Compacted)
    return True  # a library that ends the process, or cancels a task, does so in a thread of ours


def trouble_of(error: BaseException) -> Trouble:
    """The word for an error of the ledger."""
    if isinstance(error, StorageError) and error.locked:
        return Trouble.LOCKED
    found = (word for kind, word in _TROUBLES if isinstance(error, kind))
    return next(found, Trouble.UNEXPECTED)


def said(error: BaseException) -> str:
    """An error in a sentence: one that is not our own with its kind, which may be all it says."""
    words = str(error)
    if isinstance(error, DoxaError) and words:
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


@dataclass(frozen=True, slots=True)
class Context:
    """What a host may put before its reader: a ``text``, perhaps empty.

    ``degraded`` is whether the ledger could not be asked, or refused; ``reason`` is the word for
    why, ``detail`` says it in a sentence, ``error`` is what was raised. ``source`` is where the
    text is from: the ``ledger``, the host's own fallback (``local-only``), or ``none``. ``block``
    and ``answer`` are what the ledger gave.
    """

    text: str
    source: Source
    degraded: bool = False
    reason: Reason | None = None
    detail: str = ""
    block: Block | None = None
    answer: Recalled | None = None
    error: BaseException | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an explicit write: true only where it is recorded.

    ``state`` is ``recorded``, ``failed`` (nothing was recorded), ``refused`` (the ledger said no,
    and nothing was recorded) or ``unknown`` (it may be recorded or not). ``id`` is that of the
    event: with it the call can be repeated, and what is there already is not recorded twice.
    ``value`` is what the ledger's call returned.
    """

    id: str
    state: Literal["recorded", "failed", "refused", "unknown"]
    reason: Reason | str | None = None
    detail: str = ""
    value: Any = None
    error: BaseException | None = None

    def __bool__(self) -> bool:
        return self.ok

    @property
    def ok(self) -> bool:
        """Whether it is recorded."""
        return self.state == "recorded"

    def require(self) -> str:
        """The id of what is recorded; raises what went wrong, or `StorageError`, otherwise."""
        if self.ok:
            return self.id
        if isinstance(self.error, DoxaError):
            raise self.error
        raise StorageError.told(self.detail, uncertain=self.state == "unknown") from self.error
