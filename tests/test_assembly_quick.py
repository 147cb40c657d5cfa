"""What is judged, looked up and labelled in few steps comes to what the long way comes to."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import FrozenInstanceError
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa import CallerError, ConflictError, Ledger, TruthView
from doxa.engine import candidates, judging, labels, lookups, texts, times
from doxa.engine.assembly import Block
from doxa.engine.eligibility import Item
from doxa.engine.graph import NONE
from doxa.engine.labels import Labels
from doxa.engine.lookups import entities, standings
from doxa.engine.tables import Ids
from tests.histories import INSTANTS, PERSPECTIVES, SOURCES, WORKSPACES, Author, moment


def premises(self: Labels, claim: int) -> list[int]:
    """The premises of a claim that has no live source of its own, by going through its supports."""
    graph = self.graph
    found: list[int] = []
    for support in self.belief.live_supports(claim, self.view.v, self.view.k):
        if not graph.s_refutes[support]:
            if graph.s_source[support] != NONE:
                return []
            found += graph.s_because.get(support)
    return found


def label(self: Labels, item: Item, side: str = "") -> str:
    """The label of a candidate, whatever it rests on."""
    observed = times.shown(self.observed(item) // times.DAY * times.DAY)
    return f"{self._standing(item, side)}, {self._applicability(item)}, observed {observed}"


@contextmanager
def the_long_way() -> Iterator[None]:
    """Nothing is judged, read, looked up or labelled in few steps."""
    with ExitStack() as stack:
        for owner, name, slow in (
            (judging, "_plain", lambda judge, given: None),
            (judging, "_summary", lambda judge, given: None),
            (candidates, "_usual", lambda values: None),
            (texts, "_plain_text", lambda stored: None),
            (labels, "_span", times.span),
            (lookups, "FEW", 10**9),
            (Labels, "of_item", label),
            (Labels, "_claim_observed", lambda self, claim: self.view.observed(claim)),
            (Labels, "_live", lambda self, row: self.belief.live(row, self.view.v, self.view.k)),
            (Labels, "_premises", premises),
        ):
            stack.enter_context(patch.object(owner, name, slow))
        yield


def recorded(chance: random.Random, size: int) -> tuple[Ledger, Author]:
    """A ledger of random commits, with summaries that rest on claims alone now and then."""
    author, ledger = Author(chance), doxa.open()
    for number in range(size):
        events = author.commit()
        if chance.random() < 0.3:
            place = chance.choice(WORKSPACES)
            about = author.ids.get((place, "claim"), [])
            facts: list[Any] = chance.sample(about, min(len(about), chance.choice((1, 1, 2))))
            facts += [{"workspace": "", "id": id} for id in author.ids.get(("", "claim"), [])[:1]]
            shape = {"event": "summary", "text": f"Text {number}.", "id": f"m{number}"}
            events = [{**shape, "workspace": place, "facts": facts}]
        for event in events:
            told = event["event"] in ("claim", "support") and isinstance(event.get("source"), str)
            if told and chance.random() < 0.3:
                seen = moment(chance.choice(INSTANTS)).isoformat()
                event["source"] = {"id": event["source"], "observed_at": seen}
        with suppress(CallerError, ConflictError):
            ledger.append(copy.deepcopy(events))
            author.learn(events)
    return ledger, author


def shelve(chance: random.Random, ledger: Ledger, author: Author) -> None:
    """Archives some of what is known, and restores some of that."""
    for (place, kind), ids in author.ids.items():
        if kind in ("claim", "summary", "citation") and chance.random() < 0.5:
            some = chance.sample(ids, chance.randint(1, len(ids)))
            ledger.append([{"event": "policy", "workspace": place, "archived": some}])
            if chance.random() < 0.3:
                ledger.restore(some[:1], workspace=place)


def asked(chance: random.Random, author: Author, count: int) -> list[dict[str, Any]]:
    """Candidates that rest on claims, mostly, whether they are known or not."""
    known: dict[str, list[str]] = {}
    for (_, kind), ids in author.ids.items():
        known.setdefault(kind, []).extend(ids)
    claims = [*known.get("claim", []), "nobody"]
    artefacts = [*known.get("summary", []), *known.get("citation", []), *claims[:1]]

    def id(ids: list[str]) -> Any:
        found = chance.choice(ids)
        named = {"workspace": chance.choice((*WORKSPACES, "y")), "id": found}
        return named if chance.random() < 0.1 else found

    found: list[dict[str, Any]] = []
    for number in range(count):
        one: dict[str, Any] = {"id": f"t{number}", "text": f"Text {number}."}
        one["score"] = chance.choice((0.0, 1.0, 0.5, 2, -0.0, float("nan")))
        if chance.random() < 0.8:
            one["facts"] = [id(claims) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        if chance.random() < 0.4:
            one["artefact"] = id(artefacts)
            one["text"] = chance.choice((None, "words", "Otherwise.", *(
                event["text"] for event in author.events
                if event["id"] == one["artefact"] and "text" in event
            )))  # fmt: skip
        for name, kind in (("supports", "support"), ("citations", "citation")):
            if chance.random() < 0.1 and known.get(kind):
                one[name] = [id(known[kind])]
        if chance.random() < 0.1:
            one["sources"] = [chance.choice(SOURCES)]
        if chance.random() < 0.1:
            one["workspace"] = chance.choice((*WORKSPACES, "y"))
        if chance.random() < 0.1:
            one[chance.choice(("text", "facts", "id", "score", "more"))] = chance.choice(
                (None, "", " ", "é", "\ud800", 5, [5], [""], [" "], ("é",), {"a": 1})
            )
        found.append(one)
    return found


def at_random(chance: random.Random, ledger: Ledger) -> TruthView:
    revisions = [0, *ledger.view(valid_at="2024-01-01").graph.commit_last]
    return ledger.view(
        valid_at=moment(chance.choice(INSTANTS)),
        known_at=None if chance.random() < 0.5 else chance.choice(revisions),
        workspace=chance.choice((*WORKSPACES, "y")),
        shared=chance.random() < 0.7,
        perspective=chance.choice((None, None, *PERSPECTIVES)),
    )


@given(
    chance=st.randoms(use_true_random=False),
    size=st.integers(0, 40),
    count=st.integers(0, 12),
    budget=st.integers(0, 1_500),
    top_k=st.none() | st.integers(1, 6),
)
def test_the_short_way_and_the_long_way_make_the_very_same_block(
    chance: random.Random, size: int, count: int, budget: int, top_k: int | None
) -> None:
    ledger, author = recorded(chance, size)
    with ledger:
        shelve(chance, ledger, author)
        positions = chance.sample(range(1, ledger.revision + 1), min(3, ledger.revision))
        if chance.random() < 0.3:
            ledger.recorder.erase(positions)
        for candidates in (asked(chance, author, count), None):
            view = at_random(chance, ledger)
            request: Any = {"view": view, "candidates": candidates, "budget": budget}
            request["archived"] = chance.random() < 0.2
            short = ledger.assemble("q", **request, top_k=top_k)
            again = ledger.replay(short.receipt)
            with the_long_way():
                long = ledger.assemble("q", **request, top_k=top_k)
                assert short.as_dict() == long.as_dict()
                assert ledger.replay(short.receipt) == again
            assert short == long
            assert again.same
            assert repr(short) == repr(long)


@given(chance=st.randoms(use_true_random=False), size=st.integers(1, 40), seal=st.booleans())
def test_claims_looked_up_together_stand_as_they_do_alone(
    chance: random.Random, size: int, seal: bool
) -> None:
    ledger, _ = recorded(chance, size)
    with ledger:
        fold, _ = ledger._stream.capture()
        if seal:
            fold.seal()
        belief, graph = fold.belief, fold.belief.graph
        rows = range(len(graph.c_pos))
        v, k = chance.choice(INSTANTS), chance.randrange(graph.position + 1)
        k = max((last for last in graph.commit_last if last <= k), default=0)
        some = chance.sample(rows, chance.randrange(len(rows) + 1))
        alone = {claim: belief.standing(claim, v, k) for claim in some}
        assert standings(belief, some, v, k) == alone


@given(
    chance=st.randoms(use_true_random=False),
    texts=st.lists(st.text(max_size=9) | st.text("ab\0", max_size=9), max_size=30, unique=True),
    secret=st.sampled_from([None, 3, 101]),
    seals=st.sets(st.integers(0, 30)),
)
def test_ids_looked_up_together_are_those_looked_up_alone(
    chance: random.Random, texts: list[str], secret: int | None, seals: set[int]
) -> None:
    ids = Ids()
    if secret is not None:  # so small that many have one hash
        ids.secret, ids.spread = secret, 1
    for number, text in enumerate(texts):
        if chance.random() < 0.8:
            ids.add(chance.randrange(3), text, number)
        if number in seals:
            ids.seal()
    sought = [*chance.sample(texts, len(texts)), "", "nobody"]
    for workspace in (NONE, 0, 1, 2, 3):
        alone = {text: ids.find(workspace, text) for text in sought}
        alone = {text: number for text, number in alone.items() if number != NONE}
        assert entities(ids, workspace, sought) == alone


bounds = st.one_of(
    st.sampled_from([times.NEG, times.POS, 0, times.FIRST, times.LAST]),
    st.integers(times.FIRST, times.LAST),
    st.integers(times.FIRST // times.DAY, times.LAST // times.DAY).map(lambda n: n * times.DAY),
)


@given(low=bounds, high=bounds)
def test_a_span_of_days_is_told_as_every_span_is(low: int, high: int) -> None:
    if low < high:
        assert labels._span(low, high) == times.span(low, high)


# ------------------------------------------------------------ what a block makes later


def block_of(ledger: Ledger) -> Block:
    ledger.claim("ada", "lives_in", "London", id="a", source="register")
    given: list[Any] = [
        {"id": "t1", "text": "Ada lives in London.", "facts": ["a"], "score": 0.5},
        {"id": "t2", "text": "Ada lives in Paris.", "facts": ["b"]},
        {"id": "t3", "text": "Too long. " * 50, "facts": ["a"]},
    ]
    view = ledger.view(valid_at="2024-06-01")
    block = ledger.assemble("Where?", view=view, candidates=given, budget=200)
    given[0]["facts"].append("b")
    given[1]["text"] = "Otherwise."
    return block


def test_what_a_block_says_later_is_what_it_would_have_said_at_once() -> None:
    with doxa.open() as one, doxa.open() as other:
        asked_at_once = block_of(one).as_dict()
        one_log = one.revision
    with doxa.open() as other:
        asked_later = block_of(other)
        other.withdraw("a")
        other.claim("ada", "lives_in", "Rome", id="b", source="register")
        other.recorder.erase([1])
    assert one_log == 1
    found = asked_later.as_dict()
    for told in (found, asked_at_once):  # two ledgers, made at different times
        for name in ("known_at", "horizon_at", "horizon_chain"):
            told["view"].pop(name), told["receipt"]["view"].pop(name)
        told["receipt"]["digests"].pop("view")
    assert found == asked_at_once


def test_a_block_stays_as_it_is(ledger: Ledger) -> None:
    block = block_of(ledger)
    for name in ("text", "printed", "receipt", "_made", "more"):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(block, name, "other")
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'other'"):
        _ = block.other  # type: ignore[attr-defined]  # what is not there is asked for
    assert block.printed is block.printed
    assert block.left_out is block.left_out
    assert block.receipt is block.receipt
    assert dict(block.view) == block.receipt.view


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_a_copy_of_a_block_is_the_block(ledger: Ledger, copied: Any) -> None:
    block = block_of(ledger)
    other = copied(block)
    assert other == block
    assert other.as_dict() == block.as_dict()
    assert other.verify(ledger)
    assert str(other) == other.text
    assert "receipt" not in repr(other)
