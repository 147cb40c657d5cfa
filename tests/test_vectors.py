"""Vectors of documents: what is kept of them, and that the search over them is exact."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doxa.engine.arms import Arm, Ints, Ranking
from doxa.engine.embedding import Embedder, unit_vectors
from doxa.engine.fold import Fold
from doxa.engine.lockfile import LockFile
from doxa.engine.outcomes import Gap, Unavailable
from doxa.engine.view import TruthView
from doxa.oracle import dense as slow
from doxa.projections import matrices, vectors
from doxa.projections.cosines import error_bound, exact_products
from doxa.projections.dense import DenseArm, DenseRanking
from doxa.projections.vectors import Stored, Vectors, stored

LEDGER = "a ledger"
WORKSPACES = ("", "w", "x")


@dataclass(frozen=True)
class Place:
    number: int


@dataclass
class Documents:
    """A pool of documents, by hand: what each says, its workspace, and where it was recorded."""

    said: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    at: list[int] = field(default_factory=list)

    def add(self, said: str, workspace: str = "", step: int = 1) -> None:
        self.said.append(said)
        self.names.append(workspace)
        self.at.append((self.at[-1] if self.at else 0) + step)

    @property
    def entities(self) -> Ints:
        numbers = np.arange(len(self.said), dtype=np.int64)
        return numbers // 2 * 8 + 1 + numbers % 2  # as of a claim and its quote

    @property
    def positions(self) -> Ints:
        return np.array(self.at, np.int32)

    @property
    def places(self) -> Ints:
        return np.array([WORKSPACES.index(name) for name in self.names], np.int32)

    def places_of(self, view: TruthView) -> list[Place]:
        names = {view.workspace, ""} if view.shared else {view.workspace}
        return [Place(WORKSPACES.index(name)) for name in sorted(names)]

    def upto(self, position: int) -> int:
        return int(np.searchsorted(self.positions, position, "right"))

    def find(self, documents: Ints) -> Ints:
        known = {entity: number for number, entity in enumerate(self.entities.tolist())}
        return np.array([known.get(each, -1) for each in documents.tolist()], np.int64)

    def texts(self, numbers: Sequence[int]) -> list[str]:
        return [self.said[number] for number in numbers]

    def link(self, position: int) -> str | None:
        """A chain over what was recorded by a position."""
        if not self.at or position > self.at[-1]:
            return None
        past = [*zip(self.said, self.names, self.at, strict=True)][: self.upto(position)]
        return f"{zlib.crc32(repr(past).encode()):x}"


def nothing_recorded(position: int) -> NoReturn:
    raise AssertionError(position)


def view(k: int, workspace: str = "", *, shared: bool = True) -> TruthView:
    belief = Fold(nothing_recorded).belief
    return TruthView(
        belief, nothing_recorded, valid_at=0, revision=k, workspace=workspace, shared=shared
    )


def numbers_of(texts: list[str]) -> list[list[float]]:
    """The vectors of texts that are numbers."""
    return [[float(number) for number in text.split()] for text in texts]


NUMBERS = Embedder("numbers", numbers_of)


def pool_of(*said: str) -> Documents:
    pool = Documents()
    for text in said:
        pool.add(text)
    return pool


def followed(pool: Documents, embedder: Embedder = NUMBERS, folder: Path | None = None) -> Vectors:
    found = Vectors(folder, LEDGER, pool.link)
    found.follow(pool, pool.texts, embedder)
    return found


def listed(ranking: Ranking, n: int) -> list[tuple[float, int]]:
    """What a ranking has first, equal ones by their numbers."""
    documents, scores = ranking.best(n)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    found = zip(scores.tolist(), documents.tolist(), strict=True)
    return sorted(found, key=lambda scored: (-scored[0], scored[1]))


def refused(call: Callable[[], object]) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        call()
    return caught.value


# ---------------------------------------------------------------- the slow twin


def embedded(pool: Documents, found: Vectors, dimension: int) -> list[slow.Embedded]:
    """The documents with the vectors that are stored of them, as plain numbers."""
    rows = found.rows(pool, NUMBERS.name, dimension, len(pool.said))
    count = rows.count if rows else 0
    plain = rows.take(np.arange(count)).tolist() if rows else []
    return [
        slow.Embedded(entity, at, name, plain[number] if any(plain[number]) else None)
        for number, (entity, at, name) in enumerate(
            zip(pool.entities.tolist(), pool.at, pool.names, strict=True)
        )
        if number < count
    ]


@st.composite
def searches(draw: st.DrawFn) -> tuple[Documents, list[float], int, str, bool]:
    """Documents, many of them alike; a question; and a view."""
    dimension = draw(st.integers(1, 5))
    small = st.integers(-2, 2).map(float)
    number = draw(st.sampled_from([small, st.floats(-1, 1, width=32), st.floats(-1e9, 1e9)]))
    vector = st.lists(number, min_size=dimension, max_size=dimension).filter(any)
    few = draw(st.lists(vector, min_size=1, max_size=6))
    pool = Documents()
    for _ in range(draw(st.integers(1, 25))):
        said = draw(st.one_of(st.sampled_from(few), vector))
        text = " ".join(map(repr, said)) if draw(st.integers(0, 9)) else ""
        pool.add(text, draw(st.sampled_from(WORKSPACES)), draw(st.integers(0, 2)))
    k = draw(st.integers(0, pool.at[-1] + 1))
    return pool, draw(vector), k, draw(st.sampled_from(WORKSPACES)), draw(st.booleans())


def check(found: Vectors, case: tuple[Documents, list[float], int, str, bool], n: int) -> None:
    """A search is what the slow one says, to the last bit."""
    pool, question, k, workspace, shared = case
    arm = DenseArm(found, pool, NUMBERS)
    if not any(text.strip() for text in pool.said):
        assert found.stored(pool) == []
        return
    ranking = arm.search_vector(question, view(k, workspace, shared=shared))
    unit = unit_vectors([question], 1, "a test")[0].tolist()
    documents = embedded(pool, found, len(question))
    names = {workspace, ""} if shared else {workspace}
    expected = slow.ranked(documents, unit, k, names)
    assert ranking.total == len(expected)
    assert listed(ranking, n) == slow.best(expected, n)
    assert listed(ranking, len(pool.said)) == expected
    given_back = ranking.scores(pool.entities)
    known = {document: score for score, document in expected}
    assert [None if np.isnan(score) else score for score in given_back.tolist()] == [
        known.get(entity) for entity in pool.entities.tolist()
    ]


@given(case=searches(), n=st.integers(0, 12))
def test_a_search_is_the_slow_one_to_the_last_bit(
    case: tuple[Documents, list[float], int, str, bool], n: int
) -> None:
    check(followed(case[0]), case, n)


@given(case=searches(), n=st.integers(1, 5), cuts=st.lists(st.integers(0, 25), max_size=3))
def test_vectors_saved_bit_by_bit_and_loaded_again_give_the_same_search(
    tmp_path_factory: pytest.TempPathFactory,
    case: tuple[Documents, list[float], int, str, bool],
    n: int,
    cuts: list[int],
) -> None:
    pool, folder = case[0], tmp_path_factory.mktemp("search")
    for cut in cuts:
        some = Vectors(folder, LEDGER, pool.link)  # as by one process after another
        some.follow(pool, pool.texts, NUMBERS, limit=cut)
        assert some.save(pool)
    last = followed(pool, folder=folder)
    assert last.save(pool)
    check(last, case, n)
    check(Vectors(folder, LEDGER, pool.link), case, n)
    assert len(list(folder.glob("*.f32"))) <= 1


@given(
    seed=st.integers(0, 1 << 32),
    dimension=st.sampled_from([3, 64, 200]),
    count=st.integers(1, 60),
    block=st.integers(1, 30),
)
@example(seed=1, dimension=384, count=60, block=7)
def test_a_score_is_the_same_however_the_rows_lie(
    seed: int, dimension: int, count: int, block: int
) -> None:
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, dimension))
    rows[random.integers(0, count, count // 3)] = rows[0]
    pool, question = Documents(), random.standard_normal(dimension)
    for row in rows.tolist():
        pool.add(" ".join(map(repr, row)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "BLOCK", block)
        arm = DenseArm(followed(pool), pool, NUMBERS)
        whole = arm.search_vector(question, view(count))
        scores = whole.scores(pool.entities).tolist()
        assert listed(whole, 5) == listed(whole, count)[: len(listed(whole, 5))]
        for k in {1, count // 2, count - 1} - {0}:
            some = arm.search_vector(question, view(k))
            assert some.scores(pool.entities[:k]).tolist() == scores[:k]
            assert np.isnan(some.scores(pool.entities[k:])).all()
    unit = unit_vectors([question], 1, "a test")[0].tolist()
    plain = embedded(pool, followed(pool), dimension)
    assert scores == [slow.product(each.vector or (), unit) for each in plain]


@given(seed=st.integers(0, 1 << 32), dimension=st.integers(1, 400))
def test_a_product_is_never_further_off_than_its_bound(seed: int, dimension: int) -> None:
    random = np.random.default_rng(seed)
    one, other = unit_vectors(random.standard_normal((2, dimension)), 2, "a test")
    off = abs(float(np.dot(one, other)) - slow.product(one.tolist(), other.tolist()))
    assert off <= error_bound(dimension)
    tiny = np.full(dimension, 1e-30, np.float32)
    assert abs(float(np.dot(tiny, tiny))) <= error_bound(dimension)


@given(
    st.integers(1, 30).flatmap(
        lambda size: st.lists(
            st.lists(
                st.one_of(
                    st.floats(-1, 1, width=32),
                    st.integers(-40, 0).map(lambda power: 2.0**power),
                    st.sampled_from([0.0, 1e-30, -1e-40, 1 / 3]),
                ),
                min_size=size,
                max_size=size,
            ).filter(any),
            min_size=2,
            max_size=8,
        )
    )
)
def test_an_exact_product_is_the_exact_one_rounded_once(given_rows: list[list[float]]) -> None:
    rows = unit_vectors(given_rows, len(given_rows), "a test")
    opposite = np.concatenate([rows, -rows[::-1]])
    for vector in rows:
        expected = [slow.product(row, vector.tolist()) for row in opposite.tolist()]
        assert exact_products(opposite, vector).tolist() == expected


def test_halves_of_a_last_place_are_rounded_as_they_should_be() -> None:
    one = np.zeros((3, 4), np.float32)
    one[:, 0], one[:, 1] = 0.5, 2.0**-54
    one[1, 2], one[2, 2] = 2.0**-149, -(2.0**-149)
    vector = np.array([1.0, 1.0, 2.0**-60, 0.0], np.float32)
    expected = [slow.product(row, vector.tolist()) for row in one.tolist()]
    assert expected == [0.5, 0.5 + 2.0**-53, 0.5]
    assert exact_products(one, vector).tolist() == expected


# ---------------------------------------------------------------- searching


def test_what_the_matrix_product_can_not_tell_apart_is_told_apart() -> None:
    near = [1.0, *([1e-3] * 40)]
    nearer = [*near[:-1], 1e-3 * (1 + 1e-6)]
    pool = pool_of(*(" ".join(map(repr, row)) for row in (near, nearer, near, nearer)))
    arm = DenseArm(followed(pool), pool, NUMBERS)
    ranking = arm.search_vector([1.0] * 41, view(4))
    assert len(set(ranking._products.tolist())) == 1
    first = listed(ranking, 1)
    assert [document for _, document in first] == pool.entities[[1, 3]].tolist()


def test_what_the_matrix_product_puts_first_need_not_be_first() -> None:
    random = np.random.default_rng(1)
    question = random.standard_normal(384)
    across = random.standard_normal(384)
    across -= question * (across @ question / (question @ question) - 1e-4)
    near = np.repeat(across[None], 200, axis=0)  # at nearly a right angle: much cancels out
    near *= 1 + random.choice([-1e-7, 0, 1e-7], near.shape)
    pool = pool_of(*(" ".join(map(repr, row)) for row in near.tolist()))
    found = followed(pool)
    ranking = DenseArm(found, pool, NUMBERS).search_vector(question, view(200))
    unit = unit_vectors([question], 1, "a test")[0].tolist()
    expected = slow.ranked(embedded(pool, found, 384), unit, 200, {""})
    assert pool.entities[ranking._products.argmax()] != expected[0][1]
    for n in (1, 2, 5, 20):
        assert listed(ranking, n) == slow.best(expected, n)


def test_equal_vectors_come_together_however_few_are_asked_for() -> None:
    pool = pool_of(*["1 0"] * 50, "0 1")
    ranking = DenseArm(followed(pool), pool, NUMBERS).search("2 0", view(51))
    assert len(ranking.best(1)[0]) == 50
    assert ranking.best(1)[1].tolist() == [1.0] * 50
    assert len(ranking.best(51)[0]) == ranking.total == 51


def test_nothing_is_what_none_asked_for() -> None:
    pool = pool_of("1 0")
    ranking = DenseArm(followed(pool), pool, NUMBERS).search("1 0", view(1))
    assert ranking.best(0)[0].tolist() == []
    assert ranking.scores(np.zeros(0, np.int64)).tolist() == []
    assert np.isnan(ranking.scores(np.array([7_777], np.int64))).all()


def test_where_nothing_is_recorded_nothing_is_found_and_nobody_asked() -> None:
    def never(texts: list[str]) -> object:
        raise AssertionError

    pool = pool_of("1 0")
    arm = DenseArm(Vectors(), pool, Embedder("never", never))
    for ranking in (
        arm.search("1 0", view(0)),
        arm.search_vector([1, 0], view(1, "w", shared=False)),
    ):
        assert ranking.total == 0
        assert ranking.best(3)[0].tolist() == []
        assert np.isnan(ranking.scores(pool.entities)).all()


def test_what_says_nothing_is_never_found() -> None:
    pool = pool_of("1 0", " ", "", "0 0", "0 1")
    found = followed(pool)
    ranking = DenseArm(found, pool, NUMBERS).search("1 0", view(5))
    assert ranking.total == 2
    assert np.isnan(ranking.scores(pool.entities)).tolist() == [False, True, True, True, False]


def test_an_arm_is_an_arm() -> None:
    pool = pool_of("1 0")
    arm: Arm = DenseArm(followed(pool), pool, NUMBERS)
    ranking: Ranking = arm.search("1 0", view(1))
    assert isinstance(ranking, DenseRanking)
    assert (arm.name, arm.generation) == ("dense", "dense-1/2/numbers")
    assert DenseArm(Vectors(), pool, NUMBERS).generation == "dense-1/unknown/numbers"
    stating = Embedder("numbers", numbers_of, dimension=7)
    assert DenseArm(Vectors(), pool, stating).generation == "dense-1/7/numbers"


def test_a_search_later_is_the_search_of_then() -> None:
    pool = pool_of("1 0", "0.6 0.8", "1 0.1")
    found = followed(pool)
    arm = DenseArm(found, pool, NUMBERS)
    then = listed(arm.search("1 0.05", view(3)), 2)
    for text in ("1 0.05", "1 0.05", "1 0.06"):
        pool.add(text)
    assert listed(arm.search("1 0.05", view(3)), 2) == then
    found.follow(pool, pool.texts, NUMBERS)
    assert listed(arm.search("1 0.05", view(3)), 2) == then
    assert listed(arm.search("1 0.05", view(6)), 2) != then


# ---------------------------------------------------------------- what can't be searched


def test_without_any_vectors_a_search_is_refused_with_the_next_step() -> None:
    pool = pool_of("1 0")
    error = refused(lambda: DenseArm(Vectors(), pool, NUMBERS).search("1 0", view(1)))
    assert error.reason is Gap.VECTORS_UNAVAILABLE
    assert error.detail == "there are no vectors by embedder 'numbers' yet; run ledger.index()"


def test_vectors_of_another_embedder_are_named_and_not_used() -> None:
    pool = pool_of("1 0")
    arm = DenseArm(followed(pool), pool, Embedder("other", numbers_of))
    error = refused(lambda: arm.search("1 0", view(1)))
    assert error.reason is Gap.LINEAGE_MISMATCH
    assert "'other'" in error.detail
    assert "'numbers'" in error.detail


@pytest.mark.parametrize("stated", [3, None])
def test_another_dimension_under_the_same_name_is_refused(stated: int | None) -> None:
    pool = pool_of("1 0")
    other = Embedder("numbers", numbers_of, dimension=stated)
    error = refused(lambda: DenseArm(followed(pool), pool, other).search("1 0 0", view(1)))
    assert error.reason is Gap.LINEAGE_MISMATCH
    assert "gives dimension 3, its stored vectors have 2" in error.detail


def test_documents_without_vectors_are_counted_where_they_are_in_sight() -> None:
    pool = pool_of("1 0", "0 1")
    found = followed(pool)
    pool.add("1 1", "w")
    pool.add("1 1", "w")
    arm = DenseArm(found, pool, NUMBERS)
    error = refused(lambda: arm.search("1 0", view(4, "w")))
    assert error.reason is Gap.NOT_READY
    assert error.detail == (
        "2 of 4 documents in sight have no vectors by embedder 'numbers' yet; run ledger.index()"
    )
    assert arm.search("1 0", view(4)).total == 2  # what is missing is out of sight
    assert arm.search("1 0", view(2, "w")).total == 2  # or was not recorded yet


@pytest.mark.parametrize("vector", [[np.nan, 1.0], [0.0, 0.0], [np.inf, 0.0], "1 0", None])
def test_a_question_whose_vector_is_none_is_refused(vector: object) -> None:
    pool = pool_of("1 0")
    arm = DenseArm(followed(pool), pool, NUMBERS)
    error = refused(lambda: arm.search_vector(vector, view(1)))
    assert error.reason is Gap.VECTORS_UNAVAILABLE


# ---------------------------------------------------------------- following


def test_only_new_documents_are_embedded_and_progress_is_told() -> None:
    asked: list[list[str]] = []

    def counting(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return numbers_of(texts)

    embedder = Embedder("counting", counting, dimension=2, batch=2)
    pool, told = pool_of("1 0", "0 1", "", "1 1"), list[tuple[int, int]]()
    found = Vectors()

    def follow(limit: int | None = None) -> int:
        return found.follow(
            pool, pool.texts, embedder, limit=limit, progress=lambda *done: told.append(done)
        )

    assert follow(1) == 1
    assert follow() == 3
    assert asked == [["1 0"], ["0 1"], ["1 1"]]
    assert told == [(1, 1), (2, 3), (3, 3)]
    assert follow() == 0
    pool.add("2 1")
    assert follow() == 1
    assert asked[3:] == [["2 1"]]
    assert found.stored(pool) == [Stored("counting", 2, 5)]


def test_an_embedder_that_fails_in_the_middle_keeps_what_it_did() -> None:
    pool = pool_of("1 0", "0 1", "fails", "1 1")
    embedder = Embedder("x", numbers_of, dimension=2, batch=1)
    found = Vectors()
    error = refused(lambda: found.follow(pool, pool.texts, embedder))
    assert error.reason is Gap.DEPENDENCY_UNAVAILABLE
    assert "documents 3 to 3; those before are embedded" in error.detail
    assert found.stored(pool) == [Stored("x", 2, 2)]
    pool.said[2] = "1 2"
    assert found.follow(pool, pool.texts, embedder) == 2


def test_documents_that_all_say_nothing_need_no_embedder() -> None:
    pool = pool_of("", " ")
    found = Vectors()
    assert found.follow(pool, pool.texts, NUMBERS) == 0
    pool.add("1 0")
    assert found.follow(pool, pool.texts, NUMBERS) == 3
    assert DenseArm(found, pool, NUMBERS).search("1 0", view(3)).total == 1


def test_embedders_are_kept_side_by_side() -> None:
    pool = pool_of("1 0", "0 1")
    found = followed(pool)
    wide = Embedder("wide", lambda texts: [[*each, 1.0] for each in numbers_of(texts)])
    found.follow(pool, pool.texts, wide, limit=1)
    found.follow(pool, pool.texts, Embedder("numbers", wide.embed, dimension=3))
    assert found.stored(pool) == [
        Stored("numbers", 2, 2),
        Stored("numbers", 3, 2),
        Stored("wide", 3, 1),
    ]


def test_a_search_does_not_wait_for_vectors_that_are_being_made() -> None:
    pool, started, release = pool_of("1 0", "0 1", "1 1"), threading.Event(), threading.Event()

    def slowly(texts: list[str]) -> list[list[float]]:
        if texts == ["0 1"]:
            started.set()
            release.wait(60)
        return numbers_of(texts)

    embedder = Embedder("slow", slowly, dimension=2, batch=1)
    found = Vectors()
    with ThreadPoolExecutor(1) as threads:
        following = threads.submit(found.follow, pool, pool.texts, embedder)
        try:
            assert started.wait(60)
            arm = DenseArm(found, pool, embedder)
            assert arm.search("1 0", view(1)).total == 1
            assert refused(lambda: arm.search("1 0", view(3))).reason is Gap.NOT_READY
        finally:
            release.set()
        assert following.result() == 3
    assert arm.search("1 0", view(3)).total == 3


def test_what_another_process_stores_in_the_meantime_is_not_stored_twice(tmp_path: Path) -> None:
    pool = pool_of(*(f"1 {number}" for number in range(5)))
    arm: list[DenseArm] = []

    def meanwhile(texts: list[str]) -> list[list[float]]:
        if texts == ["1 1"]:
            other = followed(pool, Embedder("x", numbers_of, dimension=2), tmp_path)
            assert other.save(pool)
            assert arm[0].search_vector([1, 0], view(5)).total == 5
        return numbers_of(texts)

    embedder = Embedder("x", meanwhile, dimension=2, batch=1)
    found = Vectors(tmp_path, LEDGER, pool.link)
    arm.append(DenseArm(found, pool, embedder))
    assert found.follow(pool, pool.texts, embedder) == 5
    assert found.stored(pool) == [Stored("x", 2, 5)]
    expected = listed(DenseArm(followed(pool), pool, NUMBERS).search("1 0", view(5)), 5)
    assert listed(arm[0].search("1 0", view(5)), 5) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_made_by_fork_waits_for_no_thread_of_its_parents() -> None:
    pool = pool_of("1 0", "0 1")
    found = Vectors()
    found.follow(pool, pool.texts, NUMBERS, limit=1)
    with found._growing, found._looking:
        child = os.fork()
        if not child:
            code = 1
            try:
                count = found.follow(pool, pool.texts, NUMBERS)
                code = 0 if count == 1 and found.stored(pool)[0].count == 2 else 2
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---------------------------------------------------------------- keeping


@pytest.fixture
def pool() -> Documents:
    return pool_of("1 0", "0 1", "", "0.6 0.8", "1 0")


@pytest.fixture
def folder(tmp_path: Path, pool: Documents) -> Path:
    """A folder in which all vectors of a pool are saved."""
    path = tmp_path / "cache" / "search"
    assert followed(pool, folder=path).save(pool)
    return path


def only(folder: Path, ending: str) -> Path:
    (found,) = folder.glob(f"*{ending}")
    return found


def loaded(folder: Path, pool: Documents, ledger: str = LEDGER) -> list[Stored]:
    return Vectors(folder, ledger, pool.link).stored(pool)


def test_what_is_saved_is_there_at_the_next_opening(folder: Path, pool: Documents) -> None:
    assert stored(folder) == loaded(folder, pool) == [Stored("numbers", 2, 5)]
    silent = Embedder("numbers", lambda texts: [[1.0, 0.0]] * len(texts))
    again = Vectors(folder, LEDGER, pool.link)
    assert again.follow(pool, pool.texts, silent) == 0
    expected = listed(DenseArm(followed(pool), pool, NUMBERS).search("1 0", view(5)), 9)
    assert listed(DenseArm(again, pool, silent).search("1 0", view(5)), 9) == expected


def test_looking_and_following_write_nothing(tmp_path: Path, pool: Documents) -> None:
    path = tmp_path / "search"
    found = followed(pool, folder=path)
    DenseArm(found, pool, NUMBERS).search("1 0", view(5))
    assert not path.exists()


def test_saving_more_leaves_the_rows_that_are_there(folder: Path, pool: Documents) -> None:
    rows, size = only(folder, ".f32"), 5 * 2 * 4
    before = rows.read_bytes()
    assert len(before) == size
    found = Vectors(folder, LEDGER, pool.link)
    pool.add("3 4")
    found.follow(pool, pool.texts, NUMBERS)
    assert found.save(pool)
    assert only(folder, ".f32") == rows
    assert rows.read_bytes()[:size] == before
    assert len(rows.read_bytes()) == size + 8
    assert found.save(pool)
    assert loaded(folder, pool) == [Stored("numbers", 2, 6)]


def test_rows_of_a_killed_writer_are_written_over(folder: Path, pool: Documents) -> None:
    with open(only(folder, ".f32"), "ab") as file:
        file.write(b"torn off" * 9)
    (folder / "dense-0000.new").write_text("{")
    (folder / "dense-0000.f32").write_bytes(b"")
    assert loaded(folder, pool) == [Stored("numbers", 2, 5)]
    found = Vectors(folder, LEDGER, pool.link)
    pool.add("3 4")
    found.follow(pool, pool.texts, NUMBERS)
    assert found.save(pool)
    assert only(folder, ".f32").stat().st_size == 6 * 8
    assert sorted(path.suffix for path in folder.glob("dense-*")) == [".f32", ".json"]
    assert loaded(folder, pool) == [Stored("numbers", 2, 6)]


def cut(folder: Path) -> None:
    rows = only(folder, ".f32")
    os.truncate(rows, rows.stat().st_size - 1)


def flip(folder: Path) -> None:
    rows = only(folder, ".f32")
    data = bytearray(rows.read_bytes())
    data[9] ^= 1
    rows.write_bytes(data)


def lose(folder: Path) -> None:
    only(folder, ".f32").unlink()


def tear(folder: Path) -> None:
    manifest = only(folder, ".json")
    manifest.write_text(manifest.read_text()[:-30])


def scribble(folder: Path) -> None:
    only(folder, ".json").write_bytes(b"\xff\xfe{[")


def empty(folder: Path) -> None:
    only(folder, ".json").write_text("")


def forge(folder: Path) -> None:
    manifest = only(folder, ".json")
    manifest.write_text(manifest.read_text().replace('"count": 5', '"count": 4'))


def rename(folder: Path) -> None:
    only(folder, ".json").rename(folder / "dense-of-another.json")


def seal_again(folder: Path, **fields: object) -> None:
    manifest = only(folder, ".json")
    found = {**json.loads(manifest.read_text()), **fields}
    del found["digest"]
    manifest.write_text(json.dumps({**found, "digest": matrices._seal(found)}))


DAMAGE: dict[str, Callable[[Path], None]] = {
    **{call.__name__: call for call in (cut, flip, lose, tear, scribble, empty, forge, rename)},
    "another version": lambda folder: seal_again(folder, shape=matrices.SHAPE + 1),
    "another ledger": lambda folder: seal_again(folder, ledger="another"),
    "another chain": lambda folder: seal_again(folder, chain="ff"),
    "a later position": lambda folder: seal_again(folder, position=99),
    "other documents": lambda folder: seal_again(folder, documents=1),
    "another field": lambda folder: seal_again(folder, more=1),
    "no vectors": lambda folder: seal_again(folder, count=0),
    "rows elsewhere": lambda folder: seal_again(folder, rows="../search/rows.f32"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_as_it_was_written_is_not_used_and_is_made_anew(
    folder: Path, pool: Documents, damage: str
) -> None:
    DAMAGE[damage](folder)
    found = Vectors(folder, LEDGER, pool.link)
    assert found.stored(pool) == []
    arm = DenseArm(found, pool, NUMBERS)
    assert refused(lambda: arm.search("1 0", view(5))).reason is Gap.VECTORS_UNAVAILABLE
    assert found.follow(pool, pool.texts, NUMBERS) == 5
    assert found.save(pool)
    assert loaded(folder, pool) == [Stored("numbers", 2, 5)]
    assert len(list(folder.glob("dense-*"))) == 2
    expected = listed(DenseArm(followed(pool), pool, NUMBERS).search("1 0", view(5)), 9)
    again = DenseArm(Vectors(folder, LEDGER, pool.link), pool, NUMBERS)
    assert listed(again.search("1 0", view(5)), 9) == expected


def test_another_history_does_not_use_what_is_saved(folder: Path) -> None:
    other = pool_of("1 0", "0 1", "", "0.6 0.8", "0.5 0.5")
    assert loaded(folder, other) == []
    assert loaded(folder, pool_of("1 0", "0 1")) == []  # a log that has not come so far


def test_what_another_process_saves_is_found(folder: Path, pool: Documents) -> None:
    mine = Vectors(folder, LEDGER, pool.link)
    arm = DenseArm(mine, pool, NUMBERS)
    assert arm.search("1 0", view(5)).total == 4
    pool.add("3 4")
    assert refused(lambda: arm.search("1 0", view(6))).reason is Gap.NOT_READY
    theirs = followed(pool, folder=folder)
    assert theirs.save(pool)
    assert arm.search("1 0", view(6)).total == 5


def test_of_two_that_save_the_further_one_stays(folder: Path, pool: Documents) -> None:
    behind = Vectors(folder, LEDGER, pool.link)
    pool.add("3 4")
    behind.follow(pool, pool.texts, NUMBERS)
    pool.add("4 3")
    assert followed(pool, folder=folder).save(pool)
    assert behind.save(pool)
    assert loaded(folder, pool) == [Stored("numbers", 2, 7)]
    assert DenseArm(behind, pool, NUMBERS).search("1 0", view(7)).total == 6


def test_a_disk_that_refuses_is_no_error(tmp_path: Path, pool: Documents) -> None:
    (tmp_path / "search").write_text("in the way")
    found = followed(pool, folder=tmp_path / "search")
    assert not found.save(pool)
    assert DenseArm(found, pool, NUMBERS).search("1 0", view(5)).total == 4
    assert not followed(pool).save(pool)  # in memory there is nowhere


def test_while_another_process_is_writing_nothing_is_saved(
    folder: Path, pool: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrices, "_PATIENCE", 0.05)
    lock = LockFile(str(folder / "dense.lock"))
    assert lock.acquire(1)
    pool.add("3 4")
    found = followed(pool, folder=folder)
    assert not found.save(pool)
    lock.close()
    assert found.save(pool)
    assert loaded(folder, pool) == [Stored("numbers", 2, 6)]


def test_many_that_save_at_once_leave_what_can_be_used(tmp_path: Path, pool: Documents) -> None:
    def save(count: int) -> bool:
        some = pool_of(*pool.said[:count])  # as far as a process has come with the log
        found = Vectors(tmp_path, LEDGER, pool.link)
        found.follow(some, some.texts, NUMBERS)
        return found.save(some)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(save, (3, 5, 4, 5)))
    assert loaded(tmp_path, pool) == [Stored("numbers", 2, 5)]
    assert len(list(tmp_path.glob("dense-*"))) == 2
