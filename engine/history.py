"""Step functions over valid time, one an owner, as they were known at each position of the log.

Each row is a rectangle: a code that held over ``low`` to ``high`` of valid time and was known from
``known`` to ``until``. Rows are added in order of knowledge and never change, save that an open one
is closed once. The open rows of an owner, its *leaves*, cover all of valid time. A leaf that a
commit changes is replaced by rows that lie within it, so that each row has one before it, and what
was known earlier at an instant is found by walking back, in O(log n) by skew-binary jumps (Myers,
"An applicative random-access stack", 1983).

A commit draws its changes into drafts over the leaves, which `now`, `paint` and `changed` see;
`settle` turns what came of them into rows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, cast

from doxa.engine.errors import DamageError
from doxa.engine.numbers import Lists, Numbers
from doxa.engine.tables import NONE
from doxa.engine.times import EMPTY, NEG, POS, Intervals

__all__ = ["OPEN", "DenseHistory", "History", "Piece"]

OPEN: Final = 2**31 - 1  # ``until`` of a row that nothing has replaced
SEVERAL: Final = -2  # in place of a leaf: the owner has more than one
_TRIES: Final = 10_000  # more than any writer changes an owner while it is read once
_FEW: Final = 8  # leaves of one owner that are replaced one by one


class Piece(NamedTuple):
    """A stretch of valid time, and the codes before and after a commit."""

    low: int
    high: int
    before: int
    after: int


_as_piece = cast("Callable[[tuple[int, int, int, int]], Piece]", partial(tuple.__new__, Piece))


class _Draft:
    """What becomes of one leaf, in more than one stretch: from each of ``lows`` on, the code beside
    it."""

    __slots__ = ("codes", "high", "low", "lows")

    def __init__(self, low: int, high: int, code: int) -> None:
        self.low, self.high = low, high
        self.lows, self.codes = [low], [code]

    def _cut(self, at: int) -> int:
        if at >= self.high:
            return len(self.lows)
        i = bisect_left(self.lows, at)
        if i == len(self.lows) or self.lows[i] != at:
            self.lows.insert(i, at)
            self.codes.insert(i, self.codes[i - 1])
        return i

    def paint(self, low: int, high: int, on: int, off: int, own: Intervals) -> None:
        loose_low, loose_high = own if own else (None, None)
        first = (
            bisect_right(self.lows, max(low, self.low)) - 1
            if low == loose_low
            else self._cut(max(low, self.low))
        )
        last = bisect_left(self.lows, high) if high == loose_high else self._cut(high)
        codes = self.codes
        for i in range(first, last):
            codes[i] = (codes[i] | on) & ~off

    def pieces(self) -> list[tuple[int, int, int]]:
        """The stretches of one code, as long as they can be."""
        found: list[tuple[int, int, int]] = []
        lows, codes = self.lows, self.codes
        start, code = lows[0], codes[0]
        for low, following in zip(lows, codes, strict=True):
            if following != code:
                found.append((start, low, code))
                start, code = low, following
        found.append((start, self.high, code))
        return found


class History:
    """Rows as typed columns, one entry a row. ``default`` gives the code of an owner without rows,
    and what it was before its first."""

    def __init__(self, default: Callable[[int], int]) -> None:
        self.default = default
        self.owner, self.code = array("i"), bytearray()
        self.low, self.high = array("q"), array("q")
        self.until, self.before, self.jump = array("i"), array("i"), array("i")
        self.depth = array("i")
        self.known = array("i")  # the last column to grow: who finds a row there finds all of it
        self._leaf = Numbers()  # owner → its one leaf, or SEVERAL
        self.leaves = Lists()  # of owners with several, in order of valid time
        # by leaf, or by -2 - owner where it has no rows: its code now, or a draft of several
        self._drafts: dict[int, int | _Draft] = {}
        self._drafted: dict[int, list[int]] = {}  # owner → its drafts

    def __len__(self) -> int:
        return len(self.known)

    def leaf(self, owner: int) -> int:
        """The one leaf of an owner; SEVERAL, or NONE where it has no rows."""
        return self._leaf.get(owner)

    def _set_leaf(self, owner: int, leaf: int) -> None:
        self._leaf[owner] = leaf

    # -- asking, at a position k

    def has(self, owner: int) -> bool:
        """Whether an owner has rows."""
        return self.leaf(owner) != NONE

    def at(self, owner: int, v: int, k: int) -> int:
        """The code of an owner at (v, k). O(log n)."""
        row = self.leaf(owner)
        if row == SEVERAL:
            row = self._among(owner, v)
        if row != NONE and self.known[row] > k:
            row = self._earlier(row, k)
        return self.default(owner) if row == NONE else self.code[row]

    def _among(self, owner: int, v: int) -> int:
        """The leaf of an owner that holds an instant."""
        low, high = self.low, self.high
        for _ in range(_TRIES):  # until it is read between two changes
            leaves = self.leaves.get(owner)
            i = bisect_right(leaves, v, key=low.__getitem__) - 1
            if 0 <= i < len(leaves):
                row = leaves[i]
                if low[row] <= v < high[row]:
                    return row
        raise DamageError(f"no stretch of {owner} holds {v}: delete the folder cache/, open again")

    def _earlier(self, row: int, k: int) -> int:
        """The row that was known at ``k`` where a later one lies; NONE before the first."""
        known, jump, before = self.known, self.jump, self.before
        while row != NONE and known[row] > k:
            further = jump[row]
            row = further if further != NONE and known[further] > k else before[row]
        return row

    def rows_at(self, owner: int, k: int) -> list[int]:
        """The rows of an owner that were known at ``k``, in order of valid time."""
        leaf = self.leaf(owner)
        leaves = list(self.leaves.get(owner)) if leaf == SEVERAL else [leaf]
        found = dict.fromkeys(self._earlier(row, k) for row in leaves)
        return [] if NONE in found else list(found)

    def where(self, owner: int, bits: int, k: int) -> Intervals:
        """Where any of the bits is set for an owner, as known at ``k``. O(its rows then)."""
        rows = self.rows_at(owner, k)
        if not rows:
            return (NEG, POS) if self.default(owner) & bits else EMPTY
        return _joined([(self.low[r], self.high[r]) for r in rows if self.code[r] & bits])

    def positions(self, owner: int) -> list[int]:
        """The commits that changed an owner, ascending. O(its rows)."""
        leaf = self.leaf(owner)
        stack = list(self.leaves.get(owner)) if leaf == SEVERAL else [leaf]
        seen: set[int] = {NONE}
        while stack:
            row = stack.pop()
            while row not in seen:
                seen.add(row)
                row = self.before[row]
        return sorted({self.known[row] for row in seen if row != NONE})

    # -- the newest knowledge, with the changes of the commit under way

    def _keys(self, owner: int, low: int, high: int) -> Sequence[int]:
        """The drafts, made or not, of the leaves that meet low to high."""
        leaf = self.leaf(owner)
        if leaf == SEVERAL:
            leaves = self.leaves.get(owner)
            first = bisect_right(leaves, low, key=self.low.__getitem__) - 1
            return leaves[first : bisect_left(leaves, high, key=self.low.__getitem__)]
        return (-2 - owner if leaf == NONE else leaf,)

    def _before(self, owner: int, key: int) -> int:
        """The code of a leaf before the commit."""
        return self.default(owner) if key < NONE else self.code[key]

    def _bounds(self, key: int) -> tuple[int, int]:
        return (NEG, POS) if key < NONE else (self.low[key], self.high[key])

    def _draft(self, owner: int, key: int) -> _Draft:
        draft = self._drafts[key]
        if isinstance(draft, int):
            draft = _Draft(*self._bounds(key), draft)
            self._drafts[key] = draft
        return draft

    def now(self, owner: int, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """The codes of an owner from low to high, each with where it is so."""
        for key in self._keys(owner, low, high):
            draft = self._drafts.get(key)
            if isinstance(draft, _Draft):
                lows = draft.lows
                for i in range(max(0, bisect_right(lows, low) - 1), bisect_left(lows, high)):
                    end = lows[i + 1] if i + 1 < len(lows) else draft.high
                    if end > low:
                        yield max(low, lows[i]), min(high, end), draft.codes[i]
            else:
                start, end = self._bounds(key)
                code = self._before(owner, key) if draft is None else draft
                yield max(low, start), min(high, end), code

    def now_where(self, owner: int, bits: int, where: Intervals) -> Intervals:
        """Where, of ``where``, any of the bits is set for an owner now."""
        leaf = self.leaf(owner)
        if leaf != SEVERAL:
            key = -2 - owner if leaf == NONE else leaf
            draft = self._drafts.get(key)
            if not isinstance(draft, _Draft):
                code = self._before(owner, key) if draft is None else draft
                return where if code & bits else EMPTY
        return _joined(
            [
                (low, high)
                for i in range(0, len(where), 2)
                for low, high, code in self.now(owner, where[i], where[i + 1])
                if code & bits
            ]
        )

    def paint(
        self, owner: int, where: Intervals, on: int, off: int, own: Intervals = EMPTY
    ) -> None:
        """Sets and clears bits of an owner. What begins or ends with ``own`` may spill over it, to
        the end of the stretch that it lies in: outside, these bits are read by nobody."""
        drafts = self._drafts
        for i in range(0, len(where), 2):
            low, high = where[i], where[i + 1]
            for key in tuple(self._keys(owner, low, high)):
                draft = drafts.get(key)
                if draft is None:
                    draft = drafts[key] = self._before(owner, key)
                    self._drafted.setdefault(owner, []).append(key)
                start, end = self._bounds(key)
                first, last = (low <= start or low in own[:1]), (high >= end or high in own[1:])
                if first and last and isinstance(draft, int):
                    drafts[key] = (draft | on) & ~off
                else:
                    self._draft(owner, key).paint(low, high, on, off, own)

    def is_drafted(self, owner: int) -> bool:
        """Whether an owner was painted."""
        return owner in self._drafted

    def drafted(self) -> list[int]:
        """The owners that were painted."""
        return list(self._drafted)

    def differs(self, owner: int, bits: int) -> Intervals:
        """Where any of the bits differs for an owner from what it was before the commit."""
        keys = self._drafted[owner]
        draft = self._drafts[keys[0]]
        if len(keys) == 1 and isinstance(draft, int):
            same = not (draft ^ self._before(owner, keys[0])) & bits
            return EMPTY if same else self._bounds(keys[0])
        found = []
        for key in keys:
            before = self._before(owner, key)
            for low, high, code in self._pieces(key):
                if (code ^ before) & bits:
                    found.append((low, high))
        return _joined(sorted(found))

    def _pieces(self, key: int) -> list[tuple[int, int, int]]:
        """What became of a leaf, in order of valid time."""
        draft = self._drafts[key]
        return [(*self._bounds(key), draft)] if isinstance(draft, int) else draft.pieces()

    def turn(self, owner: int, change: int, low: int, high: int, k: int) -> None:
        """Turns bits over from low to high for an owner of one code, known from ``k``."""
        leaf = self.leaf(owner)
        key = -2 - owner if leaf == NONE else leaf
        code, rows = self._before(owner, key), []
        if low > NEG:
            rows.append(self._add(owner, key, k, NEG, low, code))
        rows.append(self._add(owner, key, k, low, high, code ^ change))
        if high < POS:
            rows.append(self._add(owner, key, k, high, POS, code))
        self._replace(owner, {key: rows}, k)

    def settle(self, k: int) -> dict[int, list[Piece]]:
        """Makes rows of what was painted, known from ``k``; what changed, by owner."""
        changed: dict[int, list[Piece]] = {}
        owners: list[int] = []  # those of one code throughout, and again
        codes: list[int] = []
        leaves: list[int] = []
        for owner, keys in self._drafted.items():
            key = keys[0]
            draft = self._drafts[key]
            if len(keys) == 1 and isinstance(draft, int):
                before = self.default(owner) if key < NONE else self.code[key]
                if draft == before:
                    continue
                low, high = (NEG, POS) if key < NONE else (self.low[key], self.high[key])
                changed[owner] = [_as_piece((low, high, before, draft))]
                if low == NEG and high == POS:
                    owners.append(owner)
                    codes.append(draft)
                    leaves.append(key)
                else:
                    self._replace(owner, {key: [self._add(owner, key, k, low, high, draft)]}, k)
                continue
            replaced: dict[int, list[int]] = {}
            pieces: list[Piece] = []
            for key in keys:
                found, before = self._pieces(key), self._before(owner, key)
                if len(found) > 1 or found[0][2] != before:
                    replaced[key] = [self._add(owner, key, k, *piece) for piece in found]
                    pieces += [
                        Piece(low, high, before, code)
                        for low, high, code in found
                        if code != before
                    ]
            if replaced:
                self._replace(owner, replaced, k)
                changed[owner] = pieces
        if owners:
            self._add_whole(owners, codes, leaves, k)
        self._drafts, self._drafted = {}, {}
        return changed

    def _add_whole(self, owners: list[int], codes: list[int], leaves: list[int], k: int) -> None:
        """Replaces the one leaf of each owner, or gives it its first, by one of another code."""
        row, count = len(self.known), len(owners)
        self.owner.extend(owners)
        self.code.extend(codes)
        self.low.extend([NEG] * count)
        self.high.extend([POS] * count)
        self.until.extend([OPEN] * count)
        for leaf in leaves:
            before, depth, jump = self._behind(leaf)
            self.before.append(before)
            self.depth.append(depth)
            self.jump.append(jump)
        self.known.extend([k] * count)
        for leaf in leaves:
            if leaf >= 0:
                self.until[leaf] = k
        self._set_leaves(owners, row)

    def _set_leaves(self, owners: list[int], row: int) -> None:
        """Gives each owner its one leaf; they are the rows from ``row`` on."""
        for owner in owners:
            self._set_leaf(owner, row)
            row += 1

    def _behind(self, key: int) -> tuple[int, int, int]:
        """The row before one that replaces a leaf, how many there are, and where to jump to."""
        if key < NONE:
            return NONE, 0, NONE
        depth, jump = self.depth[key], key
        over = self.jump[key]
        if over != NONE:
            further = self.jump[over]
            if (
                further != NONE
                and depth - self.depth[over] == self.depth[over] - self.depth[further]
            ):
                jump = further
        return key, depth + 1, jump

    def _add(self, owner: int, key: int, k: int, low: int, high: int, code: int) -> int:
        row = len(self.known)
        before, depth, jump = self._behind(key)
        self.owner.append(owner)
        self.code.append(code)
        self.low.append(low)
        self.high.append(high)
        self.until.append(OPEN)
        self.before.append(before)
        self.jump.append(jump)
        self.depth.append(depth)
        self.known.append(k)
        return row

    def _replace(self, owner: int, replaced: dict[int, list[int]], k: int) -> None:
        for key in replaced:
            if key >= 0:
                self.until[key] = k
        if self.leaf(owner) == SEVERAL:
            leaves = self.leaves.own(owner)
            if len(replaced) > _FEW:
                leaves[:] = [row for old in leaves for row in replaced.get(old, (old,))]
                return
            for old, rows in replaced.items():
                i = bisect_left(leaves, self.low[old], key=self.low.__getitem__)
                leaves[i : i + 1] = rows
            return
        (rows,) = replaced.values()
        if len(rows) > 1:
            self.leaves.put(owner, rows)
        self._set_leaf(owner, rows[0] if len(rows) == 1 else SEVERAL)


class DenseHistory(History):
    """The same for owners that are numbered from 0 on, many of which have rows."""

    def __init__(self, default: Callable[[int], int]) -> None:
        super().__init__(default)
        self.leaf_of = array("i")  # by owner: its one leaf, SEVERAL, or NONE
        self.since = array("i")  # by owner: the position of its first row, or OPEN

    def leaf(self, owner: int) -> int:
        return self.leaf_of[owner] if owner < len(self.leaf_of) else NONE

    def uniform(self, owner: int) -> int:
        """The code that an owner has now at all of valid time, or NONE where it has several."""
        leaf = self.leaf_of[owner] if owner < len(self.leaf_of) else NONE
        if leaf == SEVERAL:
            return NONE
        draft = self._drafts.get(leaf if leaf != NONE else -2 - owner)
        if draft is None:
            return self.default(owner) if leaf == NONE else self.code[leaf]
        return draft if isinstance(draft, int) else NONE

    def recode(self, owner: int, code: int) -> None:
        """Gives an owner that has one code at all of valid time another one there."""
        leaf = self.leaf_of[owner] if owner < len(self.leaf_of) else NONE
        key = leaf if leaf != NONE else -2 - owner
        if key not in self._drafts:
            self._drafted[owner] = [key]
        self._drafts[key] = code

    def _set_leaf(self, owner: int, leaf: int) -> None:
        if len(self.leaf_of) <= owner:
            missing = owner + 1 - len(self.leaf_of)
            self.since.extend(array("i", [OPEN]) * missing)
            self.leaf_of.extend(array("i", [NONE]) * missing)
        self.leaf_of[owner] = leaf
        if self.since[owner] == OPEN:
            self.since[owner] = self.known[-1]

    def _set_leaves(self, owners: list[int], row: int) -> None:
        leaf_of, since = self.leaf_of, self.since
        if max(owners) >= len(leaf_of):
            super()._set_leaves(owners, row)
            return
        for owner in owners:
            leaf_of[owner] = row
            if since[owner] == OPEN:
                since[owner] = self.known[row]
            row += 1

    def at(self, owner: int, v: int, k: int) -> int:
        if owner >= len(self.leaf_of) or self.since[owner] > k:
            return self.default(owner)
        row = self.leaf_of[owner]
        if row == SEVERAL:
            row = self._among(owner, v)
        if self.known[row] > k:
            row = self._earlier(row, k)
        return self.code[row]


def _joined(pairs: Sequence[tuple[int, int]]) -> Intervals:
    """Disjoint stretches in order, as a set."""
    bounds: list[int] = []
    for low, high in pairs:
        if bounds and bounds[-1] == low:
            bounds[-1] = high
        else:
            bounds += (low, high)
    return tuple(bounds)
