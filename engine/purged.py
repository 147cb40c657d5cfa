"""The list of what was purged: it outlives every backup, so that none brings it back.

A file beside the log, one keyed digest of a workspace and id a line; nothing is ever taken out of
it. The key is the ledger's secret, which lies in the log and its backups.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from doxa.engine.errors import StorageError
from doxa.engine.keyed import Keyed

__all__ = ["FILE", "PurgeList"]

FILE: Final = "purged"
_LABEL: Final = "purged"
_LINE: Final = re.compile(r"[0-9a-f]{64}")


class PurgeList:
    """The list in a ledger's folder. Safe for several processes; a line that was being written when
    the power went is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests = frozenset(line for line in _lines(path) if _LINE.fullmatch(line))

    @classmethod
    def open(cls, folder: Path) -> PurgeList:
        """The list of the ledger in a folder, empty where there is none. Raises `StorageError`
        where it can't be read."""
        return cls(folder / FILE)

    def __len__(self) -> int:
        return len(self._digests)

    def covers(self, workspace: str, id: str, keyed: Keyed) -> bool:
        """Whether an event of the ledger with that secret was purged."""
        digest = keyed.by_stored.digest
        return bool(self._digests) and digest(_LABEL, workspace, id) in self._digests

    def add(self, events: Iterable[tuple[str, str]], keyed: Keyed) -> None:
        """Adds events by workspace and id, durably. Raises `StorageError`."""
        made = keyed.by_stored
        fresh = [made.digest(_LABEL, *event) for event in events]
        fresh = [digest for digest in dict.fromkeys(fresh) if digest not in self._digests]
        if not fresh:
            return
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                content = memoryview(("\n" + "\n".join(fresh) + "\n").encode())
                while content:
                    content = content[os.write(file, content) :]
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise _refusal(self._path, error) from None
        self._digests |= set(fresh)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _refusal(path, error) from None


def _refusal(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: {error.strerror or error}; it lists what was purged and may not be lost: make "
        "the ledger's folder readable and writable, then repeat"
    )
