"""The plane of valid time and knowledge time, drawn from a ledger as an SVG picture.

To the right is valid time (when it applies), upward knowledge time (what had been recorded by
then). Each rectangle is one belief: what was held for those instants, from one commit on until
another changed it. Corrections and withdrawals are marked where they begin to bite.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from xml.sax.saxutils import escape

from doxa.adapters.ticks import ticks
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import NotHeld
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SOURCE, SUPPORT, WITHDRAWAL, entity
from doxa.engine.lost import refuse_picture

if TYPE_CHECKING:
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["plane"]

Instant = str | datetime | date

WIDTH: Final = 860
LEFT, RIGHT, TOP, BOTTOM = 112, 24, 64, 400  # edges of the plane, RIGHT from the right
SHADES: Final = 6
DAY: Final = 86_400_000_000

STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.paper { fill: #ffffff }
.title { font-size: 17px; font-weight: 600 }
.soft, .tick { fill: #59636e }
.tick { font-size: 12px }
.frame, .grid { stroke: #d1d9e0; fill: none }
.now { stroke: #59636e; stroke-dasharray: 2 5; fill: none }
.belief { fill-opacity: .2; stroke-width: 1.5 }
.hatch { fill: url(#contested) }
.stripe { stroke: #59636e; stroke-width: 1.5; stroke-opacity: .55 }
.mark { fill: #1f2328; stroke: #ffffff; stroke-width: 1.5 }
.point { fill: #ffffff; stroke: #1f2328; stroke-width: 2 }
.name { font-size: 12px; font-weight: 700; text-anchor: middle }
.s0 { fill: #2f6fb3; stroke: #2f6fb3 } .s1 { fill: #c2571a; stroke: #c2571a }
.s2 { fill: #2c8a57; stroke: #2c8a57 } .s3 { fill: #8655b5; stroke: #8655b5 }
.s4 { fill: #8f7000; stroke: #8f7000 } .s5 { fill: #b3315f; stroke: #b3315f }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.paper { fill: #0d1117 }
.soft, .tick { fill: #9198a1 }
.frame, .grid { stroke: #3d444d }
.now, .stripe { stroke: #9198a1 }
.mark { fill: #f0f6fc; stroke: #0d1117 }
.point { fill: #0d1117; stroke: #f0f6fc }
.belief { fill-opacity: .28 }
.s0 { fill: #6cb0f5; stroke: #6cb0f5 } .s1 { fill: #f09a5f; stroke: #f09a5f }
.s2 { fill: #62c48d; stroke: #62c48d } .s3 { fill: #bb93e6; stroke: #bb93e6 }
.s4 { fill: #d9b945; stroke: #d9b945 } .s5 { fill: #f07fa5; stroke: #f07fa5 }
}
"""


class State(NamedTuple):
    """What is held somewhere: the distinct values as text, and whether they are contested."""

    values: tuple[str, ...]
    contested: bool

    def __str__(self) -> str:
        text = " | ".join(_short(value, 40) for value in self.values)
        return f"contested: {text}" if self.contested else text


@dataclass
class Rectangle:
    """One belief: the state of a stretch of valid time, from ``known_from`` until ``known_to``."""

    valid_from: int
    valid_to: int
    known_from: int
    known_to: int
    state: State


class Mark(NamedTuple):
    """A correction or withdrawal: the first instant that it reaches, when it was recorded, and
    what to say about it."""

    valid_from: int
    known_at: int
    says: str


@dataclass(frozen=True)
class Scale:
    """A stretch of time on a stretch of paper."""

    first: int
    last: int
    start: float
    end: float

    def __call__(self, at: int) -> float:
        inside = min(max(at, self.first), self.last)
        share = (inside - self.first) / (self.last - self.first)
        return round(self.start + share * (self.end - self.start), 1)


