"""A log that is read all at once, against the same log taken in commit by commit."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.engine import bulk, codec
from doxa.engine import events as ev
from doxa.engine.errors import NewerFormat
from doxa.engine.fold import Fold
from doxa.engine.graph import NONE, SOURCE
from doxa.engine.history import History
from doxa.engine.log import Row
from doxa.engine.times import NEG, POS
from doxa.engine.view import TruthView
from doxa.ledger import Ledger
from tests.histories import GRID, INSTANTS, SOURCES, SUBJECTS, Author, Fields
from tests.trials import few, walking
from tests.walks import Step, Walk

LENGTH = 14

# ---------------------------------------------------------------- two ways to one fold


class Log:
    """Stored rows, taken in either way."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def decoded(self, position: int) -> ev.Event:
        row = self.rows[position - 1]
        return codec.decode(row.type, row.head, row.data)

    def one_by_one(self) -> Fold:
        """The fold, made of whole events and commits, as appending makes it."""
        fold = Fold(self.decoded)
        for recorded_at, commit in groupby(self.rows, lambda row: row.recorded_at):
            rows = list(commit)
            events = [codec.decode(row.type, row.head, row.data) for row in rows]
            fold.apply(rows[0].position, recorded_at, events)
        return fold

    def at_once(self, random: Random | None = None) -> Fold:
        """The fold, made of pages that end anywhere, and sealed now and then."""
        fold = Fold(self.decoded)
        if random is None:
            fold.follow([self.rows] if self.rows else [])
            return fold
        left = self.rows
        while left:
            several = []
            for _ in range(random.choice((1, 2, 5))):
                size = random.choice((1, 2, 3, 7, 20, len(left) or 1))
                several.append(left[:size])
                left = left[size:]
            several = [page for page in several if page]
            # what is followed ends with a commit, as it does in a log
            while left and left[0].recorded_at == several[-1][-1].recorded_at:
                several[-1].append(left[0])
                left = left[1:]
            fold.follow(several)
            if random.random() < 0.3:
                fold.seal()
        return fold


# ---------------------------------------------------------------- what a fold holds, in words


