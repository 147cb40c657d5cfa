"""What may be asked of a recall, checked: every argument that can't be used is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar

from doxa.arguments import check_text
from doxa.engine import times
from doxa.engine.asking import Asked
from doxa.engine.belief import Standing
from doxa.engine.candidates import surrogate
from doxa.engine.choosing import Filters
from doxa.engine.errors import CallerError
from doxa.engine.items import standings_of
from doxa.engine.layers import Layer
from doxa.engine.outcomes import Mode, Tier
from doxa.engine.rendering import counter_name
from doxa.engine.validity import FreshnessFrom, freshness_from_of, profile_of
from doxa.engine.view import TruthView

__all__ = ["MOST", "POOL", "QUERY_LIMIT", "asked_of", "in_few", "mode_of", "request_json"]

QUERY_LIMIT: Final = 100_000  # characters
MOST: Final = 10_000  # of top_k and pool
LARGEST: Final = 2**63 - 1  # of what else is counted
POOL: Final = 100  # documents that each way of searching gives

T = TypeVar("T", Mode, Tier, Layer)

DEFAULTS: Final[dict[str, Any]] = {
    "top_k": 10,
    "workspace": None,
    "subject": None,
    "predicate": None,
    "perspective": None,
    "kind": None,
    "standing": None,
    "tier": None,
    "archived": False,
    "layer": None,
    "profile": None,
    "validity_annotate": False,
    "freshness_from": FreshnessFrom.OBSERVED,
    "now": None,
    "max_age": None,
    "predecessors": False,
    "budget": None,
    "count": None,
    "pool": None,
    "scan_limit": None,
}


def asked_of(query: str, view: TruthView, mode: Mode, options: Mapping[str, Any]) -> Asked:
    """A question with its options, those left out at their defaults. Raises `CallerError`."""
    _check_query(query)
    given = {**DEFAULTS, **options}
    top_k = _number("top_k", given["top_k"], 1)
    pool = max(POOL, top_k) if given["pool"] is None else _number("pool", given["pool"], 1)
    now = view.v if given["now"] is None else times.instant(given["now"], "now")
    profile_of(given["profile"])
    counted, annotate = freshness_from_of(given["freshness_from"]), given["validity_annotate"]
    if counted is not FreshnessFrom.OBSERVED and given["profile"] is None and not annotate:
        raise CallerError(
            f"freshness_from is {str(counted)!r}, and no validity is asked for; give "
            "profile='validity' or validity_annotate=True"
        )
    budget, limit, count = given["budget"], given["scan_limit"], given["count"]
    if count is not None and not callable(count):
        raise CallerError(f"count is of type {type(count).__name__}; give a function of a text")
    return Asked(
        query=query,
        mode=mode,
        top_k=top_k,
        pool=pool,
        now=now,
        filters=_filters(view, given),
        scan_limit=None if limit is None else _number("scan_limit", limit, 1, LARGEST),
        predecessors=_flag("predecessors", given["predecessors"]),
        max_age=_seconds("max_age", given["max_age"]),
        annotate=_flag("validity_annotate", annotate),
        profile=given["profile"],
        freshness_from=counted,
        budget=None if budget is None else _number("budget", budget, 0, LARGEST),
        count=count,
    )


def _check_query(query: object) -> None:
    check_text(query, "query")
    assert isinstance(query, str)
    if not query.strip():
        raise CallerError("query is empty; ask something, or list what is held with view.claims()")
    if len(query) > QUERY_LIMIT:
        raise CallerError(
            f"query has {len(query):,} characters; a question has at most {QUERY_LIMIT:,}: ask for "
            "the part that matters"
        )
    _check_whole(query, "query")


def _check_whole(text: str, name: str) -> None:
    if (at := surrogate(text)) is not None:
        raise CallerError(f"{name} holds half of a surrogate pair at {at}: it is not Unicode text")


def _number(name: str, value: object, least: int, most: int = MOST) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise CallerError(f"{name} is {in_few(value)}; give a whole number from {least} to {most:,}")


def _flag(name: str, value: object) -> bool:
    if value is not True and value is not False:
        raise CallerError(f"{name} is {in_few(value)}; give True or False")
    return value


def _seconds(name: str, value: object) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        seconds = math.nan
    if 0 <= seconds <= LARGEST:
        return float(seconds)
    raise CallerError(f"{name} is {in_few(value)}; give a timedelta, or seconds, 0 or more")


def in_few(value: object) -> str:
    """A value that was given, in few characters; its type, where it can't be written out."""
    try:
        return f"{value!r:.60}"
    except Exception:  # whatever somebody's object does; a whole number of very many digits too
        return f"of type {type(value).__name__}, and can't be written out"


