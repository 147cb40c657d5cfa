"""The compact tables against plain lists and dictionaries, sealed at any moment."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from doxa.engine import tables
from doxa.engine.numbers import Keys, Lists, Numbers, Series
from doxa.engine.tables import NONE, Ids, Index, Names, Objects, Strings, prime, text_hash

HOSTILE = (
    "", "\0", "\0\0", "a", "a\0", "a\0\0\0", "\0a", "é", "e\u0301", "😀", "\ud800", "\udfff\ud800",
    "\U0010ffff", "x" * 255, "x" * 256, "x" * 257, "x" * 258, "x" * 1_000,
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=6), st.text(alphabet="ab\0", max_size=9)
)
keys = st.one_of(st.integers(-3, 8), st.integers(-(2**63), 2**63 - 1))
values = st.one_of(st.integers(0, 5), st.integers(NONE, 2**31 - 1))
workspaces = st.one_of(st.integers(0, 3), st.just(2**31 - 1))


def colliding(secret: int, text: str) -> str:
    """Another text with the hash of a text: its number plus a multiple of the secret."""
    number = int.from_bytes(text.encode(), "big")
    for times in range(1, 100_000_000):
        found = number + times * secret
        raw = found.to_bytes((found.bit_length() + 7) // 8, "big")
        if raw.isascii():
            return raw.decode()
    raise AssertionError("no text of that hash")


# ---------------------------------------------------------------- one machine for all tables


class Tables(RuleBasedStateMachine):
    """Tables that are added to, sealed and asked in any order, beside what they should hold."""

    @initialize()
    def begin(self) -> None:
        self.strings, self.objects, self.names = Strings(), Objects(), Names()
        self.numbers, self.lists, self.series, self.ids = Numbers(), Lists(), Series(), Ids()
        self.said: list[str] = []
        self.things: list[Any] = []
        self.codes: dict[str, int] = {}
        self.by_key: dict[int, int] = {}
        self.by_list: dict[int, list[int]] = {}
        self.rows: list[list[int]] = []
        self.entities: dict[tuple[int, str], int] = {}
        self.arrived: list[tuple[int, str, int]] = []

    @rule(text=texts)
    def say(self, text: str) -> None:
        self.strings.append(text)
        self.said.append(text)

    @rule(more=st.lists(texts, max_size=5))
    def say_several(self, more: list[str]) -> None:
        self.strings.live.extend(more)
        self.said += more

    @rule(
        thing=st.recursive(
            st.one_of(
                st.none(), st.booleans(), st.integers(),
                st.floats(allow_nan=False, allow_infinity=False),
                st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            ),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.text("ab\0é", max_size=2), inner, max_size=3),
            max_leaves=6,
        )
    )  # fmt: skip
    def put_thing(self, thing: Any) -> None:
        self.objects.append(thing)
        self.things.append(thing)

    @rule(text=texts)
    def name(self, text: str) -> None:
        assert self.names.find(text) == self.codes.get(text, NONE)
        assert self.names.code(text) == self.codes.setdefault(text, len(self.codes))

    @rule(key=keys, value=values)
    def set_number(self, key: int, value: int) -> None:
        self.numbers[key] = value
        self.by_key[key] = value

    @rule(key=keys, value=values)
    def add_to_list(self, key: int, value: int) -> None:
        self.lists.add(key, value)
        self.by_list.setdefault(key, []).append(value)

    @rule(key=keys, value=values)
    def change_own_list(self, key: int, value: int) -> None:
        self.lists.own(key).insert(0, value)
        self.by_list.setdefault(key, []).insert(0, value)

    @rule(key=keys, put=st.lists(values, max_size=4))
    def put_list(self, key: int, put: list[int]) -> None:
        self.lists.put(key, list(put))
        self.by_list[key] = list(put)

    @rule(row=st.lists(values, max_size=4))
    def add_row(self, row: list[int]) -> None:
        self.series.append(row)
        self.rows.append(row)

    @rule(workspace=workspaces, id=texts, number=st.integers(0, 2**31 - 1))
    def arrive(self, workspace: int, id: str, number: int) -> None:
        if (workspace, id) not in self.entities:
            self.ids.add(workspace, id, number)
            self.entities[workspace, id] = number
            self.arrived.append((workspace, id, number))

    @rule(
        several=st.lists(st.tuples(workspaces, texts, st.integers(0, 2**31 - 1)), max_size=5),
        one=st.booleans(),
    )
    def arrive_together(self, several: list[tuple[int, str, int]], one: bool) -> None:
        fresh: dict[tuple[int, str], int] = {}
        for workspace, id, number in several:
            place = (several[0][0] if one else workspace, id)
            if place not in self.entities:
                fresh.setdefault(place, number)
        if fresh:
            places, ids = zip(*fresh, strict=True)
            self.ids.extend(places, ids, list(fresh.values()))
            self.entities |= fresh
            self.arrived += [(*place, number) for place, number in fresh.items()]

    @rule(which=st.integers(0, 63))
    def seal(self, which: int) -> None:
        every: tuple[Any, ...] = (
            self.strings, self.objects, self.names, self.numbers, self.lists, self.ids,
        )  # fmt: skip
        for bit, table in enumerate(every):
            if which >> bit & 1:
                table.seal()

    @rule(text=texts, key=keys, workspace=workspaces)
    def ask(self, text: str, key: int, workspace: int) -> None:
        assert self.names.find(text) == self.codes.get(text, NONE)
        assert self.numbers.get(key) == self.by_key.get(key, NONE)
        assert (key in self.numbers) == (self.by_key.get(key, NONE) != NONE)
        assert list(self.lists.get(key)) == self.by_list.get(key, [])
        assert (key in self.lists) == bool(self.by_list.get(key))
        assert self.ids.find(workspace, text) == self.entities.get((workspace, text), NONE)
        assert self.ids.find(NONE, text) == NONE

    @invariant()
    def hold_what_they_were_given(self) -> None:
        if not hasattr(self, "said"):
            return
        assert len(self.strings) == len(self.said)
        assert list(self.strings) == self.said
        assert len(self.objects) == len(self.things)
        for n, thing in enumerate(self.things):
            assert same(self.objects[n], thing)
            assert same(json.loads(self.objects.text(n)), thing)
        assert [self.names.find(text) for text in self.codes] == list(self.codes.values())
        assert list(self.names.texts) == list(self.codes)
        assert len(self.names) == len(self.codes)
        assert dict(self.numbers.items()) == self.by_key
        assert len(list(self.numbers.items())) == len(self.by_key)
        assert {key: list(found) for key, found in self.lists.items()} == self.by_list
        assert sorted(self.lists.keys()) == sorted(self.by_list)
        assert bool(self.lists) == bool(self.by_list)
        assert [list(self.series[n]) for n in range(len(self.series))] == self.rows
        assert [self.ids.find(*place) for place in self.entities] == list(self.entities.values())
        assert len(self.ids) == len(self.arrived)
        assert list(self.ids.texts) == [id for _, id, _ in self.arrived]
        assert list(self.ids.workspace) == [workspace for workspace, _, _ in self.arrived]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the very same: 1 is not 1.0, nor True."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


TestTables = Tables.TestCase
TestTables.settings = settings(stateful_step_count=25)


# ---------------------------------------------------------------- texts that fall together


@given(found=st.lists(texts, max_size=30), secret=st.builds(prime))
def test_the_hashes_of_many_texts_are_those_of_each(found: list[str], secret: int) -> None:
    raw = [text.encode("utf-8", "surrogatepass") for text in found]
    ends = np.cumsum([0, *map(len, raw)])
    hashes = tables._text_hashes(b"".join(raw), ends, secret)
    assert hashes.tolist() == [text_hash(text, secret) for text in raw]
    assert all(0 <= hash < secret < 2**30 for hash in hashes.tolist())


def test_texts_of_one_hash_are_told_apart() -> None:
    names, ids = Names(), Ids()
    one = "the first text"
    other = colliding(names.secret, one)
    assert text_hash(other.encode(), names.secret) == text_hash(one.encode(), names.secret)
    assert [names.code(text) for text in (one, other, "a", "a\0", "a\0\0")] == [0, 1, 2, 3, 4]
    ids.secret, ids.spread = names.secret, names.spread
    for workspace in (0, 1):
        for n, text in enumerate((one, "a", "a\0")):
            ids.add(workspace, text, 10 * workspace + n)
    for _ in range(2):
        found = [names.find(text) for text in (one, other, "a", "a\0", "a\0\0", "a\0\0\0")]
        assert found == [0, 1, 2, 3, 4, NONE]
        assert [ids.find(0, text) for text in (one, other, "a", "a\0")] == [0, NONE, 1, 2]
        assert [ids.find(1, text) for text in (one, other, "a", "a\0")] == [10, NONE, 11, 12]
        assert ids.find(2, one) == NONE
        names.seal()
        ids.seal()
    assert names.code(other) == 1
    assert names.code("a\0\0\0") == 5


def test_texts_of_a_megabyte_are_told_apart() -> None:
    large = "é" * (1 << 19)
    several = [large, large + "!", "!" + large, large[:-1], "", large * 2, large + "\0"]
    names, ids, strings = Names(), Ids(), Strings()
    for n, text in enumerate(several):
        assert names.code(text) == n
        ids.add(1, text, n)
        strings.append(text)
    for table in (names, ids, strings):
        table.seal()
    for n, text in enumerate(several):
        assert (names.find(text), ids.find(1, text), ids.find(0, text)) == (n, n, NONE)
        assert strings[n] == names.texts[n] == text
    assert names.find(large + "\0\0") == NONE


def test_an_id_of_ten_thousand_workspaces_is_found_in_each() -> None:
    ids = Ids()
    ids.extend(range(10_000), ["c1"] * 10_000, range(10_000))
    ids.seal()
    assert [ids.find(workspace, "c1") for workspace in range(10_000)] == list(range(10_000))
    assert ids.find(10_000, "c1") == NONE
    index = ids.index
    assert index is not None
    assert longest_bucket(index) < 40


@pytest.mark.parametrize("count", [1, 2, 3, 1_000, 4_096, 50_000])
def test_every_key_of_a_sealed_table_is_found_in_its_bucket(count: int) -> None:
    for spread_out in (False, True):
        numbers = Numbers()
        wanted = {(n << 32 | n) if spread_out else n - count // 2: n for n in range(count)}
        for key, n in wanted.items():
            numbers[key] = n
        numbers.seal()
        assert all(numbers.get(key) == n for key, n in wanted.items())
        assert numbers.get(count + 1) == NONE
        keys = Keys.over(np.array(list(wanted), dtype=np.int64))
        assert [keys.find(key) for key in wanted] == list(range(count))
        assert longest_bucket(keys.index) < 40


def longest_bucket(index: Index) -> int:
    return int(np.diff(np.asarray(index.heads)).max())


@given(hashes=st.lists(st.sampled_from((0, 1, 2**30, 2**31 - 2, 2**31 - 1)), min_size=1))
def test_an_index_holds_every_number_once_in_the_bucket_of_its_hash(hashes: list[int]) -> None:
    index = Index.over(np.array(hashes, dtype=np.int64), np.arange(len(hashes)))
    heads = list(index.heads)
    assert heads[0] == 0
    assert heads[-1] == len(hashes)
    assert heads == sorted(heads)
    for n, hash in enumerate(hashes):
        bucket = hash >> index.shift
        assert (hash << 32 | n) in list(index.entries[heads[bucket] : heads[bucket + 1]])


# ---------------------------------------------------------------- readers beside the writer


def beside(write: Callable[[int], None], read: Callable[[int], None], steps: int) -> None:
    """Writes step by step while three threads read what has been written."""
    done, failed = [0], list[BaseException]()

    def reading() -> None:
        try:
            while done[0] < steps and not failed:
                read(done[0])
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=reading) for _ in range(3)]
    for thread in readers:
        thread.start()
    try:
        for step in range(steps):
            write(step)
            done[0] = step + 1
    finally:
        done[0] = steps
        for thread in readers:
            thread.join(60)
    assert failed == []


def lately(upto: int) -> Iterator[int]:
    """Some of the steps up to one, the newest among them."""
    yield from (n for n in (0, upto // 2, upto - 2, upto - 1) if 0 <= n < upto)


def test_readers_find_what_is_there_while_the_writer_adds_and_seals() -> None:
    names, ids, numbers, lists, objects = Names(), Ids(), Numbers(), Lists(), Objects()

    def write(n: int) -> None:
        assert names.code(f"text {n}") == n
        objects.append([n])
        ids.add(n % 3, f"id {n // 3}", n)
        numbers[n << 32] = n
        lists.add(n, n)
        lists.add(n % 7, n)
        if n % 50 == 49:
            for table in (names, ids, numbers, lists, objects):
                table.seal()

    def read(upto: int) -> None:
        for n in lately(upto):
            assert names.find(f"text {n}") == n
            assert names.texts[n] == f"text {n}"
            assert objects[n] == [n]
            assert ids.find(n % 3, f"id {n // 3}") == n
            assert ids.texts[n] == f"id {n // 3}"
            assert numbers.get(n << 32) == n
            assert n in list(lists.get(n))
            assert n in list(lists.get(n % 7))

    beside(write, read, 1_500)
