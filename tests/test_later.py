"""Attributes that are made when they are first asked for, and columns that stay in a checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import doxa
from doxa.engine import checkpoint
from doxa.engine.belief import Belief
from doxa.engine.later import complete, put_off

DAY = "2024-06-01"


class Thing:
    def __init__(self) -> None:
        self.one: list[int] = []
        self.two: list[int] = []
        self.three: list[int] = []


def counted(made: list[str], name: str) -> Callable[[], list[int]]:
    def make() -> list[int]:
        made.append(name)
        return [1]

    return make


def waiting(made: list[str]) -> Thing:
    thing = Thing()
    put_off(thing, {name: counted(made, name) for name in ("one", "two")})
    return thing


def test_an_attribute_is_made_when_it_is_first_asked_for() -> None:
    made: list[str] = []
    thing = waiting(made)
    assert (made, thing.three) == ([], [])
    thing.two.append(2)
    assert (made, thing.two) == (["two"], [1, 2])
    assert isinstance(thing, Thing)
    with pytest.raises(AttributeError):
        _ = thing.four  # type: ignore[attr-defined]


def test_what_is_complete_is_like_any_other() -> None:
    made: list[str] = []
    thing = waiting(made)
    thing.one.append(5)
    complete(thing)
    assert sorted(made) == ["one", "two"]
    assert type(thing) is Thing
    assert vars(thing) == {"one": [1, 5], "two": [1], "three": []}
    complete(thing)
    assert sorted(made) == ["one", "two"]
    put_off(thing, {})
    assert type(thing) is Thing


def test_things_wait_for_themselves_alone() -> None:
    made: list[str] = []
    one, other = waiting(made), waiting(made)
    one.one.append(2)
    assert (one.one, other.one, type(one)) == ([1, 2], [1], type(other))


def test_threads_that_ask_at_once_get_the_same() -> None:
    meeting, found = threading.Barrier(2), []

    def make() -> list[int]:
        meeting.wait()  # both are making it
        return []

    thing = Thing()
    put_off(thing, {"one": make})
    threads = [threading.Thread(target=lambda: found.append(thing.one)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is thing.one


def filled(path: Path) -> None:
    with doxa.open(path) as ledger:
        for n in range(40):
            ledger.claim(f"s{n % 7}", "p", n, source=f"a{n % 3}", id=f"c{n}")
        ledger.support("c1", source="b")
        ledger.withdraw("c2")
        ledger.correct("c3", 5, source="b")


def made_of(ledger: doxa.Ledger) -> dict[str, Any]:
    fold = ledger._stream.capture()[0]
    return vars(fold.belief.graph)


def test_a_question_makes_few_columns_and_an_event_all(tmp_path: Path) -> None:
    filled(tmp_path / "l")
    with patch.object(Belief, "many", 64), doxa.open(tmp_path / "l") as ledger:
        view = ledger.view(valid_at=DAY)
        assert view.values("s4", "p")
        assert not {"c_subject", "c_pos", "s_origin", "s_pos"} & made_of(ledger).keys()
        assert view.claim("c4").origins == ["a1"]
        assert "s_origin" in made_of(ledger)
        ledger.claim("s4", "p", "new", source="a")
        assert {"c_subject", "c_pos", "s_origin", "s_pos"} <= made_of(ledger).keys()
        assert "new" in ledger.view(valid_at=DAY).values("s4", "p")
        assert "new" not in view.values("s4", "p")
        assert ledger.verify().ok


@pytest.mark.parametrize("long", [0, 20, 4_096])
def test_what_is_made_later_is_what_would_be_made_at_once(tmp_path: Path, long: int) -> None:
    filled(tmp_path / "l")
    with patch.object(checkpoint, "LONG", long), doxa.open(tmp_path / "l") as ledger:
        assert ledger.verify().problems == []
        found = ledger.view(valid_at=DAY).fingerprint
        told = str(ledger.view(valid_at=DAY).why("c3"))
    (tmp_path / "l" / "cache" / "fold.doxa").unlink()
    with doxa.open(tmp_path / "l") as ledger:
        assert ledger.view(valid_at=DAY).fingerprint == found
        assert str(ledger.view(valid_at=DAY).why("c3")) == told
