"""The embedded recorder: the log in one SQLite file."""

from doxa.engine.store import LogStore as SQLiteRecorder
from doxa.engine.store import Transaction

__all__ = ["SQLiteRecorder", "Transaction"]
