"""What an auditor asks a ledger for: its head, what happened to one thing, and a copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.arguments import check_text
from doxa.engine.errors import CallerError
from doxa.engine.stream import Stream
from doxa.engine.view import TruthView
from doxa.places import LOG, folder_of

if TYPE_CHECKING:
    from doxa.engine.copies import Backup
    from doxa.engine.heads import Pin, StatedHead
    from doxa.engine.narrative import Narrative
    from doxa.engine.receipt import Receipt
    from doxa.engine.recovery import Restored
    from doxa.engine.sqlite import SQLiteRecorder

    Kept = StatedHead | Receipt | Mapping[str, Any] | str

__all__ = ["Auditing", "check_head", "keygen", "pins", "restore_backup"]


class Auditing:
    """What shows from outside that a ledger is the one that it was."""

    path: Path | None
    recorder: SQLiteRecorder
    _stream: Stream

    def head(self, *, sign: str | os.PathLike[str] | None = None) -> StatedHead:
        """Where the log ends now, as a value to be kept elsewhere: `verify` takes it as
        ``against``.

        ``sign`` is the file of a private Ed25519 key, with which it is signed; it needs the extra
        ``signing``. Raises `CallerError` for a key that can't be used, or lies in the ledger's
        folder.
        """
        from doxa.engine.heads import stated

        self._stream.capture()  # refuses a closed ledger
        found = stated(self.recorder.ledger_id, self.recorder.head())
        if sign is None:
            return found
        from doxa.adapters import signing

        return signing.sign(found, sign, ledger=self.path)

    def audit(self, id: str, *, workspace: str = "") -> Narrative:
        """What happened to a claim, an artefact or another event, in order of knowledge: by which
        events it was supported, corrected, withdrawn and restored, which policies name it, and what
        it came to be worth over valid time.

        The id is looked for in the workspace, then in the shared one. Raises `UnknownTarget` where
        it is not known. Costs what happened, and reading the policies.
        """
        from doxa.engine.narrative import narrative

        check_text(id, "id")
        check_text(workspace, "workspace")
        fold, head = self._stream.capture(wait=True)
        view = TruthView(
            fold.belief, self._stream.payload, valid_at=0, revision=head, workspace=workspace
        )
        return narrative(view, fold.registry, self._stream.rows, id)

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Backup:
        """Copies the log into a new folder ``target``, as it is at one moment, while others go on
        recording; with a manifest, verified, and there whole or not at all.

        With ``replace`` it may take the place of an earlier backup. ``progress(done, total)`` is
        called now and then. Raises `CallerError` where something is there already, `DamageError`
        where the log is not whole, and `StorageError` where the disk refuses. O(bytes).
        """
        from doxa.engine.copies import make

        self._stream.capture()  # refuses a closed ledger
        told = progress if progress is not None else lambda done, total: None
        return make(self.recorder, as_path(target), replace=check_bool(replace), told=told)


def restore_backup(
    backup: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    replace: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> Restored:
    """Restores the ledger in a backup into the folder ``path``, which is new or empty, or with
    ``replace`` holds the same ledger.

    The backup is verified before anything is touched. What was erased or purged since it was taken
    is erased again. Raises `CallerError`, `NewerFormat` or `DamageError` for a backup or a folder
    that won't do, and `StorageError` where the disk refuses or the ledger is open anywhere; nothing
    was changed then. O(bytes).
    """
    from doxa.engine.recovery import restore

    folder = folder_of(path, create=True)
    told = progress if progress is not None else lambda done, total: None
    return restore(as_path(backup), folder, LOG, replace=check_bool(replace), told=told)


def as_path(given: object) -> Path:
    """The path that an argument is. Raises `CallerError` for what is none."""
    try:
        return Path(os.fsdecode(given))  # type: ignore[arg-type]  # what is none is refused
    except (TypeError, UnicodeError):
        raise CallerError(f"{given!r:.80} is no path; give the path of a folder") from None


def check_bool(given: object) -> bool:
    """Raises `CallerError` for what is neither true nor false."""
    if given is True or given is False:
        return given
    raise CallerError(f"replace is {given!r:.80}; give True or False")


def check_head(
    head: StatedHead | Mapping[str, Any], key: str | os.PathLike[str] | None = None
) -> StatedHead:
    """A signed head, if its signature is that of the public key in a file. Without a key it is
    compared with the one that it names, which shows that it was not changed, not who signed it.

    Needs the extra ``signing``. Raises `InvalidSignature` where it is not, or has no signature, and
    `CallerError` for what is no head, or no Ed25519 key.
    """
    from doxa.adapters import signing

    return signing.check(head, key)


def keygen(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Makes a pair of keys for signing heads: the private one at ``path``, for its owner alone, the
    public one beside it with ``.pub`` behind its name. Returns both paths.

    Needs the extra ``signing``. Nothing is overwritten, and no key put into a ledger's folder:
    `CallerError`. Raises `StorageError` where they can't be written.
    """
    from doxa.adapters import signing

    return signing.keygen(path)


def pins(
    against: Kept | Iterable[Kept] | None, key: str | os.PathLike[str] | None = None
) -> tuple[list[Pin], list[str]]:
    """What was kept of a log, to be compared with it, and what is to be noted about it. Signatures
    are checked, and needed where a key is given."""
    from doxa.engine.heads import StatedHead, pins_of
    from doxa.engine.receipt import Receipt

    if against is None:
        if key is not None:
            raise CallerError("a key is given, but no signed head that it is the key of")
        return [], []
    every: list[Any]
    if isinstance(against, StatedHead | Receipt | Mapping | str):
        every = [against]
    elif isinstance(against, Iterable):
        every = list(against)
    else:
        raise CallerError(f"{against!r:.80} is nothing that was kept; give a head or a receipt")
    if not every:
        raise CallerError("nothing was kept: the list of heads is empty")
    found: list[Pin] = []
    notes: dict[str, None] = {}
    for kept in every:
        signed = _signed(kept)
        if key is not None and not signed:
            raise CallerError(
                f"a key is given, but {str(kept)!r:.80} is not signed; give signed heads, or no key"
            )
        if signed:
            head = check_head(kept, key)
            if key is None:
                notes[
                    f"the heads are signed with the key {head.key}; give the public key of who "
                    "should have signed them, to know that they did"
                ] = None
        made = list(pins_of(kept))
        found += made
        if made and not any(pin.chain for pin in made):
            notes[
                "this receipt knows when events were recorded, not their links: keep heads as well"
            ] = None
    return found, list(notes)


def _signed(kept: object) -> bool:
    from doxa.engine.heads import StatedHead

    if isinstance(kept, StatedHead):
        return kept.signature is not None
    return isinstance(kept, Mapping) and "signature" in kept
