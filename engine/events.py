"""The events of the log, as models: what each may say, and what makes two of them equal.

Times in a model are microseconds; an open start is ``times.NEG``, an open end ``times.POS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import ClassVar, Final, Literal, Self

from pydantic import model_validator

from doxa.engine import times
from doxa.engine.fields import (
    CARRIED,
    Compaction,
    Compactions,
    Days,
    Digest,
    Erasure,
    Erasures,
    EventId,
    Label,
    Model,
    Name,
    Names,
    Parameters,
    Phrases,
    Ref,
    Reference,
    References,
    Share,
    SourceField,
    SourceRef,
    Text,
    Value,
    refuse,
)

__all__ = [
    "CARRIED",
    "CLASSES",
    "POLICIES",
    "Artefact",
    "Citation",
    "Claim",
    "Compaction",
    "Correction",
    "Erasure",
    "Event",
    "Policy",
    "Ref",
    "SourceRef",
    "Summary",
    "Support",
    "Withdrawal",
    "equality_key",
    "named",
    "same_content",
]

# The policies, each with the fields that go with it alone; every one may have a reason.
POLICIES: Final[dict[str, tuple[str, ...]]] = {
    "single_valued": (),
    "contradicts": (),
    "verified": (),
    "pinned": (),
    "calibrated": (),
    "scored": ("importance",),
    "expires": ("at",),
    "decays": ("days",),
    "archived": (),
    "restored": (),
    "rejected": ("predicate", "until", "evidence", "author"),
    "overrides": ("of", "author"),
    "blocked": ("of",),
    "redacted": (),
    "compacted": (),
}
_NAMING: Final = ("scored", "expires", "decays", "overrides", "blocked")  # and what they say of it


def named(value: object) -> tuple[str | Ref, ...]:
    """The references of a field: of one that holds one, none, or several."""
    if value is None:
        return ()
    if isinstance(value, str | Ref):
        return (value,)
    assert isinstance(value, tuple), value
    return value


class Event(Model):
    """What all events have. ``stated_at``: the time that a restamped line gave itself."""

    TYPE: ClassVar[str]
    SHAREABLE: ClassVar[tuple[str, ...]] = ()  # fields that may name shared ids

    id: EventId
    workspace: Label = ""
    stated_at: int | None = None

    @model_validator(mode="after")
    def _own_workspace(self) -> Self:
        for field in self.SHAREABLE:
            for ref in named(getattr(self, field)):
                if isinstance(ref, Ref) and ref.workspace not in ("", self.workspace):
                    refuse(
                        f"{field} names {ref.id!r} in workspace {ref.workspace!r}; only the "
                        'shared workspace "" may be named from another'
                    )
        return self

    def key(self, ref: str | Ref) -> Ref:
        """The workspace and id that a reference of this event means."""
        return ref if isinstance(ref, Ref) else Ref(self.workspace, ref)

    @property
    def erased(self) -> bool:
        """Whether the content is gone from the log; an event read from it then has no field set."""
        return not self.model_fields_set


class _Spanning(Event):
    valid_from: int = times.NEG
    valid_to: int = times.POS

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.valid_from >= self.valid_to:
            times.interval(self.valid_from, self.valid_to)
        return self

    @property
    def valid(self) -> times.Intervals:
        return (self.valid_from, self.valid_to)


class Claim(_Spanning):
    """A statement: subject, predicate, object, over an interval of valid time.

    With ``source`` or ``because`` it carries its own support, whose id is the claim's + "/support".
    ``recall_when`` are phrases at which it is to be recalled; belief makes nothing of them.
    """

    TYPE = "claim"
    SHAREABLE = ("because",)

    subject: Name
    predicate: Name
    object: Value
    text: Text | None = None
    kind: Name = "fact"
    perspective: Label = ""
    source: SourceField | None = None
    because: References = ()
    assumed: Text | None = None
    recall_when: Phrases = ()

    @model_validator(mode="after")
    def _one_basis(self) -> Self:
        if self.source is not None and self.because:
            refuse("has both source and because; give one, and a further support for the other")
        return self


class Support(_Spanning):
    """Evidence for or against one claim: from a source, or derived from other claims."""

    TYPE = "support"
    SHAREABLE = ("because",)

    claim: Name
    source: SourceField | None = None
    because: References = ()
    stance: Literal["supports", "refutes"] = "supports"
    assumed: Text | None = None

    @model_validator(mode="after")
    def _one_basis(self) -> Self:
        if (self.source is None) == (not self.because):
            refuse("needs exactly one of source and because (because names at least one claim)")
        return self


class Correction(Event):
    """A claim is replaced, by another or by nothing, over a portion of valid time.

    A bound that is ``None`` was left out and takes its default when the event is recorded.

    An **unresolved** correction has, in place of ``corrects``, the name as it was written: with the
    claims that it may mean as ``candidates``, or with none, and then it corrects the claim of that
    id once that arrives. ``resolves`` names the unresolved correction that this one settles.
    """

    TYPE = "correction"

    corrects: Name | None = None
    by: Name | None = None
    unresolved: Name | None = None
    candidates: Names = ()
    resolves: Name | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    source: SourceField | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _other(self) -> Self:
        if (self.corrects is None) == (self.unresolved is None):
            refuse("needs exactly one of corrects and unresolved (the name as it was written)")
        if self.by is not None and self.by in (self.corrects, self.unresolved, *self.candidates):
            refuse(f"corrects {self.by!r} by itself; name another claim, or none")
        if self.corrects is not None and self.candidates:
            refuse("has candidates, which go with an unresolved name only")
        if self.unresolved is not None and self.resolves is not None:
            refuse("resolves another correction, but is unresolved itself")
        if len(self.candidates) == 1:
            refuse(f"has one candidate, {self.candidates[0]!r}: say that it corrects that claim")
        return self

    @property
    def valid(self) -> times.Intervals:
        """The portion. An unresolved correction without bounds may concern all valid time."""
        if self.unresolved is not None:
            start = times.NEG if self.valid_from is None else self.valid_from
            return (start, times.POS if self.valid_to is None else self.valid_to)
        assert self.valid_from is not None, "portion not resolved"
        assert self.valid_to is not None, "portion not resolved"
        return (self.valid_from, self.valid_to)


class Withdrawal(_Spanning):
    """Takes back an event or artefact (``target``), or a whole source (``source``)."""

    TYPE = "withdrawal"

    target: Name | None = None
    source: Name | None = None
    reason: Text | None = None
    asked_by: SourceField | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.target is None) == (self.source is None):
            refuse("needs exactly one of target and source")
        if self.target == self.id:
            refuse("withdraws itself")
        return self


class Artefact(Event):
    SHAREABLE = ("facts", "supports", "citations")

    text: Text
    facts: References = ()
    supports: References = ()
    sources: tuple[Name, ...] = ()
    citations: References = ()
    binding: Literal["dependencies", "snapshot"] = "dependencies"
    subjects: tuple[Name, ...] | None = None
    valid_at: int | None = None

    @model_validator(mode="after")
    def _bound(self) -> Self:
        if self.binding != "snapshot" and (self.subjects is not None or self.valid_at is not None):
            refuse('has subjects or valid_at, which go with "binding": "snapshot" only')
        return self


class Citation(Artefact):
    """A quotation or reference; names at least one support."""

    TYPE = "citation"

    @model_validator(mode="after")
    def _supported(self) -> Self:
        if not self.supports:
            refuse("names no support; a citation names at least one")
        if self.citations:
            refuse("names citations; only a summary does")
        return self


class Summary(Artefact):
    """A text with declared dependencies; nothing is inferred from its words."""

    TYPE = "summary"

    @model_validator(mode="after")
    def _declared(self) -> Self:
        declared = self.facts or self.supports or self.sources or self.citations
        if not declared and self.binding != "snapshot":
            refuse("declares nothing that it rests on: facts, supports, sources or citations")
        return self


class Policy(Event):
    """A rule for the workspace, or for all where the workspace is the shared one; or what was
    decided about single records: one of these.

    - ``single_valued``: a predicate that has one value at a time. ``contradicts``: claims that
      can't all be so.
    - ``verified``: a claim that somebody checked. ``pinned``: one that is always to be given, and
      is never archived.
    - ``calibrated``: the parameters of a calibration, of which only ``embedder`` is looked at here.
    - ``scored``: a claim or artefact, and its ``importance`` from 0 to 1. ``expires``: one that is
      to be archived from the instant ``at`` on. ``decays``: a kind of claim, and in how many
      ``days`` of rest it fades to 1/e; without a number, never.
    - ``archived``, ``restored``: claims and artefacts that are hidden from recall, or no longer.
    - ``rejected``: the keyed digest of a value that nobody may record, with a ``predicate`` where
      it is meant of that alone, ``until`` when, the ``evidence`` and the ``author``.
      ``overrides``: a rejection, in spite of which the claim ``of`` is recorded. ``blocked``: a
      rejection, by which the claim ``of`` was kept out.
    - ``redacted``: what was erased. ``compacted``: what the log keeps a record of alone.
    """

    TYPE = "policy"
    SHAREABLE = ("overrides", "blocked")

    single_valued: Name | None = None
    contradicts: tuple[Name, ...] = ()
    verified: Name | None = None
    pinned: Name | None = None
    calibrated: Parameters = None
    scored: Name | None = None
    importance: Share | None = None
    expires: Name | None = None
    at: int | None = None
    decays: Name | None = None
    days: Days | None = None
    archived: Names = ()
    restored: Names = ()
    rejected: Digest | None = None
    predicate: Name | None = None
    until: int | None = None
    evidence: Text | None = None
    author: Label | None = None
    overrides: Reference | None = None
    blocked: Reference | None = None
    of: Name | None = None
    redacted: Erasures = ()
    compacted: Compactions = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _one_policy(self) -> Self:
        named = [name for name in POLICIES if getattr(self, name)]
        if len(named) != 1:
            refuse(f"needs exactly one of {', '.join(POLICIES)}")
        for policy, fields in POLICIES.items():
            for field in fields:
                given = getattr(self, field) is not None
                if given and field not in POLICIES[named[0]]:
                    refuse(f"has {field}, which goes with {policy} only")
        for field in POLICIES[named[0]] if named[0] in _NAMING else ():
            if getattr(self, field) is None and field not in ("days", "author"):
                refuse(f"needs {field} beside {named[0]}")
        if self.contradicts and len(set(self.contradicts)) < 2:
            refuse("contradicts names fewer than two claims")
        return self

    @property
    def policy(self) -> str:
        """Which policy it is; of an erased one, what its header still names, or none."""
        return next((name for name in POLICIES if getattr(self, name)), "")


CLASSES: Final[dict[str, type[Event]]] = {
    cls.TYPE: cls for cls in (Claim, Support, Withdrawal, Correction, Citation, Summary, Policy)
}


# ---------------------------------------------------------------- equality


def equality_key(value: object) -> str:
    """Text that is equal for equal JSON values: numbers by value, text by code point.

    >>> equality_key(1) == equality_key(1.0) != equality_key(True)
    True
    """
    kind = type(value)
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is int:
        return f"{value:x}"
    if isinstance(value, float):
        return f"{int(value):x}" if value.is_integer() else repr(value)
    if isinstance(value, Mapping):
        inner = (f"{encode_basestring(k)}:{equality_key(value[k])}" for k in sorted(value))
        return "{" + ",".join(inner) + "}"
    assert isinstance(value, list | tuple), f"{value!r} is no JSON value"
    return "[" + ",".join(equality_key(item) for item in value) + "]"


def same_content(one: Event, other: Event) -> bool:
    """Whether two events say the same, whenever each was recorded."""
    return type(one) is type(other) and all(
        _equal(_said(one, field), _said(other, field))
        for field in type(one).model_fields
        if field != "stated_at"
    )


def _said(event: Event, field: str) -> object:
    """What a field says; of references, what they mean, each once."""
    value = getattr(event, field)
    if field in type(event).SHAREABLE:
        return tuple(dict.fromkeys(map(event.key, named(value))))
    return value


def _equal(one: object, other: object) -> bool:
    if isinstance(one, SourceRef) or isinstance(other, SourceRef):
        return one == other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one == other
    return equality_key(one) == equality_key(other)
