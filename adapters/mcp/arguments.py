"""What the tools take: models whose descriptions an agent reads in place of a manual."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from doxa.adapters.mcp.given import Given

__all__ = [
    "Arguments",
    "Assembling",
    "Claiming",
    "Correcting",
    "Diffing",
    "History",
    "Looking",
    "Named",
    "Offered",
    "Recalling",
    "Reconciling",
    "Sourced",
    "Supporting",
    "Viewing",
    "Why",
    "Withdrawing",
    "of_any_workspace",
]

_ISO: Final = "ISO 8601 text, such as 2024-03-01 (its 00:00Z) or 2024-03-01T09:00:00Z"
_JSON_TYPES: Final[Any] = {"type": ["string", "number", "boolean", "object", "array", "null"]}


ValidAt = Annotated[
    str | None,
    Field(
        description="When it applies in the world, which is not when it was recorded: "
        f"{_ISO}, or now. Default: now.",
    ),
]
KnownAt = Annotated[
    str | int | None,
    Field(
        description="What had been recorded by then: an ISO 8601 time, or a revision (a number "
        "from an earlier answer). Default: everything recorded so far.",
    ),
]
SeenRevision = Annotated[
    int | None,
    Field(
        ge=0,
        description="The revision of an earlier answer that you rely on: the call fails with "
        "view_moved if anything was recorded since.",
    ),
]
Perspective = Annotated[
    str | None, Field(description="Claims of this point of view only. Default: all.")
]
Expected = Annotated[
    int | None,
    Field(
        ge=0,
        description="The revision of the answer on which you decided this: nothing is recorded, "
        "and the call fails with revision_conflict, if the workspace has moved since.",
    ),
]
NewId = Annotated[
    str | None,
    Field(
        description="An id of your own for what is recorded. With it the call can be repeated "
        "safely: the same id and content again change nothing. Default: one is made, and each "
        "call records anew.",
    ),
]
ValidFrom = Annotated[
    str | None,
    Field(description=f"From when on it applies in the world: {_ISO}. Default: open (always)."),
]
ValidTo = Annotated[
    str | None,
    Field(description="Until when it applies, exclusive; ISO 8601. Default: open (no end)."),
]
ValidUntil = Annotated[
    str | None,
    Field(description="The last day on which it applies, inclusive; instead of valid_to."),
]


class Named(Given):
    """An id together with its workspace."""

    workspace: str = Field(description='The workspace; "" is the shared one.')
    id: str


class Sourced(Given):
    """A source with what is known of it."""

    id: str = Field(description="The source's name or id, such as city register.")
    locator: str | None = Field(None, description="The place in it: a page, a line, a URL part.")
    quote: str | None = Field(None, description="Its words there, verbatim.")
    digest: str | None = Field(None, description="A digest of its content.")
    origin: str | None = Field(
        None,
        description="Who stands behind it. Sources of one origin do not corroborate each other.",
    )
    observed_at: str | None = Field(None, description=f"When it was looked at: {_ISO}.")


SourceGiven = Annotated[
    str | Sourced | None,
    Field(description="Where it comes from: the source's id, or an object with id and more."),
]
Because = Annotated[
    list[str | Named],
    Field(
        description="Ids of the claims that jointly justify it, in place of a source: it falls "
        "when one of them does."
    ),
]


class Arguments(Given):
    """What every tool's arguments are."""


class Looking(Arguments):
    """Of a tool that looks at a view."""

    valid_at: ValidAt = None
    known_at: KnownAt = None


class Recalling(Looking):
    """Of doxa_recall."""

    query: str = Field(description="The question, in plain words.", max_length=100_000)
    top_k: int = Field(10, ge=1, le=50, description="At most so many hits; a conflict is one.")
    subject: str | None = Field(None, description="Only what is about this subject, as recorded.")
    predicate: str | None = Field(None, description="Only what has this predicate, as recorded.")
    perspective: Perspective = None
    standing: list[str] | None = Field(
        None,
        description="Standings to search: reported, corroborated, contested (these are the "
        "default), hypothesis, unsupported, superseded, retracted, expired, not_yet_valid; or "
        '["any"]. What is not believed comes labelled, and is not to be acted on.',
    )
    budget: int = Field(12_000, ge=1, le=100_000, description="At most so many characters of hits.")
    cursor: str | None = Field(
        None, description="The cursor of an answer, to get what comes behind it; same query."
    )
    seen_revision: SeenRevision = None


