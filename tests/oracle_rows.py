"""Rows of a log written by hand, for tests of the oracle: no engine has a say in them.

Valid times are small whole numbers, read as days; the first commit is recorded at 1000, each
further one ten later.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from doxa.oracle import Log, Truth
from doxa.oracle.log import NEG, POS, Row

Source = str | Mapping[str, Any]
Span = tuple[int | None, int | None]
Refs = Sequence[str | Mapping[str, str]]

ALWAYS: Span = (None, None)


def shared(id: str) -> dict[str, str]:
    """A reference to an event of the shared workspace."""
    return {"workspace": "", "id": id}


class Rows:
    """A log in the making. Every event is a commit of its own, unless within `commit`."""

    def __init__(self, workspace: str = "") -> None:
        self.workspace = workspace
        self.rows: list[Row] = []
        self._at = 990
        self._grouped = False

    # ------------------------------------------------------------ reading

    @property
    def head(self) -> int:
        return len(self.rows)

    def log(self) -> Log:
        return Log.from_rows(self.rows)

    def truth(self, valid_at: int, known_at: int | None = None, **scope: Any) -> Truth:
        known_at = self.head if known_at is None else known_at
        return Truth(self.log(), valid_at, known_at, **({"workspace": self.workspace} | scope))

    def standing(self, id: str, valid_at: int, known_at: int | None = None, **scope: Any) -> str:
        return self.truth(valid_at, known_at, **scope).standing(id)

    def where(self, standing: str, id: str, until: int = 100) -> list[int]:
        """The tens from 0 at which a claim has a standing."""
        return [at for at in range(0, until, 10) if self.standing(id, at) == standing]

    # ------------------------------------------------------------ writing

    @contextmanager
    def commit(self) -> Iterator[None]:
        """All events written within are one commit."""
        self._at += 10
        self._grouped = True
        yield
        self._grouped = False

    def put(self, kind: str, id: str, head: dict[str, Any], data: dict[str, Any]) -> str:
        if not self._grouped:
            self._at += 10
        workspace = head.pop("workspace", None)
        workspace = self.workspace if workspace is None else workspace
        full = {"v": 1, "id": id} | ({"workspace": workspace} if workspace else {}) | head
        stored = [json.dumps(part, ensure_ascii=False).encode() for part in (full, data)]
        self.rows.append((len(self.rows) + 1, self._at, kind, stored[0], stored[1]))
        return id

    def erase(self, id: str) -> None:
        """Takes away the content of an event, as a purge does."""
        self.rows = [
            (*row[:4], None) if json.loads(row[3])["id"] == id else row for row in self.rows
        ]

    def claim(
        self,
        id: str,
        object: Any = 1,
        span: Span = (0, 100),
        source: Source | None = None,
        because: Refs = (),
        subject: str = "s",
        predicate: str = "p",
        workspace: str | None = None,
        **content: Any,
    ) -> str:
        head, data = _basis(source, because)
        data |= {"subject": subject, "predicate": predicate, "object": object} | content
        return self.put("claim", id, {"workspace": workspace} | _bounds(span) | head, data)

    def support(
        self,
        id: str,
        claim: str,
        source: Source | None = None,
        because: Refs = (),
        span: Span = ALWAYS,
        refutes: bool = False,
        workspace: str | None = None,
    ) -> str:
        head, data = _basis(source, because)
        head |= {"workspace": workspace, "claim": claim} | _bounds(span)
        return self.put("support", id, head | ({"stance": "refutes"} if refutes else {}), data)

    def withdraw(
        self,
        id: str,
        target: str | None = None,
        source: str | None = None,
        span: Span = ALWAYS,
        workspace: str | None = None,
        **content: Any,
    ) -> str:
        what = {"target": target} if source is None else {"source": source}
        head = {"workspace": workspace} | what | _bounds(span)
        return self.put("withdrawal", id, head, content)

    def correct(
        self,
        id: str,
        corrects: str,
        by: str | None = None,
        span: Span = ALWAYS,
        source: str | None = None,
        workspace: str | None = None,
    ) -> str:
        head: dict[str, Any] = {"workspace": workspace, "corrects": corrects}
        head |= {"valid_from": NEG, "valid_to": POS} | _bounds(span)
        head |= {} if by is None else {"by": by}
        return self.put("correction", id, head | ({} if source is None else {"source": source}), {})

    def single_valued(self, id: str, predicate: str, workspace: str | None = None) -> str:
        return self.put("policy", id, {"workspace": workspace}, {"single_valued": predicate})

    def contradict(self, id: str, *claims: str) -> str:
        return self.put("policy", id, {"contradicts": list(claims)}, {})

    def cite(self, id: str, supports: Refs, **head: Any) -> str:
        return self.put("citation", id, {"supports": list(supports)} | head, {"text": "quoted"})

    def summarize(
        self, id: str, facts: Refs = (), subjects: Sequence[str] | None = None, **head: Any
    ) -> str:
        data = {"text": "said"} | ({} if subjects is None else {"subjects": list(subjects)})
        return self.put("summary", id, head | ({"facts": list(facts)} if facts else {}), data)

    def save(self, folder: Path) -> Path:
        """A `log.sqlite` in the folder, chained as the format says."""
        file = folder / "log.sqlite"
        with closing(sqlite3.connect(file)) as db, db:
            db.executescript(SCHEMA)
            chain = bytes(32)
            for position, at, kind, head, data in self.rows:
                salt = bytes([position % 256]) * 16
                commitment = blake2b(data or b"", key=salt, digest_size=32).digest()
                header = f"{position}\x1f{at}\x1f{kind}\x1f\x1f".encode() + head
                chain = blake2b(chain + commitment + header, digest_size=32).digest()
                kept = (data, salt, None) if data is not None else (None, None, commitment)
                db.execute(
                    "INSERT INTO log VALUES (?,?,?,?,?,?,?,?,?)",
                    (position, at, kind, "", head, *kept, chain),
                )
            db.execute("INSERT INTO head VALUES (1, ?, ?, ?)", (self.head, self._at, chain))
        return file


SCHEMA = """
PRAGMA application_id = 1685026913;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
CREATE TABLE log (position INTEGER PRIMARY KEY, recorded_at INTEGER NOT NULL, type TEXT NOT NULL,
    tags TEXT NOT NULL, head BLOB NOT NULL, data BLOB, salt BLOB, commitment BLOB,
    chain BLOB NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), position, recorded_at, chain);
"""


def _bounds(span: Span) -> dict[str, Any]:
    names = ("valid_from", "valid_to")
    return {name: at for name, at in zip(names, span, strict=True) if at is not None}


def _basis(source: Source | None, because: Refs) -> tuple[dict[str, Any], dict[str, Any]]:
    if because:
        return {"because": list(because)}, {}
    if source is None:
        return {}, {}
    if isinstance(source, str):
        return {"source": source}, {}
    details = dict(source)
    return {"source": details.pop("id")}, {"source": details}
