"""What it costs to ask: points, slices large and small, and blocks for an answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import doxa
from doxa.bench.contenders import fastest
from doxa.bench.fields import SUMMARIES, Field, moment, sentence
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.bench.outcome import ANSWER
from doxa.bench.workload import RARE

__all__ = ["assemble", "point", "same_content", "slice_large", "slice_small"]

BUDGET = 8_000
CANDIDATES = 200
REGISTERED = 50


def point(field: Field, effort: Effort) -> Iterator[Finding]:
    """``value`` of the subject and predicate of a random claim, at a random valid time and a random
    revision; at a view that is there, and with making the view. "None" and "several" are answers
    too, and cost what their exceptions cost."""
    rounds, per_turn = effort.of(150, least=20), 20
    rng = field.workload.rng("points")
    keys = field.workload.keys(rng)
    count = (rounds + 2) * per_turn
    asked = [(*next(keys), *field.workload.coordinates(rng)) for _ in range(count)]
    ledger, sqlite = field.ledger, field.sqlite
    views = [ledger.view(valid_at=moment(v), known_at=k) for _, _, v, k in asked]
    at = [moment(v) for _, _, v, _ in asked]
    answers = [0, 0]  # one value; none or several

    def value(view: doxa.TruthView, subject: str, predicate: str) -> object:
        try:
            found: object = view.value(subject, predicate)
        except (doxa.NotHeld, doxa.SeveralHeld):
            answers[1] += 1
            return None
        answers[0] += 1
        return found

    for subject, predicate, v, k in rng.sample(asked, 200):
        view = ledger.view(valid_at=moment(v), known_at=k)
        ours = sorted(f'"{found}"' for found in view.values(subject, predicate))
        for hand in (sqlite, field.duckdb["texts, by knowledge"]):
            theirs = sorted(hand.values(subject, predicate, v, k))
            assert ours == theirs, (subject, predicate, v, k, ours, theirs)

    best, duckdb = fastest(field.duckdb, lambda d, n: d.values(*asked[n]), 10)
    series = in_turn(
        {
            "doxa": timed(lambda n: value(views[n], *asked[n][:2])),
            "SQLite": timed(lambda n: sqlite.values(*asked[n])),
            "doxa: with its view": timed(
                lambda n: value(ledger.view(valid_at=at[n], known_at=asked[n][3]), *asked[n][:2])
            ),
            "DuckDB": timed(lambda n: duckdb.values(*asked[n])),
        },
        rounds,
        effort,
        per_turn,
    )
    facts: Facts = {
        "one value, %": round(100 * answers[0] / sum(answers)),
        "SQLite's design": sqlite.design,
        "DuckDB's design": best,
    }
    notes = ["200 of the questions were compared: SQLite and DuckDB give the same values."]
    yield Finding("point", field.size, series, facts=facts, notes=notes)


def same_content(ours: pa.Table, theirs: pa.Table) -> bool:
    """Whether two answers have the same rows, whatever their order and their types of text."""
    return bool(_plain(ours).equals(_plain(theirs)))


def _plain(answer: pa.Table) -> pa.Table:
    types = [pa.string() if name in ANSWER[:5] else pa.int64() for name in ANSWER]
    picked = answer.select(list(ANSWER)).cast(pa.schema(zip(ANSWER, types, strict=True)))
    return picked.sort_by("id").combine_chunks()


Question = tuple[int, int, str | None]  # valid time, revision, predicate


def _slices(
    field: Field, effort: Effort, name: str, ask: Callable[[random.Random], Question], rounds: int
) -> Finding:
    """doxa and the best DuckDB design take turns at slices that never repeat; three are compared
    row by row before."""
    rng = field.workload.rng(name)
    rounds = effort.of(rounds, least=7)
    asked = [ask(rng) for _ in range(rounds + 10)]
    ledger = field.ledger
    rows: list[int] = []

    def ours(number: int) -> pa.Table:
        v, k, predicate = asked[number]
        view = ledger.view(valid_at=moment(v), known_at=k)
        return view.to_arrow(predicate=predicate, columns=ANSWER)

    best, duckdb = fastest(field.duckdb, lambda d, n: d.slice(*asked[n]), 7)

    def theirs(number: int) -> pa.Table:
        answer = duckdb.slice(*asked[number])
        rows.append(answer.num_rows)
        return answer

    for number in range(-3, 0):
        mine, other = ours(number), theirs(number)
        assert same_content(mine, other), f"doxa and DuckDB differ at {asked[number]}"
    series = in_turn({"doxa": timed(ours), "DuckDB": timed(theirs)}, rounds, effort)
    facts: Facts = {"rows": round(sum(rows) / len(rows)), "DuckDB's design": best}
    notes = ["Three answers were compared: the same rows with the same content on both sides."]
    return Finding(name, field.size, series, round(sum(rows) / len(rows)), facts, notes)


def slice_large(field: Field, effort: Effort) -> Iterator[Finding]:
    """Everything held at a pair of coordinates in the last tenth of the history, as an Arrow table
    of the same eight columns: about half as many rows as events. doxa's time includes the view."""

    def ask(rng: random.Random) -> Question:
        workload = field.workload
        v, k = workload.instant_at(0.8 + rng.random() / 5), 0.9 + rng.random() / 10
        return v, workload.revision(k), None

    yield _slices(field, effort, "slice_large", ask, 30)


