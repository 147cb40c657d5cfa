"""What is wrong with a corpus, or may be: errors in what memos say of themselves and of others, and
warnings where one probably closes another without saying so in its front matter."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from doxa.adapters.markdown.corpus import Corpus, Edge, Meaning, read_corpus
from doxa.adapters.markdown.findings import ERROR, WARNING, Finding, Places, Span
from doxa.adapters.markdown.keys import REVERSED, plain
from doxa.adapters.markdown.memo import Memo
from doxa.adapters.markdown.proofs import Closure, closures
from doxa.adapters.markdown.references import listed
from doxa.adapters.markdown.rings import neighbours, reaches
from doxa.adapters.markdown.versions import families, years

__all__ = ["Lint", "findings_of", "links_of", "lint"]

Progress = Callable[[int, int | None], None]

_NAMED_RULES: Final = {
    Meaning.DANGLING: "dangling-reference",
    Meaning.SELF: "self-reference",
    Meaning.CYCLE: "cycle",
    Meaning.AMBIGUOUS: "ambiguous-reference",
}


@dataclass(frozen=True, slots=True)
class Lint:
    """What was found in a folder: the ``findings`` by path and line, and how many ``memos`` there
    are."""

    folder: str
    memos: int
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self.findings if finding.level == ERROR]

    @property
    def warnings(self) -> list[Finding]:
        """The findings that are warnings."""
        return [finding for finding in self.findings if finding.level == WARNING]

    def sarif(self) -> dict[str, Any]:
        """The findings as a SARIF 2.1.0 log."""
        from doxa.adapters.markdown.sarif import sarif_of

        return sarif_of(self.folder, self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The lint as a JSON object."""
        return {
            "folder": self.folder,
            "memos": self.memos,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def lint(folder: str | os.PathLike[str], *, progress: Progress | None = None) -> Lint:
    """Looks for what is wrong with the memos of a folder; writes nothing.

    Errors: what can't be read, dates that are none, names in ``supersedes`` that dangle, are
    ambiguous, go round or name the memo itself. Warnings: versions that are not linked, and words
    that close a memo without an entry. ``progress(files read, total)`` is called after each file.
    """
    corpus = read_corpus(folder, progress)
    found = tuple(findings_of(corpus))
    return Lint(os.fspath(folder), len(corpus.memos), found)


def findings_of(corpus: Corpus) -> list[Finding]:
    """All findings of a corpus, by path and place."""
    found = [*corpus.findings]
    if not corpus.memos:
        message = "no memos: no file in the folder ends in .md or .markdown"
        found.append(Finding("no-memos", ".", message))
    for memo in corpus.memos:
        found += memo.findings
    found = [*_needed(corpus, found)]
    found += _named(corpus)
    found += _versions(corpus)
    found += _closing(corpus)
    return sorted(found, key=lambda f: (f.path, f.span, f.rule, f.about))


def _needed(corpus: Corpus, found: list[Finding]) -> Iterator[Finding]:
    """Without those about ``superseded_by`` where the other memo says it, too."""
    by: dict[str, set[str]] = defaultdict(set)
    for edge in corpus.edges:
        for each in edge.carriers:
            by[each.path].add(edge.memo.stem)
    memos = {memo.path: memo for memo in corpus.memos}
    for finding in found:
        names: frozenset[str] = frozenset()
        if finding.rule == "misspelt-key" and plain(finding.about) in REVERSED:
            names = memos[finding.path].superseded_by
        if not names or not names <= by[finding.path]:
            yield finding


# ---------------------------------------------------------------- names


def _named(corpus: Corpus) -> Iterator[Finding]:
    hints = _Hints(corpus)
    path, places = "", Places("")
    for edge in corpus.edges:  # those of one memo come together
        if (rule := _NAMED_RULES.get(edge.meaning)) is not None:
            if path != edge.memo.path:
                path, places = edge.memo.path, Places(edge.memo.text)
            span = places.span(edge.reference.start, edge.reference.end)
            yield Finding(rule, path, _message(hints, edge), span, edge.reference.stem)


class _Hints:
    """What a name that dangles may have been meant for."""

    def __init__(self, corpus: Corpus) -> None:
        self.spelled = {stem.casefold(): stem for stem in sorted(corpus.carriers, reverse=True)}
        self.by_id = {memo.key: memo for memo in reversed(corpus.memos) if memo.stated_id}

    def of(self, stem: str) -> str:
        """Words that name it, if there is anything."""
        if (near := self.spelled.get(stem.casefold())) is not None:
            return f"; {near!r:.80} is spelled otherwise"
        if (memo := self.by_id.get(stem)) is not None:
            return f"; it is the id of {memo.path}, and names are stems: {memo.stem!r:.80}"
        return ""


def _message(hints: _Hints, edge: Edge) -> str:
    written, stem = f"{edge.reference.written!r:.80}", edge.reference.stem
    if edge.meaning is Meaning.AMBIGUOUS:
        paths = [memo.path for memo in edge.carriers]
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        return f"{written} may mean any of {shown}; none is chosen"
    if edge.meaning is Meaning.SELF:
        return f"{written} is the memo itself; the entry is ignored"
    if edge.meaning is Meaning.CYCLE:
        return f"{written} and this memo supersede each other in a ring; none of it is resolved"
    if (hint := hints.of(stem)) == "" and (names := listed(edge.reference.written)) is not None:
        hint = f"; if it is several, write a list: {names}"
    return f"{written} names no memo here{hint}"


# ---------------------------------------------------------------- versions


def _versions(corpus: Corpus) -> Iterator[Finding]:
    links = neighbours(links_of(corpus))
    for former, later in [*families(corpus.memos), *years(corpus.memos)]:
        if former.path in links.get(later.path, ()) or later.supersedes_nothing:
            continue
        below = reaches(links, later.path)
        if former.path not in below and later.path not in reaches(links, former.path):
            message = f"{later.stem!r:.80} does not supersede {former.stem!r:.80} ({former.path})"
            yield Finding(
                "unlinked-version", later.path, message, Places(later.text).lines(1, 1), former.path
            )


def links_of(corpus: Corpus) -> list[tuple[str, str]]:
    """Who names whom, whatever it comes to."""
    return [(edge.memo.path, each.path) for edge in corpus.edges for each in edge.carriers]


# ---------------------------------------------------------------- words


def _closing(corpus: Corpus) -> Iterator[Finding]:
    linked: dict[str, set[str]] = defaultdict(set)
    for edge in corpus.edges:
        for each in edge.carriers:
            linked[edge.memo.path].add(each.stem)
            linked[each.path].add(edge.memo.stem)
        linked[edge.memo.path].add(edge.reference.stem)
    for memo in corpus.memos:
        if not memo.usable:
            continue
        seen: Counter[str] = Counter()
        for closure in closures(memo, corpus.carriers):
            message = _unlinked(closure, linked[memo.path])
            if message is not None:
                about = f"{closure.sentence.text[:200]}\0{seen[closure.sentence.text]}"
                seen[closure.sentence.text] += 1
                yield Finding("closure-words", memo.path, message, _span(memo, closure), about)


def _unlinked(closure: Closure, linked: set[str]) -> str | None:
    """What a sentence says that no entry says, if anything."""
    text = f"{closure.sentence.shown!r:.120}"
    missing = [stem for stem in closure.stems if stem not in linked]
    if missing:
        names = ", ".join(f"{stem!r:.80}" for stem in missing)
        return f"{text} names {names}, and no entry in supersedes links them"
    if not closure.stems and not linked and closure.voice:
        return f"{text} closes something, and no entry in supersedes says what"
    return None


def _span(memo: Memo, closure: Closure) -> Span:
    places = Places(memo.text)
    first = places.at(memo.front.body if memo.front is not None else 0)[0]
    return places.lines(first + closure.sentence.line, first + closure.sentence.end_line)
