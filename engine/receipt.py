"""What a caller keeps of an assembly, so that it can be made again and compared, byte by byte.

A receipt is plain JSON: the view, the whole request, what renders and counts, what was decided, and
digests. It is read without trusting it: whoever holds it may have changed it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

from doxa.engine import times
from doxa.engine.candidates import Candidate, Given, Unread, from_json, surrogate, to_json
from doxa.engine.errors import CallerError, InvalidTime, NewerFormat
from doxa.engine.rendering import CHARACTERS
from doxa.engine.view import TruthView

__all__ = ["LINK", "Receipt", "Replay", "as_receipt", "digest", "given", "make", "view_json"]

VERSION: Final = 1
_HEX = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """An assembly to be made again: `Ledger.replay` takes it, and `as_dict` is its JSON object.

    ``view`` has the coordinates, ``request`` what was asked (query, candidates as they were read,
    budget, top_k), ``decisions`` what was printed and what left out, ``digests`` the SHA-256 of the
    text, the request, the decisions and the view.
    """

    version: int
    renderer: str
    counter: str
    view: Mapping[str, Any]
    request: Mapping[str, Any]
    decisions: Mapping[str, Any]
    digests: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """The receipt as a JSON object."""
        return {
            "receipt": self.version,
            "renderer": self.renderer,
            "counter": self.counter,
            "view": dict(self.view),
            "request": dict(self.request),
            "decisions": dict(self.decisions),
            "digests": dict(self.digests),
        }

    @property
    def candidates(self) -> list[Candidate | Unread] | None:
        """The candidates of the request, ``None`` where it was for the registered summaries."""
        read = given(self)
        if read is None:
            return None
        return [one if isinstance(one, Unread) else Candidate(*one) for one in read]


def given(receipt: Receipt) -> list[Given | Unread] | None:
    """The candidates of a receipt's request, as they were read."""
    candidates = receipt.request["candidates"]
    return None if candidates is None else [from_json(one) for one in candidates]


@dataclass(frozen=True, slots=True)
class Replay:
    """A receipt's request, made again: whether everything is the ``same``, and if not, where not.

    ``differences`` says in words what differs; ``erased`` has the ids of the recorded texts that it
    needed and that are erased from the log.
    """

    same: bool
    text: str
    differences: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()

    def __str__(self) -> str:
        erased = [f"erased: {', '.join(self.erased)}"] if self.erased else []
        return "\n".join(["the same" if self.same else "not the same", *self.differences, *erased])

    def as_dict(self) -> dict[str, Any]:
        """The replay as a JSON object."""
        return {
            "same": self.same,
            "text": self.text,
            "differences": list(self.differences),
            "erased": list(self.erased),
        }


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,
)
_CAREFUL: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def canonical(value: object) -> bytes:
    """A JSON value, known to be one, as bytes, the same for equal values."""
    return _ENCODER.encode(value).encode()


def digest(value: object) -> str:
    """The SHA-256 of a text, or of a JSON value's canonical bytes."""
    return sha256(value.encode() if isinstance(value, str) else canonical(value)).hexdigest()


def view_json(view: TruthView) -> dict[str, Any]:
    """The coordinates of a view; the times of its positions tell one log from another."""
    return {
        "workspace": view.workspace,
        "shared": view.shared,
        "perspective": view.perspective,
        "valid_at": times.iso(view.v),
        "revision": view.k,
        "horizon": view.horizon,
        "live": view.live,
        **_recorded(view),
    }


def coordinates(view: TruthView) -> dict[str, Any]:
    """The coordinates of a view, without how far the log went when it was captured: equal for
    equal questions, whenever they are asked."""
    return {
        name: value for name, value in view_json(view).items() if not name.startswith("horizon")
    }


def _recorded(view: TruthView) -> dict[str, str | None]:
    graph = view.graph
    return {
        "known_at": times.iso(graph.recorded_of(view.k)) if view.k else None,
        "horizon_at": times.iso(graph.recorded_of(view.horizon)) if view.horizon else None,
    }


def make(
    view: Mapping[str, Any],
    request: Mapping[str, Any],
    decisions: Mapping[str, Any],
    *,
    renderer: str,
    counter: str,
    text: str,
) -> Receipt:
    """The receipt of an assembly at a view of these coordinates."""
    return Receipt(
        version=VERSION,
        renderer=renderer,
        counter=counter,
        view=view,
        request=request,
        decisions=decisions,
        digests={
            "text": digest(text),
            "request": digest(request),
            "decisions": digest(decisions),
            "view": digest(view),
        },
    )


def request_json(
    query: str,
    candidates: Sequence[Given | Unread] | None,
    budget: int,
    top_k: int | None,
    frame: str | None = None,
    archived: bool = False,
) -> dict[str, Any]:
    """The whole request; candidates in the order of their ids. A frame is there where it was, and
    ``archived`` where that was asked for."""
    found: dict[str, Any] = {
        "query": query,
        "candidates": None if candidates is None else [to_json(one) for one in candidates],
        "budget": budget,
        "top_k": top_k,
    }
    if archived:
        found["archived"] = True
    return found if frame is None else {**found, "frame": frame}


def same_log(receipt: Receipt, view: TruthView) -> None:
    """Raises `CallerError` where the view is not of the log that the receipt is of."""
    for name, at in _recorded(view).items():
        if receipt.view[name] != at:
            what = "revision" if name == "known_at" else "horizon"
            raise CallerError(
                f"the receipt is of another ledger: its {what} {receipt.view[what]} was recorded "
                f"at {receipt.view[name]}, this ledger's at {at}"
            )


