"""Entries in ``supersedes`` that a memo's own words prove, put where they are missing."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from doxa.adapters.markdown.corpus import Corpus, folder_at, read_corpus
from doxa.adapters.markdown.editing import Refused, with_name
from doxa.adapters.markdown.findings import Places
from doxa.adapters.markdown.linting import links_of
from doxa.adapters.markdown.memo import Memo
from doxa.adapters.markdown.proofs import Closure, closures
from doxa.adapters.markdown.rings import rings
from doxa.engine.errors import StorageError

__all__ = ["Added", "Fix", "Unproved", "fix"]

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Added:
    """One entry that is put in: into which file, whose stem, and the sentence that proves it."""

    path: str
    name: str
    line: int
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        names = ("path", "name", "line", "sentence")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Unproved:
    """A sentence that closes a memo, for which nothing is put in, and why."""

    path: str
    line: int
    sentence: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        names = ("path", "line", "sentence", "reason")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Fix:
    """What is put in (``added``), the ``diff`` of it, what is not proved (``refused``), and the
    files that were ``written``; those that changed meanwhile are ``skipped``."""

    folder: str
    added: tuple[Added, ...]
    refused: tuple[Unproved, ...]
    diff: str
    written: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The fix as a JSON object."""
        return {
            "folder": self.folder,
            "added": [each.as_dict() for each in self.added],
            "refused": [each.as_dict() for each in self.refused],
            "diff": self.diff,
            "written": list(self.written),
            "skipped": list(self.skipped),
        }


def fix(
    folder: str | os.PathLike[str], *, write: bool = False, progress: Progress | None = None
) -> Fix:
    """Puts into ``supersedes`` what a memo's own sentence proves, and shows it as a diff.

    Without ``write`` no file is touched. With it, each file is replaced whole, and every byte but
    those of the entry stays; a file that has changed since it was read is left alone. What is
    somebody else's word, a hedge, a part, a question, or would close a ring, is refused with the
    reason. Raises `StorageError` where a file can't be written; those before it are.
    """
    corpus = read_corpus(folder, progress)
    proved, refused = _proofs(corpus)
    edited: dict[str, Memo] = {}
    added: list[Added] = []
    for memo, closure in proved:
        assert closure.proves is not None, closure
        told = _at(memo, closure)
        try:
            edited[memo.path] = with_name(edited.get(memo.path, memo), closure.proves)
            added.append(Added(memo.path, closure.proves, told.line, told.sentence))
        except Refused as error:
            refused.append(Unproved(memo.path, told.line, told.sentence, str(error)))
    before = {memo.path: memo for memo in corpus.memos}
    diff = "".join(_diff(before[path], after) for path, after in sorted(edited.items()))
    written, skipped = _write(folder_at(folder), before, edited) if write else ([], [])
    return Fix(
        os.fspath(folder),
        tuple(added),
        tuple(sorted(refused, key=lambda each: (each.path, each.line))),
        diff,
        tuple(written),
        tuple(skipped),
    )


def _proofs(corpus: Corpus) -> tuple[list[tuple[Memo, Closure]], list[Unproved]]:
    """The sentences that prove an entry which is not there, and those that prove none. Where proofs
    and entries together go round, none of the proofs counts."""
    there = {(edge.memo.path, edge.reference.stem) for edge in corpus.edges}
    linked = there | {
        (each.path, edge.memo.stem) for edge in corpus.edges for each in edge.carriers
    }
    proved: dict[tuple[str, str], tuple[Memo, Closure]] = {}
    refused: list[Unproved] = []
    for memo in corpus.memos:
        for closure in closures(memo, corpus.carriers) if memo.usable else ():
            if closure.proves is None:
                if any((memo.path, stem) not in linked for stem in closure.stems):
                    refused.append(_at(memo, closure))
            elif (memo.path, closure.proves) not in there:
                proved.setdefault((memo.path, closure.proves), (memo, closure))
    links = links_of(corpus)
    links += [(path, corpus.carriers[stem][0].path) for path, stem in proved]
    ringed = rings(links)
    kept: list[tuple[Memo, Closure]] = []
    for (path, stem), (memo, closure) in proved.items():
        ring = ringed.get(path)
        if ring is not None and ringed.get(corpus.carriers[stem][0].path) == ring:
            told = _at(memo, closure)
            reason = "the entry would close a ring"
            refused.append(Unproved(told.path, told.line, told.sentence, reason))
        else:
            kept.append((memo, closure))
    return kept, refused


def _at(memo: Memo, closure: Closure) -> Unproved:
    body = memo.front.body if memo.front is not None else 0
    line = Places(memo.text).at(body)[0] + closure.sentence.line
    return Unproved(memo.path, line, closure.sentence.shown, closure.why_not)


def _diff(before: Memo, after: Memo) -> str:
    """A unified diff, in which line ends are what they are."""
    lines = []
    for line in difflib.unified_diff(
        _lines(before.text),
        _lines(after.text),
        f"a/{before.path}",
        f"b/{after.path}",
    ):
        ended = line.endswith(("\n", "\r"))
        lines.append(line if ended else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """The lines of a text, each with its end, as a diff counts them."""
    pieces = text.split("\n")
    found = [f"{piece}\n" for piece in pieces[:-1]]
    return [*found, pieces[-1]] if pieces[-1] else found


# ---------------------------------------------------------------- files


def _write(
    root: Path, before: dict[str, Memo], edited: dict[str, Memo]
) -> tuple[list[str], list[str]]:
    written: list[str] = []
    skipped: list[str] = []
    for path, memo in sorted(edited.items()):
        try:
            done = _replace(root / path, before[path].text.encode(), memo.text.encode())
        except OSError as error:
            raise StorageError(
                f"{path} can't be written: {error.strerror}; written before it: "
                f"{', '.join(written[:10]) or 'nothing'}{', …' if len(written) > 10 else ''}"
            ) from None
        (written if done else skipped).append(path)
    return written, skipped


def _replace(path: Path, old: bytes, new: bytes) -> bool:
    """Puts a new file in the place of one whose content is still the old, which is looked at last.
    Its mode and owner stay; one that may not be written to is not replaced either."""
    found = _held(path, old)
    if found is None:
        return False
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")
    handle, name = tempfile.mkstemp(prefix=".", suffix=".doxa-fix", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(handle, found.st_uid, found.st_gid)
            os.fchmod(handle, stat.S_IMODE(found.st_mode))
            os.fsync(handle)
        if _held(path, old) is None:
            os.unlink(name)
            return False
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return True


def _held(path: Path, old: bytes) -> os.stat_result | None:
    """What a file is, while its content is some bytes."""
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError:
        if path.is_symlink():
            return None
        raise
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        same = stat.S_ISREG(found.st_mode) and file.read(len(old) + 1) == old
    return found if same else None
