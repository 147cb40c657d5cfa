"""What an assembly gives back: the text, what is printed in it, and what is not.

What was decided is kept as tuples. The objects for `printed` and `left_out`, and the receipt, are
made of it when they are first asked for: all that they say was settled when the block was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from doxa.engine import receipt as receipts
from doxa.engine.candidates import Given, LeftOut, Omission, Unread
from doxa.engine.errors import CallerError
from doxa.engine.receipt import Receipt
from doxa.engine.registry import Reason
from doxa.engine.rendering import source_names

if TYPE_CHECKING:
    from doxa.engine.envelope import Recalled

__all__ = [
    "Block",
    "Citation",
    "Made",
    "Notice",
    "Printed",
    "PrintedText",
    "block_of",
    "recalled_as",
]


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation printed in a block, under its number; ``sources`` are those it is from."""

    number: int
    id: str
    text: str
    supports: tuple[str, ...]
    sources: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{self.number}] {source_names(self.sources)}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """The citation as a JSON object."""
        return {
            "number": self.number,
            "id": self.id,
            "text": self.text,
            "supports": list(self.supports),
            "sources": list(self.sources),
        }


@dataclass(frozen=True, slots=True)
class Printed:
    """One text printed in a block: a candidate's (``kind`` is ``candidate``), or the side of a
    conflict in its own words (``claim`` or ``support``, whose ``id`` it then is).

    ``unit`` numbers what was printed together, from 1; ``citations`` are numbers.
    """

    id: str
    kind: str
    unit: int
    label: str
    citations: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The text's place in the block as a JSON object."""
        return PrintedText(self.id, self.kind, self.unit, self.label, self.citations).as_dict()


class PrintedText(NamedTuple):
    """What a `Printed` is made of, when somebody asks for it."""

    id: str
    kind: str
    unit: int
    label: str
    citations: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON object of the `Printed`."""
        return {
            "id": self.id,
            "kind": self.kind,
            "unit": self.unit,
            "label": self.label,
            "citations": list(self.citations),
        }


@dataclass(frozen=True, slots=True)
class Notice:
    """A conflict that did not fit: the ids of its sides are printed in its place."""

    unit: int
    ids: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The notice as a JSON object."""
        return {"unit": self.unit, "ids": list(self.ids)}


class Views(Protocol):
    """What `Block.verify` asks of a ledger."""

    @property
    def revision(self) -> int: ...

    def moved(self, view: Mapping[str, Any]) -> bool: ...


class Made(NamedTuple):
    """What was asked and decided, for what a block makes of it later. Nothing in it changes."""

    view: Mapping[str, Any]
    query: str
    candidates: Sequence[Given | Unread] | None
    top_k: int | None
    frame: str | None
    archived: bool
    renderer: str
    printed: Sequence[PrintedText]
    omissions: Sequence[Omission]


