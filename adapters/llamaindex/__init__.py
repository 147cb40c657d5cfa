"""LlamaIndex: nodes judged by a view, the ledger as a retriever, and what it knows as memory."""

from doxa.adapters.extras import needed

with needed("llama_index", "llamaindex"):
    from doxa.adapters.llamaindex.arms import check_arms
    from doxa.adapters.llamaindex.graphs import TruthGraphStore
    from doxa.adapters.llamaindex.memory import TruthMemoryBlock
    from doxa.adapters.llamaindex.nodes import RecallEvent, TruthEvent, TruthQuery
    from doxa.adapters.llamaindex.postprocessing import TruthPostprocessor
    from doxa.adapters.llamaindex.recording import LedgerRecorder, RecordEvent
    from doxa.adapters.llamaindex.retrieving import LedgerRetriever, TruthRetriever

__all__ = [
    "LedgerRecorder",
    "LedgerRetriever",
    "RecallEvent",
    "RecordEvent",
    "TruthEvent",
    "TruthGraphStore",
    "TruthMemoryBlock",
    "TruthPostprocessor",
    "TruthQuery",
    "TruthRetriever",
    "check_arms",
]
