"""Labelled questions: which ones what is recorded answers, and which ones it does not."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from doxa.engine.errors import CallerError
from doxa.engine.fields import check_text

__all__ = ["Case", "read_cases", "split"]

_LABELS: Final = {"answerable": True, "unanswerable": False}
_TOLD: Final = 5  # bad lines that are told of


class Case(NamedTuple):
    """A question, and whether what is recorded answers it."""

    query: str
    answerable: bool


class _BadLine(Exception):
    """Why a line is no labelled question."""


def read_cases(lines: Iterable[str | bytes | Mapping[str, Any]]) -> list[Case]:
    """The questions of lines like ``{"query": "Where does Ada live?", "answerable": true}``, or
    with ``"label": "answerable"`` or ``"unanswerable"`` in its place. Blank lines are passed over.

    A question is one however it is spaced or its characters are composed. Raises `CallerError`,
    which names each bad line by its number and says what is wrong: what is no such object, a
    question that is there twice, one that is labelled both ways. So it does where there is none.
    """
    if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
        raise CallerError(f"{lines!r:.80} holds no lines; give the lines of a file, or a list")
    found: list[Case] = []
    first: dict[str, tuple[int, bool]] = {}  # question → where it came first, and its label
    bad: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            case = _case(line, number)
            if case is None:
                continue
            known, label = first.setdefault(_normal(case.query), (number, case.answerable))
            if label != case.answerable:
                raise _BadLine(f"{case.query!r:.80} is labelled the other way on line {known}")
            if known != number:
                raise _BadLine(f"{case.query!r:.80} is on line {known} already")
            found.append(case)
        except _BadLine as error:
            bad.append(f"line {number}: {error}")
    if bad:
        more = f"; and {len(bad) - _TOLD} more" if len(bad) > _TOLD else ""
        raise CallerError("; ".join(bad[:_TOLD]) + more)
    if not found:
        raise CallerError(
            'there is no labelled question; give lines like {"query": "…", "answerable": true}'
        )
    return found


def _case(line: object, number: int) -> Case | None:
    """The question of one line; ``None`` where the line is blank."""
    fields = line if isinstance(line, Mapping) else _fields(line, number)
    if fields is None:
        return None
    unknown = [key for key in fields if key not in ("query", "answerable", "label")]
    if unknown:
        raise _BadLine(f"{_shown(unknown[0])} is no key of it: they are query, answerable, label")
    query = fields.get("query")
    if not isinstance(query, str) or not query.strip():
        raise _BadLine(f"query is {_shown(query)}; give the question as text")
    try:
        check_text(query)
    except ValueError as error:
        raise _BadLine(f"query {error}") from None
    if ("answerable" in fields) == ("label" in fields):
        raise _BadLine("it needs one of answerable (true or false) and label")
    if "answerable" in fields:
        answerable = fields["answerable"]
        if not isinstance(answerable, bool):
            raise _BadLine(f"answerable is {_shown(answerable)}; give true or false")
        return Case(query, answerable)
    label = fields["label"]
    if not isinstance(label, str) or label not in _LABELS:
        raise _BadLine(f"label is {_shown(label)}; give answerable or unanswerable")
    return Case(query, _LABELS[label])


def _shown(value: object) -> str:
    """A value in few characters; its type, where Python refuses to write it out."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return f"of type {type(value).__name__}"


def _fields(line: object, number: int) -> Mapping[str, Any] | None:
    if isinstance(line, bytes):
        try:
            line = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _BadLine(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    if not isinstance(line, str):
        raise _BadLine(f"{line!r:.80} is no line of text")
    text = line.removeprefix("\ufeff") if number == 1 else line
    if not text.strip():
        return None
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise _BadLine(f"{text.strip()!r:.80} is no object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _BadLine("a key is there twice")
    return fields


def _normal(query: str) -> str:
    return " ".join(unicodedata.normalize("NFC", query).split())


def split(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The cases in two halves, each with questions of both labels: one to fit with, and one that is
    held out. Of an odd number the first half has one more of that label.

    Which half a case is in depends on the questions alone, by their digests, and not on the order
    in which they are given. Raises `CallerError` where a label has fewer than two.
    """
    halves: tuple[list[Case], list[Case]] = [], []
    for label, answerable in _LABELS.items():
        some = sorted((case for case in cases if case.answerable is answerable), key=_digest)
        if len(some) < 2:
            raise CallerError(
                f"there is {len(some) or 'no'} question labelled {label}; give two at least, one "
                "to fit with and one to hold out"
            )
        halves[0].extend(some[::2])
        halves[1].extend(some[1::2])
    return halves


def _digest(case: Case) -> bytes:
    return blake2b(case.query.encode("utf-8", "surrogatepass"), digest_size=16).digest()
