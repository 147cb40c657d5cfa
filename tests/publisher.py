"""Appends, publishes and asks for ever, to be killed: ``python -m tests.publisher LEDGER``.

Prints the position after each publication, and how many claims there were by the ledger's tables.
"""

from __future__ import annotations

import sys
from unittest.mock import patch

import doxa
from doxa.projections import serving

BATCH = 40


def main(path: str) -> None:
    with patch.object(serving, "PUBLISHED", 1), doxa.open(path) as ledger:
        while True:
            number = ledger.revision
            ledger.append(
                {
                    "event": "claim",
                    "id": f"c{number + place}",
                    "subject": f"s{place}",
                    "predicate": "p",
                    "object": "v" * 200,
                    "source": "s",
                }
                for place in range(BATCH)
            )
            ledger.withdraw(f"c{number}")
            ((count,),) = ledger.sql("SELECT count(*) FROM claims").rows
            print(ledger.revision, count, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
