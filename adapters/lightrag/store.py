"""The files of one LightRAG workspace, read as they lie in the folder: no LightRAG is needed.

The whole of a file is in memory while it is parsed, and of what it holds only what is used: prompts
are dropped as they are read, texts of documents are replaced by their digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from doxa.adapters.carrying import Aside
from doxa.adapters.lightrag.records import SEP
from doxa.engine.errors import CallerError

__all__ = ["NO_FILE", "Chunk", "Described", "Document", "Store", "pair_of", "read_store"]

NO_FILE: Final = ("", "unknown_source", "no_file_path")  # what stands where no file is known
_DROPPED: Final = frozenset({"original_prompt", "queryparam", "metadata", "chunk_options"})
_CHUNKS: Final = "text_chunks"
_FULL: Final = "full_docs"
_GRAPH: Final = "chunk_entity_relation"
_XML: Final = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a document's text."""

    id: str
    document: str
    text: str
    file: str
    answers: tuple[str, ...] | None  # keys in the cache; None: the store keeps no list


@dataclass(frozen=True, slots=True)
class Document:
    """What the store says of a document."""

    id: str
    status: str
    hash: str
    indexed: Any  # a time, in one of its forms


@dataclass(frozen=True, slots=True)
class Described:
    """A node or an edge of the graph: its name or pair, type, description, and chunks."""

    name: str | tuple[str, str]
    kind: str
    description: str
    chunks: tuple[str, ...]


@dataclass(slots=True)
class Store:
    """What one workspace of LightRAG says now."""

    folder: str
    documents: dict[str, Document]
    chunks: dict[str, Chunk]
    answers: dict[str, tuple[str, str]]  # key → chunk, answer
    entity_chunks: dict[str, tuple[str, ...]] | None
    relation_chunks: dict[str, tuple[str, ...]] | None
    nodes: dict[str, Described] | None
    edges: dict[tuple[str, str], Described] | None
    aside: list[Aside] = field(default_factory=list)

    def answers_for(self, chunk: Chunk) -> Iterator[str]:
        """What was extracted from a chunk. Where the store lists that, nothing else counts: the
        cache keeps what was extracted from texts that are gone."""
        if chunk.answers is None:
            yield from (text for of, text in self.answers.values() if of == chunk.id)
            return
        yield from (self.answers[key][1] for key in chunk.answers if key in self.answers)

    def has_entity(self, name: str, chunk: str) -> bool:
        """Whether the graph still has an entity from a chunk."""
        return _tracked(self.entity_chunks, self.nodes, name, name, chunk)

    def has_relation(self, source: str, target: str, chunk: str) -> bool:
        """Whether the graph still has a relation, in either direction, from a chunk."""
        pair = pair_of(source, target)
        return _tracked(self.relation_chunks, self.edges, SEP.join(pair), pair, chunk)


def pair_of(one: str, other: str) -> tuple[str, str]:
    """The ends of a relation without its direction, which the graph does not keep."""
    return (one, other) if one <= other else (other, one)


def _tracked(
    rows: Mapping[str, tuple[str, ...]] | None,
    graph: Mapping[Any, Described] | None,
    key: str,
    name: object,
    chunk: str,
) -> bool:
    if rows is not None and key in rows:
        return chunk in rows[key]
    if graph is not None:  # its own list of chunks is cut off at some length
        return name in graph
    return rows is None


# ---------------------------------------------------------------- reading


def read_store(folder: str | os.PathLike[str], namespace: str = "", prefix: str = "") -> Store:
    """The store in a working directory; ``namespace`` is LightRAG's ``workspace``, a folder in it,
    ``prefix`` what stands before the names of its files. Raises `CallerError` where there is none,
    or a file of it is torn: then nothing can be said to be gone."""
    files = _Files(folder, namespace, prefix)
    aside: list[Aside] = []
    chunks = files.rows(_CHUNKS)
    if chunks is None:
        raise CallerError(files.nothing())
    status, full = files.rows("doc_status"), files.rows(_FULL)
    cache = files.rows("llm_response_cache") or {}
    nodes, edges = files.graph(aside)
    found = dict(_chunks(chunks, aside))
    documents = _documents(status, full, found)
    _check_whole(documents, found, files)
    return Store(
        str(files.folder),
        documents,
        found,
        dict(_answers(cache, aside)),
        _lists(files.rows("entity_chunks")),
        _lists(files.rows("relation_chunks")),
        nodes,
        edges,
        aside,
    )