class Picture:
    """All that a fold holds, with texts for codes and names for rows, to be compared."""

    def __init__(self, fold: Fold) -> None:
        self.fold, self.belief, self.graph = fold, fold.belief, fold.belief.graph

    def text(self, code: int) -> str | None:
        return None if code == NONE else self.graph.names.texts[code]

    def source(self, row: int) -> object:
        graph = self.graph
        return None if row == NONE else (self.text(graph.r_ws[row]), self.text(graph.r_name[row]))

    def entity(self, number: int) -> object:
        return self.source(number >> 3) if number & 7 == SOURCE and number != NONE else number

    def columns(self) -> Iterator[tuple[str, object]]:
        """The columns and edges of the graph, by name."""
        graph = self.graph
        texts = {
            "c_ws", "c_subject", "c_predicate", "c_perspective", "c_kind", "s_origin", "s_digest",
            "k_ws", "w_ws", "a_ws", "p_ws",
        }  # fmt: skip
        sources = {"s_source", "k_source"}
        of_sources = {"r_ws", "r_name", "r_first_support", "_sources", "_first_subject"}
        keyed_by_source = {"r_corrections"}
        for name, value in vars(graph).items():
            if name in of_sources:
                continue
            if isinstance(value, array | bytearray):
                column = list(value)
                if name in texts:
                    yield name, [self.text(code) for code in column]
                elif name in sources:
                    yield name, [self.source(row) for row in column]
                elif name == "w_target":
                    yield name, [self.entity(number) for number in column]
                else:
                    yield name, column
            elif name in keyed_by_source:
                yield name, {self.source(key): list(rows) for key, rows in value.items() if rows}
        for name in (
            "extra_supports", "dependents", "corrections_of", "replaces", "s_because",
            "k_candidates", "resolvers_of", "contradictions", "p_claims", "verifications",
            "pinnings",
        ):  # fmt: skip
            yield name, {key: list(rows) for key, rows in getattr(graph, name).items() if rows}
        yield (
            "withdrawals_of",
            {self.entity(number): list(rows) for number, rows in graph.withdrawals_of.items()},
        )
        yield (
            "sources_named",
            {
                self.text(code): {self.source(row) for row in rows}
                for code, rows in graph.sources_named.items()
            },
        )
        yield "sources", {self.source(row) for row in range(len(graph.r_name))}
        for name in ("a_facts", "a_supports", "a_citations"):
            series = getattr(graph, name)
            yield name, [list(series[row]) for row in range(len(series))]
        yield (
            "a_sources",
            [[self.source(row) for row in graph.a_sources[a]] for a in range(len(graph.a_sources))],
        )
        yield (
            "a_subjects",
            [
                [self.text(code) for code in graph.a_subjects[a]]
                for a in range(len(graph.a_subjects))
            ],
        )
        yield "objects", [json.dumps(graph.c_object[row]) for row in range(len(graph.c_object))]
        yield "ids", list(graph.ids.texts)
        yield "entities", list(graph.ids.number)
        yield "workspaces", [self.text(code) for code in graph.ids.workspace]
        yield "k_resolves", dict(graph.k_resolves.items())
        for name in ("pins_in", "calibrations"):
            lists = getattr(graph, name)
            yield name, {self.text(code): list(rows) for code, rows in lists.items()}
        yield "p_pinned", dict(graph.p_pinned.items())
        yield "p_predicate", {r: self.text(code) for r, code in graph.p_predicate.items()}
        yield (
            "single_valued",
            {
                self.text(code): {self.text(ws): rows for ws, rows in places.items()}
                for code, places in graph.single_valued.items()
            },
        )
        yield "revisions", {self.text(ws): list(lasts) for ws, lasts in graph.revisions.items()}
        yield (
            "dangling",
            {(self.text(ws), id): rows for (ws, id), rows in graph._dangling.items() if rows},
        )
        yield "unresolved", set(graph.k_unresolved)
        yield "head", (graph.position, graph.recorded_at)

    def chains(self) -> Iterator[tuple[str, object]]:
        """What is found by walking: by subject, by key, by source."""
        graph = self.graph
        for claim in range(len(graph.c_pos)):
            subject, predicate = graph.c_subject[claim], graph.c_predicate[claim]
            for about in ((subject, None), (subject, predicate)):
                key = [None if code is None else self.text(code) for code in about]
                yield f"claims about {key}", list(graph.claims_about(*about))
        for row in range(len(graph.r_name)):
            yield f"supports from {self.source(row)}", list(graph.supports_from(row))

    def found(self) -> Iterator[tuple[str, object]]:
        """What every id leads to, in every workspace."""
        graph = self.graph
        places = {text for code in graph.revisions if (text := self.text(code)) is not None}
        for id in dict.fromkeys(graph.ids.texts):
            for place in (*sorted(places), "nowhere"):
                for name in (id, id + ev.CARRIED):
                    yield f"{name!r} in {place!r}", graph.find(place, name)

    def rows(self, history: History, entities: bool) -> list[object]:
        """The rows of a history, each with all before it."""

        def row(at: int) -> tuple[object, ...]:
            own = self.entity(history.owner[at]) if entities else history.owner[at]
            return (
                str(own), history.low[at], history.high[at], history.code[at], history.known[at],
                history.until[at], history.depth[at],
                *([] if history.before[at] == NONE else [row(history.before[at])]),
            )  # fmt: skip

        return sorted(map(row, range(len(history))), key=repr)

    def changes(self) -> Iterator[tuple[str, object]]:
        """What changed from each commit to each later one."""
        lasts = [0, *self.graph.commit_last]
        registry = self.fold.registry
        for n, after in enumerate(lasts):
            for upto in lasts[n + 1 :: 3]:
                between = f"in ({after}, {upto}]"
                yield f"changed {between}", self.belief.changed_between(after, upto)
                yield f"reached {between}", registry.reached_between(after, upto)
        for claim in range(len(self.graph.c_pos)):
            yield f"changes of {claim}", self.belief.changes_of(claim)

    def registry(self) -> Iterator[tuple[str, object]]:
        """What the registry answers of each artefact."""
        registry, graph = self.fold.registry, self.graph
        for artefact in range(len(graph.a_pos)):
            yield f"reaches of {artefact}", registry.reaches(artefact, 0, graph.position)
            yield f"marks of {artefact}", registry.marks(artefact, NEG, POS)
            for k in graph.commit_last:
                yield (
                    f"{artefact} at {k}",
                    [registry.judge(artefact, v, k) for v in INSTANTS[::4]],
                )
        for v in INSTANTS[::5]:
            yield f"marked after {v}", registry.marked_between(v, POS)
            yield f"flipped by {v}", registry.flipped_since_registration(v, graph.position)
        yield "watched", registry.watches_claims()

    def views(self) -> Iterator[tuple[str, object]]:
        """What is listed, in the order in which it is."""
        for workspace in ("", "w"):
            for k in list(self.graph.commit_last)[::2]:
                view = TruthView(
                    self.belief,
                    self.fold.registry.payload,
                    valid_at=GRID[3],
                    revision=k,
                    workspace=workspace,
                )
                yield f"entries of {workspace!r} at {k}", view.entries()
                yield (
                    f"claims of {workspace!r} at {k}",
                    [(c.id, str(c.standing)) for c in view.claims(standing="any")],
                )

    def all(self) -> Iterator[tuple[str, object]]:
        yield from self.columns()
        yield from self.chains()
        yield from self.found()
        yield "beliefs", self.rows(self.belief.beliefs, False)
        yield "extents", self.rows(self.belief.extents, True)
        yield from self.changes()
        yield from self.views()
        yield from self.registry()


