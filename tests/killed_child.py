"""A real process that writes to a ledger until it is killed: ``killed_child.py PATH NAME``.

Before each call it prints what it is about to record, afterwards that it was told.
"""

from __future__ import annotations

import json
import os
import sys
from random import Random

import doxa
from tests.histories import iso


def say(word: str, *more: object) -> None:
    os.write(1, (json.dumps([word, *more]) + "\n").encode())


def main(path: str, name: str) -> None:
    random, number = Random(name), 0
    with doxa.open(path) as ledger:
        say("ready")
        while True:
            commits = []
            for _ in range(random.choice((1, 1, 1, 3))):
                size = random.choice((1, 1, 2, 40))
                commits.append([f"{name} {number + n}" for n in range(size)])
                number += size
            say("try", commits)
            lines = [
                {"event": "claim", "id": id, "subject": name, "predicate": "p", "object": at,
                 "source": "s", "recorded_at": iso(1_000_000 * (number + at))}
                for at, ids in enumerate(commits)
                for id in ids
            ]  # fmt: skip
            if len(commits) == 1:
                ledger.append({k: v for k, v in e.items() if k != "recorded_at"} for e in lines)
            else:
                ledger.import_events(lines, restamp=True)
            say("told")
            if random.random() < 0.2:
                ledger.correct(commits[0][0], id=f"{name} k{number}")
            if random.random() < 0.1:
                ledger.index()


if __name__ == "__main__":
    main(*sys.argv[1:])