class _Later:
    """Where a block has what the rest of it is made of."""

    __slots__ = ("_made", "_recalled", "_warnings")
    _made: Made
    _recalled: Recalled | None
    _warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block(_Later):
    """What an assembly printed, and what it did not: ``text`` is never over ``budget``.

    ``printed`` has the texts in order, ``citations`` what they cite, ``notices`` the conflicts that
    did not fit, ``left_out`` every candidate that is not in it with the reason. ``used`` is what
    the text costs in ``unit`` (``characters``, or the counter's name).
    """

    text: str
    printed: tuple[Printed, ...]
    citations: tuple[Citation, ...]
    notices: tuple[Notice, ...]
    left_out: tuple[LeftOut, ...]
    budget: int
    used: int
    unit: str
    receipt: Receipt = field(repr=False)  # long, and for keeping rather than for reading

    if not TYPE_CHECKING:  # of an attribute that is there, nobody asks this

        def __getattr__(self, name: str) -> Any:
            make = _MAKERS.get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = make(self)
            object.__setattr__(self, name, value)
            return value

    def __str__(self) -> str:
        return self.text

    @property
    def view(self) -> Mapping[str, Any]:
        """The coordinates of the view that it was made at."""
        made = getattr(self, "_made", None)
        return self.receipt.view if made is None else dict(made.view)

    @property
    def recalled(self) -> Recalled | None:
        """The answer that it was made from; ``None`` where there was no question to answer."""
        return getattr(self, "_recalled", None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever asked should know besides, such as that more is pinned than is given."""
        return getattr(self, "_warnings", ())

    @property
    def ids(self) -> tuple[str, ...]:
        """The candidates that are printed, in order."""
        return tuple(one.id for one in self.printed if one.kind == "candidate")

    @property
    def reasons(self) -> dict[str, Reason]:
        """The reason why each candidate is not in the block, by its id."""
        return {one.id: one.reason for one in self.left_out}

    def verify(self, ledger: Views) -> bool:
        """Whether nothing that the block's view sees was recorded since: ``False`` once it moved.

        A block of a historical view stays true. Raises `CallerError` where the ledger ends before
        the view, so that it can't be the one it was made from.
        """
        view = self.view
        if ledger.revision < view["horizon"]:
            raise CallerError(
                f"the block is of revision {view['horizon']}; this ledger ends at "
                f"{ledger.revision}: it is another ledger, or an older copy"
            )
        return not ledger.moved(view)

    def as_dict(self) -> dict[str, Any]:
        """The block as a JSON object, with its receipt."""
        asked = self.recalled
        more: dict[str, Any] = {} if asked is None else {"recalled": asked.as_dict()}
        if self.warnings:
            more["warnings"] = list(self.warnings)
        return {
            "text": self.text,
            "printed": [one.as_dict() for one in self.printed],
            "citations": [one.as_dict() for one in self.citations],
            "notices": [one.as_dict() for one in self.notices],
            "left_out": [one.as_dict() for one in self.left_out],
            "budget": self.budget,
            "used": self.used,
            "unit": self.unit,
            "view": dict(self.view),
            "receipt": self.receipt.as_dict(),
            **more,
        }


def recalled_as(block: Block, recalled: Recalled | None, warnings: tuple[str, ...]) -> Block:
    """A block with the answer that it was made from."""
    object.__setattr__(block, "_recalled", recalled)
    object.__setattr__(block, "_warnings", warnings)
    return block


def linked(block: Block, link: tuple[int, bytes] | None) -> Block:
    """A block whose view and receipt have the link in the chain at the view's horizon, where it is
    known: by it the log can be compared later with what it was."""
    if link is not None:
        made = block._made
        view = {**made.view, receipts.LINK: link[1].hex()}
        object.__setattr__(block, "_made", made._replace(view=view))
    return block


def block_of(made: Made, **known: Any) -> Block:
    """A block of which all but `printed`, `left_out` and `receipt` is known."""
    block = object.__new__(Block)
    for name, value in known.items():
        object.__setattr__(block, name, value)
    object.__setattr__(block, "_made", made)
    return block


def _receipt(block: Block) -> Receipt:
    made = block._made
    decisions = {
        "printed": [one.as_dict() for one in made.printed],
        "citations": [one.id for one in block.citations],
        "notices": [one.as_dict() for one in block.notices],
        "left_out": [one.as_dict() for one in made.omissions],
        "used": block.used,
    }
    request = receipts.request_json(
        made.query, made.candidates, block.budget, made.top_k, made.frame, made.archived
    )
    return receipts.make(
        made.view,
        request,
        decisions,
        renderer=made.renderer,
        counter=block.unit,
        text=block.text,
    )


_MAKERS: Final[Mapping[str, Callable[[Block], object]]] = {
    "printed": lambda block: tuple(Printed(*one) for one in block._made.printed),
    "left_out": lambda block: tuple(LeftOut(*one) for one in block._made.omissions),
    "receipt": _receipt,
}
