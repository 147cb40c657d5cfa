"""A ledger for agents: what may be believed, and what is recorded, as tools of the Model Context
Protocol. ``doxa mcp LEDGER`` serves it; this needs the extra ``mcp``."""
