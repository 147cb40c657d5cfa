"""Assembly: what may be believed of some candidates at one view, as text within a budget.

Pure: the same request at the same view gives the same bytes, whatever order the candidates came in
and whatever was recorded later. Judge everything, rank, then print whole units while they fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from doxa.engine import receipt as receipts
from doxa.engine.block import Block, Citation, Made, Notice, Printed, PrintedText, block_of
from doxa.engine.candidates import (
    Candidate,
    Given,
    LeftOut,
    Omission,
    Unread,
    read_all,
    surrogate,
)
from doxa.engine.collector import uncollected
from doxa.engine.conflicts import Conflict, Unit, units
from doxa.engine.eligibility import Item, Judge
from doxa.engine.errors import CallerError
from doxa.engine.graph import CLAIM, KINDS, NONE, SUPPORT, Graph, entity
from doxa.engine.judging import judged
from doxa.engine.labels import Labels
from doxa.engine.receipt import Receipt, Replay, as_receipt
from doxa.engine.registry import Reason, Registry
from doxa.engine.rendering import (
    RENDERER,
    Counter,
    Draft,
    Sheet,
    counter_name,
    notice,
    quoted,
    source_names,
)
from doxa.engine.texts import Rows, Texts, side_text
from doxa.engine.view import TruthView

__all__ = [
    "Block",
    "Candidate",
    "Citation",
    "LeftOut",
    "Notice",
    "Printed",
    "Receipt",
    "Replay",
    "as_receipt",
    "assemble",
    "replay",
]

_TOO_LONG: Final = "does not fit in what is left"
NOTHING_FITS: Final = -1  # a budget
_NAMED: Final = 20  # sides of a conflict that each candidate on it is told


def assemble(
    registry: Registry,
    view: TruthView,
    rows: Rows,
    query: str,
    *,
    candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
    budget: int,
    count: Counter | None = None,
    top_k: int | None = None,
    frame: str | None = None,
    archived: bool = False,
) -> Block:
    """Prints what may be believed of the candidates (or of the registered summaries) at a view.

    ``rows`` reads stored events of the log. ``budget`` is in characters, or in what ``count``
    counts in a text, 0 or more; ``top_k`` units at most are printed, 1 or more. ``frame`` is a line
    that opens the block: where it does not fit, nothing does. What is ``archived`` is left out,
    unless it is asked for. Raises `CallerError` for a request
    that can't be carried out as it was put, or a counter that fails; a candidate that can't be read
    is only left out.
    """
    _check_query(query)
    check_number("budget", budget, 0)
    if top_k is not None:
        check_number("top_k", top_k, 1)
    if count is not None and not callable(count):
        raise CallerError(f"count is of type {type(count).__name__}; give a function of a text")
    with uncollected():
        read = None if candidates is None else read_all(candidates)
        made = _Assembly(registry, view, Texts(view.graph, rows), budget, count, archived)
        return made.block(query, read, top_k, frame)


def _check_query(query: object) -> None:
    if not isinstance(query, str):
        raise CallerError(f"query is of type {type(query).__name__}; give text")
    if (at := surrogate(query)) is not None:
        raise CallerError(f"query holds half of a surrogate pair at {at}: it is not Unicode text")


def check_number(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise CallerError(f"{name} is {value!r:.60}; give a whole number, {least} or more")


class _Assembly:
    """One assembly under way: what is printed, and what is left out."""

    def __init__(
        self,
        registry: Registry,
        view: TruthView,
        texts: Texts,
        budget: int,
        count: Counter | None,
        archived: bool,
    ) -> None:
        self.view, self.graph, self.archived = view, view.graph, archived
        self.budget, self.count, self.texts = budget, count, texts
        self.judge = Judge(registry, view, texts, archived)
        self.labels = Labels(self.judge)
        self.cited = _Cited(self.graph, texts)
        self.sheet = Sheet(budget, count, self.cited.note)
        self.printed: list[PrintedText] = []
        self.notices: list[Notice] = []
        self.left_out: list[Omission] = []

    def block(
        self,
        query: str,
        candidates: list[Given | Unread] | None,
        top_k: int | None,
        frame: str | None,
    ) -> Block:
        """Judges, ranks and prints."""
        budget = self.budget
        if frame is not None and not self.sheet.put_line(frame):
            self.sheet.budget = self.budget = NOTHING_FITS
        eligible: list[Item] = []
        for one in judged(self.judge, self.judge.summaries() if candidates is None else candidates):
            if isinstance(one, Item):
                eligible.append(one)
            else:
                self.left_out.append(one)
        ranked = units(self.judge, eligible)
        taken = len(ranked) if top_k is None else top_k
        for number, unit in enumerate(ranked[:taken], 1):
            if isinstance(unit, Item):
                self._plain(unit, number)
            else:
                self._unit(unit, number)
        for unit in ranked[taken:]:
            self._beyond(unit, taken)
        if candidates and not self.printed and not self.notices:
            self.sheet.clear()  # a frame around nothing
        self.left_out.sort(key=_in_order)
        return block_of(
            Made(
                view=receipts.view_json(self.view),
                query=query,
                candidates=candidates,
                top_k=top_k,
                frame=frame,
                archived=self.archived,
                renderer=RENDERER,
                printed=self.printed,
                omissions=self.left_out,
            ),
            text=self.sheet.text,
            citations=tuple(self.cited.citation(row, n) for row, n in self.sheet.numbers.items()),
            notices=tuple(self.notices),
            budget=budget,
            used=self.sheet.used,
            unit=counter_name(self.count),
        )

    # -- units

    def _beyond(self, unit: Item | Unit, taken: int) -> None:
        items = [unit] if isinstance(unit, Item) else unit.items
        if isinstance(unit, Unit) and unit.further and _unprinted(unit.conflict):
            self._incomplete(unit, "its conflict is not printed")
            return
        detail = f"ranked after the first {taken}"
        self.left_out += [Omission(item.id, Reason.BEYOND_TOP_K, detail) for item in items]

    def _plain(self, item: Item, number: int) -> None:
        """Prints a candidate that is in no conflict, if it fits."""
        # A shortcut, not a rule: quoting only adds to a text, and no label is as short as this.
        if self.count is not None or 30 + len(item.text) <= self.budget - self.sheet.used:
            label, text = self.labels.of_item(item), quoted(item.text)
            if item.citations:
                draft = Draft(item.id, "candidate", label, text, item.citations)
                if self._put([draft], number):
                    return
            elif self.sheet.put_line(f"{label}\n{text}"):
                self.printed.append(PrintedText(item.id, "candidate", number, label))
                return
        self.left_out.append(Omission(item.id, Reason.BUDGET_EXCEEDED, _TOO_LONG))

    def _unit(self, unit: Unit, number: int) -> None:
        conflict = unit.conflict
        if unit.further:
            assert conflict.tried, unit
            if not conflict.printed:
                self._incomplete(unit, "its conflict is not printed")
                return
        conflict.tried = True
        if self._print(unit, number):
            conflict.printed = True
        elif unit.further:
            self._too_long(unit)
        else:
            self._give_notice(unit, conflict, number)

    def _too_long(self, unit: Unit) -> None:
        reason = Reason.BUDGET_EXCEEDED
        self.left_out += [Omission(item.id, reason, _TOO_LONG) for item in unit.items]

    def _give_notice(self, unit: Unit, conflict: Conflict, number: int) -> None:
        ids = tuple(self.graph.id_of(side) for side in conflict.sides)
        if self.sheet.put_line(notice(ids)):
            self.notices.append(Notice(number, ids))
            detail = "its conflict does not fit; a notice is printed in its place"
        else:
            detail = "its conflict does not fit, nor does a notice of it"
        self._incomplete(unit, detail)

    def _incomplete(self, unit: Unit, detail: str) -> None:
        sides = unit.conflict.sides
        ids = [self.graph.id_of(side) for side in sides[:_NAMED]]
        more = f" and {len(sides) - _NAMED} more" if len(sides) > _NAMED else ""
        detail = f"{detail} ({len(sides)} sides: {', '.join(ids)}{more})"
        for item in unit.items:
            reason = Reason.CONFLICT_INCOMPLETE
            self.left_out.append(Omission(item.id, reason, detail, ids[0]))

    def _print(self, unit: Unit, number: int) -> bool:
        size = len(unit.items) + len(unit.sides)
        # the same shortcut
        least = 30 * size + sum(len(item.text) for item in unit.items)
        if self.count is None and least > self.budget - self.sheet.used:
            return False
        drafts: list[Draft] = []
        for item in unit.items:
            label = self.labels.of_item(item, _side(len(drafts), size))
            drafts.append(Draft(item.id, "candidate", label, quoted(item.text), item.citations))
        for side in unit.sides:
            drafts.append(self._of_side(side, _side(len(drafts), size)))
        return self._put(drafts, number)

    def _put(self, drafts: Sequence[Draft], number: int) -> bool:
        if not self.sheet.put(drafts):
            return False
        numbers = self.sheet.numbers
        for id, kind, label, _, citations in drafts:
            cited = tuple([numbers[row] for row in citations]) if citations else ()
            self.printed.append(PrintedText(id, kind, number, label, cited))
        return True

    def _of_side(self, number: int, side: str) -> Draft:
        label = self.labels.of_claim if number & 7 == CLAIM else self.labels.of_refutation
        text = quoted(side_text(self.graph, self.texts, number))
        return Draft(self.graph.id_of(number), KINDS[number & 7], label(number >> 3, side), text)


_in_order = itemgetter(0, 1, 2)  # omissions by id, reason and detail


def _unprinted(conflict: Conflict) -> bool:
    return conflict.tried and not conflict.printed


def _side(place: int, size: int) -> str:
    """Which part of a conflict is printed, for its label."""
    return "" if size == 1 else f" ({place + 1} of {size})"


class _Cited:
    """Registered citations as they are printed. It does not know the sheet that it prints for:
    what knows each other in a ring would wait for the collector of cycles."""

    def __init__(self, graph: Graph, texts: Texts) -> None:
        self.graph, self.texts = graph, texts

    def note(self, row: int) -> str:
        """A citation as it is printed behind its number."""
        text = self.texts.artefact(row)
        assert text is not None, self.graph.artefact_id(row)
        sources = source_names(self._sources(row))
        return f"{' ' if sources else ''}{sources}\n{quoted(text)}"

    def citation(self, row: int, number: int) -> Citation:
        """A citation under its number, as a block has it."""
        graph = self.graph
        text = self.texts.artefact(row)
        assert text is not None, graph.artefact_id(row)
        supports = tuple(graph.id_of(entity(SUPPORT, s)) for s in graph.a_supports[row])
        return Citation(number, graph.artefact_id(row), text, supports, self._sources(row))

    def _sources(self, row: int) -> tuple[str, ...]:
        graph = self.graph
        rows = [graph.s_source[s] for s in graph.a_supports[row]] + [*graph.a_sources[row]]
        names = (graph.names.texts[graph.r_name[source]] for source in rows if source != NONE)
        return tuple(dict.fromkeys(names))


# ------------------------------------------------------------ once more


_MADE = ("text", "request", "decisions")  # what a replay makes anew


def replay(
    registry: Registry,
    receipt: Receipt,
    view: TruthView,
    rows: Rows,
    *,
    count: Counter | None = None,
) -> Replay:
    """Makes a receipt's request again at its own view, and says what differs, if anything does.

    Raises `CallerError` where the view is of another log, or the counter is missing.
    """
    receipts.check_counter(receipt, counter_name(count))
    receipts.same_log(receipt, view)
    texts = Texts(view.graph, rows)
    request = receipt.request
    archived = request.get("archived", False)
    made = _Assembly(registry, view, texts, request["budget"], count, archived)
    given = receipts.given(receipt)
    block = made.block(request["query"], given, request["top_k"], request.get("frame"))
    return Replay(
        all(block.receipt.digests[name] == receipt.digests[name] for name in _MADE),
        block.text,
        tuple(_differences(receipt, block)),
        tuple(sorted(texts.erased)),
    )


def _differences(receipt: Receipt, block: Block) -> Iterable[str]:
    now = block.receipt
    if receipt.renderer != now.renderer:
        yield f"the receipt was rendered by version {receipt.renderer}, this is {now.renderer}"
    if receipt.counter != now.counter:
        yield f"the receipt was counted by {receipt.counter}, this replay by {now.counter}"
    if receipt.digests["text"] != now.digests["text"]:
        yield "the text is not the same"
    before, after = receipt.decisions, now.decisions
    yield from _changes("printed", before.get("printed"), after["printed"])
    yield from _changes("left out", before.get("left_out"), after["left_out"])
    for name in ("citations", "notices", "used"):
        if before.get(name) != after[name]:
            yield f"{name}: then {before.get(name)!r:.200}, now {after[name]!r:.200}"


def _changes(what: str, before: object, after: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """What differs between two lists of decisions, by the ids that they are about."""
    old: dict[str, Any] = {}
    for one in before if isinstance(before, list) else ():
        if isinstance(one, Mapping):
            old[str(one.get("id"))] = one
    new = {one["id"]: one for one in after}
    for id in sorted(old.keys() | new.keys()):
        if id not in new:
            yield f"{id}: {what} then, not now"
        elif id not in old:
            yield f"{id}: {what} now, not then"
        elif old[id] != new[id]:
            yield f"{id}: {what} otherwise: then {old[id]!r:.200}, now {new[id]!r:.200}"
