"""What changes throughout takes a short way, which comes to what the long way does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import doxa
from doxa.engine.graph import NONE
from doxa.engine.history import DenseHistory
from doxa.engine.log import Row
from tests.histories import GRID, Fields, iso
from tests.test_bulk import Log, differences, random_rows


@contextmanager
def the_long_way() -> Iterator[None]:
    """An engine that never knows a claim to be one way throughout."""
    with patch.object(DenseHistory, "uniform", lambda self, owner: NONE):
        yield


def check(rows: list[Row]) -> None:
    short = Log(rows).one_by_one()
    with the_long_way():
        long = Log(rows).one_by_one()
    assert list(differences(short, long)) == []


class Forest:
    """Claims that rest on one another, some on several ways, which fall and rise together."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.claims: list[str] = []
        self.supports: list[str] = []
        self.ended: list[str] = []
        self.count = 0

    def id(self, kind: str, among: list[str]) -> str:
        self.count += 1
        among.append(f"{kind}{self.count}")
        return among[-1]

    def days(self) -> Fields:
        """Mostly all time; else some days of the week."""
        if self.random.random() < 0.7:
            return {}
        low, high = sorted(self.random.sample(range(7), 2))
        return {"valid_from": iso(GRID[low]), "valid_to": iso(GRID[high])}

    def some(self) -> list[str]:
        return self.random.sample(self.claims, min(len(self.claims), self.random.choice((1, 1, 2))))

    def claim(self) -> Fields:
        basis: Fields = {"source": self.random.choice("AB")}
        if self.claims and self.random.random() < 0.7:
            basis = {"because": self.some()}
        kind = "hypothesis" if self.random.random() < 0.05 else "fact"
        about = {"subject": "s", "predicate": self.random.choice("pq"), "kind": kind}
        id = self.id("c", self.claims)
        return {"event": "claim", "id": id, "object": self.count % 3} | about | basis | self.days()

    def support(self) -> Fields:
        basis: Fields = {"source": self.random.choice("ABC")}
        if self.random.random() < 0.6:
            basis = {"because": self.some()}
        stance = "refutes" if self.random.random() < 0.2 else "supports"
        of = {"claim": self.random.choice(self.claims), "stance": stance}
        id = self.id("s", self.supports)
        return {"event": "support", "id": id} | of | basis | self.days()

    def withdrawal(self) -> Fields:
        id, chance = self.id("d", []), self.random.random()
        if chance < 0.1:
            return {"event": "withdrawal", "id": id, "source": "A", **self.days()}
        if chance < 0.5 and self.ended:
            target = self.random.choice(self.ended)
        elif chance < 0.7 and self.supports:
            target = self.random.choice(self.supports)
        else:
            target = self.random.choice(self.claims)
        self.ended.append(id)
        return {"event": "withdrawal", "id": id, "target": target, **self.days()}

    def correction(self) -> Fields:
        id = self.id("k", self.ended)
        return {"event": "correction", "id": id, "corrects": self.random.choice(self.claims),
                **self.days()}  # fmt: skip

    def policy(self) -> Fields:
        return {"event": "policy", "id": self.id("p", self.ended), "single_valued": "p"}

    def summary(self) -> Fields:
        return {"event": "summary", "id": self.id("u", []), "text": "t", "facts": self.some()}

    def commit(self) -> list[Fields]:
        random = self.random
        if len(self.claims) < 4 or random.random() < 0.3:
            made = [self.claim() for _ in range(random.choice((1, 4)))]
            return made + [self.support() for _ in range(random.choice((0, 1, 2)))]
        ways = [self.withdrawal] * 7 + [self.correction, self.policy, self.support, self.summary]
        return [random.choice(ways)() for _ in range(random.choice((1, 1, 1, 2, 3)))]


def forest(seed: int) -> list[Row]:
    grown = Forest(Random(seed))
    with doxa.open() as ledger:
        for _ in range(25):
            with suppress(doxa.DoxaError):  # a source with nothing left, say
                ledger.append(grown.commit())
        return [row for page in ledger.recorder.read_rows(0) for row in page]


@given(seed=st.integers(0, 2**48))
@example(seed=155)  # what reaches a summary is named by its first event, whatever is settled first
def test_what_falls_and_rises_in_short_does_so_at_length(seed: int) -> None:
    check(forest(seed))


@given(seed=st.integers(0, 2**48))
def test_random_histories_come_to_the_same_either_way(seed: int) -> None:
    check(random_rows(seed))


def claim(id: str, **more: object) -> Fields:
    return {"event": "claim", "id": id, "subject": "s", "predicate": "p", "object": 1, **more}


def chain(length: int) -> list[Fields]:
    rest = [claim(f"c{n}", because=[f"c{n - 1}"]) for n in range(1, length)]
    return [claim("c0", source="A"), *rest]


def withdraw(id: str, target: str, **more: object) -> Fields:
    return {"event": "withdrawal", "id": id, "target": target, **more}


def support(id: str, claim: str, **more: object) -> Fields:
    return {"event": "support", "id": id, "claim": claim, **more}


HISTORIES: dict[str, list[list[Fields]]] = {
    "a chain falls and rises": [
        chain(6),
        [withdraw("d", "c0")],
        [withdraw("e", "d")],
        [withdraw("f", "e")],
    ],
    "it falls and rises in one commit": [chain(6), [withdraw("d", "c0"), withdraw("e", "d")]],
    "its middle has another way": [
        [*chain(6), support("s", "c3", source="B")],
        [withdraw("d", "c0")],
        [withdraw("e", "s")],
    ],
    "its middle is carried in the commit that fells it": [
        chain(6),
        [withdraw("d", "c0"), support("s", "c3", source="B")],
    ],
    "it rests on two": [
        [*chain(3), claim("b", source="B"), claim("z", because=["c2", "b"])],
        [withdraw("d", "c0"), withdraw("e", "b")],
        [withdraw("f", "d")],
        [withdraw("g", "e")],
    ],
    "it falls in part, then whole": [
        chain(5),
        [withdraw("d", "c0", valid_from=iso(GRID[1]), valid_to=iso(GRID[3]))],
        [withdraw("e", "c0")],
        [withdraw("f", "e")],
    ],
    "its support falls": [chain(5), [withdraw("d", "c1/support")], [withdraw("e", "d")]],
    "a ring": [
        [*chain(4), support("s", "c0", because=["c3"])],
        [withdraw("d", "c0/support")],
        [withdraw("e", "d")],
    ],
    "what is contested falls": [
        [{"event": "policy", "id": "p", "single_valued": "p"}, *chain(3)],
        [claim("z", source="B") | {"object": 2}],
        [withdraw("d", "c0")],
        [withdraw("e", "d")],
    ],
    "what is corrected falls": [
        chain(4),
        [{"event": "correction", "id": "k", "corrects": "c0"}],
        [withdraw("d", "c0")],
        [withdraw("e", "k")],
        [withdraw("f", "d")],
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_written_history_comes_to_the_same_either_way(name: str) -> None:
    with doxa.open() as ledger:
        for commit in HISTORIES[name]:
            ledger.append(commit)
        check([row for page in ledger.recorder.read_rows(0) for row in page])
