"""The bench suite: its histories, its maths, its bars and its page. No times are asserted."""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
import typer
from markdown_it import MarkdownIt

import doxa
from doxa.bench import bars, outcome, peers, report
from doxa.bench.contenders import DUCKDB_DESIGNS, SQLITE_DESIGNS, DuckDBRows, SQLiteRows
from doxa.bench.fields import Field, enough_memory, moment
from doxa.bench.measuring import Effort, Finding, Series, growth, in_turn
from doxa.bench.peers import Peer, PeerError
from doxa.bench.reads import same_content
from doxa.bench.workload import Workload

bench = importlib.import_module("doxa.bench.__main__")
SMALL = 2_000


@pytest.fixture(scope="module")
def workload() -> Workload:
    return Workload(SMALL)


def digest(workload: Workload) -> str:
    lines = "\n".join(json.dumps(event) for event in workload.events())
    return hashlib.sha256(lines.encode()).hexdigest()


# ------------------------------------------------------------ histories


def test_the_same_seed_gives_the_same_history_on_every_machine(workload: Workload) -> None:
    assert digest(workload) == digest(Workload(SMALL))
    assert digest(workload)[:16] == "54ce54f1a7f91355"
    assert digest(Workload(SMALL, seed=8)) != digest(workload)


def test_a_history_has_the_mix_that_is_stated() -> None:
    big = Workload(50_000)
    kinds = Counter(event["event"] for event in big.events())
    shares = {kind: count / big.size for kind, count in kinds.items()}
    wanted = {"claim": 0.78, "support": 0.16, "correction": 0.04, "withdrawal": 0.02}
    assert {kind: round(share, 2) for kind, share in shares.items()} == wanted
    claims = [event for event in big.events() if event["event"] == "claim"]
    assert 0.045 < sum("because" in claim for claim in claims) / len(claims) < 0.055
    assert 0.31 < sum(claim["valid_to"] is not None for claim in claims) / len(claims) < 0.35
    corrections = [event for event in big.events() if event["event"] == "correction"]
    portions = sum(event["valid_from"] is not None for event in corrections)
    assert 0.45 < portions / len(corrections) < 0.55


