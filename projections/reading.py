"""The documents of stored rows, without making events of them where that is not needed.

Most rows are plain claims and supports: what is searched of them is read from their JSON. Whatever
is out of the ordinary is decoded; the documents are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from doxa.engine import codec
from doxa.engine.documents import Document, documents, spoken
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT
from doxa.engine.log import Row
from doxa.engine.pages import parsed

__all__ = ["Read", "read"]

_PART: Final = 100  # texts that are parsed at once
_PLAIN: Final = b'{"v":%d,' % codec.VERSION  # how a head begins that is of this version


class Read(NamedTuple):
    """One document: the position of its event, the name of its workspace, and what it says."""

    position: int
    workspace: str
    document: Document


def read(rows: Sequence[Row]) -> list[Read]:
    """The documents of stored events in log order; of what was erased, none.

    Raises `DamageError` and `NewerFormat` as decoding the events does.
    """
    chosen = [row for row in rows if row.data is not None and _may_say(row.type, row.data)]
    found: list[Read] = []
    for start in range(0, len(chosen), _PART):
        part = chosen[start : start + _PART]
        for row, content in zip(part, _parsed(part), strict=True):
            some = _plainly(row, content)
            if some is None:
                event = codec.decode(row.type, row.head, row.data)
                some = [Read(row.position, event.workspace, one) for one in documents(event)]
            found += some
    return found


def _may_say(kind: str, data: bytes) -> bool:
    """Whether an event may have documents; of supports, those with a quote have one."""
    return kind in _DOCUMENTS and (kind != "support" or b'"quote"' in data)


def _parsed(rows: Sequence[Row]) -> Sequence[Any]:
    """The contents of rows; ``None`` for what can't be read here."""
    try:
        return parsed([row.data for row in rows])
    except ValueError:
        return [None] * len(rows)


def _plainly(row: Row, content: Any) -> list[Read] | None:
    """The documents of a row of this version; ``None`` where it has to be decoded."""
    position, _, kind, head, _, _ = row
    if type(content) is not dict or not head.startswith(_PLAIN):
        return None
    try:
        place = parsed([head])[0].get("workspace", "") if b'"workspace"' in head else ""
        return [Read(position, place, one) for one in _DOCUMENTS[kind](content)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _of_claim(content: dict[str, Any]) -> Iterator[Document]:
    text, subject, triggers = content.get("text"), content["subject"], content.get("recall_when")
    triggers = () if triggers is None else tuple(triggers)
    if text is not None and text.strip():
        yield Document(CLAIM, text, f"{subject} {text}", triggers)
    else:
        said = spoken(subject, content["predicate"], content["object"])
        yield Document(CLAIM, said, said, triggers)
    yield from _of_support(content)


def _of_support(content: dict[str, Any]) -> Iterator[Document]:
    if "source" in content:
        quote = content["source"].get("quote")
        if quote is not None and quote.strip():
            yield Document(SUPPORT, quote, quote)


def _of_summary(content: dict[str, Any]) -> Iterator[Document]:
    yield Document(ARTEFACT, content["text"], content["text"])


_DOCUMENTS: Final = {"claim": _of_claim, "support": _of_support, "summary": _of_summary}
