"""What is shown: data on stdout, as JSON for programs and as tables for people; prose on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import IO, Any, Final

from doxa.engine.words import counted

__all__ = [
    "counted",
    "document",
    "escaped",
    "note",
    "progress",
    "record",
    "say",
    "show",
    "table",
]

# C0 and C1 controls, line and paragraph separators, direction marks: a terminal would obey them.
_CONTROL: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_ALL: Final = re.compile(f"[{_CONTROL}\t\n]")
_UNSAFE: Final = re.compile(f"[{_CONTROL}]")
_WIDE: Final = 1_000_000  # columns of what is no terminal
_PATIENCE: Final = 0.5  # seconds of work from which on a bar is drawn


def _escape(found: re.Match[str]) -> str:
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(found[0]) or f"\\u{ord(found[0]):04x}"


def escaped(text: str, *, lines: bool = False) -> str:
    """The text with control and direction marks written out; ``lines`` leaves line ends and tabs.

    >>> escaped("a\\u202eb")
    'a\\\\u202eb'
    """
    return (_UNSAFE if lines else _ALL).sub(_escape, text)


def _terminal(file: IO[str]) -> bool:
    return file.isatty()


def say(text: str) -> None:
    """Text on stdout; on a terminal, nothing in it can steer the terminal."""
    print(escaped(text, lines=True) if _terminal(sys.stdout) else text)


def note(text: str) -> None:
    """Prose on stderr, after what stdout has been given so far."""
    sys.stdout.flush()
    print(escaped(text, lines=True), file=sys.stderr)


def compact(value: object) -> str:
    """A JSON value in one line."""
    return _UNSAFE.sub(
        lambda found: f"\\u{ord(found[0]):04x}",
        json.dumps(value, ensure_ascii=False, allow_nan=False, default=str),
    )


def document(value: object, *, spread: bool = False) -> None:
    """One JSON document on stdout; ``spread`` over lines, where a person looks at it."""
    if not (spread and _terminal(sys.stdout)):
        print(compact(value))
        return
    whole = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str, indent=2)
    print(escaped(whole, lines=True))


def show(value: object, *, as_json: bool) -> None:
    """A value: text as it is, anything else as JSON."""
    if isinstance(value, str) and not as_json:
        say(value)
    else:
        document(value)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escaped(value if isinstance(value, str) else compact(value))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout: drawn and folded on a terminal, else plain columns; never cut off."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    fancy = _terminal(sys.stdout)
    drawn = Table(
        *columns,
        box=None if not fancy else Table().box,
        pad_edge=fancy,
        padding=(0, 1) if fancy else (0, 2, 0, 0),
    )
    for column in drawn.columns:
        column.no_wrap = not fancy
        column.overflow = "fold"  # an id that ends in … can't be copied
    for row in rows:
        drawn.add_row(*(Text(_cell(value)) for value in row))
    console = Console(file=sys.stdout, width=None if fancy else _WIDE, highlight=False)
    if fancy:
        console.print(drawn)
        return
    with console.capture() as captured:
        console.print(drawn, crop=False, no_wrap=True)
    print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def record(fields: dict[str, Any], *, as_json: bool) -> None:
    """Named figures: a JSON object, or one line each."""
    if as_json:
        document(fields)
    else:
        table(("name", "value"), list(_flat(fields)))


def _flat(fields: dict[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield f"{before}{name}" if name else f"{before}(shared)", value


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on stderr, where that is a terminal, once the work has taken half a second;
    nothing elsewhere."""
    if not _terminal(sys.stderr):
        yield lambda done, total: None
        return
    began = monotonic()
    with ExitStack() as stack:
        drawn: list[Callable[[int, int | None], None]] = []

        def told(done: int, total: int | None) -> None:
            if not drawn:
                if monotonic() - began < _PATIENCE:
                    return
                drawn.append(_bar(stack, title))
            drawn[0](done, total)

        yield told


def _bar(stack: ExitStack, title: str) -> Callable[[int, int | None], None]:
    """A bar, drawn from now on."""
    from rich.console import Console
    from rich.progress import Progress

    bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    task = bar.add_task(title, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)
