"""What it costs that something turns out otherwise: a withdrawal and all that falls with it, and
finding the one summary that it makes stale."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import doxa
from doxa.bench.fields import Field, counted, moment
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed

__all__ = ["stale", "withdraw"]

FALLS = 10  # claims that fall with a root, itself among them
TEXTS = 3  # summaries that fall with them
SUMMARIES = 100_000


def withdraw(field: Field, effort: Effort) -> Iterator[Finding]:
    """Withdrawing a claim on which nine others rest in a chain, and three summaries on those.

    In a ledger in memory that holds the whole history: everything a commit in a folder does except
    the flush. The second series also captures a new view and asks it for the last claim of the
    chain and for a summary, so that nothing is put off unseen.
    """
    rounds = effort.of(150, least=20)
    at = moment(field.workload.instant_at(0.9))
    with doxa.open() as ledger:
        events = counted(field.workload.events(), field.size, field.progress)
        report = ledger.import_events(events)
        assert not report.set_aside, report
        made = [event for root in range(2 * (rounds + 6)) for event in _root(root)]
        ledger.append(made, recorded_at=moment(field.end))

        def asked(number: int) -> object:
            root = 2 * number + 1
            ledger.withdraw(f"r{root}-0", id=f"x{root}")
            view = ledger.view(valid_at=at)
            (judged,) = ledger.judge([f"q{root}-2"], view)
            standing = view.standing(f"r{root}-{FALLS - 1}")
            assert (standing, judged.eligible) == (doxa.Standing.UNSUPPORTED, False)
            return standing

        before = ledger.view(valid_at=at)
        ledger.withdraw(f"r{2 * rounds + 10}-0", id="first")
        after = ledger.view(valid_at=at)
        fallen = [change.id for change in after.diff(before)]
        invalid = [item.id for item in ledger.reconcile(after, since=before).invalidated]
        assert (len(fallen), len(invalid)) == (FALLS, TEXTS), (fallen, invalid)
        series = in_turn(
            {
                "doxa": timed(lambda n: ledger.withdraw(f"r{2 * n}-0", id=f"x{2 * n}")),
                "doxa: and asked": timed(asked),
            },
            rounds,
            effort,
            warm=5,
        )
    facts: Facts = {"claims that fall": len(fallen), "summaries that fall": len(invalid)}
    yield Finding("withdraw", field.size, series, facts=facts)


def _root(root: int) -> list[dict[str, Any]]:
    """A claim from a source, a chain that rests on it, and summaries of the chain's last ones."""
    fields = {"event": "claim", "predicate": "rests on", "object": root}
    chain: list[dict[str, Any]] = [
        {**fields, "id": f"r{root}-0", "subject": f"root {root}", "source": f"root source {root}"}
    ]
    for step in range(1, FALLS):
        because = [f"r{root}-{step - 1}"]
        chain.append(
            {**fields, "id": f"r{root}-{step}", "subject": f"step {root}", "because": because}
        )
    for text in range(TEXTS):
        facts = [f"r{root}-{FALLS - 1 - text}"]
        chain.append(
            {"event": "summary", "id": f"q{root}-{text}", "text": "A text.", "facts": facts}
        )
    return chain


def stale(field: Field, effort: Effort) -> Iterator[Finding]:
    """One of many summaries made stale by one event: found and named by ``reconcile``, with the two
    views at hand, and with capturing the new one. By hand: an index from claims to summaries.

    100,000 summaries, or as many as the size has events where that is less, of one claim each.
    """
    count = min(SUMMARIES, field.size)
    rounds = effort.of(100, least=20)
    rng = field.workload.rng("stale")
    chosen = rng.sample(range(count), rounds + 6)
    at = moment(field.workload.instant_at(0.9))
    with doxa.open() as ledger:
        _register(ledger, count)
        hand = _HandIndex(count)
        pairs: dict[int, tuple[doxa.TruthView, doxa.TruthView]] = {}

        def change(number: int) -> None:
            """One event, once a number, outside the measured time."""
            if number in pairs:
                return
            before = ledger.view(valid_at=at)
            ledger.withdraw(f"c{chosen[number]}", id=f"w{number}")
            pairs[number] = (before, ledger.view(valid_at=at))
            hand.change(number, f"c{chosen[number]}")

        def ours(number: int) -> None:
            before, after = pairs[number]
            found = ledger.reconcile(after, since=before).invalidated
            assert [item.id for item in found] == [f"n{chosen[number]}"], found

        def whole(number: int) -> None:
            before, _ = pairs[number]
            found = ledger.reconcile(ledger.view(valid_at=at), since=before).invalidated
            assert [item.id for item in found] == [f"n{chosen[number]}"], found

        def theirs(number: int) -> None:
            assert hand.stale(number) == [f"n{chosen[number]}"]

        def after_change(call: Any) -> Any:
            take = timed(call)

            def taken(number: int) -> float:
                change(number)
                return float(take(number))

            return taken

        series = in_turn(
            {
                "doxa": after_change(ours),
                "SQLite": after_change(theirs),
                "doxa: with its view": after_change(whole),
            },
            rounds,
            effort,
            warm=5,
        )
    facts: Facts = {"summaries": count, "false alarms": 0, "missed": 0}
    notes = ["Each answer was compared: exactly the one summary, by its id."]
    yield Finding("stale", field.size, series, facts=facts, notes=notes)


def _register(ledger: doxa.Ledger, count: int) -> None:
    for start in range(0, count, 5_000):
        numbers = range(start, min(start + 5_000, count))
        claims: list[dict[str, Any]] = [
            {
                "event": "claim",
                "id": f"c{n}",
                "subject": f"subject {n}",
                "predicate": "is",
                "object": n,
                "source": f"source {n % 200}",
            }
            for n in numbers
        ]
        texts: list[dict[str, Any]] = [
            {"event": "summary", "id": f"n{n}", "text": f"Text {n}.", "facts": [f"c{n}"]}
            for n in numbers
        ]
        ledger.append(claims + texts)


class _HandIndex:
    """Which summaries rest on which claims, and what changed, in SQLite's memory."""

    def __init__(self, count: int) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.executescript(
            "CREATE TABLE dependency(claim TEXT, summary TEXT, PRIMARY KEY(claim, summary))"
            " WITHOUT ROWID; CREATE TABLE change(number INTEGER PRIMARY KEY, claim TEXT)"
        )
        pairs = ((f"c{n}", f"n{n}") for n in range(count))
        self.connection.executemany("INSERT INTO dependency VALUES(?,?)", pairs)

    def change(self, number: int, claim: str) -> None:
        self.connection.execute("INSERT INTO change VALUES(?,?)", (number, claim))

    def stale(self, number: int) -> list[str]:
        sql = "SELECT summary FROM change JOIN dependency USING(claim) WHERE number>=?"
        return [row[0] for row in self.connection.execute(sql, (number,))]
