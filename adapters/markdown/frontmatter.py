"""Front matter: the YAML block that a Markdown file begins with, read as nodes with their places.

It is there where the first line is ``---`` (after a byte order mark, if there is one), and ends at
the next line that is ``---`` or ``...``; a ``---`` anywhere else is a thematic break. Nothing is
constructed from the YAML: values are the texts that were written, and tags make no objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.extras import missing
from doxa.adapters.markdown.references import listed

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

__all__ = [
    "BOM",
    "KEYS",
    "FrontMatter",
    "Malformed",
    "Pair",
    "is_list",
    "is_mapping",
    "is_null",
    "quoted",
    "read",
    "render",
    "unopened",
]

BOM: Final = "\ufeff"
KEYS: Final = ("id", "title", "valid_from", "valid_until", "supersedes", "sources")  # that we read
SIZE: Final = 64 << 10  # characters of front matter
DEPTH: Final = 16  # nested lists and objects
NODES: Final = 10_000  # with every alias counted as what it stands for
ALIASES: Final = 100

_END: Final = r"[ \t]*(?:\r\n|\n|\r|\Z)"
_OPEN: Final = re.compile(rf"---{_END}")
_CLOSE: Final = re.compile(rf"(?:^|(?<=[\n\r]))(?:---|\.\.\.){_END}")
_LINE: Final = re.compile(r"\r\n|\n|\r")
_MISPLACED: Final = re.compile(  # what was meant as front matter, and is none
    rf"[\s\ufeff]*---{_END}(?:[^\n\r]+(?:\r\n|\n|\r)){{0,20}}?({'|'.join(KEYS)})\s*:"
)
_ENTRY: Final = re.compile(r"(?P<key>[^\W\d][\w-]{0,60})[ \t]*:(?:[ \t]+(?P<value>.*))?")
_UNQUOTED: Final = re.compile(r"\A[@`%*&!]|\A\[[^\]]*\]\s*[^\s,\]]|\A[^'\"\[{|>].*:(?:\s|\Z)")
_SHOWN: Final = 60  # characters of a value that is shown as it is to be written
_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "value", "merge")
_TAGS: Final = frozenset(_TAG + name for name in _PLAIN)
# What a double-quoted text holds as it is: what YAML can print on one line, and JSON need not
# escape.
_ESCAPED: Final = re.compile('["\\\\\x00-\x1f\x7f-\xa0\xad\u2028\u2029\ufeff\ufffe\uffff]')


Meant = Callable[[str, str | None], str | None]


class Malformed(Exception):
    """Front matter that can't be read; ``index`` is the place in the text."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


@dataclass(frozen=True, slots=True)
class Pair:
    """A key and its value, with the place of the key; places of nodes count from the YAML's
    start, ``at`` from the text's."""

    key: str
    value: Node
    at: int


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Where the front matter lies in a text: its YAML from ``start`` to ``end``, the body from
    ``body`` on. Where there is none, all three are the place at which the body begins."""

    start: int
    end: int
    body: int
    there: bool
    pairs: Mapping[str, Pair]
    newline: str
    flow: bool = False  # written as {…}, or indented: no line can be added to it


def read(text: str) -> FrontMatter:
    """The front matter of a text. Raises `Malformed`."""
    begin = 1 if text.startswith(BOM) else 0
    found = _LINE.search(text)
    newline = found[0] if found else "\n"
    opened = _OPEN.match(text, begin)
    if opened is None:
        if (misplaced := _MISPLACED.match(text, begin)) is not None:
            raise Malformed(
                "front matter begins on the first line; above it there are blank lines or marks",
                misplaced.start(1),
            )
        return FrontMatter(begin, begin, begin, False, {}, newline)
    closed = _CLOSE.search(text, opened.end())
    if closed is None:
        if (misplaced := _MISPLACED.match(text, begin)) is not None:
            raise Malformed("front matter that is never closed by a line ---", misplaced.start(1))
        return FrontMatter(begin, begin, begin, False, {}, newline)
    start, end = opened.end(), closed.start()
    root = _root(text[start:end], start)
    pairs = _pairs(root, start)
    flow = root is not None and (_flows(root) or root.start_mark.column > 0)
    return FrontMatter(start, end, closed.end(), True, pairs, newline, flow)


def unopened(text: str, front: FrontMatter, meant: Meant) -> int | None:
    """Where a block that was probably meant as front matter ends, if a text begins with one that
    lacks its first line."""
    if front.there:
        return None
    ours, at = False, front.body
    at += len(text[at : at + SIZE]) - len(text[at : at + SIZE].lstrip())
    for line in re.finditer(r"([^\r\n]*)(?:\r\n|\n|\r)", text[at : at + SIZE]):
        if _OPEN.fullmatch(line[1]):
            return at + line.start() if ours else None
        found = _ENTRY.fullmatch(line[1])
        if found is not None and found["key"].islower():
            ours = ours or found["key"] in KEYS or meant(found["key"], found["value"]) is not None
        elif not re.match(r"[ \t]+\S|- |#", line[1]):
            return None
    return None


def _hint(source: str, at: int) -> str:
    """What to do about a line that is not YAML, where that can be told."""
    begin = max(source.rfind("\n", 0, at), source.rfind("\r", 0, at)) + 1
    line = _LINE.split(source[begin : begin + 500], 1)[0]
    found = _ENTRY.fullmatch(line)
    value = (found["value"] or "").partition(" #")[0].strip() if found is not None else ""
    if found is None or not value:
        return ""
    if found["key"] == "supersedes" and (names := listed(value)) is not None:
        return f"; write a list: supersedes: {names}"
    if _UNQUOTED.search(value):
        shown = f": {found['key']}: {quoted(value)}" if len(value) <= _SHOWN else ""
        return f"; quote the value{shown}"
    return ""


def _root(source: str, start: int) -> Node | None:
    if len(source) > SIZE:
        raise Malformed(
            f"front matter of {len(source):,} characters; at most {SIZE:,} are read", start
        )
    yaml, errors = _library()
    try:
        _measure(yaml(typ="safe", pure=True).parse(source), start)
        root: Node | None = yaml(typ="safe", pure=True).compose(source)
    except errors.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = mark.index if mark is not None else getattr(error, "position", 0)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        hint = _hint(source, at)
        raise Malformed(f"front matter that is not YAML: {what}{hint}", start + at) from None
    except (ValueError, OverflowError) as error:  # an escape such as "\UFFFFFFFF"
        raise Malformed(f"front matter that is not YAML: {error}", start) from None
    if root is not None:
        _weigh(root, start)
    return root


def _library() -> tuple[Any, Any]:
    try:
        import ruamel.yaml
        import ruamel.yaml.error
    except ImportError:
        needs, besides = "reading front matter", "nothing was read or written"
        raise missing("ruamel.yaml", "markdown", needs, besides) from None
    return ruamel.yaml.YAML, ruamel.yaml.error


def _measure(events: Iterable[Any], start: int) -> None:
    """Refuses what is nested too deep, or has too many aliases, before anything is made of it."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = aliases = 0
    for event in events:
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        elif isinstance(event, AliasEvent):
            aliases += 1
        if depth > DEPTH:
            raise Malformed(
                f"front matter is nested more than {DEPTH} deep", start + event.start_mark.index
            )
        if aliases > ALIASES:
            raise Malformed(
                f"front matter has more than {ALIASES} aliases", start + event.start_mark.index
            )


