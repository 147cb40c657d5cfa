"""A corpus: the memos of a folder, found in one order, and what each of them means by the names
that it writes."""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from doxa.adapters.markdown.findings import Finding, Places, Span, shown_path
from doxa.adapters.markdown.memo import SIZE, Memo, Reference, memo_of, unread
from doxa.adapters.markdown.references import SUFFIXES
from doxa.adapters.markdown.rings import rings
from doxa.engine.errors import CallerError

__all__ = ["Corpus", "Edge", "Meaning", "corpus_of", "folder_at", "read_corpus"]

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Progress = Callable[[int, int | None], None]


class Meaning(StrEnum):
    """What a name in ``supersedes`` comes to."""

    RESOLVED = "resolved"  # one file has the stem
    DANGLING = "dangling"  # none has
    AMBIGUOUS = "ambiguous"  # several have
    CYCLE = "cycle"  # one has, and the memos replace each other in a ring
    SELF = "self"  # the memo itself has, alone


@dataclass(frozen=True, slots=True)
class Edge:
    """One entry of ``supersedes``, with the memos that have the stem it names."""

    memo: Memo
    reference: Reference
    meaning: Meaning
    carriers: tuple[Memo, ...]


@dataclass(frozen=True)
class Corpus:
    """The memos of a folder, by path; ``findings`` are those about no memo. ``unread`` are the
    paths of files and folders of which nobody knows now what they say."""

    memos: tuple[Memo, ...]
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    carriers: Mapping[str, tuple[Memo, ...]] = field(init=False, repr=False)
    edges: tuple[Edge, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        carriers: dict[str, list[Memo]] = defaultdict(list)
        for memo in self.memos:
            carriers[memo.stem].append(memo)
        found = {stem: tuple(memos) for stem, memos in carriers.items()}
        object.__setattr__(self, "carriers", found)
        object.__setattr__(self, "edges", tuple(_edges(self.memos, found)))

    def silent(self, path: str) -> bool:
        """Whether nobody knows now what a path says."""
        return any(path == each or path.startswith(f"{each}/") for each in self.unread)


def corpus_of(memos: Iterable[Memo], findings: Iterable[Finding] = ()) -> Corpus:
    """The corpus of some memos, in whatever order they come. A name that several of them give
    themselves is nobody's."""
    found = sorted(memos, key=lambda memo: memo.path)
    taken = Counter(memo.key for memo in found if memo.usable)
    paths: dict[str, list[str]] = defaultdict(list)
    for memo in found:
        if taken[memo.key] > 1:
            paths[memo.key].append(memo.path)
    alike = [
        _twice(memo, paths[memo.key]) if taken[memo.key] > 1 and memo.usable else memo
        for memo in found
    ]
    told = tuple(sorted(findings, key=lambda finding: finding.path))
    unread = [memo.path for memo in alike if not memo.usable]
    unread += [finding.path for finding in told if finding.blocks]
    return Corpus(tuple(alike), told, tuple(unread))


def _twice(memo: Memo, paths: Sequence[str]) -> Memo:
    others = [path for path in paths[:4] if path != memo.path]
    span = Span(1, 1, 1, 1)
    if memo.front is not None and "id" in memo.front.pairs:
        pair = memo.front.pairs["id"]
        span = Places(memo.text).span(pair.at, pair.at + len(pair.key))
    message = f"{memo.key!r:.80} also names {', '.join(others[:3])}"
    finding = Finding("duplicate-id", memo.path, message, span, memo.key)
    return replace(memo, findings=(*memo.findings, finding))


def _edges(memos: Sequence[Memo], carriers: Mapping[str, Sequence[Memo]]) -> Iterator[Edge]:
    """What every reference means. All edges of a ring are left unresolved together."""
    found: list[Edge] = []
    for memo in memos:
        for reference in memo.references if memo.usable else ():
            named = tuple(carriers.get(reference.stem, ()))
            if not named:
                meaning = Meaning.DANGLING
            elif len(named) > 1:
                meaning = Meaning.AMBIGUOUS
            else:
                meaning = Meaning.SELF if named[0].path == memo.path else Meaning.RESOLVED
            found.append(Edge(memo, reference, meaning, named))
    ringed = rings(
        (edge.memo.path, edge.carriers[0].path)
        for edge in found
        if edge.meaning is Meaning.RESOLVED
    )
    for edge in found:
        ring = ringed.get(edge.memo.path)
        if (
            edge.meaning is Meaning.RESOLVED
            and ring is not None
            and ringed.get(edge.carriers[0].path) == ring
        ):
            edge = replace(edge, meaning=Meaning.CYCLE)
        yield edge


# ---------------------------------------------------------------- folders


def folder_at(folder: str | os.PathLike[str]) -> Path:
    """The folder of a corpus. Raises `CallerError` where there is none."""
    try:
        path = Path(folder)
        if not path.is_dir():
            raise CallerError(f"there is no folder {os.fspath(folder)!r:.200}; give one with memos")
    except (OSError, ValueError, TypeError) as error:
        raise CallerError(f"{folder!r:.200} can't be looked at: {error}") from None
    return path


def read_corpus(folder: str | os.PathLike[str], progress: Progress | None = None) -> Corpus:
    """The memos of a folder and of those in it. No link is followed, and nothing whose name begins
    with a dot is looked at. Raises `CallerError` where there is no folder. O(bytes)."""
    root = folder_at(folder)
    findings: list[Finding] = []
    paths = sorted(_walk(root, "", findings))
    memos = []
    for number, path in enumerate(paths):
        memos.append(_read(root, path))
        if progress is not None:
            progress(number + 1, len(paths))
    return corpus_of(memos, findings)


def _walk(root: Path, below: str, findings: list[Finding]) -> Iterator[str]:
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise CallerError(
                    f"{os.fspath(root)!r:.200} can't be read: {error.strerror}"
                ) from None
            message = f"the folder can't be read: {error.strerror}"
            findings.append(Finding("unreadable-file", shown_path(folder), message))
            continue
        for entry in found:
            if entry.name.startswith("."):
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            named = entry.name.lower().endswith(SUFFIXES)
            if entry.is_symlink():
                if named or entry.is_dir():
                    message = "a link, which is not followed"
                    findings.append(Finding("skipped", shown_path(path), message))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif named:
                yield path


def _read(root: Path, path: str) -> Memo:
    try:
        handle = os.open(root / path, _FLAGS)
    except OSError as error:
        return unread(path, "unreadable-file", f"can't be read: {error.strerror}")
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return unread(path, "unreadable-file", "is no file, but something special")
        with os.fdopen(os.dup(handle), "rb") as file:
            content = file.read(SIZE + 1)
    except OSError as error:
        return unread(path, "unreadable-file", f"can't be read: {error.strerror}")
    finally:
        os.close(handle)
    return memo_of(path, content)