def plane(
    ledger: Ledger,
    subject: str,
    predicate: str,
    *,
    points: Iterable[tuple[Instant, Instant]] = (),
    valid_from: Instant | None = None,
    valid_to: Instant | None = None,
    known_from: Instant | None = None,
    known_to: Instant | None = None,
    workspace: str = "",
    perspective: str | None = None,
) -> str:
    """Draws what was believed about a subject's predicate over both times, as an SVG document.

    ``points`` are pairs of a ``valid_at`` and a ``known_at``, lettered and answered below the
    picture; the bounds choose the stretch that is shown, by default all that happens. The same
    ledger gives the same text. Raises `NotHeld` where nothing was ever claimed about them, and
    `Compacted` where a part of it is gone.
    """
    view = ledger.view(valid_at=times.moment(0), workspace=workspace, perspective=perspective)
    start = times.NEG if known_from is None else times.instant(known_from, "known_from")
    refuse_picture(view, subject, predicate, start)
    rows = [row for row in view.rows(subject, predicate) if view.in_sight(row)]
    if not rows:
        raise NotHeld(f"nothing was ever claimed about {subject!r} {predicate!r}")
    asked = [(times.instant(v, "valid_at"), times.instant(k, "known_at")) for v, k in points]
    rectangles, marks = _rectangles(view, rows), sorted(set(_marks(view, rows)))
    known = [at for r in rectangles for at in (r.known_from, r.known_to)]
    valid = [at for r in rectangles for at in (r.valid_from, r.valid_to)]
    valid = _finite([*valid, *(v for v, _ in asked)]) or known  # what always applies: as known
    known += [k for _, k in asked]
    across = _window(valid, (valid_from, valid_to), ("valid_from", "valid_to"))
    upward = _window(known, (known_from, known_to), ("known_from", "known_to"))
    x = Scale(*across, LEFT, WIDTH - RIGHT)
    y = Scale(*upward, BOTTOM, TOP)
    return _Picture(x, y, rectangles, marks).draw(f"{subject}: {predicate}", asked)


# ---------------------------------------------------------------- what happened


def _rectangles(view: TruthView, rows: list[int]) -> list[Rectangle]:
    """The beliefs about some claims, as few rectangles as there are."""
    graph, belief = view.graph, view.belief
    commits = {graph.commit_of(graph.c_pos[row]) for row in rows}
    for row in rows:
        commits.update(k for k in belief.changes_of(row) if 0 < k <= view.k)
    found: list[Rectangle] = []
    growing: dict[tuple[int, int, State], Rectangle] = {}
    for k in sorted(commits):
        at = graph.recorded_of(k)
        kept: dict[tuple[int, int, State], Rectangle] = {}
        for stretch in _stretches(view, rows, k):
            if stretch in growing:
                kept[stretch] = growing.pop(stretch)
            else:
                kept[stretch] = Rectangle(*stretch[:2], at, times.POS, stretch[2])
                found.append(kept[stretch])
        for ended in growing.values():
            ended.known_to = at
        growing = kept
    return found


def _stretches(view: TruthView, rows: list[int], k: int) -> Iterator[tuple[int, int, State]]:
    """What is held as known at ``k``, along valid time, in maximal stretches."""
    graph = view.graph
    known = [row for row in rows if graph.c_pos[row] <= k]
    records = [(row, view.belief.record(row, k)) for row in known]
    bounds = sorted({at for _, record in records for at in (*record.held, *record.contested)})
    last: tuple[int, int, State] | None = None
    for start, end in pairwise(bounds):
        held = [(row, record) for row, record in records if times.covers(record.held, start)]
        values = {ev.equality_key(graph.c_object[row]): graph.c_object[row] for row, _ in held}
        contested = any(times.covers(record.contested, start) for _, record in held)
        state = State(tuple(_words(value) for _, value in sorted(values.items())), contested)
        if last is not None and last[2] == state and last[1] == start:
            last = (last[0], end, state)
            continue
        if last is not None and last[2].values:
            yield last
        last = (start, end, state)
    if last is not None and last[2].values:
        yield last


