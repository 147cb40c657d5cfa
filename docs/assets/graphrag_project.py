"""A small index of graphrag, and what stands for a model, an embedder and a tokenizer, so that its
searches run with no network: for the examples in these pages, and for tests."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd


class WordTokenizer:
    """A tokenizer that needs no download: a token is a word, a mark, or a line's end."""

    def encode(self, text: str) -> list[int]:
        return [hash(piece) for piece in re.findall(r"\w+|[^\w\s]|\n", text)]

    def num_tokens(self, text: str) -> int:
        return len(self.encode(text))


@dataclass
class Document:
    id: str


@dataclass
class Hit:
    document: Document
    score: float


class WordStore:
    """A vector store without vectors: the most words in common come first."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts, self.asked = texts, 0
        self.hook: Callable[[], object] | None = None

    def similarity_search_by_text(
        self, text: str, text_embedder: Any, k: int = 10, **_: Any
    ) -> list[Hit]:
        self.asked += 1
        if self.hook is not None:
            self.hook()
        wanted = set(re.findall(r"\w+", text.lower()))
        ranked = sorted(
            self.texts,
            key=lambda id: (-len(wanted & set(re.findall(r"\w+", self.texts[id].lower()))), id),
        )
        return [Hit(Document(id), 1.0) for id in ranked[:k]]


class Model:
    """A model that has one answer to everything, as graphrag asks one."""

    def __init__(self) -> None:
        self.asked = 0

    async def completion_async(self, messages: Any, stream: bool = False, **_: Any) -> Any:
        self.asked += 1
        return self._streamed()

    async def _streamed(self) -> AsyncIterator[Any]:
        yield SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content="answered"))])


def _reports(*rows: tuple[int, str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "id": f"report-{number}",
                "human_readable_id": number,
                "community": number,
                "level": 0 if number == 0 else 1,
                "parent": -1 if number == 0 else 0,
                "children": [1, 2] if number == 0 else [],
                "title": title,
                "summary": text,
                "full_content": f"# {title}\n\n{text}",
                "rank": 5.0,
                "rating_explanation": "",
                "findings": [],
                "full_content_json": "{}",
                "period": "2024-05-01",
                "size": 2,
            }
            for number, title, text in rows
        ]
    )


def write_index(folder: str | Path) -> Path:
    """An index of two documents: both say that Ada leads Acme, one where she lives."""
    units = {
        "u1": ("d1", "Ada leads Acme."),
        "u2": ("d2", "Ada leads Acme, they say."),
        "u3": ("d2", "Ada lives in Lisbon."),
    }
    documents = {"d1": ["u1"], "d2": ["u2", "u3"]}
    entities = [
        ("ADA", "PERSON", "Ada is a person.", ["u1", "u2", "u3"]),
        ("ACME", "ORGANIZATION", "Acme is a firm.", ["u1"]),
        ("LISBON", "CITY", "Lisbon is where Ada lives.", ["u3"]),
    ]
    related = [
        ("ADA", "ACME", "Ada leads Acme, says one.", ["u1"]),
        ("ADA", "LISBON", "Ada lives in Lisbon.", ["u3"]),
    ]
    claims = [
        ("ADA", "ROLE", "ACME", "TRUE", "Ada leads Acme.", "u1"),
        ("ADA", "RESIDENCE", "LISBON", "SUSPECTED", "Ada may live in Lisbon.", "u3"),
        ("ADA", "ROLE", "NONE", "NONE", "Debris", "u1"),
    ]
    frames = {
        "documents": pd.DataFrame(
            [
                {
                    "id": id,
                    "human_readable_id": n,
                    "title": f"{id}.txt",
                    "text": " ".join(units[u][1] for u in held),
                    "text_unit_ids": held,
                    "creation_date": "2024-05-01",
                    "raw_data": None,
                }
                for n, (id, held) in enumerate(documents.items())
            ]
        ),
        "text_units": pd.DataFrame(
            [
                {
                    "id": id,
                    "human_readable_id": n,
                    "text": text,
                    "n_tokens": 5,
                    "document_id": document,
                    "entity_ids": [],
                    "relationship_ids": [],
                    "covariate_ids": [],
                }
                for n, (id, (document, text)) in enumerate(units.items())
            ]
        ),
        "entities": pd.DataFrame(
            [
                {
                    "id": f"e{n}",
                    "human_readable_id": n,
                    "title": title,
                    "type": type,
                    "description": said,
                    "text_unit_ids": held,
                    "frequency": 1,
                    "degree": 1,
                }
                for n, (title, type, said, held) in enumerate(entities)
            ]
        ),
        "relationships": pd.DataFrame(
            [
                {
                    "id": f"r{n}",
                    "human_readable_id": n,
                    "source": source,
                    "target": target,
                    "description": said,
                    "weight": 1.0,
                    "combined_degree": 2,
                    "text_unit_ids": held,
                }
                for n, (source, target, said, held) in enumerate(related)
            ]
        ),
        "covariates": pd.DataFrame(
            [
                {
                    "id": f"c{n}",
                    "human_readable_id": n,
                    "covariate_type": "claim",
                    "type": type,
                    "description": said,
                    "subject_id": subject,
                    "object_id": object,
                    "status": status,
                    "start_date": "NONE",
                    "end_date": "NONE",
                    "source_text": units[unit][1],
                    "text_unit_id": unit,
                }
                for n, (subject, type, object, status, said, unit) in enumerate(claims)
            ]
        ),
        "communities": pd.DataFrame(
            [
                {
                    "id": f"community-{n}",
                    "human_readable_id": n,
                    "community": n,
                    "level": 0 if n == 0 else 1,
                    "parent": -1 if n == 0 else 0,
                    "children": [1, 2] if n == 0 else [],
                    "title": f"Community {n}",
                    "entity_ids": ids,
                    "relationship_ids": rels,
                    "text_unit_ids": held,
                    "period": "2024-05-01",
                    "size": len(ids),
                }
                for n, (ids, rels, held) in enumerate(
                    [
                        (["e0", "e1", "e2"], ["r0", "r1"], ["u1", "u2", "u3"]),
                        (["e0", "e1"], ["r0"], ["u1"]),
                        (["e2"], ["r1"], ["u3"]),
                    ]
                )
            ]
        ),
        "community_reports": _reports(
            (0, "Everything", "Ada, a firm and a city [Data: Reports (1, 2)]."),
            (1, "Ada and Acme", "Ada leads Acme [Data: Relationships (0); Claims (0)]."),
            (2, "Lisbon", "Ada lives in Lisbon [Data: Relationships (1)]."),
        ),
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for table, frame in frames.items():
        frame.to_parquet(folder / f"{table}.parquet")
    return folder
