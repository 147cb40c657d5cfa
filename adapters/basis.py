"""What a framework's result rests on in a ledger: what it declares, what a function says of it, or
what its own id names there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.annotations import ANNOTATIONS, declared
from doxa.adapters.undeclared import near
from doxa.engine.errors import CallerError, Compacted
from doxa.engine.gone import mark
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity
from doxa.engine.lost import event_of
from doxa.engine.outcomes import Verdict
from doxa.engine.trust import in_band

if TYPE_CHECKING:
    from doxa.views import TruthView

__all__ = ["basis", "compacted", "find", "forgotten", "in_place", "says", "told", "unheard_of"]

# What a recall says before words that may be served all the same.
_WARNINGS: Final = tuple(
    in_band(each) for each in (Verdict.UNVERIFIED, Verdict.LOW_CONFIDENCE, Verdict.NOT_ENTAILED)
)
_CONTESTED: Final = re.compile(
    r"\[contested(?: by (\"[^\"]+\"(?:, \"[^\"]+\")*)(?: and \d+ more)?)?: not settled\] "
)


def basis(
    result: Any, view: TruthView, annotate: Callable[[Any], Mapping[str, Any] | None] | None
) -> dict[str, Any]:
    """The fields of a candidate that say what a result rests on. What a function says is all that
    there is to it, unless it is ``None``: then its id may name something. Raises `CallerError`."""
    if fields := declared(result.metadata):
        return fields
    if annotate is not None and (said := _said(annotate, result, view)) is not None:
        if not isinstance(said, Mapping):
            raise CallerError(
                f"annotate gave {said!r:.60} for the result {result.id!r:.60}; it gives a mapping "
                "of the documented keys, or None"
            )
        if said and not said.keys() & ANNOTATIONS.keys():
            raise CallerError(_strange(result.id, said))
        return declared(said)
    return _named(result.id, view) if result.id else {}


def _said(annotate: Any, result: Any, view: TruthView) -> Any:
    """What a function says of a result; one that looks at a view is asked at that."""
    at_view = getattr(annotate, "at_view", None)
    return annotate(result) if at_view is None else at_view(result, view)


def _strange(id: object, said: Mapping[str, Any]) -> str:
    """What is wrong with a mapping of other keys than those that are looked at."""
    shown = ", ".join(f"{key!r:.40}" for key in list(said)[:5])
    meant = [f"{key!r:.40} for {known!r}" for key, known in list(near(said).items())[:5]]
    guess = f" (is {', '.join(meant)}?)" if meant else ""
    return (
        f"annotate gave {shown} for the result {id!r:.60}, and none of the keys that are looked "
        f"at: {', '.join(ANNOTATIONS)}{guess}; give these, or None"
    )


def _named(id: str, view: TruthView) -> dict[str, Any]:
    """What a result rests on whose id is one of the ledger's; a quote, on what it is evidence of as
    well."""
    found, graph = find(view, id), view.graph
    if found == NONE:
        return {"facts": [id]} if _had(view, id) else {}  # to be left out, and why
    if found & 7 == ARTEFACT:
        return {"artefact": id} if graph.a_summary[found >> 3] else {"citations": [id]}
    if found & 7 == SUPPORT:
        place = graph.names.texts[graph.workspace_of(found)]
        claim = graph.claim_id(graph.s_claim[found >> 3])
        return {"supports": [id], "facts": [in_place(claim, place, view)]}
    return {"facts": [id]} if found & 7 == CLAIM else {}


def find(view: TruthView, id: str) -> int:
    """The entity that an id means at a view; NONE where it means none, or was compacted: that costs
    one result its place, and not all others theirs."""
    try:
        return view.find(id)
    except Compacted:
        return NONE


def compacted(view: TruthView, id: str) -> bool:
    """Whether an id means, in the sight of a view, what was compacted."""
    places = (view.workspace, "") if view.shared else (view.workspace,)
    return any(event_of(view, place, id) != NONE for place in places)


def says(view: TruthView, support: int) -> bool:
    """Whether a source says, by this evidence, what a text of it rests on: what was erased is still
    in the text."""
    erased = entity(SUPPORT, support) in view.graph.erased
    return erased or view.belief.live(support, view.v, view.k)


def forgotten(view: TruthView, source: int) -> int:
    """How many claims that a source was evidence of were compacted: what it said of them is still
    in its texts, though nobody can say any more what that was."""
    graph = view.graph
    gone, place = graph.gone, graph.names.texts[graph.r_ws[source]]
    if gone is None or place not in gone.columns.names:
        return 0
    columns = gone.columns
    named = columns.source == mark(gone.keyed, "source", graph.names.texts[graph.r_name[source]])
    places = columns.workspace[columns.event[columns.sourced[named]]]
    return int((places == columns.names.index(place)).sum())


def in_place(id: str, workspace: str, view: TruthView) -> Any:
    """An id as a candidate names it: plain, where that is what it means at the view."""
    return id if workspace == view.workspace else {"workspace": workspace, "id": id}


def told(text: str, fields: Mapping[str, Any], view: TruthView) -> str:
    """The words that a result of a registered text hands on: without the warning that a recall put
    before them, where what it names is in the ledger."""
    if "artefact" not in fields:
        return text  # it is judged by what it declares, and not by its words
    for warning in _WARNINGS:
        if text.startswith(warning):
            return text[len(warning) :]
    if (found := _CONTESTED.match(text)) is not None:
        names = json.loads(f"[{found[1] or ''}]") if "\\" not in found[0] else [""]
        if all(name and _had(view, name) for name in names):
            return text[found.end() :]
    return text


# ------------------------------------------------------------ what the ledger never had


def unheard_of(view: TruthView, fields: Mapping[str, Any], id: str | None = None) -> bool:
    """Whether the ledger never had any of the ids and sources that these fields of a candidate
    name or, where they name none, the ``id``: in no workspace, be they in sight or not."""
    if not fields:
        return not id or not _had(view, id)
    for name, value in fields.items():
        ids = [value] if name == "artefact" else value
        if not isinstance(ids, list | tuple) or not all(map(_readable, ids)):
            return False  # it is to be refused, not to be let through
        if any(_is_source(view, each) if name == "sources" else _had(view, each) for each in ids):
            return False
    return True


def _readable(id: object) -> bool:
    """Whether an id may be one: a list in JSON that was cut off is none."""
    return isinstance(id, str) and bool(id) and not id.lstrip().startswith(("[", "{"))


def _had(view: TruthView, id: str) -> bool:
    """Whether the ledger ever had something under an id, in any workspace."""
    graph = view.graph
    gone = graph.gone
    names: Iterable[str] = [graph.names.texts[place] for place in list(graph.revisions)]
    return any(
        graph.find(place, id) != NONE or (gone is not None and gone.event(place, id) != NONE)
        for place in names
    )


def _is_source(view: TruthView, name: str) -> bool:
    """Whether evidence was ever from a source of this name, in any workspace."""
    return any(True for _ in view.graph.sources_named.get(view.graph.names.find(name)))
