"""A LightRAG working directory, written as LightRAG writes it, from what its chunks say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

SEP = "<SEP>"
TIME = 1_796_019_329

Entity = tuple[str, str, str]  # name, type, description
Relation = tuple[str, str, str]  # source, target, description


@dataclass
class Doc:
    """A document of one chunk, and what a model found in it."""

    text: str
    file: str = "a.txt"
    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    status: str = "processed"
    answer: str | None = None  # as it is, in place of the records


@dataclass
class Written:
    """The rows of each file."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.rows.items():
            path = folder / f"kv_store_{name}.json"
            path.write_text(json.dumps(rows), "utf-8")
        (folder / "graph_chunk_entity_relation.graphml").write_text(self.graphml(), "utf-8")
        return folder

    def graphml(self) -> str:
        keys = ("entity_type", "description", "source_id", "file_path")
        lines = ['<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
        lines += [f'<key id="{key}" for="all" attr.name="{key}"/>' for key in keys]
        lines.append('<graph edgedefault="undirected">')

        def data(row: Mapping[str, str]) -> str:
            return "".join(f'<data key="{k}">{escape(v)}</data>' for k, v in row.items())

        for name, row in self.nodes.items():
            lines.append(f"<node id={quoteattr(name)}>{data(row)}</node>")
        for (one, other), row in self.edges.items():
            ends = f"source={quoteattr(one)} target={quoteattr(other)}"
            lines.append(f"<edge {ends}>{data(row)}</edge>")
        return "\n".join([*lines, "</graph></graphml>"])


def records(doc: Doc) -> str:
    if doc.answer is not None:
        return doc.answer
    lines = ["<|#|>".join(("entity", *entity)) for entity in doc.entities]
    lines += [
        "<|#|>".join(("relation", one, other, "related", text))
        for one, other, text in doc.relations
    ]
    return "\n".join([*lines, "<|COMPLETE|>"])


def written(docs: Mapping[str, Doc], *, cache: bool = True) -> Written:
    """The files for these documents; without a ``cache`` no answer of the model is kept."""
    found = Written()
    names = ("doc_status", "full_docs", "text_chunks", "entity_chunks", "relation_chunks")
    found.rows = {name: {} for name in (*names, "llm_response_cache")}
    for id, doc in docs.items():
        chunk, key = f"{id}-chunk-000", f"default:extract:{hashlib.md5(id.encode()).hexdigest()}"
        digest = hashlib.md5(doc.text.encode("utf-8", "surrogatepass")).hexdigest()
        found.rows["doc_status"][id] = {
            "status": doc.status,
            "content_hash": digest,
            "file_path": doc.file,
            "created_at": "2026-11-30T06:15:29.844655+00:00",
            "chunks_list": [chunk],
        }
        found.rows["full_docs"][id] = {"content": doc.text, "content_hash": digest}
        found.rows["text_chunks"][chunk] = {
            "content": doc.text,
            "chunk_order_index": 0,
            "full_doc_id": id,
            "file_path": doc.file,
            "llm_cache_list": [key] if cache else [],
            "create_time": TIME,
        }
        if cache:
            found.rows["llm_response_cache"][key] = {
                "return": records(doc),
                "cache_type": "extract",
                "chunk_id": chunk,
                "original_prompt": "a very long prompt",
                "create_time": TIME,
            }
        if doc.status == "processed":
            _into_the_graph(found, chunk, doc)
    return found


def _into_the_graph(found: Written, chunk: str, doc: Doc) -> None:
    for name, kind, text in doc.entities:
        node = found.nodes.setdefault(name, {"entity_type": kind, "description": ""})
        _merge(node, chunk, text, doc.file)
        _track(found.rows["entity_chunks"], name, chunk)
    for one, other, text in doc.relations:
        pair = (min(one, other), max(one, other))
        for name in pair:
            found.nodes.setdefault(name, {"entity_type": "UNKNOWN", "description": ""})
        edge = found.edges.setdefault(pair, {"description": ""})
        _merge(edge, chunk, text, doc.file)
        _track(found.rows["relation_chunks"], SEP.join(pair), chunk)


def _merge(row: dict[str, str], chunk: str, text: str, file: str) -> None:
    for key, value in (("description", text), ("source_id", chunk), ("file_path", file)):
        parts = [part for part in row.get(key, "").split(SEP) if part]
        row[key] = SEP.join(dict.fromkeys([*parts, value]))


def _track(rows: dict[str, Any], name: str, chunk: str) -> None:
    listed = rows.setdefault(name, {"chunk_ids": []})["chunk_ids"]
    if chunk not in listed:
        listed.append(chunk)


def found_by(found: Written) -> dict[str, Any]:
    """What ``query_data`` gives where everything is found."""
    chunks = found.rows["text_chunks"]
    files = list(dict.fromkeys(row["file_path"] for row in chunks.values()))
    numbers = {file: str(n) for n, file in enumerate(files, 1)}
    return {
        "status": "success",
        "message": "Query processed successfully",
        "data": {
            "entities": [
                {"entity_name": name, **row, "created_at": TIME}
                for name, row in found.nodes.items()
                if row["description"]
            ],
            "relationships": [
                {"src_id": one, "tgt_id": other, **row, "weight": 2.0, "keywords": "related"}
                for (one, other), row in found.edges.items()
            ],
            "chunks": [
                {
                    "reference_id": numbers[row["file_path"]],
                    "content": row["content"],
                    "file_path": row["file_path"],
                    "chunk_id": id,
                }
                for id, row in chunks.items()
            ],
            "references": [
                {"reference_id": number, "file_path": file} for file, number in numbers.items()
            ],
        },
        "metadata": {"query_mode": "mix"},
    }
