"""How the demo looks: tables and frames on a terminal, plain columns elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from doxa.engine.why import Why

__all__ = ["Stage"]


class Stage:
    """What the steps of the demo are told on; given texts are shown as they are."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = not console.is_terminal
        self._step = 0

    def title(self, text: str) -> None:
        """Begins a step."""
        self._step += 1
        self._print(Text(f"\n{self._step}. {text}", style="bold"))

    def say(self, text: str) -> None:
        """One or two sentences."""
        self._print(Text(f"\n{text}"))

    def item(self, text: str) -> None:
        """A message of doxa's own."""
        self._print(Padding(Text(text, style="cyan"), (0, 0, 0, 2)))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Columns with a heading each."""
        table = Table(box=None if self.plain else box.ROUNDED, pad_edge=not self.plain)
        for column in columns:
            table.add_column(Text(column), overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._print(Padding(table, (1, 0, 0, 2)))

    def why(self, why: Why) -> None:
        """The steps behind a standing, as a tree."""
        tree = Tree(_step(why))
        waiting = [(tree, child) for child in why.behind]
        while waiting:
            above, step = waiting.pop(0)
            branch = above.add(_step(step))
            waiting += [(branch, child) for child in step.behind]
        self._print(Padding(tree, (0, 0, 0, 2)))

    def block(self, text: str, note: str) -> None:
        """A rendered block, with what it took of its budget."""
        if self.plain:
            self._print(Padding(Text(f"{text}\n({note})"), (1, 0, 0, 2)))
        else:
            self._print(Padding(Panel(Text(text), subtitle=Text(note), expand=False), (1, 0, 0, 2)))

    def _print(self, what: RenderableType) -> None:
        if not self.plain:
            self.console.print(what, highlight=False)
            return
        with self.console.capture() as printed:
            self.console.print(what, highlight=False)
        for line in printed.get().splitlines():
            self.console.file.write(f"{line.rstrip()}\n")


def _step(why: Why) -> Text:
    role = f"{why.role}: " if why.role else ""
    state = f" [{why.standing}]" if why.standing is not None else ""
    if why.counts is False:
        state = " [does not count here]"
    when = f" ({why.recorded_at:%Y-%m-%d})" if why.recorded_at is not None else ""
    text = Text(role, style="dim")
    text.append(f"{why.kind} {why.id}{state}", style="not dim bold")
    text.append(f": {why.says}{when}", style="not dim")
    return text
