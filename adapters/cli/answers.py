"""How an answer is shown to people: its text, what is missing and why, and what was done for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from doxa.adapters.cli.failures import CALLER, DONE, NO
from doxa.adapters.cli.output import note, say, table
from doxa.engine.calibration import DEFAULT, Calibration, HeldOut
from doxa.engine.envelope import Hit, Recalled
from doxa.engine.outcomes import Gap, Outcome, Trust
from doxa.engine.trust import Abstinence

__all__ = ["code", "explain", "fitted", "tell", "tell_reasons"]

_CODES: Final = {
    Outcome.ANSWERED: DONE,
    Outcome.PARTIAL: DONE,
    Outcome.ABSTAINED: NO,
    Outcome.REFUSED: CALLER,
}

# What to do about what is missing.
_NEXT: Final = {
    Gap.REVISION_UNPUBLISHED: "leave --no-fresh out, or run doxa index",
    Gap.SOURCE_UNAVAILABLE: "doxa why says what the ids rested on; doxa verify, whether the log is "
    "whole",
    Gap.INDEX_UNAVAILABLE: "run doxa verify, then doxa index",
    Gap.HISTORY_BOUNDARY: "ask at a later --known-at",
    Gap.CANDIDATE_LIMIT: "give a larger --pool or --scan-limit, or narrower filters",
    Gap.CONFLICT_COVERAGE: "give a larger --budget, or look at the ids with doxa why",
    Gap.VECTORS_UNAVAILABLE: "give --embedder, and run doxa index with it; or ask with --mode "
    "lexical --trust standing",
    Gap.NOT_READY: "run doxa index with this --embedder",
    Gap.LINEAGE_MISMATCH: "ask with the embedder that made the vectors, or run doxa index with "
    "this one",
    Gap.CALIBRATION_MISSING: "run doxa calibrate, or ask with --trust standing",
    Gap.CALIBRATION_UNCERTIFIED: "calibrate with more questions, or ask with --trust standing",
    Gap.CALIBRATION_STALE: "run doxa calibrate again; doxa calibration --drift says how far off it "
    "is",
    Gap.DEPENDENCY_UNAVAILABLE: "see to the embedder, reranker or judge that is named, or give "
    "--timeout",
}
assert set(_NEXT) == set(Gap)

_ASIDE: Final = {
    Abstinence.NOTHING_FOUND: "ask in other words, or list what is held with doxa view",
    Abstinence.SUPERSEDED: "--standing superseded shows it",
    Abstinence.RETRACTED: "doxa why says by what",
    Abstinence.UNSUPPORTED: "doxa why says what is gone",
    Abstinence.HYPOTHESIS: "--standing hypothesis shows it",
    Abstinence.BELOW_BOUNDARY: "it is shown, to be read and not to be acted on; ask more precisely",
    Abstinence.NOT_ENTAILED: "it is shown, to be read and not to be acted on",
}


def code(answer: Recalled) -> int:
    """The exit code: 0 where there is something to act on, 1 where not, 2 where it was refused."""
    return _CODES[answer.outcome]


def tell(answer: Recalled) -> None:
    """The answer's text on stdout, and what is missing on stderr."""
    if answer.text:
        say(answer.text)
    tell_reasons(answer)
    if answer.budget is not None:
        note(f"{answer.used} of {answer.budget} {answer.unit}")
    if answer.cursor is not None:
        note(f"there is more; go on with --cursor {answer.cursor}")


def tell_reasons(answer: Recalled) -> None:
    """How an answer came out, what is missing from it and why, and what to do, on stderr."""
    pool = answer.pool
    looked = f"{pool.documents} document(s) in sight, {pool.scanned} looked at ({pool.state})"
    refused = answer.outcome is Outcome.REFUSED
    told = "no text goes out" if refused else f"{len(answer.hits)} hit(s); {looked}"
    note(f"{answer.outcome}: {told}")
    if answer.abstention is not None:
        said = answer.abstention
        note(f"  {said.reason}: {said.detail}")
        if said.reason in _ASIDE:
            note(f"  next: {_ASIDE[said.reason]}")
    for missing in answer.reasons:
        ids = [id for id in missing.ids if id not in missing.detail]
        note(f"  {missing}" + (f" ({', '.join(ids)})" if ids else ""))
        note(f"  next: {_NEXT[missing.reason]}")
    for old in answer.withheld:
        after = f"; see {', '.join(old.successors)}" if old.successors else ""
        kind = "" if old.tier is None else f" ({old.tier})"
        note(f"withheld: {old.id}{kind}: {old.verdict}: {old.detail}{after}")
    for id in answer.left_out:
        note(f"left out: {id}: does not fit in the budget")
    for warning in _warnings(answer):
        note(f"warning: {warning}")


