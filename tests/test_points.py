"""What is held about one subject and predicate: claims side by side, their chain, many of them."""

from __future__ import annotations

import copy
import pickle
from array import array
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine import holding, tables
from doxa.engine.belief import Belief
from doxa.engine.crowds import Crowds
from doxa.engine.fold import Fold
from doxa.engine.spans import FixedSpans
from doxa.engine.times import NEG, POS
from doxa.engine.view import TruthView
from tests.test_spans import intervals

DAY = "2024-06-01"
SUBJECTS = ("a", "b", "é", "a longer name", "a\0", "", "\ud800")  # the last three are nobody's
PREDICATES = ("p", "q", "a")
DAYS = ("2024-01-01", "2024-03-01", "2024-06-01", "2024-09-01")


def fold_of(ledger: doxa.Ledger) -> Fold:
    return ledger._stream.capture()[0]


# ---------------------------------------------------------------- side by side


claims = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(SUBJECTS[:4]),
        "predicate": st.sampled_from(PREDICATES),
        "object": st.sampled_from((1, 1.0, "x", "\\", [1], True)),
        "valid_from": st.one_of(st.none(), st.sampled_from(DAYS[:2])),
        "valid_to": st.one_of(st.none(), st.sampled_from(DAYS[2:])),
        "workspace": st.sampled_from(("", "w")),
        "perspective": st.sampled_from(("", "hers")),
        "kind": st.sampled_from(("fact", "hypothesis")),
        "source": st.sampled_from((None, "s", "t")),
    }
)
steps = st.lists(
    st.one_of(claims, st.just("seal"), st.integers(0, 9)), min_size=1, max_size=25
)  # a claim; all made compact; an earlier claim withdrawn


@given(steps=steps, many=st.sampled_from((0, 1, 64)), secret=st.sampled_from((3, 7, 1_073_741_789)))
def test_claims_side_by_side_answer_as_their_chain_does(
    steps: list[Any], many: int, secret: int
) -> None:
    with (
        patch.object(tables, "prime", lambda: secret),
        patch.object(Belief, "many", many),
        doxa.open() as ledger,
    ):
        ids: list[tuple[str, str]] = []
        for step in steps:
            if step == "seal":
                fold_of(ledger).seal()
            elif isinstance(step, dict):
                ids.append((ledger.claim(**step), step["workspace"]))
            elif ids:
                id, workspace = ids[step % len(ids)]
                ledger.withdraw(id, workspace=workspace, valid_from="2024-02-01")
        for view in views(ledger):
            for subject in SUBJECTS:
                for predicate in (*PREDICATES, "unknown"):
                    agree(view, subject, predicate)