class Offered(Given):
    """A text of your own, to be judged."""

    id: str = Field(description="Your id for it.")
    text: str | None = Field(None, description="The text; left out where artefact is given.")
    facts: list[str | Named] = Field([], description="Ids of the claims that it rests on.")
    supports: list[str | Named] = Field([], description="Ids of the evidence that it rests on.")
    citations: list[str | Named] = Field([], description="Ids of registered citations.")
    sources: list[str] = Field([], description="Names of sources that it rests on.")
    score: float = Field(0.0, description="Higher is better.")
    artefact: str | None = Field(None, description="The registered summary that it is.")


class Assembling(Looking):
    """Of doxa_assemble."""

    query: str = Field(
        description="The question that the block is to answer, in plain words.", max_length=100_000
    )
    budget: int = Field(
        1_500, ge=1, le=100_000, description="At most so many characters in the block."
    )
    top_k: int | None = Field(None, ge=1, le=100, description="At most so many texts.")
    subject: str | None = Field(None, description="Only what is about this subject, as recorded.")
    predicate: str | None = Field(None, description="Only what has this predicate, as recorded.")
    pinned: bool = Field(
        False, description="Put the pinned claims first, which are wanted in every answer."
    )
    candidates: list[Offered] | None = Field(
        None,
        max_length=200,
        description="Texts that another search found, each with the ids that it rests on: they "
        "are judged and rendered in place of what doxa finds.",
    )
    receipt: bool = Field(
        False,
        description="Return a receipt too: from it the same block can be made again, years later.",
    )
    seen_revision: SeenRevision = None


class Viewing(Looking):
    """Of doxa_view."""

    subject: str | None = Field(None, description="Claims about this subject only, as recorded.")
    predicate: str | None = Field(None, description="Claims of this predicate only, as recorded.")
    perspective: Perspective = None
    kind: str | None = Field(None, description="Claims of this kind only, such as hypothesis.")
    standing: list[str] | None = Field(
        None,
        description="Standings to list, such as superseded or retracted; or "
        '["any"]. Default: what is held (reported, corroborated, contested).',
    )
    limit: int = Field(50, ge=1, le=200, description="At most so many claims.")
    cursor: str | None = Field(
        None,
        description="The cursor of an answer, to get the next claims of the same view; give the "
        "same subject, predicate, perspective, kind and standing.",
    )


class Why(Looking):
    """Of doxa_why."""

    id: str = Field(description="The id of a claim, or of any other event, summary or citation.")
    limit: int = Field(200, ge=1, le=1_000, description="At most so many steps.")


class History(Arguments):
    """Of doxa_history."""

    subject: str = Field(description="What the claims are about, as recorded.")
    predicate: str = Field(description="What they say of it, as recorded.")
    valid_at: ValidAt = None
    perspective: Perspective = None
    limit: int = Field(50, ge=1, le=500, description="At most so many beliefs, the newest ones.")


class Diffing(Looking):
    """Of doxa_diff."""

    before_valid_at: str | None = Field(
        None, description="valid_at of the other, earlier view. Default: the same as valid_at."
    )
    before_known_at: str | int | None = Field(
        None,
        description="known_at of the other, earlier view: a time, or the revision of an earlier "
        "answer. Default: the same as known_at. Give this, or before_valid_at, or both.",
    )
    subject: str | None = Field(None, description="Claims about this subject only, as recorded.")
    perspective: Perspective = None
    limit: int = Field(100, ge=1, le=500, description="At most so many claims.")
    offset: int = Field(0, ge=0, description="Leave out so many of the first.")


