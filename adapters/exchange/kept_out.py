"""Lines that are not imported because they say a rejected value: of them nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import PydanticCustomError

from doxa.adapters.exchange.lines import Line, fields_of, shown
from doxa.adapters.exchange.set_aside import identify, register_of
from doxa.engine import events as ev
from doxa.engine.blocking import Blocking
from doxa.engine.errors import CallerError, DoxaError, ValueRejected
from doxa.engine.fields import check_name
from doxa.engine.gate import Gate, in_force
from doxa.engine.rejecting import checked, texts_in
from doxa.engine.salvage import falls_with, named

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["KeptOut", "fallen", "forget", "unreadable"]


@dataclass(frozen=True, slots=True)
class KeptOut:
    """A line that was kept out: its number, the workspace and id of its event as far as they can
    be read, the ids of the rejections, and why. What it said is kept nowhere."""

    line: int
    workspace: str
    id: str | None
    rejections: tuple[str, ...]
    reason: str
    code: str = ValueRejected.code

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def unreadable(
    ledger: Ledger,
    line: Line,
    fields: Mapping[str, Any],
    event: ev.Event | None,
    workspace: str | None,
    at: int | None,
) -> tuple[ValueRejected, Sequence[Blocking]] | None:
    """The refusal of a line that can't be accepted for another reason and says a rejected value,
    with what tells of it in the log; ``None`` where it says none.

    ``fields`` is empty where no object can be read from the line; then each text in quotation marks
    on it is compared. ``workspace`` is that of lines which name none, ``at`` when the line says
    that it was recorded.
    """
    stream = ledger._stream
    belief = stream.capture()[0].belief
    keyed = stream.store.keyed_if_made() if belief.graph.rejections else None
    if keyed is None:
        return None
    gate = Gate(belief, keyed, stream.payload)
    found = _of_event(event) if event is not None else _of_line(line, fields, workspace)
    if found is None:
        return None
    place, id, predicate, said = found
    when = stream.store.moment(stream.store.head()) if at is None else at
    rows = [row for row in gate.naming(said, place, predicate) if in_force(belief, row, when)]
    if not rows:
        return None
    known = id if id is not None and _usable(id) else f"line {line.number}"
    audits = []
    for row in rows:
        home = gate.key(row).workspace if place is None else place
        meant = [value for value in said if row in gate.naming((value,), place, predicate)]
        audits.append(gate.blocking(row, home, known, meant))
    return gate.refusal(rows, place or "", known, audits), audits


def forget(ledger: Ledger) -> None:
    """Takes the lines out of the register that say a rejected value: they would be kept out."""
    register = register_of(ledger)
    gone = []
    for kept in register:
        line = Line(kept.line, kept.text)
        try:
            fields = fields_of(line)
        except CallerError:
            fields = {}
        if unreadable(ledger, line, fields, None, kept.workspace, None) is not None:
            gone.append(kept)
    register.remove(gone)


def fallen(event: ev.Event, error: DoxaError, without: Mapping[ev.Ref, ValueRejected]) -> DoxaError:
    """Why an event is refused: if it names what was kept out before, that."""
    for role, key in named(event):
        if key in without:
            return falls_with(event, role, without[key])
    return error


_Found = tuple[str | None, str | None, str | None, list[object]]
_SAID: Final = ("object", "text")
_KEYS: Final = frozenset({*ev.Claim.model_fields, "event", "recorded_at", "valid_until"})
_OTHERS: Final = frozenset(ev.CLASSES) - {"claim"}


def _of_event(event: ev.Event) -> _Found | None:
    if not isinstance(event, ev.Claim):
        return None
    said = [event.object] if event.text is None else [event.object, event.text]
    return event.workspace, event.id, event.predicate, said


def _of_line(line: Line, fields: Mapping[str, Any], workspace: str | None) -> _Found | None:
    """What a line says: its workspace, id and predicate, ``None`` where they can't be read, and
    the values that may be an object or a text."""
    if fields:
        if _text(fields.get("event")) in _OTHERS:
            return None
        place, id = fields.get("workspace", workspace or ""), fields.get("id")
        if not _KEYS.issuperset(fields):  # one of them may be the workspace
            place = None
        predicate = fields.get("predicate")
        return _text(place), _text(id), _text(predicate), list(_values(fields))
    text = shown(line.raw)
    said = texts_in(text)
    kinds = set(said) & set(ev.CLASSES)
    if kinds and "claim" not in kinds:
        return None
    _, id = identify(text)
    return None, id, None, list(said)


def _values(fields: Mapping[str, Any]) -> Iterator[object]:
    """What is or, under a key that no claim has, may have been meant as the object or text."""
    for name, value in fields.items():
        if (name in _SAID or name not in _KEYS) and not (name == "text" and value is None):
            try:
                yield checked(value)
            except CallerError:  # no value that could be rejected
                continue


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usable(id: str) -> bool:
    try:
        return bool(check_name(id))
    except PydanticCustomError:
        return False
