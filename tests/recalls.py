"""Recall beside its slow twin: histories that say something, questions, and what differs."""

from __future__ import annotations

import math
import struct
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import doxa
from doxa.engine.calibration import fit
from doxa.engine.documents import LINEAGE
from doxa.engine.envelope import Recalled
from doxa.ledger import Ledger
from doxa.oracle import Log, Truth
from doxa.oracle.recall import Answer, Means, Question, recall
from doxa.oracle.searched import LAYERS, TIERS, Filters
from doxa.oracle.truth import HELD
from doxa.projections.words import words
from doxa.views import TruthView
from tests.differences import Place, Scope
from tests.histories import (
    DAY,
    INSTANTS,
    PREDICATES,
    SUBJECTS,
    Author,
    Fields,
    iso,
    moment,
)
from tests.indexed import asked_of, words_of
from tests.trials import Different
from tests.walks import Step, Walk, wander

WORDS = ("red", "blue", "flat", "flats", "sea", "Zürich", "東京", "s", "1", "then", "c3", "...")
COUNTED = ("red", "blue", "flat", "sea")  # the embedder looks for these
STANDINGS = (*HELD, "hypothesis", "unsupported", "expired", "superseded", "retracted")
BOUNDARIES = (0.6, 0.8, 0.95)  # of calibrations that the ledgers have
SCOPES = (
    Scope(),
    Scope("w"),
    Scope("w"),
    Scope("w", shared=False),
    Scope("", perspective="ada"),
    Scope("w", perspective=""),
)


# ---------------------------------------------------------------- vectors


def counts(text: str) -> list[float]:
    """A vector of a text: how often it has some words; and one number that no text is without."""
    return [1.0, *(float(text.split().count(word)) for word in COUNTED)]


