"""Purging in bad company: readers that hold on, other ledgers, killed processes, guesses."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.adapters.exchange.set_aside import set_aside
from doxa.engine import upkeep
from doxa.engine.errors import Erased, NotHeld, WasErased
from doxa.engine.tables import Names, text_hash
from doxa.ledger import Ledger
from doxa.projections import serving
from tests.test_purging import JUNE, purged

WORD = "zanzibar"


def held(folder: Path, word: str = WORD) -> list[str]:
    """The files below a folder that hold a word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if word.encode() in path.read_bytes())


class Reader:
    """Another program that keeps an old page of the log open."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "log.sqlite", isolation_level=None)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM log").fetchall()

    def end(self) -> None:
        self._connection.close()


def impatient(ledger: Ledger) -> Ledger:
    ledger.recorder._writer._timeout = 0.3
    return ledger


# ---------------------------------------------------------------- readers that hold on


def test_what_a_reader_keeps_is_pending_and_goes_when_the_purge_is_repeated(tmp_path: Path) -> None:
    with impatient(doxa.open(tmp_path)) as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.archive("a")
        reader = Reader(tmp_path)
        done = ledger.purge("a")
        assert [one.id for one in done.erased] == ["a"]
        assert done.revision == ledger.revision
        assert done.pending is not None
        assert "a reader still keeps its old bytes" in done.pending
        assert ledger.view(valid_at=JUNE).standing("a") == "redacted"
        assert "old bytes of it may still be there" in str(ledger.verify())
        assert ledger.purge("a").pending is not None
        reader.end()
        again = ledger.purge("a")
        assert (again.pending, again.already) == (None, ("a",))
        assert "old bytes" not in str(ledger.verify())
        assert held(tmp_path) == []


def test_an_append_that_erases_stands_though_a_reader_keeps_old_bytes(tmp_path: Path) -> None:
    with impatient(doxa.open(tmp_path)) as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.archive("a")
        reader = Reader(tmp_path)
        done = ledger.append([{"event": "policy", "id": "r", "redacted": [{"id": "a"}]}])
        assert (done.new, done.revision) == (1, ledger.revision)
        reader.end()
    with doxa.open(tmp_path):
        assert held(tmp_path) == []


# ---------------------------------------------------------------- other ledgers


def test_importing_an_erasure_erases_and_clears_here_too(tmp_path: Path) -> None:
    with doxa.open() as ledger, doxa.open(tmp_path) as replica:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.cite(f"{WORD}, it says", claim="a", id="q")
        replica.import_events(list(export_events(ledger)))
        replica.index()
        replica.sql("SELECT count(*) FROM beliefs")
        view = replica.view(valid_at=JUNE)
        assert replica.recall(WORD, view=view).hits
        ledger.archive(["a", "q"])
        ledger.purge("a", with_residue=True)
        lines = list(export_events(ledger))
        assert not replica.import_events(lines).set_aside
        assert held(tmp_path) == []
        assert view.standing("a") == "redacted"
        assert not replica.recall(WORD, view=view).hits
        assert list(export_events(replica)) == lines
        assert replica.recorder.scrubbed == replica.revision
        assert replica.verify().ok


# ---------------------------------------------------------------- what was looked up before


def test_a_claim_that_was_looked_up_before_says_that_it_is_redacted() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", None, id="a", source="s", text="in words")
        view = ledger.view(valid_at=JUNE)
        (listed,), found = view.claims(), view.claim("a")
        assert (found.standing, found.object, found.text) == ("reported", None, "in words")
        purged(ledger, "a")
        for item in (listed, found):
            assert (item.standing, item.held) == ("redacted", False)
            assert (item.subject, item.predicate, item.object, item.text) == ("", "", None, None)
            assert item.as_dict()["standing"] == "redacted"
            assert "redacted" in repr(item)


def test_a_question_that_a_purge_overtakes_has_the_old_answer_or_none() -> None:
    with doxa.open() as ledger:
        count = 60
        for number in range(count):
            ledger.claim(f"x{number}", "p", f"v{number}", id=f"c{number}", source="s")
        ledger.archive([f"c{n}" for n in range(count)])
        view, wrong, done = ledger.view(valid_at=JUNE), list[Any](), threading.Event()

        def ask() -> None:
            while not done.is_set():
                for number in range(count):
                    for question in (view.value, view.values):
                        try:
                            found = question(f"x{number}", "p")
                        except Erased:
                            continue
                        except NotHeld as error:
                            found = error
                        if found not in (f"v{number}", (f"v{number}",)):
                            wrong.append(found)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(count):
            ledger.purge(f"c{number}")
        done.set()
        for thread in threads:
            thread.join()
        assert wrong == []


# ---------------------------------------------------------------- what is left lying about


def test_what_killed_processes_left_half_written_goes(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
        left = [
            *("set-aside.jsonl.77", "cache/fold.doxa.77-00", "cache/search/words.doxa.77-00"),
            *("cache/search/dense-77.new", "cache/beliefs/tmp-77.duckdb.wal"),
        ]
        for name in left:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(WORD)
        purged(ledger, "a")
        assert held(tmp_path) == []


def test_a_line_set_aside_goes_whatever_way_it_names_what_is_purged(tmp_path: Path) -> None:
    shared = {"workspace": "", "id": "a"}
    bad: list[dict[str, Any]] = [
        {"event": "summary", "id": "n1", "text": WORD, "facts": ["a"], "valid_at": "no"},
        {"event": "summary", "id": "n2", "text": WORD, "supports": ["a/support"], "valid_at": "no"},
        {"event": "summary", "id": "n3", "text": WORD, "facts": [shared], "workspace": "w",
         "valid_at": "no"},
        {"event": "withdrawal", "id": "w1", "target": "a/support", "reason": WORD,
         "valid_from": "no"},
        {"event": "correction", "id": "k1", "unresolved": "x", "candidates": ["b", "a"],
         "reason": WORD, "valid_from": "no"},
        {"event": "policy", "id": "p1", "contradicts": ["b", "a"], "reason": WORD, "at": "no"},
        {"event": "summary", "id": "n4", "text": "kept", "facts": ["a"], "workspace": "w",
         "valid_at": "no"},
        {"event": "claim", "id": "c1", "subject": "a", "predicate": "a", "object": "kept",
         "valid_from": "no"},
    ]  # fmt: skip
    with doxa.open(tmp_path) as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.claim("x", "q", 1, id="b", source="s")
        ledger.import_events(map(json.dumps, bad))
        assert len(set_aside(ledger)) == len(bad)
        purged(ledger, "a")
        assert [kept.id for kept in set_aside(ledger)] == ["n4", "c1"]
        assert held(tmp_path) == []


# ---------------------------------------------------------------- guesses


@pytest.mark.parametrize("anew", [False, True])
def test_the_hash_of_a_name_that_is_gone_is_gone(anew: bool) -> None:
    names = Names()
    codes = [names.code(text) for text in ("", "kept", "gone", "last")]
    names.seal()
    names.blank(codes[2:3])
    if anew:
        names.code("later")
        names.seal()
    assert text_hash(b"gone", names.secret) not in names.hashes().tolist()
    assert [names.find(text) for text in ("", "kept", "gone", "last")] == [*codes[:2], -1, codes[3]]


def test_an_index_that_another_ledger_read_from_the_cache_is_made_anew(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as one, doxa.open(tmp_path) as other:
        one.claim("x", "p", WORD, id="a", source="s")
        one.claim("x", "q", "kept", id="b", source="s")
        one.index()
        # read as it lies there, with nothing to be added
        assert other.recall(WORD, view=other.view(valid_at=JUNE)).hits
        purged(one, "a")
        assert not other.recall(WORD, view=other.view(valid_at=JUNE)).hits
        assert other.index()["saved"]
        assert held(tmp_path) == []
        assert other.recall("kept", view=other.view(valid_at=JUNE)).hits


# ---------------------------------------------------------------- purging again


def test_what_is_said_of_a_purged_claim_later_by_a_policy_goes_when_it_is_purged_again() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        purged(ledger, "a")
        late = {"event": "policy", "id": "late", "archived": ["a"], "reason": f"{WORD} after all"}
        ledger.append([late])
        again = ledger.purge("a")
        assert [one.id for one in again.erased] == ["late"]
        assert (again.already, again.revision) == (("a",), ledger.revision)
        assert WORD not in "\n".join(export_events(ledger))
        assert ledger.purge("a").erased == ()
        assert ledger.verify().ok


def test_the_residue_of_an_earlier_purge_goes_when_it_is_asked_for_later() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", 1, id="a", source="s")
        ledger.cite("it says one", claim="a", id="q")
        ledger.summarize("one, says q", citations=["q"], id="n")
        assert [one.id for one in purged(ledger, "a").residue] == ["q"]
        assert [one.id for one in ledger.purge("a", dry_run=True).residue] == ["q"]
        done = ledger.purge("a", with_residue=True)
        assert [one.id for one in done.erased] == ["q", "n"]
        assert ledger.purge("a").residue == ()
        assert ledger.purge("a", with_residue=True).erased == ()
        assert ledger.verify().ok


@pytest.mark.parametrize("known", [True, False])
def test_a_text_that_rests_on_an_erased_quote_alone_is_not_served(known: bool) -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", WORD, id="a", source={"id": "s", "quote": f"{WORD} it is"})
        ledger.support("a", id="more", source={"id": "t", "quote": f"{WORD} too"})
        then = ledger.revision
        receipt = ledger.assemble(WORD, view=ledger.view(valid_at=JUNE)).receipt
        purged(ledger, "a")
        view = ledger.view(valid_at=JUNE, known_at=then if known else None)
        texts = [{"id": s, "text": WORD, "supports": [s]} for s in ("a/support", "more")]
        block = ledger.assemble("q", view=view, candidates=texts)
        assert WORD not in block.text
        assert {str(one.reason) for one in block.left_out} == {"missing_support"}
        assert WORD not in ledger.replay(receipt).text


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize("here", [True, False])
def test_who_waits_to_embed_while_a_claim_is_purged_gives_no_document_anothers_vector(
    tmp_path: Path, here: bool
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(text.rsplit(" ", 1)[-1])] for text in texts]

    embedder = doxa.Embedder("e", embed, dimension=2)
    with doxa.open(tmp_path, embedder=embedder) as ledger, doxa.open(tmp_path) as other:
        for number in range(20):
            ledger.claim("x", f"p{number}", number, id=f"c{number}", source="s")
        search = ledger._searching()
        search.follow()
        waiting = search.words.pool
        purged(ledger if here else other, "c3", "c7")
        search.follow()
        assert search.vectors.follow(waiting, search._said, embedder) == 0
        ledger.index()
        rows = search.vectors.rows(search.words.pool, "e", 2, 18)
        assert rows is not None
        found = rows.take(np.arange(18))
        left = [n for n in range(20) if n not in (3, 7)]
        assert np.allclose(found[:, 1] / found[:, 0], left)


# ---------------------------------------------------------------- written down too late


def test_what_a_process_wrote_down_of_before_and_was_killed_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PUBLISHED", 1)
    monkeypatch.setattr(upkeep, "FEW", 1)
    folder, aside = tmp_path / "l", tmp_path / "aside"
    with doxa.open(folder) as ledger:
        for number in range(50):
            ledger.claim(f"x{number}", "p", f"{WORD} {number}", id=f"c{number}", source="s")
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
    shutil.copytree(folder / "cache", aside)
    with doxa.open(folder) as ledger:
        purged(ledger, *(f"c{n}" for n in range(50)))
    shutil.rmtree(folder / "cache")
    shutil.copytree(aside, folder / "cache")
    monkeypatch.undo()  # too little has come since for anything to be written anew
    assert len(held(folder)) == 3
    with doxa.open(folder) as ledger:
        assert "fold.doxa" not in held(folder)
        assert not ledger.recall(WORD, view=ledger.view(valid_at=JUNE)).hits
        assert "words.doxa" not in held(folder)
        assert ledger.sql(f"SELECT * FROM claims WHERE object LIKE '%{WORD}%'").rows == []
        assert held(folder) == []


def test_tables_that_were_at_hand_before_a_purge_are_not_asked_after_it() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        ledger.sql("SELECT 1")
        served = ledger._serving()  # as a thread has it that is about to ask
        assert served.query("SELECT object FROM claims").num_rows == 1
        ledger._stream.on_erased = None
        ledger.archive("a")
        ledger.append([{"event": "policy", "id": "r", "redacted": [{"id": "a"}]}])
        found = served.query(f"SELECT * FROM claims WHERE object LIKE '%{WORD}%'")
        assert found.num_rows == 0


def test_a_purged_claim_is_not_replaced_or_rejected_by_its_id() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", WORD, id="a", source="s")
        purged(ledger, "a")
        before = ledger.revision
        for reject in (False, True):
            with pytest.raises(WasErased, match="'a' was erased"):
                ledger.correct("a", "new", reject=reject)
        with pytest.raises(WasErased, match="'a' was erased"):
            ledger.correct("a", reject=True)
        assert ledger.revision == before
        assert ledger.claim("y", "p", None, source="s")