def _marks(view: TruthView, rows: list[int]) -> Iterator[Mark]:
    graph = view.graph
    for row in rows:
        for correction in graph.corrections_of.get(row):
            if graph.k_pos[correction] <= view.k:
                yield Mark(
                    max(graph.k_from[correction], graph.c_from[row]),
                    graph.recorded_of(graph.k_pos[correction]),
                    f"correction {graph.id_of(entity(CORRECTION, correction))}",
                )
        reached = [entity(CLAIM, row)]
        for support in graph.supports_of(row):
            reached.append(entity(SUPPORT, support))
            if graph.s_source[support] != NONE:
                sources = view.belief.with_shared(graph.s_source[support])
                reached += [entity(SOURCE, source) for source in sources]
        for number in reached:
            for withdrawal in graph.withdrawals_of.get(number):
                if graph.w_pos[withdrawal] <= view.k:
                    yield Mark(
                        max(graph.w_from[withdrawal], graph.c_from[row]),
                        graph.recorded_of(graph.w_pos[withdrawal]),
                        f"withdrawal {graph.id_of(entity(WITHDRAWAL, withdrawal))}",
                    )


def _finite(instants: Iterable[int]) -> list[int]:
    return [at for at in instants if at not in (times.NEG, times.POS)]


def _window(
    happened: list[int], given: tuple[Instant | None, Instant | None], names: tuple[str, str]
) -> tuple[int, int]:
    """The stretch of time to show: as given, else all finite instants with some room around."""
    finite = _finite(happened) or [0]
    room = max((max(finite) - min(finite)) // 7, DAY)
    first = max(min(finite) - room // 2, times.FIRST)
    last = min(max(finite) + room, times.LAST)
    if given[0] is not None:
        first = times.instant(given[0], names[0])
    if given[1] is not None:
        last = times.instant(given[1], names[1])
    times.interval(first, last)
    return first, last


# ---------------------------------------------------------------- on paper


class _Picture:
    def __init__(self, x: Scale, y: Scale, rectangles: list[Rectangle], marks: list[Mark]) -> None:
        self.x, self.y, self.marks = x, y, marks
        self.written: list[tuple[float, float, float]] = []  # labels: left, right, baseline
        self.rectangles = [
            r
            for r in rectangles
            if r.valid_to > x.first
            and r.valid_from < x.last
            and r.known_to > y.first
            and r.known_from < y.last
        ]
        states = dict.fromkeys(r.state for r in self.rectangles)
        self.shade = {state: f"s{number % SHADES}" for number, state in enumerate(states)}

    def draw(self, title: str, points: list[tuple[int, int]]) -> str:
        below = [*self._answers(points)]
        height = BOTTOM + 66 + 22 * len(below)
        name = _clean(title)
        body = [
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
            f'<text class="title" x="{LEFT}" y="30">{name}</text>',
            f'<text class="soft" x="{LEFT}" y="50">what was believed, by when it applies and by'
            " when it was known</text>",
            *self._axes(),
            *(piece for r in self.rectangles for piece in self._belief(r)),
            *self._diagonal(),
            *(piece for mark in self.marks for piece in self._mark(mark)),
            *(piece for i, at in enumerate(points) for piece in self._point(i, at)),
        ]
        for line, (letter, words) in enumerate(below):
            down = BOTTOM + 74 + 22 * line
            body += [
                f'<text class="name" x="{LEFT + 6}" y="{down}">{letter}</text>',
                f'<text x="{LEFT + 22}" y="{down}">{_clean(words)}</text>',
            ]
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
                f' width="{WIDTH}" height="{height}" role="img" aria-labelledby="title">',
                f'<title id="title">{name}</title>',
                f"<style>{STYLE}</style>",
                '<defs><pattern id="contested" width="9" height="9"'
                ' patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
                '<path class="stripe" d="M0 0V9"/></pattern></defs>',
                *body,
                "</svg>",
                "",
            ]
        )

    def _axes(self) -> Iterator[str]:
        right = WIDTH - RIGHT
        for at, label in ticks(self.x.first, self.x.last):
            yield f'<path class="grid" d="M{self.x(at)} {TOP}V{BOTTOM + 5}"/>'
            yield (
                f'<text class="tick" x="{self.x(at)}" y="{BOTTOM + 20}"'
                f' text-anchor="middle">{label}</text>'
            )
        for at, label in ticks(self.y.first, self.y.last):
            yield f'<path class="grid" d="M{LEFT - 5} {self.y(at)}H{right}"/>'
            yield (
                f'<text class="tick" x="{LEFT - 10}" y="{self.y(at) + 4}"'
                f' text-anchor="end">{label}</text>'
            )
        middle = (TOP + BOTTOM) // 2
        yield (
            f'<text class="soft" x="{right}" y="{BOTTOM + 42}" text-anchor="end">'
            "valid time: when it applies →</text>"
        )
        yield (
            f'<text class="soft" x="22" y="{middle}" text-anchor="middle"'
            f' transform="rotate(-90 22 {middle})">knowledge time: when it was known →</text>'
        )
        yield (
            f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}"'
            f' height="{BOTTOM - TOP}"/>'
        )

    def _belief(self, r: Rectangle) -> Iterator[str]:
        left, right = self.x(r.valid_from), self.x(r.valid_to)
        bottom, top = self.y(r.known_from), self.y(r.known_to)
        box = (
            f'x="{left}" y="{top}" width="{round(right - left, 1)}"'
            f' height="{round(bottom - top, 1)}"'
        )
        says = _clean(
            f"{r.state}; applies {times.shown(r.valid_from)} to {times.shown(r.valid_to)}, "
            f"known {times.shown(r.known_from)} to {times.shown(r.known_to)}"
        )
        shade = self.shade[r.state]
        yield f'<rect class="belief {shade}" {box}><title>{says}</title></rect>'
        if r.state.contested:
            yield f'<rect class="hatch" {box}/>'
        room = int((right - left - 12) / 6.6)
        if room >= 4 and bottom - top >= 18:
            words = _clean(_short(str(r.state), room))
            yield f'<text x="{left + 7}" y="{round((top + bottom) / 2 + 4, 1)}">{words}</text>'

    def _diagonal(self) -> Iterator[str]:
        """Where the two times are one: what is known just as it happens."""
        first, last = max(self.x.first, self.y.first), min(self.x.last, self.y.last)
        if first < last:
            yield (
                f'<path class="now" d="M{self.x(first)} {self.y(first)}'
                f'L{self.x(last)} {self.y(last)}"><title>known as it happens</title></path>'
            )

    def _mark(self, mark: Mark) -> Iterator[str]:
        if not self.y.first <= mark.known_at <= self.y.last or mark.valid_from > self.x.last:
            return
        across, down = self.x(mark.valid_from), self.y(mark.known_at)
        yield (
            f'<path class="mark" d="M{across} {round(down - 7, 1)}l7 7l-7 7l-7 -7z">'
            f"<title>{_clean(mark.says)}, recorded {times.shown(mark.known_at)}</title></path>"
        )
        words = _short(f"{mark.says}, {times.iso(mark.known_at)[:10]}", 48)
        left, baseline = across + 11, round(down + 17, 1)
        wide = 6.6 * len(words)
        if left + wide > WIDTH - RIGHT:
            left = across - 11 - wide
        if all(
            abs(baseline - other) >= 15 or left >= end or left + wide <= start
            for start, end, other in self.written
        ):
            self.written.append((left, left + wide, baseline))
            side = 'text-anchor="start"' if left > across else 'text-anchor="end"'
            at = left if left > across else across - 11
            yield f'<text class="soft" x="{at}" y="{baseline}" {side}>{_clean(words)}</text>'

    def _point(self, number: int, at: tuple[int, int]) -> Iterator[str]:
        across, down = self.x(at[0]), self.y(at[1])
        yield f'<circle class="point" cx="{across}" cy="{down}" r="10"/>'
        yield f'<text class="name" x="{across}" y="{round(down + 4, 1)}">{_letter(number)}</text>'

    def _answers(self, points: list[tuple[int, int]]) -> Iterator[tuple[str, str]]:
        for number, (v, k) in enumerate(points):
            state = next(
                (
                    str(r.state)
                    for r in self.rectangles
                    if r.valid_from <= v < r.valid_to and r.known_from <= k < r.known_to
                ),
                "nothing held",
            )
            words = f"{state}: at {times.shown(v)}, as known on {times.shown(k)}"
            yield _letter(number), words


def _letter(number: int) -> str:
    return chr(ord("A") + number % 26)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _clean(text: str) -> str:
    """Text for XML: escaped, and without characters that XML, or a reader's eyes, can't bear."""
    plain = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text)
    plain = "".join("\ufffd" if c in "\ufffe\uffff\u2028\u2029" else c for c in plain)
    return escape(plain, {'"': "&quot;"})
