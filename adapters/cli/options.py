"""The arguments that commands share, and what their texts mean."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer

import doxa
from doxa.adapters.cli.output import progress
from doxa.adapters.exchange.lines import Lines, fields_of
from doxa.arguments import UNSET, Unset
from doxa.engine.bounded import in_short
from doxa.engine.errors import CallerError, DoxaError
from doxa.ledger import Ledger
from doxa.views import TruthView

T = TypeVar("T")
NONE = "none"  # what is given for an open bound
_TIME = "ISO text, such as 2024-03-01 or 2024-03-01T09:00:00Z"

Path = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger's folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

# ---------------------------------------------------------------- views

ValidAt = Annotated[
    str, typer.Option(help=f"When it applied in the world: {_TIME}, or now.", metavar="TIME")
]
MaybeValidAt = Annotated[
    str | None, typer.Option(help=f"When it applied in the world: {_TIME}, or now.", metavar="TIME")
]
KnownAt = Annotated[
    str | None,
    typer.Option(
        help="What had been recorded by then: a time, or a revision. Left out: the newest.",
        metavar="TIME|REVISION",
    ),
]
OtherValidAt = Annotated[
    str | None,
    typer.Option(help="valid_at of the other view; left out, the view's.", metavar="TIME"),
]
OtherKnownAt = Annotated[
    str | None,
    typer.Option(help="known_at of the other view; left out, the view's.", metavar="TIME|REVISION"),
]
Workspace = Annotated[str, typer.Option(help="The workspace; left out, the shared one.")]
Perspective = Annotated[
    str | None, typer.Option(help="One perspective's claims only; left out, all.")
]
Shared = Annotated[bool, typer.Option(help="See the shared workspace as well.")]

# ---------------------------------------------------------------- events

Id = Annotated[str | None, typer.Option(help="The event's id; left out, one is made.")]
RecordedAt = Annotated[
    str | None,
    typer.Option(
        help=f"When it became known: {_TIME}, later than all before. Left out: now.", metavar="TIME"
    ),
]
ValidFrom = Annotated[
    str | None,
    typer.Option(help=f"From when on it applies: {_TIME}, or none: open.", metavar="TIME|none"),
]
ValidTo = Annotated[
    str | None,
    typer.Option(help="Until when it applies, exclusive; none: open.", metavar="TIME|none"),
]
ValidUntil = Annotated[
    str | None,
    typer.Option(help="The last day on which it applies, inclusive.", metavar="DAY"),
]
Source = Annotated[
    str | None,
    typer.Option(
        help="The source's id, or a JSON object with id, locator, quote, digest, origin, "
        "observed_at.",
        metavar="ID|JSON",
    ),
]
Because = Annotated[
    list[str] | None,
    typer.Option(
        help='A claim that it rests on; may be repeated. {"workspace":"","id":…} names a shared '
        "one.",
        metavar="ID|JSON",
    ),
]
Ids = Annotated[list[str] | None, typer.Option(help="An id; may be repeated.", metavar="ID|JSON")]
Names = Annotated[list[str] | None, typer.Option(help="May be repeated.", metavar="ID")]
Text = Annotated[str | None, typer.Option(help="The claim in words.")]
Reason = Annotated[str | None, typer.Option(help="Why.")]
Override = Annotated[
    str | None,
    typer.Option(
        help="Why it is recorded though its value is rejected; a JSON object may name the author, "
        "too.",
        metavar="REASON|JSON",
    ),
]
ExpectedRevision = Annotated[
    int | None, typer.Option(help="Refuse, with exit 3, if a workspace has moved past it.")
]
Assumed = Annotated[
    str | None, typer.Option(help="What was assumed where the source states no valid time.")
]
RecallWhen = Annotated[
    list[str] | None,
    typer.Option(help="A phrase at which it is to be recalled; may be repeated.", metavar="PHRASE"),
]
Binding = Annotated[
    str, typer.Option(help="dependencies, or snapshot: bound to a fingerprint too.")
]
Selection = Annotated[
    list[str] | None,
    typer.Option(help="A subject of the snapshot; may be repeated. Left out: the workspace."),
]
Count = Annotated[
    str | None,
    typer.Option(
        help="What counts a text for the budget; left out, characters.", metavar="MODULE:FUNCTION"
    ),
]


# ---------------------------------------------------------------- what texts mean


_keys: ContextVar[str | None] = ContextVar("keys", default=None)


def use_keys(path: str | None) -> None:
    """Has the ledgers of this command opened with a key file."""
    _keys.set(path)


def keys() -> str | None:
    """The key file that was given."""
    return _keys.get()


@contextmanager
def reading(path: str, embedder: str | None = None) -> Iterator[Ledger]:
    """A ledger that must be there: to read it, or to write to what is in it."""
    named = None
    if embedder is not None:
        from doxa.adapters.embedders import by_name

        named = by_name(embedder)
    with progress("open") as told:
        opened = doxa.open(path, create=False, progress=told, embedder=named, keys=keys())
    with opened as ledger:
        yield ledger


@contextmanager
def writing(path: str) -> Iterator[Ledger]:
    """A ledger, made where there is none."""
    with progress("open") as told:
        opened = doxa.open(path, progress=told, keys=keys())
    with opened as ledger:
        yield ledger


def record(path: str, call: Callable[[Ledger], T]) -> T:
    """What a call on a ledger returns. Where there is none yet, the call is tried on an empty one
    in memory first, so that what is refused makes no folder."""
    if not os.path.exists(path):
        with doxa.open() as trial:
            call(trial)
    with writing(path) as ledger:
        return call(ledger)


def instant(text: str) -> datetime | str:
    """A time, or ``now``."""
    return datetime.now(UTC) if text == "now" else text


def known(text: str | None) -> datetime | str | int | None:
    """A time, or a revision."""
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else instant(text)


def bound(text: str | None) -> datetime | str | None:
    """A bound that is open where it is left out."""
    return None if text is None or text == NONE else instant(text)


def stated_bound(text: str | None) -> datetime | str | Unset | None:
    """A bound that may be left out, which is not the same as open."""
    return UNSET if text is None else bound(text)


def reference(text: str) -> Any:
    """An id, or the JSON object that names one in another workspace."""
    return _json(text, "a reference") if text.startswith("{") else text


def references(texts: Sequence[str] | None) -> list[Any]:
    """Ids, or JSON objects."""
    return [reference(text) for text in texts or ()]


def source(text: str | None) -> Any:
    """A source's id, or its fields."""
    return _json(text, "a source") if text is not None and text.startswith("{") else text


