"""The lines that an import could not accept: kept beside the log until they are mended."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.engine.errors import ClockError, DuplicateId, StorageError
from doxa.engine.events import CARRIED

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["FILE", "Register", "SetAside", "identify", "set_aside"]

FILE: Final = "set-aside.jsonl"

_ID: Final = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.)*")')
_WORKSPACE: Final = re.compile(r'"workspace"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class SetAside:
    """A line that was not accepted: its number in its file, why, and its text.

    ``code`` is the error's; ``file`` is empty where the line was no file's. ``workspace`` and
    ``id`` are the event's, as far as they can be read; ``set_aside_at`` is ISO text, ``None`` where
    the line is not kept.
    """

    line: int
    reason: str
    text: str
    code: str = "invalid_event"
    file: str = ""
    workspace: str = ""
    id: str | None = None
    set_aside_at: str | None = None

    def __str__(self) -> str:
        return f"{self.file + ' ' if self.file else ''}line {self.line}: {self.reason}"

    @property
    def line_key(self) -> tuple[str, int, str]:
        """What is equal for the same line of the same file, with the same text."""
        return (self.file, self.line, self.text)


def identify(text: str, workspace: str | None = None) -> tuple[str, str | None]:
    """The workspace and id that a line has or, where it can't be read, seems to have."""
    given: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        given = json.loads(text)
    if isinstance(given, Mapping):
        place, id = given.get("workspace", workspace), given.get("id")
    else:
        place, id = _guess(_WORKSPACE, text) or workspace, _guess(_ID, text)
    return (place if isinstance(place, str) else ""), (id if isinstance(id, str) else None)


def _guess(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    if found is None:
        return None
    with contextlib.suppress(ValueError):
        value = json.loads(found[1])
        return value if isinstance(value, str) else None
    return None


class Register:
    """What is set aside in one ledger: a file in its folder, or, for one in memory, a list.

    Safe for several processes. A line that was being written when the power went is passed over.
    Without ``texts``, as for an encrypted ledger, nothing is kept of what lines say.
    """

    def __init__(self, folder: Path | None, *, texts: bool = True) -> None:
        self._file = None if folder is None else folder / FILE
        self._texts = texts
        self._lines: list[SetAside] = []
        self._load()

    def _load(self) -> None:
        if self._file is not None:
            try:
                self._lines = list(_parsed(self._file.read_bytes()))
            except FileNotFoundError:
                self._lines = []
            except OSError as error:
                raise _refusal(self._file, error) from None
        self._index()

    def _index(self) -> None:
        self._by_id: dict[tuple[str, str], list[SetAside]] = {}
        self._by_line: dict[tuple[str, int], list[SetAside]] = {}
        self._there = {kept.line_key for kept in self._lines}
        for kept in self._lines:
            # where the id was taken, what has that id now is another event
            if kept.id is not None and kept.code != DuplicateId.code:
                self._by_id.setdefault((kept.workspace, kept.id), []).append(kept)
            if kept.file:
                self._by_line.setdefault((kept.file, kept.line), []).append(kept)

    def __iter__(self) -> Iterator[SetAside]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, workspace: str, id: str, file: str, line: int) -> list[SetAside]:
        """The kept lines that this one is or mends: of its id, or of its number in its file. The
        likeliest is the last."""
        here = self._by_line.get((file, line), ())
        named = self._by_id.get((workspace, id), ())
        others = [kept for kept in here if kept.id not in (None, id)]
        same = [kept for kept in here if kept.id in (None, id)]
        return [*others, *(kept for kept in named if kept not in same), *same]

    def mended(self, kept: SetAside, text: str) -> bool:
        """Whether a line that was set aside may go in now, at its arrival: it was changed, or what
        it lacked was not a later time."""
        changed = self._texts and kept.text != text  # of a text that is not kept nobody knows
        return changed or kept.code != ClockError.code

    def form(self, line: SetAside) -> SetAside:
        """What is kept of a line."""
        if self._texts:
            return line
        return replace(line, text="", reason=f"{line.code}; what the line says is not kept")

    def add(self, lines: Iterable[SetAside]) -> None:
        """Keeps lines, durably; the same line of the same file is not kept twice."""
        given = list(map(self.form, lines))
        fresh = self._fresh(given)
        if not fresh:
            return
        if self._file is not None:
            with _locked(self._file) as file:
                self._load()  # another process may have kept some of them meanwhile
                fresh = self._fresh(given)
                torn = os.fstat(file).st_size > 0 and not _whole(self._file)
                text = "".join(map(_written, fresh))
                _write(self._file, file, ("\n" if torn else "") + text)
        self._lines += fresh
        self._index()

    def _fresh(self, lines: Iterable[SetAside]) -> list[SetAside]:
        return [line for line in lines if line.line_key not in self._there]

    def forget(self, events: Iterable[tuple[str, str]]) -> None:
        """Takes out the lines of erased events, by workspace and id, and those that name them or
        declare them: what they say is gone from the log, and does not stay here. What a killed
        process left half written goes too."""
        gone = {(place, f"{id}{end}") for place, id in events for end in ("", CARRIED)}
        self.remove(kept for kept in list(self) if _tells_of(kept, gone))
        if self._file is not None and any(_half_written(self._file)):
            with _locked(self._file):  # who writes holds it
                for left in _half_written(self._file):
                    left.unlink(missing_ok=True)

    def remove(self, lines: Iterable[SetAside]) -> None:
        """Takes out lines that went in."""
        gone = {line.line_key for line in lines}
        if not gone:
            return
        if self._file is None:
            self._lines = [kept for kept in self._lines if kept.line_key not in gone]
            self._index()
            return
        with _locked(self._file):
            there = _parsed(self._file.read_bytes())
            kept = [line for line in there if line.line_key not in gone]
            _replace(self._file, "".join(map(_written, kept)))
        self._load()


