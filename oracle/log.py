"""The oracle's own reading of a log: rows of `log.sqlite` in, plain records out.

Nothing here is shared with the engine. Times are microseconds; `NEG` and `POS` are open ends.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Hashable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

NEG: Final = -(2**63)
POS: Final = 2**63 - 1
FORMAT: Final = 1

Key = tuple[str, str]  # the workspace of an event, and its id
Row = tuple[int, int, str, bytes, bytes | None]  # position, recorded_at, type, head, data


class Unreadable(Exception):
    """The log holds something that the oracle has no reading of."""


class Commit(NamedTuple):
    """One commit: the position of its last event, and its time."""

    last: int
    recorded_at: int


@dataclass(frozen=True, slots=True)
class Record:
    """What all events have. ``commit`` is the last position of the commit that brought it."""

    key: Key
    position: int
    commit: int
    recorded_at: int
    valid_from: int
    valid_to: int
    erased: bool

    def covers(self, instant: int) -> bool:
        """Whether the event's own interval or portion holds the instant; its end does not."""
        return self.valid_from <= instant < self.valid_to

    @property
    def workspace(self) -> str:
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Claim(Record):
    subject: str
    predicate: str
    object: Any
    kind: str
    perspective: str
    text: str | None
    recall_when: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Support(Record):
    """Evidence for or against a claim: ``source`` is named, or ``because`` is not empty."""

    claim: Key
    refutes: bool
    because: tuple[Key, ...]
    source: str | None
    origin: str | None
    digest: str | None
    quote: str | None
    observed_at: int | None


@dataclass(frozen=True, slots=True)
class Correction(Record):
    """``corrects`` is None where the name, as written, is unresolved; ``dangling`` is then what
    a claim would have to be called to be meant, where no candidate was there. ``stated`` tells
    which bounds were given."""

    corrects: Key | None
    by: Key | None
    source: str | None
    dangling: Key | None
    candidates: tuple[Key, ...]
    resolves: Key | None
    stated: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Withdrawal(Record):
    """Takes back ``target``, or the whole ``source`` where there is no target."""

    target: Key | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erased event: of a claim the keyed digests of what it was about, and the claims that are
    known to have said the same."""

    key: Key
    subject: str | None
    predicate: str | None
    perspective: str | None
    agrees: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Policy(Record):
    single_valued: str | None
    contradicts: tuple[Key, ...]
    verified: Key | None
    pinned: Key | None
    calibrated: dict[str, Any] | None
    scored: tuple[Key, float] | None  # a record and its importance
    expires: tuple[Key, int] | None  # a record and when it is to be archived
    decays: tuple[str, float | None] | None  # a kind, and in how many days
    archived: tuple[Key, ...]
    restored: tuple[Key, ...]
    redacted: tuple[Erasure, ...]  # what was erased


@dataclass(frozen=True, slots=True)
class Artefact(Record):
    """A registered citation or summary. ``valid_at`` is where a snapshot is bound."""

    kind: str
    text: str
    facts: tuple[Key, ...]
    supports: tuple[Key, ...]
    sources: tuple[str, ...]
    citations: tuple[Key, ...]
    snapshot: bool
    subjects: tuple[str, ...] | None
    valid_at: int


@dataclass(frozen=True, eq=False)
class Log:
    """A whole log, read once. Every mapping and list is in the order of positions."""

    commits: tuple[Commit, ...] = ()
    claims: dict[Key, Claim] = field(default_factory=dict)
    supports: dict[Key, Support] = field(default_factory=dict)
    corrections: list[Correction] = field(default_factory=list)
    withdrawals: list[Withdrawal] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=list)
    artefacts: dict[Key, Artefact] = field(default_factory=dict)
    supports_of: dict[Key, list[Support]] = field(default_factory=dict)
    erasures: dict[Key, tuple[int, Erasure]] = field(
        default_factory=dict
    )  # with the policy's place
    secret: bytes = b""  # the ledger's, with which digests are made

    @property
    def head(self) -> int:
        """The last position; 0 where the log is empty."""
        return self.commits[-1].last if self.commits else 0

    @classmethod
    def read(cls, path: str | Path) -> Log:
        """The log of a ledger folder, or of its ``log.sqlite``, as of this moment."""
        with closing(connect(path)) as connection:
            rows = connection.execute(
                "SELECT position, recorded_at, type, head, data FROM log ORDER BY position"
            ).fetchall()
            kept = connection.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()
        return cls.from_rows(rows, b"" if kept is None else bytes.fromhex(kept[0]))

    @classmethod
    def from_rows(cls, rows: Iterable[Row], secret: bytes = b"") -> Log:
        """The log of rows ``(position, recorded_at, type, head, data or None)``, in any order;
        ``secret`` is the ledger's."""
        ordered = sorted(rows, key=lambda row: row[0])
        last = {recorded_at: position for position, recorded_at, *_ in ordered}
        log = cls(tuple(Commit(position, at) for at, position in last.items()), secret=secret)
        seen: set[Key] = set()
        for row in ordered:
            for record in _records(row, last[row[1]]):
                if record.key in seen:
                    raise Unreadable(f"{record.key} is in the log twice, at {record.position} too")
                seen.add(record.key)
                log._file(record)
        return log

    def _file(self, record: Record) -> None:
        match record:
            case Claim():
                self.claims[record.key] = record
            case Support():
                self.supports[record.key] = record
                self.supports_of.setdefault(record.claim, []).append(record)
            case Correction():
                self.corrections.append(record)
            case Withdrawal():
                self.withdrawals.append(record)
            case Policy():
                self.policies.append(record)
                for one in record.redacted:
                    self.erasures[one.key] = (record.commit, one)
            case Artefact():
                self.artefacts[record.key] = record

    def known_at(self, instant: int) -> int:
        """The knowledge coordinate of an instant: the last commit recorded at or before it."""
        known = [commit.last for commit in self.commits if commit.recorded_at <= instant]
        return max(known, default=0)

    def erased_by(self, key: Key, known_at: int) -> bool:
        """Whether an event was erased by then, a claim's own support with its claim."""
        claim = (key[0], key[1].removesuffix("/support"))
        return any(k in self.erasures and self.erasures[k][0] <= known_at for k in (key, claim))

    def digest(self, label: str, text: str) -> str:
        """What stands for an erased text: HMAC-SHA-256 with the ledger's secret."""
        words = f"{label}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self.secret, words, hashlib.sha256).hexdigest()

    def about(self, claim: Claim) -> tuple[str, str, str]:
        """What stands for the subject, predicate and perspective of a claim, erased or not."""
        if claim.key in self.erasures:
            one = self.erasures[claim.key][1]
            perspective = one.perspective or self.digest("perspective", "")
            return (one.subject or "", one.predicate or "", perspective)
        return (
            self.digest("subject", claim.subject),
            self.digest("predicate", claim.predicate),
            self.digest("perspective", claim.perspective),
        )

    def boundaries(self) -> list[int]:
        """Every instant at which an event's interval or portion begins or ends, in order.

        Between two of them nothing can change by the passing of time.
        """
        everything: list[Record] = [*self.claims.values(), *self.supports.values()]
        everything += [*self.corrections, *self.withdrawals]
        bounds = {bound for record in everything for bound in (record.valid_from, record.valid_to)}
        return sorted(bounds - {NEG, POS})


