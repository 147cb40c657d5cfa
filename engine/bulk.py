"""Folding many stored events at once: whole pages of the log go into the columns side by side.

What is stored is read a column at a time, with no object made for an event. A *run* of commits goes
into the columns together; then each commit is linked, closed and settled in its turn, so that none
meets an edge of a later one. A claim is *plain* where nothing but its own source bears on it: it
rests on no premise, its source counts everywhere, its predicate is not single-valued. It changes no
other claim, so nothing is settled for it. Events of other kinds, and what can't be read this way,
are decoded and added one by one, in a run of their commit alone. What comes of it is what
`graph.add` and `settle` make of the same events, which the tests compare.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
from pydantic_core import from_json

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.belief import Belief, Changes
from doxa.engine.codec import Fields
from doxa.engine.drawing import Drawing
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL
from doxa.engine.log import Row
from doxa.engine.pages import GONE, READ, Page, commit_ends
from doxa.engine.rows import FACT, HYPOTHESIS, PLAIN, SHARED
from doxa.engine.settle import settle
from doxa.engine.tables import Ints

__all__ = ["Bulk"]

_NOTHING: Final[Fields] = {}
MANY = 64  # events of which nothing is known that are set apart


class Bulk:
    """Takes stored rows into one belief, commit by commit."""

    def __init__(
        self,
        belief: Belief,
        taken: Callable[[Changes], None],
        watched: Callable[[], bool],
        depended: Callable[[int], bool],
    ) -> None:
        """``taken`` sees what each commit changed; of plain claims too while ``watched``, and of
        all that is ``depended`` on."""
        self.belief, self.graph = belief, belief.graph
        self.taken, self.watched = taken, watched
        self.drawing = Drawing(belief, depended)
        self._sources: dict[int, dict[str | None, int]] = {}  # workspace → name → source

    def follow(self, rows: Sequence[Row], page: Page | None = None) -> None:
        """Takes in whole commits, in order; ``page`` is what they say, where it is known."""
        for part, gone in [(rows, False)] if page is not None else _apart(rows):
            if gone:
                self._pass_over(part)
            else:
                self._follow(part, page)

    def _pass_over(self, rows: Sequence[Row]) -> None:
        """Takes in commits of which nothing is known but when they were."""
        graph = self.graph
        known = {
            head: graph.names.code(from_json(head).get("workspace", ""))
            for head in {row.head for row in rows}
        }
        places = [known[row.head] for row in rows]
        graph.ids.extend(places, [""] * len(rows), [NONE] * len(rows))
        start, alone = 0, set(places)
        for end in commit_ends(rows):
            seen = alone if len(alone) == 1 else set(places[start:end])
            graph.close_commit(rows[end - 1].position, rows[end - 1].recorded_at, seen)
            start = end

    def _follow(self, rows: Sequence[Row], page: Page | None) -> None:
        assert rows[0].position == self.graph.position + 1, (rows[0], self.graph.position)
        assert rows[0].recorded_at > self.graph.recorded_at, (rows[0], self.graph.recorded_at)
        self.drawing.counting.clear()
        self._sources = {}
        page = Page.read(rows) if page is None else page
        if len(rows) == 1 and self._quiet(page.kinds[0], page.heads[0], page.contents[0]):
            self._add_one(rows[0], page.heads[0], page.contents[0])
            return
        first = 0
        run: list[int] = []  # where the commits end that are still to be taken in, together
        for end in commit_ends(rows):
            start = run[-1] if run else first
            if self._goes_along(page, start, end):
                run.append(end)
                continue
            if run:
                self._take(rows[first:start], page.part(first, start), [e - first for e in run])
            self._take(rows[start:end], page.part(start, end), [end - start], alone=True)
            first, run = end, []
        if run:
            self._take(rows[first:], page.part(first, len(rows)), [e - first for e in run])

    def _goes_along(self, page: Page, start: int, end: int) -> bool:
        """Whether a commit can be taken in together with others: whether the rows of later ones,
        without their edges, change nothing for it, nor does it change how they are read."""
        if self.graph.has_dangling or None in page.heads[start:end]:
            return False
        if not self.graph.single_valued:
            return True
        return not any(
            kind == "claim" and self._single_valued(content["predicate"])
            for kind, content in zip(page.kinds[start:end], page.contents[start:end], strict=True)
        )

    def _single_valued(self, predicate: str) -> bool:
        return self.graph.names.find(predicate) in self.graph.single_valued

    # -- one plain claim

    def _quiet(self, kind: str, head: Fields | None, content: Fields) -> bool:
        """Whether a commit of one event holds a plain claim."""
        graph = self.graph
        if kind != "claim" or head is None or "because" in head:
            return False
        if graph.has_dangling or self.watched():
            return False
        if graph.single_valued and self._single_valued(content["predicate"]):
            return False
        ws = graph.names.code(head.get("workspace", ""))
        return "source" not in head or self.belief.counts_everywhere(
            graph.source(ws, head["source"])
        )

    def _add_one(self, row: Row, head: Fields, content: Fields) -> None:
        """One plain claim, the whole commit: as `_take`, without lists of one."""
        graph = self.graph
        code = graph.names.code
        ws, support = code(head.get("workspace", "")), NONE
        if "source" in head:
            source, details = graph.source(ws, head["source"]), content.get("source", _NOTHING)
            origin, digest = details.get("origin"), details.get("digest")
            support = graph.put_support(
                row.position,
                len(graph.c_pos),
                source,
                graph.r_name[source] if origin is None else code(origin),
                NONE if digest is None else code(digest),
                details.get("observed_at", times.NEG),
                times.NEG,
                times.POS,
                False,
            )
        claim = graph.put_claim(
            row.position,
            ws,
            code(content["subject"]),
            code(content["predicate"]),
            code(content.get("perspective", "")),
            code(head.get("kind", "fact")),
            head.get("valid_from", times.NEG),
            head.get("valid_to", times.POS),
            content["object"],
            support,
        )
        graph.ids.add(ws, head["id"], claim * 8 + CLAIM)
        graph.close_commit(row.position, row.recorded_at, (ws,))

    # -- a run of commits

    def _take(
        self, rows: Sequence[Row], page: Page, ends: Sequence[int], alone: bool = False
    ) -> None:
        """Takes in a run; a commit ``alone`` may hold events of any sort."""
        graph, earlier = self.graph, self.graph.position
        apart = page.set_apart(graph.has_dangling) if alone else []
        first_support = len(graph.s_pos)
        workspaces, ids, entities = self._add(page, earlier + 1)
        decoded: list[tuple[ev.Event, int]] = []
        for i in apart:
            event = codec.decode(rows[i].type, rows[i].head, rows[i].data)
            ids[i], ws = event.id, graph.names.code(event.workspace)
            workspaces[i] = ws
            entities[i] = graph.add_row(rows[i].position, rows[i].recorded_at, ws, event)
            decoded.append((event, entities[i] >> 3))
        graph.ids.extend(workspaces, ids, entities)
        others, touched = self._others(page, entities, first_support), set(workspaces)
        watched = self.watched()
        start = first = last = 0
        for end in ends:
            while last < len(others) and others[last] < end:
                last += 1
            here, first = others[first:last], last
            for i in here:
                if page.heads[i] is not None:
                    self._link(page.kinds[i], page.heads[i], entities[i] >> 3, workspaces[i])
            graph.link(decoded)
            seen = touched if len(touched) == 1 else set(workspaces[start:end])
            graph.close_commit(earlier + end, rows[end - 1].recorded_at, seen)
            placed = [(earlier + 1 + i, entities[i]) for i in here]
            if placed and not (alone or watched):
                placed = self.drawing.draw(placed, earlier + start)
            if placed:
                changes = settle(self.belief, earlier + start, placed)
                if changes.sources:
                    self.drawing.counting.clear()
                self.taken(changes)
            start = end

    def _others(self, page: Page, entities: Sequence[int], first_support: int) -> list[int]:
        """The places of all that is no plain claim; their supports begin at a row."""
        graph = self.graph
        if self.watched():
            return [i for i, number in enumerate(entities) if number != NONE]
        others = [
            i
            for i, (kind, head) in enumerate(zip(page.kinds, page.heads, strict=True))
            if (kind != "claim" or head is None or "because" in head) and kind != GONE
        ]
        rivals, apart = graph.single_valued, self.drawing.uncounted(first_support)
        if not rivals and not apart:
            return others
        left = {i for i, number in enumerate(entities) if number != NONE}.difference(others)
        for i in left:
            claim = entities[i] >> 3
            carried = graph.c_carried[claim]
            if (carried != NONE and graph.s_source[carried] in apart) or (
                graph.c_predicate[claim] in rivals
            ):
                others.append(i)
        return sorted(others)

    def _link(self, kind: str, head: Fields, row: int, ws: int) -> None:
        """Adds the edges of an event, now that all of its commit have their rows."""
        graph = self.graph
        if kind == "support":
            graph.support_of(row, self._claim(ws, head["claim"]))
        elif kind == "correction":
            target = graph.k_target[row] = self._claim(ws, head["corrects"])
            graph.corrections_of.add(target, row)
            if "by" in head:
                by = graph.k_by[row] = self._claim(ws, head["by"])
                graph.replaces.add(by, row)
        elif kind == "withdrawal":
            target = graph.w_target[row] = self._find(ws, head["target"])
            graph.withdrawals_of.add(target, row)
        else:
            row = graph.c_carried[row]
        if "because" in head:
            graph.rest(row, [self._claim(ws, ref) for ref in head["because"]])

    def _find(self, ws: int, ref: str | Fields) -> int:
        """The entity that a reference means, which was judged to be there."""
        graph = self.graph
        if isinstance(ref, str):
            found = graph.ids.find(ws, ref)
            if found == NONE:  # a claim's own support
                found = graph.find(graph.names.texts[ws], ref)
        else:
            found = graph.find(ref["workspace"], ref["id"])
        assert found != NONE, f"{ref!r} is not there, and was judged to be"
        return found

    def _claim(self, ws: int, ref: str | Fields) -> int:
        found = self._find(ws, ref)
        assert found & 7 == CLAIM, f"{ref!r} is no claim, and was judged to be one"
        return found >> 3

    # -- columns

    def _add(self, page: Page, first: int) -> tuple[list[int], list[Any], list[int]]:
        """Adds the rows of what has a head, from a position on. By place: the workspaces, ids and
        entities, those of all else to be filled in."""
        graph, heads = self.graph, page.heads
        count = len(heads)
        places: dict[str, list[int]] = {kind: [] for kind in READ}
        for i, (kind, head) in enumerate(zip(page.kinds, heads, strict=True)):
            if head is not None:
                places[kind].append(i)
        claims, supports, corrections, withdrawals, _ = places.values()
        ids = [None if head is None else head["id"] for head in heads]
        workspaces = _codes(self.graph.names.code, heads, "workspace", SHARED)
        spaces = np.array(workspaces, np.int32)
        positions = np.arange(first, first + count, dtype=np.int32)
        entities = np.full(count, NONE)

        evident = np.zeros(count, np.bool_)  # supports, and claims with one of their own
        evident[supports] = True
        evident[[i for i in claims if "source" in heads[i] or "because" in heads[i]]] = True
        support_rows = np.where(evident, len(graph.s_pos) - 1 + np.cumsum(evident), NONE)
        if claims:
            rows = np.arange(len(graph.c_pos), len(graph.c_pos) + len(claims))
            entities[claims] = rows * 8 + CLAIM
            self._add_claims(page, claims, spaces[claims], positions[claims], support_rows[claims])
        owners = np.where(entities == NONE, NONE, entities >> 3)  # of claims' own supports
        entities[supports] = support_rows[supports] * 8 + SUPPORT
        if evident.any():
            at = np.flatnonzero(evident)
            self._add_supports(page, at.tolist(), workspaces, positions[at], owners[at])
        if corrections:
            rows = np.arange(len(graph.k_pos), len(graph.k_pos) + len(corrections))
            entities[corrections] = rows * 8 + CORRECTION
            self._add_corrections(page, corrections, spaces[corrections], positions[corrections])
        if withdrawals:
            rows = np.arange(len(graph.w_pos), len(graph.w_pos) + len(withdrawals))
            entities[withdrawals] = rows * 8 + WITHDRAWAL
            self._add_withdrawals(page, withdrawals, spaces[withdrawals], positions[withdrawals])
        return workspaces, ids, entities.tolist()

    def _add_claims(
        self, page: Page, places: list[int], spaces: Ints, positions: Ints, carried: Ints
    ) -> None:
        graph, code = self.graph, self.graph.names.code
        heads, contents = page.at(places)
        subjects = self._texts([content["subject"] for content in contents])
        predicates = self._texts([content["predicate"] for content in contents])
        kinds = _codes(code, heads, "kind", FACT)
        sourced = np.array(["source" in head for head in heads], np.bool_)
        plain = np.where(sourced & (np.array(kinds) != HYPOTHESIS), PLAIN, 0)
        low, high = times.NEG, times.POS
        _put(graph.c_ws, spaces)
        graph.c_subject.extend(subjects)
        graph.c_predicate.extend(predicates)
        graph.c_perspective.extend(_codes(code, contents, "perspective", SHARED))
        graph.c_kind.extend(kinds)
        graph.c_from.extend([head.get("valid_from", low) for head in heads])
        graph.c_to.extend([head.get("valid_to", high) for head in heads])
        graph.c_object.live.extend([content["object"] for content in contents])
        _put(graph.c_carried, carried)
        graph.c_plain.extend(plain.astype(np.uint8).data)
        first = len(graph.c_pos)
        _put(graph.c_pos, positions)
        graph.chain_claims(first, subjects, predicates)

    def _add_supports(
        self,
        page: Page,
        places: list[int],
        workspaces: list[int],
        positions: Ints,
        owners: Ints,
    ) -> None:
        """``owners`` are the claims of claims' own supports, which have no portion."""
        graph = self.graph
        heads, contents = page.at(places)
        sources = self._sources_of(heads, [workspaces[i] for i in places])
        _put(graph.s_claim, owners)
        graph.s_source.extend(sources)
        self._add_details(sources, contents)
        low, high = times.NEG, times.POS
        starts, ends = np.full(len(heads), low), np.full(len(heads), high)
        refutes = np.zeros(len(heads), np.uint8)
        for i in np.flatnonzero(owners == NONE).tolist():
            head = heads[i]
            starts[i], ends[i] = head.get("valid_from", low), head.get("valid_to", high)
            refutes[i] = "stance" in head
        _put(graph.s_from, starts)
        _put(graph.s_to, ends)
        graph.s_refutes.extend(refutes.data)
        first = len(graph.s_pos)
        _put(graph.s_pos, positions)
        graph.chain_supports(first, sources)

    def _add_details(self, sources: Sequence[int], contents: Sequence[Fields]) -> None:
        """What supports say of their sources beside the name, which most leave out."""
        graph, code = self.graph, self.graph.names.code
        names = graph.r_name
        origins = [NONE if source == NONE else names[source] for source in sources]
        digests = array("i", [NONE]) * len(sources)
        observed = array("q", [times.NEG]) * len(sources)
        for i in [i for i, content in enumerate(contents) if "source" in content]:
            details = contents[i]["source"]
            if "origin" in details:
                origins[i] = code(details["origin"])
            if "digest" in details:
                digests[i] = code(details["digest"])
            observed[i] = details.get("observed_at", times.NEG)
        graph.s_origin.extend(origins)
        graph.s_digest.extend(digests)
        graph.s_observed.extend(observed)

    def _add_corrections(
        self, page: Page, places: list[int], spaces: Ints, positions: Ints
    ) -> None:
        graph, (heads, _) = self.graph, page.at(places)
        nothing = array("i", [NONE]) * len(heads)
        _put(graph.k_ws, spaces)
        graph.k_from.extend([head["valid_from"] for head in heads])
        graph.k_to.extend([head["valid_to"] for head in heads])
        for column in (graph.k_source, graph.k_target, graph.k_by):
            column.extend(nothing)
        _put(graph.k_pos, positions)

    def _add_withdrawals(
        self, page: Page, places: list[int], spaces: Ints, positions: Ints
    ) -> None:
        graph, (heads, _) = self.graph, page.at(places)
        low, high = times.NEG, times.POS
        _put(graph.w_ws, spaces)
        graph.w_from.extend([head.get("valid_from", low) for head in heads])
        graph.w_to.extend([head.get("valid_to", high) for head in heads])
        graph.w_target.extend(array("i", [NONE]) * len(heads))
        _put(graph.w_pos, positions)

    def _texts(self, texts: list[str]) -> list[int]:
        """The codes of texts."""
        code = self.graph.names.code
        found = list(map(self.graph.names.live.get, texts))
        return [code(texts[i]) if n is None else n for i, n in enumerate(found)]

    def _sources_of(self, heads: Sequence[Fields], workspaces: Sequence[int]) -> list[int]:
        """The rows of the sources that are named, made where they are new."""
        names = [head.get("source") for head in heads]
        found = []
        for name, ws in zip(names, workspaces, strict=True):
            known = self._sources.get(ws)
            if known is None:
                known = self._sources[ws] = {None: NONE}
            source = known.get(name)
            if source is None:
                assert name is not None
                source = known[name] = self.graph.source(ws, name)
            found.append(source)
        return found


