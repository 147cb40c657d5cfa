"""Arrow tables as data frames of pandas and Polars, which are extras."""

from __future__ import annotations

from typing import Any

from doxa.adapters.extras import MissingExtra, missing

__all__ = ["to_pandas", "to_polars"]


def to_pandas(table: Any) -> Any:
    """The table as a pandas ``DataFrame``. Raises `MissingExtra` where pandas is not installed."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise _missing("pandas") from None
    return table.to_pandas()


def to_polars(table: Any) -> Any:
    """The table as a Polars ``DataFrame``. Raises `MissingExtra` where Polars is not installed."""
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    return polars.from_arrow(table)


def _missing(name: str) -> MissingExtra:
    return missing(name, name, "this", "to_arrow gives the same without it")
