"""Where the repository is, and where the shared data sets and cases are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("DOXA_SHARED") or ROOT.parent / "shared")


def shared(*parts: str) -> Path:
    """A file or folder of the shared data: ``shared("cases", "cases.jsonl")``.

    The data lies beside the repository, or where ``DOXA_SHARED`` says. A test that needs it is
    skipped where it is absent, and fails where ``CI`` is set. May be called while tests are
    collected, as the module that needs the data is loaded.
    """
    path = SHARED.joinpath(*parts)
    if not path.exists():
        reason = f"{'/'.join(parts)} is not in the shared data; name its folder in DOXA_SHARED"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)
    return path
