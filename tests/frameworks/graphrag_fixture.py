"""An index of graphrag in memory: a small one of our own, or real ones, with what searches them."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from graphrag.data_model.community_report import CommunityReport
from graphrag.data_model.covariate import Covariate
from graphrag.data_model.entity import Entity
from graphrag.data_model.relationship import Relationship
from graphrag.data_model.text_unit import TextUnit
from graphrag.query.indexer_adapters import (
    read_indexer_covariates,
    read_indexer_entities,
    read_indexer_relationships,
    read_indexer_reports,
    read_indexer_text_units,
)
from graphrag.query.structured_search.local_search.mixed_context import LocalSearchMixedContext

from tests.support import ROOT

_spec = importlib.util.spec_from_file_location(
    "graphrag_project", ROOT / "docs" / "assets" / "graphrag_project.py"
)
assert _spec is not None
assert _spec.loader is not None
project: Any = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = project
_spec.loader.exec_module(project)

TABLES = (
    *("documents", "text_units", "entities", "relationships", "covariates", "communities"),
    "community_reports",
)


class Index:
    """The data frames of an index, read anew each time: the framework writes in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def frames(self) -> dict[str, pd.DataFrame]:
        return {table: pd.read_parquet(self.folder / f"{table}.parquet") for table in TABLES}

    def models(self, frames: dict[str, pd.DataFrame] | None = None) -> Models:
        f = self.frames() if frames is None else frames
        return Models(
            read_indexer_entities(f["entities"], f["communities"], 2),
            read_indexer_relationships(f["relationships"]),
            read_indexer_covariates(f["covariates"]),
            read_indexer_reports(f["community_reports"], f["communities"], 2),
            read_indexer_text_units(f["text_units"]),
        )


@dataclass
class Models:
    entities: list[Entity]
    relationships: list[Relationship]
    covariates: list[Covariate]
    reports: list[CommunityReport]
    text_units: list[TextUnit]

    def store(self) -> Any:
        return project.WordStore({e.id: f"{e.title} {e.description}" for e in self.entities})

    def arguments(self) -> dict[str, Any]:
        return {
            "entities": self.entities,
            "entity_text_embeddings": self.store(),
            "text_embedder": None,
            "text_units": self.text_units,
            "community_reports": self.reports,
            "relationships": self.relationships,
            "covariates": {"claims": self.covariates},
            "tokenizer": project.WordTokenizer(),
        }

    def builder(self) -> LocalSearchMixedContext:
        return LocalSearchMixedContext(**self.arguments())
