"""Where a ledger is, and what time it is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from doxa.engine import times
from doxa.engine.errors import CallerError, NotALedger, StorageError

__all__ = ["CACHE", "LOG", "folder_of", "micros_of"]

LOG: Final = "log.sqlite"
CACHE: Final = "cache"  # may be deleted at any time, and comes back
# What else a ledger's folder may hold while its log is not there yet.
OWN: Final = {CACHE, "usage.sqlite", "purged", "set-aside.jsonl"}


def folder_of(path: str | os.PathLike[str], create: bool) -> Path:
    """The folder that a path names, fit to hold a ledger. Raises `CallerError` or `NotALedger`."""
    try:
        text = os.fsdecode(path)
        text.encode()
    except (TypeError, UnicodeError):
        raise CallerError(f"{path!r:.80} is no path; give the path of a folder") from None
    if not text or "\0" in text:
        raise CallerError(f"{text!r:.80} is no path; give one, or none for a ledger in memory")
    if "://" in text:
        scheme = text.split("://")[0]
        raise CallerError(
            f"a ledger at {scheme}:// can't be opened: this doxa keeps ledgers in folders only; "
            "give a folder's path"
        )
    folder = Path(text)
    try:
        _check_folder(folder, create)
    except OSError as error:
        raise StorageError(f"{text:.200}: {error.strerror}; give another path") from None
    return folder


def _check_folder(folder: Path, create: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotALedger(f"{folder} is a file; a ledger is a folder with {LOG} in it")
    if folder.is_dir() and not (folder / LOG).exists():
        found = {entry.name for entry in folder.iterdir() if not entry.name.startswith(LOG)}
        if foreign := sorted(found - OWN):
            raise NotALedger(
                f"{folder} holds {', '.join(foreign[:3])} but no {LOG}: it is no ledger; give the "
                "path of one, or of a new or empty folder"
            )
    if not create and not (folder / LOG).exists():
        raise NotALedger(
            f"there is no ledger at {folder}; check the path, or record something there first"
        )


def micros_of(clock: Callable[[], datetime]) -> Callable[[], int]:
    """A clock in microseconds. Raises `CallerError` where ``clock`` can't be called."""
    if not callable(clock):
        raise CallerError(f"clock is {clock!r:.80}; give a function that returns an aware datetime")
    return lambda: times.instant(clock(), "the clock's time")