_NAMING: Final = (
    *("claim", "corrects", "by", "unresolved", "candidates", "resolves", "target", "contradicts"),
    *("verified", "pinned", "scored", "expires", "of"),
    *("because", "facts", "supports", "citations"),
)


def _tells_of(kept: SetAside, gone: set[tuple[str, str]]) -> bool:
    """Whether a line is of an erased event, or says something of one."""
    if kept.id is not None and (kept.workspace, kept.id) in gone:
        return True
    given: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        given = json.loads(kept.text)
    if not isinstance(given, dict):
        return False
    named = [given.get(role) for role in _NAMING]
    return any(_meant(kept, one) in gone for each in named for one in _each(each))


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _meant(kept: SetAside, reference: object) -> tuple[str, str]:
    """The workspace and id that a line means by a reference; no id is empty."""
    named: Any = reference
    if not isinstance(named, dict):
        named = {"workspace": kept.workspace, "id": named}
    place, id = named.get("workspace"), named.get("id")
    return (place, id) if isinstance(place, str) and isinstance(id, str) else ("", "")


def _parsed(content: bytes) -> Iterator[SetAside]:
    for raw in content.split(b"\n"):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            kept = SetAside(**json.loads(raw))
            if _is_whole(kept):
                yield kept


def _is_whole(kept: SetAside) -> bool:
    """Whether a line of the register is of its form, and not something that got there otherwise."""
    texts = (kept.reason, kept.text, kept.code, kept.file, kept.workspace)
    if type(kept.line) is not int or not all(isinstance(text, str) for text in texts):
        return False
    return all(one is None or isinstance(one, str) for one in (kept.id, kept.set_aside_at))


def _written(line: SetAside) -> str:
    return json.dumps(asdict(line), ensure_ascii=False, separators=(",", ":")) + "\n"


def _refusal(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror or error}; the lines set aside can't be kept")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The register's file, open for appending, held against other processes."""
    try:
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            fcntl.flock(file, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(file).st_ino:
                    break
            os.close(file)  # it was replaced meanwhile
    except OSError as error:
        raise _refusal(path, error) from None
    try:
        yield file
    finally:
        os.close(file)


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _write(path: Path, file: int, text: str) -> None:
    content = memoryview(text.encode())
    try:
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    except OSError as error:
        raise _refusal(path, error) from None


def _half_written(path: Path) -> Iterator[Path]:
    return path.parent.glob(f"{FILE}.*")


def _replace(path: Path, text: str) -> None:
    """Another content for the file, or no file where there is none, at one stroke."""
    try:
        if not text:
            path.unlink()
            return
        new = path.with_name(f"{FILE}.{os.getpid()}")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            _write(new, file, text)
        finally:
            os.close(file)
        new.replace(path)
    except OSError as error:
        raise _refusal(path, error) from None


_in_memory: weakref.WeakKeyDictionary[Ledger, Register] = weakref.WeakKeyDictionary()


def register_of(ledger: Ledger) -> Register:
    """The register of a ledger, as it is now."""
    if ledger.path is not None:
        return Register(ledger.path, texts=not ledger.encrypted)
    return _in_memory.setdefault(ledger, Register(None))


def set_aside(ledger: Ledger) -> list[SetAside]:
    """The lines that imports into a ledger have set aside and that have not gone in since."""
    return list(register_of(ledger))