class _Files:
    """Where the files of a store are."""

    def __init__(self, folder: str | os.PathLike[str], namespace: str, prefix: str) -> None:
        for name, value in (("namespace", namespace), ("prefix", prefix)):
            if not isinstance(value, str) or os.sep in value or ".." in value:
                raise CallerError(f"{name} is {value!r:.80}; give a plain name")
        self.folder, self.prefix = Path(folder) / namespace, prefix

    def _path(self, kind: str, name: str, ending: str) -> Path | None:
        names = (f"{self.prefix}{kind}_{name}{ending}", f"{kind}_{self.prefix}{name}{ending}")
        return next((path for each in names if (path := self.folder / each).is_file()), None)

    def rows(self, name: str) -> dict[str, Any] | None:
        """The rows of a key-value store; `None` where there is no file."""
        path = self._path("kv_store", name, ".json")
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8-sig", errors="surrogatepass") as file:
                found = json.load(file, object_pairs_hook=_whole if name == _FULL else _slim)
        except (ValueError, RecursionError) as error:
            raise _torn(path, error) from None
        except OSError as error:
            raise CallerError(f"{path} can't be read: {error.strerror}") from None
        if not isinstance(found, dict):
            raise _torn(path, "it holds no object")
        return found

    def graph(self, aside: list[Aside]) -> tuple[Any, Any]:
        """The nodes and edges of the graph; `None` twice where there is no file."""
        path = self._path("graph", _GRAPH, ".graphml")
        if path is None:
            return None, None
        try:
            return _graphml(path, aside)
        except ET.ParseError as error:
            raise _torn(path, error) from None
        except OSError as error:
            raise CallerError(f"{path} can't be read: {error.strerror}") from None

    def nothing(self) -> str:
        """What to say where there is no store."""
        missing = f"there is no {self.prefix}kv_store_{_CHUNKS}.json in {self.folder}"
        if not self.folder.is_dir():
            return f"there is no folder {self.folder}; give the working_dir of LightRAG"
        files = sorted(self.folder.glob(f"*/*kv_store_*{_CHUNKS}.json"))
        inner = list(dict.fromkeys(path.parent.name for path in files))
        if inner:
            named = ", ".join(map(repr, inner[:10]))
            return f"{missing}; there are workspaces of LightRAG in it: give namespace={named}"
        near = sorted(path.name for path in self.folder.glob(f"*kv_store_*{_CHUNKS}.json"))
        if near:
            return f"{missing}; {near[0]} is there: say what stands before the names (prefix)"
        return (
            f"{missing}; give the working_dir of a LightRAG that keeps its stores in files (what "
            "is in a database is not read)"
        )


def _torn(path: Path, why: object) -> CallerError:
    return CallerError(
        f"{path} can't be read, so nothing is imported: {why}; copy the folder while LightRAG is "
        "at rest"
    )


