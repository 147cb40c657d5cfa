"""Vectors that an embedder once gave, so that tests need no model."""

from __future__ import annotations

import base64
import json

import numpy as np

from doxa.engine.embedding import Embedder, Vector
from tests.support import ROOT

RECORDED = ROOT / "tests" / "recorded" / "vectors.json"


def vectors() -> dict[str, Vector]:
    """The unit vectors of some texts, by WordLlama."""
    stored = json.loads(RECORDED.read_text("utf-8"))["vectors"]
    return {text: np.frombuffer(base64.b64decode(data), "<f4") for text, data in stored.items()}


def recorded() -> Embedder:
    """An embedder of those texts, and of no others."""
    fields, known = json.loads(RECORDED.read_text("utf-8")), vectors()
    return Embedder(
        fields["name"],
        lambda texts: [known[text] for text in texts],
        dimension=fields["dimension"],
    )
