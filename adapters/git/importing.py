"""The history of files in a Git repository into a ledger, and on from there when it has grown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from pydantic_core import PydanticCustomError

from doxa.adapters.carrying import check_ledger
from doxa.adapters.carrying import key as digest
from doxa.adapters.git.course import Asked, course_of
from doxa.adapters.git.recorded import Recorded
from doxa.adapters.git.recording import BATCH, Recording
from doxa.adapters.git.report import GitImport
from doxa.adapters.git.repository import Repository
from doxa.adapters.git.settings import Empty, Format, Settings, Types, Valid, checked
from doxa.engine.errors import CallerError
from doxa.engine.fields import check_name

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["import_git"]

_NAME: Final = 200  # characters of an import's name

Progress = Callable[[int, int | None], None]


def import_git(
    ledger: Ledger,
    repository: str | os.PathLike[str],
    paths: str | Iterable[str],
    *,
    key: str | Iterable[str] = (),
    name: str | None = None,
    ref: str = "HEAD",
    format: Format | None = None,
    delimiter: str | None = None,
    records: str = "",
    types: Types = "text",
    empty: Empty = "none",
    ignore: str | Iterable[str] = (),
    prefix: str = "",
    valid: Valid = "unknown",
    valid_from: str | None = None,
    valid_to: str | None = None,
    valid_until: str | None = None,
    follow: bool = True,
    rewritten: bool = False,
    shallow: bool = False,
    workspace: str = "",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> GitImport:
    """Records what files of a Git repository said, commit by commit, along first parents; run
    again, only what is new.

    ``repository`` is its folder, ``paths`` name files from its root, ``key`` the columns that name
    what a row is about. Each cell becomes a claim (subject: the key, predicate: the column); a cell
    that changes is a correction, one that vanishes a withdrawal, and each commit that touches a
    file is one commit of the ledger, recorded at its committer's date. A version that is broken is
    set aside whole. ``name`` is that under which it goes on (left out: the paths). Raises
    `RewrittenHistory` where the line has lost what was imported, unless ``rewritten``;
    `CallerError` for what can't be carried out. ``progress(commits, total)`` is called now and
    then.
    """
    check_ledger(ledger)
    settings = checked(
        paths,
        key,
        format=format,
        delimiter=delimiter,
        records=records,
        types=types,
        empty=empty,
        ignore=ignore,
        prefix=prefix,
        valid=valid,
        valid_from=valid_from,
        valid_to=valid_to,
        valid_until=valid_until,
        follow=follow,
    )
    asked = Asked(_name(name, settings), name is not None, workspace, rewritten, shallow, dry_run)
    repo, recorded = Repository(repository), Recorded(ledger, workspace, asked.name)
    tip = repo.tip(ref)
    course = course_of(repo, settings, asked, recorded, ref, tip)
    run, total = (
        Recording(ledger, repo, settings, asked, recorded, course.arrival),
        len(course.steps),
    )
    if course.steps:
        run.restore()
    for done, (commit, placed) in enumerate(course.steps, 1):
        run.step(commit, placed)
        if run.waiting >= BATCH or done == total:
            run.flush()
            if progress is not None:
                progress(done, total)
    return _told(run, tip, course.seen)


def _name(name: str | None, settings: Settings) -> str:
    if name is None:
        joined = ",".join(settings.paths)
        name = joined if len(joined) <= _NAME else f"{joined[:150]}… {digest(joined)}"
    try:
        if isinstance(name, str) and len(name) <= _NAME:
            return check_name(name)
    except PydanticCustomError:
        pass
    raise CallerError(
        f"name is {name!r:.300}; give the import a name, a line of plain text of up to {_NAME} "
        "characters"
    )


def _told(run: Recording, tip: str, seen: int) -> GitImport:
    assert run.cursor is not None, "something of the files is on the line"
    before = run.recorded.cursor
    return GitImport(
        name=run.asked.name,
        workspace=run.asked.workspace,
        head=tip,
        resumed_from=None if before is None else before.commit,
        seen=seen,
        written=run.written,
        added=run.added,
        corrected=run.corrected,
        withdrawn=run.withdrawn,
        restamped=run.restamped,
        set_aside=tuple(run.aside),
        kept_out=tuple(run.kept_out),
        paths=run.cursor.paths,
        events=run.events,
        revision=run.ledger.revision,
        dry_run=run.asked.dry_run,
    )
