"""What a ledger answers before and after a compaction, and what of it may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from itertools import pairwise, product
from random import Random
from typing import Any, Final

import doxa
from doxa.engine.errors import Compacted, DoxaError
from doxa.engine.events import equality_key
from doxa.ledger import Ledger
from doxa.oracle import Log, Truth
from doxa.oracle.log import Key
from doxa.views import TruthView
from tests.histories import INSTANTS, PREDICATES, SUBJECTS, Author, Fields, moment

Answers = dict[tuple[Any, ...], Any]
COMPACTED: Final = "compacted"
SIGHTS: Final[tuple[tuple[str, bool, str | None], ...]] = (
    ("", True, None), ("w", True, None), ("w", False, None), ("x", True, "ada"), ("", True, ""),
)  # fmt: skip


class Corrector(Author):
    """An author who mostly corrects and withdraws what was said, over all of it."""

    def commit(self) -> list[Fields]:
        if self.random.random() < 0.35 or not self.known("", "claim"):
            return super().commit()
        workspace = self.random.choice(("", "", "w"))
        claims = self.known(workspace, "claim")
        if not claims or self.random.random() < 0.2:
            return self.of(["claim", "claim"], workspace)
        if self.random.random() < 0.3:
            (event,) = self.of(["withdrawal"], workspace)
            kept = {key: event[key] for key in ("event", "id")}
            return [{**kept, "workspace": workspace, "target": self._near(claims)}]
        new, correction = self.of(["claim", "correction"], workspace)
        for event in (new, correction):
            event["workspace"] = workspace
            event["id"] = self._fresh(workspace, event["event"])
        if self.random.random() < 0.7:
            for bound in ("valid_from", "valid_to"):
                new.pop(bound, None)
        kept = {key: correction[key] for key in ("event", "id", "workspace")}
        by = {"by": new["id"]} if self.random.random() < 0.85 else {}
        whole = {"valid_from": None, "valid_to": None} if self.random.random() < 0.5 else {}
        return [new, {**kept, "corrects": self._near(claims), **by, **whole}]


def coordinates(log: Log, random: Random, count: int) -> list[tuple[int, int]]:
    """Pairs of a valid time and a revision."""
    commits = [commit.last for commit in log.commits]
    every = list(product(INSTANTS, commits))
    return random.sample(every, min(count, len(every)))


def outcome(ask: Callable[[], Any]) -> Any:
    """What a question gives: an answer, an error, or that it was compacted."""
    try:
        return ask()
    except Compacted as error:
        told = error.count > 0 and len(bytes.fromhex(error.digest)) == 32
        return COMPACTED if told else f"nothing is told: {error}"
    except DoxaError as error:
        return type(error).__name__, str(error)


def _items(found: list[Any]) -> list[tuple[Any, ...]]:
    return [
        (item.workspace, item.id, str(item.standing), repr(item.object), item.position)
        for item in found
    ]


def _tree(step: Any) -> Any:
    """A tree of reasons, less the corrections that put claims in: they may be compacted."""
    return (
        step.role, step.kind, step.id, step.says, step.standing, step.counts, step.position,
        [_tree(each) for each in step.behind if each.role != "put in by"],
    )  # fmt: skip


def answers(ledger: Ledger, log: Log, places: list[tuple[int, int]]) -> Answers:
    """What a ledger answers at some coordinates."""
    found: Answers = {}
    for v, k in places:
        for sight in SIGHTS:
            workspace, shared, perspective = sight
            view = ledger.view(
                valid_at=moment(v),
                known_at=k,
                workspace=workspace,
                shared=shared,
                perspective=perspective,
            )
            for name, ask in _questions(view, log):
                found[v, k, sight, *name] = outcome(ask)
    for v, sight in product({v for v, _ in places}, SIGHTS):
        workspace, shared, perspective = sight
        for about in product(SUBJECTS, PREDICATES):
            found["history", v, sight, *about] = [
                (item.revision, _said(item.values), item.contested, item.compacted)
                for item in ledger.history(
                    *about,
                    valid_at=moment(v),
                    workspace=workspace,
                    shared=shared,
                    perspective=perspective,
                )
            ]
    for (v, k), (w, j) in pairwise(places):
        one, other = (ledger.view(valid_at=moment(at), known_at=n) for at, n in ((v, k), (w, j)))
        found[v, k, "diff", w, j] = outcome(lambda a=one, b=other: repr(a.diff(b)))  # type: ignore[misc]
        found[v, k, "reconcile", w, j] = outcome(
            lambda a=one, b=other: _reconciled(ledger, a, b)  # type: ignore[misc]
        )
    return found


def _reconciled(ledger: Ledger, one: TruthView, other: TruthView) -> Any:
    """What became of each artefact; how many had to be looked at is another's matter."""
    late, early = sorted((one, other), key=lambda view: -view.revision)
    found = ledger.reconcile(late, early)
    alone = ledger.reconcile(late)
    return [
        repr((each.invalidated, each.restored, tuple(each.unchanged))) for each in (found, alone)
    ]


