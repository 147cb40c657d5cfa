"""Cursors: where an answer goes on, at the view and for the question that it was given for.

A cursor is text. It says of which log and view it is, of which request, and how much was given; it
holds nothing of what anybody recorded.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from doxa.engine.errors import CallerError, ViewMoved
from doxa.engine.receipt import canonical, digest

__all__ = ["cursor", "offset"]

_VERSION: Final = 1
_WHERE: Final = ("workspace", "shared", "perspective", "valid_at")
LIMIT: Final = 4_096  # characters


def cursor(ledger: str, view: Mapping[str, Any], request: Mapping[str, Any], offset: int) -> str:
    """The cursor behind the first ``offset`` units of an answer."""
    said = {
        "version": _VERSION,
        "ledger": ledger,
        "view": dict(view),
        "request": digest(request),
        "offset": offset,
    }
    sealed = canonical({**said, "seal": digest(said)})
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


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
    said = _read(text)
    if said["ledger"] != ledger:
        raise CallerError("the cursor is of another ledger; ask there, or ask anew without one")
    of = said["view"]
    for name in _WHERE:
        if of[name] != at[name]:
            raise _other(name, of, at)
    if not of["live"]:
        if of["revision"] != at["revision"]:
            raise _other("revision", of, at)
    elif not (at["live"] and of["revision"] <= at["revision"] and stays(of["revision"])):
        raise ViewMoved(
            f"the cursor is of revision {of['revision']}, and the view of {at['revision']}: what "
            "it goes on with is out of date; ask anew without a cursor"
        )
    if said["request"] != digest(request):
        raise CallerError(
            "the cursor is of another request; give the same question, filters and settings, or "
            "ask anew without a cursor"
        )
    found: int = said["offset"]
    return found


def _other(name: str, of: Mapping[str, Any], at: Mapping[str, Any]) -> CallerError:
    return CallerError(
        f"the cursor is of a view with {name} {of[name]!r:.80}, this one has {at[name]!r:.80}; a "
        "cursor goes on with its own view only"
    )


def _read(text: object) -> dict[str, Any]:
    wrong = CallerError(f"{text!r:.80} is no cursor; give that of the answer before, as it was")
    if not isinstance(text, str) or len(text) > LIMIT:
        raise wrong
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        said = json.loads(raw)
        seal = said.pop("seal")
        sound = said["version"] == _VERSION and seal == digest(said)
        sound = sound and type(said["offset"]) is int and said["offset"] >= 0
        sound = sound and isinstance(said["view"], dict) and {"ledger", "request"} <= said.keys()
        sound = sound and type(said["view"]["revision"]) is int
        if sound and said["view"].keys() >= {*_WHERE, "live"}:
            return dict(said)
    except (ValueError, binascii.Error, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong from None
    raise wrong
