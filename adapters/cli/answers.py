"""How an answer is shown to people: its text, what is missing and why, and what was done for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from doxa.adapters.cli.failures import CALLER, DONE, NO
from doxa.adapters.cli.output import counted, note, say, table
from doxa.engine.calibration import DEFAULT, Calibration, HeldOut
from doxa.engine.envelope import Hit, Missing, Recalled, Withheld
from doxa.engine.outcomes import Gap, Outcome, Tier, Trust, Verdict
from doxa.engine.trust import Abstention, Abstinence

__all__ = ["code", "explain", "fitted", "tell", "tell_reasons", "tell_some"]

_SHOWN: Final = 3  # of a list on stderr

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
    Gap.CANDIDATE_LIMIT: "give a larger --pool, or narrower filters",
    Gap.CONFLICT_COVERAGE: "give a larger --budget, or look at the ids with doxa why",
    Gap.VECTORS_UNAVAILABLE: "give --embedder, and run doxa index with it; or ask with --mode "
    "lexical --trust standing",
    Gap.NOT_READY: "run doxa index with this --embedder",
    Gap.LINEAGE_MISMATCH: "ask with the embedder that made the vectors, or run doxa index with "
    "this one",
    Gap.CALIBRATION_MISSING: "run doxa calibrate, with 40 questions of each kind; until then ask "
    "with --trust standing",
    Gap.CALIBRATION_UNCERTIFIED: "calibrate with 40 questions of each kind or more; until then ask "
    "with --trust standing",
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


# What else to do, where the detail has this word.
_CLOSER: Final = {
    (Gap.CANDIDATE_LIMIT, "budget"): "give a larger --budget",
    (Gap.CANDIDATE_LIMIT, "scan_limit"): "give a larger --scan-limit, or narrower filters",
    (Gap.CALIBRATION_MISSING, "calibration=ID"): "give --calibration ID with one that was recorded "
    "later (doxa calibration prints it), or ask with --trust standing",
}
# A detail that says nothing beyond the id of a claim and its standing.
_PLAINLY: Final = re.compile(
    r"""(['"])(?P<is>.*)\1 is \w+|registered (['"]).*\3 rests on (['"])(?P<on>.*)\4 \(\w+\)""",
    re.DOTALL,
)


def code(answer: Recalled) -> int:
    """The exit code: 0 where there is something to act on, 1 where not, 2 where it was refused."""
    found = _CODES[answer.outcome]
    return NO if found == DONE and _nothing_fits(answer) else found


def _nothing_fits(answer: Recalled) -> bool:
    """Whether nothing is given, or nothing of what may be acted on, as the budget is too small."""
    if not answer.left_out:
        return not answer.hits
    return not any(hit.verdict in (Verdict.OK, Verdict.UNVERIFIED) for hit in answer.hits)


def tell(answer: Recalled) -> None:
    """The answer's text on stdout, and what is missing on stderr."""
    if answer.text:
        say(answer.text)
    _tell_validity(answer)
    tell_reasons(answer)
    if answer.budget is not None:
        note(f"{answer.used} of {answer.budget} {answer.unit}")
    if answer.cursor is not None:
        note(f"there is more; go on with --cursor {answer.cursor}")


def tell_reasons(answer: Recalled) -> None:
    """How an answer came out, what is missing from it and why, and what to do, on stderr."""
    refused = answer.outcome is Outcome.REFUSED
    note(f"{answer.outcome}: {'no text goes out' if refused else _looked_at(answer)}")
    if answer.abstention is not None:
        note(f"  {answer.abstention.reason}: {answer.abstention.detail}")
        if aside := _aside(answer.abstention):
            note(f"  next: {aside}")
    for missing in answer.reasons:
        named = {*answer.left_out, *(id for id in missing.ids if id in missing.detail)}
        ids = [id for id in missing.ids if id not in named]  # what is not told of elsewhere
        note(f"  {missing}" + (f" ({', '.join(ids)})" if ids else ""))
        note(f"  next: {_next(missing)}")
    tell_some("withheld", [_withheld(old) for old in answer.withheld])
    tell_some("left out", [f"{id}: does not fit in the budget" for id in answer.left_out])
    validity = answer.trace.get("validity")
    if validity is not None and validity["why"].startswith("annotated only: mode"):
        note(f"validity: {validity['why']}")
    for warning in _warnings(answer):
        note(f"warning: {warning}")


def tell_some(what: str, lines: Sequence[str], most: int | None = _SHOWN) -> None:
    """The first of some lines on stderr, and how many more there are; without ``most`` all."""
    shown = lines[:most]
    for line in shown:
        note(f"{what}: {line}")
    if len(lines) > len(shown):
        note(f"  and {len(lines) - len(shown)} more (--json has them all)")


def _looked_at(answer: Recalled) -> str:
    """How many hits there are, and of what."""
    hits, pool = counted(len(answer.hits), "hit"), answer.pool
    brought = [arm["found"] for arm in answer.trace["arms"] if arm["name"] == "brought"]
    if brought:
        return f"{hits}; {counted(sum(brought), 'candidate')} judged"
    seen = f"{hits}; {counted(pool.documents, 'document')} in sight"
    if pool.state != "exhausted":
        return f"{seen}, not all that matched were looked at"
    return f"{seen}, {'all that matched were looked at' if pool.scanned else 'none matched'}"


def _aside(said: Abstention) -> str | None:
    """What to do where nothing is to be trusted."""
    if said.reason is Abstinence.NOTHING_FOUND and "filters: " in said.detail:
        return "see that the filters are spelt as recorded, or leave one out"
    return _ASIDE.get(said.reason)


def _next(missing: Missing) -> str:
    """What to do about something missing."""
    for (reason, word), step in _CLOSER.items():
        if reason is missing.reason and word in missing.detail:
            return step
    return _NEXT[missing.reason]


def _withheld(old: Withheld) -> str:
    """What was withheld, as what, and why; each of it once."""
    plainly = _PLAINLY.fullmatch(old.detail)
    about = plainly and (plainly["is"] or plainly["on"])
    named = about if about and about != old.id else old.claim
    kind = [] if old.tier is None else [str(old.tier)]
    if named is not None:
        kind = [f"quote of {named}"] if old.tier is Tier.QUOTE else [*kind, f"rests on {named}"]
    of = f" ({', '.join(kind)})" if kind else ""
    by = f" by {', '.join(old.successors)}" if old.successors else ""
    why = "" if plainly else f": {old.detail}"
    return f"{old.id}{of}, {old.verdict.replace('_', ' ')}{by}{why}"


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


def _tell_validity(answer: Recalled) -> None:
    """What each hit is still worth, as a table, where that was asked for."""
    rated = [(hit.id, hit.validity) for hit in answer.hits if hit.validity is not None]
    if not rated:
        return
    say("")
    rows = [
        (
            *(id, each["grade"], _number(each["freshness"]), _number(each["multiplier"])),
            ", ".join(each["signals"]),
        )
        for id, each in rated
    ]
    table(("hit", "grade", "freshness", "multiplier", "signals"), rows)


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
        yield "judged", counted(trace["entailment"], "hit")


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