def _questions(view: TruthView, log: Log) -> Iterator[tuple[tuple[Any, ...], Callable[[], Any]]]:
    for key in log.claims:
        place, id = key
        if place not in (view.workspace, "" if view.shared else view.workspace):
            continue

        def of(name: str, place: str = place, id: str = id) -> Callable[[], Any]:
            return lambda: getattr(view, name)(id, workspace=place)

        for name in ("standing", "successors", "ambiguous"):
            yield (name, key), of(name)
        yield ("supports", key), lambda of=of: repr(of("supports")())  # type: ignore[misc]
        yield ("why", key), lambda of=of: _tree(of("why")())  # type: ignore[misc]
    for about in product(SUBJECTS, PREDICATES):
        yield ("values", *about), lambda about=about: view.values(*about)  # type: ignore[misc]
        yield ("value", *about), lambda about=about: view.value(*about)  # type: ignore[misc]
        yield (
            ("table", *about),
            lambda a=about: view.to_arrow(subject=a[0], predicate=a[1]).to_pylist(),  # type: ignore[misc]
        )
    yield ("claims", None), lambda: _items(view.claims())
    yield ("claims", "any"), lambda: _items(view.claims(standing="any"))
    yield ("claims", "of"), lambda: _items(view.claims(subject="s", standing="superseded"))
    yield ("fingerprint", None), lambda: view.fingerprint
    yield ("fingerprint", "s"), lambda: view.fingerprint_of(["s"])
    yield ("sources", None), lambda: [astuple(item) for item in view.sources()]
    for key in log.artefacts:
        yield ("judged", key), lambda key=key: repr(_judged(view, key))  # type: ignore[misc]


def _judged(view: TruthView, key: Key) -> Any:
    from doxa.engine.registry import judge_ids

    assert view.origin is not None
    return judge_ids(view.origin[1], view, [{"workspace": key[0], "id": key[1]}])


def needed(log: Log, gone: set[Key], question: tuple[Any, ...]) -> bool:
    """Whether the answer to a question has something of what was compacted, by the whole log."""
    v, k, sight, name, *rest = question
    if sight in ("diff", "reconcile"):
        return sight == "diff" and _differ(log, gone, (v, k), (name, rest[0]))
    workspace, shared, perspective = sight
    truth = Truth(log, v, k, workspace, shared, perspective)
    sighted = {key for key in gone if key in truth.standings()}
    if name in ("standing", "successors", "ambiguous", "supports", "why"):
        return rest[0] in gone and log.claims[rest[0]].commit <= k
    if name in ("values", "value", "table"):
        return any(
            (log.claims[key].subject, log.claims[key].predicate) == tuple(rest)
            for key in sighted & truth.held()
        )
    if name == "claims" and rest[0] == "of":
        standing = {key for key, found in truth.standings().items() if found == "superseded"}
        return any(log.claims[key].subject == "s" for key in sighted & standing)
    if name == "claims":
        return bool(sighted if rest[0] == "any" else sighted & truth.held())
    if name == "fingerprint":
        entries = {(entry.workspace, entry.id) for entry in truth.entries()}
        about = [key for key in sighted & entries if rest[0] in (None, log.claims[key].subject)]
        return bool(about)
    if name == "sources":
        sourced = {s.claim for s in log.supports.values() if s.source is not None}
        return any(truth.sees(key[0]) and log.claims[key].commit <= k for key in gone & sourced)
    return False


def _differ(log: Log, gone: set[Key], one: tuple[int, int], other: tuple[int, int]) -> bool:
    first, second = (Truth(log, *at).standings() for at in (one, other))
    return any(first.get(key) != second.get(key) for key in gone)


def _as_many(before: list[Any], after: list[Any]) -> bool:
    """Whether sources are listed as before, with those claims counted that are gone."""
    listed = {item[:3]: (set(item[3]), item[4]) for item in after}
    for *source, claims, _ in before:
        left, gone = listed.pop(tuple(source), (set(), 0))
        if not left <= set(claims) or len(left) + gone < len(claims):
            return False
    return not any(left for left, _ in listed.values())


def _said(values: tuple[Any, ...] | None) -> list[str] | None:
    """Values, by value: an item is new where these are others."""
    return None if values is None else sorted(map(equality_key, values))


def _goes_on(before: list[Any], after: list[Any]) -> bool:
    """Whether a history is as before, or as before from where it says that it knows."""
    if before == after:
        return True
    if len(after) < 2 or after[0][3] is None or after[0][:2] != (0, None):
        return False
    start = after[1][0]
    was = [item for item in before if item[0] <= start and item[3] is None]
    state = was[-1][1:3] if was else ([], False)
    later = [item for item in before if item[0] > start]
    return after[1][1:3] == state and after[2:] == later


def first_difference(log: Log, gone: set[Key], before: Answers, after: Answers) -> str | None:
    """The first answer that is neither as before nor rightly refused."""
    for question, answer in before.items():
        found = after[question]
        if question[0] == "history":
            if not _goes_on(answer, found):
                return f"{question}: {found}, not {answer} from some revision on"
            continue
        if question[3] == "standing" and question[4] in gone:
            known = log.claims[question[4]].commit <= question[1]
            expected = doxa.Standing.COMPACTED if known else answer
            if found != expected:
                return f"{question}: {found}, not {expected}"
        elif question[3] == "sources":
            if found != (answer if not needed(log, gone, question) else found):
                return f"{question}: {found}, not {answer}"
            if found != COMPACTED and not _as_many(answer, found):
                return f"{question}: {found}, which lacks some of {answer}"
        elif needed(log, gone, question):
            if found != COMPACTED:
                return f"{question}: {found}, which is compacted"
        elif found != answer:
            return f"{question}: {found}, not {answer} as before"
    return None
