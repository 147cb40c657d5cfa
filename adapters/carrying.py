"""What importers of other tools' stores share: ids made of content, names as labels, times, what is
set aside, and what a ledger already has of an earlier import."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import chain, count, zip_longest
from typing import TYPE_CHECKING, Any, Final

from doxa.engine import times
from doxa.engine.errors import CallerError
from doxa.engine.fields import LABEL_LIMIT, check_name
from doxa.engine.graph import ARTEFACT, NONE, SUPPORT, entity

if TYPE_CHECKING:
    from doxa.adapters.exchange import ImportReport
    from doxa.adapters.judging import Found, Sifting
    from doxa.ledger import Ledger

__all__ = [
    "Aside",
    "Earlier",
    "Progress",
    "Written",
    "check_ledger",
    "checked_name",
    "in_turn",
    "key",
    "label",
    "moment",
    "plain",
    "write",
]

Progress = Callable[[int, int | None], None]
COMMIT: Final = 20_000  # events; what is not more than that is one commit
_BAD: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 300  # characters of what is set aside
_MILLI: Final = 100_000_000_000  # from here on a number counts milliseconds: 5138-11-16 in seconds
_MICRO: Final = _MILLI * 1_000


@dataclass(frozen=True, slots=True)
class Aside:
    """Something that a store holds and that was not carried over: where, why, and its text."""

    place: str
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" + (f": {self.text}" if self.text else "")

    def as_dict(self) -> dict[str, str]:
        """What was set aside, as a JSON object."""
        return {"place": self.place, "reason": self.reason, "text": self.text}

    @classmethod
    def of(cls, place: str, reason: str, text: object = "") -> Aside:
        """With as much of the text as helps to find it."""
        told = plain(text if isinstance(text, str) else repr(text))
        return cls(plain(place), reason, told if len(told) <= _SHOWN else told[:_SHOWN] + "…")


def check_ledger(ledger: object) -> None:
    """Raises `CallerError` for what is no open ledger, such as the path of one.

    >>> check_ledger("team.doxa")
    Traceback (most recent call last):
        ...
    doxa.engine.errors.CallerError: ledger is 'team.doxa'; open it first: \
