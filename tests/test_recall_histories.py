"""Random histories, some of them erased, asked in random ways: what holds of every answer."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.belief import HELD
from doxa.engine.outcomes import Outcome, Verdict
from tests.asked import by_hand, calibrated
from tests.histories import INSTANTS, SUBJECTS, Author, Fields, moment

WORDS = ("red", "blue", "flat", "sea", "Zürich", "s")
TOLD = re.compile(r"told-([a-z]\d+)-([wx]?)-")
Options = dict[str, Any]


def _words(chance: Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))


def _embed(texts: list[str]) -> list[list[float]]:
    return [[1.0 + text.count("red"), 1.0 + text.count("sea"), 1.0] for text in texts]


def _marked(chance: Random, event: Fields) -> None:
    """Gives a claim a text that names it, so that its words can be told from all others."""
    if event["event"] == "claim":
        mark = f"told-{event['id']}-{event.get('workspace', '')}-"
        event["text"] = f"{_words(chance)} {mark}"
        source = event.get("source")
        if isinstance(source, str) and chance.random() < 0.5:
            event["source"] = {"id": source, "quote": f"{_words(chance)} {mark}"}
        if chance.random() < 0.2:
            event["recall_when"] = [chance.choice(WORDS)]
    elif event["event"] == "summary":
        event["text"] = _words(chance)


def _filled(chance: Random) -> tuple[doxa.Ledger, Author]:
    ledger = doxa.open(embedder=by_hand({}, embed_query=_embed))
    object.__setattr__(ledger.embedder, "embed", _embed)
    author = Author(chance)
    for _ in range(chance.randint(2, 18)):
        events = author.commit()
        for event in events:
            _marked(chance, event)
        try:
            ledger.append(events)
        except doxa.DoxaError:
            continue
        author.learn(events)
    calibrated(ledger)
    if chance.random() < 0.5:
        ledger.index()
    if chance.random() < 0.4:
        ledger.recorder.erase([chance.randint(1, ledger.revision) for _ in range(3)])
    return ledger, author


def _view(chance: Random, ledger: doxa.Ledger) -> doxa.TruthView:
    known = [None, *(last for last in range(ledger.revision) if _ends(ledger, last))]
    return ledger.view(
        valid_at=moment(chance.choice(INSTANTS)),
        known_at=chance.choice([None, chance.choice(known)]),
        workspace=chance.choice(("", "w", "x")),
        shared=chance.random() < 0.8,
        perspective=chance.choice((None, None, "", "ada")),
    )


def _ends(ledger: doxa.Ledger, revision: int) -> bool:
    graph = ledger.view(valid_at=moment(INSTANTS[0])).graph
    return revision == 0 or graph.commit_of(revision) == revision


def _options(chance: Random) -> Options:
    ways: dict[str, list[Any]] = {
        "mode": ["lexical", "dense", "fused"],
        "trust": ["strict", "standing", "development"],
        "top_k": [1, 2, 10],
        "tier": [None, None, "claim", ["quote", "summary"]],
        "subject": [None, None, *SUBJECTS],
        "profile": [None, "validity"],
        "predecessors": [False, True],
        "pool": [None, 1, 3],
        "scan_limit": [None, None, 2],
        "rerank": [None, lambda query, texts: [float(len(text)) for text in texts]],
        "judge": [None, lambda query, texts: [len(text) % 2 == 0 for text in texts]],
    }
    options = {name: chance.choice(values) for name, values in ways.items()}
    if options["trust"] != "strict":
        options["judge"] = None  # elsewhere no hit is ok, and a judge is refused
    return options


def _holds(answer: doxa.Recalled, view: doxa.TruthView, trust: str) -> None:
    """What is so of every answer to a question that asks for what is held."""
    told = answer.to_bytes().decode()
    json.loads(told)
    places = {view.workspace, ""} if view.shared else {view.workspace}
    for id, workspace in TOLD.findall(told):
        row = view.graph.find(workspace, id) >> 3
        assert view.belief.standing(row, view.v, view.k) in HELD, id
        assert workspace in places, id
    for hit in answer:
        assert hit.text.endswith(hit.said)
        assert (hit.text == hit.said) == (hit.verdict is Verdict.OK)
        assert (hit.verdict is Verdict.OK) <= (trust == "strict")
        assert hit.references
        assert hit.standing is None or hit.standing in HELD
    trusted = any(hit.verdict in (Verdict.OK, Verdict.UNVERIFIED) for hit in answer)
    assert not trusted or answer
    assert answer.abstained == (answer.abstention is not None)
    if answer.outcome is Outcome.REFUSED:
        assert (answer.hits, answer.text, TOLD.findall(told)) == ((), "", [])
        assert answer.reasons
    if answer.outcome is Outcome.PARTIAL:
        assert answer.reasons


@given(st.randoms(use_true_random=False))
def test_no_word_of_what_is_not_held_is_in_an_answer(chance: Random) -> None:
    ledger, _ = _filled(chance)
    with ledger:
        for _ in range(4):
            view, options = _view(chance, ledger), _options(chance)
            answer = ledger.recall(_words(chance), view=view, **options)
            _holds(answer, view, options["trust"])


@given(st.randoms(use_true_random=False))
def test_sides_of_a_conflict_are_shown_together_or_named(chance: Random) -> None:
    ledger, _ = _filled(chance)
    with ledger:
        view, options = _view(chance, ledger), _options(chance)
        options |= {"top_k": 1_000, "pool": 1_000, "budget": chance.choice([None, 300, 900])}
        answer = ledger.recall(_words(chance), view=view, **options)
        shown = {one.id for hit in answer for one in hit.references}
        named = {id for one in answer.reasons for id in one.ids} | set(answer.left_out)
        for hit in answer:
            assert set(hit.contested_with) <= shown | named
        if options["budget"] is not None:
            assert answer.used == len(answer.text) <= options["budget"]


@given(st.randoms(use_true_random=False))
def test_no_word_of_a_brought_text_that_is_not_held_is_in_an_answer(chance: Random) -> None:
    ledger, author = _filled(chance)
    with ledger:
        ids = [event["id"] for event in author.events] + ["nobody", "A", "B"]
        given = {
            id: {
                "id": id,
                "text": f"{_words(chance)} brought-{id}-",
                chance.choice(["facts", "supports", "citations", "sources"]): [chance.choice(ids)],
            }
            for id in (f"t{number}" for number in range(8))
        }
        view, options = _view(chance, ledger), _options(chance)
        question = _words(chance)
        answer = ledger.recall(question, view=view, candidates=given.values(), **options)
        _holds(answer, view, options["trust"])
        served = {hit.id for hit in answer}
        told = set(re.findall(r"brought-(t\d)-", answer.to_bytes().decode()))
        assert told == served & set(given)
        withheld = {one.id for one in answer.withheld}
        assert not withheld & served


@pytest.mark.parametrize("inject", ["on_demand", "always_inject"])
@given(chance=st.randoms(use_true_random=False))
def test_no_word_of_what_is_not_held_is_in_a_block(inject: Any, chance: Random) -> None:
    ledger, author = _filled(chance)
    with ledger:
        for event in author.events:
            if event["event"] == "claim" and chance.random() < 0.3:
                ledger.pin(event["id"], workspace=event.get("workspace", ""))
        view, options = _view(chance, ledger), _options(chance)
        question = chance.choice([_words(chance), ""])
        block = ledger.assemble(question, view=view, inject=inject, **options)
        for id, workspace in TOLD.findall(block.text):
            row = view.graph.find(workspace, id) >> 3
            assert view.belief.standing(row, view.v, view.k) in HELD
        assert len(block.text) <= 1_500