def _slim(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without what is large and not used."""
    return {name: value for name, value in pairs if name not in _DROPPED}


def _whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A whole document, with the digest of its text in place of that."""
    found = _slim(pairs)
    if isinstance(text := found.get("content"), str):
        found["content"] = _digest(text)
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _chunks(rows: Mapping[str, Any], aside: list[Aside]) -> Iterator[tuple[str, Chunk]]:
    for id, row in rows.items():
        text = row.get("content") if isinstance(row, dict) else None
        if not isinstance(text, str) or not text.strip():
            aside.append(Aside.of(f"{_CHUNKS} {id}", "is no chunk with a text", row))
            continue
        listed = row.get("llm_cache_list")
        answers = None if not isinstance(listed, list) else tuple(dict.fromkeys(map(str, listed)))
        document, file = row.get("full_doc_id"), row.get("file_path")
        yield id, Chunk(id, str(document or id), text, str(file or ""), answers)


def _documents(
    status: Mapping[str, Any] | None, full: Mapping[str, Any] | None, chunks: Mapping[str, Chunk]
) -> dict[str, Document]:
    """The documents that the store says it has; without a list of them, those of its chunks."""
    rows: Mapping[str, Any]
    if status is not None:
        rows = status
    elif full is not None:
        rows = full
    else:
        rows = dict.fromkeys(chunk.document for chunk in chunks.values())
    texts: dict[str, list[str]] = {}
    for chunk in chunks.values():
        texts.setdefault(chunk.document, []).append(chunk.text)
    found = {}
    for id, row in rows.items():
        said = row if isinstance(row, dict) else {}
        held = (full or {}).get(id)
        whole = held if isinstance(held, dict) else {}
        # an older LightRAG keeps no hash: its text is as good, and else what is left of that
        hash = said.get("content_hash") or whole.get("content_hash") or whole.get("content")
        state = said.get("status", "processed") if status is not None else "processed"
        indexed = said.get("created_at") or whole.get("create_time")
        found[id] = Document(
            id, str(state).lower(), str(hash or _digest("\n".join(texts.get(id, [])))), indexed
        )
    return found


def _check_whole(
    documents: Mapping[str, Document], chunks: Mapping[str, Chunk], files: _Files
) -> None:
    """Refuses a store that has lost all its chunks, though not its documents."""
    settled = [each for each in documents.values() if each.status == "processed"]
    if settled and not chunks:
        raise CallerError(
            f"{files.folder} lists {len(settled)} documents and has none of their chunks: a file "
            "is missing or from another time; nothing is imported"
        )


def _answers(rows: Mapping[str, Any], aside: list[Aside]) -> Iterator[tuple[str, tuple[str, str]]]:
    flat: list[tuple[str, Any]] = []
    for key, row in rows.items():
        if isinstance(row, dict) and "return" not in row:  # an older form: by mode, then by key
            flat += row.items()
        else:
            flat.append((key, row))
    for key, row in flat:
        if not isinstance(row, dict) or row.get("cache_type", "extract") != "extract":
            continue
        answer = row.get("return")
        if not isinstance(answer, str):
            aside.append(Aside.of(f"llm_response_cache {key}", "has no answer", row))
            continue
        yield key, (str(row.get("chunk_id") or ""), answer)


def _lists(rows: Mapping[str, Any] | None) -> dict[str, tuple[str, ...]] | None:
    """Which chunks a name is from. A row that says nothing is as if it were not there."""
    if rows is None:
        return None
    return {
        name: tuple(dict.fromkeys(map(str, row["chunk_ids"])))
        for name, row in rows.items()
        if isinstance(row, dict) and isinstance(row.get("chunk_ids"), list)
    }


def _graphml(path: Path, aside: list[Aside]) -> tuple[dict[str, Any], dict[Any, Any]]:
    names: dict[str, str] = {}
    nodes: dict[str, Described] = {}
    edges: dict[tuple[str, str], Described] = {}
    for _, element in ET.iterparse(path):
        tag = element.tag.removeprefix(_XML)
        if tag == "key":
            names[element.get("id", "")] = element.get("attr.name", "")
        elif tag in ("node", "edge"):
            said = {names.get(d.get("key", ""), ""): d.text or "" for d in element}
            chunks = tuple(part for part in said.get("source_id", "").split(SEP) if part)
            text = said.get("description", "")
            if tag == "node":
                name = element.get("id", "")
                nodes[name] = Described(name, said.get("entity_type", ""), text, chunks)
            else:
                pair = pair_of(element.get("source", ""), element.get("target", ""))
                edges[pair] = Described(pair, "", text, chunks)
            element.clear()
    for pair in [pair for pair in edges if not (pair[0] in nodes and pair[1] in nodes)]:
        aside.append(Aside.of(f"edge {SEP.join(pair)}", "leads to a node that is not there"))
        del edges[pair]
    return nodes, edges
