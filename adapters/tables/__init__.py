"""The events of a ledger as an Arrow table, one typed column a key, and any table as events."""

from doxa.adapters.tables.exporting import (
    TableWritten,
    events_reader,
    events_to_arrow,
    write_parquet,
)
from doxa.adapters.tables.importing import exchange_lines, import_table, is_parquet
from doxa.adapters.tables.schema import SCHEMA

__all__ = [
    "SCHEMA",
    "TableWritten",
    "events_reader",
    "events_to_arrow",
    "exchange_lines",
    "import_table",
    "is_parquet",
    "write_parquet",
]
