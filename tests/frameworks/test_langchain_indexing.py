"""What LangChain's ``index()`` deletes takes what was recorded from it along, and back."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore

import doxa
from doxa.adapters.langchain import TruthRecordManager, TruthRetriever
from doxa.ledger import Ledger

WORDS = ("Ada lives in London.", "Ada works at the mill.", "Ada bakes bread.")
DAY = "2024-07-01"


def key(document: Document) -> str:
    return sha256(document.page_content.encode()).hexdigest()[:12]


def page(words: str) -> Document:
    document = Document(page_content=words, metadata={"file": "ada.md"})
    document.metadata["claim_ids"] = key(document)
    return document


PAGES = [page(words) for words in WORDS]


def recorded(ledger: Ledger) -> None:
    """What was extracted from each page, with the page as its source."""
    for one in PAGES:
        ledger.claim("ada", "is", one.page_content, id=key(one), source=f"page {key(one)}")


class Indexed:
    """An index of pages, kept by a record manager that tells a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        self.ledger = ledger
        self.records = TruthRecordManager(
            InMemoryRecordManager("pages"), ledger, source_of=lambda key: f"page {key}"
        )
        self.records.create_schema()

    def index(self, pages: list[Document], asynchronous: bool = False, **options: Any) -> Any:
        options = {"cleanup": "full", "source_id_key": "file", "key_encoder": key, **options}
        if asynchronous:
            return asyncio.run(aindex(pages, self.records, self.store, **options))
        return index(pages, self.records, self.store, **options)

    @property
    def held(self) -> list[bool]:
        view = self.ledger.view(valid_at=DAY)
        return [view.standing(key(one)) == "reported" for one in PAGES]


@pytest.fixture
def indexed(ledger: Ledger) -> Indexed:
    recorded(ledger)
    return Indexed(ledger)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_is_deleted_from_an_index_is_withdrawn_and_comes_back(
    indexed: Indexed, asynchronous: bool
) -> None:
    indexed.index(PAGES, asynchronous)
    before = indexed.ledger.revision
    assert indexed.held == [True, True, True]
    assert indexed.index(PAGES[1:], asynchronous)["num_deleted"] == 1
    assert indexed.held == [False, True, True]
    indexed.index(PAGES[1:], asynchronous)
    assert indexed.ledger.revision == before + 1
    indexed.index(PAGES[:2], asynchronous)
    assert indexed.held == [True, True, False]
    indexed.index(PAGES[:1], asynchronous)
    indexed.index([], asynchronous)
    indexed.index(PAGES, asynchronous)
    assert indexed.held == [True, True, True]
    assert indexed.ledger.verify()


def test_a_changed_page_takes_what_was_recorded_from_it_along(indexed: Indexed) -> None:
    indexed.index(PAGES)
    changed = [*PAGES[:2], page("Ada bakes no bread.")]
    indexed.index(changed, cleanup="incremental")
    assert indexed.held == [True, True, False]
    retriever = TruthRetriever(indexed.store.as_retriever(), indexed.ledger, valid_at=DAY)
    assert {each.page_content for each in retriever.invoke("Ada")} == set(WORDS[:2])


def test_what_somebody_else_withdrew_stays_withdrawn(indexed: Indexed) -> None:
    indexed.index(PAGES)
    indexed.ledger.withdraw(doxa.Source(f"page {key(PAGES[0])}"), reason="forged")
    indexed.index(PAGES)
    indexed.index([])
    indexed.index(PAGES)
    assert indexed.held == [False, True, True]


def test_of_a_source_that_no_evidence_names_nothing_is_recorded(ledger: Ledger) -> None:
    indexed = Indexed(ledger)
    indexed.index(PAGES)
    indexed.index([])
    assert ledger.revision == 0


def test_a_deletion_that_is_cut_off_is_made_up_for(indexed: Indexed) -> None:
    indexed.index(PAGES)
    inner, indexed.records.records = indexed.records.records, Failing(indexed.records.records)
    with pytest.raises(OSError, match="full"):
        indexed.index([])
    assert indexed.held == [False, False, False]
    indexed.records.records = inner
    revision = indexed.ledger.revision
    indexed.index([])
    assert indexed.ledger.revision == revision
    assert not indexed.records.list_keys()


class Failing:
    """A record manager whose disk is full when keys are deleted."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "delete_keys":
            raise OSError("the disk is full")
        return getattr(self.inner, name)


@given(st.lists(st.lists(st.sampled_from(range(3)), unique=True), max_size=5), st.booleans())
def test_after_any_runs_what_is_indexed_is_held_and_nothing_else(
    runs: list[list[int]], asynchronous: bool
) -> None:
    with doxa.open() as ledger:
        recorded(ledger)
        indexed = Indexed(ledger)
        ever: set[int] = set()
        for run in runs:
            indexed.index([PAGES[n] for n in run], asynchronous)
            ever |= set(run)
            assert indexed.held == [n in run or n not in ever for n in range(3)]


def test_a_record_manager_is_needed_and_a_path_is_opened(tmp_path: Any) -> None:
    with pytest.raises(doxa.CallerError, match="records is a str"):
        TruthRecordManager("pages", tmp_path)
    path = tmp_path / "pages.doxa"
    doxa.open(path).close()
    records = TruthRecordManager(InMemoryRecordManager("pages"), path)
    records.update(["k"])
    records.delete_keys(["k"])
    assert records.exists(["k"]) == [False]
    records.close()
