"""Ledgers in memory whose words are indexed, and the same documents for the slow twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

import doxa
from doxa.engine import events as ev
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT, Graph
from doxa.engine.view import TruthView
from doxa.oracle.lexical import Claim, Text
from doxa.projections.lexical import Lexical
from doxa.projections.words import asked, searched, stem

WORKSPACES = ("", "w", "x")
WORDS = ("ada", "lives", "living", "London", "the", "the", "Zürich", "東京", "a.b", "3.14", "...")
KINDS = ("claim", "spoken", "quoted", "support", "summary", "citation", "policy")

texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@dataclass(frozen=True)
class Said:
    """One event of a history: what kind, where, what it says; whether its commit ends with it."""

    kind: str
    workspace: str
    text: str
    phrases: tuple[str, ...]
    ends: bool


said = st.builds(
    Said,
    st.sampled_from(KINDS),
    st.sampled_from(WORKSPACES),
    texts,
    st.lists(phrases, max_size=2).map(tuple),
    st.booleans(),
)


@dataclass
class Indexed:
    """A ledger, and beside it what its documents are, by the entity that each is."""

    ledger: doxa.Ledger = field(default_factory=doxa.open)
    documents: list[Text] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    revisions: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        self.rows = dict.fromkeys((CLAIM, SUPPORT, ARTEFACT), 0)
        self.position, self.pending = 0, list[dict[str, Any]]()
        for workspace in WORKSPACES:  # for the supports
            self._event("claim", f"base{workspace}", workspace)
            self._document(CLAIM, workspace, "o p 1")
        self._commit()

    def take(self, history: Sequence[Said]) -> None:
        """Records events; the last commit ends with the last of them."""
        for one in history:
            getattr(self, f"_{one.kind}")(one)
            if one.ends:
                self._commit()
        self._commit()

    def _commit(self) -> None:
        if self.pending:
            self.ledger.append(self.pending)
            self.pending = []
            self.revisions.append(self.position)

    def _event(self, event: str, id: str, workspace: str, **fields: Any) -> None:
        self.position += 1
        if event == "claim":
            fields = {"subject": "o", "predicate": "p", "object": 1, "source": "s", **fields}
        self.pending.append({"event": event, "id": id, "workspace": workspace, **fields})
        self.rows[CLAIM] += event == "claim"
        self.rows[SUPPORT] += event in ("claim", "support")
        self.rows[ARTEFACT] += event in ("summary", "citation")

    def _document(self, kind: int, workspace: str, text: str) -> int:
        number = (self.rows[kind] - 1) * 8 + kind
        self.documents.append(Text(number, workspace, self.position, text))
        return number

    def _claim(self, one: Said, **fields: Any) -> None:
        fields = {"recall_when": list(one.phrases), **fields}
        self._event("claim", self._id, one.workspace, subject="Ada's", text=one.text, **fields)
        text = one.text if one.text.strip() else "p 1"
        number = self._document(CLAIM, one.workspace, f"Ada's {text}")
        self.claims.append(Claim(number, one.workspace, self.position, one.phrases))

    def _spoken(self, one: Said) -> None:
        value: Any = one.text if one.text else [1, {"é": None}]
        self._event("claim", self._id, one.workspace, predicate="lives_in", object=value)
        words = one.text or '[1, {"é": null}]'
        self._document(CLAIM, one.workspace, f"o lives in {words}")

    def _quoted(self, one: Said) -> None:
        self._claim(one, source={"id": "s", "quote": one.text})
        if one.text.strip():
            self._document(SUPPORT, one.workspace, one.text)

    def _support(self, one: Said) -> None:
        source = {"id": "t", "quote": one.text}
        target = f"base{one.workspace}"
        self._event("support", self._id, one.workspace, claim=target, source=source)
        if one.text.strip():
            self._document(SUPPORT, one.workspace, one.text)

    def _summary(self, one: Said) -> None:
        facts = [f"base{one.workspace}"]
        self._event("summary", self._id, one.workspace, text=one.text, facts=facts)
        self._document(ARTEFACT, one.workspace, one.text)

    def _citation(self, one: Said) -> None:
        supports = [f"base{one.workspace}/support"]
        self._event("citation", self._id, one.workspace, text=one.text, supports=supports)

    def _policy(self, one: Said) -> None:
        self._event("policy", self._id, one.workspace, single_valued=f"q{self.position}")

    @property
    def _id(self) -> str:
        return f"e{self.position + 1}"

    # -- asking

    @property
    def graph(self) -> Graph:
        return self.ledger.view(valid_at="2024-01-01").graph

    def view(self, revision: int, workspace: str = "", shared: bool = True) -> TruthView:
        return TruthView(
            self.ledger.view(valid_at="2024-01-01").belief,
            _nothing,
            valid_at=0,
            revision=revision,
            workspace=workspace,
            shared=shared,
        )

    def index(self, folder: Path | None = None) -> Lexical:
        """An index with nothing in it, or what the folder keeps."""
        return Lexical(folder, self.ledger.recorder.ledger_id, self.link_at)

    def link_at(self, position: int) -> bytes | None:
        found = self.ledger.recorder.link_at(position)
        return None if found is None else found[1]

    def follow(self, index: Lexical, upto: int | None = None, page: int = 10_000) -> Lexical:
        """Lets an index follow the log up to a position."""
        store = self.ledger.recorder
        index.follow(self.graph, store.read_rows(index.position, upto, page))
        return index

    def followed(self, random: Random) -> Lexical:
        """An index that followed the log in random steps."""
        index = self.index()
        while index.position < self.position:
            upto = index.position + random.randint(1, random.choice((1, 3, 40)))
            self.follow(index, upto, random.choice((1, 2, 10_000)))
        return index


def _nothing(position: int) -> ev.Event:
    raise AssertionError(f"the event at {position} is not to be read")


def words_of(text: str) -> list[str]:
    """What a text is searched by."""
    return [stem(word) for word in searched(text)]


def asked_of(text: str) -> list[str]:
    """What a question is searched by."""
    return [stem(word) for word in asked(text)]