def embed(texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text."""
    return [counts(text) for text in texts]


def unit(text: str) -> list[float]:
    """The vector of a text as it is kept: of length 1, each number in single precision."""
    vector = counts(text)
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [struct.unpack("f", struct.pack("f", x / length))[0] for x in vector]


EMBEDDER = doxa.Embedder("counts of four words", embed, dimension=1 + len(COUNTED))
MEANS = Means(words_of, asked_of, words, unit)


def calibrated(boundary: float, workspace: str = "") -> Fields:
    """The policy of a calibration that is certified, with this boundary."""
    found = fit(
        [boundary + 0.02] * 20,
        [boundary - 0.02] * 20,
        embedder=EMBEDDER.name,
        dimension=1 + len(COUNTED),
        lineage=LINEAGE,
        documents=100_000,
    )
    id = f"at {boundary}"
    return {"event": "policy", "id": id, "workspace": workspace, "calibrated": found.as_json()}


PARAMETERS = {
    boundary: (policy["calibrated"]["boundary"], policy["calibrated"]["scale"])
    for boundary in BOUNDARIES
    for policy in (calibrated(boundary),)
}


# ---------------------------------------------------------------- histories


class Speaker(Author):
    """An author whose events say something: claims in words, quotes, summaries, phrases."""

    def _says(self, least: int = 0) -> str:
        size = self.random.choice((0, 1, 2, 2, 3, 5, 8))
        return " ".join(self.random.choice(WORDS) for _ in range(max(least, size)))

    def _source(self) -> Any:
        source = super()._source()
        if self.random.random() < 0.6:
            source = {"id": source} if isinstance(source, str) else source
            source["quote"] = self._says()
            if self.random.random() < 0.4:
                source["observed_at"] = iso(self.instant() - self.random.choice((0, 40, 100)) * DAY)
        return source

    def _claim(self, event: Fields) -> Fields:
        event = super()._claim(event)
        if self.random.random() < 0.7:
            event["text"] = self._says()
        if self.random.random() < 0.2:
            event["recall_when"] = [f"{self.random.choice(WORDS)} {self.random.choice(WORDS)}"]
        return event

    def _artefact(self, event: Fields) -> None:
        super()._artefact(event)
        event["text"] = self._says(1)

    def _kind(self) -> str:
        kind = super()._kind()
        return "summary" if kind == "withdrawal" and self.random.random() < 0.3 else kind

    def _policy(self, event: Fields) -> Fields:
        """Every third is about what is to be archived, or no longer; pins among it."""
        chance = self.random.random()
        if chance > 0.35:
            return super()._policy(event)
        workspace = event["workspace"]
        if chance < 0.03:
            event["pinned"] = self._one(workspace, "claim")
        else:
            verb = self.random.choice(("archived", "archived", "archived", "restored"))
            kinds = ("claim", "claim", "summary")
            event[verb] = list({self._one(workspace, self.random.choice(kinds)) for _ in range(3)})
        return event


class Spoken(Walk):
    """A ledger with an embedder on its way through a history."""

    def _open(self) -> Ledger:
        return doxa.open(self.folder, clock=lambda: moment(self._now), embedder=EMBEDDER)


@contextmanager
def speaking(on_disk: bool) -> Iterator[Spoken]:
    """A fresh ledger with calibrations, in memory or in a folder of its own."""
    with TemporaryDirectory() as folder:
        walk = Spoken(Path(folder) if on_disk else None)
        try:
            policies = [calibrated(each, place) for each in BOUNDARIES for place in ("", "w")]
            walk.take(Step("append", policies, INSTANTS[0]))
            yield walk
        finally:
            walk.close()


# ---------------------------------------------------------------- questions


@dataclass(frozen=True)
class Asked:
    """A question to a ledger at a place, with its options."""

    place: Place
    query: str
    mode: str = "lexical"
    trust: str = "standing"
    boundary: float | None = None  # one of `BOUNDARIES`
    options: Mapping[str, Any] = field(default_factory=dict)
    published: int | None = None  # where the index is asked as it is, what it goes up to

    def view(self, ledger: Ledger, live: bool = False) -> TruthView:
        """The ledger's view of the place."""
        known_at = None if live else self.place.known_at
        return ledger.view(
            valid_at=moment(self.place.valid_at), known_at=known_at, **self.place.scope._asdict()
        )

    def of(self, ledger: Ledger, view: TruthView | None = None, **more: Any) -> Recalled:
        """The ledger's answer."""
        named = None if self.boundary is None else f"at {self.boundary}"
        return ledger.recall(
            self.query,
            view=self.view(ledger) if view is None else view,
            mode=self.mode,
            trust=self.trust,
            calibration=named,
            fresh=self.published is None,
            **{**self.options, **more},
        )

    def question(self, found: Recalled) -> Question:
        """The same to the twin; how far the arms looked is as the ledger says."""
        options = dict(self.options)
        numbers = {name: options.pop(name) for name in ("top_k", "pool") if name in options}
        numbers.setdefault("pool", max(100, numbers.get("top_k", 0)))
        options.pop("scan_limit", None)
        profile = options.pop("profile", None) == "validity"
        annotate = options.pop("validity_annotate", False)
        by_recording = options.pop("freshness_from", "") == "recorded"
        standing, tier = options.pop("standing", None), options.pop("tier", None)
        if standing is not None:
            every = {*STANDINGS, "not_yet_valid"}
            options["standings"] = frozenset(every if standing == "any" else standing)
        if tier is not None:
            options["tiers"] = frozenset(tier)
        if (layer := options.pop("layer", None)) is not None:
            options["layers"] = frozenset(layer)
        boundary, scale = (0.5, 0.05) if self.boundary is None else PARAMETERS[self.boundary]
        return Question(
            self.query,
            self.mode,
            self.trust,
            boundary,
            scale,
            Filters(**options),
            published=self.published,
            profile=profile,
            annotate=annotate,
            by_recording=by_recording,
            looked={arm["name"]: arm["scanned"] for arm in found.trace["arms"]},
            **numbers,
        )

    def answer(
        self, log: Log, found: Recalled, counts: Mapping[tuple[str, str], int] | None = None
    ) -> Answer:
        """The twin's answer, where records were used so often."""
        truth = Truth(log, self.place.valid_at, self.place.known_at, *self.place.scope)
        question = replace(self.question(found), counts=counts or {})
        if "scan_limit" in self.options:
            question = replace(question, limited=True)
        return recall(truth, question, MEANS)


def some_question(random: Random, log: Log, embedding: bool = True) -> Asked:
    """A question at a place of a log."""
    commits = [0, *(commit.last for commit in log.commits)]
    known_at = log.head if random.random() < 0.5 else random.choice(commits)
    place = Place(random.choice(INSTANTS), known_at, random.choice(SCOPES))
    query = " ".join(random.choice(WORDS) for _ in range(random.choice((1, 2, 3, 6))))
    trusts = ("standing", "development")
    trust = random.choice(("strict", "strict", *trusts) if embedding else trusts)
    calibrated = embedding and trust != "standing"
    return Asked(
        place,
        query,
        random.choice(("lexical", "dense", "fused", "fused")) if embedding else "lexical",
        trust,
        random.choice(BOUNDARIES) if calibrated else None,
        _options(random, place),
    )


def _options(random: Random, place: Place) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if random.random() < 0.6:
        options["top_k"] = random.choice((1, 2, 3, 7, 40))
    if random.random() < 0.4:
        options["pool"] = random.choice((1, 2, 3, 5, 20))
    if random.random() < 0.25:
        options |= random.choice(
            (
                {"profile": "validity"},
                {"profile": "validity", "freshness_from": "recorded"},
                {"validity_annotate": True},
            )
        )
    if random.random() < 0.15:
        options["scan_limit"] = random.choice((1, 3, 10))
    if random.random() < 0.3:
        options["standing"] = random.choice(
            ("any", ("reported",), ("superseded", "reported"), STANDINGS[3:], ("contested",))
        )
    if random.random() < 0.2:
        options["tier"] = random.sample(TIERS, random.choice((1, 2)))
    if random.random() < 0.25:
        options["archived"] = True
    if random.random() < 0.15:
        options["layer"] = random.sample(LAYERS, random.choice((1, 2)))
    sight = [place.scope.workspace] + [""] * place.scope.shared
    for name, values in (
        ("workspace", sight),
        ("subject", (*SUBJECTS, "nobody")),
        ("predicate", PREDICATES),
        ("perspective", ("", "ada")),
        ("kind", ("fact", "hypothesis")),
    ):
        if random.random() < 0.12:
            options[name] = random.choice(values)
    return options


# ---------------------------------------------------------------- what differs


def wrong(asked: Asked, ledger: Ledger, log: Log, live: bool = False) -> str | None:
    """What a ledger answers otherwise than the twin; None where nothing is."""
    try:
        found = asked.of(ledger, asked.view(ledger, live))
        answer = asked.answer(log, found, _counts(ledger, log))
    except AssertionError as error:  # either side's: what it found can't be
        return f"{asked}: {error}"
    for what, ours, theirs in _compared(found, answer):
        if ours != theirs:
            return f"{what} of {asked}:\n  engine {ours!r}\n  oracle {theirs!r}"
    for hit in found:
        key = hit.workspace, hit.id
        place, id = log.supports[key].claim if str(hit.tier) == "quote" else key
        truth = Truth(log, asked.place.valid_at, asked.place.known_at, place)
        if hit.archived != truth.hidden(id, place):
            return f"{hit.id!r} in {hit.workspace!r} is archived: {hit.archived}, of {asked}"
    return None


def _counts(ledger: Ledger, log: Log) -> dict[tuple[str, str], int]:
    """How often the records of a ledger were used."""
    used = ledger._usage.of([*log.claims, *log.artefacts])
    return {key: each.uses for key, each in used.items()}


def warm_some(ledger: Ledger, log: Log, random: Random) -> None:
    """Uses some records, some of them often."""
    for key in [*log.claims, *log.artefacts]:
        if random.random() < 0.3:
            ledger._usage.touch([key] * random.choice((1, 4, 5, 6, 20)), ledger.clock())


def _compared(found: Recalled, answer: Answer) -> Iterator[tuple[str, Any, Any]]:
    if found.outcome == "refused":
        yield "outcome", [str(found.outcome), *map(str, found.reasons)], answer.outcome
    ours, theirs = list(found.hits), answer.hits
    yield "ids", [(h.workspace, h.id) for h in ours], [h.key for h in theirs]
    for hit, twin in zip(ours, theirs, strict=True):
        of = f"{hit.id!r} in {hit.workspace!r}"
        for name in ("verdict", "tier", "standing", "promoted_from", "fetched", "nominated"):
            one, other = getattr(hit, name), getattr(twin, name)
            yield f"{name} of {of}", one if one is None else str(one), _told(other)
        yield f"what is against {of}", list(hit.contested_with), twin.contested_with
        yield f"what replaced {of}", list(hit.successors), twin.successors
        numbers = {"score": hit.score, "confidence": hit.confidence, **hit.scores}
        expected = {"score": twin.score, "confidence": twin.confidence, **twin.scores}
        yield f"scores of {of}", numbers, near(expected, numbers)
        yield f"validity of {of}", *_blocks(hit.validity, twin.validity)
    told = [
        ((one.workspace, one.id), str(one.verdict), list(one.successors)) for one in found.withheld
    ]
    yield "withheld", told, answer.withheld
    yield "reasons", {str(one.reason) for one in found.reasons}, answer.reasons
    yield "outcome", str(found.outcome), answer.outcome
    why = found.abstention
    because = None if why is None else (str(why.reason), list(why.ids))
    yield "abstention", because, answer.abstention
    yield "eligible", found.pool.eligible, answer.eligible
    yield "documents", found.pool.documents, answer.documents
    yield "more", found.cursor is not None, answer.more


def _blocks(
    given: Mapping[str, Any] | None, expected: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """A validity block as it was given, without its signals, and as it is expected."""
    if given is None or expected is None:
        return (None if given is None else dict(given)), expected
    return {name: given[name] for name in given if name != "signals"}, near(expected, given)


def _told(value: object) -> str | None:
    return None if value is None else str(value)


def near(expected: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The expected numbers; one that the given one is as near to as 1e-12 is the given one."""
    found = dict(expected)
    for name, number in expected.items():
        other = given.get(name)
        both = isinstance(number, float) and isinstance(other, float)
        if both and abs(number - other) <= 1e-12:
            found[name] = other
    return found


def first_difference(ledger: Ledger, log: Log, random: Random, questions: int) -> str | None:
    """The first thing that a ledger answers otherwise than the twin, of some questions."""
    if random.random() < 0.4:
        warm_some(ledger, log, random)
    for _ in range(questions):
        asked = some_question(random, log, ledger.embedder is not None)
        live = asked.place.known_at == log.head and random.random() < 0.5
        if (asked.mode, asked.trust) == ("lexical", "standing") and random.random() < 0.3:
            asked = replace(asked, published=ledger._searching().words.position)
        if found := wrong(asked, ledger, log, live):
            return found
    return None


# ---------------------------------------------------------------- trials


class Curious:
    """Asks on the way, now and then, so that the indexes follow in steps; writes them down, and
    throws them away."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, walk: Walk) -> None:
        chance = self.random.random()
        if chance < 0.25 and (found := first_difference(walk.ledger, walk.log(), self.random, 1)):
            raise Different(found)
        if 0.25 < chance < 0.35:
            walk.ledger.index()
        if 0.35 < chance < 0.4 and walk.folder is not None:
            rmtree(walk.folder / "cache", ignore_errors=True)


def trial(seed: int, on_disk: bool, length: int = 20, questions: int = 10) -> str | None:
    """The first difference on a random history, on its way or at its end, with the history."""
    with speaking(on_disk) as walk:
        try:
            wander(Random(seed), walk, length, Curious(seed), Speaker)
            found = first_difference(walk.ledger, walk.log(), Random(seed), questions)
        except Different as different:
            found = str(different)
        except Exception:
            found = traceback.format_exc()
        return found and f"seed {seed}\n{walk}\n\nfirst difference: {found}"
