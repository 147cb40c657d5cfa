"""What an import changes: from the memos of a corpus, and what a ledger holds of it, to the events
of one commit.

Pure. A memo whose wording has changed is claimed anew and corrects its former wording. What a memo
says of others is compared with what is recorded of it, and no more than the difference is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from doxa.adapters.markdown.corpus import Corpus, Meaning
from doxa.adapters.markdown.corpus import Edge as Named
from doxa.adapters.markdown.memo import Memo
from doxa.adapters.markdown.plans import Change, Linked, Options, Plan, Step, Turn
from doxa.adapters.markdown.recorded import KIND, PREDICATE, Edge, Recorded, Support, Wording
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.parse import parse

__all__ = ["plan"]

# Parts of an event's content by which two edges are one; the reason is none.
_SAME_EDGE: Final = ("corrects", "unresolved", "candidates", "by", "valid_from", "valid_to")


class _Wanted(NamedTuple):
    name: str  # the stem, or what an edge of a memo that can't be read is called
    event: ev.Correction
    meaning: Meaning | None


def plan(corpus: Corpus, recorded: Recorded, options: Options) -> Plan:
    """What is to be done. O(memos + edges)."""
    return _Planner(corpus, recorded, options).planned()


class _Planner:
    def __init__(self, corpus: Corpus, recorded: Recorded, options: Options) -> None:
        self.corpus, self.recorded, self.options = corpus, recorded, options
        self.result = Plan()
        self.keys = {memo.key for memo in corpus.memos}
        self.claims: dict[str, str] = {}  # path → the claim of the memo there
        self.erased: set[str] = set()  # paths of memos that were erased
        self.newer: dict[str, str] = {}  # former wording → the one in its place
        self.edges: dict[str, list[Named]] = {}  # path → its names
        for edge in corpus.edges:
            self.edges.setdefault(edge.memo.path, []).append(edge)

    def planned(self) -> Plan:
        """All of it: wordings first, then what is gone, then edges, which name the new wordings."""
        taken = {memo.key for memo in self.corpus.memos if self._takes(memo)}
        placed = [(memo, self._place(memo)) for memo in self.corpus.memos if memo.key in taken]
        left = {key: old for key, old in self.recorded.latest.items() if key not in taken}
        frozen = {key: old for key, old in left.items() if self._frozen(key, old)}
        for old in frozen.values():
            if old.path is not None and any(s.off is None for s in old.supports):
                self.claims.setdefault(old.path, old.id)
        for key, old in left.items():
            if key not in frozen:
                self._withdraw(key, old)
        for memo, claim in placed:
            self._settle(memo.key, memo.path, claim, self._wanted(memo, claim))
        for key, old in frozen.items():
            self._settle(key, old.path or key, old.id, self._carried_on(key, old))
        return self.result

    def _takes(self, memo: Memo) -> bool:
        """Whether a memo is looked at; why not is noted."""
        if not memo.usable:
            self.result.aside[memo.path] = "; ".join(
                finding.message for finding in memo.findings if finding.blocks
            )
            return False
        if memo.key in self.options.without:
            return False
        if self.recorded.erased(memo.key):
            self.erased.add(memo.path)
            self.result.aside[memo.path] = (
                "the memo was erased, and nothing more is recorded of it; give it another id to "
                "import it as a new one"
            )
            return False
        return True

    def _frozen(self, key: str, old: Wording) -> bool:
        """Whether nobody knows what a memo says now, so that it stays as it is."""
        return key in self.keys or (old.path is not None and self.corpus.silent(old.path))

    # -- wordings

    def _place(self, memo: Memo) -> str:
        """Records what a memo says, where that is new; the id of its claim."""
        old = self.recorded.latest.get(memo.key)
        claim = self._claim(memo)
        if old is not None and _alike(old.claim, claim):
            self.claims[memo.path] = old.id
            self._kept(memo, old)
            return old.id
        id = self.recorded.free(f"{self.options.corpus}:{memo.key}@")
        sources = self._sources(memo)
        first = sources[0] if sources else None
        self._add(memo.key, claim.model_copy(update={"id": id, "source": first}))
        for source in sources[1:]:
            self._support(memo.key, id, source)
        turn = Turn.ADDED if old is None else Turn.CHANGED
        if old is not None:
            self.newer[old.id] = id
            self._supersede(memo, old, id)
        was = None if old is None else old.id
        self.result.changes.append(Change(turn, memo.key, memo.path, id, was))
        self.claims[memo.path] = id
        return id

    def _claim(self, memo: Memo) -> ev.Claim:
        """A memo as a claim, without id and source."""
        assumed, start = None, memo.valid_from
        if start is None:
            start = self.options.assume_from
            since = "open" if start is None else times.shown(start)
            assumed = f"the memo states no valid_from: taken as {since}"
        event = parse(
            {
                "event": "claim",
                "id": "-",
                "workspace": self.options.workspace,
                "subject": memo.key,
                "predicate": PREDICATE,
                "object": {"title": memo.title, "digest": memo.said_digest},
                "text": memo.said,
                "kind": KIND,
                "valid_from": None if start is None else times.moment(start),
                "valid_to": None if memo.valid_to == times.POS else times.moment(memo.valid_to),
                "assumed": assumed,
            }
        )
        assert isinstance(event, ev.Claim), event
        return event

    def _file(self, memo: Memo) -> ev.SourceRef:
        """The file as a source."""
        return ev.SourceRef(id=f"{self.options.corpus}/{memo.path}", digest=memo.digest)

    def _all_sources(self, memo: Memo) -> list[ev.SourceRef]:
        """What a memo rests on: the sources that it names, each at its place there; else itself."""
        file = self._file(memo)
        found = []
        for fields in memo.sources:
            place = fields.get("locator")
            locator = f"{place}, in {file.id}" if place else file.id
            claim = {"event": "claim", "id": "-", "subject": "-", "predicate": "-", "object": 0}
            event = parse({**claim, "source": {**fields, "locator": locator}})
            assert isinstance(event, ev.Claim), event
            assert event.source is not None, event
            found.append(event.source)
        return found or [file]

    def _sources(self, memo: Memo) -> list[ev.SourceRef]:
        """Those that count: nothing is recorded from a source that has been withdrawn."""
        start = memo.valid_from if memo.valid_from is not None else self.options.assume_from
        interval = times.NEG if start is None else start, memo.valid_to
        found = []
        for source in self._all_sources(memo):
            if self.recorded.counts(source.id, *interval):
                found.append(source)
            else:
                self._withdrawn(memo.path, source.id)
        return found

    def _withdrawn(self, path: str, source: str) -> None:
        note = f"{path}: the source {source!r} has been withdrawn, and supports nothing new"
        self.result.notes.append(note)

    def _support(self, key: str, claim: str, source: ev.SourceRef) -> None:
        self._add(
            key,
            ev.Support(
                id=self.recorded.free(f"{claim}+"),
                workspace=self.options.workspace,
                claim=claim,
                source=source,
            ),
        )

    def _supersede(self, memo: Memo, old: Wording, by: str) -> None:
        """The former wording is replaced, over all of its time, and its edges go with it. Without
        a source: whatever becomes of the file as one, the memo said otherwise later, and what
        names no source may be compacted."""
        self._add(
            memo.key,
            ev.Correction(
                id=self.recorded.free(f"{old.id}>"),
                workspace=self.options.workspace,
                corrects=old.id,
                by=by,
                valid_from=old.claim.valid_from,
                valid_to=old.claim.valid_to,
                reason=f"{memo.path} says otherwise now",
            ),
        )
        for edge in _own(old):
            if edge.off is None:
                self._turn_off(memo.key, edge.id, f"{memo.path} says otherwise now", memo.path)

    def _kept(self, memo: Memo, old: Wording) -> None:
        """A memo that says the same: perhaps from elsewhere, or again."""
        wanted = {_same_source(source): source for source in self._all_sources(memo)}
        there = {_same_source(support.source): support for support in old.supports}
        was_off = all(support.off is not None for support in old.supports)
        moved = False
        for same, source in wanted.items():
            support = there.get(same)
            if support is None:
                start, end = old.claim.valid_from, old.claim.valid_to
                if self.recorded.counts(source.id, start, end):
                    self._support(memo.key, old.id, source)
                    moved = True
            elif support.off is not None:
                self._turn_on(memo.key, support.off, f"{memo.path} says it again", memo.path)
                moved = True
        for same, support in there.items():
            if same not in wanted and support.off is None:
                self._turn_off(memo.key, support.id, f"{memo.path} rests on others", memo.path)
                moved = True
        if not moved:
            self.result.kept += 1
            return
        turn = Turn.RESTORED if was_off and old.supports else Turn.MOVED
        self.result.changes.append(Change(turn, memo.key, memo.path, old.id))

    def _withdraw(self, key: str, old: Wording) -> None:
        """A memo whose file is gone."""
        path = old.path or key
        recorded: list[Support | Edge] = [*old.supports, *_own(old)]
        for each in recorded:
            if each.off is None:
                self._turn_off(key, each.id, f"{path} is gone", path)
        if any(support.off is None for support in old.supports):
            self.result.changes.append(Change(Turn.WITHDRAWN, key, path, old.id))

    # -- edges

    def _wanted(self, memo: Memo, claim: str) -> list[_Wanted]:
        """The corrections that a memo's names come to."""
        start = memo.valid_from if memo.valid_from is not None else self.options.assume_from
        interval = times.NEG if start is None else start, memo.valid_to
        found = []
        for edge in self.edges.get(memo.path, ()):
            named = edge.reference.stem
            if edge.meaning is Meaning.SELF or (memo.key, named) in self.options.unlinked:
                continue
            erased = any(each.path in self.erased for each in edge.carriers)
            if erased and edge.meaning is not Meaning.AMBIGUOUS:
                note = f"{memo.path}: {named!r} was erased, and nothing more is recorded of it"
                self.result.notes.append(note)
                continue
            claims = [self.claims[each.path] for each in edge.carriers if each.path in self.claims]
            meaning, said = _said(edge, claim, claims)
            event = ev.Correction(
                id="-",
                workspace=self.options.workspace,
                valid_from=interval[0],
                valid_to=interval[1],
                source=self._file(memo),
                reason=f"{memo.path}: supersedes {edge.reference.written}",
                **said,
            )
            found.append(_Wanted(named, event, meaning))
        return found

    def _carried_on(self, key: str, old: Wording) -> list[_Wanted]:
        """The edges of a memo that can't be read now, to the latest wordings of what they name."""
        found = []
        for edge in _own(old):
            event = edge.event
            if edge.off is not None:
                continue
            update = {
                "corrects": self._newest(event.corrects),
                "candidates": tuple(self._newest(each) or each for each in event.candidates),
            }
            if (key, edge.id) not in self.options.unlinked:
                event = event.model_copy(update=update)
            found.append(_Wanted(edge.id, event, None))
        return found

    def _newest(self, claim: str | None) -> str | None:
        return None if claim is None else self.newer.get(claim, claim)

    def _settle(self, key: str, path: str, claim: str, wanted: Sequence[_Wanted]) -> None:
        """Records the difference between the edges of a claim that are wanted and those that are
        recorded."""
        old = self.recorded.latest.get(key)
        there = _own(old) if old is not None and old.id == claim else []
        by_content = {_same_edge(edge.event): edge for edge in there}
        settled: set[str] = set()  # unresolved corrections that another one resolves
        for one in wanted:
            same = _same_edge(one.event)
            edge = by_content.get(same)
            if edge is None:
                self._link(key, path, claim, one, there, settled)
                continue
            if edge.event.resolves is not None:
                settled.add(edge.event.resolves)
            if edge.off is not None:
                self._turn_on(key, edge.off, f"{path} says it again", path, one.name)
                self._tell(path, one, edge.id)
        kept = {_same_edge(one.event) for one in wanted}
        for same, edge in by_content.items():
            if edge.off is None and same not in kept and edge.id not in settled:
                self._turn_off(key, edge.id, f"{path}: its names mean otherwise now", path)

    def _link(
        self,
        key: str,
        path: str,
        claim: str,
        one: _Wanted,
        there: Iterable[Edge],
        settled: set[str],
    ) -> None:
        if (source := one.event.source) is not None:
            low, high = one.event.valid
            if not self.recorded.counts(source.id, low, high):
                self._withdrawn(path, source.id)
                return
        event = one.event.model_copy(update={"id": self.recorded.free(f"{claim}>")})
        if event.corrects is not None:
            for edge in there:
                open_ = edge.off is None and edge.event.unresolved is not None
                if open_ and edge.event.reason == event.reason and edge.id not in settled:
                    event = event.model_copy(update={"resolves": edge.id})
                    settled.add(edge.id)
                    break
        self.result.steps.append(Step(event, key, one.name))
        self._tell(path, one, event.id)

    def _tell(self, path: str, one: _Wanted, id: str) -> None:
        if one.meaning is not None:
            event = one.event
            about = (event.corrects,) if event.corrects is not None else event.candidates
            self.result.links.append(Linked(path, one.name, one.meaning, id, about))

    # -- steps

    def _add(self, key: str, event: ev.Event) -> None:
        self.result.steps.append(Step(event, key))

    def _turn_off(self, key: str, target: str, reason: str, path: str) -> None:
        self._take_back(key, target, reason, path, None)

    def _turn_on(self, key: str, off: str, reason: str, path: str, edge: str | None = None) -> None:
        self._take_back(key, off, reason, path, edge)

    def _take_back(self, key: str, target: str, reason: str, path: str, edge: str | None) -> None:
        event = ev.Withdrawal(
            id=self.recorded.free(f"{target}!"),
            workspace=self.options.workspace,
            target=target,
            reason=reason,
            asked_by=ev.SourceRef(id=f"{self.options.corpus}/{path}"),
        )
        self.result.steps.append(Step(event, key, edge))


