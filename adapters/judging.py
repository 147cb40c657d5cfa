"""What a framework's search brings back, judged by one view: the part that all adapters share.

An adapter turns its framework's results into `Found`s and back; a `Sieve` reads what they declare,
has the ledger judge it, and says of each what it may be used for. It decides nothing itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from doxa.adapters.annotations import ANNOTATIONS, OURS, annotated
from doxa.adapters.basis import basis, in_place, told, unheard_of
from doxa.adapters.undeclared import NothingDeclared, nothing_known, warn
from doxa.engine import times
from doxa.engine.candidates import surrogate
from doxa.engine.errors import CallerError, ViewMoved
from doxa.engine.registry import Reason

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.engine.block import Block
    from doxa.engine.envelope import Hit, Recalled
    from doxa.engine.sifting import Sifted
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = [
    "UNKNOWN",
    "Found",
    "Kept",
    "LeftOut",
    "NothingDeclared",
    "Remembered",
    "Sieve",
    "Sifting",
    "Unknown",
    "erased",
]

Unknown = Literal["drop", "flag", "keep"]
UNKNOWN: Final = "unknown"  # the status of what declares nothing that the ledger knows
_WORDLESS: Final = "(no words)"  # what an image says: it is judged by what it declares
_NO_ID: Final = "\n"  # begins no id of a ledger, so that a place in a list is none
_JUDGED: Final = tuple(key for key in OURS if key.startswith("truth_"))
_KEYS: Final = {name: key for key, name in ANNOTATIONS.items()}
_opening = threading.Lock()


@dataclass(frozen=True, slots=True)
class Found:
    """One result of a framework's search: its own id, its text, what is kept beside it, and its
    score, higher being better (``None`` or NaN: its place says how good it is). ``item`` is the
    result itself."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    score: float | None = None
    item: Any = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that may be used, and what is to be noted beside it: flat, JSON scalars. What is
    unknown, or was recalled, has no ``judgement``."""

    found: Found
    notes: Mapping[str, Any]
    judgement: Sifted | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """The result's own metadata and the notes, in a copy; it is never changed itself."""
        return {**self.found.metadata, **self.notes}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A result that may not be used, with the first reason that applies, and it in words."""

    found: Found
    reason: str
    detail: str
    about: str | None = None
    standing: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """What was left out, as a JSON object."""
        names = ("reason", "detail", "about", "standing")
        return {"id": self.found.id, **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        return f"{self.found.id or '(no id)'}: {self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Sifting:
    """The results of one search at one view: those kept, in their order, and those left out."""

    view: TruthView
    kept: tuple[Kept, ...]
    left_out: tuple[LeftOut, ...]

    def __iter__(self) -> Iterator[Kept]:
        return iter(self.kept)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the ledger itself found for a question: its hits as results, and the whole answer, which
    says what is missing and why."""

    view: TruthView
    answer: Recalled
    kept: tuple[Kept, ...]

    def __iter__(self) -> Iterator[Kept]:
        return iter(self.kept)


