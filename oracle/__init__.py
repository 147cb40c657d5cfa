"""The same answers from the raw log, slowly: a second reading of the semantics, sharing no code."""

from doxa.oracle.chain import check_chain
from doxa.oracle.compare import Item, diff, history, rings
from doxa.oracle.log import Log, Unreadable
from doxa.oracle.reconcile import Cause, Flip, Reconciliation, reconcile
from doxa.oracle.truth import Contested, Entry, NotHeld, Several, Truth

__all__ = [
    "Cause",
    "Contested",
    "Entry",
    "Flip",
    "Item",
    "Log",
    "NotHeld",
    "Reconciliation",
    "Several",
    "Truth",
    "Unreadable",
    "check_chain",
    "diff",
    "history",
    "reconcile",
    "rings",
]
