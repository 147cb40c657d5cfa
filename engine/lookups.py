"""Many ids and claims looked up at once: as one by one, in a fraction of the steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from doxa.engine.belief import HOLDS, STANDINGS, SUPERSEDED, WITHDRAWN, Belief, Standing
from doxa.engine.graph import CLAIM, Graph
from doxa.engine.rows import HYPOTHESIS
from doxa.engine.tables import NONE, Ids, Index, Ints, Texts
from doxa.engine.times import Instant

__all__ = ["entities", "ids_of", "standings"]

_FELL: Final = WITHDRAWN | SUPERSEDED
FEW = 16  # of what is looked up one by one; 2 at least
_NOT_YET_VALID, _EXPIRED = Standing.NOT_YET_VALID, Standing.EXPIRED
_HYPOTHESIS = Standing.HYPOTHESIS


def entities(ids: Ids, workspace: int, texts: Collection[str]) -> dict[str, int]:
    """`Ids.find` of each text in a workspace, less those that are not known there."""
    index, live = ids.index, ids.live.get(workspace) or {}
    if index is None or workspace == NONE or len(texts) < FEW:
        each = ((text, ids.find(workspace, text)) for text in texts)
        return {text: number for text, number in each if number != NONE}
    found = {text: live[text] for text in texts if text in live} if live else {}
    left = [text for text in texts if text not in found] if found else list(texts)
    if not left:
        return found
    sought = [text.encode("utf-8", "surrogatepass") for text in left]
    asked, rows = _met(index, _hashes(ids, workspace, sought))
    places, numbers = ids.workspace, ids.number
    for one, row in _of_these(ids.texts.parts[0], rows, asked.tolist(), sought):
        if places[row] == workspace:
            found[left[one]] = numbers[row]
    return found


def _hashes(ids: Ids, workspace: int, texts: Sequence[bytes]) -> Ints:
    """The hash of each text in a workspace, as its index has it."""
    secret, mixed = ids.secret, workspace * ids.mixed
    if max(map(len, texts), default=0) <= 8:
        numbers = np.frombuffer(b"".join([text.rjust(8, b"\0") for text in texts]), ">u8")
        found = numbers % np.uint64(secret) * np.uint64(ids.spread) + np.uint64(mixed)
        return (found % np.uint64(secret)).astype(np.int64)
    spread = ids.spread
    return np.array(
        [(int.from_bytes(text, "big") * spread + mixed) % secret for text in texts], np.int64
    )


def _of_these(
    stored: Texts, rows: Ints, asked: list[int], sought: list[bytes]
) -> Iterable[tuple[int, int]]:
    """The pairs of what was asked for and a row, less those whose hash is the same by chance."""
    ends, blob = np.asarray(stored.ends), np.frombuffer(stored.blob, np.uint8)
    starts, sizes = ends[rows], ends[rows + 1] - ends[rows]
    _, at = _spelled_out(starts, sizes)
    wanted = [sought[one] for one in asked]
    pairs = zip(asked, rows.tolist(), strict=True)
    if sizes.tolist() == list(map(len, wanted)) and blob[at].tobytes() == b"".join(wanted):
        return pairs
    return [
        (one, row)
        for one, row in pairs
        if stored.blob[stored.ends[row] : stored.ends[row + 1]] == sought[one]
    ]


def _met(index: Index, hashes: Ints) -> tuple[Ints, Ints]:
    """The numbers in an index that have one of the hashes, each behind the place of its hash."""
    heads, entries = np.asarray(index.heads), np.asarray(index.entries)
    buckets = hashes >> index.shift
    starts, ends = heads[buckets], heads[buckets + 1]
    owners, at = _spelled_out(starts, ends - starts)
    met = entries[at]
    same = met >> 32 == hashes[owners]
    return owners[same], met[same] & 0xFFFFFFFF


def _spelled_out(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Of ranges, all that is in them, each behind the place of its range."""
    ends = np.cumsum(sizes)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return owners, np.arange(len(owners)) + np.repeat(starts - (ends - sizes), sizes)


def ids_of(graph: Graph, numbers: Sequence[int]) -> list[str]:
    """`Graph.id_of` of each entity."""
    (blob, ends, size), _ = graph.ids.texts.parts
    positions, found = graph.c_pos, []
    for number in numbers:
        at = positions[number >> 3] - 1 if number & 7 == CLAIM else size
        if at < size:
            found.append(str(blob[ends[at] : ends[at + 1]], "utf-8", "surrogatepass"))
        else:  # no claim, or one that is not sealed yet
            found.append(graph.id_of(number))
    return found


def standings(belief: Belief, claims: Collection[int], v: Instant, k: int) -> dict[int, Standing]:
    """`Belief.standing` of each claim at (v, k)."""
    graph, beliefs = belief.graph, belief.beliefs
    end, upto = len(beliefs.leaf_of), graph.claims_upto(k)
    many = [claim for claim in claims if claim < upto]
    if len(many) < FEW:
        return {claim: belief.standing(claim, v, k) for claim in claims}
    found = {claim: belief.standing(claim, v, k) for claim in claims if claim >= upto}
    of: Any = itemgetter(*many)  # goes through a column without a step of ours
    known, codes, at, plain = beliefs.known, beliefs.code, beliefs.at, graph.c_plain
    if max(many) < end:
        leaves = of(beliefs.leaf_of)
    else:  # behind the last that anything reached, no claim has a leaf
        leaves = [beliefs.leaf_of[claim] if claim < end else NONE for claim in many]
    columns = leaves, of(graph.c_from), of(graph.c_to)
    for claim, leaf, low, high in zip(many, *columns, strict=True):
        if leaf == NONE:
            code = plain[claim]
        else:
            code = codes[leaf] if leaf > NONE and known[leaf] <= k else at(claim, v, k)
        if code & _FELL:
            found[claim] = STANDINGS[code]
        elif v < low:
            found[claim] = _NOT_YET_VALID
        elif v >= high:
            found[claim] = _EXPIRED
        else:  # a hypothesis never holds
            hypothesis = not code & HOLDS and graph.c_kind[claim] == HYPOTHESIS
            found[claim] = _HYPOTHESIS if hypothesis else STANDINGS[code]
    if graph.erased:
        found |= {c: Standing.REDACTED for c in many if c * 8 + CLAIM in graph.erased}
    return found
