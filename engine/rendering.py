"""The form of a block: what is doxa's own and what was given can never be taken for each other.

Every line of a text that somebody gave (a candidate's, a claim's, a citation's) begins with ``>``;
no other line does. A label, a notice, or the number of a citation is on a line without it, so a
text cannot forge one, and a ``[1]`` inside a text is only part of that text.

    contested (1 of 2), from 2024-03-01, observed 2024-03-02 [1]
    > Ada lives in London.

    [1] city register
    > Register, line 7
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from doxa.engine.errors import CallerError

__all__ = [
    "CHARACTERS",
    "RENDERER",
    "Counter",
    "Draft",
    "Sheet",
    "counter_name",
    "measured",
    "named",
    "notice",
    "quoted",
    "source_names",
]

RENDERER: Final = "1"  # raised with every change of a single byte that a block may hold
CHARACTERS: Final = "characters"
BETWEEN: Final = "\n\n"

Counter = Callable[[str], int]

# Line ends but the one that ends lines here, other controls, and marks that turn text round.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PLAIN_NAME = re.compile(r"[\w.:/@#+-]+(?: [\w.:/@#+-]+)*")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _in_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def quoted(text: str) -> str:
    r"""A given text as it stands in a block: each line behind ``>``, hidden controls written out.

    >>> print(quoted("one\n[1] two\x07"))
    > one
    > [1] two\x07
    """
    if not text.isprintable():
        text = _HIDDEN.sub(_escaped, text.replace("\r\n", "\n"))
        if "\n" in text:
            return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
    return f"> {text}"


def named(name: str) -> str:
    """An id or name on a line of doxa's own: as it is where it is plain, else as a JSON string that
    is one line for every reader."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    told = json.dumps(name, ensure_ascii=False)
    return told if told.isprintable() else _HIDDEN.sub(_in_json, told)


def source_names(names: Iterable[str]) -> str:
    """The sources of a citation, for its line."""
    return ", ".join(named(name) for name in names)


def notice(ids: Sequence[str]) -> str:
    """What takes the place of a conflict that does not fit."""
    return f"conflict left out, {len(ids)} sides do not fit: {source_names(ids)}"


# ------------------------------------------------------------ filling the budget


def counter_name(count: Counter | None) -> str:
    """The name of what a budget is counted in: ``characters``, or that of the caller's counter."""
    if count is None:
        return CHARACTERS
    kind = count if hasattr(count, "__qualname__") else type(count)
    module = getattr(kind, "__module__", None) or "builtins"
    return f"{module}.{kind.__qualname__}"


class Draft(NamedTuple):
    """A block that may be printed: what it is of, its label, its text as quoted, and the rows that
    it cites."""

    id: str
    kind: str
    label: str
    text: str
    citations: tuple[int, ...] = ()


class Sheet:
    """The text of a block as it grows: units are put on it while they fit, whole.

    The budget is measured on the whole text that would result, so that it holds whatever the
    counter does with joins. In characters the length is kept beside it, and adds up.
    """

    def __init__(self, budget: int, count: Counter | None, cite: Callable[[int], str]) -> None:
        self.budget, self.count = budget, count
        self._cite = cite
        self.parts: list[str] = []
        self.numbers: dict[int, int] = {}  # citation row → its number, in order of first use
        self._notes: list[str] = []
        self.used = 0

    def clear(self) -> None:
        """Takes everything off again."""
        self.parts, self.numbers, self._notes, self.used = [], {}, [], 0

    def put(self, drafts: Sequence[Draft]) -> bool:
        """Prints the drafts of one unit, if they fit with the citations that they bring."""
        numbers, notes, parts = self.numbers, self._notes, []
        for draft in drafts:
            if not draft.citations:
                parts.append(f"{draft.label}\n{draft.text}")
                continue
            if numbers is self.numbers:
                numbers, notes = dict(numbers), list(notes)
            for row in draft.citations:
                if row not in numbers:
                    numbers[row] = len(numbers) + 1
                    notes.append(f"[{numbers[row]}]{self._cite(row)}")
            marks = "".join(f"[{numbers[row]}]" for row in draft.citations)
            parts.append(f"{draft.label} {marks}\n{draft.text}")
        return self._print(parts, numbers, notes)

    def put_line(self, line: str) -> bool:
        """Prints a line of doxa's own, or whatever else brings no citation, if it fits."""
        if self.count is not None:
            return self._print([line], self.numbers, self._notes)
        used = self.used + len(line) + (len(BETWEEN) if self.parts else 0)
        if used > self.budget:
            return False
        self.parts.append(line)
        self.used = used
        return True

    def _print(self, parts: list[str], numbers: dict[int, int], notes: list[str]) -> bool:
        used = self._measure(parts, notes)
        if used > self.budget:
            return False
        self.parts += parts
        self.numbers, self._notes, self.used = numbers, notes, used
        return True

    def _measure(self, parts: list[str], notes: list[str]) -> int:
        if self.count is not None:
            return measured(self.count, _joined([*self.parts, *parts], notes))
        length = self.used + sum(map(len, parts)) + len(BETWEEN) * len(parts)
        fresh = notes[len(self._notes) :]
        length += sum(map(len, fresh)) + len(fresh)
        if not self.parts:
            length -= len(BETWEEN)
        if notes and not self._notes:
            length += len(BETWEEN) - 1
        return length

    @property
    def text(self) -> str:
        """Everything printed so far."""
        text = _joined(self.parts, self._notes)
        assert self.count is not None or len(text) == self.used, (len(text), self.used)
        return text


def _joined(parts: Sequence[str], notes: Sequence[str]) -> str:
    return BETWEEN.join([*parts, "\n".join(notes)] if notes else parts)


def measured(count: Counter, text: str) -> int:
    """What the caller's counter says of a text. Raises `CallerError` naming it where it fails."""
    try:
        found = count(text)
        if isinstance(found, bool):
            raise TypeError("it returned a bool")
        number = operator.index(found)
    except Exception as error:
        raise CallerError(
            f"the counter {counter_name(count)} failed on a text of {len(text)} characters: "
            f"{type(error).__name__}: {error}; it takes text and returns how many tokens it has"
        ) from error
    if number < 0:
        raise CallerError(
            f"the counter {counter_name(count)} returned {number} for a text of {len(text)} "
            "characters; it returns how many tokens a text has, 0 or more"
        )
    return number