def differences(one: Fold, other: Fold) -> Iterator[str]:
    """What two folds of one log hold otherwise."""
    ours, theirs = dict(Picture(one).all()), dict(Picture(other).all())
    assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
    for name, value in ours.items():
        if value != theirs[name]:
            yield f"{name}: one by one {value!r:.2000}, at once {theirs[name]!r:.2000}"


def check(rows: Iterable[Row], random: Random | None = None) -> Fold:
    """Holds the two ways against one another; returns the fold made at once."""
    log = Log(rows)
    at_once = log.at_once(random)
    found = next(differences(log.one_by_one(), at_once), None)
    assert found is None, found
    return at_once


def rows_of(ledger: Ledger) -> list[Row]:
    return [row for page in ledger.recorder.read_rows(0) for row in page]


# ---------------------------------------------------------------- random logs


def plain(author: Author, random: Random, count: int) -> list[Fields]:
    """A commit of claims with a source, or with none, and nothing else about them."""
    workspace = random.choice(("", "", "w", "x"))
    made = []
    for _ in range(count):
        place = workspace if random.random() < 0.9 else "w"
        claim: Fields = {"event": "claim", "id": author._fresh(place, "claim"), "workspace": place}
        claim |= {"subject": random.choice((*SUBJECTS, "𝄞", "")), "predicate": "plain"}
        claim["object"] = random.choice((1, 1.5, None, "é", [1, {"a": []}], {"b": 1, "a": 2}))
        if random.random() < 0.3:
            claim["kind"] = random.choice(("hypothesis", "note"))
        if random.random() < 0.3:
            claim["perspective"] = "ada"
        if random.random() < 0.3:
            claim["text"] = "words"
        if random.random() < 0.8:
            claim["source"] = author._source()
            if random.random() < 0.3:
                claim["source"] = {"id": random.choice(SOURCES), "observed_at": "2024-01-02"}
        author._bounds(claim)
        made.append(claim)
    return made


def wander(random: Random, walk: Walk, length: int) -> None:
    """A log of every sort of commit, many of which are of plain claims alone."""
    author, now = Author(random), GRID[2]
    for _ in range(length):
        chance = random.random()
        if chance < 0.35:
            events = plain(author, random, random.choice((1, 1, 2, 4, 9)))
        elif chance < 0.5:
            events = [*plain(author, random, random.choice((1, 3))), *author.commit()]
            random.shuffle(events)
        else:
            events = author.commit()
        if walk.take(Step("append", events, now)):
            author.learn(events)


def random_rows(seed: int, length: int = LENGTH) -> list[Row]:
    with walking(False) as walk:
        wander(Random(seed), walk, length)
        return rows_of(walk.ledger)


@settings(max_examples=settings().max_examples * 2)
@given(seed=st.integers(0, 2**48), children=st.sampled_from((16, 1)))
def test_a_log_read_at_once_is_the_log_taken_in_event_by_event(seed: int, children: int) -> None:
    with few(children):
        check(random_rows(seed), Random(seed))


@given(seed=st.integers(0, 2**48))
def test_erased_content_is_read_at_once_as_it_is_one_by_one(seed: int) -> None:
    random = Random(seed)
    rows = [row._replace(data=None) if random.random() < 0.15 else row for row in random_rows(seed)]
    check(rows, random)


