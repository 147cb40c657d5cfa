"""The questions that recall is judged by: what is right at each view, and why nothing is."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.bench import corpora
from doxa.bench.generated import Expected, Fate, Generated, System, expected, generated
from doxa.bench.questions import Lack, Question, divided, halves
from doxa.engine import times
from tests.support import shared

# ---------------------------------------------------------------- published histories


@dataclass(frozen=True)
class Told:
    """A published history, with its questions."""

    name: str
    ledger: doxa.Ledger
    events: list[dict[str, Any]]
    questions: tuple[Question, ...]


@pytest.fixture(scope="module", params=corpora.HISTORIES)
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    name = request.param
    shared("data", name)
    events = corpora.events(name)
    with doxa.open() as ledger:
        assert ledger.import_events(events).set_aside == ()
        yield Told(name, ledger, events, corpora.questions(name, ledger))


def naively_held(events: list[dict[str, Any]], valid_at: str, known_at: str) -> set[str]:
    """What is held, where every correction and withdrawal is over all of valid time."""
    v, k = times.instant(valid_at), times.instant(known_at)
    held: set[str] = set()
    for event in events:
        if times.instant(event["recorded_at"]) > k:
            continue
        if event["event"] == "claim":
            start, end = times.valid_start(event["valid_from"]), times.valid_end(event["valid_to"])
            if start <= v < end:
                held.add(event["id"])
        else:
            assert event.get("valid_from") is event.get("valid_to") is None
            held.discard(event.get("corrects") or event["target"])
    return held


def test_a_history_has_a_hundred_questions_of_either_kind_half_of_them_held_out(told: Told) -> None:
    kinds = Counter((q.answerable, q.held_out) for q in told.questions)
    assert set(kinds.values()) == {corpora.PER_CLASS // 2}
    assert corpora.PER_CLASS >= 100
    assert len(kinds) == 4
    kept, judged = halves(told.questions)
    assert {q.held_out for q in kept} == {True}
    assert {q.held_out for q in judged} == {False}


def test_no_question_of_a_history_is_asked_twice(told: Told) -> None:
    assert len({q.digest for q in told.questions}) == len(told.questions)
    assert len({q.id for q in told.questions}) == len(told.questions)


def test_questions_are_put_to_past_knowledge_too(told: Told) -> None:
    for answerable in (True, False):
        asked = [q.past for q in told.questions if q.answerable is answerable]
        assert asked.count(True) >= 20
        assert asked.count(False) >= 20


def test_unanswerable_questions_have_several_reasons(told: Told) -> None:
    lacks = Counter(q.lack for q in told.questions if q.lack is not None)
    always = {Lack.NEVER_RECORDED, Lack.NOT_YET_KNOWN, Lack.OUTSIDE_WINDOW}
    some = {"advisories": {Lack.WITHDRAWN, Lack.REPLACED}, "us_executive": {Lack.REPLACED}}
    assert set(lacks) == always | some.get(told.name, set())
    assert min(lacks.values()) >= 10


def test_the_right_claims_are_those_that_a_careful_reading_of_the_lines_finds(told: Told) -> None:
    for q in told.questions[:: 8 if told.name == "covid_vintages" else 1]:
        held = naively_held(told.events, q.valid_at, q.known_at)
        assert set(q.answers) == held & set(q.about), q


def test_the_reason_of_a_lack_is_so(told: Told) -> None:
    claims = {event["id"]: event for event in told.events if event["event"] == "claim"}
    for q in told.questions:
        if q.lack is None:
            continue
        v = times.instant(q.valid_at)
        then = [
            claims[id]
            for id in q.about
            if times.valid_start(claims[id]["valid_from"]) <= v
            and v < times.valid_end(claims[id]["valid_to"])
        ]
        known = [e for e in then if times.instant(e["recorded_at"]) <= times.instant(q.known_at)]
        assert bool(q.about) == (q.lack is not Lack.NEVER_RECORDED), q
        assert bool(then) == (q.lack not in (Lack.NEVER_RECORDED, Lack.OUTSIDE_WINDOW)), q
        assert bool(known) == (q.lack in (Lack.WITHDRAWN, Lack.REPLACED)), q


def published_answer(kind: str, found: list[dict[str, Any]]) -> Any:
    """What the right claims say to a published question of a kind."""
    values = [claim["object"] for claim in found]
    match kind:
        case "value":
            return values[0] if values else None
        case "holders":
            return sorted({claim["subject"] for claim in found})
        case "party":
            return sorted({value["party"] for value in values})
        case "is_active":
            return bool(values)
        case "patched":
            return values[0]["patched"] if values else None
        case "active_set" | "alias_lookup":
            return sorted(value["id"] for value in values)
    raise AssertionError(kind)


def test_what_was_published_as_right_is_right(told: Told) -> None:
    """The answers that were found without doxa, where the questions are of a kind for recall."""
    claims = {event["id"]: event for event in told.events if event["event"] == "claim"}
    ours = {(q.text, q.valid_at, q.known_at): q for q in told.questions}
    checked = 0
    for line in corpora.published(told.name):
        about = corpora.HISTORIES[told.name].asked(line)
        if about is None or "valid_at" not in line:
            continue
        valid_at, known_at = (times.iso(times.instant(line[at])) for at in ("valid_at", "known_at"))
        q = ours.get((about.text, valid_at, known_at))
        if q is None or line["type"] == "belief_history":
            continue
        assert published_answer(line["type"], [claims[id] for id in q.answers]) == line["expect"]
        checked += 1
    assert checked >= 40


def test_the_same_questions_are_made_each_time(told: Told) -> None:
    if told.name != "covid_vintages":  # it takes its time
        assert corpora.questions(told.name, told.ledger) == told.questions


def test_a_history_that_is_not_there_is_named_with_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_SHARED", str(tmp_path))
    with pytest.raises(corpora.Absent, match=re.escape(f"advisories is not in {tmp_path}/data")):
        corpora.events("advisories")
    with pytest.raises(corpora.Absent, match="DOXA_SHARED"):
        corpora.published("advisories")


# ---------------------------------------------------------------- questions


def question(text: str, *answers: str, **fields: Any) -> Question:
    plain = {"id": text, "valid_at": "2024-01-01T00:00:00Z", "known_at": "2024-01-01T00:00:00Z"}
    lack = None if answers else Lack.NEVER_RECORDED
    return Question(text=text, answers=answers, about=answers, lack=lack, **plain | fields)


def test_what_is_held_out_depends_on_what_is_asked_and_not_on_the_order() -> None:
    asked = [question(f"q{n}", *["c"] * (n % 3 > 0)) for n in range(31)]
    kept = {q.text for q in divided(asked) if q.held_out}
    assert kept == {q.text for q in divided(reversed(asked)) if q.held_out}
    assert [q.text for q in divided(asked)] == [q.text for q in asked]
    assert Counter(q.answerable for q in divided(asked) if q.held_out) == {True: 10, False: 5}


def test_a_question_is_json() -> None:
    told = json.loads(json.dumps(question("q").as_dict()))
    assert told["lack"] == "never_recorded"
    assert told["answers"] == []
    assert json.loads(json.dumps(question("q", "c").as_dict()))["lack"] is None


def test_a_question_is_a_case_of_a_calibration() -> None:
    assert question("q").as_case() == {"query": "q", "answerable": False}
    assert question("q", "c").as_case() == {"query": "q", "answerable": True}


def test_a_question_has_answers_or_a_reason_and_its_answers_are_about_it() -> None:
    with pytest.raises(AssertionError):
        Question("q", "q", "", "", answers=(), about=())
    with pytest.raises(AssertionError):
        Question("q", "q", "", "", answers=("c",), about=("c",), lack=Lack.WITHDRAWN)
    with pytest.raises(AssertionError):
        Question("q", "q", "", "", answers=("c",), about=())


# ---------------------------------------------------------------- the generated corpus


@pytest.fixture(scope="module")
def corpus() -> Generated:
    return generated(200)


def test_the_same_seed_gives_the_same_corpus_on_every_machine(corpus: Generated) -> None:
    def digest(made: Generated) -> str:
        told = [*made.events(), *(q.as_dict() for q in made.questions)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    assert digest(generated(200)) == digest(corpus)
    assert digest(corpus)[:16] == "159da0239d5255b1"
    assert digest(generated(200, seed=8)) != digest(corpus)


def test_a_corpus_has_the_rates_that_are_stated(corpus: Generated) -> None:
    assert Counter(corpus.fates) == {
        Fate.SETTLED: 100,
        Fate.CHANGED: 40,
        Fate.REVERTED: 20,
        Fate.CONTRADICTED: 20,
        Fate.WITHDRAWN: 20,
    }
    kinds = Counter(event["event"] for event in corpus.events())
    assert kinds == {"policy": 8, "claim": 280, "correction": 60, "withdrawal": 20}
    assert Counter(q.id.partition("/")[0] for q in corpus.questions) == {
        "now": 200,
        "past": 200,
        "never": 20,
    }


def test_names_are_unlike_all_other_words() -> None:
    events = [event for event in generated(6_000).events() if event["event"] == "claim"]
    names = {event["subject"] for event in events}
    assert len(names) == 6_000
    words = {word for event in events for word in re.findall(r"\w+", event["text"].lower())}
    assert {word for word in words if word.endswith("x")} == {name.lower() for name in names}


def test_texts_are_of_about_forty_words(corpus: Generated) -> None:
    lengths = [len(e["text"].split()) for e in corpus.events() if e["event"] == "claim"]
    assert 30 <= min(lengths) <= max(lengths) <= 45


def test_what_is_right_by_construction_is_what_a_view_holds(corpus: Generated) -> None:
    with doxa.open() as ledger:
        assert ledger.import_events(corpus.events()).set_aside == ()
        for q in corpus.questions:
            view = ledger.view(valid_at=q.valid_at, known_at=q.known_at)
            subject = q.text.removesuffix("?").rpartition(" ")[2]
            found = view.claims(subject=subject)
            assert tuple(claim.id for claim in found) == q.answers, q
            contested = {claim.standing is doxa.Standing.CONTESTED for claim in found}
            assert contested == ({q.contested} if found else set()), q


@pytest.mark.parametrize(
    ("n", "rates"),
    [
        (0, (0.3, 0.1, 0.1)),
        (10, (0.5, 0.5, 0.5)),
        (10, (-0.5, 0.5, 0.5)),
        (10, (0.0, 0.0, 1.0)),
        (3, (0.5, 0.5, 0.0)),
    ],
)
def test_rates_that_cannot_be_are_refused(n: int, rates: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="topics; they may not be more"):
        generated(n, rates[0], rates[1], withdrawal=rates[2])


# ---------------------------------------------------------------- broken systems


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class Naive:
    """A broken system: texts with the most words of the question, a name counting for three."""

    def __init__(self, corpus: Generated, system: System) -> None:
        claims = [event for event in corpus.events() if event["event"] == "claim"]
        if system is System.NEWEST:
            claims = [*{(claim["subject"], claim["predicate"]): claim for claim in claims}.values()]
        self.texts = {claim["id"]: words(claim["text"]) for claim in claims}

    def served(self, q: Question, top_k: int) -> list[str]:
        asked = words(q.text)

        def score(id: str) -> int:
            return sum(3 if word.endswith("x") else 1 for word in asked & self.texts[id])

        return sorted(self.texts, key=lambda id: (-score(id), id))[:top_k]


def scores(corpus: Generated, system: System, top_k: int = 2) -> Expected:
    """What a broken system scores, question by question."""
    naive = Naive(corpus, system)
    stale, right, whole, past, abstained = ([] for _ in range(5))
    for q in corpus.questions:
        served = naive.served(q, top_k)
        told = set(served) & set(q.about)
        if not q.answerable:
            abstained.append(not served)
        if q.lack is Lack.NEVER_RECORDED:
            continue
        if q.past:
            past.append(bool(told) and told <= set(q.answers))
            continue
        stale.append(not told <= set(q.answers))
        if q.answerable:
            right.append(bool(told) and told <= set(q.answers))
        if q.contested:
            whole.append(told == set(q.answers))
    shares = [Fraction(sum(each), len(each)) for each in (stale, right, whole, past, abstained)]
    return Expected(*shares)


@pytest.mark.parametrize("system", System)
@pytest.mark.parametrize("top_k", [2, 10])
def test_a_broken_system_scores_what_the_formula_says(system: System, top_k: int) -> None:
    corpus = generated(80, 0.4, 0.2, withdrawal=0.15)
    assert scores(corpus, system, top_k) == corpus.expected(system)


def test_the_formulas_of_the_usual_rates() -> None:
    usual = (1_000, 0.3, 0.1, 0.1)
    assert expected(System.PLAIN, *usual) == Expected(
        stale=Fraction(4, 10),
        right=Fraction(6, 9),
        whole=Fraction(1),
        past_right=Fraction(6, 10),
        abstained=Fraction(0),
    )
    assert expected(System.NEWEST, *usual) == Expected(
        stale=Fraction(2, 10),
        right=Fraction(8, 9),
        whole=Fraction(0),
        past_right=Fraction(6, 10),
        abstained=Fraction(0),
    )


@given(
    n=st.integers(1, 40),
    cuts=st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted),
    seed=st.integers(0, 5),
)
def test_the_formulas_hold_at_all_rates(n: int, cuts: list[float], seed: int) -> None:
    rates = (cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1])
    try:
        corpus = generated(n, rates[0], rates[1], seed, withdrawal=rates[2])
    except ValueError:
        return
    fates = Counter(corpus.fates)
    two = fates[Fate.CHANGED] + fates[Fate.REVERTED]
    for system, wrong in ((System.PLAIN, two), (System.NEWEST, fates[Fate.REVERTED])):
        found = corpus.expected(system)
        assert found.stale * n == wrong + fates[Fate.WITHDRAWN]
        assert found.right * (n - fates[Fate.WITHDRAWN]) == n - fates[Fate.WITHDRAWN] - wrong
        assert found.past_right * n == fates[Fate.SETTLED] + fates[Fate.WITHDRAWN]
