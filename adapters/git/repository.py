"""A Git repository on this machine, read without running anything of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from doxa.adapters.carrying import label, plain
from doxa.adapters.extras import needed
from doxa.engine import times
from doxa.engine.errors import CallerError

__all__ = ["Commit", "Entry", "Repository"]

_TREE: Final = 0o040000
_FILES: Final = (0o100644, 0o100755, 0o100664)
_KINDS: Final = {0o120000: "a symbolic link", 0o160000: "a submodule"}
_SUMMARY: Final = 200  # characters of a message
_SIMILAR: Final = 50  # per cent, as `git log --follow` has it
_MANY: Final = 1_000  # files that are compared for similarity in one commit


class Entry(NamedTuple):
    """What lies at a path in a commit: the id of its content, and its mode."""

    id: str
    mode: int

    @property
    def problem(self) -> str | None:
        """Why it is no file that could be read."""
        if self.mode in _FILES:
            return None
        return f"it is {_KINDS.get(self.mode, 'something special')}, which is not followed"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, with its times in microseconds; `None` where one lies outside the calendar."""

    id: str
    tree: str
    author: str
    authored_at: int | None
    committed_at: int | None
    summary: str


class Repository:
    """A repository that is read with libgit2. Raises `CallerError`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with needed("pygit2", "git"):
            import pygit2
        self.library, self.path = pygit2, os.fspath(path)
        if "://" in self.path:
            raise CallerError(
                f"{self.path!r:.200} is elsewhere; clone it first, and give the folder"
            )
        try:
            self._repo: Any = pygit2.Repository(
                self.path, pygit2.enums.RepositoryOpenFlag.NO_SEARCH
            )
        except (pygit2.GitError, ValueError) as error:
            raise CallerError(self._why_not(error)) from None
        self._at = lru_cache(maxsize=4_096)(self._entry)

    def _why_not(self, error: Exception) -> str:
        if "sha256" in str(error):
            return (
                f"{self.path!r:.200} has SHA-256 object ids, which libgit2 does not read; make a "
                "copy with SHA-1: git fast-export --all, into git fast-import in a new repository"
            )
        if "owned" in str(error):
            return (
                f"{self.path!r:.200} belongs to somebody else: {error}; if you trust it, say so "
                "with git config --global --add safe.directory"
            )
        return f"{self.path!r:.200} is no Git repository: {error}; give its root folder"

    # ------------------------------------------------------------ commits

    def tip(self, ref: str) -> str:
        """The commit that a branch, tag or commit id names."""
        try:
            found = self._repo.revparse_single(ref).peel(self.library.Commit)
        except (KeyError, ValueError, TypeError, self.library.GitError) as error:
            names = sorted(self._repo.branches)[:8]
            if not names:
                raise CallerError(
                    f"{self.path!r:.200} has no commits yet; nothing was recorded"
                ) from None
            raise CallerError(
                f"{ref!r:.120} names no commit of {self.path!r:.200} ({error}); its branches are: "
                f"{', '.join(names)}"
            ) from None
        return str(found.id)

    def line(self, tip: str, until: str | None = None) -> list[Commit]:
        """The commits from a tip back along first parents, oldest first: down to ``until``, which
        is among them then, or to the first one."""
        found = []
        at: str | None = tip
        while at is not None:
            raw = self._commit(at)
            found.append(_commit(raw))
            parents = raw.parent_ids
            at = None if at == until or not parents else str(parents[0])
        return found[::-1]

    def _commit(self, id: str) -> Any:
        return self._object(id, f"commit {id}")

    def _object(self, id: str, what: str) -> Any:
        with self._readable(what):
            return self._repo[id]

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except KeyError:
            raise CallerError(self._missing(what)) from None
        except self.library.GitError as error:
            raise CallerError(
                f"{what} can't be read in {self.path!r:.200}: {error}; look with git fsck what is "
                "damaged, and clone it anew"
            ) from None

    def has(self, id: str) -> bool:
        """Whether an object is in the repository."""
        return id in self._repo

    def cut_off(self, commit: str) -> bool:
        """Whether a commit has parents that are not in this clone, which is shallow then."""
        if not self._repo.is_shallow:
            return False
        head, _, _ = self._commit(commit).read_raw().partition(b"\n\n")
        return b"\nparent " in head and not self._commit(commit).parent_ids

    # ------------------------------------------------------------ files

    def entry(self, commit: Commit, path: str) -> Entry | None:
        """What lies at a path in a commit, `None` where there is no file: nothing, or a folder."""
        found = self._below(commit, path)
        return None if found is None or found.mode == _TREE else found

    def is_folder(self, commit: Commit, path: str) -> bool:
        """Whether a folder lies at a path in a commit."""
        found = self._below(commit, path)
        return found is not None and found.mode == _TREE

    def _below(self, commit: Commit, path: str) -> Entry | None:
        found = Entry(commit.tree, _TREE)
        for name in path.split("/"):
            if found.mode != _TREE:
                return None
            below = self._at(found.id, name)
            if below is None:
                return None
            found = below
        return found

    def _entry(self, tree: str, name: str) -> Entry | None:
        held = self._tree(tree)
        if name not in held:
            return None
        below = held[name]
        return Entry(str(below.id), int(below.filemode))

    def _tree(self, id: str) -> Any:
        return self._object(id, f"folder {id}")

    def content(self, entry: Entry, path: str) -> bytes:
        """The bytes of a file."""
        with self._readable(f"{path!r:.200}, version {entry.id},"):
            found: bytes = self._repo.read(self.library.Oid(hex=entry.id))[1]
        return found

    def _missing(self, what: str) -> str:
        return (
            f"{what} is not in {self.path!r:.200}: the clone is shallow or partial. "
            "Get what is missing (git fetch --unshallow; git fetch --refetch --no-filter, or a "
            "full clone), and run it again: it goes on where it stopped"
        )

    def names(self, commit: Commit) -> list[str]:
        """The paths of all files of a commit."""
        found, waiting = [], [("", commit.tree)]
        while waiting:
            before, tree = waiting.pop()
            for below in self._tree(tree):
                path = f"{before}{below.name}"
                if int(below.filemode) == _TREE:
                    waiting.append((f"{path}/", str(below.id)))
                else:
                    found.append(path)
        return sorted(found)

    # ------------------------------------------------------------ renames

    def renamed_to(self, old: Commit, new: Commit, path: str) -> str | None:
        """The path that a file of one commit has in the next, where it was renamed."""
        return next((b for a, b in self._renames(old.tree, new.tree) if a == path), None)

    def renamed_from(self, old: Commit, new: Commit, path: str) -> str | None:
        """The path that a file of a commit had in the one before, where it was renamed."""
        return next((a for a, b in self._renames(old.tree, new.tree) if b == path), None)

    def _renames(self, old: str, new: str) -> list[tuple[str, str]]:
        with self._readable("what renames are found by"):
            diff = self._tree(old).diff_to_tree(self._tree(new))
            diff.find_similar(
                flags=self.library.enums.DiffFind.FIND_RENAMES,
                rename_threshold=_SIMILAR,
                rename_limit=_MANY,
            )
        found = []
        for delta in diff.deltas:
            if delta.status == self.library.enums.DeltaStatus.RENAMED:
                try:
                    names = (delta.old_file.raw_path.decode(), delta.new_file.raw_path.decode())
                except UnicodeDecodeError:  # no path that could be named here
                    continue
                found.append(names)
        return found


def _commit(raw: Any) -> Commit:
    author, committer = raw.author, raw.committer
    name = author.raw_name.decode("utf-8", "replace")
    mail = author.raw_email.decode("utf-8", "replace")
    summary = raw.raw_message.decode("utf-8", "replace").strip().partition("\n")[0]
    return Commit(
        str(raw.id),
        str(raw.tree_id),
        label(f"{name} <{mail}>"),
        _micros(author.time),
        _micros(committer.time),
        label(plain(summary)[:_SUMMARY]),
    )


def _micros(seconds: int) -> int | None:
    found = seconds * 1_000_000
    return found if times.FIRST <= found <= times.LAST else None
