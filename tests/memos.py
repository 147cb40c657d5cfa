"""Folders of memos for tests: written from front matter and bodies, and changed at random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doxa.adapters.markdown import CorpusImport
from doxa.adapters.markdown.corpus import Corpus, corpus_of
from doxa.adapters.markdown.memo import Memo, memo_of
from doxa.ledger import Ledger

JULY = "2024-07-01"
AT = ("2023-06-01", "2024-02-01", "2024-07-01", "2026-01-01")


def text(body: str = "words", **front: str) -> str:
    """A memo; what is given is written into its front matter as it is."""
    lines = [f"{key}: {value}\n" for key, value in front.items()]
    return f"---\n{''.join(lines)}---\n{body}\n" if lines else f"{body}\n"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Files in a folder, which is made."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def corpus(files: Mapping[str, str | bytes]) -> Corpus:
    """The corpus of some files, without a folder."""
    return corpus_of(
        memo_of(path, content.encode() if isinstance(content, str) else content)
        for path, content in files.items()
    )


def memo(content: str | bytes, path: str = "a.md") -> Memo:
    """One memo."""
    return memo_of(path, content.encode() if isinstance(content, str) else content)


def rules(memo: Memo) -> list[str]:
    """The rules that a memo breaks by itself."""
    return [finding.rule for finding in memo.findings]


def believed(ledger: Ledger) -> list[Any]:
    """What may be believed of all memos, at several times: what they say, how they stand, on which
    sources they rest, what replaces them, and whether that is in doubt. No ids: those tell of the
    route."""
    found: list[Any] = []
    for at in AT:
        view = ledger.view(valid_at=at)
        names = {item.id: item.subject for item in view.claims(standing="any")}
        held = []
        for item in view.claims():
            held.append(
                (
                    item.subject,
                    str(item.object),
                    item.text,
                    str(item.valid_from),
                    str(item.valid_to),
                    str(item.standing),
                    sorted(s.source for s in item.supports if s.live and s.source is not None),
                    bool(view.ambiguous(item.id)),
                )
            )
        replaced = sorted(
            {
                (item.subject, names[successor])
                for item in view.claims(standing="superseded")
                for successor in item.successors
                if names[successor] != item.subject and view.claim(successor).held
            }
        )
        found.append((sorted(held), replaced))
    return found


def hours(folder: Path) -> Path:
    """A folder with two memos, of which the later one supersedes the earlier."""
    return write(
        folder,
        {
            "hours-2024.md": text("nine", valid_from="2024-06-01", supersedes="'[[hours-2023]]'"),
            "hours-2023.md": text("ten", valid_from="2023-01-01", title="Hours"),
        },
    )


def turns(done: CorpusImport) -> list[tuple[str, str]]:
    """What became of which memo."""
    return [(str(change.turn), change.key) for change in done.changes]


def meanings(done: CorpusImport) -> list[tuple[str, str]]:
    """Which name came to mean what."""
    return [(link.name, str(link.meaning)) for link in done.links]


def standing(ledger: Ledger, id: str, at: str = JULY) -> str:
    """How a claim stands."""
    return str(ledger.view(valid_at=at).standing(id))


def ambiguous(ledger: Ledger) -> list[str]:
    """The claims of which nobody knows whether they are superseded."""
    view = ledger.view(valid_at=JULY)
    return [item.id for item in view.claims(standing="any") if view.ambiguous(item.id)]
