"""Small indexes in the form of graphrag's tables, for tests: made as rows, written as files."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

Rows = dict[str, list[dict[str, Any]]]

STORY = {
    "alice.txt": ["Alice founded Acme in Oslo.", "Acme was fined for bribery on 3 May 2021."],
    "bob.txt": ["Bob works at Acme. He may have leaked the plans.", "Bob never met Carol."],
}


def sha(text: str) -> str:
    return hashlib.sha512(text.encode("utf-8", "surrogatepass")).hexdigest()


def index(
    documents: Mapping[str, Sequence[str]] = STORY,
    entities: Sequence[tuple[str, str | None, str, Sequence[str]]] = (),
    relationships: Sequence[tuple[str, str, str, Sequence[str]]] = (),
    claims: Sequence[Mapping[str, Any]] = (),
    communities: Mapping[int, tuple[Sequence[int], Sequence[str], Sequence[int]]] | None = None,
    reports: Mapping[int, str] | None = None,
) -> Rows:
    """The rows of an index: documents as lists of text units, entities as (title, type,
    description, text units), relationships as (source, target, description, text units),
    communities as number → (children, titles, numbers of relationships), reports as number → text.
    """
    rows: Rows = {"documents": [], "text_units": []}
    for n, (title, texts) in enumerate(documents.items()):
        whole = " ".join(texts)
        rows["documents"].append(
            {
                "id": sha(whole),
                "human_readable_id": n,
                "title": title,
                "text": whole,
                "text_unit_ids": [sha(text) for text in texts],
            }
        )
        for text in texts:
            rows["text_units"].append(
                {
                    "id": sha(text),
                    "human_readable_id": len(rows["text_units"]),
                    "text": text,
                    "document_id": sha(whole),
                }
            )
    rows["entities"] = [
        {
            "id": str(uuid.uuid4()),
            "human_readable_id": n,
            "title": title,
            "type": kind,
            "description": description,
            "text_unit_ids": [sha(text) for text in texts],
        }
        for n, (title, kind, description, texts) in enumerate(entities)
    ]
    rows["relationships"] = [
        {
            "id": str(uuid.uuid4()),
            "human_readable_id": n,
            "source": source,
            "target": target,
            "description": description,
            "text_unit_ids": [sha(text) for text in texts],
        }
        for n, (source, target, description, texts) in enumerate(relationships)
    ]
    rows["covariates"] = [covariate(n, **said) for n, said in enumerate(claims)]
    named = {row["title"]: row["id"] for row in rows["entities"]}
    rows["communities"] = [
        {
            "id": str(uuid.uuid4()),
            "human_readable_id": number,
            "community": number,
            "level": 0,
            "parent": -1,
            "children": list(children),
            "title": f"Community {number}",
            "entity_ids": [named[title] for title in titles],
            "relationship_ids": [rows["relationships"][n]["id"] for n in ties],
        }
        for number, (children, titles, ties) in (communities or {}).items()
    ]
    rows["community_reports"] = [
        {
            "id": sha(text),
            "human_readable_id": number,
            "community": number,
            "title": f"Report {number}",
            "summary": text[:20],
            "full_content": text,
        }
        for number, text in (reports or {}).items()
    ]
    return rows


def covariate(n: int, unit: str, **said: Any) -> dict[str, Any]:
    """A claim's row; what is not said is as graphrag writes it."""
    row: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "human_readable_id": n,
        "covariate_type": "claim",
        "type": "FACT",
        "description": f"Claim {n}",
        "subject_id": "ACME",
        "object_id": "NONE",
        "status": "TRUE",
        "start_date": "NONE",
        "end_date": "NONE",
        "source_text": unit,
        "text_unit_id": sha(unit),
    }
    return row | said


A0, A1 = STORY["alice.txt"]
B0, B1 = STORY["bob.txt"]


def story(**more: Any) -> Rows:
    """Two documents, three entities, two relationships, three claims, two communities."""
    said: dict[str, Any] = {
        "documents": STORY,
        "entities": [
            ("ALICE", "PERSON", "Alice is the founder of Acme.", [A0]),
            ("ACME", "ORGANIZATION", "Acme is a company where Bob works.", [A0, A1, B0]),
            ("BOB", "PERSON", "Bob works at Acme.", [B0, B1]),
        ],
        "relationships": [
            ("ALICE", "ACME", "Alice founded Acme.", [A0]),
            ("BOB", "ACME", "Bob is employed by Acme.", [B0]),
        ],
        "claims": [
            {"unit": A1, "type": "BRIBERY", "start_date": "2021-05-03T00:00:00"},
            {"unit": B0, "subject_id": "BOB", "type": "LEAK", "status": "SUSPECTED"},
            {"unit": B1, "subject_id": "BOB", "object_id": "CAROL", "status": "FALSE"},
        ],
        "communities": {0: ([1], ["ALICE", "ACME", "BOB"], [0, 1]), 1: ([], ["BOB"], [])},
        "reports": {
            0: "Alice and Acme [Data: Entities (0); Relationships (0)].",
            1: "Bob may leak [Data: Claims (1)].",
        },
    }
    return index(**(said | more))


def written(folder: Path, rows: Rows, *, leave_out: Sequence[str] = ()) -> Path:
    """Writes the tables as graphrag 3 does."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, its in rows.items():
        if table not in leave_out and its:
            parquet.write_table(pyarrow.Table.from_pylist(its), folder / f"{table}.parquet")
    return folder
