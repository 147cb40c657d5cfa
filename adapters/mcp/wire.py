"""stdin and stdout, kept for the protocol alone: whatever else writes goes to stderr, and whatever
else reads finds nothing."""

from __future__ import annotations

import fcntl
import os
import sys
from typing import NamedTuple

__all__ = ["Wire", "claimed"]


class Wire(NamedTuple):
    """The two ends that the client holds: where it is heard, and where it is told."""

    heard: int
    told: int


def claimed() -> Wire:
    """Takes stdin and stdout away from the rest of the process, for good."""
    sys.stdout.flush()
    wire = Wire(*(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return wire