def test_a_history_goes_into_a_ledger_without_a_line_set_aside(workload: Workload) -> None:
    with doxa.open() as ledger:
        done = ledger.import_events(workload.events())
    assert (done.events, done.commits, done.set_aside) == (SMALL, SMALL // 100, ())


def test_the_outcome_worked_out_by_hand_is_what_doxa_says_everywhere(workload: Workload) -> None:
    rows = outcome.table(workload)
    rng = random.Random(5)
    with doxa.open() as ledger:
        ledger.import_events(workload.events())
        for _ in range(30):
            v, k = workload.coordinates(rng)
            ours = ledger.view(valid_at=moment(v), known_at=k).to_arrow()
            mask = pc.and_(pc.less_equal(rows["held_from"], v), pc.greater(rows["held_to"], v))
            mask = pc.and_(mask, pc.less_equal(rows["known_from"], k))
            mask = pc.and_(mask, pc.greater(rows["known_to"], k))
            assert same_content(ours, rows.filter(mask)), (v, k)


def test_one_row_more_is_other_content(workload: Workload) -> None:
    rows = outcome.table(workload)
    assert same_content(rows, rows.slice(0))
    assert not same_content(rows, rows.slice(1))


def test_every_design_by_hand_gives_the_same_answers(workload: Workload, tmp_path: Path) -> None:
    rows = outcome.table(workload)
    rng = random.Random(6)
    keys = workload.keys(rng)
    asked = [(*next(keys), *workload.coordinates(rng)) for _ in range(300)]
    sqlite = [SQLiteRows(tmp_path / f"{i}.db", rows, n) for i, n in enumerate(SQLITE_DESIGNS)]
    duck = [DuckDBRows(rows, name) for name in DUCKDB_DESIGNS]
    designs: list[SQLiteRows | DuckDBRows] = [*sqlite, *duck]
    answers = [[sorted(design.values(*one)) for one in asked] for design in designs]
    assert sum(map(len, answers[0])) > 50
    assert answers == [answers[0]] * len(answers)
    v, k = workload.instant_at(0.9), SMALL
    slices = [design.slice(v, k) for design in duck]
    assert all(same_content(slices[0], other) for other in slices)
    for design in designs:
        design.close()


# ------------------------------------------------------------ maths


def test_contenders_take_turns_and_answer_the_same_numbers_never_twice() -> None:
    asked: list[tuple[str, int]] = []

    def contender(name: str) -> Any:
        def call(number: int) -> float:
            asked.append((name, number))
            return float(number)

        return call

    series = in_turn({"a": contender("a"), "b": contender("b")}, 3, Effort(), per_turn=2, warm=1)
    names = "".join(name for name, _ in asked)
    assert names == "aabbbbaaaabbbbaa"
    assert [number for name, number in asked if name == "a"] == list(range(8))
    assert series["a"].figures == series["b"].figures == (2.0, 3.0, 4.0, 5.0, 6.0, 7.0)


def test_turns_end_early_when_their_seconds_are_over_but_not_before_five() -> None:
    series = in_turn({"a": float}, 100, Effort(seconds=0))
    assert len(series["a"].figures) == 5


def test_medians_spreads_and_ratios_are_those_of_the_figures() -> None:
    ours, theirs = Series((1.0, 2.0, 3.0, 4.0, 10.0)), Series((2.0, 4.0, 6.0, 8.0, 20.0))
    finding = Finding("m", 10_000, {"doxa": ours, "other": theirs, "doxa: more": theirs})
    assert (ours.median, ours.least, ours.spread) == (3.0, 1.0, 2.0)
    assert ours.share(0.95) == 10.0
    assert finding.ratio("doxa", "other") == 0.5
    assert finding.ratio("doxa", "other", least=True) == 0.5
    assert list(finding.contenders()) == [("doxa", "other"), ("doxa: more", "other")]


def test_of_many_figures_the_ends_and_the_percentiles_are_kept() -> None:
    many = Series(tuple(float(n) for n in range(1_001)))
    kept = Series(tuple(many.as_dict()["figures"]))
    assert len(kept.figures) == 101
    assert (kept.least, kept.median, kept.share(0.95), max(kept.figures)) == (0, 500, 950, 1_000)


def test_figures_of_different_units_are_never_compared() -> None:
    finding = Finding("m", 1, {"doxa": Series((1.0,)), "other": Series((1.0,), "B")})
    assert list(finding.contenders()) == []


def test_growth_is_of_the_medians_at_the_ends() -> None:
    found = [Finding("m", size, {"doxa": Series((float(size),))}) for size in (10, 1_000, 100)]
    assert growth(found, "m", "doxa") == 100
    assert growth(found[:1], "m", "doxa") is None


@pytest.mark.parametrize(
    ("figure", "unit", "shown"),
    [
        (1.5, "s", "1.5 s"),
        (0.0001234, "s", "123 µs"),
        (2e-9, "s", "2 ns"),
        (0, "s", "0 s"),
        (1_234_567, "B", "1.23 MB"),
        (80_000, "events/s", "80,000 events/s"),
        (1.301, "x", "1.3 x"),
    ],
)
def test_amounts_are_shown_with_three_digits(figure: float, unit: str, shown: str) -> None:
    assert report.amount(figure, unit) == shown


@pytest.mark.parametrize(("text", "size"), [("10k", 10_000), ("1M", 1_000_000), ("20000", 20_000)])
def test_sizes_are_read_and_named(text: str, size: int) -> None:
    assert bench.events_of(text) == size
    assert bench.events_of(report.size_name(size)) == size


@pytest.mark.parametrize("text", ["", "k", "ten", "-10k", "999", "1.5M"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no size"):
        bench.events_of(text)


# ------------------------------------------------------------ bars and the page


def finding(measure: str, **series: float) -> Finding:
    return Finding(measure, 10_000, {name: Series((value,)) for name, value in series.items()})


def some_run() -> report.Run:
    findings = [
        finding("slice_large", doxa=0.5, DuckDB=1.0),
        replace(finding("point", doxa=1e-5, SQLite=9e-6), facts={"one value, %": 30}),
        Finding("point", 100_000, {"doxa": Series((2e-5,)), "SQLite": Series((1e-5,))}),
    ]
    for one in findings[1:]:
        one.series["doxa: with its view"] = Series((5e-6,))
    where = dict.fromkeys(("processor", "system", "flush_us", "load", "began", "memory_gb"), "?")
    names = ("doxa", "python", "sqlite", "duckdb", "pyarrow", "numpy", "eventsourcing", "cores")
    return report.Run({**where, **dict.fromkeys(names, "1")}, findings, ["tgms is not installed"])


def test_every_bar_that_was_measured_has_its_verdict_and_no_other() -> None:
    said = {one.bar.title: one for one in bars.verdicts(some_run().findings)}
    assert said["large slice ÷ DuckDB"].met
    assert not said["point ÷ SQLite"].met
    assert said["point ÷ SQLite"].found == 2.0
    assert said["point ÷ SQLite"].size == 100_000
    assert not said["point, largest ÷ smallest size"].met
    assert said["point with its view"].met
    assert not any("durable" in title for title in said)


def test_a_bar_of_at_least_so_much_is_met_above_it() -> None:
    (rate,) = (bar for bar in bars.BARS if bar.title == "made anew from the log")
    for figure, met in ((150_000, True), (149_999, False)):
        assert bars.Verdict(rate, 1_000_000, figure, None).met is met


def test_every_loss_is_named_with_its_reason_or_a_place_for_it() -> None:
    lost = bars.losses([finding("disk", doxa=300.0, SQLite=100.0), finding("x", doxa=2.0, y=1.0)])
    assert [(one.measure, one.contender, one.ratio) for one in lost] == [
        ("disk", "SQLite", 3.0),
        ("x", "y", 2.0),
    ]
    assert lost[0].reason.startswith("By hand")
    assert lost[1].reason == ""
    text = report.page(report.Run(some_run().machine, [finding("x", doxa=2.0, y=1.0)]))
    assert "| `x` | 10k | y | 2 x | No reason is on record yet. |" in text


def test_a_reason_counts_for_every_version_of_a_peer() -> None:
    assert bars.Loss("peer_append", 1, "tiramemsu 0.7.0", 2.0).reason == "It does not flush."


def test_the_page_is_sound_markdown_and_shows_bars_losses_growth_and_notices() -> None:
    text = report.page(some_run())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]
    wanted = ["Performance", "Bars", "Where doxa is behind", "Growth", "Everything measured"]
    assert [heading for heading in headings if heading in wanted] == wanted
    assert "| 3 | point ÷ SQLite | 100k | ≤ 1 x | 2 x (least 2 x) | **missed** |" in text
    assert "- Tgms is not installed" in text
    assert max(map(len, text.split("## Bars")[0].splitlines())) <= 100


def test_a_run_is_kept_and_read_again_as_it_was() -> None:
    made = some_run()
    again = report.Run.from_dict(json.loads(json.dumps(made.as_dict())))
    assert report.page(again) == report.page(made)
    assert again.as_dict() == made.as_dict()


def test_the_page_comes_with_its_pictures_and_raw_figures(tmp_path: Path) -> None:
    bench.write_page(some_run(), tmp_path / "performance.md")
    for name in report.PLOTS:
        assert "<svg" in (tmp_path / "assets" / name).read_text("utf-8")
    kept = json.loads((tmp_path / "assets" / "performance.json").read_text("utf-8"))
    assert kept["findings"][0]["ratios"]["doxa / DuckDB"]["of_medians"] == 0.5


# ------------------------------------------------------------ runs


def quick(tmp_path: Path, chosen: list[str], sizes: list[int]) -> tuple[report.Run, list[str]]:
    said: list[str] = []
    tmp_path.mkdir(exist_ok=True)
    effort = Effort(rounds=0, seconds=0.1)

    def said_of_this_run(text: str) -> None:
        if not text.startswith("the machine was busy"):
            said.append(text)

    def show(title: str) -> Any:
        return lambda done, total: None

    return bench.run(sizes, chosen, effort, tmp_path, show, said_of_this_run), said


@pytest.mark.parametrize("measure", ["point", "slice_small", "assemble", "withdraw", "disk"])
def test_each_measure_runs_alone(tmp_path: Path, measure: str) -> None:
    made, said = quick(tmp_path, [measure], [SMALL])
    assert said == []
    assert made.failed == []
    assert all("doxa" in one.series and one.size == SMALL for one in made.findings)
    assert {one.measure for one in made.findings} <= set(made.documents)
    assert list(tmp_path.iterdir()) == []


def test_a_size_that_does_not_fit_into_memory_is_left_out_with_a_notice(tmp_path: Path) -> None:
    assert not enough_memory(10**12)
    made, said = quick(tmp_path, ["point"], [10**12])
    assert made.findings == []
    assert "are left out: they need about" in said[0]


def test_a_measure_that_raises_is_told_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(field: Field, effort: Effort) -> Any:
        raise AssertionError("the two sides differ")

    monkeypatch.setitem(bench.MEASURES, "slice_large", broken)
    made, said = quick(tmp_path, ["slice_large", "slice_small"], [SMALL])
    assert made.failed == ["slice_large at 2k"]
    assert "the two sides differ" in said[0]
    assert [one.measure for one in made.findings] == ["slice_early", "slice_rare"]


def test_peers_that_are_not_installed_are_left_out_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_PEERS", str(tmp_path / "nowhere"))
    made, said = quick(tmp_path, ["peers"], [SMALL])
    assert (made.findings, made.failed) == ([], [])
    assert [text.partition(" is not installed")[0] for text in said] == list(peers.PINNED)


STAND_IN = """
class Peer:
    notes = {"slice": "made up"}
    def __init__(self, folder): self.claims = []
    def open(self): pass
    def write(self, claims): self.claims += claims
    def point(self, subject, predicate, batch, valid_at):
        return sum(c.subject == subject for c in self.claims)
    def append(self, number): raise ValueError("it broke")
    def withdraw(self, number):
        print("the last words", flush=True)
        __import__("os")._exit(3)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A peer named pip, which every environment has, in place of the real ones."""
    python = tmp_path / "peers" / "pip" / "bin" / "python"
    python.parent.mkdir(parents=True)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "peer_pip.py").write_text(STAND_IN)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{modules}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("DOXA_PEERS", str(tmp_path / "peers"))
    monkeypatch.setattr(peers, "PINNED", {"pip": ()})
    return tmp_path


def test_a_peer_answers_from_its_own_process_and_says_what_it_lacks(stand_in: Path) -> None:
    claims = stand_in / "claims.jsonl"
    peers.write_claims(Workload(SMALL, plain=True), claims)
    peer = Peer("pip", stand_in / "data")
    try:
        assert peer.ask("load", path=str(claims), limit=60)["found"] == SMALL
        assert "it has no slice" in peer.ask("slice", batch=0, valid_at=0)["unsupported"]
        found = peer.ask("point", subject="subject 1", predicate="", batch=0, valid_at=0)
        assert found["found"] > 0
        with pytest.raises(PeerError, match="pip failed at append: ValueError: it broke"):
            peer.ask("append", number=0)
        with pytest.raises(PeerError, match="pip ended at withdraw: the last words"):
            peer.ask("withdraw", number=0)
    finally:
        peer.end()


def test_what_a_peer_fails_at_ends_its_part_with_a_notice(stand_in: Path) -> None:
    made, said = quick(stand_in / "run", ["peers"], [SMALL])
    assert made.failed == []
    assert {one.measure for one in made.findings} == {"peer_load", "peer_disk", "peer_point"}
    assert said[-1] == "left out: pip failed at append: ValueError: it broke"


def test_the_command_prints_json_for_one_measure() -> None:
    command = [sys.executable, "-m", "doxa.bench", "--only", "slice_small", "--size", "10k"]
    command += ["--rounds", "0", "--seconds", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = json.loads(done.stdout)
    assert [one["measure"] for one in kept["findings"]] == ["slice_early", "slice_rare"]
    assert {bar["number"] for bar in kept["bars"]} == {5}


def test_the_command_names_the_measures_where_one_is_unknown() -> None:
    command = [sys.executable, "-m", "doxa.bench", "--only", "speed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no measure 'speed'" in " ".join(done.stderr.split())
