"""The answers as text: all that is in them, for who reads text alone. Every line of something that
was recorded begins with ``>``, and no other line does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from doxa.adapters.mcp import results as res
from doxa.engine.rendering import named, quoted

__all__ = [
    "told_changes",
    "told_claims",
    "told_context",
    "told_past",
    "told_recalled",
    "told_reconciled",
    "told_recorded",
    "told_steps",
]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _where(seen: res.Seen) -> str:
    now = " (now)" if seen.valid_at_is_now else ""
    place = f", workspace {named(seen.workspace)}" if seen.workspace else ""
    newest = "newest" if seen.live else "historical"
    return f"View: valid_at {seen.valid_at}{now}, revision {seen.revision} ({newest}){place}."


def _head(answer: res.Answer) -> str:
    return f"{answer.notice} {_where(answer.view)}"


def _span(start: str | None, end: str | None) -> str:
    return f"{start or 'always'} to {end or 'open'}"


def _reasons(reasons: Iterable[res.Reason]) -> Iterator[str]:
    for one in reasons:
        about = f" ({', '.join(named(id) for id in one.ids)})" if one.ids else ""
        yield f"- {one.reason}{about}:\n{quoted(one.detail)}"


def _left(title: str, left: list[res.Left], more: int) -> Iterator[str]:
    if left:
        yield f"{title}:"
        for one in left:
            yield f"- {named(one.id)}, {one.reason}:\n{quoted(one.detail)}"
        if more:
            yield f"- and {more} more"


def _from(one: res.Printed) -> str:
    more = f" and {one.sources_more} more" if one.sources_more else ""
    return f": from {'; '.join(map(named, one.sources))}{more}" if one.sources else ""


def told_recalled(answer: res.Recalled) -> str:
    parts = [_where(answer.view), f"Outcome: {answer.outcome}."]
    parts += _reasons(answer.reasons)
    if answer.text:
        parts += ["", answer.text, ""]
    parts += _left("Withheld, not to be used", answer.withheld, answer.withheld_more)
    if answer.left_out:
        parts.append(f"No room for: {', '.join(map(named, answer.left_out))}; give a larger budget")
    parts += [f"Warning: {one}" for one in answer.warnings]
    if answer.cursor:
        parts.append(f"There is more: cursor {answer.cursor}")
    return "\n".join(parts)


def told_context(answer: res.Context) -> str:
    parts = [answer.text] if answer.text else ["(The block is empty: nothing may be believed.)"]
    parts += ["", "---", _where(answer.view)]
    if answer.printed:
        parts.append("In the block, in order, and what it is from:")
        parts += [f"- {named(one.id)}{_from(one)}" for one in answer.printed]
    used = f"{answer.used} of {answer.budget} characters"
    parts.append(f"Outcome: {answer.outcome}; {used}.")
    parts += _reasons(answer.reasons)
    for sides in answer.conflicts:
        parts.append(f"A conflict had no room: {', '.join(map(named, sides))}")
    parts += _left("Left out, not to be used", answer.left_out, answer.left_out_more)
    parts += [f"Warning: {one}" for one in answer.warnings]
    if answer.receipt is not None:
        parts.append(f"Receipt: {_json(answer.receipt)}")
    return "\n".join(parts)


def told_claims(answer: res.Claims) -> str:
    parts = [_head(answer)]
    if answer.values is not None:
        contested = ", contested" if answer.contested else ""
        held = "Nothing is held." if not answer.values else f"Held{contested}:"
        parts += [held, *(quoted(_json(value)) for value in answer.values)]
    if answer.claims:
        parts.append(f"{len(answer.claims)} of {answer.total} claims:")
    elif answer.values is None:
        parts.append("There is no such claim.")
    for one in answer.claims:
        kind = "" if one.kind == "fact" else f", {named(one.kind)}"
        view = f", perspective {named(one.perspective)}" if one.perspective else ""
        span = _span(one.valid_from, one.valid_to)
        parts.append(f"{named(one.id)} [{one.standing}{kind}{view}], valid {span}:")
        parts.append(quoted(f"{one.subject} {one.predicate} {_json(one.object)}"))
    if answer.cursor:
        parts.append(f"There is more: cursor {answer.cursor}")
    return "\n".join(parts)


def told_steps(answer: res.Explanation) -> str:
    parts = [_head(answer)]
    for step in answer.steps:
        role = f"{step.role}: " if step.role else ""
        state = f" [{step.standing}]" if step.standing else ""
        if step.counts is False:
            state = " [does not count here]"
        when = f", recorded {step.recorded_at}" if step.recorded_at else ""
        parts.append(f"{'  ' * step.depth}{role}{step.kind} {named(step.id)}{state}{when}:")
        parts.append(quoted(step.says))
    if answer.more:
        parts.append(f"And {answer.more} steps more: give a larger limit, or ask why of one above")
    return "\n".join(parts)


def told_past(answer: res.Past) -> str:
    parts = [_head(answer)]
    if answer.earlier:
        parts.append(f"{answer.earlier} earlier beliefs are not listed; give a larger limit.")
    if not answer.beliefs:
        parts.append("Nothing was ever believed of it at this instant.")
    for one in answer.beliefs:
        contested = ", contested" if one.contested else ""
        since = one.known_at or "the beginning"
        parts.append(f"From {since} (revision {one.revision}){contested}:")
        if one.compacted is not None:
            parts.append(f"(lies among {one.compacted} events that were compacted)")
        elif one.erased:
            parts.append(f"(erased: {', '.join(map(named, one.erased))})")
        elif not one.values:
            parts.append("(nothing was held)")
        parts += [quoted(_json(value)) for value in one.values or ()]
    return "\n".join(parts)


def told_changes(answer: res.Changes) -> str:
    before = _where(answer.before).replace("View:", "Compared with:")
    parts = [_head(answer), before]
    if not answer.total:
        parts.append("No claim stands otherwise.")
    elif answer.changes:
        parts.append(f"{len(answer.changes)} of {answer.total} claims stand otherwise:")
    else:
        parts.append(f"{answer.total} claims stand otherwise; the offset is behind all of them.")
    for one in answer.changes:
        parts.append(f"{named(one.id)}: {one.before} -> {one.after}:")
        parts.append(quoted(f"{one.subject} {one.predicate} {_json(one.object)}"))
    return "\n".join(parts)


def told_reconciled(answer: res.Reconciled) -> str:
    parts = [_head(answer)]
    for title, states, total in (
        ("Invalidated", answer.invalidated, answer.invalidated_total),
        ("Restored", answer.restored, answer.restored_total),
    ):
        parts.append(f"{title}: {total or 'none'}" + (":" if states else ""))
        for one in states:
            about = f" {named(one.about)}" if one.about else ""
            standing = f" ({one.standing})" if one.standing else ""
            cause = f", by {one.cause}" if one.cause else ""
            parts.append(f"- {one.kind} {named(one.id)}: {one.reason}{about}{standing}{cause}")
    parts.append(f"Unchanged: {answer.unchanged}")
    return "\n".join(parts)


def told_recorded(answer: res.Recorded) -> str:
    done = "Recorded" if answer.recorded else "There already, nothing recorded:"
    parts = [f"{done} {named(answer.id)}, revision {answer.revision}, {answer.recorded_at}."]
    if answer.replacement:
        parts.append(f"The claim that was put in is {named(answer.replacement)}.")
    if answer.claim and answer.standing:
        at = answer.standing_at
        parts.append(f"At valid_at {at}, claim {named(answer.claim)} is {answer.standing}.")
    if answer.next:
        parts.append(answer.next)
    if answer.warning:
        parts.append(f"Warning: {answer.warning}")
    return "\n".join(parts)