with doxa.open('team.doxa') as ledger: …
    """
    if isinstance(ledger, str | os.PathLike):
        path = os.fspath(ledger)
        raise CallerError(
            f"ledger is {path!r:.200}; open it first: with doxa.open({path!r:.200}) as ledger: …"
        )
    if not hasattr(ledger, "_stream"):
        raise CallerError(f"ledger is of type {type(ledger).__name__}; give what doxa.open returns")


def key(*parts: object, size: int = 24) -> str:
    """A name made of content: the same parts, the same name.

    >>> key("a", "b") == key("a", "b") != key("ab")
    True
    """
    text = json.dumps(parts, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:size]


def plain(text: str) -> str:
    """A text without halves of surrogate pairs.

    >>> plain("a\\ud800")
    'a\\ufffd'
    """
    return _SURROGATE.sub("\ufffd", text)


def label(text: str) -> str:
    """A name as one line of plain text, which is what subjects and sources are; one that is too
    long is cut, and ends in a digest of the whole. Empty where nothing is left.

    >>> label('The "Acme"\\nCo.')
    'The "Acme" Co.'
    """
    line = _BAD.sub(" ", plain(text)).strip()
    return line if len(line) <= LABEL_LIMIT else f"{line[:900]}… {key(text)}"


def checked_name(name: object, what: str = "name") -> str:
    """What an import is called, as a part of ids. Raises `CallerError`."""
    try:
        if isinstance(name, str) and len(name) <= 100 and not {":", "/"} & set(name):
            return check_name(name)
    except ValueError:
        pass
    raise CallerError(
        f"{what} is {name!r:.120}; give a line of plain text without : and /, 1 to 100 long"
    )


def moment(value: object, zone: tzinfo | None = None) -> datetime | None:
    """A time as stores write it: a number of seconds, milli- or microseconds since 1970, an ISO
    text, or a datetime; `None` for none. A time without a zone is one of ``zone``. Raises
    `ValueError` with the reason.

    >>> moment(1796019330), moment(1796019330000) == moment("2026-11-30T06:15:30Z")
    (datetime.datetime(2026, 11, 30, 6, 15, 30, tzinfo=datetime.timezone.utc), True)
    """
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"{value!r:.60} is no time") from None
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r:.60} is no time")
    if value.tzinfo is None:
        if zone is None:
            raise ValueError(f"{value.isoformat()} has no time zone; say which one is meant (zone)")
        value = value.replace(tzinfo=zone)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value.isoformat()} lies out of the calendar") from None


def _since(number: float) -> datetime:
    size = abs(number)
    unit = 1 if size < _MILLI else 1_000 if size < _MICRO else 1_000_000
    try:
        return times.moment(round(number * 1_000_000 / unit))
    except (ValueError, OverflowError):  # not a number, infinite, or out of the calendar
        raise ValueError(f"{number!r:.60} is no time") from None


def in_turn(lists: Iterable[Iterable[Found]], sifting: Sifting) -> tuple[list[Found], list[Found]]:
    """Results of several kinds as one list: of those that may be used the first of each kind, then
    the second of each, and so on; and the others."""
    used = {id(each.found) for each in sifting.kept if each.judgement is not None}
    kinds = [[one for one in ones if id(one) in used] for ones in lists]
    kept = [one for one in chain.from_iterable(zip_longest(*kinds)) if one is not None]
    every = [*(each.found for each in sifting.kept), *(each.found for each in sifting.left_out)]
    return kept, [one for one in every if id(one) not in used]


class Earlier:
    """What a ledger has of earlier imports, at its head."""

    def __init__(self, ledger: Ledger, workspace: str) -> None:
        fold, self.k = ledger._stream.capture()
        self.belief, self.graph, self.payload = (
            fold.belief,
            fold.belief.graph,
            ledger._stream.payload,
        )
        self.workspace = workspace
        self.head = self.graph.recorded_of(self.k) if self.k else times.NEG

    def number(self, id: str) -> int:
        """The entity of an id, or NONE."""
        return self.graph.find(self.workspace, id)

    def has(self, id: str) -> bool:
        """Whether something was recorded under an id, be it erased or compacted since."""
        gone = self.graph.gone
        compacted = gone is not None and gone.event(self.workspace, id) != NONE
        return compacted or self.number(id) != NONE

    def counts(self, id: str) -> bool:
        """Whether it has not been taken back at all times."""
        number = self.number(id)
        return number != NONE and bool(self.belief.extent(number, self.k))

    def stands(self, claim: str) -> bool:
        """Whether a claim is neither withdrawn nor replaced at some time for which it was said."""
        row = self.number(claim) >> 3
        record = self.belief.record(row, self.k)
        left = times.subtract(self.belief.own(row), record.withdrawn)
        return bool(times.subtract(left, record.superseded))

    def supports(self, prefix: str) -> Iterator[str]:
        """The ids of supports that begin so, in log order. O(supports)."""
        yield from self._beginning(prefix, SUPPORT, len(self.graph.s_pos))

    def artefacts(self, prefix: str) -> Iterator[str]:
        """The ids of artefacts that begin so, in log order. O(artefacts)."""
        yield from self._beginning(prefix, ARTEFACT, len(self.graph.a_pos))

    def _beginning(self, prefix: str, kind: int, rows: int) -> Iterator[str]:
        ws = self.graph.names.find(self.workspace)
        for number in (entity(kind, row) for row in range(rows)):
            if self.graph.workspace_of(number) == ws:
                id = self.graph.id_of(number)
                if id.startswith(prefix):
                    yield id

    def rests_on(self, artefact: str) -> list[str]:
        """The supports that an artefact declares."""
        row = self.number(artefact) >> 3
        return [self.graph.id_of(entity(SUPPORT, s)) for s in self.graph.a_supports[row]]

    # -- taking back, and taking that back

    def _last(self, id: str) -> int:
        """How often an import took it back."""
        return next(n for n in count(1) if not self.has(f"{id}/gone-{n}")) - 1

    def taken_back(self, id: str, reason: str) -> dict[str, Any] | None:
        """The withdrawal of what has gone from the store; `None` where it does not count anyway."""
        if not self.counts(id):
            return None
        n = self._last(id) + 1
        return {"event": "withdrawal", "id": f"{id}/gone-{n}", "target": id, "reason": reason}

    def come_back(self, id: str, reason: str) -> dict[str, Any] | None:
        """What takes back the withdrawal of something that is in the store again; `None` where no
        import took it back, or that was taken back already."""
        n = self._last(id)
        last = f"{id}/gone-{n}"
        if not n or not self.counts(last):
            return None
        return {"event": "withdrawal", "id": f"{last}/back", "target": last, "reason": reason}


@dataclass(frozen=True, slots=True)
class Written:
    """What went into the ledger: events that are new, their commits, and lines that it refused."""

    events: int = 0
    commits: int = 0
    refused: tuple[Aside, ...] = ()


def write(
    ledger: Ledger,
    events: Sequence[Mapping[str, Any]],
    workspace: str,
    progress: Progress | None = None,
) -> Written:
    """Records events in their order; what the ledger refuses (an event too large, a rejected value,
    and what names it) is told of and stops nothing. Those without ``recorded_at`` are one commit,
    or one for each 20,000; a time that somebody else's commit has overtaken is kept as stated."""
    done = Written()
    for start in range(0, len(events), COMMIT):
        batch = list(events[start : start + COMMIT])
        report = ledger.import_events(batch, workspace=workspace, restamp=True)
        refused = (*done.refused, *_refused(report, batch))
        done = Written(done.events + report.events, done.commits + report.commits, refused)
        if progress is not None:
            progress(start + len(batch), len(events))
    return done


def _refused(report: ImportReport, batch: list[Mapping[str, Any]]) -> Iterator[Aside]:
    for line in report.set_aside:
        yield Aside.of(f"{batch[line.line - 1]['event']} {line.id}", line.reason, line.text)
    for kept in report.blocked:
        reason = f"says a rejected value ({', '.join(map(str, kept.rejections))})"
        yield Aside.of(f"{batch[kept.line - 1]['event']} {kept.id}", reason)