def views(ledger: doxa.Ledger) -> list[doxa.TruthView]:
    head = ledger.revision
    return [
        ledger.view(valid_at=at, known_at=k, **sight)
        for at in DAYS
        for k in sorted({0, head // 2, head})
        for sight in ({}, {"workspace": "w"}, {"workspace": "w", "shared": False},
                      {"perspective": "hers"})
    ]  # fmt: skip


def agree(view: TruthView, subject: str, predicate: str) -> None:
    found = holding.held_about(view, subject, predicate)
    assert found == holding._chained(view, subject, predicate)
    held = view.claims(subject=subject, predicate=predicate)
    assert found[0] == [item.row for item in held]
    assert found[1] == any(item.standing is doxa.Standing.CONTESTED for item in held)


def test_a_seal_lays_all_claims_side_by_side_and_newer_ones_are_found_all_the_same() -> None:
    with doxa.open() as ledger:
        ledger.claim("a", "p", 1, source="s")
        assert fold_of(ledger).belief.graph.points.laid is None
        fold_of(ledger).seal()
        assert asked_by_chain(ledger, "a") == ((1,), False)
        assert asked_by_chain(ledger, "b") == ((), False)
        ledger.claim("a", "p", 2, source="s")
        assert asked_by_chain(ledger, "a") == ((1, 2), True)
        fold_of(ledger).seal()
        assert asked_by_chain(ledger, "a") == ((1, 2), False)
        ledger.support(ledger.view(valid_at=DAY).claims()[0].id, source="t")  # no claim is new
        fold_of(ledger).seal()
        assert asked_by_chain(ledger, "a") == ((1, 2), False)


def asked_by_chain(ledger: doxa.Ledger, subject: str) -> tuple[Any, bool]:
    """The values, and whether the chain had to be followed."""
    with (
        patch.object(Belief, "many", 64),
        patch.object(holding, "_chained", wraps=holding._chained) as followed,
    ):
        return ledger.view(valid_at=DAY).values(subject, "p"), followed.called


def test_a_ledger_opened_from_its_checkpoint_has_its_claims_side_by_side(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        for n in range(40):
            ledger.claim(f"s{n % 20}", "p", n // 20, source="s")
    with doxa.open(tmp_path / "l") as ledger:
        assert asked_by_chain(ledger, "s7") == ((0, 1), False)
        assert asked_by_chain(ledger, "s20") == ((), False)


def test_subjects_of_one_hash_are_told_apart() -> None:
    with patch.object(tables, "prime", lambda: 3), doxa.open() as ledger:
        for n in range(9):
            ledger.claim(f"s{n}", f"p{n % 2}", n, source="s")
        fold_of(ledger).seal()
        view = ledger.view(valid_at=DAY)
        for n in range(10):
            for m in range(3):
                agree(view, f"s{n}", f"p{m}")


def test_what_is_no_text_is_refused_wherever_the_claims_lie() -> None:
    with doxa.open() as ledger:
        ledger.claim("a", "p", 1, source="s")
        for _ in range(2):
            view = ledger.view(valid_at=DAY)
            for asked in ((1, "p"), ("a", 1), (b"a", "p"), ("nobody", ["p"]), (None, "unknown")):
                with pytest.raises(doxa.CallerError, match="is of type"):
                    view.value(*asked)
            fold_of(ledger).seal()


# ---------------------------------------------------------------- what is said


def test_why_there_is_no_one_value_is_said_when_it_is_read() -> None:
    with doxa.open() as ledger:
        for n in range(7):
            ledger.claim("a", "p", n, source="s", id=f"c{n}")
        for _ in range(2):
            view = ledger.view(valid_at=DAY)
            with pytest.raises(doxa.SeveralHeld) as several:
                view.value("a", "p")
            for error in (several.value, pickle.loads(pickle.dumps(several.value))):
                assert type(error) is doxa.SeveralHeld
                assert "'c0', 'c1', 'c2', 'c3', 'c4' and 2 more; ask for values" in str(error)
            assert str(copy.copy(several.value)) == str(several.value)
            with pytest.raises(
                doxa.NotHeld, match="nothing is held about 'b' 'p' at valid_at 2024"
            ):
                view.value("b", "p")
            fold_of(ledger).seal()


def test_a_long_message_is_cut_when_it_is_read() -> None:
    with doxa.open() as ledger, pytest.raises(doxa.NotHeld) as missing:
        ledger.view(valid_at=DAY).claim("x" * 5_000)
    assert len(str(missing.value)) == 2_000
    assert len(repr(missing.value)) < 2_100


@pytest.mark.parametrize(
    ("objects", "several"),
    [
        ((1, 1.0), False),
        ((1, True), True),
        (("x", "x"), False),
        (("x", "y"), True),
        (('"', '"'), False),
        (('"', "\\"), True),
        (({"a": 1, "b": 2}, {"b": 2.0, "a": 1}), False),
        (("1", 1), True),
        (("é", "e\u0301"), True),
    ],
)
def test_equal_objects_are_one_value(objects: tuple[Any, Any], several: bool) -> None:
    with doxa.open() as ledger:
        for each in objects:
            ledger.claim("a", "p", each, source="s")
        for _ in range(2):
            view = ledger.view(valid_at=DAY)
            if several:
                with pytest.raises(doxa.SeveralHeld):
                    view.value("a", "p")
            else:
                assert repr(view.value("a", "p")) == repr(objects[0])
            assert len(view.values("a", "p")) == 1 + several
            fold_of(ledger).seal()


# ---------------------------------------------------------------- many


@given(found=st.lists(intervals, min_size=1, max_size=40), asked=st.lists(intervals, max_size=5))
def test_fixed_spans_find_what_looking_at_all_finds(
    found: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    lows, highs = (array("q", bounds) for bounds in zip(*found, strict=True))
    rows = range(len(found))
    for chosen in (rows, np.array(rows[::-1]), np.array(rows[1::2]), range(1, len(found))):
        if not len(chosen):
            continue
        spans = FixedSpans(chosen, lows, highs)
        assert (len(spans), spans.last) == (len(chosen), max(chosen))
        assert sorted(spans.rows) == sorted(chosen)
        for low, high in (*asked, (NEG, POS), *found):
            meeting = [row for row in chosen if found[row][0] < high and found[row][1] > low]
            assert sorted(spans.meeting(low, high)) == sorted(meeting)


@given(
    lengths=st.lists(st.integers(4, 8), min_size=1, max_size=40), stretch=st.sampled_from((1, 3, 9))
)
def test_rows_in_order_are_found_where_they_are(lengths: list[int], stretch: int) -> None:
    ends = np.cumsum([0, *lengths]).tolist()
    lows, highs = array("q", ends[:-1]), array("q", ends[1:])
    with patch("doxa.engine.spans._STRETCH", stretch):
        spans = FixedSpans(range(len(lengths)), lows, highs)
    assert isinstance(spans.rows, range) == (8 not in lengths or {*lengths} == {8})
    for at in range(-2, ends[-1] + 2):
        expected = [row for row, low in enumerate(lows) if low <= at < highs[row]]
        assert list(spans.meeting(at, at + 1)) == expected


class FewColumns:
    """As much of a graph as crowds need."""

    def __init__(self) -> None:
        graph = Fold(lambda position: pytest.fail("nothing is read")).belief.graph
        self.graph = graph
        self.kept: list[tuple[int, tuple[int, int]]] = []  # predicate, interval

    def add(self, predicate: int, interval: tuple[int, int]) -> None:
        self.graph.put_claim(len(self.kept) + 1, 1, 1, predicate, 1, 2, *interval, None, -1)
        self.kept.append((predicate, interval))

    def about(self, predicate: int, v: int) -> list[int]:
        return [
            row
            for row, (said, (low, high)) in enumerate(self.kept)
            if said == predicate and low <= v < high
        ]


@given(
    added=st.lists(
        st.tuples(st.sampled_from((0, 0, 0, 0, 0, 1, 2)), intervals, st.booleans()), max_size=150
    ),
    few=st.integers(0, 3),
    stride=st.sampled_from((1, 4, 64)),
)
def test_crowds_find_what_looking_at_all_finds(
    added: Sequence[tuple[int, tuple[int, int], bool]], few: int, stride: int
) -> None:
    columns = FewColumns()
    crowds = Crowds(columns.graph)
    with patch("doxa.engine.crowds._STRIDE", stride), patch("doxa.engine.crowds._STRETCH", 5):
        for predicate, interval, asked in added:
            columns.add(predicate, interval)
            for v in interval if asked else ():
                found = crowds.about(1, predicate, v, few)
                assert sorted(found) == columns.about(predicate, v)


def test_the_parts_of_a_crowd_stay_few() -> None:
    columns = FewColumns()
    crowds = Crowds(columns.graph)
    for n in range(1_000):
        columns.add(0, (n, n + 1))
        crowds.about(1, 0, n, 4)
    (parts,) = crowds._parts.values()
    assert len(parts) <= 10
    assert all(len(one) >= 2 * len(other) for one, other in pairwise(parts))


# ---------------------------------------------------------------- commits


@given(sizes=st.lists(st.sampled_from((1, 1, 1, 1, 2, 3, 100, 5_000)), min_size=1, max_size=80))
def test_the_last_position_of_a_commit_is_told_from_those_inside(sizes: list[int]) -> None:
    rows = Fold(lambda position: pytest.fail("nothing is read")).belief.graph
    for size in sizes:
        rows.close_commit(rows.position + size, rows.position, ())
    lasts = set(rows.commit_last)
    near = {last + step for last in lasts for step in (-1, 0, 1)} & set(range(1, rows.position + 1))
    for position in near:
        assert rows.ends_commit(position) == (position in lasts)
    assert not rows.ends_commit(rows.position + 1)