def connect(path: str | Path) -> sqlite3.Connection:
    """A connection of our own to a ledger's log, for reading only."""
    file = Path(path)
    if file.is_dir():
        file = file / "log.sqlite"
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)


def likeness(value: Any) -> Hashable:
    """What two JSON values share exactly if they are equal: numbers by value, true is not 1.

    >>> likeness([1, {"a": None}]) == likeness([1.0, {"a": None}])
    True
    >>> likeness(1) == likeness(True)
    False
    """
    match value:
        case None | bool():
            return ("constant", str(value))
        case int() | float():
            return ("number", value)
        case str():
            return ("text", value)
        case list():
            return ("list", tuple(likeness(item) for item in value))
        case dict():
            return ("object", frozenset((name, likeness(item)) for name, item in value.items()))
    raise Unreadable(f"{value!r} is no JSON value")


def _records(row: Row, commit: int) -> list[Record]:
    """The records of one row: one, or two for a claim that carries its own support."""
    position, recorded_at, kind, head_bytes, data_bytes = row
    if kind == "compacted":  # nothing but the time of it is known
        return []
    head = _json(head_bytes, position)
    data = {} if data_bytes is None else _json(data_bytes, position)
    if head.get("v") != FORMAT:
        raise Unreadable(f"position {position} has version {head.get('v')!r}, not {FORMAT}")
    workspace: str = head.get("workspace", "")
    common: dict[str, Any] = {
        "key": (workspace, head["id"]),
        "position": position,
        "commit": commit,
        "recorded_at": recorded_at,
        "valid_from": head.get("valid_from", NEG),
        "valid_to": head.get("valid_to", POS),
        "erased": data_bytes is None,
    }
    evidence = data.get("source", {}) if kind in ("claim", "support") else {}
    basis: dict[str, Any] = {
        "because": _keys(workspace, head.get("because", [])),
        "source": head.get("source"),
        "origin": evidence.get("origin"),
        "digest": evidence.get("digest"),
        "quote": evidence.get("quote"),
        "observed_at": evidence.get("observed_at"),
    }
    match kind:
        case "claim":
            claim = Claim(
                **common,
                subject=data.get("subject", ""),
                predicate=data.get("predicate", ""),
                object=data.get("object"),
                kind=head.get("kind", data.get("kind", "fact")),
                perspective=data.get("perspective", ""),
                text=data.get("text"),
                recall_when=tuple(data.get("recall_when", [])),
            )
            if basis["source"] is None and not basis["because"]:
                return [claim]
            carried = common | {
                "key": (workspace, head["id"] + "/support"),
                "valid_from": NEG,
                "valid_to": POS,
            }
            return [claim, Support(**carried, **basis, claim=claim.key, refutes=False)]
        case "support":
            refutes = head.get("stance", "supports") == "refutes"
            return [Support(**common, **basis, claim=(workspace, head["claim"]), refutes=refutes)]
        case "correction":
            by, resolves = head.get("by"), head.get("resolves")
            candidates = _keys(workspace, head.get("candidates", []))
            dangles = "unresolved" in head and not candidates
            return [
                Correction(
                    **common,
                    corrects=(workspace, head["corrects"]) if "corrects" in head else None,
                    by=None if by is None else (workspace, by),
                    source=head.get("source"),
                    dangling=(workspace, head["unresolved"]) if dangles else None,
                    candidates=candidates,
                    resolves=None if resolves is None else (workspace, resolves),
                    stated=("valid_from" in head, "valid_to" in head),
                )
            ]
        case "withdrawal":
            target = (workspace, head["target"]) if "target" in head else None
            return [Withdrawal(**common, target=target, source=head.get("source"))]
        case "policy":
            return [
                Policy(
                    **common,
                    single_valued=data.get("single_valued"),
                    contradicts=_keys(workspace, head.get("contradicts", [])),
                    verified=(workspace, head["verified"]) if "verified" in head else None,
                    pinned=(workspace, head["pinned"]) if "pinned" in head else None,
                    calibrated=data.get("calibrated"),
                    scored=_said(workspace, head.get("scored"), data.get("importance")),
                    expires=_said(workspace, head.get("expires"), data.get("at")),
                    decays=(data["decays"], data.get("days")) if "decays" in data else None,
                    archived=_keys(workspace, head.get("archived", [])),
                    restored=_keys(workspace, head.get("restored", [])),
                    redacted=tuple(
                        Erasure(
                            (workspace, one["id"]),
                            one.get("subject"),
                            one.get("predicate"),
                            one.get("perspective"),
                            _keys(workspace, one.get("agrees", [])),
                        )
                        for one in head.get("redacted", [])
                    ),
                )
            ]
        case "citation" | "summary":
            subjects = data.get("subjects")
            return [
                Artefact(
                    **common,
                    kind=kind,
                    text=data.get("text", ""),
                    facts=_keys(workspace, head.get("facts", [])),
                    supports=_keys(workspace, head.get("supports", [])),
                    sources=tuple(head.get("sources", [])),
                    citations=_keys(workspace, head.get("citations", [])),
                    snapshot=head.get("binding") == "snapshot",
                    subjects=None if subjects is None else tuple(subjects),
                    valid_at=head.get("valid_at", recorded_at),
                )
            ]
    raise Unreadable(f"position {position} holds a {kind!r}, which the oracle has no reading of")


def _json(stored: bytes, position: int) -> dict[str, Any]:
    try:
        decoded = json.loads(stored)
    except ValueError as error:
        raise Unreadable(f"position {position} is not JSON: {error}") from None
    if not isinstance(decoded, dict):
        raise Unreadable(f"position {position} is not a JSON object")
    return decoded


def _said(workspace: str, id: str | None, value: Any) -> tuple[Key, Any] | None:
    """What a policy says of one record; nothing where its content was erased."""
    return None if id is None or value is None else ((workspace, id), value)


def _keys(workspace: str, refs: Iterable[str | Mapping[str, str]]) -> tuple[Key, ...]:
    """References resolve in the event's own workspace, unless they name another."""
    return tuple(
        (workspace, ref) if isinstance(ref, str) else (ref["workspace"], ref["id"]) for ref in refs
    )
