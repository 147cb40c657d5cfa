"""The sentences of a memo's body, as a Markdown parser sees it: code, comments and raw HTML are no
words of it, and what is quoted is somebody else's."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from doxa.adapters.extras import missing
from doxa.adapters.markdown.words import OPAQUE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Block", "Body", "Sentence", "body_of"]

# Marks of other dialects, between which words may be no words of the memo.
_OTHER_MARKS: Final = re.compile(r"%%|\{%|\{\{|~~|^[ \t]*(?::::|\+\+\+)", re.MULTILINE)
_COMMENT: Final = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_END: Final = re.compile(r"(?<=[.!?])\s+")
_WIKI: Final = re.compile(r"\[\[[^\[\]]+\]\]")
_MARK: Final = re.compile(r"[!*<\[_`]")
# What is looked into: the parser's time grows with the square of a paragraph's marks.
_LONG: Final = 20_000  # characters of a paragraph
_MARKS: Final = 2_000  # marks of a paragraph
_ALL_MARKS: Final = 20_000  # marks of a memo


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
    """One paragraph, heading or comment: its sentences, and the headings above it. ``plain`` is a
    paragraph that stands in nothing else; ``quoted`` one in a block quote; ``level`` a heading's.
    """

    text: str
    sentences: tuple[Sentence, ...]
    headings: tuple[str, ...]
    plain: bool = False
    quoted: bool = False
    level: int = 0
    comment: bool = False


@dataclass(slots=True)
class Body:
    """The blocks of a body in order; ``foreign`` where it has marks or HTML that this parser can't
    see through, or more of them than are looked into."""

    blocks: list[Block] = field(default_factory=list)
    foreign: bool = False


def body_of(text: str) -> Body:
    """The sentences of a body. O(characters): what would take longer is left unread."""
    return _Reading(text).body()


class _Reading:
    def __init__(self, text: str) -> None:
        self.parser = _parser()
        self.env: dict[str, object] = {}  # where links lead
        self.tokens = self.parser.parse(text, self.env)
        self.found = Body(foreign=_OTHER_MARKS.search(text) is not None)
        self.headings: list[tuple[int, str]] = []
        self.within: list[str] = []  # what is open
        self.left = _ALL_MARKS

    def body(self) -> Body:
        """The blocks, in order."""
        tag = ""  # of what was opened last
        for token in self.tokens:
            if token.type == "html_block":
                self._html(token)
            elif token.nesting == 1:
                self.within.append(token.type)
                tag = token.tag
            elif token.nesting == -1:
                self.within.pop()
            elif token.type in ("fence", "code_block", "hr"):
                # No words, but something between those around it.
                self.found.blocks.append(Block("", (), self._above()))
            elif token.type == "inline":
                level = int(tag[1:]) if self.within[-1] == "heading_open" else 0
                self._block(token, level)
        return self.found

    def _above(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.headings)

    def _html(self, token: Token) -> None:
        if not _COMMENT.fullmatch(token.content):
            self.found.foreign = True
            return
        said = " ".join(re.sub(r"<!--|-->", " ", token.content).split())
        sentences = (Sentence(said, *token.map),) if said and token.map is not None else ()
        self.found.blocks.append(Block(said, sentences, self._above(), comment=True))

    def _block(self, token: Token, level: int) -> None:
        text, breaks, links = _words(self._children(token))
        if level:
            self.headings = [each for each in self.headings if each[0] < level]
        quoted = "blockquote_open" in self.within
        first = token.map[0] if token.map is not None else 0
        self.found.blocks.append(
            Block(
                text,
                tuple(_sentences(text, breaks, links, first)),
                self._above(),
                plain=self.within == ["paragraph_open"],
                quoted=quoted,
                level=level,
            )
        )
        if level and not quoted:
            self.headings.append((level, text))

    def _children(self, token: Token) -> list[Token]:
        """What a paragraph is made of; nothing, where it is too much."""
        marks = len(_MARK.findall(token.content))
        if len(token.content) > _LONG or marks > min(_MARKS, self.left):
            self.found.foreign = True
            return []
        self.left -= marks
        children: list[Token] = []
        self.parser.inline.parse(token.content, self.parser, self.env, children)
        return children


def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        needs, besides = "reading the text of memos", "nothing was read or written"
        raise missing("markdown-it-py", "markdown", needs, besides) from None
    parser = MarkdownIt("commonmark")
    # Paragraphs are parsed one by one, and escapes can be told from what they stand for.
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


def _words(children: Sequence[Token]) -> tuple[str, list[int], list[tuple[int, int]]]:
    """The text of a block in one line, where the lines of its source ended, and its links."""
    parts: list[str] = []
    breaks: list[int] = []
    length = 0
    links: list[tuple[int, int]] = []
    open_: list[tuple[int, str]] = []
    for child in children:
        if child.type == "text":
            piece = child.content
        elif child.type in ("softbreak", "hardbreak"):
            breaks.append(length)
            piece = " "
        elif child.type == "link_open":
            title = child.attrGet("title")
            said = f" {title!r}" if title else ""
            open_.append((length, f"]({child.attrGet('href')}{said})"))
            piece = "["
        elif child.type == "link_close":
            start, piece = open_.pop()
            links.append((start, length + len(piece)))
        elif child.type in ("em_open", "em_close", "strong_open", "strong_close"):
            piece = ""
        else:
            piece = OPAQUE
        parts.append(piece)
        length += len(piece)
    return "".join(parts), breaks, links


def _sentences(
    text: str, breaks: Sequence[int], links: Sequence[tuple[int, int]], first: int
) -> Iterator[Sentence]:
    """The sentences of a block; none ends within a link, as in ``[9. The new plan](plan.md)``."""
    start = 0
    links = sorted([*links, *(found.span() for found in _WIKI.finditer(text))])
    begins = [begin for begin, _ in links]
    ends = [(found.start(), found.end()) for found in _END.finditer(text)]
    for end, after in [*ends, (len(text), len(text))]:
        link = bisect_left(begins, end) - 1
        if link >= 0 and end < links[link][1]:
            continue
        said = text[start:end]
        if said.strip():
            begin = start + len(said) - len(said.lstrip())
            line, end_line = bisect_left(breaks, begin + 1), bisect_left(breaks, end)
            yield Sentence(said.strip(), first + line, first + end_line)
        start = after
