"""A question to a ledger, and the means that it is answered with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from doxa.engine.arms import Arm
from doxa.engine.choosing import Filters
from doxa.engine.envelope import Missing
from doxa.engine.layers import COLD, Warm
from doxa.engine.outcomes import Mode
from doxa.engine.rendering import Counter
from doxa.engine.trust import Gate
from doxa.engine.validity import FreshnessFrom

__all__ = ["Asked", "Means", "Refused"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and how it is to be answered.

    ``top_k`` units are given after the first ``offset``; each arm gives ``pool`` documents at most,
    having looked at ``scan_limit``. ``now``, in microseconds, is what ages run to.
    """

    query: str
    mode: Mode
    top_k: int
    pool: int
    now: int
    filters: Filters = field(default_factory=Filters)
    scan_limit: int | None = None
    predecessors: bool = False
    max_age: float | None = None
    annotate: bool = False  # with the validity of each hit
    profile: str | None = None
    freshness_from: str = FreshnessFrom.OBSERVED
    budget: int | None = None
    count: Counter | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """What a question is answered with.

    ``arms`` by name; ``missing`` says why one that was asked for is not among them. ``refusals``
    are the reasons why the gate can't run. ``documents`` is how many the view sees. ``rerank``
    gives a score for each text, ``entails`` whether each answers the question, ``similar`` the
    cosine of each with the question, -1 where it has none: they raise `Unavailable` where they
    can't. ``warm`` are the records that were used often.
    """

    arms: Mapping[str, Arm]
    gate: Gate
    documents: int
    index: str = ""
    missing: Sequence[Missing] = ()
    refusals: Sequence[Missing] = ()
    warnings: Sequence[str] = ()
    similar: Callable[[str, list[str]], Sequence[float]] | None = None
    rerank: Callable[[str, list[str]], Sequence[float | None]] | None = None
    entails: Callable[[str, list[str]], Sequence[bool]] | None = None
    warm: Warm = COLD


class Refused(Exception):
    """The gate can't run."""

    def __init__(self, *reasons: Missing) -> None:
        super().__init__(*reasons)
        self.reasons = reasons
