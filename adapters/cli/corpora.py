"""The commands for folders of Markdown memos."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

import doxa
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, say, table
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger

if TYPE_CHECKING:
    from doxa.adapters.markdown import Check, CorpusImport, Fix, Lint

__all__ = ["add_to"]

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder with the memos.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
]


def import_markdown(
    path: opt.Path,
    folder: Folder,
    corpus: Annotated[
        str | None,
        typer.Option(help="The name under which it is known again; left out, the folder's."),
    ] = None,
    workspace: opt.Workspace = "",
    assume_from: Annotated[
        str | None,
        typer.Option(
            help="The day from which a memo without valid_from applies; left out, it is open.",
            metavar="DAY",
        ),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="It may be that all recorded memos are gone.")
    ] = False,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> int:
    """Record what the memos of a folder say now, and only where that has changed.

    A memo that says otherwise corrects its former wording, one whose file is gone is withdrawn, and
    its entries in supersedes become corrections. What can't be read is set aside (exit 1). A folder
    that has the memos of another corpus of the ledger is taken for a copy, and refused unless
    --corpus says which it is.
    """
    from doxa.adapters.markdown import import_corpus

    def call(ledger: Ledger) -> CorpusImport:
        with progress("read memos") as told:
            return import_corpus(
                ledger,
                folder,
                corpus=corpus,
                workspace=workspace,
                assume_from=assume_from,
                allow_empty=allow_empty,
                dry_run=dry_run,
                progress=told,
            )

    if dry_run and not os.path.exists(path):
        with doxa.open() as nothing:
            done = call(nothing)
    elif dry_run:
        with opt.reading(path) as ledger:
            done = call(ledger)
    else:
        done = opt.record(path, call)
    if as_json:
        document(done.as_dict())
    else:
        _tell_import(done)
        if done.findings:
            errors = sum(finding.level == "error" for finding in done.findings)
            note(
                f"{counted(len(done.findings), 'finding')} ({counted(errors, 'error')}, "
                f"{counted(len(done.findings) - errors, 'warning')}): doxa lint "
                f"{shlex.quote(folder)}"
            )
    return NO if done.set_aside else DONE


def _tell_import(done: CorpusImport) -> None:
    if done.changes:
        columns = ("turn", "memo", "path", "claim", "was")
        table(columns, [(c.turn, c.key, c.path, c.claim, c.was) for c in done.changes])
    for link in done.links:
        about = f" ({', '.join(link.claims)})" if link.claims else ""
        note(f"{link.path}: supersedes {link.name}: {link.meaning}{about}")
    for text in done.notes:
        note(text)
    for each in done.set_aside:
        name = "" if each.name is None else f" (supersedes {each.name})"
        note(f"set aside: {each.path}{name}: {each.reason}")
    dry = ", nothing written" if done.dry_run else ""
    note(
        f"{done.corpus}: {done.kept} kept, {len(done.changes)} changed, "
        f"{len(done.set_aside)} set aside; {counted(done.events, 'event')}{dry}"
    )


def lint(
    folder: Folder,
    sarif: Annotated[
        str | None,
        typer.Option(help="Write SARIF 2.1.0 into this file; - is stdout.", metavar="FILE"),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings, too.")] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Find what is wrong with the memos of a folder, or may be.

    Exit 1 where there are errors: names in supersedes that dangle, are ambiguous, go round or name
    the memo itself, dates that are none, what can't be read. Warnings, such as that there are no
    memos, don't count, unless --strict.
    """
    from doxa.adapters.markdown import lint

    if sarif == "-" and as_json:
        raise CallerError("--json and --sarif - both want stdout; give --sarif a file")
    with progress("read memos") as told:
        found = lint(folder, progress=told)
    if sarif is not None:
        text = json.dumps(found.sarif(), ensure_ascii=True, indent=1) + "\n"
        if sarif == "-":
            sys.stdout.write(text)
        else:
            opt.write_text(sarif, text)
    if as_json:
        document(found.as_dict())
    elif sarif != "-":
        for finding in found.findings:
            say(str(finding))
    _tell_lint(found)
    return NO if found.errors or (strict and found.warnings) else DONE


def _tell_lint(found: Lint) -> None:
    errors, warnings = len(found.errors), len(found.warnings)
    note(
        f"{counted(found.memos, 'memo')}: {counted(errors, 'error')}, "
        f"{counted(warnings, 'warning')}"
    )


def fix(
    folder: Folder,
    write: Annotated[
        bool, typer.Option("--write", help="Write the files; left out, only the diff is shown.")
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Put entries into supersedes that a memo's own sentence proves, and show them as a diff.

    "This memo supersedes [[x]]." proves one. What somebody said, hedges, parts of a memo, questions
    and the like prove nothing, and are listed with the reason. Exit 1 where something is left to
    write.
    """
    from doxa.adapters.markdown import fix

    with progress("read memos") as told:
        done = fix(folder, write=write, progress=told)
    if as_json:
        document(done.as_dict())
    else:
        _tell_fix(done)
    return NO if done.skipped or (done.added and not write) else DONE


def _tell_fix(done: Fix) -> None:
    if done.diff:
        say(done.diff.removesuffix("\n"))
    for each in done.refused:
        note(f"not proved: {each.path}:{each.line}: {each.sentence}: {each.reason}")
    for path in done.skipped:
        note(f"not written: {path} has changed meanwhile")
    files = counted(len({added.path for added in done.added}), "file")
    what = f"in {files}, written" if done.written else f"in {files}"
    entries = "1 entry" if len(done.added) == 1 else f"{len(done.added)} entries"
    note(f"{entries} {what}" if done.added else "nothing to add")


def check(
    folder: Folder,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The draft of a memo; - is stdin.")],
    at: Annotated[
        str | None,
        typer.Option("--path", help="Where in the folder it is to be saved.", metavar="PATH"),
    ] = None,
    as_json: opt.AsJson = False,
) -> int:
    """Before a memo is saved: which memos it may supersede, and what is wrong with it.

    Every memo that comes into question is offered with the reasons, and none is chosen. Exit 1
    where there is one, or an error.
    """
    from doxa.adapters.markdown import check

    draft = sys.stdin.buffer.read() if file == "-" else opt.given(file)
    with progress("read memos") as told:
        found = check(folder, draft, path=at, progress=told)
    if as_json:
        document(found.as_dict())
    else:
        _tell_check(found)
    return DONE if found.settled else NO


def _tell_check(found: Check) -> None:
    if found.candidates:
        columns = ("memo", "title", "reasons", "superseded by")
        table(
            columns,
            [
                (o.path, o.title, ", ".join(o.reasons), ", ".join(o.superseded_by) or None)
                for o in found.candidates
            ],
        )
    for finding in found.findings:
        note(str(finding))
    declared = f"; it supersedes {', '.join(found.declared)}" if found.declared else ""
    offers = counted(len(found.candidates), "candidate")
    note(f"{found.path}: {offers}{declared}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command("import-markdown")(import_markdown)
    app.command()(lint)
    app.command()(fix)
    app.command()(check)
