"""Ledgers to be asked, with an embedder made by hand: each text has the vector that is written down
for it, so that every score in a test is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import doxa
from doxa.engine.calibration import Calibration, fit
from doxa.engine.documents import LINEAGE
from doxa.engine.outcomes import Gap

AT = "2024-07-01"
NAME = "by hand"
DIMENSION = 3
NEAR, FAR = 0.9, 0.1  # of what answers the question, and what does not

Meanings = dict[str, "float | list[float]"]


def vector(cosine: float) -> list[float]:
    """A vector with that cosine to every question's."""
    return [cosine, math.sqrt(1 - cosine * cosine), 0.0]


def by_hand(meanings: Meanings, name: str = NAME, **options: Any) -> doxa.Embedder:
    """An embedder for which all questions mean the same, and a text what is written down for it: a
    cosine with the question, or a vector; other texts are at a right angle."""

    def embed(texts: list[str]) -> list[list[float]]:
        found = [meanings.get(text, 0.0) for text in texts]
        return [each if isinstance(each, list) else vector(each) for each in found]

    def embed_query(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0, 0.0] for _ in texts]

    return doxa.Embedder(
        name, embed, **{"embed_query": embed_query, "dimension": DIMENSION, **options}
    )


def fitted(
    right: float = NEAR,
    wrong: float = FAR,
    *,
    questions: int = 20,
    documents: int = 1_000,
    embedder: str = NAME,
    **options: Any,
) -> Calibration:
    """A calibration whose boundary is in the middle of two scores."""
    return fit(
        [right] * questions,
        [wrong] * questions,
        embedder=embedder,
        **{"dimension": DIMENSION, "lineage": LINEAGE, "documents": documents, **options},
    )


def calibrated(ledger: doxa.Ledger, found: Calibration | None = None, workspace: str = "") -> str:
    """Records a calibration, by hand; its id."""
    found = found or fitted()
    return ledger.policy(calibrated=found.as_json(), id=found.id, workspace=workspace)


@contextmanager
def strict(meanings: Meanings, path: Path | None = None, **options: Any) -> Iterator[doxa.Ledger]:
    """A ledger that judges confidence: its boundary is at 0.5."""
    with doxa.open(path, embedder=by_hand(meanings, **options)) as ledger:
        calibrated(ledger)
        yield ledger


def said(ledger: doxa.Ledger, id: str, text: str, **fields: Any) -> str:
    """A claim with a text, about a subject of its own and from a source, if not told otherwise."""
    about = {"subject": f"subject of {id}", "predicate": "is", "object": id, "source": "s"}
    return ledger.claim(**{**about, **fields, "id": id, "text": text})


def now(ledger: doxa.Ledger, **at: Any) -> doxa.TruthView:
    """A view of the summer of 2024."""
    return ledger.view(**{"valid_at": AT, **at})


def ask(ledger: doxa.Ledger, query: Any = "word", /, **options: Any) -> doxa.Recalled:
    """What a question finds now, or at the view that is given."""
    view = options.pop("view", None) or now(ledger)
    return ledger.recall(query, view=view, **options)


def ids(answer: doxa.Recalled) -> list[str]:
    return [hit.id for hit in answer]


def verdicts(answer: doxa.Recalled) -> dict[str, str]:
    return {hit.id: str(hit.verdict) for hit in answer}


def withheld(answer: doxa.Recalled) -> dict[str, str]:
    return {one.id: str(one.verdict) for one in answer.withheld}


def gaps(answer: doxa.Recalled) -> list[Gap]:
    return [one.reason for one in answer.reasons]


def files(folder: Path) -> Mapping[str, bytes]:
    """All bytes of a folder, but where SQLite notes who is reading (``-shm``), which is no file of
    content: it is shared memory."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    paths = [path for path in paths if not path.name.endswith("-shm")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
