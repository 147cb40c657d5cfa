"""The line of commits that is imported, and under which path each file lies on it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from doxa.adapters.git.repository import Commit, Entry, Repository
from doxa.engine.errors import CallerError, ConflictError

__all__ = ["Placed", "RewrittenHistory", "steps", "trace"]


_NEAR: Final = 5  # paths that are named where one is not there

Placed = dict[str, tuple[str, Entry | None]]
"""Of each file, by the path under which it was given: its path in a commit, and what is there."""


class RewrittenHistory(ConflictError):
    """The commit up to which a history was imported is not on its line any more."""

    code = "rewritten_history"


def trace(
    repo: Repository, line: Sequence[Commit], paths: Sequence[str], renames: bool
) -> dict[str, str]:
    """Where each file lay at the beginning of a line, or was first to be looked for: found from
    the last commit that has it, back along renames. Raises `CallerError` where none has it."""
    return {path: _first_name(repo, line, path, renames) for path in paths}


def _first_name(repo: Repository, line: Sequence[Commit], path: str, renames: bool) -> str:
    at = len(line) - 1
    while at >= 0 and repo.entry(line[at], path) is None:
        at -= 1
    if at < 0:
        if any(repo.is_folder(commit, path) for commit in line):
            raise CallerError(f"{path!r:.200} is a folder; name its files, one by one")
        commits = "the one commit" if len(line) == 1 else f"any of the {len(line):,} commits"
        raise CallerError(
            f"there is no file {path!r:.200} in {commits} up to here; paths are those from the "
            f"root of the repository{_near(path, repo.names(line[-1]))}"
        )
    while renames and at > 0:
        if repo.entry(line[at], path) is not None and repo.entry(line[at - 1], path) is None:
            path = repo.renamed_from(line[at - 1], line[at], path) or path
        at -= 1
    return path


def _near(path: str, names: Sequence[str]) -> str:
    """What may be meant by a path: files of that name elsewhere, or of one like it; else what there
    is."""
    wanted = PurePosixPath(path).name.casefold()
    same = [each for each in names if PurePosixPath(each).name.casefold() == wanted]
    near = [*dict.fromkeys([*same, *difflib.get_close_matches(path, names, cutoff=0.5)])][:_NEAR]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    if not names:
        return "; the last commit has no files"
    more = f" and {len(names) - _NEAR:,} more" if len(names) > _NEAR else ""
    return f"; the last commit has {', '.join(names[:_NEAR])}{more}"


def _follow(
    repo: Repository,
    before: Commit,
    commit: Commit,
    names: Mapping[str, str],
    renames: bool,
) -> Placed:
    """Where each file lies in a commit, by where it lay in the one before, and what is there."""
    found: Placed = {}
    for path, name in names.items():
        entry = repo.entry(commit, name)
        if entry is None and renames and repo.entry(before, name) is not None:
            new = repo.renamed_to(before, commit, name)
            if new is not None and new not in names.values():
                name, entry = new, repo.entry(commit, new)
        found[path] = (name, entry)
    return found


def _check_apart(names: Mapping[str, str]) -> None:
    """Raises `CallerError` where two paths are one file, under its old and its new name."""
    owners: dict[str, str] = {}
    for path, name in names.items():
        if name in owners:
            raise CallerError(
                f"{owners[name]!r:.200} and {path!r:.200} are one file under two names; give one"
            )
        owners[name] = path


def steps(
    repo: Repository,
    before: Commit | None,
    line: Sequence[Commit],
    names: Mapping[str, str],
    renames: bool,
) -> list[tuple[Commit, Placed]]:
    """The commits of a line in which a file is not as it was in the commit before, each with where
    all the files lie; ``names`` are their names in that ``before``, or at the beginning."""
    _check_apart(names)
    current = dict(names)
    last = {
        path: None if before is None else repo.entry(before, name) for path, name in names.items()
    }
    found = []
    for commit in line:
        if before is None:
            placed = {path: (name, repo.entry(commit, name)) for path, name in current.items()}
        elif commit.tree != before.tree:
            placed = _follow(repo, before, commit, current, renames)
        else:
            placed = {path: (name, last[path]) for path, name in current.items()}
        if any(place != (current[path], last[path]) for path, place in placed.items()):
            found.append((commit, placed))
        current = {path: name for path, (name, _) in placed.items()}
        last = {path: entry for path, (_, entry) in placed.items()}
        before = commit
    return found