def override(text: str | None) -> Any:
    """The reason of an override, or its fields."""
    return _json(text, "an override") if text is not None and text.startswith("{") else text


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{text!r:.80} begins as {what} in JSON, but is none: {error}") from None


def value(text: str | None, as_json: str | None) -> Any:
    """An object: text as it is, or a JSON value; `UNSET` where neither was given."""
    if as_json is None:
        return UNSET if text is None else text
    if text is not None:
        raise CallerError("give OBJECT or --object-json, not both")
    return fields_of_value(as_json)


def fields_of_value(text: str, option: str = "--object-json") -> Any:
    """A JSON value, read as strictly as an exchange line."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{option} {text!r:.80} is not JSON: {error}") from None
    (line,) = Lines([f'{{"value":{text}}}'])
    try:
        fields = fields_of(line)
    except DoxaError as error:
        raise CallerError(f"{option} {text!r:.80}: {error}") from None
    if set(fields) != {"value"}:
        raise CallerError(f"{option} {text!r:.80} is not one JSON value")
    return fields["value"]


def view(
    ledger: Ledger,
    valid_at: str,
    known_at: str | None,
    workspace: str = "",
    perspective: str | None = None,
    shared: bool = True,
) -> TruthView:
    """The view that the arguments ask for."""
    return ledger.view(
        valid_at=instant(valid_at),
        known_at=known(known_at),
        workspace=workspace,
        perspective=perspective,
        shared=shared,
    )


def read_lines(path: str) -> list[Mapping[str, Any]]:
    """The JSON objects of a file, one a line; ``-`` is stdin. Raises `CallerError`."""
    found = []
    for line in Lines(given(path)):
        if line.blank and line.problem is None:
            continue
        try:
            found.append(fields_of(line))
        except DoxaError as error:
            raise CallerError(f"{path} line {line.number}: {error}") from None
    return found


def read_texts(path: str) -> list[str]:
    """The lines of a file of texts, blank ones left out; ``-`` is stdin. Raises `CallerError`."""
    found = given(path)
    try:
        if path == "-":
            raw = found.read()
        else:
            with open(path, "rb") as file:
                raw = file.read()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise CallerError(f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CallerError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    return [line for line in text.splitlines() if line.strip()]


def given(path: str) -> Any:
    """The path of a file that is there, or stdin for ``-``. Raises `CallerError`."""
    if path == "-":
        return sys.stdin.buffer
    if not os.path.exists(path):
        raise CallerError(f"there is no file {path}")
    return path


def write_text(path: str, text: str) -> None:
    """A text into a file."""
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise CallerError(f"{path} can't be written: {error.strerror}") from None


def counter(name: str | None) -> Callable[[str], int] | None:
    """The function that counts a text."""
    return function(name, "--count")


def function(name: str | None, option: str) -> Callable[..., Any] | None:
    """The function that a ``module:function`` names; modules beside the caller are found too."""
    if name is None:
        return None
    module, _, parts = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
        for part in parts.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module of the user's may raise anything
        raise CallerError(
            f"{option} {name!r:.80} names no function as module:function: {in_short(str(error))}"
        ) from None
    if not callable(found):
        kind = type(found).__name__
        raise CallerError(f"{option} {name!r:.80} is of type {kind}, not a function")
    called: Callable[..., Any] = found
    return called
