"""LangChain: documents judged by a view, the ledger as a retriever, what it knows before an agent's
model and as a tool, and what an index deletes withdrawn from it."""

from doxa.adapters.extras import needed

with needed("langchain_core", "langchain"), needed("langchain", "langchain"):
    from doxa.adapters.langchain.arms import check_arms
    from doxa.adapters.langchain.compressing import TruthCompressor
    from doxa.adapters.langchain.documents import RECALLED, SIFTED, TOLD
    from doxa.adapters.langchain.indexing import TruthRecordManager
    from doxa.adapters.langchain.middleware import TruthMiddleware
    from doxa.adapters.langchain.retrieving import LedgerRetriever, TruthRetriever
    from doxa.adapters.langchain.telling import Told, truth_context
    from doxa.adapters.langchain.tools import truth_tool

__all__ = [
    "RECALLED",
    "SIFTED",
    "TOLD",
    "LedgerRetriever",
    "Told",
    "TruthCompressor",
    "TruthMiddleware",
    "TruthRecordManager",
    "TruthRetriever",
    "check_arms",
    "truth_context",
    "truth_tool",
]
