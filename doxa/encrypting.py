"""Encrypted ledgers: opening one with its key file, and destroying the key of a subject."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant, check_text, fresh
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import (
    CallerError,
    DamageError,
    KeyNeeded,
    UnknownTarget,
    WrongKeys,
    workspace_in_words,
)
from doxa.engine.requests import Request
from doxa.engine.sqlite import SQLiteRecorder
from doxa.engine.words import counted
from doxa.erasing import Erasing, Purged, Record
from doxa.places import LOG

if TYPE_CHECKING:
    from doxa.engine.belief import Belief
    from doxa.engine.keyfile import KeyFile, Owner
    from doxa.engine.sealing import Cipher

__all__ = ["DestroyedKey", "Encrypting", "key_path", "unlocked"]

Where = str | os.PathLike[str]

_SET: Final = "INSERT OR IGNORE INTO meta VALUES('encryption', ?)"
_UNDER: Final = "SELECT position, type, head, data FROM log WHERE instr(data, ?) > 0 ORDER BY 1"
LISTED: Final = 5  # ids that a refusal names

UNREACHABLE: Final = (
    "copies of the key file: destroy the key in each of them, or delete them",
    "exports, Parquet files, blocks, answers and receipts given out earlier",
    "other ledgers that imported the lines",
)


# ---------------------------------------------------------------- opening


def key_path(keys: Where | None, folder: Path | None) -> Path | None:
    """Where the keys of the ledger in a folder are. Raises `CallerError` for a place where they may
    not lie, before anything is read or written."""
    if keys is None:
        return None
    from doxa.adapters.aes import check_library

    try:
        text = os.fsdecode(keys)
        text.encode()
        path = Path(os.path.realpath(text))
    except (TypeError, UnicodeError, ValueError):
        raise CallerError(f"keys is {keys!r:.80}; give the path of the key file") from None
    if not text:
        raise CallerError("keys is an empty text; give the path of the key file")
    if folder is None:
        raise CallerError("a ledger in memory is not encrypted; give a path too, or leave keys out")
    for place in (Path(os.path.realpath(folder)), *_ledgers(path)):
        if path.is_relative_to(place):
            raise CallerError(
                f"the key file {path} is in {place}, the folder of a ledger, and would be copied "
                "with it; keep it elsewhere, and its copies apart from the ledger's"
            )
    check_library()
    if not (folder / LOG).exists() and path.exists():
        raise WrongKeys(
            f"{path} holds the keys of another ledger, and there is none at {folder}; name a new "
            "key file, or that ledger"
        )
    return path


def _ledgers(path: Path) -> Iterator[Path]:
    return (folder for folder in path.parents if (folder / LOG).exists())


def unlocked(recorder: SQLiteRecorder, path: Path | None) -> Cipher | None:
    """What encrypts and decrypts a log, which is then read through it; ``None`` for one that is not
    encrypted. The file of its keys is made for a log in which nothing is recorded yet.

    Raises `WrongKeys` before anything is read or written.
    """
    from doxa.engine.sealing import MARK

    rows = recorder.select(MARK)
    if path is None:
        if rows:
            raise WrongKeys(
                f"the ledger {recorder.ledger_id} is encrypted; open it with its key file "
                "(keys=…, or --keys)"
            )
        return None
    from doxa.adapters.aes import cipher
    from doxa.engine.keyfile import KeyFile

    if rows:
        found = KeyFile(path)
        _check(recorder, found, rows[0][0])
    else:
        found = _begun(recorder, path)
    made = cipher(found)
    recorder.opened, recorder.derived = made.opened, found.derived
    return made


def _begun(recorder: SQLiteRecorder, path: Path) -> KeyFile:
    """Makes an empty log that of an encrypted ledger: first its keys, then the mark that it needs
    them."""
    from doxa.engine.keyfile import KeyFile
    from doxa.engine.sealing import MARK

    if recorder.head().position:
        if path.exists() and KeyFile(path).ledger == recorder.ledger_id:
            raise DamageError(
                f"{recorder.path} has lost the mark that it is encrypted, though {path} is its key "
                "file; nothing was read or written: restore the last backup"
            )
        raise _not_encrypted(recorder)
    found = KeyFile.made(path, recorder.ledger_id)
    _check(recorder, found, found.check)
    with recorder.write() as transaction:
        if transaction.head.position and not transaction.select(MARK):
            raise _not_encrypted(recorder)
        transaction.run(_SET, [(found.check,)])
    _check(recorder, found, recorder.select(MARK)[0][0])
    return found


def _check(recorder: SQLiteRecorder, found: KeyFile, check: object) -> None:
    if found.ledger != recorder.ledger_id:
        raise WrongKeys(
            f"{found.path} holds the keys of the ledger {found.ledger}, and this one is "
            f"{recorder.ledger_id}; give its own key file: nothing was read or written"
        )
    if found.check != check:
        raise WrongKeys(
            f"{found.path} is a key file for this ledger, but not the one that it is encrypted "
            "with; give that one: nothing was read or written"
        )


def _not_encrypted(recorder: SQLiteRecorder) -> WrongKeys:
    return WrongKeys(
        f"the ledger {recorder.ledger_id} is not encrypted, and what is recorded stays as it is; "
        "open it without keys, or export it and import that into a new ledger with keys"
    )


# ---------------------------------------------------------------- destroying a key


@dataclass(frozen=True)
class DestroyedKey:
    """What the destruction of a key did or, of a dry run, would do.

    ``key`` is the key's id; ``protected`` are the events whose content it still protected, in log
    order, and ``purged`` is what erased them, ``None`` where there were none. ``destroyed`` is
    false of a dry run. ``unreachable`` names what is out of reach.
    """

    key: str
    workspace: str
    protected: tuple[Record, ...]
    destroyed: bool
    purged: Purged | None = None
    unreachable: tuple[str, ...] = field(default=UNREACHABLE)

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "key": self.key,
            "workspace": self.workspace,
            "protected": [record._asdict() for record in self.protected],
            "destroyed": self.destroyed,
            "purged": None if self.purged is None else self.purged.as_dict(),
            "unreachable": list(self.unreachable),
        }

    def __str__(self) -> str:
        done = "is destroyed" if self.destroyed else "would be destroyed"
        lines = [f"the key {self.key} {done}"]
        lines += [f"it protected {one.kind} {one.id} at {one.position}" for one in self.protected]
        return "\n".join([*lines, *(f"out of reach: {each}" for each in self.unreachable)])


class Encrypting(Erasing):
    """The keys of an encrypted ledger."""

    @property
    def encrypted(self) -> bool:
        """Whether the content of events is encrypted in the log."""
        return self._stream.cipher is not None

    def destroy_key(
        self,
        subject: str | None = None,
        *,
        event: str | None = None,
        workspace: str = "",
        force: bool = False,
        reason: str | None = None,
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> DestroyedKey:
        """Destroys the key of a subject, and with it what any copy of the log says of it.

        Purge what is recorded first: while content is there that only this key opens, it is
        refused, and nothing is done. With ``force`` that content is archived and erased in the same
        call, for the ``reason``, and ``id`` is that of the policy which says so. In place of a
        subject, ``event`` is the id of one that has a key of its own. Of a ``dry_run`` nothing is
        written. Whoever claims something of the subject later does so under another key.

        Raises `CallerError` for a ledger that is not encrypted, `UnknownTarget` where there is no
        such key (any more), `KeyNeeded`, and `StorageError`.
        """
        cipher = self._stream.cipher
        if cipher is None:
            raise CallerError("the ledger is not encrypted, so there is no key to destroy; purge")
        owner = _owner(subject, event, workspace)
        for name, value in (("force", force), ("dry_run", dry_run)):
            if value is not True and value is not False:
                raise CallerError(f"{name} is {value!r:.80}; give True or False")
        stamp = None if recorded_at is None else times.instant(recorded_at, "recorded_at")
        self._stream.capture(wait=True)
        key = cipher.keys.find(owner)
        if key is None:
            raise UnknownTarget(
                f"there is no key of the {owner[0]} {owner[2]!r:.200} in "
                f"{workspace_in_words(workspace)}: nothing was recorded of it, or its key is "
                "destroyed already"
            )
        protected = under = self._under(key)
        if dry_run:
            return DestroyedKey(key.hex(), workspace, tuple(protected), destroyed=False)
        purged: Purged | None = None
        while True:
            if under:
                if not force:
                    raise _needed(owner, under)
                name = fresh("purge") if id is None else id
                purged = self._erase_under(key, name, reason, stamp) or purged
            with self.recorder.write():  # nobody records anything meanwhile
                under = self._under(key)
                if not under:
                    self._destroy(cipher, key)
                    break
        return DestroyedKey(key.hex(), workspace, tuple(protected), True, purged)

    def _destroy(self, cipher: Cipher, key: bytes) -> None:
        """Destroys a key; before it that of the cache, old copies of which hold what it opens."""
        from doxa.engine.sealing import CACHE

        kept = cipher.keys.find(CACHE)
        if kept is not None:
            cipher.keys.destroy(kept)
        cipher.keys.destroy(key)
        with contextlib.suppress(OSError):  # what nobody can read any more
            self._stream.upkeep.discard()

    def _under(self, key: bytes) -> list[Record]:
        """The events whose content is encrypted with a key, as the log has them."""
        from doxa.engine.sealing import key_ids

        found = []
        for position, kind, head, data in self.recorder.select(_UNDER, (key,)):
            if key in key_ids(data):
                said = json.loads(head)
                place = said.get("workspace", "")
                found.append(Record(place, said["id"], kind, position, len(data)))
        return found

    def _erase_under(
        self, key: bytes, name: str, reason: str | None, stamp: int | None
    ) -> Purged | None:
        """Archives and erases all that is encrypted with a key."""
        from doxa.engine.graph import ARTEFACT, CLAIM
        from doxa.engine.purging import Plan, policies
        from doxa.engine.retention import archived_now

        self._prepare_to_erase()
        found: list[Record] = []

        def making(belief: Belief) -> list[ev.Policy]:
            found[:] = self._under(key)
            numbers = [belief.graph.ids.number[record.position - 1] for record in found]
            hidden = [n for n in numbers if n & 7 in (CLAIM, ARTEFACT)]
            shown = [n for n in hidden if not archived_now(belief, n)]
            plan = Plan(erased=numbers, to_archive=shown)
            return policies(belief, self.recorder.keyed, plan, name, reason)

        answer = self._stream.append(Request((), stamp, making=making))
        if not found:
            return None
        return self._cleared(
            Purged(tuple(found), (), policy=name if answer.new else None, revision=answer.revision)
        )


def _owner(subject: object, event: object, workspace: str) -> Owner:
    from doxa.engine.owners import EVENT, SUBJECT

    check_text(workspace, "workspace")
    if (subject is None) == (event is None):
        raise CallerError("give a subject, or the id of an event that has a key of its own")
    sort, name = (SUBJECT, subject) if event is None else (EVENT, event)
    if not isinstance(name, str) or not name:
        raise CallerError(f"{sort} is {name!r:.80}; give a text that is not empty")
    return sort, workspace, name


def _needed(owner: Owner, under: list[Record]) -> KeyNeeded:
    named = ", ".join(f"{one.id} ({one.kind})" for one in under[:LISTED])
    more = f" and {len(under) - LISTED} more" if len(under) > LISTED else ""
    error = KeyNeeded(
        f"the key of the {owner[0]} {owner[2]!r:.200} protects "
        f"{counted(len(under), 'event')} that are not purged: {named}{more}; archive and purge "
        "them first, or destroy it with force, which erases them as well"
    )
    error.ids = tuple(one.id for one in under)
    return error
