"""One memo: what a Markdown file says about itself in its front matter, and its text."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import PydanticCustomError

from doxa.adapters.markdown import frontmatter
from doxa.adapters.markdown.findings import Finding, Places, shown_path
from doxa.adapters.markdown.frontmatter import FrontMatter, Malformed, Pair
from doxa.adapters.markdown.keys import REVERSED, meant, plain
from doxa.adapters.markdown.references import SUFFIXES, Unreadable, stem_of, target
from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidTime
from doxa.engine.fields import check_name
from doxa.engine.parse import parse

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

__all__ = ["SIZE", "Memo", "Reference", "memo_of", "unread"]

SIZE: Final = 1 << 20  # bytes of a file
NAME: Final = 700  # characters of a memo's name, so that the ids made of it are labels

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HEADING: Final = re.compile(r" {0,3}#[ \t]+(.+?)[ \t]*(?:#+[ \t]*)?$")
_OF_A_SOURCE: Final = ("id", "locator", "quote", "digest", "origin", "observed_at")
_TIMED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T\s].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of ``supersedes``: as written, the stem it names, and its place in the text."""

    written: str
    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Memo:
    """One file as a memo.

    ``key`` names it: its ``id``, or its path without the suffix. ``valid_from`` is ``None`` where
    it is not stated; ``valid_to`` is exclusive. ``said`` is its text for readers, ``digest`` that
    of the file. A memo with a finding that ``blocks`` can't be imported.
    """

    path: str
    stem: str
    key: str
    title: str = ""
    valid_from: int | None = None
    valid_to: int = times.POS
    references: tuple[Reference, ...] = ()
    sources: tuple[dict[str, Any], ...] = ()
    said: str = ""
    digest: str = ""
    stated_id: bool = False
    text: str = ""
    front: FrontMatter | None = field(default=None, compare=False, repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be imported."""
        return not any(finding.blocks for finding in self.findings)

    @property
    def body(self) -> str:
        """The text below the front matter, as it is written."""
        return self.text if self.front is None else self.text[self.front.body :]

    @property
    def supersedes_nothing(self) -> bool:
        """Whether it says so: with an empty list."""
        pair = None if self.front is None else self.front.pairs.get("supersedes")
        return pair is not None and frontmatter.is_list(pair.value) and not pair.value.value

    @property
    def superseded_by(self) -> frozenset[str]:
        """The stems of those that it says have replaced it, in keys that are not read."""
        pairs = () if self.front is None else self.front.pairs.values()
        found = set()
        for pair in pairs:
            for written, _ in _entries(pair.value) if plain(pair.key) in REVERSED else ():
                with contextlib.suppress(Unreadable):
                    found.add(target(written or ""))
        return frozenset(found)

    @property
    def said_digest(self) -> str:
        """The digest of its text for readers."""
        return f"sha256:{sha256(self.said.encode()).hexdigest()}"

    def as_dict(self) -> dict[str, Any]:
        """The memo as a JSON object, without its text."""
        return {
            "path": self.path,
            "stem": self.stem,
            "key": self.key,
            "title": self.title,
            "valid_from": None if self.valid_from is None else times.shown(self.valid_from),
            "valid_to": None if self.valid_to == times.POS else times.shown(self.valid_to),
            "supersedes": [reference.stem for reference in self.references],
        }


def unread(path: str, rule: str, message: str) -> Memo:
    """A file that can't be read as a memo. Its stem counts all the same."""
    path = shown_path(path)
    return Memo(path, stem_of(path), _key_of(path), findings=(Finding(rule, path, message),))


def memo_of(path: str, content: bytes) -> Memo:
    """The memo that a file is; ``path`` is relative to the folder, with ``/``."""
    if len(content) > SIZE:
        return unread(path, "too-large", f"{len(content):,} bytes; a memo has up to {SIZE:,}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: {error.reason} at byte {error.start}"
        return unread(path, "unreadable-file", reason)
    return _Reading(path, content, text).memo()


def _key_of(path: str) -> str:
    for suffix in SUFFIXES:
        if path.lower().endswith(suffix):
            path = path[: -len(suffix)]
            break
    return unicodedata.normalize("NFC", path)


class _Reading:
    def __init__(self, path: str, content: bytes, text: str) -> None:
        self.given, self.path, self.content, self.text = path, shown_path(path), content, text
        self.places = Places(text)
        self.findings: list[Finding] = []
        self.start = 0  # where the YAML begins

    def memo(self) -> Memo:
        """The memo, with what was found."""
        try:
            front = frontmatter.read(self.text)
        except Malformed as error:
            self._find("malformed-front-matter", str(error), error.index, error.index + 1)
            return self._made(None, {})
        self.start = front.start
        if (end := frontmatter.unopened(self.text, front, meant)) is not None:
            message = "front matter without a line --- above it is not read; put one there"
            self._find("unopened-front-matter", message, front.body, end)
        fields: dict[str, Any] = {}
        readers: dict[str, Callable[[Pair], Any]] = {
            "id": self._id,
            "title": self._title,
            "valid_from": self._valid_from,
            "valid_until": self._valid_until,
            "supersedes": self._references,
            "sources": self._sources,
        }
        for name, reader in readers.items():
            pair = front.pairs.get(name)
            if pair is not None and not frontmatter.is_null(pair.value):
                fields[name] = reader(pair)
        self._misspelt(front)
        start, end = fields.get("valid_from"), fields.get("valid_until")
        if start is not None and end is not None and start >= end:
            day = times.shown(end - times.DAY)
            message = f"valid_until {day} lies before valid_from {times.shown(start)}"
            self._found("inverted-dates", message, front.pairs["valid_until"].value)
        return self._made(front, fields)

    def _made(self, front: FrontMatter | None, fields: dict[str, Any]) -> Memo:
        body = self.text[front.body :] if front is not None else self.text
        body = re.sub(r"\r\n|\r", "\n", body).strip("\n")
        heading = _heading(body)
        title = fields.get("title") or heading or fields.get("id") or stem_of(self.path)
        said = body if title == heading or not fields.get("title") else f"{title}\n\n{body}"
        key = fields.get("id") or _key_of(self.path)
        self._check_path()
        until = fields.get("valid_until")
        return Memo(
            path=self.path,
            stem=stem_of(self.path),
            key=key,
            title=title,
            valid_from=fields.get("valid_from"),
            valid_to=times.POS if until is None else until,
            references=tuple(fields.get("supersedes", ())),
            sources=tuple(fields.get("sources", ())),
            said=said.strip() or title,
            digest=f"sha256:{sha256(self.content).hexdigest()}",
            stated_id=bool(fields.get("id")),
            text=self.text,
            front=front,
            findings=tuple(self.findings),
        )

    # -- findings

    def _find(self, rule: str, message: str, start: int, end: int, about: str = "") -> None:
        span = self.places.span(start, min(end, len(self.text)))
        self.findings.append(Finding(rule, self.path, message, span, about))

    def _found(self, rule: str, message: str, node: Node, about: str = "") -> None:
        self._find(rule, message, *self._span(node), about)

    def _span(self, node: Node) -> tuple[int, int]:
        start = self.start + node.start_mark.index
        return start, max(start + 1, self.start + node.end_mark.index)

    def _check_path(self) -> None:
        problem = _unusable(self.path)
        if self.path != self.given:
            problem = "holds bytes that are no UTF-8, controls or direction marks"
        if problem is not None:
            self.findings.append(Finding("unusable-name", self.path, f"the path {problem}"))

    def _misspelt(self, front: FrontMatter) -> None:
        for name, pair in front.pairs.items():
            key = meant(name, self._text(pair.value))
            if key is None or (key in front.pairs and plain(name) not in REVERSED):
                continue
            message = f"the key {name!r:.80} is not read; {key} is"
            if plain(name) in REVERSED:
                message += ", in the memo that supersedes this one"
            self._find("misspelt-key", message, pair.at, pair.at + len(name), name)

    # -- fields

    def _text(self, node: Node) -> str | None:
        return node.value if isinstance(node.value, str) else None

    def _id(self, pair: Pair) -> str | None:
        value = self._text(pair.value)
        id = None if value is None else unicodedata.normalize("NFC", value.strip())
        problem = "is no text" if id is None else _unusable(id)
        if problem is not None:
            self._found("malformed-id", f"the id {problem}", pair.value)
            return None
        return id

    def _title(self, pair: Pair) -> str | None:
        value = self._text(pair.value)
        if value is None:
            self._found("malformed-title", "the title is no text", pair.value)
            return None
        return " ".join(value.split())

    def _day(self, pair: Pair, read: Callable[[object, str], int]) -> int | None:
        value = self._text(pair.value)
        try:
            if value is not None and _DAY.fullmatch(value.strip()):
                return read(value.strip(), pair.key)
        except InvalidTime:
            pass
        shown = "a list or mapping" if value is None else repr(value)[:80]
        what = f"{pair.key} is {shown}, which is no day; write one as 2024-06-01"
        if value is not None and _TIMED.fullmatch(value.strip()):
            what = f"{pair.key} is {shown}; give a day, without a time: {value.strip()[:10]}"
        self._found("malformed-date", what, pair.value, pair.key)
        return None

    def _valid_from(self, pair: Pair) -> int | None:
        return self._day(pair, times.instant)

    def _valid_until(self, pair: Pair) -> int | None:
        return self._day(pair, times.valid_until)

    def _references(self, pair: Pair) -> list[Reference]:
        found: dict[str, Reference] = {}
        for written, node in _entries(pair.value):
            try:
                if written is None:
                    raise Unreadable("supersedes has an entry that is not one name")
                written = written.strip()
                if (problem := _unusable(written)) is not None:
                    raise Unreadable(f"supersedes has an entry that {problem}")
                stem = target(written)
            except Unreadable as error:
                about = written or ""
                self._found("malformed-reference", str(error), node, about)
                continue
            found.setdefault(stem, Reference(written, stem, *self._span(node)))
        return list(found.values())

    def _sources(self, pair: Pair) -> list[dict[str, Any]]:
        nodes = pair.value.value if frontmatter.is_list(pair.value) else [pair.value]
        found: list[dict[str, Any]] = []
        for node in nodes:
            try:
                fields = self._source(node)
                if fields not in found:
                    found.append(fields)
            except CallerError as error:
                self._found("malformed-source", str(error), node)
        return found

    def _source(self, node: Node) -> dict[str, Any]:
        """The fields of one source: of its name, a link to it, or a mapping."""
        if frontmatter.is_mapping(node):
            fields: dict[str, Any] = {}
            for key, value in node.value:
                if key.value not in _OF_A_SOURCE or not isinstance(value.value, str):
                    raise CallerError(
                        f"a source has {key.value!r:.80}; it takes the texts "
                        f"{', '.join(_OF_A_SOURCE)}"
                    )
                if key.value in fields:
                    raise CallerError(f"a source has {key.value} twice")
                if not frontmatter.is_null(value):
                    fields[key.value] = value.value
        else:
            entries = [*_entries(node)]
            if len(entries) != 1 or entries[0][0] is None:
                raise CallerError("a source is not one name; write one name an entry")
            fields = {"id": entries[0][0].strip()}
            if (link := re.fullmatch(r"\[\[([^\[\]]+)\]\]", fields["id"])) is not None:
                fields["id"] = link[1].partition("|")[0].strip()
        claim = {"event": "claim", "id": "-", "subject": "-", "predicate": "-", "object": None}
        parse({**claim, "source": fields})
        return fields


def _entries(node: Node) -> Iterator[tuple[str | None, Node]]:
    """The texts of a scalar, or of a list; ``[[name]]`` without quotes is a list in a list to YAML,
    and one name to whoever wrote it. ``None`` is what is no text."""
    if frontmatter.is_null(node):
        yield None, node
    elif isinstance(node.value, str):
        yield node.value, node
    elif frontmatter.is_list(node):
        for item in node.value:
            yield _entry(item), item
    else:
        yield None, node


def _entry(node: Node) -> str | None:
    if frontmatter.is_null(node):
        return None
    if isinstance(node.value, str):
        return str(node.value)
    while frontmatter.is_list(node) and len(node.value) == 1:
        (node,) = node.value
        if isinstance(node.value, str) and not frontmatter.is_null(node):
            return f"[[{node.value}]]" if not node.value.startswith("[") else str(node.value)
    return None


def _unusable(name: str) -> str | None:
    """What is wrong with the name of a memo."""
    try:
        check_name(name)
    except PydanticCustomError as error:
        return error.message()
    if len(name) > NAME:
        return f"has {len(name)} characters; a memo's name has at most {NAME}"
    return None


def _heading(body: str) -> str | None:
    """The heading that a body begins with."""
    found = _HEADING.match(body.lstrip("\n").partition("\n")[0])
    return found[1] if found else None