@dataclass
class Sieve:
    """Judges results by the views of one ledger.

    ``ledger`` is an open one, or the path of one, which is opened when it is first asked (and then
    closed by `close`). ``valid_at`` (now, where it is left out) and ``known_at`` (the newest) hold
    where a call names none. ``unknown`` says what becomes of results that declare nothing, or only
    ids that the ledger never had: ``drop``, ``flag`` (kept, with the status ``unknown``) or
    ``keep`` (as they are). ``annotate`` gives what a result rests on, where its metadata does not
    say it in the documented keys: a function from a `Found` to a mapping of these keys, or `None`.
    ``keys`` is the file of keys of an encrypted ledger given by its path. Raises `CallerError`.
    """

    ledger: Ledger | str | os.PathLike[str]
    _: KW_ONLY
    valid_at: Instant | None = None
    known_at: Instant | int | None = None
    workspace: str = ""
    perspective: str | None = None
    shared: bool = True
    unknown: Unknown = "drop"
    archived: bool = False
    annotate: Callable[[Found], Mapping[str, Any] | None] | None = None
    keys: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.unknown not in ("drop", "flag", "keep"):
            raise CallerError(f"unknown is {self.unknown!r:.60}; give drop, flag or keep")
        if self.annotate is not None and not callable(self.annotate):
            raise CallerError(f"annotate is {self.annotate!r:.60}; give a function of a result")
        self._opened: Ledger | None = None
        # whether it is said no more that all of what was found is unknown
        self.quiet = False
        # how much had been erased when a view was captured: a pinned one moves by nothing else
        self._erased: WeakKeyDictionary[TruthView, int] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_opened": None, "_erased": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_erased": WeakKeyDictionary()})

    # -- the ledger

    @property
    def open(self) -> Ledger:
        """The ledger, opened where only its path was given."""
        if not isinstance(self.ledger, str | os.PathLike):
            return self.ledger
        with _opening:  # several threads may be the first to ask
            if self._opened is None:
                import doxa

                self._opened = doxa.open(self.ledger, create=False, keys=self.keys)
            return self._opened

    def close(self) -> None:
        """Closes the ledger where it was opened here; the next call opens it again."""
        with _opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def view(
        self, valid_at: Instant | None = None, known_at: Instant | int | None = None
    ) -> TruthView:
        """The view at these times, or else at those of the sieve, or else now."""
        at = self.valid_at if valid_at is None else valid_at
        view = self.open.view(
            valid_at=datetime.now(UTC) if at is None else at,
            known_at=self.known_at if known_at is None else known_at,
            workspace=self.workspace,
            perspective=self.perspective,
            shared=self.shared,
        )
        self._erased[view] = erased(self.open)
        return view

    def still(self, view: TruthView) -> None:
        """Raises `ViewMoved` where what the view sees has moved since it was captured: with a
        ``known_at``, where something was erased since."""
        ledger = self.open
        if ledger.moved(view):
            raise ViewMoved(
                f"the truth moved past revision {view.revision} since the view was captured; ask "
                "again"
            )
        if self._erased.setdefault(view, now := erased(ledger)) != now:
            raise ViewMoved(
                f"something was erased since the view of revision {view.revision} was captured; "
                "ask again"
            )

    # -- judging

    def sift(self, found: Sequence[Found], view: TruthView) -> Sifting:
        """Each result, judged at a view. Ask `still` before it is handed on. Where all of them are
        unknown, and so dropped, it warns once (`NothingDeclared`)."""
        self._erased.setdefault(view, erased(self.open))
        known = [basis(one, view, self.annotate) for one in found]
        candidates = [
            {"id": f"{_NO_ID}{number}", "text": told(one.text, fields, view), **fields}
            for number, (one, fields) in enumerate(zip(found, known, strict=True))
        ]
        for candidate in candidates:
            if not candidate["text"].strip():
                candidate["text"] = _WORDLESS
        judged = self.open.judge_candidates(candidates, view, archived=self.archived)
        at = _coordinates(view)
        kept: list[Kept] = []
        left_out: list[LeftOut] = []
        for one, fields, judgement in zip(found, known, judged, strict=True):
            if judgement.eligible:
                kept.append(Kept(one, _notes(at, one, fields, judgement), judgement))
            elif self.unknown != "drop" and _unknown(view, one, fields, judgement):
                flag = _flag(at, one, judgement) if self.unknown == "flag" else _stale(one)
                kept.append(Kept(one, flag, None))
            else:
                left_out.append(_left_out(one, judgement))
        silent = left_out and not kept and self.unknown == "drop" and not self.quiet
        if silent and all(map(_unknown, repeat(view), found, known, judged)):
            self.quiet = True
            warn(nothing_known(self.open, found, known, self.annotate))
        return Sifting(view, tuple(kept), tuple(left_out))

    def filter(
        self,
        found: Sequence[Found],
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Sifting:
        """`sift` at a view that is captured now, and that has not moved when it is done."""
        view = self.view(valid_at, known_at)
        sifting = self.sift(found, view)
        self.still(view)
        return sifting

    async def afilter(
        self,
        found: Sequence[Found],
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Sifting:
        """`filter` for asynchronous code, in a thread, with the same result."""
        return await asyncio.to_thread(self.filter, found, valid_at, known_at)

    def assemble(
        self,
        query: str,
        found: Sequence[Found],
        view: TruthView,
        *,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
    ) -> Block:
        """The block of what may be believed of the results: whole texts with their citations,
        conflicts with all their sides, within a budget. What is unknown is never in it. Raises
        `ViewMoved`, and returns nothing, where the truth moved meanwhile."""
        candidates = []
        for number, (one, id) in enumerate(zip(found, _unique(found), strict=True)):
            ranked = one.score is not None and isfinite(one.score)
            score = one.score if ranked else 1 / (1 + number)
            fields = basis(one, view, self.annotate)
            text = told(one.text, fields, view)
            candidates.append({"id": id, "text": text, "score": score, **fields})
        self._erased.setdefault(view, erased(self.open))
        made = self.open.assemble(
            query,
            view=view,
            candidates=candidates,
            budget=budget,
            count=count,
            top_k=top_k,
            archived=self.archived,
        )
        self.still(view)
        return made

    def recall(
        self,
        query: str,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> Remembered:
        """What the ledger itself finds for a question, as results; ``options`` are those of
        `Ledger.recall`. Raises `ViewMoved` where the truth moved meanwhile."""
        view = self.view(valid_at, known_at)
        if self.archived:
            options = {"archived": True, **options}
        answer = self.open.recall(query, view=view, **options)
        self.still(view)
        return Remembered(view, answer, tuple(_of_hit(view, hit) for hit in answer))

    @staticmethod
    def unheard_of(view: TruthView, fields: Mapping[str, Any], id: str | None = None) -> bool:
        """Whether the ledger never had any of the ids and sources that these fields of a candidate
        name or, where they name none, the ``id``."""
        return unheard_of(view, fields, id)


def erased(ledger: Ledger) -> int:
    """How much of a ledger was erased by now, in any process."""
    return len(ledger._stream.capture()[0].belief.graph.erased)


def _unique(found: Sequence[Found]) -> list[str]:
    """An id for each result: its own where no other has it and it is one, else its place."""
    count_of = Counter(one.id for one in found)
    ids = []
    for number, one in enumerate(found):
        id = one.id
        if not id or count_of[id] > 1 or not id.strip() or surrogate(id) is not None:
            id = f"#{number + 1}"
            while id in count_of:
                id = f"#{id}"
        ids.append(id)
    return ids


def _unknown(view: TruthView, one: Found, fields: Mapping[str, Any], judgement: Sifted) -> bool:
    """Whether a result is left out since the ledger knows nothing of it, and for nothing else."""
    unread = judgement.reason is Reason.INVALID_ANNOTATION
    return not unread and unheard_of(view, fields, one.id)


def _notes(
    at: Mapping[str, Any], one: Found, fields: Mapping[str, Any], judgement: Sifted
) -> dict[str, Any]:
    """What is noted beside a result that may be used."""
    new = {name: value for name, value in fields.items() if _KEYS[name] not in one.metadata}
    return {
        **_stale(one),
        **annotated(new),
        "truth_status": str(judgement.standing),
        "truth_label": judgement.label,
        "valid_from": _iso(judgement.valid_from),
        "valid_to": _iso(judgement.valid_to),
        **at,
    }


def _flag(at: Mapping[str, Any], one: Found, judgement: Sifted) -> dict[str, Any]:
    """What is noted beside a result of which the ledger knows nothing."""
    said = {"truth_status": UNKNOWN, "truth_reason": str(judgement.reason)}
    return {**_stale(one), **said, **at}


def _stale(one: Found) -> dict[str, Any]:
    """What another judgement said of a result, or its author, and this one doesn't."""
    return dict.fromkeys(key for key in _JUDGED if key in one.metadata)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else times.iso(times.instant(at))


def _coordinates(view: TruthView) -> dict[str, Any]:
    """The view that a result was judged at."""
    return {
        "view_revision": view.revision,
        "truth_valid_at": _iso(view.valid_at),
        "known_at": _iso(view.known_at),
    }


def _of_hit(view: TruthView, hit: Hit) -> Kept:
    """A hit of a recall as a result: its text is what may be handed on."""
    rests: dict[str, dict[str, Any]] = {
        "claim": {"facts": [hit.id]},
        "summary": {"artefact": hit.id},
        "quote": {
            "supports": [hit.id],
            "facts": [
                in_place(one.id, one.workspace, view)
                for one in hit.references
                if one.kind == "claim"
            ],
        },
    }
    fields = rests.get(str(hit.tier), {})
    about = {name: getattr(hit, name) for name in ("subject", "predicate", "kind")}
    sources = dict.fromkeys(each.source for each in hit.attribution if each.source is not None)
    found = Found(
        hit.text,
        {
            **{name: value for name, value in about.items() if value is not None},
            "sources": json.dumps(list(sources), ensure_ascii=False),
        },
        hit.id,
        hit.score,
        hit,
    )
    notes = {
        **annotated(fields),
        "truth_status": None if hit.standing is None else str(hit.standing),
        "truth_verdict": str(hit.verdict),
        "truth_confidence": hit.confidence,
        "truth_label": hit.label,
        "valid_from": _iso(hit.valid_from),
        "valid_to": _iso(hit.valid_to),
        **_coordinates(view),
    }
    return Kept(found, notes)


def _left_out(one: Found, judgement: Sifted) -> LeftOut:
    standing = None if judgement.standing is None else str(judgement.standing)
    return LeftOut(one, str(judgement.reason), judgement.detail or "", judgement.about, standing)
