"""Memos in ledgers that are shared, copied and compacted, and a folder without its libraries."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import doxa
from doxa.adapters.exchange import export_events
from doxa.adapters.markdown import check, fix, import_corpus, lint
from doxa.ledger import Ledger
from tests.memos import believed, text, write

JULY = "2024-07-01"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {f"m{i}.md": text(f"words {i}", supersedes=f"m{i - 1}") for i in range(1, 20)}
    return write(tmp_path / "n", {"m0.md": "first", **files})


def test_several_that_import_at_once_do_one_thing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "ledger"
    doxa.open(path).close()
    done: list[int] = []

    def work() -> None:
        with doxa.open(path) as ledger:
            done.extend(import_corpus(ledger, folder).events for _ in range(2))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 0, 0, 0, 0, 39]
    with doxa.open(path) as ledger:
        assert ledger.verify().ok
        assert [item.subject for item in ledger.view(valid_at=JULY).claims()] == ["m19"]


def test_a_copied_ledger_knows_the_corpus_again(ledger: Ledger, folder: Path) -> None:
    import_corpus(ledger, folder)
    (folder / "m3.md").unlink()
    import_corpus(ledger, folder)
    with doxa.open() as copy:
        copy.import_events(export_events(ledger))
        assert import_corpus(copy, folder).unchanged
        write(folder, {"m3.md": text("words 3", supersedes="m2")})
        assert import_corpus(copy, folder).of("restored")
        assert import_corpus(ledger, folder).of("restored")
        assert believed(copy) == believed(ledger)


def test_a_compacted_ledger_goes_on_with_new_numbers(ledger: Ledger, tmp_path: Path) -> None:
    folder = tmp_path / "n"
    for turn in range(5):
        write(folder, {"a.md": f"version {turn}", "b.md": "b"})
        import_corpus(ledger, folder)
    assert ledger.compact(versions=1).claims == 4
    assert import_corpus(ledger, folder).unchanged
    write(folder, {"a.md": "version 9"})
    (change,) = import_corpus(ledger, folder).changes
    assert (change.was, change.claim) == ("n:a@5", "n:a@6")
    (folder / "a.md").unlink()
    assert [str(c.turn) for c in import_corpus(ledger, folder).changes] == ["withdrawn"]
    assert ledger.verify().ok


def test_a_file_withdrawn_as_a_source_takes_its_memo_and_edges_until_it_is_back(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"a.md": text(supersedes="b"), "b.md": "b"})
    import_corpus(ledger, folder)
    gone = ledger.withdraw(doxa.Source("n/a.md"), reason="forged")
    view = ledger.view(valid_at=JULY)
    assert (view.standing("n:a@1"), view.standing("n:b@1")) == ("unsupported", "reported")
    assert import_corpus(ledger, folder).unchanged, "what people withdrew stays so"
    write(folder, {"b.md": "new b"})
    done = import_corpus(ledger, folder)
    assert len(done.notes) == 1, "nothing new is recorded from it"
    ledger.withdraw(gone, reason="it was not")
    import_corpus(ledger, folder)
    view = ledger.view(valid_at=JULY)
    assert (view.standing("n:a@1"), view.standing("n:b@2")) == ("reported", "superseded")


def test_progress_is_told_file_by_file(ledger: Ledger, folder: Path) -> None:
    told: list[tuple[int, int | None]] = []
    import_corpus(ledger, folder, progress=lambda done, total: told.append((done, total)))
    assert told == [(number, 20) for number in range(1, 21)]


@pytest.mark.parametrize("module", ["ruamel.yaml", "markdown_it"])
def test_a_missing_library_names_the_extra(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    folder = write(tmp_path / "n", {"a.md": text("Supersedes [[b]].", title="t"), "b.md": "b"})
    monkeypatch.setitem(sys.modules, module, None)
    calls: list[Callable[[], object]] = [
        *(partial(call, folder) for call in (lint, fix)),
        partial(check, folder, folder / "a.md"),
        partial(import_corpus, ledger, folder),
    ]
    for call in calls:
        with pytest.raises(doxa.CallerError, match=r"pip install 'doxa\[markdown\]'"):
            call()
    assert ledger.revision == 0