def _apart(rows: Sequence[Row]) -> Iterator[tuple[Sequence[Row], bool]]:
    """Rows with long runs of commits of which nothing is known set apart, and whether each part is
    one."""
    gone = [row.type == GONE for row in rows]
    if sum(gone) < MANY:
        yield rows, False
        return
    ends = commit_ends(rows)
    starts = [0, *ends[:-1]]
    whole = [all(gone[start:end]) for start, end in zip(starts, ends, strict=True)]
    first = place = 0  # of what was not given yet; of the commit that is looked at
    for apart, run in groupby(whole):
        size = len(list(run))
        low, high = starts[place], ends[place + size - 1]
        place += size
        if apart and high - low >= MANY:
            if low > first:
                yield rows[first:low], False
            yield rows[low:high], True
            first = high
    if first < len(rows):
        yield rows[first:], False


def _codes(
    code: Callable[[str], int], fields: Sequence[Fields | None], name: str, usual: int
) -> list[int]:
    """The codes of one field, which most leave out."""
    codes = [usual] * len(fields)
    for i in [i for i, some in enumerate(fields) if some is not None and name in some]:
        some = fields[i]
        assert some is not None
        codes[i] = code(some[name])
    return codes


def _put(column: array[int], values: Ints) -> None:
    """Appends to a column."""
    column.frombytes(values.astype(f"i{column.itemsize}").tobytes())