# ---------------------------------------------------------------- versions


def older(row: Row) -> Row:
    """A row as it would have been stored before claims and supports had what version 1 has."""
    head = json.loads(row.head)
    return row._replace(head=json.dumps(head | {"v": 0}).encode())


@given(seed=st.integers(0, 2**48))
def test_events_of_an_older_version_are_brought_up_to_date_in_their_place(seed: int) -> None:
    random = Random(seed)
    rows = [older(row) if random.random() < 0.15 else row for row in random_rows(seed)]

    def renamed(head: Fields, data: Fields) -> None:
        if data.get("predicate") == "plain":
            data["predicate"] = "p"

    steps = {(kind, 0): renamed for kind in ev.CLASSES}
    with patch.dict(codec._UPCASTS, steps):
        check(rows, random)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_event_of_a_newer_version_is_refused_where_it_stands(ledger: Ledger, at: int) -> None:
    for commit in ([claim("a")], [claim("b"), support("s", "b")], [claim("c")]):
        ledger.append(commit)
    rows = rows_of(ledger)
    head = json.loads(rows[at].head)
    rows[at] = rows[at]._replace(head=json.dumps(head | {"v": codec.VERSION + 1}).encode())
    log = Log(rows)
    for way in (log.one_by_one, log.at_once):
        with pytest.raises(NewerFormat, match=f"version {codec.VERSION + 1}"):
            way()


def test_fields_that_are_not_known_are_read_by_whoever_knows_them(ledger: Ledger) -> None:
    ledger.append([claim("a"), claim("b")])
    rows = rows_of(ledger)
    head = json.loads(rows[0].head)
    rows[0] = rows[0]._replace(head=json.dumps(head | {"note": "a later field"}).encode())
    fold = check(rows)
    assert list(fold.belief.graph.c_pos) == [1, 2]


# ---------------------------------------------------------------- what bears on plain claims


def claim(id: str, object: Any = 1, **more: Any) -> Fields:
    basis = {} if "because" in more or "source" in more else {"source": "A"}
    about = {"subject": "s", "predicate": "p", "object": object}
    return {"event": "claim", "id": id} | about | basis | more


def support(id: str, claim: str, **more: Any) -> Fields:
    basis = {} if "because" in more else {"source": "B"}
    return {"event": "support", "id": id, "claim": claim} | basis | more


def withdraw(id: str, **more: Any) -> Fields:
    return {"event": "withdrawal", "id": id} | more


def correct(id: str, old: str, **more: Any) -> Fields:
    return {"event": "correction", "id": id, "corrects": old} | more


