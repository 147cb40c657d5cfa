"""What is found in a corpus: the rules, and what each finding says, where."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

__all__ = ["ERROR", "RULES", "WARNING", "Finding", "Places", "Rule", "Span", "shown_path"]

# What a terminal, or whoever reads lines, would obey.
_STEERING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
ERROR: Final = "error"
WARNING: Final = "warning"


class Rule(NamedTuple):
    """One rule: what it finds, what to do about it; ``blocks`` where the memo can't be imported."""

    level: str
    what: str
    help: str
    blocks: bool = False


RULES: Final[dict[str, Rule]] = {
    "unreadable-file": Rule(
        ERROR, "A file can't be read as UTF-8 text.", "Save it as UTF-8, or remove it.", True
    ),
    "too-large": Rule(ERROR, "A memo is too large.", "Split it; a memo has up to 1 MiB.", True),
    "unusable-name": Rule(
        ERROR,
        "A path can't name a memo.",
        "Rename the file: one line of plain text, of up to 700 characters.",
        True,
    ),
    "malformed-front-matter": Rule(
        ERROR, "Front matter can't be read.", "Write plain YAML: key: value, each key once.", True
    ),
    "malformed-date": Rule(
        ERROR, "A date is none.", "Write a day, as 2024-06-01, without a time.", True
    ),
    "inverted-dates": Rule(
        ERROR, "valid_until lies before valid_from.", "Both are inclusive days.", True
    ),
    "malformed-id": Rule(ERROR, "An id is no name.", "Write one line of plain text.", True),
    "duplicate-id": Rule(
        ERROR, "Several files have the same id.", "Give each memo an id of its own.", True
    ),
    "malformed-title": Rule(ERROR, "A title is no text.", "Write one text.", True),
    "malformed-source": Rule(
        ERROR,
        "A source can't be read.",
        "Write its name, or a mapping with id, locator, quote, digest, origin, observed_at.",
        True,
    ),
    "malformed-reference": Rule(
        ERROR,
        "supersedes has an entry that names no memo as a whole.",
        "Write one name an entry: name, name.md, [name] or [[name]].",
    ),
    "dangling-reference": Rule(
        ERROR, "supersedes names a memo that is not there.", "Mend the name, or add the memo."
    ),
    "self-reference": Rule(
        ERROR, "A memo supersedes itself, which is ignored.", "Remove the entry."
    ),
    "cycle": Rule(
        ERROR,
        "Memos supersede each other in a ring; none of it is resolved.",
        "Remove the entry that is wrong.",
    ),
    "ambiguous-reference": Rule(
        ERROR,
        "supersedes names a stem that several files have; none is chosen.",
        "Rename all of them but one.",
    ),
    "unlinked-version": Rule(
        WARNING,
        "A later version does not supersede the one before it.",
        "Say that it supersedes the earlier version, or with supersedes: [] that it does not.",
    ),
    "closure-words": Rule(
        WARNING,
        "Words that close another memo, without an entry in supersedes.",
        "Add the entry, or write otherwise.",
    ),
    "misspelt-key": Rule(
        WARNING, "A key that is not read is nearly one that is.", "Write the key that is read."
    ),
    "unopened-front-matter": Rule(
        WARNING,
        "A block of keys lacks the line --- above it, and is not read.",
        "Put a line --- above it.",
    ),
    "no-memos": Rule(
        WARNING,
        "The folder has no memos.",
        "Give the folder with the memos: files that end in .md or .markdown.",
    ),
    "skipped": Rule(
        WARNING,
        "A link, or something that is no file, is not followed.",
        "Put the file itself into the folder.",
    ),
}


class Span(NamedTuple):
    """A place in a file: lines and columns from 1, the end exclusive, in code points."""

    line: int
    column: int
    end_line: int
    end_column: int


BEGINNING: Final = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``about`` is what it is about besides its rule and file: what stays the same
    while lines move."""

    rule: str
    path: str
    message: str
    span: Span = BEGINNING
    about: str = ""

    @property
    def level(self) -> str:
        """``error`` or ``warning``."""
        return RULES[self.rule].level

    @property
    def blocks(self) -> bool:
        """Whether the memo can't be imported for it."""
        return RULES[self.rule].blocks

    def fingerprint(self, occurrence: int = 0) -> str:
        """What names the finding in one version of the file and the next."""
        said = "\0".join((self.rule, self.path, self.about, str(occurrence)))
        return sha256(said.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {
            "rule": self.rule,
            "level": self.level,
            "path": self.path,
            **self.span._asdict(),
            "message": self.message,
        }

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.span.line}:{self.span.column}: {self.level}: {self.message} "
            f"[{self.rule}]"
        )


class Places:
    """Lines and columns of a text. A line ends as Markdown says: CRLF, LF or CR."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def at(self, index: int) -> tuple[int, int]:
        """The line and column of a place; a byte order mark takes no column."""
        line = bisect_right(self.starts, index)
        mark = 1 if line == 1 and self.text.startswith("\ufeff") and index else 0
        return line, index - self.starts[line - 1] + 1 - mark

    def lines(self, first: int, last: int) -> Span:
        """Whole lines, from one to another; lines that are not there are left out."""
        first, last = min(first, len(self.starts)), min(last, len(self.starts))
        end = self.starts[last] if last < len(self.starts) else len(self.text)
        said = self.text[self.starts[last - 1] : end].rstrip("\r\n")
        return Span(first, 1, last, self.at(self.starts[last - 1] + len(said))[1])

    def span(self, start: int, end: int) -> Span:
        """From one place to another."""
        return Span(*self.at(start), *self.at(max(start, end)))


def shown_path(path: str) -> str:
    """A path as it can be printed and stored: bytes that are no UTF-8, controls and direction
    marks are written out.

    >>> shown_path("a\\udcff.md"), shown_path("a\\nb.md")
    ('a\\\\xff.md', 'a\\\\u000ab.md')
    """
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
