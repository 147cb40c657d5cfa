"""A demonstration on real public facts, each with the time at which it became known.

The history beside this file has them as exchange lines: who said what, in which publication, and
when. Where only the day of a publication is known, the hour is noon UTC.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.demo.stage import Stage
from doxa.adapters.plane import plane
from doxa.engine.errors import CallerError, Contested, ViewMoved

if TYPE_CHECKING:
    from rich.console import Console

    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["picture", "run"]

BUDGET: Final = 1_100
DAY: Final = "2022-09-18"  # the valid time of the last steps, a day after the clock of the demo
CENTOS: Final = ("CentOS Linux 8", "updates")
ASKED: Final = (("2024-06-01", "2020-06-01"), ("2024-06-01", "2021-06-01"))
HUBBLE: Final = ("universe", "hubble_constant")
QUESTION: Final = "What should an almanac of September 2022 say?"

# Recorded by a second writer while a block is being made: the news of 17 September 2022.
NEWS: Final = (
    {
        "event": "claim",
        "id": "kz-astana-2022",
        "subject": "Kazakhstan",
        "predicate": "capital",
        "object": "Astana",
        "text": "The capital of Kazakhstan is Astana.",
        "valid_from": "2022-09-17",
        "source": {"id": "Presidential decree of 17 September 2022"},
    },
    {
        "event": "correction",
        "id": "kz-renamed-2022",
        "corrects": "kz-nur-sultan",
        "by": "kz-astana-2022",
        "reason": "the city gets its earlier name back",
    },
    {
        "event": "citation",
        "id": "cite-decree-2022",
        "text": "Decree of the President of Kazakhstan, 17 September 2022",
        "supports": ["kz-astana-2022/support"],
    },
)

# What a search might have brought back: some of it is no longer so, and one text is too long.
FOUND: Final[tuple[dict[str, Any], ...]] = (
    {
        "id": "old-advice",
        "text": "CentOS Linux 8 gets updates until 2029-05-31.",
        "facts": ["c8-supported"],
        "score": 0.9,
    },
    {
        "id": "centos",
        "text": "CentOS Linux 8 has been at its end of life since the end of 2021.",
        "facts": ["c8-ended"],
        "citations": ["cite-centos"],
        "score": 0.8,
    },
    {
        "id": "planck",
        "text": "The Hubble constant is 67.4 ± 0.5 km/s/Mpc, from the microwave background.",
        "facts": ["planck-h0"],
        "citations": ["cite-planck"],
        "score": 0.7,
    },
    {
        "id": "shoes",
        "text": "The Hubble constant is 73.04 ± 1.04 km/s/Mpc, from Cepheids and supernovae.",
        "facts": ["shoes-2021"],
        "citations": ["cite-shoes"],
        "score": 0.3,
    },
    {"id": "hcq-note", "score": 0.6},
    {
        "id": "planets-at-length",
        "text": "The Solar System has eight planets. " * 20,
        "facts": ["eight-planets"],
        "citations": ["cite-iau"],
        "score": 0.5,
    },
    {
        "id": "planets",
        "text": "The Solar System has eight planets.",
        "facts": ["eight-planets"],
        "citations": ["cite-iau"],
        "score": 0.4,
    },
)


def run(console: Console, folder: Path | None = None) -> int:
    """Shows doxa at work on the bundled history, in a new ledger; returns the exit code.

    The ledger is kept where ``folder`` is given, and thrown away where not. Raises `CallerError`
    where there is a ledger already.
    """
    if folder is not None and (folder / "log.sqlite").exists():
        raise CallerError(f"there is a ledger in {folder} already; the demo wants a new folder")
    stage = Stage(console)
    with _opened(folder) as (ledger, second):
        _history(stage, ledger)
        _two_times(stage, ledger)
        _withdrawal(stage, ledger)
        _contested(stage, ledger)
        _moved(stage, ledger, second)
        sound = _verified(stage, ledger)
    if folder is not None:
        stage.say(f"The ledger is in {folder}; it is yours to try things on.")
    return 0 if sound else 1


def picture() -> str:
    """The demo's first question as a picture, an SVG document."""
    import doxa

    with doxa.open() as ledger:
        _import(ledger)
        return plane(ledger, *CENTOS, points=ASKED)


def candidates(view: TruthView) -> list[dict[str, Any]]:
    """What a search brings back at a view: the fixed texts, and the capital as it is held."""
    capitals = [
        {
            "id": "capital",
            "text": claim.text,
            "facts": [claim.id],
            "citations": ["cite-decree-2022" if claim.object == "Astana" else "cite-decree-2019"],
            "score": 1.0,
        }
        for claim in view.claims(subject="Kazakhstan", predicate="capital")
    ]
    return [*capitals, *FOUND]


def _clock() -> datetime:
    return datetime(2022, 9, 17, 12, tzinfo=UTC)


@contextmanager
def _opened(folder: Path | None) -> Iterator[tuple[Ledger, Ledger]]:
    """One ledger, opened twice: as two programs would that share its folder."""
    import doxa

    place = Path(tempfile.mkdtemp(prefix="doxa-demo-")) if folder is None else folder
    try:
        with doxa.open(place, clock=_clock) as ledger, doxa.open(place, clock=_clock) as second:
            yield ledger, second
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


