"""Engines that are broken on purpose where a log is read all at once, and where what an event does
is told at sight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from doxa.engine import bulk
from doxa.engine.belief import Belief
from doxa.engine.bulk import Bulk
from doxa.engine.drawing import Drawing
from doxa.engine.graph import NONE, Graph
from doxa.engine.numbers import Lists
from doxa.engine.times import NEG, POS
from tests.broken_engines import broken, instead
from tests.broken_parts import Always, Settlement, trusting


@contextmanager
def drawn(way: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """A short way of events that are read at once, while something of it is changed."""

    def make(draw: Any) -> Any:
        def otherwise(self: Any, *args: Any) -> bool:
            with change(self):
                found: bool = draw(self, *args)
                return found

        return otherwise

    with instead(Drawing, way, make):
        yield


# ---------------------------------------------------------------- a log that is read all at once


@broken
def reading_takes_withdrawn_sources_for_whole() -> Iterator[None]:
    with patch.object(Drawing, "uncounted", trusting):
        yield


@broken
def reading_goes_on_trusting_a_source() -> Iterator[None]:
    class Kept(set[int]):
        def clear(self) -> None:
            pass

    def make(init: Any) -> Any:
        def keeping(self: Drawing, *args: Any) -> None:
            init(self, *args)
            self.counting = Kept()

        return keeping

    with instead(Drawing, "__init__", make):
        yield


@broken
def reading_forgets_what_dangles() -> Iterator[None]:
    with patch.object(Graph, "has_dangling", False):
        yield


@broken
def reading_misses_what_is_single_valued() -> Iterator[None]:
    with patch.object(Bulk, "_single_valued", lambda self, predicate: False):
        yield


@broken
def reading_drops_premises() -> Iterator[None]:
    def make(link: Any) -> Any:
        def alone(self: Bulk, kind: str, head: dict[str, Any], row: int, ws: int) -> None:
            link(self, kind, {name: head[name] for name in head if name != "because"}, row, ws)

        return alone

    with instead(Bulk, "_link", make):
        yield


@broken
def reading_leaves_snapshots_alone() -> Iterator[None]:
    def make(init: Any) -> Any:
        def unwatched(self: Bulk, belief: Belief, taken: Any, watched: Any, depended: Any) -> None:
            init(self, belief, taken, lambda: False, depended)

        return unwatched

    with instead(Bulk, "__init__", make):
        yield


@broken
def reading_takes_hypotheses_for_facts() -> Iterator[None]:
    def make(codes: Any) -> Any:
        def as_facts(code: Any, fields: Any, name: str, usual: int) -> list[int]:
            found: list[int] = codes(code, fields, name, usual)
            return [usual] * len(fields) if name == "kind" else found

        return as_facts

    with instead(bulk, "_codes", make):
        yield


@broken
def reading_ties_commits_together() -> Iterator[None]:
    def make(take: Any) -> Any:
        def as_one(self: Bulk, rows: Any, page: Any, ends: list[int], **more: Any) -> None:
            take(self, rows, page, ends[-1:], **more)

        return as_one

    with instead(Bulk, "_take", make):
        yield


# ---------------------------------------------------------------- drawn at once


@broken
def drawing_forgets_what_rests_on_a_claim() -> Iterator[None]:
    with drawn("_fells", lambda self: patch.object(self.graph, "dependents", Lists())):
        yield


@broken
def drawing_holds_hypotheses() -> Iterator[None]:
    with drawn("_derives", lambda self: patch.object(self.belief, "hypothesis", NONE)):
        yield


@broken
def drawing_derives_beyond_the_premises() -> Iterator[None]:
    everything = lambda self: patch.multiple(self.graph, c_from=Always(NEG), c_to=Always(POS))  # noqa: E731
    with drawn("_derives", everything):
        yield


@broken
def what_is_painted_at_sight_forgets_what_rests_on_it() -> Iterator[None]:
    with patch.object(Settlement, "_alone", lambda self, claim: True):
        yield
