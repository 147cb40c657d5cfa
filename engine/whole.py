"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

__all__ = ["discard", "put", "settle"]

_ABANDONED: Final = 600.0  # seconds after which nobody writes on


def put(path: Path, parts: Iterable[Any]) -> None:
    """Writes the parts (whatever a file takes) one after another under another name, durably, and
    renames that. Removes what killed processes left half written. Raises `OSError`, and leaves
    nothing then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def settle(folder: Path) -> None:
    """Makes durable what came and went in a folder and in those below it: a power cut brings
    nothing back. Raises `OSError`."""
    if sys.platform == "win32":
        return
    for below, _, _ in os.walk(folder):
        with contextlib.suppress(FileNotFoundError):  # another process clears them too
            file = os.open(below, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def discard(path: Path) -> None:
    """Removes a file, and what is half written of it: whoever is writing fails. Raises
    `OSError`."""
    for left in path, *path.parent.glob(f"{path.name}.*"):
        left.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    for left in path.parent.glob(f"{path.name}.*"):
        with contextlib.suppress(OSError):  # another process is faster
            if time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink()