def mode_of(value: object, embedder: object) -> Mode:
    """The mode that is meant; left out, fused where there is an embedder."""
    if value is None:
        return Mode.LEXICAL if embedder is None else Mode.FUSED
    return _one_of(Mode, value, "mode")


def _one_of(kind: type[T], value: object, name: str) -> T:
    if isinstance(value, str):
        for one in kind:
            if one == value:
                return one
    raise CallerError(f"{name} is {in_few(value)}; give one of {', '.join(kind)}")


def _filters(view: TruthView, given: Mapping[str, Any]) -> Filters:
    names = ("workspace", "subject", "predicate", "perspective", "kind")
    for name in names:
        if given[name] is not None:
            check_text(given[name], name)
            _check_whole(given[name], name)
    for name in ("workspace", "perspective"):
        _check_whole(getattr(view, name) or "", f"the view's {name}")
    sight = {view.workspace, ""} if view.shared else {view.workspace}
    if given["workspace"] is not None and given["workspace"] not in sight:
        raise CallerError(
            f"workspace is {given['workspace']!r:.80}, which the view does not see; it sees "
            f"{' and '.join(sorted(map(repr, sight)))}: capture a view of the other"
        )
    tier = given["tier"]
    tiers = frozenset(Tier) if tier is None else frozenset(_some(Tier, tier, "tier"))
    return Filters(
        **{name: given[name] for name in names},
        standings=_standings(given["standing"]),
        tiers=tiers,
        archived=_flag("archived", given["archived"]),
        layers=None if given["layer"] is None else frozenset(_some(Layer, given["layer"], "layer")),
    )


def _standings(value: Any) -> frozenset[Standing]:
    found = standings_of(value)
    if not found:
        raise CallerError(
            f"standing is {in_few(value)}; they are {', '.join(Standing)}, or leave it out"
        )
    return found


def _some(kind: type[T], value: object, name: str) -> Iterable[T]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        value = [value]
    listed: list[object] = list(value)
    if not listed:
        raise CallerError(
            f"{name} is {in_few(value)}; give one of {', '.join(kind)}, or leave it out"
        )
    return [_one_of(kind, each, name) for each in listed]


def request_json(asked: Asked, trust: str, **more: Any) -> dict[str, Any]:
    """What makes a request another one, where an answer is to be gone on with."""
    filters = asked.filters
    return {
        "query": asked.query,
        "mode": str(asked.mode),
        "trust": trust,
        "pool": asked.pool,
        "scan_limit": asked.scan_limit,
        "now": asked.now,
        "filters": {
            "workspace": filters.workspace,
            "subject": filters.subject,
            "predicate": filters.predicate,
            "perspective": filters.perspective,
            "kind": filters.kind,
            "standings": sorted(map(str, filters.standings)),
            "tiers": sorted(map(str, filters.tiers)),
            "archived": filters.archived,
            "layers": None if filters.layers is None else sorted(map(str, filters.layers)),
        },
        "profile": asked.profile,
        "freshness_from": str(asked.freshness_from),
        **more,
    }


def named(call: Callable[..., Any] | None) -> str | None:
    """The name of somebody's function."""
    return None if call is None else counter_name(call)
