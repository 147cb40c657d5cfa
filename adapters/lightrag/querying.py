"""What a LightRAG query brings back, judged by a view: entities, relationships, chunks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from doxa.adapters.annotations import ANNOTATIONS
from doxa.adapters.carrying import in_turn, label, plain
from doxa.adapters.judging import Found, Kept, LeftOut, Sieve, Sifting, Unknown
from doxa.adapters.lightrag.lookup import Lookup
from doxa.adapters.lightrag.mapping import Ids, shown, speaker
from doxa.adapters.lightrag.records import SEP
from doxa.adapters.lightrag.reranking import Rerank, reranker
from doxa.adapters.lightrag.store import pair_of
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.engine.block import Block
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["Judged", "Truth"]

KINDS: Final = ("relationships", "entities", "chunks")


@dataclass(frozen=True, slots=True)
class Judged:
    """Query data as a view judges it: ``result`` has the form of the data that was given, without
    what may not be used, ``left_out`` has that, each with its reason."""

    view: TruthView
    result: dict[str, Any]
    kept: tuple[Kept, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def data(self) -> dict[str, Any]:
        """The entities, relationships, chunks and references that may be used."""
        found: dict[str, Any] = self.result["data"]
        return found


class Truth:
    """Judges the query data of a LightRAG whose store was imported into a ledger.

    ``name`` is the one that it was imported under; all else is as for a `Sieve`: ``valid_at`` and
    ``known_at`` where a call names none, and what becomes of what the ledger does not know
    (``unknown``: drop, flag or keep). Of a chunk, all that was extracted must hold (``texts`` is
    ``held``), or it is enough that its document stands (``said``).
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        name: str = "default",
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        workspace: str = "",
        shared: bool = True,
        unknown: Unknown = "drop",
        archived: bool = False,
        texts: Literal["held", "said"] = "held",
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        if texts not in ("held", "said"):
            raise CallerError(f"texts is {texts!r:.60}; give held or said")
        self.texts = texts
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            shared=shared,
            unknown=unknown,
            archived=archived,
            annotate=_rests,
            keys=keys,
        )
        self.lookup = Lookup(Ids(name))

    def close(self) -> None:
        """Closes the ledger, where it was given as a path."""
        self.sieve.close()

    # -- judging

    def judge(
        self,
        result: Mapping[str, Any],
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Judged:
        """What may be used of the result of ``query_data``, in its own form.

        The result is not changed: what is kept is copied, with notes in the documented keys beside
        LightRAG's own. References that no chunk uses any more are gone, the others are numbered
        anew, in both places. Raises `CallerError` where it is no such result, `ViewMoved` where the
        truth moved meanwhile.
        """
        view = self.sieve.view(valid_at, known_at)
        rows = _rows_of(result)
        found = [self._found(view, kind, row) for kind in KINDS for row in rows[kind]]
        sifting = self.sieve.sift(found, view)
        self.sieve.still(view)
        return Judged(view, _result(result, sifting), sifting.kept, sifting.left_out)

    async def ajudge(
        self,
        result: Mapping[str, Any],
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Judged:
        """`judge` for asynchronous code, with the same result."""
        return await asyncio.to_thread(self.judge, result, valid_at=valid_at, known_at=known_at)

    def query_data(self, rag: Any, query: str, *param: Any, **times: Any) -> Judged:
        """`judge` of what a LightRAG finds; ``param`` is its `QueryParam`."""
        return self.judge(rag.query_data(query, *param), **times)

    async def aquery_data(self, rag: Any, query: str, *param: Any, **times: Any) -> Judged:
        """`query_data` for asynchronous code."""
        return await self.ajudge(await rag.aquery_data(query, *param), **times)

    def assemble(
        self,
        query: str,
        result: Mapping[str, Any],
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
    ) -> Block:
        """One block of what may be believed of a result, within a budget: relationships, entities
        and chunks in turn, in LightRAG's order, each with its standing and numbered citations."""
        view = self.sieve.view(valid_at, known_at)
        rows = _rows_of(result)
        by_kind = [[self._found(view, kind, row) for row in rows[kind]] for kind in KINDS]
        sifting = self.sieve.sift([one for ones in by_kind for one in ones], view)
        kept, others = in_turn(by_kind, sifting)
        told = [*(self._told(view, one) for one in kept), *others]
        return self.sieve.assemble(query, told, view, budget=budget, count=count, top_k=top_k)

    async def aassemble(self, query: str, result: Mapping[str, Any], **options: Any) -> Block:
        """`assemble` for asynchronous code, with the same result."""
        return await asyncio.to_thread(lambda: self.assemble(query, result, **options))

    def reranker(self, inner: Rerank | None = None) -> Rerank:
        """A ``rerank_model_func`` that leaves out chunks which may not be used, then asks
        ``inner`` (of the same form) to rank the others. It sees chunks alone, not entities and
        relationships, and is no gate where LightRAG ends it for taking too long."""

        def rests(view: TruthView, text: str) -> list[list[str]]:
            return [self._of_text(view, claim) for claim in self.lookup.saying(view, text)]

        return reranker(self.sieve, rests, inner)

    # -- results

    def _found(self, view: TruthView, kind: str, row: Any) -> Found:
        """A row of the result, with what stands behind it."""
        if not isinstance(row, Mapping):
            return Found("", {}, None, item=_Row(kind, row, {}))
        id, name, text = _READ[kind](row)
        rests: dict[str, Any] = {}
        if kind == "chunks":
            rests["claim_ids"] = self._of_text(view, self.lookup.ids.text(str(name), text))
        elif (artefact := self.lookup.description(view, name, text)) is not None:
            rests["artefact_id"] = artefact
        own = {key: value for key, value in row.items() if key not in ANNOTATIONS}
        return Found(text, own, id, item=_Row(kind, row, rests))

    def _of_text(self, view: TruthView, claim: str) -> list[str]:
        """What a chunk's text rests on: that it is said and, unless that is enough, all that was
        extracted from it."""
        held = self.texts == "held"
        return [claim, *(self.lookup.extracted(view, claim) if held else ())]

    def _told(self, view: TruthView, one: Found) -> Found:
        """A result that may be used, as it is printed: with its name, and citations."""
        kind, row, rests = one.item
        if kind == "chunks":
            cited = {**rests, "citation_ids": self.lookup.cited(view, rests["claim_ids"][0])}
            return Found(one.text, cited, one.id, item=one.item)
        named = (row.get(key) for key in _NAMES[kind])
        head = " / ".join(label(str(name)) for name in named if name)
        rests = self.lookup.rests_on(view, rests["artefact_id"])
        return Found(f"{head}: {one.text}", rests, one.id, item=one.item)


class _Row(NamedTuple):
    """Where a result is from, and what it rests on."""

    kind: str
    row: Any
    rests: Mapping[str, Any]


def _rests(found: Found) -> Mapping[str, Any]:
    rests: Mapping[str, Any] = found.item.rests
    return rests


_NAMES: Final = {"entities": ("entity_name",), "relationships": ("src_id", "tgt_id")}


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _entity(row: Mapping[str, Any]) -> tuple[str, str, str]:
    name = _text(row, "entity_name")
    return f"entity:{name}", name, shown(_text(row, "description"))


def _relation(row: Mapping[str, Any]) -> tuple[str, tuple[str, str], str]:
    pair = pair_of(_text(row, "src_id"), _text(row, "tgt_id"))
    return f"relation:{SEP.join(pair)}", pair, shown(_text(row, "description"))


def _chunk(row: Mapping[str, Any]) -> tuple[str, str, str]:
    chunk = _text(row, "chunk_id")
    return f"chunk:{chunk}", speaker(_text(row, "file_path"), chunk), plain(_text(row, "content"))


_READ: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[str, Any, str]]]] = {
    "entities": _entity,
    "relationships": _relation,
    "chunks": _chunk,
}


