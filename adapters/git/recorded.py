"""What a ledger holds of an import: how far it came, and which claim each cell is.

All of it is found by ids. What the commit SHA said under the name NAME are the claims
``NAME@SHA#F.N`` (the N-th change of the F-th file). How far the import came is said by
``NAME@SHA``, in a workspace of its own, so that nobody who asks about the rows comes upon it; it
has ``~2``, ``~3``, … behind it after the history was rewritten so many times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.git.rows import RowKey, Version
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError
from doxa.engine.graph import CLAIM, NONE, entity

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["IMPORTED", "KIND", "SETTINGS", "Cursor", "Recorded", "own_place"]

IMPORTED: Final = "imported"
SETTINGS: Final = "settings"
KIND: Final = "import"
_CURSOR: Final = re.compile(r"(.*)@([0-9a-f]{40})(?:~[0-9]+)?", re.DOTALL)
_CELL: Final = re.compile(r"[0-9a-f]{40}(?:~[0-9]+)?#([0-9]+)\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far an import came: its last commit and, of each file, where it lay then, where its last
    sound version is found (``SHA:PATH``, `None` where it had no rows), and why the version after
    that was ``set_aside``."""

    id: str
    commit: str
    round: int
    paths: dict[str, str]
    sound: dict[str, str | None]
    set_aside: dict[str, str | None]
    valid_at: int


def own_place(workspace: str) -> str:
    """The workspace in which imports into a workspace say how far they came.

    >>> own_place(""), own_place("staff")
    ('git', 'git:staff')
    """
    return f"git:{workspace}" if workspace else "git"


class Recorded:
    """What a ledger's workspace holds of the import with a name, at its head."""

    def __init__(self, ledger: Ledger, workspace: str, name: str) -> None:
        fold, self.k = ledger._stream.capture()
        self.belief, self.graph = fold.belief, fold.belief.graph
        self.payload, self.workspace, self.name = ledger._stream.payload, workspace, name
        self.place = own_place(workspace)
        kind = self.graph.names.find(KIND)
        self._rows = {
            row: id
            for row, id in self._of(IMPORTED, self.place)
            if self.graph.c_kind[row] == kind and _CURSOR.fullmatch(id)
        }
        own = [row for row, id in self._rows.items() if self._owner(id) == name]
        self._commits = {self._commit(self._rows[row]): row for row in own}
        self.cursor = self._cursor(own[-1]) if own else None

    @staticmethod
    def _owner(id: str) -> str:
        found = _CURSOR.fullmatch(id)
        assert found is not None, id
        return found[1]

    @staticmethod
    def _commit(id: str) -> str:
        found = _CURSOR.fullmatch(id)
        assert found is not None, id
        return found[2]

    def _of(self, predicate: str, workspace: str) -> Iterator[tuple[int, str]]:
        """The claims of a predicate in a workspace, in log order, with their ids."""
        graph = self.graph
        code, place = graph.names.find(predicate), graph.names.find(workspace)
        if NONE not in (code, place):
            for row in self.belief.of_predicate(code):
                if graph.c_ws[row] == place:
                    yield row, graph.claim_id(row)

    def _cursor(self, row: int) -> Cursor:
        event = self.payload(self.graph.c_pos[row])
        if not isinstance(event, ev.Claim) or event.erased:
            raise CallerError(
                f"{self._rows[row]!r:.300}, which says how far the import came, was erased; import "
                "under another name"
            )
        said: dict[str, Any] = event.object
        files: dict[str, Any] = said["files"]
        return Cursor(
            event.id,
            said["commit"],
            said["round"],
            {path: file["path"] for path, file in files.items()},
            {path: file["sound"] for path, file in files.items()},
            {path: file["set_aside"] for path, file in files.items()},
            event.valid_from,
        )

    def cursor_at(self, commit: str) -> Cursor | None:
        """How far the import was with a commit; `None` if it recorded nothing of that commit."""
        row = self._commits.get(commit)
        return None if row is None else self._cursor(row)

    def others(self) -> Iterator[tuple[str, Cursor]]:
        """The other imports of the workspace, each with how far it came."""
        newest = {self._owner(id): row for row, id in self._rows.items()}
        for name, row in newest.items():
            if name != self.name and entity(CLAIM, row) not in self.graph.erased:
                yield name, self._cursor(row)

    def settings(self) -> Any:
        """How the files of the import were read."""
        number = self.graph.find(self.place, f"{self.name}@{SETTINGS}")
        event = None if number == NONE else self.payload(self.graph.position_of(number))
        return event.object if isinstance(event, ev.Claim) and not event.erased else None

    def live(self, file: int, version: Version, dated: bool) -> dict[RowKey, dict[str, str]]:
        """The claim of each cell of the version that was recorded last: by row and column. Where
        one was erased, the cell has none. ``dated``: rows are told apart by when they begin.
        O(claims) for each column."""
        graph, before = self.graph, f"{self.name}@"
        found: dict[RowKey, dict[str, str]] = {key: {} for key in version.rows}
        for column in {column for row in version.rows.values() for column in row.cells}:
            for row, id in self._of(column, self.workspace):
                if not id.startswith(before):
                    continue
                cell = _CELL.fullmatch(id, len(before))
                if cell is None or int(cell[1]) != file or entity(CLAIM, row) in graph.erased:
                    continue
                subject = graph.names.texts[graph.c_subject[row]]
                key = (subject, graph.c_from[row] if dated else times.NEG)
                if key in found and column in version.rows[key].cells:
                    found[key][column] = id
        return found