def _warnings(answer: Recalled) -> Iterator[str]:
    yield from answer.warnings
    if answer.gap_warning is not None:
        yield answer.gap_warning
    stale = answer.staleness
    if stale is not None and stale.stale and stale.max_age is not None:
        yield (
            f"the newest of it was observed {stale.age / 86_400:.1f} days before, and at most "
            f"{stale.max_age / 86_400:.1f} were asked for"
        )


# ---------------------------------------------------------------- explanations


def explain(answer: Recalled, calibration: Calibration | None) -> None:
    """Why the hits are judged and placed as they are, as tables on stdout."""
    if answer.text:
        say("")
    if answer.hits:
        _tell_hits(answer)
        say("")
    if any(arm["available"] for arm in answer.trace["arms"]):  # else none was asked
        columns = ("arm", "available", "fired", "found", "scanned", "eligible")
        table(columns, [_arm(arm) for arm in answer.trace["arms"]])
        say("")
    table(("trust", str(answer.trust)), [*_gate(answer, calibration), *_order(answer)])


def _tell_hits(answer: Recalled) -> None:
    """The hits with their scores, such columns as there are; and how they got here."""
    names = [arm["name"] for arm in answer.trace["arms"]]
    columns: dict[str, list[float | None]] = {
        "confidence": [hit.confidence for hit in answer.hits],
        "score": [hit.score for hit in answer.hits],
        **{name: [hit.scores.get(name) for hit in answer.hits] for name in names},
    }
    known = {name: some for name, some in columns.items() if any(one is not None for one in some)}
    rows = [
        (hit.id, hit.verdict, *(_number(some[number]) for some in known.values()))
        for number, hit in enumerate(answer.hits)
    ]
    table(("hit", "verdict", *known), rows)
    for hit in answer.hits:
        if because := _because(hit):
            say(f"{hit.id}: {because}")


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _because(hit: Hit) -> str:
    """How it got here, where it did not by its score alone."""
    found = []
    if hit.nominated:
        found.append("nominated by a phrase")
    if hit.promoted_from is not None:
        found.append(f"promoted from {hit.promoted_from}")
    if hit.fetched == "conflict":
        found.append("a side of the conflict")
    if hit.validity is not None:
        found.append(f"{hit.validity['grade']}, worth {hit.validity['multiplier']:.3f}")
    return ", ".join(found)


def _arm(arm: dict[str, object]) -> tuple[object, ...]:
    counts = (arm["found"], arm["scanned"], arm["eligible"])
    return arm["name"], arm["available"], arm["fired"], *map(str, counts)


_GATES: Final = {
    Trust.STRICT: "what is below the boundary is not to be acted on",
    Trust.STANDING: "standing alone decides; confidence is not judged",
    Trust.DEVELOPMENT: "nothing is judged; confidence is only shown",
}


def _gate(answer: Recalled, calibration: Calibration | None) -> Iterator[tuple[str, object]]:
    yield "gate", _GATES[Trust(answer.trust)]
    if answer.trust == Trust.STANDING:
        return
    if calibration is None:
        yield "calibrated", "no; the boundary and the scale are the defaults"
        yield "boundary", f"{DEFAULT.boundary:.3f}"
        yield "scale", f"{DEFAULT.scale:.3f}"
        return
    yield "calibrated", "yes" if answer.calibrated else "no"
    yield from fitted(calibration)


def _order(answer: Recalled) -> Iterator[tuple[str, object]]:
    """What put the hits in their order."""
    trace, fusion = answer.trace, answer.trace.get("fusion")
    if fusion is not None:
        yield "fused", f"{', '.join(fusion['arms'])} (reciprocal ranks, {fusion['k']})"
    if trace.get("rerank"):
        yield "reranked", True
    if trace.get("validity") is not None:
        yield "validity", trace["validity"]["why"]
    if trace.get("entailment") is not None:
        yield "judged", f"{trace['entailment']} hit(s)"


def fitted(calibration: Calibration) -> Iterator[tuple[str, object]]:
    """A calibration in words."""
    held = calibration.held_out
    yield "calibration", calibration.id
    yield "embedder", f"{calibration.embedder}, {calibration.dimension} dimensions"
    yield "boundary", f"{calibration.boundary:.3f}: a score from here on is an answer"
    yield "scale", f"{calibration.scale:.3f}"
    yield (
        "fitted with",
        f"{calibration.answerable} answerable and {calibration.unanswerable} unanswerable "
        f"questions, {calibration.documents} documents",
    )
    yield (
        "certification",
        f"{calibration.certification}: AUC {calibration.auc:.3f}, at least "
        f"{calibration.auc_lower:.3f}",
    )
    yield "false confidence", _rate(held.wrongly_confident, held.unanswerable, held, "unanswerable")
    yield "false abstention", _rate(held.wrongly_abstained, held.answerable, held, "answerable")


def _rate(wrong: int, of: int, held: HeldOut, label: str) -> str:
    share = f"{wrong / of:.1%}, " if of else ""
    return f"{share}{wrong} of {of} {label} questions that were held out"