HALF = {"valid_to": "2024-06-01"}
SHARED_A = {"workspace": "", "id": "a"}
HISTORIES: dict[str, list[list[Fields]]] = {
    "nothing": [],
    "plain claims alone": [[claim("a")], [claim("b"), claim("c", workspace="w")], [claim("d")]],
    "a claim without a source": [[claim("a", source=None)], [claim("b", because=["a"])]],
    "one id in two workspaces": [
        [claim("a"), claim("a", workspace="w"), claim("a", workspace="x")],
        [support("s", "a", workspace="w"), support("s", "a", workspace="x", stance="refutes")],
        [withdraw("d", target="a", workspace="x")],
    ],
    "a source withdrawn before": [
        [claim("a")],
        [withdraw("d", source="A", **HALF)],
        [claim("b")],
        [claim("c"), support("s", "a", source="A")],
    ],
    "a source withdrawn after": [[claim("a")], [claim("b")], [withdraw("d", source="A", **HALF)]],
    "a source withdrawn in the same commit": [
        [claim("a")],
        [claim("b"), withdraw("d", source="A", **HALF), claim("c")],
        [claim("e")],
    ],
    "a source withdrawn and given back": [
        [claim("a")],
        [withdraw("d", source="A")],
        [withdraw("e", target="d")],
        [claim("b")],
        [claim("c"), support("s", "c")],
    ],
    "a source withdrawn in the shared workspace": [
        [claim("a"), claim("a", workspace="w")],
        [withdraw("d", source="A", **HALF)],
        [claim("b", workspace="w")],
        [claim("c", workspace="x")],
    ],
    "a source withdrawn in its own workspace": [
        [claim("a"), claim("a", workspace="w")],
        [withdraw("d", source="A", workspace="w", **HALF)],
        [claim("b", workspace="w"), claim("b")],
    ],
    "a predicate declared single-valued before, after and with": [
        [claim("a", 1)],
        [{"event": "policy", "id": "p", "single_valued": "p"}],
        [claim("b", 2)],
        [claim("c", 1, predicate="q"), {"event": "policy", "id": "q", "single_valued": "q"}],
        [claim("d", 2, predicate="q", workspace="w"), claim("e", 3, predicate="q")],
        [withdraw("w", target="p")],
        [claim("f", 3)],
    ],
    "a policy of another workspace": [
        [claim("z", workspace="w")],
        [{"event": "policy", "id": "p", "single_valued": "p", "workspace": "w"}],
        [claim("a", 1), claim("b", 2)],
        [claim("a", 1, workspace="w")],
    ],
    "a name that dangles": [
        [claim("a"), {"event": "correction", "id": "k", "unresolved": "b", "by": "a"}],
        [support("s", "a"), claim("c"), support("t", "c")],
        [claim("d")],
        [claim("x"), claim("b"), support("u", "b")],
        [claim("e")],
    ],
    "a name that dangles over bounds of its own": [
        [{"event": "correction", "id": "k", "unresolved": "b", "valid_from": "2024-03-01"}],
        [claim("b", **HALF), claim("c")],
        [withdraw("d", target="k")],
    ],
    "a name that dangles in the commit of its claim": [
        [{"event": "correction", "id": "k", "unresolved": "b"}, claim("b"), claim("c")],
        [claim("d")],
    ],
    "hypotheses": [
        [claim("a", kind="hypothesis"), claim("b", kind="hypothesis", source=None)],
        [claim("c", because=["a"]), support("s", "a"), support("t", "b")],
    ],
    "digests and origins": [
        [claim("a", source={"id": "A", "origin": "o", "digest": "d"})],
        [support("s", "a", source={"id": "B", "digest": "d"})],
        [support("t", "a", source={"id": "C", "origin": "o"}), claim("b", source={"id": "C"})],
        [support("u", "b", source={"id": "D", "observed_at": "2024-01-01"})],
    ],
    "a digest that makes two origins one": [
        [claim("a", source={"id": "A", "digest": "d"}), support("s", "a", source="B")],
        [support("t", "a", source={"id": "B", "digest": "d"})],
        [support("u", "a", source="C")],
    ],
    "references as mappings": [
        [claim("a"), claim("a", workspace="w")],
        [claim("b", because=[SHARED_A, "a"], workspace="w")],
        [support("s", "b", because=[SHARED_A], workspace="w", stance="refutes")],
        [withdraw("d", target="a")],
    ],
    "premises in the commit of their conclusion": [
        [claim("b", because=["a"]), claim("a"), support("s", "a", because=["b"])],
        [claim("c", because=["d"]), claim("d", source=None)],
    ],
    "portions": [
        [claim("a", valid_from="2024-01-01", **HALF), support("s", "a", **HALF)],
        [support("t", "a", valid_from="2024-03-01", stance="refutes")],
    ],
    "texts that watch": [
        [claim("a")],
        [
            {"event": "citation", "id": "q", "text": "t", "supports": ["a/support"],
             "binding": "snapshot", "subjects": ["s"]},
            claim("b", 2),
        ],
        [claim("c", 3)],
        [claim("d", subject="t"), support("s", "a")],
        [{"event": "summary", "id": "u", "text": "t", "citations": ["q"], "binding": "snapshot"}],
        [claim("e", subject="t")],
        [claim("f", workspace="w")],
    ],
    "claims that one event each changes": [
        [claim("a"), claim("b"), claim("c"), claim("d")],
        [withdraw("w", target="a", **HALF), correct("k", "b", by="c"), support("s", "d")],
        [claim("e", because=["d"]), claim("f", because=["d", "a"]), claim("g", because=["c"])],
        [correct("l", "d", **HALF), withdraw("x", target="c"), withdraw("y", target="e")],
        [claim("h", because=["c"]), claim("i", because=["a"])],
    ],
    "claims that two events of a commit change": [
        [claim("a"), claim("b"), claim("c")],
        [withdraw("w", target="a", **HALF), correct("k", "a", by="b"), correct("l", "c")],
        [claim("d"), withdraw("x", target="b", **HALF), support("s", "b")],
        [support("t", "d"), support("u", "d", source="C"), withdraw("y", target="l")],
        [claim("e"), correct("m", "e", **HALF), withdraw("z", target="m")],
    ],
    "a conclusion whose premise falls with it": [
        [claim("a"), claim("b"), support("s", "b")],
        [claim("c", because=["a"]), withdraw("w", target="a", **HALF)],
        [claim("d", because=["b"]), withdraw("x", target="b"), claim("e", because=["b", "d"])],
    ],
    "what refutes comes back with its premise": [
        [claim("a"), claim("p"), claim("b")],
        [withdraw("w", target="p")],
        [support("r", "a", because=["p"], stance="refutes")],
        [withdraw("x", target="w"), withdraw("y", target="a", **HALF)],
    ],
    "a source that comes back before what it supports later": [
        [claim("a", source="A"), claim("b", source="B")],
        [withdraw("u", target="b", **HALF)],
        [withdraw("w", source="A", **HALF)],
        [withdraw("x", target="w")],
        [support("s", "b", source="A"), support("t", "a", source="A", **HALF)],
        [claim("c", because=["a"])],
    ],
    "what contradicts": [
        [claim("a"), claim("b", 2), claim("c")],
        [withdraw("w", target="a")],
        [{"event": "policy", "id": "p", "contradicts": ["a", "b"]}],
        [withdraw("x", target="w"), support("s", "c")],
        [withdraw("y", target="b", **HALF), support("t", "a")],
    ],
    "a text on what changes": [
        [claim("a"), claim("b", because=["a"]), claim("c")],
        [{"event": "summary", "id": "q", "text": "t", "facts": ["a", "c"]}],
        [support("s", "a"), withdraw("w", target="c", **HALF)],
        [claim("d"), correct("k", "a", **HALF)],
    ],
    "objects of every kind": [
        [claim(f"c{n}", object) for n, object in enumerate[Any](
            [None, True, 1, 1.0, -0.0, 1e300, 2**70, "", "\0", "\U0001f600", [], {},
             {"b": [1], "a": {}}]
        )],
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", HISTORIES)
def test_a_written_log_read_at_once_is_the_log_taken_in_event_by_event(
    ledger: Ledger, name: str
) -> None:
    for commit in HISTORIES[name]:
        ledger.append(commit)
    rows = rows_of(ledger)
    assert len(rows) == sum(map(len, HISTORIES[name]))
    check(rows)
    for seed in range(4):
        check(rows, Random(seed))


def test_the_ledger_itself_holds_what_its_log_makes(ledger: Ledger) -> None:
    """What grew by appending, with what was refused on the way, and what is read at once."""
    for commit in HISTORIES["a name that dangles"]:
        ledger.append(commit)
    (grown, _), again = ledger._stream.capture(), Log(rows_of(ledger)).at_once()
    assert next(differences(grown, again), None) is None


@given(seed=st.integers(0, 2**48))
def test_a_fold_that_grew_is_the_one_that_is_read_at_once(seed: int) -> None:
    with walking(False) as walk:
        wander(Random(seed), walk, LENGTH)
        grown, _ = walk.ledger._stream.capture()
        again = Log(rows_of(walk.ledger)).at_once(Random(seed))
        found = next(differences(grown, again), None)
        assert found is None, found


def test_commits_of_plain_claims_alone_settle_nothing(ledger: Ledger) -> None:
    for n in range(50):
        ledger.append([claim(f"c{n}", n), claim(f"d{n}", source={"id": f"S{n}"})])
    rows = rows_of(ledger)
    with patch.object(bulk, "settle") as settled:
        fold = Log(rows).at_once()
    assert settled.call_count == 0
    assert (fold.position, len(fold.belief.beliefs)) == (100, 0)
    assert list(fold.belief.graph.commit_last) == list(range(2, 101, 2))


def test_a_commit_may_go_on_over_many_pages(ledger: Ledger) -> None:
    ledger.append([claim("a")])
    ledger.append([claim(f"c{n}", n) for n in range(30)])
    ledger.append([withdraw("d", target="c3")])
    log = Log(rows_of(ledger))
    fold = Fold(log.decoded)
    fold.follow([row] for row in log.rows)
    assert list(fold.belief.graph.commit_last) == [1, 31, 32]
    assert next(differences(log.one_by_one(), fold), None) is None
