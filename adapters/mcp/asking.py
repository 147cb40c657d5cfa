"""The tools that ask in words: hits, and blocks for a prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from doxa.adapters.mcp import results as res
from doxa.adapters.mcp.arguments import Assembling, Offered, Recalling
from doxa.adapters.mcp.desk import NOTICE, Desk
from doxa.adapters.mcp.sources import printed_sources
from doxa.adapters.mcp.telling import told_context, told_recalled
from doxa.engine.block import Block
from doxa.engine.candidates import LeftOut
from doxa.engine.envelope import Hit, Missing, Withheld
from doxa.engine.envelope import Recalled as Envelope
from doxa.engine.errors import DoxaError
from doxa.engine.items import iso_or_none
from doxa.engine.outcomes import Gap, Outcome

__all__ = ["Refused", "assemble", "recall"]

_SHOWN: Final = 20  # of what was withheld or left out
_SOURCES: Final = 16  # of one text

# What an agent can do about what is missing.
_NEXT: Final = {
    Gap.REVISION_UNPUBLISHED: "repeat the call in a moment",
    Gap.HISTORY_BOUNDARY: "ask at a later known_at",
    Gap.CANDIDATE_LIMIT: "give a larger budget or top_k, or name a subject or predicate",
    Gap.CONFLICT_COVERAGE: "give a larger budget, or ask doxa_why about the ids",
}
_OPERATOR: Final = "nothing that you can mend from here: tell the person who runs this server"


class Refused(DoxaError):
    """The gate that decides what may be believed could not run: there is no answer, which is not to
    say that nothing is known."""

    code = "refused"


def recall(desk: Desk, args: Recalling) -> tuple[res.Recalled, str]:
    """What a question finds, judged at a view. A cursor brings the instant of its own, where that
    was now."""
    cursor, _, at = (args.cursor or "").partition("@")
    if at and args.valid_at is None:
        args = args.model_copy(update={"valid_at": at})
    view = desk.view(args)
    asked: dict[str, Any] = {
        "subject": args.subject,
        "predicate": args.predicate,
        "standing": "any" if args.standing == ["any"] else args.standing,
    }
    answer = desk.ledger.recall(
        args.query,
        view=view,
        trust=desk.trust,
        cursor=None if args.cursor is None else cursor,
        top_k=args.top_k,
        budget=args.budget,
        **{name: value for name, value in asked.items() if value is not None},
    )
    _check_ran(answer)
    desk.check_unmoved(view, args.seen_revision)
    printed = set(answer.left_out)
    made = res.Recalled(
        notice=NOTICE,
        view=desk.seen(view, args),
        outcome=_outcome(answer),
        text=answer.text,
        hits=[_found(hit) for hit in answer.hits if hit.id not in printed],
        reasons=_reasons(answer),
        withheld=[_withheld(one) for one in answer.withheld[:_SHOWN]],
        withheld_more=max(0, len(answer.withheld) - _SHOWN),
        left_out=list(answer.left_out),
        warnings=_warnings(answer),
        cursor=None if answer.cursor is None else f"{answer.cursor}@{iso_or_none(view.valid_at)}",
    )
    return made, told_recalled(made)


def assemble(desk: Desk, args: Assembling) -> tuple[res.Context, str]:
    """A block of what may be believed, for a prompt."""
    view = desk.view(args)
    options: dict[str, Any] = {"budget": args.budget, "top_k": args.top_k}
    if args.candidates is None:
        filters = {"subject": args.subject, "predicate": args.predicate, "trust": desk.trust}
        options |= {name: value for name, value in filters.items() if value is not None}
        options["inject"] = "always_inject" if args.pinned else "on_demand"
    else:
        options["candidates"] = [_candidate(desk, one) for one in args.candidates]
    block = desk.ledger.assemble(args.query, view=view, **options)
    if block.recalled is not None:
        _check_ran(block.recalled)
    desk.check_unmoved(view, args.seen_revision)
    made = _context(desk, args, view, block)
    return made, told_context(made)


def _context(desk: Desk, args: Assembling, view: Any, block: Block) -> res.Context:
    answer = block.recalled
    return res.Context(
        notice=NOTICE,
        view=desk.seen(view, args),
        outcome="assembled" if answer is None else _outcome(answer),
        text=block.text,
        printed=[
            res.Printed(
                id=one.id,
                label=one.label,
                citations=list(one.citations),
                sources=sources[:_SOURCES],
                sources_more=max(0, len(sources) - _SOURCES),
            )
            for one, sources in zip(block.printed, printed_sources(block, view), strict=True)
        ],
        citations=[res.Cited(**one.as_dict()) for one in block.citations],
        conflicts=[list(one.ids) for one in block.notices],
        left_out=[_left(one) for one in block.left_out[:_SHOWN]],
        left_out_more=max(0, len(block.left_out) - _SHOWN),
        reasons=[] if answer is None else _reasons(answer),
        warnings=[*block.warnings, *(() if answer is None else _warnings(answer))],
        budget=block.budget,
        used=block.used,
        receipt=block.receipt.as_dict() if args.receipt else None,
    )


def _candidate(desk: Desk, given: Offered) -> dict[str, Any]:
    """A candidate as `assemble` takes it; what names an id out of reach is refused."""
    found = given.model_dump(exclude_unset=True)
    for name in ("facts", "supports", "citations"):
        if name in found:
            found[name] = desk.references(getattr(given, name))
    return found


def _check_ran(answer: Envelope) -> None:
    """Raises `Refused` where the gate could not run."""
    if answer.outcome is Outcome.REFUSED:
        told = "; ".join(
            f"{one.reason}: {one.detail}; {_next(answer, one)}" for one in answer.reasons
        )
        raise Refused(f"there is no answer, and nothing is said of what is known: {told}")


def _outcome(answer: Envelope) -> Any:
    return str(answer.outcome)


def _next(answer: Envelope, missing: Missing) -> str:
    if missing.reason is Gap.HISTORY_BOUNDARY and answer.view["live"]:
        return "there is nothing here to find yet"
    return _NEXT.get(missing.reason, _OPERATOR)


def _reasons(answer: Envelope) -> list[res.Reason]:
    found = [
        res.Reason(
            reason=str(one.reason), detail=f"{one.detail}; {_next(answer, one)}", ids=list(one.ids)
        )
        for one in answer.reasons
    ]
    said = answer.abstention
    if said is not None:
        found.append(res.Reason(reason=str(said.reason), detail=said.detail, ids=list(said.ids)))
    return found


def _warnings(answer: Envelope) -> list[str]:
    return [*answer.warnings, *(() if answer.gap_warning is None else (answer.gap_warning,))]


def _found(hit: Hit) -> res.Found:
    return res.Found(
        id=hit.id,
        workspace=hit.workspace,
        tier=None if hit.tier is None else str(hit.tier),
        verdict=str(hit.verdict),
        standing=None if hit.standing is None else str(hit.standing),
        label=hit.label,
        text=hit.text,
        subject=hit.subject,
        predicate=hit.predicate,
        object=hit.object,
        valid_from=iso_or_none(hit.valid_from),
        valid_to=iso_or_none(hit.valid_to),
        observed_at=iso_or_none(hit.observed_at),
        score=hit.score,
        confidence=hit.confidence,
        sources=_distinct(one.source for one in hit.attribution),
        contested_with=list(hit.contested_with),
        successors=list(hit.successors),
    )


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))


def _withheld(one: Withheld) -> res.Left:
    by = f"; replaced by {', '.join(one.successors)}" if one.successors else ""
    return res.Left(id=one.id, reason=str(one.verdict), detail=f"{one.detail}{by}")


def _left(one: LeftOut) -> res.Left:
    return res.Left(id=one.id, reason=str(one.reason), detail=one.detail)
