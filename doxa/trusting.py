"""What a recall's gate is made of: the kind of trust, the calibration in force, and what is missing
for it to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from doxa.engine import calibration as calibrations
from doxa.engine import events as ev
from doxa.engine.calibration import Calibration, Refusal
from doxa.engine.documents import LINEAGE
from doxa.engine.envelope import Missing
from doxa.engine.errors import CallerError
from doxa.engine.graph import NONE, POLICY
from doxa.engine.outcomes import Gap, Trust
from doxa.engine.policies import calibration as newest
from doxa.engine.trust import Gate
from doxa.engine.view import TruthView

if TYPE_CHECKING:
    from doxa.engine.embedding import Embedder

__all__ = ["Gated", "gate", "in_force", "trust_of"]

GROWTH = 2  # times as many documents as a calibration was fitted over, and it is stale


class Gated(NamedTuple):
    """A gate, and why it can't run, if it can't."""

    gate: Gate
    refusals: tuple[Missing, ...] = ()


def trust_of(value: object, embedder: Embedder | None) -> Trust:
    """The kind of trust that is meant; left out, strict where there is an embedder."""
    if value is None:
        return Trust.STANDING if embedder is None else Trust.STRICT
    if isinstance(value, str) and value in list(Trust):
        return Trust(value)
    raise CallerError(f"trust is {value!r:.80}; give one of {', '.join(Trust)}")


def gate(
    view: TruthView, trust: Trust, embedder: Embedder | None, named: str | None, size: _Size
) -> Gated:
    """The gate of a recall. ``named`` is the id of a calibration that is to be used whenever it was
    recorded; else the newest in force at the view is."""
    if trust is Trust.STANDING:
        return Gated(_default(trust))
    if embedder is None:
        detail = f"trust={trust} judges by vectors, and no embedder is configured; give one to open"
        refused = (Missing(Gap.VECTORS_UNAVAILABLE, detail),) if trust is Trust.STRICT else ()
        return Gated(_default(trust), refused)
    found = in_force(view, embedder, named, size.dimension)
    if isinstance(found, Refusal):
        refusal = Missing(found.gap, found.detail)
        return Gated(_default(trust), (refusal,) if trust is Trust.STRICT else ())
    made = Gate(trust, found.boundary, found.scale, True, found.id)
    return Gated(made, tuple(_against(found, size)) if trust is Trust.STRICT else ())


class _Size(NamedTuple):
    """What the index of vectors is: its dimension where that is known, and how many it has."""

    dimension: int | None
    documents: int


Size = _Size


def _default(trust: Trust) -> Gate:
    return Gate(trust, calibrations.DEFAULT.boundary, calibrations.DEFAULT.scale)


def _against(found: Calibration, size: _Size) -> list[Missing]:
    """What stands against acting on a calibration."""
    reasons = []
    if not found.certified:
        detail = (
            f"{found.id} is {found.certification}: {found.answerable} answerable and "
            f"{found.unanswerable} unanswerable questions, AUC at least {found.auc_lower:.3f}; "
            "calibrate with more and clearer ones, or give trust='development'"
        )
        reasons.append(Missing(Gap.CALIBRATION_UNCERTIFIED, detail, (found.id,)))
    if size.documents > GROWTH * found.documents:
        detail = (
            f"{found.id} was fitted over {found.documents} documents, there are "
            f"{size.documents} now; calibrate again"
        )
        reasons.append(Missing(Gap.CALIBRATION_STALE, detail, (found.id,)))
    return reasons


def in_force(
    view: TruthView, embedder: Embedder, named: str | None, dimension: int | None
) -> Calibration | Refusal:
    """The calibration that a recall uses, or why there is none."""
    value = _named(view, named) if named is not None else _newest(view, embedder)
    if dimension is None:
        detail = f"there are no vectors by {embedder.who} that one could be for"
        return Refusal(Gap.CALIBRATION_MISSING, f"{detail}; run ledger.index()")
    if value is None and not view.live:
        return Refusal(
            Gap.CALIBRATION_MISSING,
            f"nothing was calibrated by revision {view.revision}; a calibration that was recorded "
            "later counts where it is named (calibration=ID)",
        )
    return calibrations.read(value, embedder=embedder.name, dimension=dimension, lineage=LINEAGE)


def _newest(view: TruthView, embedder: Embedder) -> Any:
    position = newest(view.belief, embedder.name, view.workspaces, view.v, view.k)
    return None if position == NONE else _payload(view, position)


def _named(view: TruthView, id: str) -> Any:
    """The parameters of a calibration by its id, recorded at any time."""
    graph = view.graph
    places = (view.workspace, "") if view.shared else (view.workspace,)
    for workspace in dict.fromkeys(places):
        found = graph.find(workspace, id)
        if found != NONE and found & 7 == POLICY:
            return _payload(view, graph.position_of(found))
    raise CallerError(f"there is no calibration {id!r:.80} in sight; ledger.calibrate makes one")


def _payload(view: TruthView, position: int) -> Any:
    event = view.payload(position)
    assert isinstance(event, ev.Policy), event
    return None if event.erased else event.calibrated
