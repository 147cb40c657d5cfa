"""What was extracted from a source's content: claims as mappings, checked, by section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidEvent
from doxa.engine.parse import parse
from doxa.projections.told import Statement, located, section_of, statement

__all__ = ["UNNAMED", "Content", "Extracted", "Line", "digest_of", "extracted"]

_OWN: Final = frozenset(("section", "quote"))  # keys that a claim line of an import has not
_NOT_OURS: Final = ("because", "recorded_at", "stated_at")
UNNAMED: Final = "(new)"  # stands for the id of a claim that has none yet


class Content(NamedTuple):
    """The digests of what a source holds now: of the ``whole``, or of the ``sections`` by name."""

    whole: str | None
    sections: Mapping[str, str]

    def of(self, section: str) -> str | None:
        """The digest that belongs to a claim of a section; ``None`` for one that is not given."""
        return self.sections.get(section) if self.whole is None else self.whole


class Line(NamedTuple):
    """One extracted claim; ``named`` where it brings its own id."""

    section: str
    statement: Statement
    claim: ev.Claim
    named: bool


Extracted = dict[str, dict[Statement, Line]]


def digest_of(content: str | bytes, what: str = "content") -> str:
    """The digest of some content: SHA-256, of a text's UTF-8.

    >>> digest_of("") == digest_of(b"")
    True
    """
    if isinstance(content, str):
        try:
            content = content.encode()
        except UnicodeEncodeError as error:
            raise CallerError(f"{what} holds half of a surrogate pair at {error.start}") from None
    if not isinstance(content, bytes | bytearray | memoryview):
        raise CallerError(f"{what} is {content!r:.80}; give text or bytes")
    return f"sha256:{sha256(content).hexdigest()}"


def extracted(
    claims: Iterable[Mapping[str, Any]], source: ev.SourceRef, workspace: str, content: Content
) -> Extracted:
    """The claims by section, each statement once in one. Raises `InvalidEvent`, or `InvalidTime`,
    which names the claim by its number."""
    if isinstance(claims, str | bytes | Mapping) or not isinstance(claims, Iterable):
        raise CallerError(f"lines is {claims!r:.80}; give a list of claims")
    found: Extracted = {}
    ids: dict[str, int] = {}
    for number, fields in enumerate(claims, 1):
        try:
            line = _line(fields, source, workspace, content)
        except CallerError as error:
            raise type(error)(f"claim {number}: {error}") from None
        if line.named:
            first = ids.setdefault(line.claim.id, number)
            if first != number:
                raise InvalidEvent(
                    f"claim {number}: the id {line.claim.id!r} is that of claim {first}; give each "
                    "its own, or none"
                )
        found.setdefault(line.section, {}).setdefault(line.statement, line)
    return found


def _line(fields: object, source: ev.SourceRef, workspace: str, content: Content) -> Line:
    if not isinstance(fields, Mapping):
        raise InvalidEvent(f"{fields!r:.80} is no claim; give mappings in the exchange form")
    for name in _NOT_OURS:
        if fields.get(name):
            raise InvalidEvent(f"has {name}, which a claim that is extracted from a source has not")
    if fields.get("event", "claim") != "claim":
        raise InvalidEvent(f"is of the type {fields['event']!r:.80}; only claims are extracted")
    if fields.get("workspace", workspace) != workspace:
        raise InvalidEvent(
            f"is of the workspace {fields['workspace']!r:.80}; {workspace!r} is refreshed"
        )
    section, place, quote = _placed(fields, source.id)
    digest = content.of(section)
    if digest is None:
        given = ", ".join(repr(name)[:80] for name in content.sections)
        raise InvalidEvent(
            f"is of the section {section!r:.80}, whose content is not given; those that are: "
            f"{given or 'none'}"
        )
    id = fields.get("id")
    rest = {name: value for name, value in fields.items() if name not in _OWN}
    named = {"event": "claim", "id": UNNAMED if id is None else id, "workspace": workspace}
    ref = _source_at(source, locator=place, quote=quote, digest=digest)
    claim = parse({**rest, **named, "source": ref})
    assert isinstance(claim, ev.Claim), claim
    return Line(section, statement(claim), claim, id is not None)


def _source_at(source: ev.SourceRef, **place: object) -> dict[str, object]:
    """The fields of a source, at one place in it."""
    fields: dict[str, object] = {"id": source.id, "origin": source.origin, **place}
    if source.observed_at is not None:
        fields["observed_at"] = times.moment(source.observed_at)
    return fields


def _placed(fields: Mapping[Any, Any], source: str) -> tuple[str, object, object]:
    """The section of a claim, the locator, and the quote."""
    named = fields.get("source")
    details = {"id": named} if isinstance(named, str) or named is None else named
    if not isinstance(details, Mapping) or details.get("id") not in (None, source):
        raise InvalidEvent(f"is from the source {named!r:.80}; {source!r} is refreshed")
    if unknown := set(details) - {"id", "locator", "quote"}:
        raise InvalidEvent(
            f"its source has {min(map(str, unknown))!r:.80}, which is said of the source once, in "
            "the call"
        )
    locator, section = details.get("locator"), fields.get("section")
    if section is None:
        section = section_of(source, locator if isinstance(locator, str) else None)
    elif not isinstance(section, str):
        raise InvalidEvent(f"section is {section!r:.80}; give text")
    elif locator is not None:
        raise InvalidEvent("has both section and locator, which is made of the section; give one")
    place = located(source, section) if section else locator
    return section, place, fields.get("quote", details.get("quote"))
