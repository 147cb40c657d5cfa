"""Cursors: where an answer goes on, at the view and for the question that it was given for.

A cursor is short text: 51 bytes in base64. It says of which log and view it is, of which request,
how much was given, and what of the order was owed to how much is used, most of it by digests; it
holds nothing of what anybody recorded or asked.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from doxa.engine import times
from doxa.engine.errors import CallerError, ViewMoved
from doxa.engine.receipt import canonical

__all__ = ["Said", "Warmth", "check_order", "cursor", "offset", "sealed"]

Warmth = Sequence[tuple[str, int]]  # ids, and how warm each is

_VERSION: Final = 2
_FORM: Final = struct.Struct(">BB6s4s4sqQ8sI3s")
_SEAL: Final = 4  # bytes behind it
_SIZE: Final = (_FORM.size + _SEAL) * 4 // 3  # characters
_LIVE, _SHARED = 1, 2


class Said(NamedTuple):
    """What a cursor says, in its order; ``flags`` are those of the view: live 1, shared 2."""

    version: int
    flags: int
    ledger: bytes
    workspace: bytes
    perspective: bytes
    valid_at: int
    revision: int
    request: bytes
    offset: int
    warmth: bytes = bytes(3)


def _digest(value: object, size: int) -> bytes:
    return blake2b(canonical(value), digest_size=size).digest()


def _of(
    ledger: str,
    view: Mapping[str, Any],
    request: Mapping[str, Any],
    offset: int,
    warmth: Warmth = (),
) -> Said:
    return Said(
        _VERSION,
        _LIVE * view["live"] | _SHARED * view["shared"],
        _digest(ledger, 6),
        _digest(view["workspace"], 4),
        _digest(view["perspective"], 4),
        times.instant(view["valid_at"]),
        view["revision"],
        _digest(request, 8),
        offset,
        _warm(warmth),
    )


def _warm(warmth: Warmth) -> bytes:
    return _digest([[*pair] for pair in warmth], 3) if warmth else bytes(3)


def cursor(
    ledger: str,
    view: Mapping[str, Any],
    request: Mapping[str, Any],
    offset: int,
    warmth: Warmth = (),
) -> str:
    """The cursor behind the first ``offset`` units of an answer. ``warmth`` is what of its order
    was owed to how much is used."""
    return sealed(_of(ledger, view, request, offset, warmth))


def check_order(text: str, warmth: Warmth) -> None:
    """Raises `ViewMoved` where what is equal otherwise comes in another order than it did for the
    cursor, since some of it is used more often by now."""
    if _read(text).warmth != _warm(warmth):
        raise ViewMoved(
            "what the cursor goes on with comes in another order by now: some of it is used more "
            "often; ask anew without a cursor"
        )


def sealed(said: Said) -> str:
    """The text that says so."""
    packed = _FORM.pack(*said)
    seal = blake2b(packed, digest_size=_SEAL).digest()
    return base64.urlsafe_b64encode(packed + seal).decode()


def offset(
    text: object,
    ledger: str,
    at: Mapping[str, Any],
    request: Mapping[str, Any],
    stays: Callable[[int], bool],
) -> int:
    """How many units were given before a cursor. ``at`` are the coordinates of the view;
    ``stays(revision)`` says whether all that it sees is as it was at a revision before.

    Raises `CallerError` for what is no cursor, or one of another ledger, view or request, and
    `ViewMoved` where it was of a live view that has moved.
    """
    said, here = _read(text), _of(ledger, at, request, 0)
    if said.ledger != here.ledger:
        raise CallerError("the cursor is of another ledger; ask there, or ask anew without one")
    for name in ("workspace", "perspective", "valid_at"):
        if getattr(said, name) != getattr(here, name):
            raise _other(name, at)
    if (said.flags ^ here.flags) & _SHARED:
        raise _other("shared", at)
    if not said.flags & _LIVE:
        if said.revision != here.revision:
            raise _other("revision", at)
    elif not (at["live"] and said.revision <= here.revision and stays(said.revision)):
        raise ViewMoved(
            f"the cursor is of revision {said.revision}, and the view of {here.revision}: what "
            "it goes on with is out of date; ask anew without a cursor"
        )
    if said.request != here.request:
        raise CallerError(
            "the cursor is of another request; give the same question, filters and settings, or "
            "ask anew without a cursor"
        )
    return said.offset


def _other(name: str, at: Mapping[str, Any]) -> CallerError:
    return CallerError(
        f"the cursor is of a view with another {name} than this one's, {at[name]!r:.80}; a cursor "
        "goes on with its own view only"
    )


def _read(text: object) -> Said:
    wrong = CallerError(f"{text!r:.80} is no cursor; give that of the answer before, as it was")
    if not isinstance(text, str) or len(text) != _SIZE:
        raise wrong
    try:
        raw = base64.b64decode(text.encode("ascii"), b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise wrong from None
    said = Said(*_FORM.unpack(raw[:-_SEAL]))
    if said.version != _VERSION or said.flags > _LIVE | _SHARED or text != sealed(said):
        raise wrong
    return said
