"""Which commits an import has before it: all, those after what is recorded, or a rewritten line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from doxa.adapters.git.line import Placed, RewrittenHistory, steps, trace
from doxa.adapters.git.reading import Reader, version_of
from doxa.adapters.git.recorded import Cursor, Recorded
from doxa.adapters.git.repository import Commit, Repository
from doxa.adapters.git.rows import Unsound
from doxa.adapters.git.settings import Settings
from doxa.engine.errors import CallerError

__all__ = ["Asked", "Course", "course_of"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an import is to do, besides how it reads files."""

    name: str
    named: bool
    workspace: str
    rewritten: bool
    shallow: bool
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Course:
    """The ``steps`` before an import, of so many commits that it has ``seen``; ``arrival`` where
    they become known as they arrive, since the ledger believed otherwise until now."""

    steps: Sequence[tuple[Commit, Placed]]
    seen: int
    arrival: bool = False


def course_of(
    repo: Repository, settings: Settings, asked: Asked, recorded: Recorded, ref: str, tip: str
) -> Course:
    """The course to a tip. Raises `CallerError`, or `RewrittenHistory`."""
    finder = _Finder(repo, settings, asked, recorded)
    if recorded.cursor is None:
        return finder.begin(tip)
    return finder.go_on(tip, ref, recorded.cursor)


class _Finder:
    def __init__(
        self, repo: Repository, settings: Settings, asked: Asked, recorded: Recorded
    ) -> None:
        self.repo, self.settings, self.asked, self.recorded = repo, settings, asked, recorded

    def begin(self, tip: str) -> Course:
        """The steps of a history of which nothing is recorded."""
        line = self.repo.line(tip)
        self._whole(line)
        self._not_another(line)
        names = trace(self.repo, line, self.settings.paths, self.settings.follow)
        todo = steps(self.repo, None, line, names, self.settings.follow)
        self._readable(todo)
        return Course(todo, len(line))

    def _whole(self, line: Sequence[Commit]) -> None:
        if self.repo.cut_off(line[0].id) and not self.asked.shallow:
            raise CallerError(
                f"the clone is shallow: what came before commit {line[0].id[:12]} is not in it. "
                "Get it (git fetch --unshallow), or say that the history is to begin there "
                "(shallow)"
            )

    def _not_another(self, line: Sequence[Commit]) -> None:
        """Refuses to begin anew with a file that is being followed under another name."""
        commits = {commit.id for commit in line}
        for name, cursor in () if self.asked.named else self.recorded.others():
            known = {*cursor.paths, *cursor.paths.values()} & set(self.settings.paths)
            if known and cursor.commit in commits:
                raise CallerError(
                    f"{min(known)!r:.200} is imported already, under the name {name!r:.200}: to go "
                    "on, give that name and the paths that it was given; to import it once more, "
                    "another one"
                )

    def _readable(self, todo: Sequence[tuple[Commit, Placed]]) -> None:
        """Refuses files of which no version at all can be read, such as by a misspelt key."""
        for path in self.settings.paths:
            why = ""
            for commit, placed in reversed(todo):
                name, entry = placed[path]
                if entry is None:
                    continue
                try:
                    version_of(self.repo, Reader(self.settings), name, entry)
                    break
                except Unsound as error:
                    why = why or f"of the last, in commit {commit.id[:12]}: {error}"
            else:
                raise CallerError(
                    f"no version of {path!r:.200} can be read; {why}; nothing was written"
                )

    def go_on(self, tip: str, ref: str, cursor: Cursor) -> Course:
        """The steps after what is recorded."""
        self._same_settings()
        line = self.repo.line(tip, cursor.commit)
        if line[0].id == cursor.commit:
            after = line[1:]
            todo = steps(self.repo, line[0], after, cursor.paths, self.settings.follow)
            return Course(todo, len(after))
        if self.repo.cut_off(line[0].id):
            raise CallerError(
                f"the clone is shallow, and does not reach back to commit {cursor.commit[:12]}, up "
                f"to which {self.asked.name!r:.200} was imported: git fetch --unshallow"
            )
        if not self.asked.rewritten:
            raise RewrittenHistory(
                f"commit {cursor.commit[:12]}, up to which {self.asked.name!r:.200} was imported, "
                f"is not among the first parents of {ref!r:.120}: its history was rewritten or set "
                "back, or it is another repository or branch. If what it says now is to be "
                "recorded as corrections that arrive now, say so (rewritten); else give the ref "
                "that was meant, or another name"
            )
        return self._again(line)

    def _again(self, line: Sequence[Commit]) -> Course:
        """A rewritten line, from where it left what is recorded."""
        names, before, after = None, None, line
        for at in range(len(line) - 1, -1, -1):
            known = self.recorded.cursor_at(line[at].id)
            if known is not None:
                names, before, after = known.paths, line[at], line[at + 1 :]
                break
        if names is None:
            names = trace(self.repo, line, self.settings.paths, self.settings.follow)
        todo = steps(self.repo, before, after, names, self.settings.follow)
        if not todo:  # it was set back, to what is recorded of its tip
            todo = [(line[-1], {p: (n, self.repo.entry(line[-1], n)) for p, n in names.items()})]
        return Course(todo, len(after), arrival=True)

    def _same_settings(self) -> None:
        now, before = self.settings.as_dict(), self.recorded.settings()
        if before is None:
            raise CallerError(
                f"how {self.asked.name!r:.200} was imported was erased; import under another name"
            )
        for what, value in now.items():
            if before.get(what) != value:
                option = "" if what == "paths" else f" (--{what.replace('_', '-')})"
                raise CallerError(
                    f"{self.asked.name!r:.200} was imported {_as_given(what, before.get(what))}, "
                    f"and now it is {_as_given(what, value)}; give the same as then{option}, "
                    "or another name (--name), under which all of it goes in anew"
                )


def _as_given(what: str, value: Any) -> str:
    """A setting in words."""
    if what == "paths":
        return f"of the paths {', '.join(value)!r:.200}"
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {what}"
    if value is None or value == "" or value == []:
        return f"without {what}"
    shown = ", ".join(value) if isinstance(value, list) else value
    return f"with {what} {shown!r:.200}"
