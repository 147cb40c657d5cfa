"""Graphiti: its edges and episodes into a ledger, and its search judged by a view."""
