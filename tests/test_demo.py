"""The demo shows what it says, from real facts, and the picture in the documentation is drawn from
the data."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner

import doxa
from doxa.adapters import demo
from doxa.adapters.cli.app import app
from doxa.adapters.plane import plane
from doxa.adapters.ticks import ticks
from doxa.engine import times
from doxa.ledger import Ledger
from tests.support import ROOT

SVG = "{http://www.w3.org/2000/svg}"
HISTORY = ROOT / "adapters" / "demo" / "history.jsonl"


def shown(folder: Path | None = None, *, terminal: bool = False) -> str:
    told = io.StringIO()
    console = Console(file=told, width=100, force_terminal=terminal, color_system=None)
    assert demo.run(console, folder) == 0
    return told.getvalue()


def texts(svg: str) -> list[str]:
    return ["".join(item.itertext()) for item in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def output() -> str:
    return shown()


@pytest.fixture
def public() -> Ledger:
    """The bundled history in memory."""
    ledger = doxa.open()
    report = ledger.import_events(HISTORY)
    assert report.set_aside == ()
    return ledger


# ---------------------------------------------------------------- the demo


def test_the_demo_gives_the_same_text_each_time(output: str) -> None:
    assert shown() == output


def test_the_demo_shows_every_step_and_ends_well(output: str) -> None:
    for sentence in (
        "2024-06-01  2020-06-01  supported",
        "2024-06-01  2021-06-01  end of life",
        "put in by: correction c8-cut",
        "summary hcq-note is not eligible",
        "Contested: 'universe' 'hubble_constant' is contested",
        "ViewMoved: the truth moved",
        "> The capital of Kazakhstan is Astana.",
        "old-advice         missing_fact",
        "planets-at-length  budget_exceeded",
    ):
        assert sentence in output
    assert "> The capital of Kazakhstan is Nur-Sultan." not in output
    assert output.endswith("All is well.\n")


def test_the_demo_is_plain_where_nobody_looks(output: str) -> None:
    assert "\x1b" not in output
    assert "╭" not in output
    assert all(line == line.rstrip() for line in output.splitlines())


def test_the_demo_draws_frames_on_a_terminal() -> None:
    assert "╭" in shown(terminal=True)


def test_the_demo_leaves_its_ledger_in_a_folder_that_was_named(tmp_path: Path) -> None:
    shown(tmp_path / "kept")
    with doxa.open(tmp_path / "kept", create=False) as ledger:
        now = ledger.view(valid_at=demo.DAY)
        assert now.value("Kazakhstan", "capital") == "Astana"
        assert ledger.verify().ok


def test_the_demo_does_not_run_over_a_ledger_that_is_there(tmp_path: Path) -> None:
    doxa.open(tmp_path).close()
    with pytest.raises(doxa.CallerError, match="wants a new folder"):
        demo.run(Console(file=io.StringIO()), tmp_path)


def test_the_history_names_a_source_for_every_claim() -> None:
    events = [json.loads(line) for line in HISTORY.read_text("utf-8").splitlines()]
    assert all("source" in e or "because" in e for e in events if e["event"] == "claim")
    assert [e["recorded_at"] for e in events] == sorted(e["recorded_at"] for e in events)


def test_a_conclusion_falls_with_the_planet_it_counted(public: Ledger) -> None:
    before = public.view(valid_at="2007-01-01", known_at="2006-08-01")
    after = public.view(valid_at="2007-01-01", known_at="2006-09-01")
    earlier = public.view(valid_at="2000-01-01", known_at="2006-09-01")
    assert [view.value("Solar System", "planets") for view in (before, after, earlier)] == [9, 8, 9]
    assert after.standing("nine-planets") == "unsupported"


def test_a_move_announced_ahead_is_known_before_it_happens(public: Ledger) -> None:
    november = "1997-11-01"
    assert public.view(valid_at=november, known_at=november).value("Kazakhstan", "capital") == (
        "Almaty"
    )
    ahead = public.view(valid_at="1998-01-01", known_at=november)
    assert ahead.value("Kazakhstan", "capital") == "Akmola"


# ---------------------------------------------------------------- the picture


def test_the_picture_in_the_documentation_is_drawn_from_the_data() -> None:
    committed = (ROOT / "docs" / "assets" / "centos.svg").read_text("utf-8")
    assert committed == demo.picture()


def test_every_letter_in_a_picture_has_the_answer_that_a_view_gives(public: Ledger) -> None:
    drawn = texts(plane(public, *demo.CENTOS, points=demo.ASKED))
    for valid_at, known_at in demo.ASKED:
        value = public.view(valid_at=valid_at, known_at=known_at).value(*demo.CENTOS)
        assert f"{value}: at {valid_at}, as known on {known_at}" in drawn


def test_a_picture_agrees_with_the_views_everywhere(public: Ledger) -> None:
    events = [json.loads(line) for line in HISTORY.read_text("utf-8").splitlines()]
    days = sorted({event["recorded_at"][:10] for event in events})
    points = [(v, f"{k}T18:00:00Z") for v in (*days, "2029-05-31", "2029-06-01") for k in days]
    views = [public.view(valid_at=v, known_at=k) for v, k in points]
    for subject, predicate in {
        (event["subject"], event["predicate"]) for event in events if event["event"] == "claim"
    }:
        drawn = texts(plane(public, subject, predicate, points=points))
        for view, (valid_at, known_at) in zip(views, points, strict=True):
            claims = view.claims(subject=subject, predicate=predicate)
            said = " | ".join(sorted({str(claim.object) for claim in claims})) or "nothing held"
            contested = any(claim.standing is doxa.Standing.CONTESTED for claim in claims)
            words = f"{'contested: ' * contested}{said}: at {valid_at}, as known on {known_at}"
            assert words in drawn


def test_a_point_where_nothing_is_held_says_so(public: Ledger) -> None:
    drawn = texts(plane(public, *demo.CENTOS, points=[("2010-01-01", "2021-01-01")]))
    assert "nothing held: at 2010-01-01, as known on 2021-01-01" in drawn


def test_contested_values_share_a_rectangle_and_are_hatched(public: Ledger) -> None:
    svg = plane(public, *demo.HUBBLE)
    assert "contested: 67.4 ± 0.5 km/s/Mpc | 73.04 ± 1.04 km/s/Mpc" in texts(svg)
    assert 'class="hatch"' in svg


def test_a_withdrawn_source_is_marked_and_ends_the_rectangle(public: Ledger) -> None:
    svg = plane(public, "hydroxychloroquine", "in-hospital survival of Covid-19 patients")
    assert "withdrawal lancet-retracted, 2020-06-04" in texts(svg)
    assert "known 2020-05-22T12:00:00Z to 2020-06-04T12:00:00Z" in svg


@pytest.mark.parametrize(
    "hostile",
    [
        "</text><script>alert(1)</script>",
        '" onload="alert(1)',
        "&lt;&entity;]]>",
        "\x00\x08\x1b[31m",
        "\u202eturned round\ufffe",
        "x" * 5_000,
    ],
)
def test_hostile_text_stays_text(hostile: str, ledger: Ledger) -> None:
    ledger.claim("<s>&", 'p"', hostile, valid_from="2024-01-01", source="s")
    ledger.correct(
        ledger.claim("<s>&", 'p"', {hostile: hostile}, valid_to="2023-01-01", source="s"),
        valid_from="2022-01-01",
    )
    root = ElementTree.fromstring(
        plane(ledger, "<s>&", 'p"', points=[("2024-06-01", "2024-06-01")])
    )
    assert {item.tag.removeprefix(SVG) for item in root.iter()} <= {
        "svg", "title", "style", "defs", "pattern", "path", "rect", "text", "circle",
    }  # fmt: skip
    assert not [name for item in root.iter() for name in item.attrib if name.startswith("on")]


def test_a_picture_of_nothing_is_refused(ledger: Ledger) -> None:
    with pytest.raises(doxa.NotHeld, match="nothing was ever claimed"):
        plane(ledger, "nobody", "knows")


def test_a_window_that_is_inverted_is_refused(public: Ledger) -> None:
    with pytest.raises(doxa.InvalidTime, match="inverted"):
        plane(public, *demo.CENTOS, valid_from="2024-01-01", valid_to="2020-01-01")


@pytest.mark.parametrize(
    "ends",
    [
        ("0001-01-01", "9999-12-31"),
        ("2019-01-01", "2031-01-01"),
        ("2024-01-30", "2024-04-02"),
        ("2024-02-01", "2024-02-04"),
        ("2024-02-01T10:00:00Z", "2024-02-01T10:20:00Z"),
        ("2024-02-01T10:00:00Z", "2024-02-01T10:00:00.000040Z"),
    ],
)
def test_an_axis_has_a_handful_of_ticks_in_order(ends: tuple[str, str]) -> None:
    first, last = (times.instant(end) for end in ends)
    found = list(ticks(first, last))
    assert 1 <= len(found) <= 11
    assert [at for at, _ in found] == sorted({at for at, _ in found})
    assert all(first <= at <= last for at, _ in found)


def test_the_same_ledger_gives_the_same_picture(public: Ledger) -> None:
    first, second = (plane(public, "Kazakhstan", "capital") for _ in range(2))
    assert first == second


def test_the_command_draws_the_same_picture(tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    shown(Path(kept))
    points = [f"--point={valid_at},{known_at}" for valid_at, known_at in demo.ASKED]
    drawn = CliRunner().invoke(app, ["plane", kept, *demo.CENTOS, *points])
    assert (drawn.exit_code, drawn.stdout.rstrip()) == (0, demo.picture().rstrip())
    out = tmp_path / "picture.svg"
    CliRunner().invoke(app, ["plane", kept, *demo.CENTOS, *points, f"--out={out}"])
    assert out.read_text("utf-8") == demo.picture()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nobody", "knows"], 1, "nothing was ever claimed"),
        ([*demo.CENTOS, "--point", "2024-06-01"], 2, "is not a pair"),
        ([*demo.CENTOS, "--point", "2024-06-01,soon"], 2, "known_at is 'soon'"),
    ],
)
def test_the_command_says_what_can_not_be_drawn(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    shown(tmp_path / "kept")
    asked = CliRunner().invoke(app, ["plane", str(tmp_path / "kept"), *arguments])
    assert asked.exit_code == code
    assert says in asked.stderr
