"""What carrying an index of GraphRAG into a ledger costs: the first import, and the same one again.

Run as a script, with the folder of an index:

    .venv/bin/python bench/graphrag_import.py FOLDER [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import doxa
from doxa.adapters.graphrag import import_index

BAR = 2.0  # seconds that an index of 406 claims may take


def main() -> None:
    """Prints the medians, and ends with 1 where the first import is over the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    first: list[float] = []
    again: list[float] = []
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as place, doxa.open(Path(place) / "i.doxa") as ledger:
            for taken in (first, again):
                began = perf_counter()
                done = import_index(ledger, given.folder)
                taken.append(perf_counter() - began)
            events, rows = ledger.revision, sum(sum(run.rows.values()) for run in done.runs)
    print(f"{given.folder.name}: {rows:,} rows, {events:,} events, {given.rounds} rounds, seconds")
    for name, taken in (("first import", first), ("the same again", again)):
        print(f"{name:16} median {statistics.median(taken):.3f}  least {min(taken):.3f}")
    sys.exit(int(statistics.median(first) >= BAR))


if __name__ == "__main__":
    main()
