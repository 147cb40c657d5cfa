"""neo4j-graphrag: what retrievers find is judged by a view; the graphs that are built, recorded."""

from doxa.adapters.extras import needed

with needed("neo4j_graphrag", "neo4j"):
    from doxa.adapters.neo4j.arms import check_arms
    from doxa.adapters.neo4j.searching import LedgerRetriever, TruthRetriever
    from doxa.adapters.neo4j.writing import LedgerWriter

__all__ = ["LedgerRetriever", "LedgerWriter", "TruthRetriever", "check_arms"]