def _import(ledger: Ledger) -> int:
    with as_file(files("doxa.adapters.demo") / "history.jsonl") as path:
        report = ledger.import_events(path)
    assert not report.set_aside, report
    return report.events


# ---------------------------------------------------------------- the steps


def _history(stage: Stage, ledger: Ledger) -> None:
    stage.title("A ledger of public facts")
    events = _import(ledger)
    stage.say(
        f"{events} events have been recorded, each at the time when it became publicly known: what "
        "was claimed, by which publication, and what was later corrected or withdrawn."
    )


def _two_times(stage: Stage, ledger: Ledger) -> None:
    stage.title("One question, two answers, both right")
    stage.say(
        "Does CentOS Linux 8 get updates on 1 June 2024? Its end of life was announced for 2029; "
        "in December 2020 it was brought forward by more than seven years."
    )
    views = [ledger.view(valid_at=v, known_at=k) for v, k in ASKED]
    stage.table(
        ("valid_at", "known_at", "answer"),
        [(v, k, view.value(*CENTOS)) for (v, k), view in zip(ASKED, views, strict=True)],
    )
    for (_, known_at), view in zip(ASKED, views, strict=True):
        stage.say(f"Why, as known on {known_at}:")
        for claim in view.claims(subject=CENTOS[0], predicate=CENTOS[1]):
            stage.why(view.why(claim.id))


def _withdrawal(stage: Stage, ledger: Ledger) -> None:
    stage.title("A retraction takes a summary, but not the fact")
    stage.say(
        "In May 2020 two papers found no benefit of hydroxychloroquine against Covid-19. A summary "
        "rested on both. On 4 June The Lancet retracted one of them; on 5 June a large trial "
        "reported."
    )
    days = ("2020-06-01", "2020-06-05", "2020-06-06")
    views = [ledger.view(valid_at="2020-06-01", known_at=day) for day in days]
    claims = {
        "no benefit found (two papers)": "hcq-no-benefit",
        "survival decreased (the retracted paper)": "hcq-harm",
    }
    rows = [(says, *(str(view.standing(id)) for view in views)) for says, id in claims.items()]
    notes = [ledger.judge("hcq-note", view)[0] for view in views]
    rows.append(("the summary", *("served" if note.eligible else "withheld" for note in notes)))
    stage.table(("as known on", *days), rows)
    stage.say("What the retraction did to the texts that were registered:")
    for outcome in ledger.reconcile(views[1], since=views[0]).invalidated:
        stage.item(str(outcome))


def _contested(stage: Stage, ledger: Ledger) -> None:
    stage.title("Two good sources disagree, and both are kept")
    stage.say(
        "The universe expands at one rate, and two careful measurements of it differ. The newer "
        "does not win by being newer: who asks for one value is told, who asks for all gets both."
    )
    view = ledger.view(valid_at=DAY)
    stage.table(
        ("value", "standing", "known since"),
        [
            (claim.object, str(claim.standing), f"{claim.recorded_at:%Y-%m-%d}")
            for claim in view.claims(subject=HUBBLE[0], predicate=HUBBLE[1])
        ],
    )
    try:
        view.value(*HUBBLE)
    except Contested as error:
        stage.item(f"Contested: {error}")


def _moved(stage: Stage, ledger: Ledger, second: Ledger) -> None:
    stage.title("A text for a reader, checked to the last moment")
    stage.say(
        f"“{QUESTION}” A search has brought back {len(FOUND) + 1} texts, each saying what it rests "
        "on. A view is captured; then, before the block is made, another program records that "
        "Nur-Sultan is named Astana again."
    )
    view = ledger.view(valid_at=DAY)
    found = candidates(view)
    second.append(NEWS)
    try:
        ledger.assemble(QUESTION, view=view, candidates=found, budget=BUDGET)
    except ViewMoved as error:
        stage.item(f"ViewMoved: {error}")
    stage.say("Nothing was returned. Captured and made again:")
    block = ledger.assemble_fresh(QUESTION, valid_at=DAY, candidates=candidates, budget=BUDGET)
    stage.block(block.text, f"{block.used} of {BUDGET} characters")
    stage.say("Left out, each for a reason:")
    stage.table(
        ("text", "reason", "detail"),
        [(left.id, str(left.reason), left.detail) for left in block.left_out],
    )


def _verified(stage: Stage, ledger: Ledger) -> bool:
    stage.title("Nothing was rewritten")
    stage.say(
        "Every event is chained to the one before. The whole log is read again, and every answer "
        "worked out anew by a second, slower program that shares no logic with the first."
    )
    report = ledger.verify()
    stage.table(
        ("events", "answers compared", "problems"),
        [(str(report.events), str(report.compared), str(len(report.problems)))],
    )
    for problem in report.problems:
        stage.item(f"{problem.code}: {problem.message}")
    stage.say("All is well." if report.ok else "Something is wrong.")
    return report.ok
