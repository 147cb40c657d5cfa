"""Haystack: documents judged by a view, the ledger as a retriever, and its blocks for a prompt."""

from doxa.adapters.extras import needed

with needed("haystack", "haystack"):
    from doxa.adapters.haystack.arms import check_arms
    from doxa.adapters.haystack.components import LedgerRetriever, TruthBlock, TruthFilter

__all__ = ["LedgerRetriever", "TruthBlock", "TruthFilter", "check_arms"]
