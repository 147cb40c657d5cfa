"""Purging by hand: what goes, what stays, and what is said of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.engine import codec
from doxa.engine.errors import CallerError, Erased, InvalidEvent, UnknownTarget, WasErased
from doxa.engine.purged import PurgeList
from doxa.ledger import Ledger
from doxa.oracle import Truth
from doxa.projections import serving
from doxa.stores import STORES, owner_of
from tests import children
from tests.test_purging_histories import anew

JUNE = "2024-06-01"


def purged(ledger: Ledger, *ids: str, **options: Any) -> Any:
    """What archiving and purging erased."""
    workspace = options.get("workspace", "")
    ledger.archive(ids, workspace=workspace)
    return ledger.purge(ids, **options)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(doxa.DoxaError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def ledger() -> Any:
    with doxa.open() as made:
        yield made


# ---------------------------------------------------------------- two steps


def test_only_what_is_archived_is_purged(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    with pytest.raises(InvalidEvent, match="'a' is not archived"):
        ledger.purge("a")
    assert ledger.revision == 1
    ledger.archive("a")
    ledger.restore("a")
    with pytest.raises(InvalidEvent, match="'a' is not archived"):
        ledger.purge("a")
    assert ledger.view(valid_at=JUNE).value("x", "p") == 1


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        ledger.claim("x", "p", 1, id="a", source="s")
        ledger.summarize("it is one", facts=["a"], id="n")
        ledger.archive("a")
        files = [p for p in tmp_path.rglob("*") if p.is_file() and not p.name.endswith("-shm")]
        before = {path: path.read_bytes() for path in files}
        planned = ledger.purge("a", dry_run=True)
        assert {path: path.read_bytes() for path in before} == before
        done = ledger.purge("a")
        assert (planned.erased, planned.residue) == (done.erased, done.residue)
        assert (planned.policy, planned.revision) == (None, None)
        assert done.revision == ledger.revision
        row = next(iter(ledger.recorder.rows([1])))
        assert row.data is None
        assert [one.bytes for one in done.erased] == [
            len(b'{"subject":"x","predicate":"p","object":1}')
        ]


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ("nobody", UnknownTarget, "is not in the shared workspace"),
        ([], CallerError, "ids is empty"),
        ("a/support", CallerError, "is a support"),
        ("w1", CallerError, "is a withdrawal"),
        (["a", "nobody"], UnknownTarget, "nobody"),
        ([3], UnknownTarget, "3 is not in"),
        (7, CallerError, "7"),
    ],
)
def test_what_can_not_be_purged_is_named_and_nothing_goes(
    ledger: Ledger, ids: Any, error: type[Exception], words: str
) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("x", "p", 2, id="b", source="s")
    ledger.withdraw("b", id="w1")
    ledger.archive("a")
    before = ledger.revision
    with pytest.raises(error, match=words):
        ledger.purge(ids)
    assert ledger.revision == before
    assert ledger.view(valid_at=JUNE).value("x", "p") == 1


def test_purging_again_erases_nothing_and_says_so(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    purged(ledger, "a")
    before = ledger.revision
    assert ledger.archive("a").ids == ()  # so that both steps can be repeated
    again = ledger.purge("a")
    assert (again.erased, again.already, again.policy) == ((), ("a",), None)
    assert ledger.revision == before


def test_an_erasure_is_not_withdrawn(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    purged(ledger, "a", id="gone")
    with pytest.raises(InvalidEvent, match="can't be brought back"):
        ledger.withdraw("gone")
    with pytest.raises(InvalidEvent, match="can't be brought back"):
        ledger.append(
            [
                {"event": "claim", "id": "n", "subject": "x", "predicate": "q", "object": 1},
                {"event": "withdrawal", "id": "w", "target": "gone"},
            ]
        )
    with pytest.raises(WasErased, match="does not come back"):
        ledger.restore("a")
    assert ledger.view(valid_at=JUNE).standing("a") == "redacted"


# ---------------------------------------------------------------- what goes with it


def test_with_a_claim_goes_what_was_said_of_it_alone(ledger: Ledger) -> None:
    ledger.claim("x", "p", "old", id="a", source={"id": "s", "quote": "old it is"})
    ledger.claim("x", "q", "other", id="b", source={"id": "s", "quote": "old it is"})
    ledger.support("a", id="s2", source={"id": "t", "quote": "surely old"})
    ledger.withdraw("s2", id="w1", reason="not so old")
    ledger.withdraw("w1", id="w2", reason="old after all")
    ledger.correct("a", "new", id="k", source="u", reason="old no more")
    ledger.verify_claim("a", id="v", reason="saw that it was old")
    ledger.score("a", 0.5, id="i", reason="old matters")
    ledger.policy(contradicts=["a", "b"], id="c", reason="old is not other")
    done = purged(ledger, "a")
    assert [one.id for one in done.erased] == ["a", "s2", "w1", "w2", "k", "v", "i"]
    assert done.residue == ()
    view = ledger.view(valid_at=JUNE)
    assert view.value("x", "p") == "new"
    assert view.value("x", "q") == "other"
    assert view.supports("b")[0].source == "s"
    text = "\n".join(export_events(ledger))
    assert "surely" not in text
    assert "no more" not in text
    assert text.count("old it is") == 1  # the quote in the other claim's support
    assert ledger.verify().ok


def test_a_contradiction_of_erased_claims_alone_loses_its_reason(ledger: Ledger) -> None:
    for name in "ab":
        ledger.claim("x", "p", name, id=name, source="s")
    ledger.policy(contradicts=["a", "b"], id="c", reason="secret reason")
    ledger.archive(["a", "b"])
    assert "c" not in [one.id for one in ledger.purge("a").erased]
    assert "secret reason" in "\n".join(export_events(ledger))
    assert "c" in [one.id for one in ledger.purge("b").erased]
    assert "secret reason" not in "\n".join(export_events(ledger))
    assert ledger.verify().ok


def test_residue_is_listed_and_goes_on_request_to_the_end_of_the_chain(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.cite("it says one", claim="a", id="q")
    ledger.summarize("one, says q", citations=["q"], id="n")
    ledger.claim("x", "q", 2, id="d", because=["a"])
    ledger.summarize("two", facts=["d"], id="m")
    ledger.summarize("of the source", sources=["s"], id="o")
    ledger.archive("a")
    assert [one.id for one in ledger.purge("a", dry_run=True).residue] == ["q", "d"]
    done = ledger.purge("a", with_residue=True)
    assert [one.id for one in done.erased] == ["a", "q", "n", "d", "m"]
    assert done.residue == ()
    view = ledger.view(valid_at=JUNE)
    assert [judged.eligible for judged in ledger.judge(["q", "n", "m", "o"], view)] == [
        *(False, False, False),
        True,
    ]
    assert ledger.verify().ok


def test_the_reason_of_an_archiving_goes_with_all_that_it_archived(ledger: Ledger) -> None:
    for name in "abc":
        ledger.claim("x", "p", name, id=name, source="s")
    ledger.archive(["a", "b"], reason="zanzibar called")
    ledger.restore("a", reason="zanzibar called again")
    ledger.archive("a", reason="zanzibar, once more")
    assert [one.kind for one in ledger.purge("a").erased] == ["claim", "policy", "policy"]
    assert "\n".join(export_events(ledger)).count("zanzibar") == 1
    assert [one.kind for one in ledger.purge("b").erased] == ["claim", "policy"]
    assert "zanzibar" not in "\n".join(export_events(ledger))
    assert ledger.verify().ok
    assert ledger.view(valid_at=JUNE).values("x", "p") == ("c",)


@pytest.mark.parametrize(
    "more",
    [
        lambda ledger: ledger.support("a", source="t"),
        lambda ledger: ledger.support(
            "a", source={"id": "t", "quote": "zanzibar"}, stance="refutes"
        ),
        lambda ledger: ledger.withdraw("a"),
        lambda ledger: ledger.withdraw("a/support"),
        lambda ledger: ledger.correct("a", 2),
        lambda ledger: ledger.correct("a"),
        lambda ledger: ledger.correct("b", by="a"),
        lambda ledger: ledger.pin("a"),
        lambda ledger: ledger.verify_claim("a"),
        lambda ledger: ledger.score("a", 0.5),
        lambda ledger: ledger.expire("a", "2030-01-01"),
        lambda ledger: ledger.restore("a"),
    ],
)
def test_nothing_more_is_recorded_of_what_is_erased(
    ledger: Ledger, more: Callable[[Ledger], object]
) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("x", "p", 2, id="b", source="s")
    purged(ledger, "a")
    before = ledger.revision
    with pytest.raises(WasErased, match="erased"):
        more(ledger)
    assert ledger.revision == before


def test_an_insight_whose_maker_was_shown_the_claim_is_residue(ledger: Ledger) -> None:
    for name in "abc":
        ledger.claim("x", "p", name, id=name, source="s")
    made = {"insight": "they differ", "shown": ["a", "b", "c"]}
    ledger.claim("x", "insight", made, id="i", kind="insight", because=["b", "c"])
    ledger.claim("x", "insight", {"shown": "a"}, id="j", kind="insight", because=["b", "c"])
    ledger.archive("a")
    assert [one.id for one in ledger.purge("a", dry_run=True).residue] == ["i"]


def test_workspaces_do_not_leak_into_one_another(ledger: Ledger) -> None:
    for place in ("", "w", "v"):
        ledger.claim("x", "p", "said", id="a", source="s", workspace=place)
    done = purged(ledger, "a", workspace="w")
    assert [(one.workspace, one.id) for one in done.erased] == [("w", "a")]
    for place, standing in (("", "reported"), ("w", "redacted"), ("v", "reported")):
        view = ledger.view(valid_at=JUNE, workspace=place, shared=False)
        assert view.standing("a") == standing
    assert ledger.view(valid_at=JUNE, workspace="v", shared=False).value("x", "p") == "said"


def test_residue_in_another_workspace_goes_in_the_same_commit(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    shared = {"workspace": "", "id": "a"}
    ledger.claim("x", "q", 2, id="d", because=[shared], workspace="w")
    ledger.summarize("one", facts=[shared], id="n", workspace="w")
    done = purged(ledger, "a", with_residue=True)
    assert [(one.workspace, one.id) for one in done.erased] == [("", "a"), ("w", "d"), ("w", "n")]
    assert ledger.verify().ok


# ---------------------------------------------------------------- answers


def test_a_question_whose_answer_is_gone_says_so_at_every_revision(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s", valid_to="2025-01-01")
    first = ledger.revision
    ledger.claim("x", "p", 1, id="b", source="t", valid_from="2025-01-01")
    then = ledger.view(valid_at=JUNE, known_at=first)
    live = ledger.view(valid_at=JUNE)
    purged(ledger, "a")
    for view in (then, live, ledger.view(valid_at=JUNE, known_at=first)):
        for ask in (view.value, view.values):
            with pytest.raises(Erased, match="was erased"):
                ask("x", "p")
        assert view.standing("a") == "redacted"
        assert view.claims(subject="x") == []
        assert [c.id for c in view.claims(subject="x", standing="redacted")] == ["a"]
        assert [c.id for c in view.claims(predicate="p", standing="redacted")] == ["a"]
        assert view.claims(subject="y", standing="any") == []
        assert view.to_arrow().num_rows == 0
        assert "(erased)" in str(view.why("a"))
    now = ledger.view(valid_at=JUNE)
    assert now.values("x", "p") == ()
    assert now.standing("a") == "redacted"
    assert ledger.view(valid_at="2025-06-01").value("x", "p") == 1
    assert ledger.view(valid_at=JUNE, known_at=0).standing("a") == "not_yet_known"


def test_a_perspective_that_does_not_see_the_claim_is_answered(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s", perspective="ada")
    ledger.claim("x", "p", 2, id="b", source="s", perspective="bob")
    k = ledger.revision
    purged(ledger, "a")

    def seen_by(perspective: str | None) -> Any:
        return ledger.view(valid_at=JUNE, known_at=k, perspective=perspective)

    assert seen_by("bob").value("x", "p") == 2
    with pytest.raises(Erased):
        seen_by("ada").value("x", "p")
    with pytest.raises(Erased):
        seen_by(None).values("x", "p")


def test_the_past_of_a_rival_stays_contested_and_that_of_an_equal_does_not(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        ledger.policy(single_valued="p")
        ledger.claim("x", "p", 1, id="a", source="s", valid_to="2025-01-01")
        ledger.claim("x", "p", 2, id="b", source="t")
        ledger.claim("y", "p", 1, id="c", source="s")
        ledger.claim("y", "p", 1.0, id="d", source="t")
        k = ledger.revision
        purged(ledger, "a", "c")
        (one,) = [e for e in export_events(ledger) if '"redacted":[' in e]
        assert [e.get("agrees") for e in json.loads(one)["redacted"]] == [None, ["d"]]
    for _ in range(2):
        with doxa.open(tmp_path) as ledger:
            view = ledger.view(valid_at=JUNE, known_at=k)
            assert (view.standing("b"), view.standing("d")) == ("contested", "reported")
            now = ledger.view(valid_at=JUNE)
            assert (now.value("x", "p"), now.standing("b")) == (2, "reported")
            assert ledger.verify().ok
        children_cache(tmp_path)


def children_cache(folder: Path) -> None:
    for path in sorted((folder / "cache").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_snapshot_of_what_is_gone_is_served_no_more(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("y", "p", 1, id="b", source="s")
    for name, selection in (("all", None), ("x", ["x"]), ("y", ["y"])):
        view = ledger.view(valid_at=JUNE)
        ledger.summarize(name, id=name, binding="snapshot", view=view, selection=selection)
    purged(ledger, "a")
    now = ledger.view(valid_at=JUNE)
    states = {one.id: one.eligible for one in ledger.judge(["all", "x", "y"], now)}
    assert states == {"all": False, "x": False, "y": True}
    assert {one.id for one in ledger.reconcile(now).invalidated} == {"all", "x"}


def test_reconciling_names_the_erasure(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.summarize("it is one", facts=["a"], id="n")
    purged(ledger, "a", id="gone")
    (outcome,) = ledger.reconcile(ledger.view(valid_at=JUNE)).invalidated
    assert (outcome.id, outcome.reason, outcome.standing) == ("n", "missing_fact", "redacted")
    assert outcome.cause is not None
    assert outcome.cause.event == "gone"


def test_recall_and_blocks_leave_out_what_is_gone(ledger: Ledger) -> None:
    ledger.claim("x", "p", "zanzibar", id="a", source={"id": "s", "quote": "zanzibar, he said"})
    ledger.claim("y", "p", "zanzibar", id="b", source="s")
    view = ledger.view(valid_at=JUNE)
    assert {hit.id for hit in ledger.recall("zanzibar", view=view).hits} == {"a", "a/support", "b"}
    purged(ledger, "a")
    for each in (view, ledger.view(valid_at=JUNE)):
        assert {hit.id for hit in ledger.recall("zanzibar", view=each).hits} == {"b"}
    block = ledger.assemble(
        "where",
        view=ledger.view(valid_at=JUNE),
        candidates=[{"id": "t", "text": "!", "facts": ["a"]}],
    )
    assert [(o.id, str(o.reason), o.standing) for o in block.left_out] == [
        ("t", "missing_fact", "redacted")
    ]


def test_a_receipt_replays_or_says_what_was_erased(ledger: Ledger) -> None:
    ledger.claim("x", "p", "one", id="a", source="s")
    ledger.claim("y", "p", "two", id="b", source="s")
    view = ledger.view(valid_at=JUNE)
    both = ledger.assemble("p", view=view).receipt
    alone = ledger.assemble(
        "p", view=view, candidates=[{"id": "t", "text": "two", "facts": ["b"]}]
    ).receipt
    purged(ledger, "a")
    assert ledger.replay(alone).same
    again = ledger.replay(both)
    assert not again.same
    assert "a" in str(again)


# ---------------------------------------------------------------- it does not come back


def test_what_is_erased_does_not_come_back_by_its_id(ledger: Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    lines = list(export_events(ledger))
    purged(ledger, "a")
    with pytest.raises(WasErased, match="has a new id"):
        ledger.claim("x", "p", 1, id="a", source="s")
    with pytest.raises(WasErased):
        ledger.claim("x", "p", 2, id="a", source="s")
    report = ledger.import_events(lines)
    assert (report.events, len(report.set_aside)) == (0, 1)
    assert "does not come back" in report.set_aside[0].reason
    assert ledger.claim("x", "p", 1, id="b", source="s") == "b"
    assert ledger.view(valid_at=JUNE).value("x", "p") == 1


def test_a_set_aside_line_of_what_is_purged_goes_too(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        ledger.claim("x", "p", 1, id="a", source="s")
        bad = [
            '{"event":"claim","id":"a","subject":"x","predicate":"p","object":"zanzibar"}',
            '{"event":"support","id":"s9","claim":"a","source":{"id":"t","quote":"zanzibar"},'
            '"valid_from":"2025","valid_to":"2024"}',
            '{"event":"claim","id":"c","subject":"x","predicate":"p","object":"kept","valid_from":"2025","valid_to":"2024"}',
        ]
        ledger.import_events(bad)
        aside = tmp_path / "set-aside.jsonl"
        assert aside.read_text().count("zanzibar") == 2
        purged(ledger, "a")
        assert "zanzibar" not in aside.read_text()
        assert "kept" in aside.read_text()


def test_the_list_of_what_was_purged_holds_digests_only(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        ledger.claim("x", "p", "zanzibar", id="zoe's claim", source="s")
        ledger.claim("x", "q", 1, id="b", source="s")
        purged(ledger, "zoe's claim")
        keyed = ledger.recorder.keyed
        kept = PurgeList.open(tmp_path)
        assert kept.covers("", "zoe's claim", keyed)
        assert not kept.covers("", "b", keyed)
        assert not kept.covers("w", "zoe's claim", keyed)
        text = (tmp_path / "purged").read_text()
        assert "zoe" not in text
        assert all(len(line) in (0, 64) for line in text.split("\n"))


def test_every_file_in_a_ledgers_folder_is_cleared_by_some_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    monkeypatch.setattr(serving, "PUBLISHED", 1)
    with doxa.open(tmp_path, embedder=doxa.Embedder("e", embed, dimension=2)) as ledger:
        for number in range(1_200):
            ledger.claim(f"x{number}", "p", number, id=f"c{number}", source="s")
        ledger.import_events(['{"event":"claim"}'])
        ledger.recall("x1", view=ledger.view(valid_at=JUNE), trust="development", reinforce=True)
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
        purged(ledger, "c1")
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
    with doxa.open(tmp_path) as ledger:
        ledger.sql("SELECT count(*) FROM beliefs")
        files = [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()]
    owned = {path: owner_of(path) for path in files}
    assert [path for path, owner in owned.items() if owner is None] == []
    assert {owner.name for owner in owned.values() if owner} == {store.name for store in STORES}


def test_the_vectors_of_all_other_documents_stay(tmp_path: Path) -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    embedder = doxa.Embedder("e", embed, dimension=2)
    with doxa.open(tmp_path, embedder=embedder) as ledger:
        for number in range(50):
            ledger.claim("x", f"p{number}", "y" * number, id=f"c{number}", source="s")
        ledger.index()
    del asked[:]
    with doxa.open(tmp_path, embedder=embedder) as ledger:
        purged(ledger, "c7", "c30")
        ledger.index()
        assert asked == []
        stored = ledger._searching().own(embedder)
        assert stored is not None
        assert stored.count == 48


# ---------------------------------------------------------------- crashes and readers


def test_a_purge_that_was_killed_before_clearing_is_finished_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = doxa.open(tmp_path)
    ledger.claim("x", "p", "zanzibar", id="a", source="s")
    ledger.index()
    ledger.sql("SELECT count(*) FROM beliefs")
    ledger.archive("a")
    monkeypatch.setattr(type(ledger), "_clear_erased", lambda self: None)
    ledger._stream.on_erased = None
    ledger.purge("a")
    assert any(b"zanzibar" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    monkeypatch.undo()
    with doxa.open(tmp_path):
        found = [
            p.name for p in tmp_path.rglob("*") if p.is_file() and b"zanzibar" in p.read_bytes()
        ]
    assert found == []
    ledger.close()


def test_another_open_ledger_meets_the_erasure_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as one, doxa.open(tmp_path) as other:
        for number in range(1_100):
            one.claim("x", "p", f"zanzibar {number}", id=f"c{number}", source="s")
        view = other.view(valid_at=JUNE)
        other.recall("zanzibar", view=view)
        other.sql("SELECT count(*) FROM beliefs")
        purged(one, *(f"c{n}" for n in range(1_100)))
        assert other.view(valid_at=JUNE).standing("c1") == "redacted"
        assert view.standing("c1") == "redacted"
        assert not other.recall("zanzibar", view=view).hits
        rows = other.sql("SELECT count(*) FROM claims WHERE object LIKE '%zanzibar%'").rows
        assert rows == [(0,)]
        other.index()
    held = [p.name for p in tmp_path.rglob("*") if p.is_file() and b"zanzibar" in p.read_bytes()]
    assert held == []


def test_a_ledger_that_never_looked_again_writes_nothing_of_it_down(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as one:
        other = doxa.open(tmp_path)
        for number in range(1_100):
            one.claim("x", "p", f"zanzibar {number}", id=f"c{number}", source="s")
        other.recall("zanzibar", view=other.view(valid_at=JUNE))
        purged(one, *(f"c{n}" for n in range(1_100)))
        other.close()
    held = [p.name for p in tmp_path.rglob("*") if p.is_file() and b"zanzibar" in p.read_bytes()]
    assert held == []


def test_a_policy_that_erases_by_append_erases_and_clears(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        ledger.claim("x", "p", "zanzibar", id="a", source="s")
        with pytest.raises(InvalidEvent, match="not archived"):
            ledger.append([{"event": "policy", "id": "r", "redacted": [{"id": "a"}]}])
        ledger.archive("a")
        ledger.append([{"event": "policy", "id": "r", "redacted": [{"id": "a"}]}])
        held = [
            p.name for p in tmp_path.rglob("*") if p.is_file() and b"zanzibar" in p.read_bytes()
        ]
        assert held == []
        assert ledger.view(valid_at=JUNE).standing("a") == "redacted"
        assert ledger.recorder.scrubbed == ledger.recorder.last_tagged(codec.ERASING) == 3


def test_an_append_that_fails_erases_nothing(ledger: Ledger) -> None:
    from tests.walks import failing_commits

    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.archive("a")
    view = ledger.view(valid_at=JUNE)
    with failing_commits(ledger), pytest.raises(doxa.DoxaError):
        ledger.purge("a")
    assert view.value("x", "p") == 1
    assert view.standing("a") == "reported"
    assert ledger.view(valid_at=JUNE).value("x", "p") == 1
    assert ledger.verify().ok


def test_the_fold_in_memory_is_the_one_that_the_log_gives(ledger: Ledger) -> None:
    for number in range(2_500):
        ledger.claim(f"s{number % 7}", f"p{number % 3}", number, id=f"c{number}", source="s")
    ledger._stream.capture()[0].seal()
    view = ledger.view(valid_at=JUNE)
    purged(ledger, *(f"c{n}" for n in range(0, 2_500, 7)))
    from doxa.engine.sameness import differences

    assert list(differences(ledger._stream.capture()[0], anew(ledger))) == []
    with pytest.raises(Erased):
        view.values("s0", "p0")
    now = ledger.view(valid_at=JUNE)
    assert now.values("s0", "p0") == ()
    assert now.values("s1", "p1")[0] == 1
    assert ledger.verify().ok


def test_the_oracle_reads_an_erased_log_from_its_own_file(tmp_path: Path) -> None:
    from doxa.oracle import Log

    with doxa.open(tmp_path) as ledger:
        ledger.policy(single_valued="p")
        ledger.claim("x", "p", 1, id="a", source="s")
        ledger.claim("x", "p", 2, id="b", source="s")
        k = ledger.revision
        purged(ledger, "a")
        at = ledger.view(valid_at=JUNE, known_at=k)
        truth = Truth(Log.read(tmp_path), at.v, at.k)
        assert truth.standings()["", "b"] == str(at.standing("b")) == "contested"


def test_a_killed_purge_has_erased_all_or_nothing(tmp_path: Path) -> None:
    outcomes = set()
    for delay in (0, 1, 2, 4, 8, 16):
        folder = tmp_path / str(delay)
        with doxa.open(folder) as ledger:
            for number in range(200):
                ledger.claim("x", "p", f"zanzibar {number}", id=f"c{number}", source="s")
            ledger.archive([f"c{n}" for n in range(200)])
        with children.start("purging", folder, 200) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("go\n")
            child.stdin.flush()
            time.sleep(delay * 0.005)
            child.kill()
        with doxa.open(folder) as ledger:
            report = ledger.verify()
            assert report.ok, str(report)
            assert report.erased in (0, 200)
            outcomes.add(report.erased)
            if report.erased:
                held = [
                    p.name
                    for p in folder.rglob("*")
                    if p.is_file() and b"zanzibar" in p.read_bytes()
                ]
                assert held == []
    assert outcomes