# ------------------------------------------------------------ reading one


def as_receipt(given: object) -> Receipt:
    """The receipt that a mapping (or the block's own `Receipt`) is, checked in every part.

    Raises `NewerFormat` for one of a later version, and `CallerError` for what is none, or was
    changed since it was made.
    """
    fields = given.as_dict() if isinstance(given, Receipt) else given
    if not isinstance(fields, Mapping) or "receipt" not in fields:
        raise CallerError(
            f"this is of type {type(given).__name__} and no receipt; give block.receipt, or "
            "the object that its as_dict returned"
        )
    version = fields["receipt"]
    if not _is_int(version) or version < 1:
        raise CallerError(f"the receipt's version is {version!r:.60}; it is damaged")
    if version > VERSION:
        raise NewerFormat(
            f"the receipt is of version {version}; this doxa reads versions up to {VERSION}: "
            "upgrade doxa"
        )
    try:
        plain = json.loads(_CAREFUL.encode(dict(fields)).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise CallerError(f"the receipt is not plain JSON: {error}") from None
    _keys("receipt", plain, _RECEIPT)
    receipt = Receipt(version, *(plain[name] for name in _RECEIPT[1:]))
    for name, value in (("renderer", receipt.renderer), ("counter", receipt.counter)):
        _check(name, value, isinstance(value, str))
    _check("decisions", receipt.decisions, isinstance(receipt.decisions, dict))
    _check_view(receipt.view)
    _check_request(receipt.request)
    _keys("digests", receipt.digests, ("text", "request", "decisions", "view"))
    for name, value in receipt.digests.items():
        _check(f"digests.{name}", value, isinstance(value, str) and bool(_HEX.fullmatch(value)))
    for name in ("request", "decisions", "view"):
        part = getattr(receipt, name)
        if digest(part) != receipt.digests[name]:
            raise CallerError(
                f"the receipt's {name} is not what its digest is of: it was changed since it was "
                "made; give the receipt as the block had it"
            )
    return receipt


_RECEIPT: Final = (
    "receipt", "renderer", "counter", "view", "request", "decisions", "digests",
)  # fmt: skip
LINK: Final = "horizon_chain"  # of receipts whose ledger knew it
_VIEW: Final = (
    "workspace", "shared", "perspective", "valid_at", "revision", "horizon", "live", "known_at",
    "horizon_at",
)  # fmt: skip


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(name: str, value: object, sound: bool) -> None:
    if not sound:
        raise CallerError(f"the receipt's {name} is {value!r:.60}: it is damaged, or no receipt")


def _keys(name: str, value: object, keys: tuple[str, ...]) -> None:
    _check(name, value, isinstance(value, dict))
    assert isinstance(value, dict)
    if set(value) != set(keys):
        raise CallerError(
            f"the receipt's {name} has the keys {', '.join(sorted(value))!r:.200}; "
            f"they are {', '.join(keys)}"
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and surrogate(value) is None


def _check_view(view: Mapping[str, Any]) -> None:
    linked = (LINK,) if isinstance(view, dict) and LINK in view else ()
    _keys("view", view, (*_VIEW, *linked))
    for name in linked:
        chain = view[name]
        _check(f"view.{name}", chain, isinstance(chain, str) and bool(_HEX.fullmatch(chain)))
    _check("view.workspace", view["workspace"], _is_text(view["workspace"]))
    perspective = view["perspective"]
    _check("view.perspective", perspective, perspective is None or _is_text(perspective))
    for name in ("shared", "live"):
        _check(f"view.{name}", view[name], isinstance(view[name], bool))
    for name in ("revision", "horizon"):
        _check(f"view.{name}", view[name], _is_int(view[name]) and view[name] >= 0)
    _check("view.horizon", view["horizon"], view["horizon"] >= view["revision"])
    for name, position in (("valid_at", 1), ("known_at", "revision"), ("horizon_at", "horizon")):
        needed = position == 1 or view[str(position)] > 0
        if needed or view[name] is not None:
            try:
                times.instant(view[name], f"the receipt's view.{name}")
            except InvalidTime as error:
                raise CallerError(str(error)) from None


def _check_request(request: Mapping[str, Any]) -> None:
    there = request if isinstance(request, dict) else {}
    more = [name for name in ("frame", "archived") if name in there]
    _keys("request", request, ("query", "candidates", "budget", "top_k", *more))
    frame, archived = request.get("frame", ""), request.get("archived", True)
    _check("request.frame", frame, _is_text(frame))
    _check("request.archived", archived, archived is True)
    _check("request.query", request["query"], _is_text(request["query"]))
    _check(
        "request.budget", request["budget"], _is_int(request["budget"]) and request["budget"] >= 0
    )
    top_k = request["top_k"]
    _check("request.top_k", top_k, top_k is None or (_is_int(top_k) and top_k >= 1))
    candidates = request["candidates"]
    _check("request.candidates", candidates, candidates is None or isinstance(candidates, list))
    ids = [from_json(one).id for one in candidates or ()]
    if any(one > other or one == other != "" for one, other in pairwise(ids)):
        raise CallerError("the receipt's candidates are not in the order of their ids, each once")


def check_counter(receipt: Receipt, counter: str) -> None:
    """Raises `CallerError` where a counter is missing, or given though none was used."""
    if (counter == CHARACTERS) != (receipt.counter == CHARACTERS):
        raise CallerError(
            f"the receipt was counted in {receipt.counter}, and this replay would be in {counter}; "
            "give the counter that was used as count"
        )