def slice_small(field: Field, effort: Effort) -> Iterator[Finding]:
    """About a thousandth of the events as an Arrow table: what was held early in the history, and
    what is held of one rare predicate late in it."""
    workload = field.workload
    share = 2 / 1_000

    def early(rng: random.Random) -> Question:
        # Claims come in order of valid time, so early knowledge is about early times.
        v = workload.instant_at(rng.random() / 100)
        return v, workload.revision(share * (0.8 + 0.4 * rng.random())), None

    def rare(rng: random.Random) -> Question:
        v = workload.instant_at(0.8 + rng.random() / 5)
        return v, workload.revision(0.9 + rng.random() / 10), RARE

    yield _slices(field, effort, "slice_early", early, 60)
    yield _slices(field, effort, "slice_rare", rare, 60)


def assemble(field: Field, effort: Effort) -> Iterator[Finding]:
    """A block of 8,000 characters out of 200 candidates, 50 of them registered summaries, at a live
    view; other candidates each time. The second series asks for the receipt, which is made then.
    By hand: the texts whose facts are all held, joined."""
    rounds = effort.of(300, least=40)
    rng = field.workload.rng("assemble")
    ledger, sqlite = field.ledger, field.sqlite
    at = field.workload.instant_at(0.9)
    view = ledger.view(valid_at=moment(at))
    ids = field.workload.picked(rng, 50_000)
    summaries = {item["id"]: item for item in field.summaries()}

    def candidates() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            {
                "id": f"t{n}",
                "text": sentence(id),
                "facts": [id],
                "score": rng.random(),
            }
            for n, id in enumerate(rng.choices(ids, k=CANDIDATES - REGISTERED))
        ]
        for number in rng.sample(range(SUMMARIES), REGISTERED):
            item = summaries[f"n{number}"]
            one = {"id": item["id"], "artefact": item["id"], "text": item["text"]}
            found.append({**one, "facts": item["facts"], "score": rng.random()})
        return found

    asked = [candidates() for _ in range(2 * (rounds + 6))]

    def ours(number: int) -> doxa.Block:
        return ledger.assemble("?", candidates=asked[number], view=view, budget=BUDGET)

    block = ours(-1)
    assert 0 < block.used <= BUDGET, block.used
    series = in_turn(
        {
            "doxa": timed(ours),
            "doxa: and its receipt": timed(lambda n: ours(n + rounds + 6).receipt),
            "SQLite": timed(lambda n: sqlite.block(asked[n], at, field.size, BUDGET)),
        },
        rounds,
        effort,
        warm=5,
    )
    taken = series["doxa"]
    facts: Facts = {
        "p50, ms": round(taken.median * 1e3, 3),
        "p95, ms": round(taken.share(0.95) * 1e3, 3),
        "printed": len(block.printed),
    }
    notes = ["By hand there are no labels, citations, conflicts, reasons or receipt."]
    yield Finding("assemble", field.size, series, facts=facts, notes=notes)