def _own(wording: Wording) -> list[Edge]:
    """The edges by a wording; the correction that replaced it is none of them."""
    return [e for e in wording.edges if e.event.by == wording.id or e.event.unresolved is not None]


def _said(edge: Named, claim: str, claims: Sequence[str]) -> tuple[Meaning, Mapping[str, Any]]:
    """What an edge says, as fields of a correction: which claim is replaced, or the name, with all
    that it may mean."""
    written = edge.reference.written.strip()
    name = written if written.startswith("[") else f"[[{written}]]"  # so that it is nobody's id
    if edge.meaning is Meaning.RESOLVED and claims:
        return Meaning.RESOLVED, {"corrects": claims[0], "by": claim}
    if edge.meaning is Meaning.CYCLE and claims:
        return Meaning.CYCLE, {"unresolved": name, "candidates": tuple(sorted({claim, claims[0]}))}
    if edge.meaning is Meaning.AMBIGUOUS and {*claims} - {claim}:
        # Where but one of the files can be read, the memo itself makes the second candidate that
        # is needed: in doubt with the other rather than neither.
        named = {*claims} if len(claims) > 1 else {*claims, claim}
        by = {} if claim in named else {"by": claim}
        return Meaning.AMBIGUOUS, {"unresolved": name, "candidates": tuple(sorted(named)), **by}
    meaning = Meaning.AMBIGUOUS if edge.meaning is Meaning.AMBIGUOUS else Meaning.DANGLING
    return meaning, {"unresolved": name, "by": claim}


def _alike(one: ev.Claim, other: ev.Claim) -> bool:
    """Whether two claims say the same, whatever their ids and sources."""
    aside = {"id": "-", "source": None}
    return ev.same_content(one.model_copy(update=aside), other.model_copy(update=aside))


def _same_source(source: ev.SourceRef) -> tuple[object, ...]:
    """What makes two sources of a memo one. The digest of a file is that of its content when it
    was read; one that a memo states is its own."""
    digest = source.digest if source.locator is not None else None
    return source.id, source.locator, source.quote, source.origin, source.observed_at, digest


def _same_edge(event: ev.Correction) -> tuple[object, ...]:
    source = None if event.source is None else event.source.id
    return (*(getattr(event, name) for name in _SAME_EDGE), source)
