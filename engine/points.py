"""What a point question needs of each claim, side by side with the others of its key.

A *record* holds the codes, the row, the position and the interval of one claim. Records lie in
buckets, by a hash of the subject's text and the predicate's code: the claims about a subject and
predicate are found in one place, without the code of the subject being looked up first.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from doxa.engine.tables import HASH, Index, Names

__all__ = ["MIXED", "RECORD", "Laid", "Points"]

MIXED: Final = 0x2545F491  # what the code of a predicate is multiplied with in a hash
RECORD: Final = struct.Struct("=iiiiiiqq")
"""The codes of predicate and subject, the row, the position, the code of the workspace, what it is
worth by itself (`c_plain`), valid from and valid to."""

_FIELDS: Final = np.dtype(
    [
        ("predicate", np.int32),
        ("subject", np.int32),
        ("row", np.int32),
        ("pos", np.int32),
        ("ws", np.int32),
        ("plain", np.int32),
        ("from", np.int64),
        ("to", np.int64),
    ]
)
assert _FIELDS.itemsize == RECORD.size


class _Claims(Protocol):
    """The columns that records are made of."""

    names: Names
    c_pos: array[int]
    c_ws: array[int]
    c_subject: array[int]
    c_predicate: array[int]
    c_from: array[int]
    c_to: array[int]
    c_plain: bytearray


Laid = tuple[dict[str, int], int, int, int, Any, Any]
"""The names since, about which there may be newer claims; secret and spread of the names; shift,
heads and records: those of bucket b = ``hash >> shift`` are ``heads[b]`` up to ``heads[b + 1]``,
those of one key in log order. No named tuple: it is taken apart for every question."""


class Points:
    """The records of all claims but the newest. As in `tables`, one thread writes."""

    def __init__(self) -> None:
        self.laid: Laid | None = None

    def seal(self, claims: _Claims) -> None:
        """Lays out the records of all claims, whose names are sealed. O(n log n)."""
        names, count = claims.names, len(claims.c_pos)
        if self.laid is not None:
            *_, shift, heads, records = self.laid
            if len(records) == count * RECORD.size:
                self.lay(names, shift, heads, records)
                return
        subjects = np.array(claims.c_subject, np.int32)
        predicates = np.array(claims.c_predicate, np.int32)
        hashes = names.hashes()[subjects] + predicates.astype(np.uint64) * np.uint64(MIXED)
        hashes %= np.uint64(names.secret)
        index = Index.over(hashes, np.arange(count), HASH, roomy=1)
        rows = (np.asarray(index.entries) & 0xFFFFFFFF).astype(np.int32)
        records = np.empty(count, _FIELDS)
        records["row"] = rows
        for name, column in (
            ("predicate", predicates),
            ("subject", subjects),
            ("pos", np.array(claims.c_pos, np.int32)),
            ("ws", np.array(claims.c_ws, np.int32)),
            ("plain", np.array(claims.c_plain, np.uint8)),
            ("from", np.array(claims.c_from, np.int64)),
            ("to", np.array(claims.c_to, np.int64)),
        ):
            records[name] = column[rows]
        self.lay(names, index.shift, index.heads, records.view(np.uint8).data)

    def leave_out(self, names: Names, rows: Sequence[int]) -> None:
        """Takes claims out of all answers: as if they were recorded after all times. O(claims)."""
        if self.laid is None:
            return
        *_, shift, heads, records = self.laid
        kept = np.frombuffer(bytes(records), _FIELDS).copy()
        kept["pos"][np.isin(kept["row"], list(rows))] = np.iinfo(np.int32).max
        self.lay(names, shift, heads, kept.view(np.uint8).data)

    def lay(self, names: Names, shift: int, heads: Any, records: Any) -> None:
        """Takes records over, as they were laid out."""
        self.laid = names.live, names.secret, names.spread, shift, heads, records
