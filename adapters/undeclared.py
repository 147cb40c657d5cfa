"""What is said where nothing of a search is known to a ledger: in silence, an empty list looks like
an answer."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.annotations import ANNOTATIONS

if TYPE_CHECKING:
    from types import FrameType

    from doxa.adapters.judging import Found
    from doxa.ledger import Ledger

__all__ = ["NothingDeclared", "near", "nothing_known", "place_of", "warn"]

_SHOWN: Final = 5  # keys, or ids
_DOXA: Final = __name__.partition(".")[0]
# What lies between a call and the code that made it: ours, and those that call us.
_PASSED: Final = frozenset(
    {
        *("asyncio", "concurrent", "contextlib", "functools", "pydantic", "threading"),
        *("graphiti_core", "graphrag", "haystack", "langchain", "langchain_classic"),
        *("langchain_core", "langgraph", "lightrag", "llama_index", "llama_index_instrumentation"),
        *("neo4j_graphrag", _DOXA),
    }
)
_STEMS: Final = {"claim": "claim_ids", "fact": "claim_ids", "support": "support_ids"} | {
    "evidence": "support_ids",
    "citation": "citation_ids",
    "source": "source_ids",
    "artefact": "artefact_id",
    "summary": "artefact_id",
}
# The keys under which loaders say which file a text is from: it is not what the text rests on.
_FILES: Final = ("source", "sources", "source_file", "source_path")


class NothingDeclared(UserWarning):
    """Of all that a search brought, nothing is known to the ledger, so all of it was dropped."""


def near(keys: Iterable[object]) -> dict[str, str]:
    """The keys that look as if another one was meant, with that one.

    >>> near(["claim_id", "claims", "artifact_id", "suport_ids", "page", "source"])
    {'claim_id': 'claim_ids', 'claims': 'claim_ids', 'artifact_id': 'artefact_id', \
'suport_ids': 'support_ids'}
    """
    found: dict[str, str] = {}
    for key in keys:
        if not isinstance(key, str) or key in ANNOTATIONS or key in _FILES:
            continue
        plain = key.lower().replace("artifact", "artefact").replace("-", "_")
        stem = plain.removesuffix("s").removesuffix("_id").removesuffix("id")
        meant = _STEMS.get(stem) or next(iter(get_close_matches(plain, ANNOTATIONS, 1, 0.8)), None)
        if meant is not None:
            found[key] = meant
    return found


def place_of(ledger: Ledger) -> str:
    """A ledger, as a message names it."""
    return "the ledger in memory" if ledger.path is None else f"the ledger {str(ledger.path)!r}"


def nothing_known(
    ledger: Ledger,
    found: Sequence[Found],
    fields: Iterable[Mapping[str, Any]],
    annotate: object,
) -> str:
    """Why all results of a search were dropped as unknown, and what can be done."""
    count = len(found)
    head = "the only result of a search is not" if count == 1 else f"none of {count} results is"
    head = f"{head} known to {place_of(ledger)}, so nothing is left: "
    flag = "unknown='flag' lets them through, marked"
    if named := list(dict.fromkeys(map(str, _ids(fields)))):
        shown = ", ".join(f"{id!r:.60}" for id in named[:_SHOWN])
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        return (
            f"{head}it never had {shown}{more}. Look whether these ids are right, and are of this "
            f"ledger; record or import what they name first; {flag}"
        )
    if str(getattr(annotate, "__module__", "")).startswith(f"{_DOXA}."):
        return (
            f"{head}record or import what was searched into this ledger first, or name the "
            f"workspace that it was imported into; {flag}"
        )
    meant = near(dict.fromkeys(key for one in found for key in one.metadata))
    shown = ", ".join(f"{key!r:.60} (is {known!r} meant?)" for key, known in meant.items())
    seen = f"; their metadata has {shown:.300}" if shown else ""
    what, how = "they", "give a function as annotate"
    if annotate is not None:
        what, how = "annotate said nothing of them, and they", "have annotate say it"
    return (
        f"{head}{what} declare nothing that they rest on{seen}. Name it in the metadata of what is "
        f"indexed, under {', '.join(ANNOTATIONS)}, or {how}; {flag}"
    )


def _ids(fields: Iterable[Mapping[str, Any]]) -> Iterator[object]:
    for each in fields:
        for value in each.values():
            yield from value if isinstance(value, list | tuple) else (value,)


def warn(message: str) -> None:
    """Warns with `NothingDeclared`, where possible at the line of the caller's own code."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _name(frame) in _PASSED:
        frame, level = frame.f_back, level + 1
    # in a thread of a pool there is no such line
    warnings.warn(message, NothingDeclared, stacklevel=1 if frame is None else level)


def _name(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
