"""Heads of a log that were kept elsewhere, and what comparing the log with them shows.

The chain proves that a log is consistent, not that it is the one that was there before: a log that
was written anew, or cut off with its head row, has a chain too. Whoever kept an earlier head can
tell: the link at that position must still be the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidTime, NewerFormat
from doxa.engine.log import NO_LINK, Gap, Head, Problem
from doxa.engine.receipt import LINK, Receipt, as_receipt
from doxa.engine.words import cut_off

__all__ = ["Pin", "StatedHead", "as_head", "compare", "pins_of", "stated"]

Link = tuple[int | None, bytes]  # when it was recorded, and the link
LinkAt = Callable[[int], Link | None]
VERSION: Final = 1
_KEYS: Final = ("head", "ledger", "position", "recorded_at", "chain")
_SIGNED: Final = ("key", "signature")
_TEXT: Final = re.compile(r"(0|[1-9][0-9]{0,18}):([0-9a-f]{64})")
_HEX: Final = {"ledger": 32, "chain": 64, "key": 64, "signature": 128}  # digits


@dataclass(frozen=True, slots=True)
class StatedHead:
    """Where a log ends, as a value to be kept elsewhere; signed, where it has a signature.

    ``ledger`` is the ledger's id and ``chain`` its last link, in hex; ``recorded_at`` is ``None``
    where the log is empty. ``key`` is the public key of who signed, ``signature`` what they made of
    `statement`, both in hex.
    """

    ledger: str
    position: int
    recorded_at: datetime | None
    chain: str
    key: str | None = None
    signature: str | None = None

    def __str__(self) -> str:
        return f"{self.position}:{self.chain}"

    @property
    def statement(self) -> bytes:
        """The bytes that are signed: what they are, and the four values, a line each."""
        return (
            f"doxa head {VERSION}\n{self.ledger}\n{self.position}\n"
            f"{_iso(self.recorded_at) or ''}\n{self.chain}\n"
        ).encode()

    def as_dict(self) -> dict[str, Any]:
        """The head as a JSON object; the signature is there where it is signed."""
        found: dict[str, Any] = {
            "head": VERSION,
            "ledger": self.ledger,
            "position": self.position,
            "recorded_at": _iso(self.recorded_at),
            "chain": self.chain,
        }
        if self.signature is not None:
            found |= {"key": self.key, "signature": self.signature}
        return found


class Pin(NamedTuple):
    """What is known from outside of one position: when it was recorded and, where it is known, its
    link. Of a pin from a bare text the ledger is not known, nor the time."""

    position: int
    chain: bytes | None
    recorded_at: int | None
    ledger: str | None
    what: str  # that it comes from, in words


def stated(ledger_id: str, head: Head) -> StatedHead:
    """The head of a log as a value."""
    at = times.moment(head.recorded_at) if head.position else None
    return StatedHead(ledger_id, head.position, at, head.chain.hex())


def _iso(at: datetime | None) -> str | None:
    return None if at is None else times.iso(times.instant(at))


# ------------------------------------------------------------ reading one


def as_head(given: object) -> StatedHead:
    """The head that a mapping is (or one as it was given), checked in every part.

    Raises `NewerFormat` for one of a later version, and `CallerError` for what is none.
    """
    fields = given.as_dict() if isinstance(given, StatedHead) else given
    if not isinstance(fields, Mapping) or "head" not in fields:
        raise CallerError(
            f"{str(given)!r:.80} is no head; give what ledger.head returned, or its as_dict"
        )
    version = fields["head"]
    if type(version) is not int or version < 1:
        raise CallerError(f"the head's version is {version!r:.60}: it is damaged, or no head")
    if version > VERSION:
        raise NewerFormat(
            f"the head is of version {version}; this doxa reads versions up to {VERSION}: "
            "upgrade doxa"
        )
    keys = _KEYS + _SIGNED if any(name in fields for name in _SIGNED) else _KEYS
    if set(fields) != set(keys):
        raise CallerError(
            f"the head has the keys {', '.join(sorted(map(str, fields)))!r:.200}; they are "
            f"{', '.join(keys)}"
        )
    for name, digits in _HEX.items():
        value = fields.get(name, "0" * digits)
        if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{digits}}}", value):
            raise CallerError(f"the head's {name} is {value!r:.60}, not {digits} hex digits")
    position, at = fields["position"], fields["recorded_at"]
    if type(position) is not int or position < 0 or (at is None) != (position == 0):
        raise CallerError(f"the head's position is {position!r:.60}, recorded_at {at!r:.60}")
    try:
        recorded_at = None if at is None else times.moment(times.instant(at, "recorded_at"))
    except InvalidTime as error:
        raise CallerError(f"the head's {error}") from None
    signed = (fields.get(name) for name in _SIGNED)
    return StatedHead(fields["ledger"], position, recorded_at, fields["chain"], *signed)


def pins_of(given: object) -> Iterator[Pin]:
    """What one thing that was kept says of a log: a head, its JSON object, the text
    ``POSITION:CHAIN``, a block's receipt or its JSON object. Raises `CallerError`, `NewerFormat`.
    """
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        if found is None:
            raise CallerError(
                f"{given!r:.80} is no head; as text it is POSITION:CHAIN, the chain in 64 hex "
                "digits, as doxa head prints it"
            )
        yield Pin(int(found[1]), bytes.fromhex(found[2]), None, None, "the head")
    elif isinstance(given, Receipt) or (isinstance(given, Mapping) and "receipt" in given):
        yield from _pins_of_receipt(as_receipt(given))
    else:
        head = as_head(given)
        at = None if head.recorded_at is None else times.instant(head.recorded_at)
        yield Pin(head.position, bytes.fromhex(head.chain), at, head.ledger, "the head")


def _pins_of_receipt(receipt: Receipt) -> Iterator[Pin]:
    """A receipt knows when the revision of its view, and the log's end then, were recorded; and
    mostly the link at that end."""
    view = receipt.view
    link = None if LINK not in view else bytes.fromhex(view[LINK])
    if view["revision"] not in (0, view["horizon"]):
        at = times.instant(view["known_at"])
        yield Pin(view["revision"], None, at, None, "the receipt")
    if view["horizon"]:
        yield Pin(view["horizon"], link, times.instant(view["horizon_at"]), None, "the receipt")


# ------------------------------------------------------------ comparing


def compare(
    pins: Iterable[Pin],
    ledger_id: str,
    end: int,
    link_at: LinkAt,
    gaps: Iterable[Gap] = (),
) -> list[Problem]:
    """Where a log, which ends at ``end`` and has compacted stretches, is not what was kept of it.
    Between the last position that still fits and the first that does not, something was rewritten.
    """
    compacted = list(gaps)
    problems: list[Problem] = []
    unknown: list[Pin] = []
    fits = 0
    for pin in sorted(set(pins), key=lambda pin: pin.position):
        if pin.ledger not in (None, ledger_id):
            text = (
                f"{pin.what} is of ledger {pin.ledger}, and this is {ledger_id}: name that "
                "ledger, or, if it was here, it was replaced"
            )
            problems.append(Problem(0, "another_ledger", text))
            continue
        if pin.position > end:
            text = (
                f"the log ends at {end}, but {pin.what} that was kept is of position "
                f"{pin.position}: {cut_off(pin.position - end)}"
            )
            problems.append(Problem(end, "truncated", text))
            continue
        gap = _gap_at(compacted, pin.position)
        if gap is not None and (pin.chain is None or pin.position < gap.last):
            unknown.append(pin)
            continue
        # of a compacted stretch the last link is kept, and the next event is chained to it
        at = link_at if gap is None else _always((pin.recorded_at, gap.chain))
        differs = _differs(pin, at)
        if differs is None:
            fits = max(fits, pin.position if pin.chain is not None else 0)
            continue
        code, text = differs
        since = f"after {fits}, which still fits, and " if fits else ""
        where = f"; it was rewritten {since}up to {pin.position}" if code == "rewritten" else ""
        problems.append(Problem(pin.position, code, text + where))
    # what fits proves all that lies before it, what was compacted as well
    return problems + [_lost(pin) for pin in unknown if pin.position > fits]


def _gap_at(gaps: list[Gap], position: int) -> Gap | None:
    """The compacted stretch that a position lies in."""
    place = bisect_right(gaps, position, key=lambda gap: gap.first) - 1
    return gaps[place] if place >= 0 and position <= gaps[place].last else None


def _always(link: Link) -> LinkAt:
    return lambda position: link


def _lost(pin: Pin) -> Problem:
    return Problem(
        pin.position,
        "compacted",
        f"event {pin.position} was compacted, and its link is gone: {pin.what} that was kept of it "
        "shows nothing any more; give a head of a later position too",
    )


def _differs(pin: Pin, link_at: LinkAt) -> tuple[str, str] | None:
    """What one position, which is within the log, has otherwise than was kept of it."""
    found: Link | None = (pin.recorded_at, NO_LINK)
    if pin.position:
        found = link_at(pin.position)
    if found is None:
        return "gap", f"event {pin.position}, of which {pin.what} was kept, is missing"
    recorded_at, chain = found
    if pin.chain is not None and chain != pin.chain:
        has = chain.hex() if isinstance(chain, bytes) else repr(chain)
        return "rewritten", (
            f"event {pin.position} has the link {has}, but {pin.what} that was kept says "
            f"{pin.chain.hex()}"
        )
    if pin.recorded_at in (None, recorded_at):
        return None
    assert pin.recorded_at is not None
    text = (
        f"event {pin.position} was recorded at {_time(recorded_at)}, but {pin.what} that was kept "
        f"says {times.iso(pin.recorded_at)}"
    )
    if pin.chain is None:
        return "rewritten", text
    return "statement", f"{text}, with the same link: what was kept has been changed"


def _time(at: object) -> str:
    """A stored time in words, whatever stands there."""
    if type(at) is int and times.FIRST <= at <= times.LAST:
        return times.iso(at)
    return repr(at)
