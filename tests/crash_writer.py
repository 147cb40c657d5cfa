"""Appends for ever and says so, to be killed: ``crash_writer.py PATH BATCH [LIMIT]``.

Prints the last position of each commit once it is acknowledged. Imports as little as it can, so
that many can be started. With BATCH 0 it only creates the log, once it has said that it will.
"""

from __future__ import annotations

import os
import sys

from doxa.engine.log import NewEvent
from doxa.engine.store import LogStore


def main(path: str, batch: int, limit: int) -> None:
    if batch == 0:
        os.write(1, b"ready\n")
        LogStore.open(path)
        os.write(1, b"created\n")
        sys.stdin.read()
    store = LogStore.open(path)
    number = 0
    while not limit or number < limit:
        events = [
            NewEvent("claim", b'{"v":1}', b"%d-%d-%d " % (os.getpid(), number, i) + b"x" * 280)
            for i in range(batch)
        ]
        with store.write() as transaction:
            last = transaction.append(events).last
        os.write(1, b"%d %d %d\n" % (last, os.getpid(), number))
        number += 1
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
