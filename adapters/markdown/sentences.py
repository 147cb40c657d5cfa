"""The sentences of a memo's body, as a Markdown parser sees it: code, comments and raw HTML are no
words of it, and what is quoted is somebody else's."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.markdown.words import OPAQUE
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["Block", "Body", "Sentence", "body_of"]

# Marks of other dialects, between which words may be no words of the memo.
_OTHER_MARKS: Final = re.compile(r"%%|\{%|\{\{|~~|^[ \t]*(?::::|\+\+\+)", re.MULTILINE)
_COMMENT: Final = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_END: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, with the lines of the body that it stands in, from 0. Links are written out,
    emphasis is dropped, and what can't be read stands as one opaque mark."""

    text: str
    line: int
    end_line: int

    @property
    def shown(self) -> str:
        """The sentence for people: what can't be read is left out."""
        return self.text.replace(OPAQUE, "…")


@dataclass(slots=True)
class Block:
    """One paragraph or heading: its sentences, and the headings above it. ``plain`` is a paragraph
    that stands in nothing else; ``quoted`` one in a block quote."""

    text: str
    sentences: tuple[Sentence, ...]
    headings: tuple[str, ...]
    plain: bool
    quoted: bool


@dataclass(slots=True)
class Body:
    """The blocks of a body in order; ``foreign`` where it has marks or HTML that this parser can't
    see through."""

    blocks: list[Block] = field(default_factory=list)
    foreign: bool = False


def body_of(text: str) -> Body:
    """The sentences of a body."""
    tokens = _parsed(text)
    found = Body(foreign=_OTHER_MARKS.search(text) is not None)
    headings: list[tuple[int, str]] = []
    within: list[str] = []  # what is open
    tag = ""  # of what was opened last
    for token in tokens:
        if token.type == "html_block" and not _COMMENT.fullmatch(token.content):
            found.foreign = True
        elif token.nesting == 1:
            within.append(token.type)
            tag = token.tag
        elif token.nesting == -1:
            within.pop()
        elif token.type in ("fence", "code_block", "hr"):
            found.blocks.append(_other(headings))
        elif token.type == "inline":
            heading = within[-1] == "heading_open"
            level = int(tag[1:]) if heading else 0
            if heading:
                headings = [each for each in headings if each[0] < level]
            block = _block(token, headings, within)
            found.blocks.append(block)
            if heading and not block.quoted:
                headings = [*headings, (level, block.text)]
    return found


def _parsed(text: str) -> Sequence[Token]:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise CallerError(
            "markdown-it-py is not installed, which reading the text of memos needs: pip install "
            "'doxa[markdown]'; nothing was read or written"
        ) from None
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("text_join")  # so that escapes can be told from what they stand for
    return parser.parse(text)


def _other(headings: Sequence[tuple[int, str]]) -> Block:
    """Stands for code or a break: no words, but something between those around it."""
    return Block("", (), tuple(text for _, text in headings), False, False)


def _block(token: Token, headings: Sequence[tuple[int, str]], within: Sequence[str]) -> Block:
    text, breaks = _words(token.children or [])
    first = token.map[0] if token.map is not None else 0
    return Block(
        text,
        tuple(_sentences(text, breaks, first)),
        tuple(heading for _, heading in headings),
        plain=[*within] == ["paragraph_open"],
        quoted="blockquote_open" in within,
    )


def _words(children: Sequence[Token]) -> tuple[str, list[int]]:
    """The text of a block in one line, and where the lines of its source ended."""
    parts: list[str] = []
    breaks: list[int] = []
    length = 0
    links: list[Any] = []
    for child in children:
        if child.type == "text":
            piece = child.content
        elif child.type in ("softbreak", "hardbreak"):
            breaks.append(length)
            piece = " "
        elif child.type == "link_open":
            links.append(child.attrGet("href"))
            piece = "["
        elif child.type == "link_close":
            piece = f"]({links.pop()})"
        elif child.type in ("em_open", "em_close", "strong_open", "strong_close"):
            piece = ""
        else:
            piece = OPAQUE
        parts.append(piece)
        length += len(piece)
    return "".join(parts), breaks


def _sentences(text: str, breaks: Sequence[int], first: int) -> Iterator[Sentence]:
    start = 0
    ends = [(found.start(), found.end()) for found in _END.finditer(text)]
    for end, after in [*ends, (len(text), len(text))]:
        said = text[start:end]
        if said.strip():
            begin = start + len(said) - len(said.lstrip())
            line, end_line = bisect_left(breaks, begin + 1), bisect_left(breaks, end)
            yield Sentence(said.strip(), first + line, first + end_line)
        start = after
