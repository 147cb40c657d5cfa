"""Errors, by whose problem they are: the caller's, a conflict, or damage to what is stored.

Every error has a stable ``code`` and a message that gives the values and the next step.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "CallerError",
    "ClockError",
    "Compacted",
    "ConflictError",
    "Contested",
    "CorrectionRing",
    "DamageError",
    "DoxaError",
    "DuplicateId",
    "Erased",
    "InvalidEvent",
    "InvalidSignature",
    "InvalidTime",
    "KeyNeeded",
    "NewerFormat",
    "NotALedger",
    "NotHeld",
    "PayloadTooLarge",
    "RevisionConflict",
    "SeveralHeld",
    "StorageError",
    "UnknownTarget",
    "ValueHeld",
    "ValueRejected",
    "ViewMoved",
    "WasErased",
    "WrongKeys",
    "workspace_in_words",
]

LONGEST: Final = 2_000  # characters of a message


class DoxaError(Exception):
    """The root of all errors raised by doxa.

    A message that repeats an overlong value is cut in its midst: what it says and advises stays.
    One that is a function, with its arguments behind it, is put into words when somebody reads it:
    an answer that is often "none" should not cost its explanation.
    """

    code = "doxa"

    def __init__(self, message: object = "", *rest: object) -> None:
        super().__init__(_cut(message), *rest)

    def __str__(self) -> str:
        if self.args:
            first, *rest = self.args
            self.args = (_cut(first(*rest)),) if callable(first) else (_cut(first), *rest)
        return super().__str__()

    def __repr__(self) -> str:
        str(self)
        return super().__repr__()

    def __reduce__(self) -> str | tuple[Any, ...]:
        str(self)
        return super().__reduce__()


def _cut(message: object) -> object:
    if isinstance(message, str) and len(message) > LONGEST:
        return f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 + 3 :]}"
    return message


class CallerError(DoxaError):
    """The request can't be carried out as it was put; nothing was written."""

    code = "caller"


class ConflictError(DoxaError):
    """The request was sound, but something else came first; look again and repeat it."""

    code = "conflict"


class DamageError(DoxaError):
    """What is stored can't be read, or is not what was written."""

    code = "damage"


class InvalidTime(CallerError):
    """An instant or interval that can't be used: naive, empty, inverted, or not a time at all."""

    code = "invalid_time"


class InvalidEvent(CallerError):
    """An event whose fields can't be accepted."""

    code = "invalid_event"


class InvalidSignature(CallerError):
    """A signed head that is not what was signed, or was signed with another key."""

    code = "invalid_signature"


class WrongKeys(CallerError):
    """An encrypted ledger without its key file, with another one's, or with one that lacks a key;
    or a key file for a ledger that is not encrypted."""

    code = "wrong_keys"


class KeyNeeded(CallerError):
    """A key is not destroyed while content that was not purged is encrypted with it; ``ids`` are
    those of the events."""

    code = "key_needed"
    ids: tuple[str, ...] = ()


class PayloadTooLarge(InvalidEvent):
    """An event's payload is over the limit of 1 MiB."""

    code = "payload_too_large"


class UnknownTarget(CallerError):
    """An id that is not in the log, or not known at the view; ``source`` is the source that may be
    meant, where there is one."""

    code = "unknown_target"
    source: str | None = None

    @classmethod
    def meaning(cls, message: str, source: str | None) -> UnknownTarget:
        """The error, with the source that may be meant."""
        error = cls(message)
        error.source = source
        return error


class CorrectionRing(CallerError):
    """A correction that would close a ring, in which no claim would stand."""

    code = "correction_ring"


class NotHeld(CallerError):
    """No value is held at the view."""

    code = "not_held"
    __init__ = Exception.__init__  # raised as often as not, so in no more steps than it needs


class SeveralHeld(CallerError):
    """Several distinct values are held at the view; ask for ``values``."""

    code = "several_held"
    __init__ = Exception.__init__


class Contested(SeveralHeld):
    """A held value is contested at the view; ask for ``values`` and ``why``."""

    code = "contested"


class Erased(CallerError):
    """The answer, or a part of it, was erased, and nobody can give it any more."""

    code = "erased"


class Compacted(CallerError):
    """The answer lies in a compacted stretch of the log, and nobody can give it any more.

    ``count`` says how many events the stretches hold in which it lies, ``digest`` is the SHA-256
    that their record has, in hex. ``claim`` is whether what was asked for by its id was a claim.
    """

    code = "compacted"

    def __init__(
        self, message: object = "", count: int = 0, digest: str = "", claim: bool = False
    ) -> None:
        super().__init__(message, count, digest, claim)
        self.count, self.digest, self.claim = count, digest, claim

    def __str__(self) -> str:
        return str(self.args[0])


class NotALedger(CallerError):
    """The path holds something, but not a ledger."""

    code = "not_a_ledger"


class NewerFormat(CallerError):
    """Written by a newer doxa than this one; upgrade to read it."""

    code = "newer_format"


class StorageError(DoxaError):
    """The disk refused: full, read-only, or locked. Nothing half-written remains.

    ``locked``: another writer kept the log. ``uncertain``: it is open whether what was to be
    recorded is in the log; else nothing was written.
    """

    code = "storage"
    locked: bool = False
    uncertain: bool = False

    @classmethod
    def told(cls, message: str, *, locked: bool = False, uncertain: bool = False) -> StorageError:
        """The error of one of these kinds."""
        error = cls(message)
        error.locked, error.uncertain = locked, uncertain
        return error


class DuplicateId(ConflictError):
    """The id is in the log already, with other content."""

    code = "duplicate_id"


class WasErased(DuplicateId):
    """The id is that of an erased event, which does not come back."""

    code = "was_erased"


class RevisionConflict(ConflictError):
    """The workspace has moved past the revision that the append expected."""

    code = "revision_conflict"


class ValueRejected(ConflictError):
    """The object or text of a claim is a value that is rejected; the claim was kept out.

    ``claim`` and ``workspace`` are those of the claim, ``rejections`` the ids of what it ran into,
    ``audits`` the ids of the events that say so in the log. None of them holds the value.
    """

    code = "rejected"
    claim: str = ""
    workspace: str = ""
    rejections: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()


class ValueHeld(ConflictError):
    """A value can't be rejected, since claims that are held say it; ``claims`` are their ids."""

    code = "value_held"
    claims: tuple[str, ...] = ()


class ClockError(ConflictError):
    """A stated ``recorded_at`` is not later than the head's."""

    code = "recorded_at_not_later"


class ViewMoved(ConflictError):
    """The truth moved since the view was captured; capture a new one and repeat."""

    code = "view_moved"


def workspace_in_words(name: str) -> str:
    """A workspace as messages name it.

    >>> workspace_in_words(""), workspace_in_words("w")
    ('the shared workspace', "workspace 'w'")
    """
    return f"workspace {name!r}" if name else "the shared workspace"