def _rows_of(result: object) -> dict[str, list[Any]]:
    """The lists of a result."""
    data = result.get("data") if isinstance(result, Mapping) else None
    if not isinstance(data, Mapping):
        raise CallerError(
            f"the result is {result!r:.120}; give what query_data or aquery_data returned, with "
            "its data"
        )
    found = {}
    for kind in (*KINDS, "references"):
        rows = data.get(kind, [])
        if not isinstance(rows, list | tuple):
            raise CallerError(f"data has {kind} {rows!r:.80}; it is a list in LightRAG's results")
        found[kind] = list(rows)
    return found


def _result(result: Mapping[str, Any], sifting: Sifting) -> dict[str, Any]:
    """A result of the same form, with what was kept of it."""
    data = dict(result["data"])
    for kind in KINDS:
        data[kind] = [
            each.metadata if isinstance(each.found.item.row, Mapping) else each.found.item.row
            for each in sifting.kept
            if each.found.item.kind == kind
        ]
    data["references"] = _renumbered(data["chunks"], data.get("references", []))
    told = {
        "view_revision": sifting.view.revision,
        "truth_valid_at": sifting.view.valid_at.isoformat(),
        "truth_left_out": [left.as_dict() for left in sifting.left_out],
    }
    said = result.get("metadata")
    more = said if isinstance(said, Mapping) else {}
    return {**result, "data": data, "metadata": {**more, **told}}


def _renumbered(chunks: list[Any], references: Iterable[Any]) -> list[dict[str, Any]]:
    """The references that are still used, numbered from 1, as their chunks then are."""
    used = {_number(each) for each in chunks}
    numbers: dict[str, str] = {}
    kept = []
    for each in references:
        old = _number(each)
        if old and old in used and old not in numbers:
            numbers[old] = str(len(numbers) + 1)
            kept.append({**each, "reference_id": numbers[old]})
    for chunk in chunks:
        if isinstance(chunk, dict) and "reference_id" in chunk:
            chunk["reference_id"] = numbers.get(_number(chunk), "")
    return kept


def _number(row: object) -> str:
    """The reference_id of a chunk or a reference."""
    return _text(row, "reference_id") if isinstance(row, Mapping) else ""
