"""Before a memo is saved: which memos of a folder it may supersede. All are offered, none is
chosen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from doxa.adapters.markdown.corpus import Corpus, Meaning, corpus_of, folder_at, read_corpus
from doxa.adapters.markdown.findings import ERROR, Finding
from doxa.adapters.markdown.linting import findings_of
from doxa.adapters.markdown.memo import SIZE, Memo, memo_of
from doxa.adapters.markdown.proofs import closures, mentions
from doxa.adapters.markdown.references import SUFFIXES
from doxa.adapters.markdown.sentences import body_of
from doxa.adapters.markdown.versions import siblings
from doxa.engine import times
from doxa.engine.errors import CallerError

__all__ = ["Check", "Offer", "check"]

DRAFT: Final = "(draft).md"  # the path of a text that has none
_SHARED: Final = 0.5  # of the words of two titles
# Reasons that an empty list in supersedes answers: the memo is like another, and replaces none.
_LIKE: Final = frozenset({"other_version", "same_title", "like_title", "mentioned"})
_WORDS: Final = 3  # so many of them at least

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Offer:
    """One memo that a draft may supersede, with the reasons for asking: `ambiguous_name`,
    `same_id`, `same_stem`, `other_version`, `same_title`, `like_title`, `closed_in_words`,
    `mentioned`. ``superseded_by`` are memos that say that they have replaced it."""

    path: str
    stem: str
    title: str
    reasons: tuple[str, ...]
    superseded_by: tuple[str, ...]
    valid_from: str | None
    valid_to: str | None

    def as_dict(self) -> dict[str, Any]:
        """The offer as a JSON object."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Check:
    """What is to be settled about a draft: the memos it may supersede (``candidates``), and what is
    wrong with it (``findings``). ``declared`` are the stems that it supersedes already."""

    path: str
    declared: tuple[str, ...]
    candidates: tuple[Offer, ...]
    findings: tuple[Finding, ...]

    @property
    def settled(self) -> bool:
        """Whether there is nothing to ask, and no error."""
        return not self.candidates and not any(f.level == ERROR for f in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {
            "path": self.path,
            "settled": self.settled,
            "declared": list(self.declared),
            "candidates": [offer.as_dict() for offer in self.candidates],
            "findings": [finding.as_dict() for finding in self.findings],
        }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def check(
    folder: str | os.PathLike[str],
    draft: str | bytes | os.PathLike[str],
    *,
    path: str | None = None,
    progress: Progress | None = None,
) -> Check:
    """Which memos of a folder a draft may supersede, and what is wrong with it; writes nothing.

    ``draft`` is a path, or the text of the memo as bytes; ``path`` is where in the folder it is to
    be saved, with ``/`` (left out: where the file lies, if that is in the folder). Every memo that
    comes into question is offered with the reasons, and none is chosen: an entry in ``supersedes``
    settles it, and an empty list all that are merely like it. Raises `CallerError` where the draft
    can't be read.
    """
    root = folder_at(folder)
    content, place = _draft(root, draft, None if path is None else _place(path))
    memo = memo_of(place, content)
    corpus = read_corpus(folder, progress)
    there = [each for each in corpus.memos if each.path != memo.path]
    whole = corpus_of([*_as_read(there), memo], corpus.findings)
    memo = next(each for each in whole.memos if each.path == memo.path)
    offers = [*_offers(whole, memo)]
    found = [finding for finding in findings_of(whole) if finding.path == memo.path]
    declared = tuple(
        edge.reference.stem
        for edge in whole.edges
        if edge.memo.path == memo.path and edge.meaning is Meaning.RESOLVED
    )
    return Check(memo.path, declared, tuple(offers), tuple(found))


def _as_read(memos: list[Memo]) -> Iterator[Memo]:
    """The memos without what was found about several of them together."""
    for memo in memos:
        alone = tuple(f for f in memo.findings if f.rule != "duplicate-id")
        yield replace(memo, findings=alone)


def _place(path: str) -> str:
    """Where in a folder a memo is to be saved, as its path is written."""
    if not isinstance(path, str):
        raise CallerError(f"path is {path!r:.200}; give the draft's place in the folder, a text")
    parts = PurePosixPath(path).parts
    if not path.lower().endswith(SUFFIXES) or path.startswith("/") or ".." in parts:
        raise CallerError(
            f"path is {path!r:.200}; give the draft's place in the folder, as plans/new.md"
        )
    return "/".join(parts)


def _draft(
    root: Path, draft: str | bytes | os.PathLike[str], path: str | None
) -> tuple[bytes, str]:
    if isinstance(draft, bytes):
        return draft, path or DRAFT
    try:
        with open(draft, "rb") as file:
            content = file.read(SIZE + 1)
        inside = Path(draft).resolve()
        base = root.resolve()
    except (OSError, ValueError, TypeError) as error:
        raise CallerError(f"the draft {draft!r:.200} can't be read: {error}") from None
    if path is not None:
        return content, path
    if inside.is_relative_to(base):
        return content, inside.relative_to(base).as_posix()
    return content, inside.name


def _offers(corpus: Corpus, memo: Memo) -> Iterator[Offer]:
    """Every memo that comes into question, by path."""
    reasons: dict[str, list[str]] = {}

    def ask(other: Memo, reason: str) -> None:
        found = reasons.setdefault(other.path, [])
        if reason not in found:
            found.append(reason)

    others = [each for each in corpus.memos if each.path != memo.path]
    settled = {
        edge.carriers[0].path
        for edge in corpus.edges
        if edge.memo.path == memo.path and edge.meaning is Meaning.RESOLVED
    }
    for edge in corpus.edges:
        if edge.memo.path == memo.path and edge.meaning is Meaning.AMBIGUOUS:
            for each in edge.carriers:
                ask(each, "ambiguous_name")
    words = _words(memo.title)
    for other in others:
        if other.stated_id and memo.stated_id and other.key == memo.key:
            ask(other, "same_id")
        if other.stem == memo.stem:
            ask(other, "same_stem")
        elif siblings(memo.stem, other.stem):
            ask(other, "other_version")
        if other.usable and memo.usable:
            if other.title.casefold() == memo.title.casefold():
                ask(other, "same_title")
            elif _like(words, _words(other.title)):
                ask(other, "like_title")
    closed = [stem for closure in closures(memo, corpus.carriers) for stem in closure.stems]
    for stems, reason in ((closed, "closed_in_words"), (_linked(memo, corpus), "mentioned")):
        for stem in stems:
            for each in corpus.carriers[stem]:
                if each.path != memo.path:
                    ask(each, reason)
    by_path = {each.path: each for each in corpus.memos}
    if memo.supersedes_nothing:
        reasons = {path: why for path, why in reasons.items() if not {*why} <= _LIKE}
    for path in sorted(set(reasons) - settled):
        yield _offer(corpus, memo, by_path[path], tuple(reasons[path]))


def _offer(corpus: Corpus, memo: Memo, other: Memo, reasons: tuple[str, ...]) -> Offer:
    by = {
        edge.memo.path
        for edge in corpus.edges
        if edge.meaning is Meaning.RESOLVED
        and edge.carriers[0].path == other.path
        and edge.memo.path != memo.path
    }
    start, end = other.valid_from, other.valid_to
    return Offer(
        path=other.path,
        stem=other.stem,
        title=other.title,
        reasons=reasons,
        superseded_by=tuple(sorted(by)),
        valid_from=None if start is None else times.shown(start),
        valid_to=None if end == times.POS else times.shown(end),
    )


def _linked(memo: Memo, corpus: Corpus) -> list[str]:
    """The memos that the text names, in brackets or otherwise."""
    if not memo.usable:
        return []
    found: dict[str, None] = {}
    for block in body_of(memo.body).blocks:
        for sentence in block.sentences if not block.comment else ():
            found.update(dict.fromkeys(mentions(sentence.text, corpus.carriers)))
    return list(found)


def _words(title: str) -> frozenset[str]:
    from doxa.projections.words import searched

    return frozenset(searched(title))


def _like(one: frozenset[str], other: frozenset[str]) -> bool:
    both = len(one & other)
    return both >= _WORDS and both >= _SHARED * len(one | other)