class Reconciling(Looking):
    """Of doxa_reconcile."""

    since_valid_at: str | None = Field(
        None, description="valid_at of the earlier view to compare with. Default: valid_at."
    )
    since_known_at: str | int | None = Field(
        None,
        description="known_at of the earlier view: a time, or the revision of an earlier answer. "
        "Default: each text is compared with its state when it was registered.",
    )
    limit: int = Field(100, ge=1, le=500, description="At most so many texts of each list.")


class Claiming(Arguments):
    """Of doxa_claim."""

    subject: str = Field(description="What it is about: one line, such as ada.")
    predicate: str = Field(description="What is said of it: one line, such as lives_in.")
    object: Any = Field(
        description="The value: any JSON value, such as London.", json_schema_extra=_JSON_TYPES
    )
    text: str | None = Field(None, description="The claim as a sentence; it is found by its words.")
    source: SourceGiven = None
    because: Because = Field(default_factory=list)
    valid_from: ValidFrom = None
    valid_to: ValidTo = None
    valid_until: ValidUntil = None
    assumed: str | None = Field(
        None, description="How valid_from or valid_to were assumed, if the source does not say."
    )
    kind: str = Field("fact", description="fact, or hypothesis: which is never believed.")
    perspective: str = Field("", description="Whose point of view it is, if that matters.")
    id: NewId = None
    expected_revision: Expected = None


class Supporting(Arguments):
    """Of doxa_support."""

    claim: str = Field(description="The id of the claim.")
    source: SourceGiven = None
    because: Because = Field(default_factory=list)
    stance: Literal["supports", "refutes"] = Field(
        "supports", description="supports: evidence for the claim. refutes: evidence against it."
    )
    valid_from: ValidFrom = None
    valid_to: ValidTo = None
    valid_until: ValidUntil = None
    id: NewId = None
    expected_revision: Expected = None


class Withdrawing(Arguments):
    """Of doxa_withdraw."""

    target: str | None = Field(
        None,
        description="The id of what is taken back: a claim, support, correction, summary, "
        "citation, or another withdrawal (which restores what that took). Give this, or source.",
    )
    source: str | None = Field(
        None, description="A source of which everything is taken back, earlier and later."
    )
    reason: str | None = Field(None, description="Why, for the record.")
    asked_by: str | None = Field(None, description="Who asked for it, for the record.")
    valid_from: ValidFrom = None
    valid_to: ValidTo = None
    valid_until: ValidUntil = None
    id: NewId = None
    expected_revision: Expected = None


class Correcting(Arguments):
    """Of doxa_correct."""

    claim: str = Field(description="The id of the claim that is replaced.")
    object: Any = Field(
        None,
        description="The new value, which a new claim says of the same subject and predicate. "
        "Give one of object, by, by_nothing.",
        json_schema_extra=_JSON_TYPES,
    )
    by: str | None = Field(None, description="The id of an existing claim that replaces it.")
    by_nothing: bool = Field(False, description="true: it was wrong, and nothing replaces it.")
    source: SourceGiven = None
    because: Because = Field(default_factory=list)
    reason: str | None = Field(None, description="Why, for the record.")
    text: str | None = Field(None, description="The new claim as a sentence (with object).")
    valid_from: str | None = Field(
        None,
        description="From when on the new value applies, or the old one is wrong: ISO 8601, or "
        "open. Default: as the old claim. It changed in March: give that day.",
    )
    valid_to: str | None = Field(
        None, description="Until when, exclusive: ISO 8601, or open. Default: as the old claim."
    )
    id: NewId = None
    expected_revision: Expected = None


class _AnyWorkspace(Arguments):
    workspace: str = Field(
        "", description="The workspace. Default: the shared one, which all others see too."
    )


def of_any_workspace(model: type[Arguments]) -> type[Arguments]:
    """The arguments of a tool whose server is not bound to one workspace."""
    made: type[Arguments] = create_model(model.__name__, __base__=(model, _AnyWorkspace))
    return made
