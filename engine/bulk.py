"""Folding many stored events at once: claims and supports go into the columns side by side.

What is stored is read a column at a time, with no object made for an event. A claim is *plain*
where nothing but its own source bears on it: it rests on no premise, its source counts everywhere,
its predicate is not single-valued. It changes no other claim, so nothing is settled for it; commits
of plain claims alone go in together. Events of other kinds, and what can't be read this way, are
decoded and added one by one. What comes of it is what `graph.add` and `settle` make of the same
events, which the tests compare.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.belief import Belief, Changes
from doxa.engine.graph import CLAIM, NONE, SUPPORT
from doxa.engine.log import Row
from doxa.engine.rows import FACT, HYPOTHESIS, PLAIN, SHARED
from doxa.engine.settle import settle

__all__ = ["Bulk"]

Fields = dict[str, Any]

_READ: Final = {
    "claim": {"v", "id", "workspace", "kind", "valid_from", "valid_to", "source", "because"},
    "support": {
        "v", "id", "workspace", "claim", "valid_from", "valid_to", "source", "because", "stance",
    },
}  # fmt: skip
_NOTHING: Final[Fields] = {}


class Bulk:
    """Takes stored rows into one belief, commit by commit."""

    def __init__(
        self, belief: Belief, taken: Callable[[Changes], None], watched: Callable[[], bool]
    ) -> None:
        """``taken`` sees what each commit changed; of plain claims too while ``watched``."""
        self.belief, self.graph = belief, belief.graph
        self.taken, self.watched = taken, watched
        self._counting: dict[tuple[int, str], int] = {}  # sources that count everywhere

    def follow(self, rows: Sequence[Row]) -> None:
        """Takes in whole commits, in order."""
        assert rows[0].position == self.graph.position + 1, (rows[0], self.graph.position)
        assert rows[0].recorded_at > self.graph.recorded_at, (rows[0], self.graph.recorded_at)
        self._counting.clear()
        heads, contents = _read(rows)
        if len(rows) == 1 and self._quiet(heads, contents):
            self._add_one(rows[0], heads[0] or _NOTHING, contents[0])
            return
        ends = [
            i
            for i in range(1, len(rows) + 1)
            if i == len(rows) or rows[i].recorded_at != rows[i - 1].recorded_at
        ]
        first = 0
        quiet: list[int] = []  # ends of commits of plain claims alone that are still to be added
        for end in ends:
            start = quiet[-1] if quiet else first
            if self._quiet(heads[start:end], contents[start:end]):
                quiet.append(end)
                continue
            if quiet:
                self._add_quiet(rows, heads, contents, first, quiet)
                first, quiet = quiet[-1], []
            self._commit(rows[first:end], heads[first:end], contents[first:end])
            first = end
        if quiet:
            self._add_quiet(rows, heads, contents, first, quiet)

    def _quiet(self, heads: Sequence[Fields | None], contents: Sequence[Fields]) -> bool:
        """Whether a commit holds plain claims alone."""
        if self.graph.has_dangling or self.watched():
            return False
        return all(
            head is not None and "claim" not in head and self._plain(head, content)
            for head, content in zip(heads, contents, strict=True)
        )

    def _plain(self, head: Fields, content: Fields) -> bool:
        if "because" in head or self._single_valued(content["predicate"]):
            return False
        return "source" not in head or self._counts(head.get("workspace", ""), head["source"])

    def _single_valued(self, predicate: str) -> bool:
        declared = self.graph.single_valued
        return bool(declared) and self.graph.names.find(predicate) in declared

    def _counts(self, workspace: str, name: str) -> bool:
        """Whether a source counts everywhere; its row is made where it is new."""
        ws = self.graph.names.code(workspace)
        if (ws, name) in self._counting:
            return True
        source = self.graph.source(ws, name)
        if not self.belief.counts_everywhere(source):
            return False
        self._counting[ws, name] = source
        return True

    def _add_quiet(
        self,
        rows: Sequence[Row],
        heads: Sequence[Fields | None],
        contents: Sequence[Fields],
        first: int,
        ends: Sequence[int],
    ) -> None:
        last = ends[-1]
        added = [head for head in heads[first:last] if head is not None]
        workspaces, numbers = self._add(
            added, contents[first:last], [row.position for row in rows[first:last]]
        )
        self.graph.ids.extend(workspaces, [head["id"] for head in added], numbers)
        start = 0
        for end in ends:
            row = rows[end - 1]
            seen = set(workspaces[start : end - first])
            self.graph.close_commit(row.position, row.recorded_at, seen)
            start = end - first

    def _add_one(self, row: Row, head: Fields, content: Fields) -> None:
        """One plain claim, the whole commit: as `_add_quiet`, without lists of one."""
        graph = self.graph
        code = graph.names.code
        ws, support = code(head.get("workspace", "")), NONE
        if "source" in head:
            source, details = self._source(ws, head["source"]), content.get("source", _NOTHING)
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

    def _commit(
        self, rows: Sequence[Row], heads: Sequence[Fields | None], contents: Sequence[Fields]
    ) -> None:
        graph = self.graph
        earlier, recorded_at = graph.position, rows[-1].recorded_at
        apart = [i for i, head in enumerate(heads) if head is None]
        # a claim may be what a correction has been waiting for; and rows keep the log's order
        if graph.has_dangling or any(rows[i].type in _READ for i in apart):
            heads, apart = [None] * len(rows), list(range(len(rows)))
        read = [head for head in heads if head is not None]
        positions: Sequence[int] = range(earlier + 1, earlier + 1 + len(rows))
        if apart:
            kept = [i for i, head in enumerate(heads) if head is not None]
            contents = [contents[i] for i in kept]
            positions = [earlier + 1 + i for i in kept]
        workspaces, numbers = self._add(read, contents, positions)
        plain = set() if self.watched() else self._plainly(read, numbers)
        ids = [head["id"] for head in read]
        decoded: list[tuple[ev.Event, int]] = []
        for i in apart:
            event = codec.decode(rows[i].type, rows[i].head, rows[i].data)
            ws = graph.names.code(event.workspace)
            number = graph.add_row(rows[i].position, recorded_at, ws, event)
            decoded.append((event, number >> 3))
            workspaces.insert(i, ws)
            ids.insert(i, event.id)
            numbers.insert(i, number)
        graph.ids.extend(workspaces, ids, numbers)
        others = [(i, number) for i, number in enumerate(numbers) if number not in plain]
        for i, number in others:
            head = heads[i]
            if head is not None:
                self._link(head, number, workspaces[i])
        graph.link(decoded)
        graph.close_commit(rows[-1].position, recorded_at, set(workspaces))
        if others:
            placed = [(earlier + 1 + i, number) for i, number in others]
            changes = settle(self.belief, earlier, placed)
            if changes.sources:
                self._counting.clear()
            self.taken(changes)

    def _plainly(self, heads: Sequence[Fields], numbers: Sequence[int]) -> set[int]:
        """Those of the added entities that are plain claims."""
        graph = self.graph
        carried, sources = graph.c_carried, graph.s_source
        plain = {
            number
            for head, number in zip(heads, numbers, strict=True)
            if number & 7 == CLAIM and "because" not in head
        }
        named = {n: c for n in plain if (c := carried[n >> 3]) != NONE}
        counting = set(self._counting.values())
        for source in {sources[c] for c in named.values()} - counting:
            if self.belief.counts_everywhere(source):
                counting.add(source)
        plain.difference_update([n for n, c in named.items() if sources[c] not in counting])
        if graph.single_valued:
            plain = {n for n in plain if graph.c_predicate[n >> 3] not in graph.single_valued}
        return plain

    def _link(self, head: Fields, number: int, ws: int) -> None:
        """Adds the edges of a claim or support, now that all of its commit have their rows."""
        graph, row = self.graph, number >> 3
        if number & 7 == CLAIM:
            row = graph.c_carried[row]
        else:
            graph.support_of(row, self._find(ws, head["claim"]))
        if "because" in head:
            graph.rest(row, [self._find(ws, ref) for ref in head["because"]])

    def _find(self, ws: int, ref: str | Fields) -> int:
        graph = self.graph
        if isinstance(ref, str):
            found = graph.ids.find(ws, ref)
        else:
            found = graph.find(ref["workspace"], ref["id"])
        assert found & 7 == CLAIM, f"{ref!r} is no claim, and was judged to be one"
        return found >> 3

    # -- columns

    def _add(
        self, heads: Sequence[Fields], contents: Sequence[Fields], positions: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Adds the rows of claims and supports, in order; their workspaces and entities."""
        graph = self.graph
        workspaces = self._codes(heads, "workspace", SHARED)
        first_claim = claim = len(graph.c_pos)
        support = len(graph.s_pos)
        numbers: list[int] = []
        claims: list[int] = []  # places of claims
        carried: list[int] = []  # by claim: its own support
        evident: list[int] = []  # places of supports, and of claims with one of their own
        owners: list[int] = []  # by such a place: the claim
        for i, head in enumerate(heads):
            if "claim" in head:
                numbers.append(support * 8 + SUPPORT)
                evident.append(i)
                owners.append(NONE)
                support += 1
                continue
            if "source" in head or "because" in head:
                carried.append(support)
                evident.append(i)
                owners.append(claim)
                support += 1
            else:
                carried.append(NONE)
            numbers.append(claim * 8 + CLAIM)
            claims.append(i)
            claim += 1
        of, said, places, at = heads, contents, workspaces, positions
        if len(claims) < len(heads):
            of, said = [heads[i] for i in claims], [contents[i] for i in claims]
            places, at = [workspaces[i] for i in claims], [positions[i] for i in claims]
        subjects = self._texts([content["subject"] for content in said])
        predicates = self._texts([content["predicate"] for content in said])
        kinds = self._codes(of, "kind", FACT)
        graph.c_ws.extend(places)
        graph.c_subject.extend(subjects)
        graph.c_predicate.extend(predicates)
        graph.c_perspective.extend(self._codes(said, "perspective", SHARED))
        graph.c_kind.extend(kinds)
        graph.c_from.extend([head.get("valid_from", times.NEG) for head in of])
        graph.c_to.extend([head.get("valid_to", times.POS) for head in of])
        graph.c_object.live.extend([content["object"] for content in said])
        graph.c_carried.extend(carried)
        graph.c_plain.extend(
            [
                PLAIN if "source" in head and kind != HYPOTHESIS else 0
                for head, kind in zip(of, kinds, strict=True)
            ]
        )
        graph.chain_claims(first_claim, subjects, predicates)
        graph.c_pos.extend(at)
        if evident:
            self._add_supports(heads, contents, positions, workspaces, evident, owners)
        return workspaces, numbers

    def _add_supports(
        self,
        heads: Sequence[Fields],
        contents: Sequence[Fields],
        positions: Sequence[int],
        workspaces: Sequence[int],
        evident: Sequence[int],
        owners: Sequence[int],
    ) -> None:
        graph, count = self.graph, len(evident)
        if count < len(heads):
            contents, positions = [contents[i] for i in evident], [positions[i] for i in evident]
            heads, workspaces = [heads[i] for i in evident], [workspaces[i] for i in evident]
        sources = self._sources(heads, workspaces)
        graph.s_claim.extend(owners)
        graph.s_source.extend(sources)
        named = {i: said["source"] for i, said in enumerate(contents) if "source" in said}
        self._add_details(sources, named, count)
        if NONE in owners:  # a claim's own support has no portion
            low, high = times.NEG, times.POS
            portions = list(zip(heads, owners, strict=True))
            starts = [h.get("valid_from", low) if c == NONE else low for h, c in portions]
            graph.s_from.extend(starts)
            graph.s_to.extend([h.get("valid_to", high) if c == NONE else high for h, c in portions])
            graph.s_refutes.extend(["stance" in head for head in heads])
        else:
            graph.s_from.extend(array("q", [times.NEG]) * count)
            graph.s_to.extend(array("q", [times.POS]) * count)
            graph.s_refutes.extend(bytes(count))
        graph.chain_supports(sources)
        graph.s_pos.extend(positions)

    def _add_details(self, sources: Sequence[int], named: dict[int, Fields], count: int) -> None:
        """What the supports say of their sources beside the name, which most leave out."""
        graph = self.graph
        code, names = graph.names.code, graph.r_name
        origins = [NONE if source == NONE else names[source] for source in sources]
        digests = array("i", [NONE]) * count
        observed = array("q", [times.NEG]) * count
        for i, details in named.items():
            if "origin" in details:
                origins[i] = code(details["origin"])
            if "digest" in details:
                digests[i] = code(details["digest"])
            observed[i] = details.get("observed_at", times.NEG)
        graph.s_origin.extend(origins)
        graph.s_digest.extend(digests)
        graph.s_observed.extend(observed)

    def _texts(self, texts: list[str]) -> list[int]:
        """The codes of texts."""
        code = self.graph.names.code
        found = list(map(self.graph.names.live.get, texts))
        return [code(texts[i]) if n is None else n for i, n in enumerate(found)]

    def _codes(self, fields: Sequence[Fields], name: str, usual: int) -> list[int]:
        """The codes of one field, which most leave out."""
        codes = [usual] * len(fields)
        for i in [i for i, some in enumerate(fields) if name in some]:
            codes[i] = self.graph.names.code(fields[i][name])
        return codes

    def _sources(self, heads: Sequence[Fields], workspaces: Sequence[int]) -> list[int]:
        """The rows of the sources that are named, made where they are new."""
        return [
            self._source(ws, head["source"]) if "source" in head else NONE
            for head, ws in zip(heads, workspaces, strict=True)
        ]

    def _source(self, ws: int, name: str) -> int:
        found = self._counting.get((ws, name))
        return self.graph.source(ws, name) if found is None else found


def _read(rows: Sequence[Row]) -> tuple[list[Fields | None], list[Fields]]:
    """The stored fields of claims and supports; no head for what is not read this way."""
    heads: list[Fields | None] = []
    contents: list[Fields] = []
    for _, _, kind, stored, data, _ in rows:
        head: Fields | None = None
        content = _NOTHING
        readable = _READ.get(kind)
        if readable is not None and data is not None:
            head = from_json(stored)
            if head is not None and head.keys() <= readable and head["v"] == codec.VERSION:
                content = from_json(data)
            else:
                head = None
        heads.append(head)
        contents.append(content)
    return heads, contents
