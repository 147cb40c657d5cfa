"""What is collected where: each framework's adapter, tests and page run in an environment that
holds that framework (``make test-adapters``), and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
FRAMEWORK = os.environ.get("DOXA_FRAMEWORK")
# The modules that import a framework as they are loaded, and what its extra is called.
FRAMEWORKS = {
    "adapters/graphrag/context.py": "graphrag",
    "adapters/graphrag/searches.py": "graphrag",
    "adapters/langchain.py": "langchain",
    "adapters/langchain": "langchain",
    "adapters/llamaindex.py": "llamaindex",
    "adapters/llamaindex": "llamaindex",
    "adapters/haystack.py": "haystack",
    "adapters/haystack": "haystack",
    "adapters/neo4j.py": "neo4j",
    "adapters/neo4j": "neo4j",
    "adapters/mcp": "mcp",
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out what another environment runs."""
    path = collection_path
    if path.is_relative_to(ROOT / "doxa"):
        path = ROOT / path.relative_to(ROOT / "doxa")
    if not path.is_relative_to(ROOT):
        return None
    relative = path.relative_to(ROOT)
    needed = next(
        (FRAMEWORKS[str(p)] for p in (relative, *relative.parents) if str(p) in FRAMEWORKS), None
    )
    if relative.parent == Path("tests/frameworks") and relative.suffix == ".py":
        if not relative.name.startswith("test_"):
            return True  # what its tests share is imported by them alone
        needed = relative.stem.split("_")[1]
    if needed is not None and needed != FRAMEWORK:
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]  # a generator of pytest's own types
    """In CI a framework's test that is skipped has failed."""
    report = yield
    if report.skipped and FRAMEWORK and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"
    return report
