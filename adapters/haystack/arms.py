"""Which searches of a pipeline reach its answer without being judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter

from doxa.adapters.answering import UnjudgedArm, refuse_arms
from doxa.adapters.haystack.components import LedgerRetriever, TruthBlock, TruthFilter
from doxa.engine.errors import CallerError

__all__ = ["check_arms"]

_JUDGED: Final = (TruthFilter, TruthBlock, LedgerRetriever)
# What a component has that fetches documents, besides those that it is given.
_FETCHING: Final = ("document_store", "retriever", "retrievers")


def check_arms(pipeline: Pipeline) -> None:
    """Raises `UnjudgedArm` where documents of a pipeline reach a prompt, or its output, without
    passing a `TruthFilter` or `TruthBlock`; it names the way of each.

    What brings documents is looked for in the graph, also inside of super components. What a tool
    of an agent brings is not in it. Raises `CallerError` for what is no pipeline.
    """
    if not hasattr(pipeline, "graph"):
        raise CallerError(f"{pipeline!r:.80} is no pipeline; give the one that is run")
    refuse_arms(dict.fromkeys(_Flow(pipeline.graph).arms()))


class _Flow:
    """How documents go through a graph."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def arms(self) -> Iterator[str]:
        for name in self.graph.nodes:
            instance = self._instance(name)
            if isinstance(instance, (*_JUDGED, DocumentWriter)):
                continue
            if not self._hands_on(name):
                yield from self._reaching(name)

    def _instance(self, name: str) -> Any:
        return self.graph.nodes[name]["instance"]

    def _hands_on(self, name: str) -> bool:
        """Whether all that a component does with documents is to give them to the next one."""
        sockets = self.graph.nodes[name]["output_sockets"].values()
        giving = [socket for socket in sockets if self._carries(name, socket.type)]
        return bool(giving) and all(socket.receivers for socket in giving)

    def _senders(self, name: str) -> list[str]:
        """The components that give documents to this one."""
        edges = self.graph.in_edges(name, data="from_socket")
        return [sender for sender, _, socket in edges if self._carries(sender, socket.type)]

    def _carries(self, name: str, type: Any, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an output of this type holds documents: it says so or, where it may be anything,
        documents went in."""
        if _documents(type):
            return True
        if type not in (Any, list) or name in seen:
            return False
        edges = self.graph.in_edges(name, data="from_socket")
        return any(self._carries(sender, s.type, seen | {name}) for sender, _, s in edges)

    def _reaching(self, name: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
        """The ways on which documents that nobody judged reach a component, it included."""
        instance = self._instance(name)
        if name in seen or isinstance(instance, _JUDGED):
            return
        way = (name, *seen)
        yield from (" > ".join((arm, *seen)) for arm in self._own(name, instance))
        for sender in self._senders(name):
            yield from self._reaching(sender, way)

    def _own(self, name: str, instance: Any) -> Iterator[str]:
        """The searches that a component makes itself."""
        if not any(_documents(s.type) for s in self.graph.nodes[name]["output_sockets"].values()):
            return
        inner = getattr(instance, "pipeline", None)
        if inner is not None and hasattr(inner, "graph"):
            try:
                check_arms(inner)
            except UnjudgedArm as error:
                yield from (f"{name}[{arm}]" for arm in error.arms)
            return
        many = getattr(instance, "retrievers", None)
        if isinstance(many, dict):
            for key, each in many.items():
                if not isinstance(each, _JUDGED):
                    yield f"{name}[{key}]"
        elif any(hasattr(instance, each) for each in _FETCHING) or not self._takes(name):
            yield name

    def _takes(self, name: str) -> bool:
        """Whether documents go into a component, or could."""
        sockets = self.graph.nodes[name]["input_sockets"].values()
        return bool(self._senders(name)) or any(_documents(socket.type) for socket in sockets)


def _documents(type: Any) -> bool:
    """Whether a type holds documents."""
    return type is Document or any(map(_documents, get_args(type)))
