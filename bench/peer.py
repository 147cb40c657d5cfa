"""One peer, inside its own environment: answers requests, one JSON object a line.

Run by `doxa.bench.peers` as ``python peer.py NAME FOLDER``; neither this file nor any
``peer_NAME.py`` knows doxa. Each request names what to ``do``, with its arguments. The answer has
``seconds`` and what was ``found``, or ``unsupported``, or ``error``. Times are microseconds since
1970; ``batch`` is the number of the last batch of 1,000 claims that may be known.

A ``peer_NAME.py`` has a class ``Peer`` with as much of this as its peer can do:

- ``open()``, and ``close()`` if it has one, of what lies in the folder; ``notes``, on how a request
  is answered; ``durable = False`` where an append is not flushed.
- ``write(claims)``, one batch; ``loading()``, a context around all of them; or ``load(claims)`` for
  all at once. ``prepare(claims)`` comes before and is not measured.
- ``point(subject, predicate, batch, valid_at)`` and ``slice(batch, valid_at)``: how many rows.
- ``append(number)``, one claim; ``withdraw(number)``, what was appended as that.
- ``save(count)``: saved answers about "subject 0" and so on; ``change(number)``: a claim on which
  one of them rests; ``stale(number)``: how many are rightly found, missed, falsely suspected.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

BATCH = 1_000
ASKED = ("point", "slice", "append", "withdraw", "save", "change", "stale")


class Claim(NamedTuple):
    """One claim of the workload; ``until`` is ``None`` where it is open."""

    number: int
    subject: str
    predicate: str
    value: str
    since: int
    until: int | None
    recorded: int


def load(peer: Any, path: str, limit: float) -> dict[str, Any]:
    """Loads the claims of a file until all are in or the seconds are over."""
    with open(path) as file:
        claims = [Claim(*json.loads(line)) for line in file]
    if hasattr(peer, "prepare"):
        peer.prepare(claims)
    started = time.perf_counter()
    loaded = len(claims)
    if hasattr(peer, "load"):
        peer.load(claims)
    else:
        with peer.loading() if hasattr(peer, "loading") else nullcontext():
            for start in range(0, len(claims), BATCH):
                if time.perf_counter() - started > limit:
                    loaded = start
                    break
                peer.write(claims[start : start + BATCH])
    return {"seconds": time.perf_counter() - started, "found": loaded}


def answer(name: str, peer: Any, request: dict[str, Any]) -> dict[str, Any]:
    """What the peer says to one request."""
    do = request.pop("do")
    if do == "about":
        durable = getattr(peer, "durable", True)
        notes = getattr(peer, "notes", {})
        return {"version": version(name), "durable": durable, "notes": notes}
    if do == "load":
        return load(peer, **request)
    if do == "reopen" and not hasattr(peer, "close"):
        return {"unsupported": "it can't be closed and opened again"}
    if do == "reopen":
        peer.close()
        started = time.perf_counter()
        peer.open()
        peer.point(**request)
        return {"seconds": time.perf_counter() - started}
    if do not in ASKED:
        raise ValueError(f"no such request: {do}")
    call = getattr(peer, do, None)
    if call is None:
        return {"unsupported": f"it has no {do}"}
    started = time.perf_counter()
    found = call(**request)
    return {"seconds": time.perf_counter() - started, "found": found}


def answers(name: str, peer: Any, lines: Iterator[str]) -> Iterator[str]:
    """The answers to requests, a line each. What the peer prints goes to standard error."""
    with redirect_stdout(sys.stderr):
        peer.open()
    for line in lines:
        try:
            with redirect_stdout(sys.stderr):
                found = answer(name, peer, json.loads(line))
        except Exception as error:  # whatever a peer raises is reported to who asked
            found = {"error": f"{type(error).__name__}: {error}"[:1_000]}
        yield json.dumps(found)


if __name__ == "__main__":
    module = import_module(f"peer_{sys.argv[1].replace('-', '_')}")
    for text in answers(sys.argv[1], module.Peer(sys.argv[2]), iter(sys.stdin)):
        print(text, flush=True)
