"""Fixtures for every test, and how hard Hypothesis tries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from doxa.engine import checkpoint, fold, lookups, rows, upkeep
from doxa.engine.belief import Belief
from tests import support

if TYPE_CHECKING:
    from doxa.ledger import Ledger

# Time limits belong to whole tests, not to examples. In CI the examples are the same each time, so
# that a change fails for what it holds and not for its luck; at home they are new each time.
settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=50,
)
settings.register_profile(
    "ci", settings.get_profile("default"), derandomize=True, database=None, max_examples=100
)
settings.register_profile(
    "long", settings.get_profile("default"), max_examples=1000, stateful_step_count=50
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)

# Small histories are made compact and written down as often as large ones.
upkeep.FEW, upkeep.MANY, fold.MANY = 3, 20, 20
lookups.FEW = 2
checkpoint.LONG = 0  # every column waits for its first reader
Belief.many, rows._MANY = 2, 2


@pytest.fixture
def shared() -> Callable[..., Path]:
    """The locator of shared data sets and cases: ``shared("data", "advisories")``."""
    return support.shared


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """An empty ledger in memory."""
    import doxa

    with doxa.open() as opened:
        yield opened
