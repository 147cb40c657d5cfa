"""Bitemporal truth for retrieval: what did we know, when, and why.

>>> import doxa
>>> ledger = doxa.open()
>>> home = ledger.claim("ada", "lives_in", "London", valid_from="2024-03-01", source="register")
>>> ledger.view(valid_at="2024-07-01").value("ada", "lives_in")
'London'
>>> ledger.close()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doxa.engine.errors import (
    CallerError,
    ClockError,
    Compacted,
    ConflictError,
    Contested,
    CorrectionRing,
    DamageError,
    DoxaError,
    DuplicateId,
    Erased,
    InvalidEvent,
    InvalidSignature,
    InvalidTime,
    KeyNeeded,
    NewerFormat,
    NotALedger,
    NotHeld,
    PayloadTooLarge,
    RevisionConflict,
    SeveralHeld,
    StorageError,
    UnknownTarget,
    ValueHeld,
    ValueRejected,
    ViewMoved,
    WasErased,
    WrongKeys,
)

if TYPE_CHECKING:
    from doxa.adapters.endpoint import Endpoint
    from doxa.arguments import Source
    from doxa.auditing import check_head, keygen, restore_backup
    from doxa.degrading import Context, Trouble, Written
    from doxa.engine.assembly import Block, Candidate, Receipt
    from doxa.engine.belief import Standing
    from doxa.engine.embedding import Embedder
    from doxa.engine.envelope import Recalled
    from doxa.engine.fields import Ref
    from doxa.engine.heads import StatedHead
    from doxa.engine.outcomes import Unavailable, Verdict
    from doxa.engine.registry import Reason
    from doxa.guarding import Guarded, guard
    from doxa.ledger import Ledger, open
    from doxa.projections.errors import InvalidQuery
    from doxa.views import TruthView

__version__ = "0.1.0"

# What is loaded when it is first used, and from where.
_LAZY = {
    "Block": "doxa.engine.assembly",
    "Candidate": "doxa.engine.assembly",
    "Context": "doxa.degrading",
    "Embedder": "doxa.engine.embedding",
    "Endpoint": "doxa.adapters.endpoint",
    "Guarded": "doxa.guarding",
    "InvalidQuery": "doxa.projections.errors",
    "Ledger": "doxa.ledger",
    "Reason": "doxa.engine.registry",
    "Receipt": "doxa.engine.assembly",
    "Recalled": "doxa.engine.envelope",
    "Ref": "doxa.engine.fields",
    "Source": "doxa.arguments",
    "Standing": "doxa.engine.belief",
    "StatedHead": "doxa.engine.heads",
    "Trouble": "doxa.degrading",
    "TruthView": "doxa.views",
    "Unavailable": "doxa.engine.outcomes",
    "Verdict": "doxa.engine.outcomes",
    "Written": "doxa.degrading",
    "check_head": "doxa.auditing",
    "guard": "doxa.guarding",
    "keygen": "doxa.auditing",
    "open": "doxa.ledger",
    "restore_backup": "doxa.auditing",
}

__all__ = [
    "Block",
    "CallerError",
    "Candidate",
    "ClockError",
    "Compacted",
    "ConflictError",
    "Contested",
    "Context",
    "CorrectionRing",
    "DamageError",
    "DoxaError",
    "DuplicateId",
    "Embedder",
    "Endpoint",
    "Erased",
    "Guarded",
    "InvalidEvent",
    "InvalidQuery",
    "InvalidSignature",
    "InvalidTime",
    "KeyNeeded",
    "Ledger",
    "NewerFormat",
    "NotALedger",
    "NotHeld",
    "PayloadTooLarge",
    "Reason",
    "Recalled",
    "Receipt",
    "Ref",
    "RevisionConflict",
    "SeveralHeld",
    "Source",
    "Standing",
    "StatedHead",
    "StorageError",
    "Trouble",
    "TruthView",
    "Unavailable",
    "UnknownTarget",
    "ValueHeld",
    "ValueRejected",
    "Verdict",
    "ViewMoved",
    "WasErased",
    "Written",
    "WrongKeys",
    "check_head",
    "guard",
    "keygen",
    "open",
    "restore_backup",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'doxa' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
