"""What a ledger's folder keeps of its tables: sealed segments, and a manifest that names them.

The manifest is replaced whole, by renaming; a segment never changes. Whoever is killed in between
leaves what was there before. One process publishes at a time, the others go on with what they have.
Segments are merged as a binary counter carries, so that there are few of them and each row is
rewritten O(log n) times. What fits neither this ledger's log nor this version is not used, and is
replaced by the next publication: everything here can be made again from the log.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb

from doxa.engine.belief import Belief
from doxa.projections import segments
from doxa.projections.segments import PREFIX, TEMPORARY, Progress, Segment

try:
    import fcntl
except ImportError:  # no such locks here: nothing is published
    fcntl = None  # type: ignore[assignment]  # a module elsewhere, and asked for before use

__all__ = ["FOLDER", "MANIFEST", "SHAPE", "Manifest", "Publication"]

FOLDER: Final = "beliefs"
MANIFEST: Final = "manifest.json"
LOCK: Final = "lock"
SHAPE: Final = 2  # of the tables; another one's files are not read
_FORMAT: Final = "doxa beliefs"
_GROWTH: Final = 3  # a segment is merged with a newer one of at least so many times fewer events

_locks: set[int] = set()  # files of locks that are held


class Manifest(NamedTuple):
    """What is published: the tables of one ledger's log up to a position, at which its chain has
    this link. The segments lie end to end. ``before`` are files of the generation before."""

    ledger: str
    position: int
    chain: str
    segments: tuple[Segment, ...]
    before: tuple[str, ...] = ()

    def text(self) -> str:
        """As JSON, with a digest over itself."""
        fields: dict[str, Any] = {
            "format": _FORMAT,
            "shape": SHAPE,
            "ledger": self.ledger,
            "position": self.position,
            "chain": self.chain,
            "segments": [segment._asdict() for segment in self.segments],
            "before": list(self.before),
        }
        return json.dumps({**fields, "digest": _seal(fields)}, indent=1) + "\n"

    @classmethod
    def read(cls, text: str) -> Manifest:
        """Raises `ValueError` where it is no manifest of this shape, or not as it was written."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise ValueError("it is no manifest")
        if fields.pop("digest", None) != _seal(fields):
            raise ValueError("the manifest is not as it was written")
        if fields["shape"] != SHAPE:
            raise ValueError(f"its shape is {fields['shape']}; this version's is {SHAPE}")
        found = tuple(Segment(**segment) for segment in fields["segments"])
        return cls(
            fields["ledger"], fields["position"], fields["chain"], found, tuple(fields["before"])
        )

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it needs."""
        return tuple(segment.name for segment in self.segments)


def _seal(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


class Publication:
    """The published tables of one ledger. ``link(position)`` is the chain's link at a position of
    its log, as hex digits; None where the log has no such position."""

    def __init__(self, cache: Path, ledger: str, link: Callable[[int], str | None]) -> None:
        self.folder = cache / FOLDER
        self.ledger, self._link = ledger, link

    def manifest(self) -> Manifest | None:
        """The newest manifest, if there is one that fits this ledger's log and this version."""
        try:
            return self.checked()
        except (OSError, ValueError):
            return None

    def checked(self) -> Manifest | None:
        """As `manifest`, but raises `ValueError` where there is one that does not fit, and says
        why, and `OSError` where it can't be read."""
        path = self.folder / MANIFEST
        try:
            found = Manifest.read(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"the manifest can't be read: {error!r}") from None
        if found.ledger != self.ledger:
            raise ValueError("it is another ledger's")
        if found.position and self._link(found.position) != found.chain:
            raise ValueError(f"the log has another chain at {found.position}")
        ends = [0, *(segment.upto for segment in found.segments)]
        if [segment.after for segment in found.segments] != ends[:-1] or ends[-1] != found.position:
            raise ValueError("its segments do not lie end to end")
        return found

    def stamp(self) -> tuple[int, int] | None:
        """What another manifest has another of; None where there is none."""
        try:
            found = os.stat(self.folder / MANIFEST)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def publish(
        self, belief: Belief, upto: int, *, anew: bool = False, progress: Progress | None = None
    ) -> Manifest | None:
        """Publishes the tables up to the end of a commit; what is published then, which may be more
        recent. None where it can't be: the folder is not to be written to, the disk is full, or
        another process is at it. ``anew`` uses nothing of what is there."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked() as got:
                return self._publish(belief, upto, anew, progress) if got else None
        except (OSError, duckdb.Error):
            return None

    def _publish(
        self, belief: Belief, upto: int, anew: bool, progress: Progress | None
    ) -> Manifest | None:
        old = self.manifest()
        self._sweep(old.files + old.before if old else ())
        kept = [] if old is None or anew else list(old.segments)
        if old is not None and not anew and old.position >= upto:
            return old
        chain = self._link(upto)
        if chain is None:
            return None
        after = kept[-1].upto if kept else 0
        while kept and kept[-1].upto - kept[-1].after < _GROWTH * (upto - after):
            after = kept.pop().after
        kept.append(segments.write(self.folder, belief, after, upto, progress))
        _flush(self.folder)
        new = Manifest(self.ledger, upto, chain, tuple(kept), old.files if old else ())
        self._replace(new)
        self._sweep(new.files + new.before)
        if self._link(upto) is None:  # something was erased while it was written
            self.discard()
            return None
        return new

    def _replace(self, manifest: Manifest) -> None:
        temporary = self.folder / f"{TEMPORARY}{os.getpid()}.json"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(manifest.text())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.folder / MANIFEST)
        _flush(self.folder)

    def _sweep(self, kept: tuple[str, ...]) -> None:
        """Removes what killed publishers left, and what the last two generations do not need."""
        for path in self.folder.iterdir():
            ours = path.name.startswith((PREFIX, TEMPORARY))
            if ours and path.name not in kept:
                path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Removes all that is published. Raises `OSError`."""
        (self.folder / MANIFEST).unlink(missing_ok=True)
        if self.folder.is_dir():
            self._sweep(())

    def discard_misfit(self) -> None:
        """Removes what is published where it does not fit the log, and what killed publishers left:
        it may hold what was erased. Raises `OSError`."""
        with self._locked() as got:
            if got and (found := self.manifest()) is not None:
                self._sweep(found.files + found.before)
            elif got:
                self.discard()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        """Whether nobody else is publishing: then nobody else can until this ends."""
        if fcntl is None:
            yield False
            return
        file = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        _locks.add(file)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            _locks.discard(file)
            os.close(file)


def _flush(folder: Path) -> None:
    """Makes the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _close_in_child() -> None:
    """A child made by fork must not keep a lock of its parent's alive."""
    while _locks:
        os.close(_locks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