def _weigh(root: Node, start: int) -> None:
    """Refuses tags that would make objects, aliases that go round, and more than so many nodes
    once aliases are written out."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(node: Node) -> int:
        key = id(node)
        if key in sizes:
            return sizes[key]
        at = start + node.start_mark.index
        if key in open_:
            raise Malformed("front matter has an alias that stands for itself", at)
        if node.tag not in _TAGS:
            raise Malformed(f"front matter has the tag {node.tag!r:.80}; write plain values", at)
        open_.add(key)
        total = 1 + sum(map(size, _children(node)))
        open_.discard(key)
        if total > NODES:
            raise Malformed(f"front matter has more than {NODES:,} values", at)
        sizes[key] = total
        return total

    size(root)


def _children(node: Node) -> list[Node]:
    if isinstance(node.value, str):
        return []
    return [each for item in node.value for each in (item if isinstance(item, tuple) else (item,))]


def _pairs(root: Node | None, start: int) -> dict[str, Pair]:
    if root is None or is_null(root):
        return {}
    if root.tag != _TAG + "map":
        raise Malformed("front matter is no mapping; write key: value", start)
    found: dict[str, Pair] = {}
    for key, value in root.value:
        at = start + key.start_mark.index
        if not isinstance(key.value, str):
            raise Malformed("front matter has a key that is no text", at)
        if key.tag == _TAG + "merge":
            raise Malformed("front matter has a merge key, <<; write the keys out", at)
        if key.value in found:
            raise Malformed(f"front matter has the key {key.value!r:.80} twice", at)
        found[key.value] = Pair(key.value, value, at)
    return found


def _flows(node: Node) -> bool:
    return bool(getattr(node, "flow_style", False))


def is_null(node: Node) -> bool:
    """Whether a value is left empty, or is written as null."""
    return bool(node.tag == _TAG + "null")


def is_list(node: Node) -> bool:
    """Whether a value is a list, in brackets or in lines."""
    return bool(node.tag == _TAG + "seq")


def is_mapping(node: Node) -> bool:
    """Whether a value is a mapping."""
    return bool(node.tag == _TAG + "map")


def quoted(text: str) -> str:
    """A text as a double-quoted YAML scalar of one line.

    >>> quoted('say "a"')
    '"say \\\\"a\\\\""'
    """
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def render(fields: Mapping[str, str | list[str] | None], newline: str = "\n") -> str:
    """Front matter that says so: each text quoted, each list in one line."""
    lines = ["---"]
    for key, value in fields.items():
        if isinstance(value, list):
            shown = f" [{', '.join(map(quoted, value))}]"
        else:
            shown = "" if value is None else f" {quoted(value)}"
        lines.append(f"{key if key in KEYS else quoted(key)}:{shown}")
    return newline.join([*lines, "---", ""])
