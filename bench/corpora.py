"""Published histories as corpora for recall: questions in words, with what is right at each view.

The questions that were published with a history, whose answers were found without doxa, come first;
the others are made from its events, in the same kinds. They are put in the words of the record
(``prez``, ``United_Kingdom``): truth is measured here, not synonyms. Time is no part of a text, for
the view says it. The claims that are right are those held at the view.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import doxa
from doxa.bench.questions import Lack, Question, divided
from doxa.engine import times
from doxa.engine.times import DAY, NEG, POS

__all__ = [
    "HISTORIES",
    "PER_CLASS",
    "About",
    "Absent",
    "events",
    "folder",
    "published",
    "questions",
]

PER_CLASS: Final = 150  # answerable questions a history, and as many unanswerable ones
LOOKED_AT: Final = 300  # claims that questions are made from, at most
Fields = dict[str, Any]


class Absent(LookupError):
    """A published history is not on this machine; the message says where it is looked for."""


@dataclass(frozen=True)
class About:
    """What is asked: words, and which claims say it, by subject (None: any) and object."""

    text: str
    subject: str | None
    fits: Callable[[Any], bool]


class _Claim(NamedTuple):
    """A claim of a history; its times in microseconds."""

    id: str
    subject: str
    object: Any
    start: int
    end: int
    recorded: int

    @property
    def inside(self) -> tuple[int, ...]:
        """Instants at which it applies: the first, one in the midst of it, the last."""
        end = self.start + 400 * DAY if self.end == POS else self.end
        return self.start, self.start + (end - self.start) // 2, end - 1

    @property
    def outside(self) -> tuple[int, ...]:
        """Instants at which it does not: just before it and after it, and at some distance."""
        found = (self.start - 1, self.start - 30 * DAY)
        return found if self.end == POS else (*found, self.end, self.end + 30 * DAY)


class _History(NamedTuple):
    """How one history is asked: ways to ask for what a claim says, to put a published question
    in words (None: not for recall), and to ask for what it never says."""

    predicate: str
    ways: Callable[[str, Any], tuple[About, ...]]
    asked: Callable[[Fields], About | None]
    strangers: tuple[About, ...]


# ---------------------------------------------------------------- how each is asked


def _any(value: object) -> bool:
    return True


def _has(**wanted: object) -> Callable[[Any], bool]:
    return lambda value: all(value[key] == wish for key, wish in wanted.items())


def _called(alias: str) -> Callable[[Any], bool]:
    return lambda value: alias in value["aliases"]


def _cases(place: str) -> tuple[About, ...]:
    return (
        About(f"How many cumulative confirmed cases are there in {place}?", place, _any),
        About(f"What is the count of confirmed cases of {place}?", place, _any),
        About(f"Cumulative confirmed cases in {place}", place, _any),
        About(f"How many cases were confirmed in {place} so far?", place, _any),
    )


def _cases_asked(q: Fields) -> About | None:
    return _cases(q["subject"])[0]


def _advisories(crate: str, value: Any) -> tuple[About, ...]:
    name, title = value["id"], value["title"]
    return (
        About(f"What is advisory {name} about?", None, _has(id=name)),
        About(f"Which versions of {crate} are patched against {name}?", crate, _has(id=name)),
        About(f"Which security advisories are there for {crate}?", crate, _any),
        About(f"Is there an advisory on this: {title}?", None, _has(title=title)),
        *(About(f"Which advisory has the alias {a}?", None, _called(a)) for a in value["aliases"]),
    )


def _advisories_asked(q: Fields) -> About | None:
    match q["type"]:
        case "is_active":
            text = f"Is advisory {q['advisory']} in force?"
            return About(text, q.get("subject"), _has(id=q["advisory"]))
        case "patched":
            text = f"Which versions are patched against {q['advisory']}?"
            return About(text, q.get("subject"), _has(id=q["advisory"]))
        case "active_set":
            crate = q["subject"]
            return About(f"Which security advisories are there for {crate}?", crate, _any)
        case "alias_lookup":
            return About(f"Which advisory has the alias {q['alias']}?", None, _called(q["alias"]))
    return None  # a count of all there are is no question for recall


def _offices(person: str, value: Any) -> tuple[About, ...]:
    office, party = value["office"], value["party"]
    return (
        About(f"Which office does {person} hold?", person, _any),
        About(f"Does {person} hold the office {office}?", person, _has(office=office)),
        About(f"Which party is {person} of, in the office {office}?", person, _has(office=office)),
        About(f"Who holds the office {office}?", None, _has(office=office)),
        About(f"Who is {office} for the party {party}?", None, _has(office=office, party=party)),
    )


def _offices_asked(q: Fields) -> About | None:
    office = q["office"]
    if q["type"] == "holders":
        return About(f"Who holds the office {office}?", None, _has(office=office))
    text = f"Which party is {q['subject']} of, in the office {office}?"
    return About(text, q["subject"], _has(office=office))


_COUNTRIES: Final = (
    "Portugal Norway Sweden Finland Denmark Poland Greece Austria Belgium Ireland Canada Mexico "
    "Brazil Chile Peru Argentina Japan Vietnam Thailand India Nepal Egypt Morocco Kenya Ghana "
    "Nigeria Australia Iceland Hungary Romania Bulgaria Croatia Serbia Turkey Israel Jordan Qatar "
    "Cuba Bolivia Uruguay"
)
_CRATES: Final = (
    "abacuslib barometric cartwheel dovetailer embroider foxglove gyroscopic haberdash inkstand "
    "jackdaws kettledrum lanternfish marigold nutcracker oxbow pumpernickel quillwort rivulet "
    "saxifrage tumbleweed umbrage vellichor whirligig xylograph yarrowroot zephyrine"
)
_PEOPLE: Final = (
    "Alexander Hamilton|Benjamin Franklin|John Jay|Patrick Henry|Samuel Chase|Paul Revere|"
    "Nathan Hale|Betsy Ross|Horace Greeley|Thomas Paine|Winfield Scott|Robert La Follette|"
    "Eugene Debs|Wendell Willkie|Thomas Dewey|Adlai Whitlock|Barry Goldwater|George McGovern|"
    "Ross Perot|Ralph Nader|John Kerry|Mitt Romney|Bernard Sanders|Belva Lockwood|"
    "Victoria Woodhull|Shirley Chisholm"
)

HISTORIES: Final[dict[str, _History]] = {
    "covid_vintages": _History(
        "cumulative_confirmed_cases",
        lambda subject, value: _cases(subject),
        _cases_asked,
        tuple(chain.from_iterable(_cases(country)[:2] for country in _COUNTRIES.split())),
    ),
    "advisories": _History(
        "advisory",
        _advisories,
        _advisories_asked,
        tuple(
            chain.from_iterable(
                _advisories(
                    crate,
                    {
                        "id": f"RUSTSEC-2031-{number:04}",
                        "title": f"The {crate} reads beyond its {number} buffers",
                        "aliases": [f"CVE-2031-{number:04}"],
                    },
                )
                for number, crate in enumerate(_CRATES.split(), 9_001)
            )
        ),
    ),
    "us_executive": _History(
        "holds_office",
        _offices,
        _offices_asked,
        tuple(
            chain.from_iterable(
                _offices(person, {"office": "prez", "party": ""})[:3]
                for person in _PEOPLE.split("|")
            )
        ),
    ),
}


# ---------------------------------------------------------------- what there is


def folder(name: str) -> Path:
    """The folder of a published history: beside the repository, or where DOXA_SHARED says.

    Raises `Absent` where it is not there.
    """
    beside = Path(__file__).resolve().parents[1].parent / "shared"
    place = Path(os.environ.get("DOXA_SHARED") or beside) / "data" / name
    if not (place / "questions.jsonl").exists():
        raise Absent(f"{name} is not in {place.parent}; name the shared folder in DOXA_SHARED")
    return place


def events(name: str) -> list[Fields]:
    """The events of a history in the exchange form. Raises `Absent`."""
    place = folder(name) / "events.jsonl"
    if place.exists():
        text = place.read_text("utf-8")
    else:
        text = gzip.decompress(place.with_suffix(".jsonl.gz").read_bytes()).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def published(name: str) -> list[Fields]:
    """The questions that were published with a history. Raises `Absent`."""
    lines = (folder(name) / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def questions(name: str, ledger: doxa.Ledger) -> tuple[Question, ...]:
    """`PER_CLASS` answerable and as many unanswerable questions, half of each held out.

    ``ledger`` holds the events of the history. The published questions come first; the others
    are from claims in the order of a digest, the unanswerable ones of each reason in turn. The
    same each time. Raises `Absent`.
    """
    return divided(_Asking(name, ledger).chosen())


class _Asking:
    """Questions about one history, with what is held at each view."""

    def __init__(self, name: str, ledger: doxa.Ledger) -> None:
        self.name, self.ledger, self.history = name, ledger, HISTORIES[name]
        self.lines = events(name)
        self.claims = {line["id"]: _claim(line) for line in self.lines if line["event"] == "claim"}
        self.by_subject: dict[str, list[_Claim]] = defaultdict(list)
        for claim in self.claims.values():
            self.by_subject[claim.subject].append(claim)
        self.last = times.instant(self.lines[-1]["recorded_at"])
        self.view = cache(self._view)

    def _view(self, valid_at: int, known_at: int) -> doxa.TruthView:
        return self.ledger.view(valid_at=times.moment(valid_at), known_at=times.moment(known_at))

    def chosen(self) -> list[Question]:
        """The published questions that are for recall, then others, up to the number of each."""
        right: dict[str, Question] = {}
        lacking: dict[Lack, dict[str, Question]] = {lack: {} for lack in Lack}
        for line in published(self.name):
            if (about := self.history.asked(line)) is not None:
                valid_at, known_at = line.get("valid_at", line.get("valid_from")), line["known_at"]
                q = self.question(about, times.instant(valid_at), times.instant(known_at))
                kept = right if q.lack is None else lacking[q.lack]
                kept.setdefault(q.digest, q)
        for about, valid_at, known_at in self._probes():
            full = len(right) >= PER_CLASS
            if full and all(len(found) >= PER_CLASS for found in lacking.values()):
                break
            q = self.question(about, valid_at, known_at)
            kept = right if q.lack is None else lacking[q.lack]
            if len(kept) < PER_CLASS:
                kept.setdefault(q.digest, q)
        in_turn = zip_longest(*(found.values() for found in lacking.values()))
        wrong = [q for q in chain.from_iterable(in_turn) if q is not None]
        picked = [*right.values()][:PER_CLASS] + wrong[:PER_CLASS]
        assert len(picked) == 2 * PER_CLASS, (self.name, len(right), len(wrong))
        return picked

    def _probes(self) -> Iterator[tuple[About, int, int]]:
        """What may be asked, when: in the order of digests, what is never said in between."""
        ends = {
            line.get("target", line.get("corrects")): times.instant(line["recorded_at"])
            for line in self.lines
            if line["event"] != "claim"
        }
        strangers = iter(self.history.strangers)
        by_digest = sorted(self.claims.values(), key=lambda claim: _number(claim.id))
        for claim in by_digest[:LOOKED_AT]:
            number = _number(claim.id)
            ways = self.history.ways(claim.subject, claim.object)
            about, inside = ways[number % len(ways)], claim.inside
            valid_at = inside[number // 7 % len(inside)]
            between = claim.recorded + (self.last - claim.recorded) * (number % 101) // 101
            yield about, valid_at, (between, self.last, self.last)[number // 11 % 3]
            yield about, valid_at, claim.recorded - 1
            outside = claim.outside
            yield about, outside[number // 13 % len(outside)], self.last
            if claim.id in ends:
                yield about, valid_at, ends[claim.id]
                yield ways[0], inside[-1], ends[claim.id]
            if (stranger := next(strangers, None)) is not None:
                yield stranger, valid_at, (between, self.last)[number % 2]

    def question(self, about: About, valid_at: int, known_at: int) -> Question:
        """A question at a view, with what is held there."""
        view, predicate = self.view(valid_at, known_at), self.history.predicate
        held = [
            claim
            for claim in view.claims(subject=about.subject, predicate=predicate)
            if about.fits(claim.object)
        ]
        those = self.by_subject[about.subject] if about.subject else self.claims.values()
        fitting = [claim for claim in those if about.fits(claim.object)]
        return Question(
            id=f"{self.name}/{_number(about.text, valid_at, known_at):016x}",
            text=about.text,
            valid_at=times.iso(valid_at),
            known_at=times.iso(known_at),
            answers=tuple(sorted(claim.id for claim in held)),
            about=tuple(sorted(claim.id for claim in fitting)),
            lack=None if held else self._lack(fitting, valid_at, known_at),
            contested=any(claim.standing is doxa.Standing.CONTESTED for claim in held),
            past=known_at < self.last,
        )

    def _lack(self, fitting: list[_Claim], valid_at: int, known_at: int) -> Lack:
        """Why none of the claims that would answer is held at the view."""
        if not fitting:
            return Lack.NEVER_RECORDED
        then = [claim for claim in fitting if claim.start <= valid_at < claim.end]
        if not then:
            return Lack.OUTSIDE_WINDOW
        known = [claim for claim in then if claim.recorded <= known_at]
        if not known:
            return Lack.NOT_YET_KNOWN
        view = self.view(valid_at, known_at)
        standings = {view.standing(claim.id) for claim in known}
        assert standings <= {doxa.Standing.RETRACTED, doxa.Standing.SUPERSEDED}, standings
        return Lack.WITHDRAWN if doxa.Standing.RETRACTED in standings else Lack.REPLACED


def _claim(line: Fields) -> _Claim:
    start, end = times.valid_start(line["valid_from"]), times.valid_end(line["valid_to"])
    assert start != NEG, line
    recorded = times.instant(line["recorded_at"])
    return _Claim(line["id"], line["subject"], line["object"], start, end, recorded)


def _number(*parts: object) -> int:
    """A number from a digest of some values, the same on every machine."""
    told = "\n".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8])
