"""The history of a CSV file in Git becomes a ledger: at each commit, its view is the file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import export_events
from doxa.adapters.git import import_git
from doxa.engine import times
from tests.git_repositories import (
    ADA,
    BOB,
    DAY,
    FAR,
    START,
    Repo,
    csv_bytes,
    parsed,
    recorded_at,
    told,
)

BROKEN = [
    b"",
    b"id,name\n1,one\n1,two\n",
    b"name\none\n",
    b"id,name\n1,one,more\n",
    b"id,name\n1\n",
    b'id,name\n1,"one\n',
    b"id,name\n<<<<<<< HEAD\n1,one\n=======\n1,two\n>>>>>>> side\n",
    b"id,name\n1,\xff\n",
    b"id,name\n1,a\0b\n",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    b"<!DOCTYPE html>\n<html><body>Please wait</body></html>\n",
    b'id,name\n"a\nb",one\n',
    b"id,name,name\n1,one,two\n",
    b"id,,name\n1,one,two\n",
    b"id,name\n,one\n",
]
TEXTS = st.sampled_from(
    ["", "a", "b", "007", "1e5", "2024-03-01", "x,y", 'say "so"', "two\nlines", "ü", " "]
)
KEYS = st.sampled_from(["1", "2", "3", "4", "Zoë", "a b"])
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = ["edit", "edit", "edit", "broken", "delete", "rename", "other", "merge", "mode", "same"]
COLUMNS = ["name", "place", "note"]


@dataclass(frozen=True)
class Step:
    """One commit of the line: the file's name and content (None: it is not there)."""

    name: str
    content: bytes | None
    date: int
    author: str = ADA
    mode: str = "100644"
    other: int = 0
    side: bytes | None = None  # what the file says on a branch that is merged here


def rows_of(draw: st.DrawFn) -> bytes:
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True))
    keys = draw(st.lists(KEYS, max_size=5, unique=True))
    rows = [{"id": key, **{column: draw(TEXTS) for column in columns}} for key in keys]
    return csv_bytes(rows, ["id", *columns])


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Commits of one line: edits, broken versions, renames, merges, deletions, clocks that step."""
    name, content, present, other = "data.csv", rows_of(draw), True, 0
    date = START
    found: list[Step] = [Step(name, content, date)]
    for number in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(KINDS))
        side = None
        if kind in ("edit", "merge"):
            side = rows_of(draw) if kind == "merge" else None
            content, present = rows_of(draw), True
        elif kind == "broken":
            content, present = draw(st.sampled_from(BROKEN)), True
        elif kind == "delete":
            present = False
        elif kind == "rename" and present and content:
            name = draw(st.sampled_from([f"moved/to{number}.csv", f"n{number}.csv"]))
        other += kind == "other"
        date += draw(st.sampled_from([0, 1, 60, DAY, DAY, -30, -9 * DAY, 5_000 * DAY]))
        mode = "100755" if kind == "mode" else "100644"
        author = draw(st.sampled_from([ADA, BOB]))
        found.append(Step(name, content if present else None, date, author, mode, other, side))
    return found


def built(folder: Path, steps: list[Step]) -> Repo:
    """The repository with these commits."""
    repo = Repo(folder / "repo")
    for step in steps:
        merge = None
        if step.side is not None:
            side = {step.name: step.side, "side.txt": b"side"}
            merge = repo.commit(side, step.date - 5, branch="side", onto=repo.tip, author=BOB)
        files = {"other.txt": b"%d" % step.other}
        if step.content is not None:
            files[step.name] = step.content
        repo.commit(files, step.date, merge=merge, modes={step.name: step.mode}, author=step.author)
    return repo.done()


def touched(steps: list[Step]) -> list[bool]:
    """Whether each commit made something of the file."""
    seen = [(s.name, s.content, s.mode if s.content is not None else "") for s in steps]
    return [at == 0 or seen[at] != seen[at - 1] for at in range(len(seen))]


def expected_times(steps: list[Step]) -> list[int]:
    """When each commit is recorded, in the words of the rule."""
    found: list[int] = []
    now = times.instant(NOW)
    for step, touches in zip(steps, touched(steps), strict=True):
        said, last = step.date * 10**6, found[-1] if found else times.FIRST
        if touches:
            found.append(said if last < said <= now else last + 1)
        else:
            found.append(last)
    return found


def clock() -> datetime:
    return NOW


random_histories = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@random_histories
@given(histories())
def test_at_every_commit_the_view_is_the_file_that_git_checks_out(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder, doxa.open(clock=clock) as ledger:
        repo = built(Path(folder), steps)
        report = import_git(ledger, repo.folder, steps[-1].name, key="id", name="n")
        line = repo.line()
        assert len(line) == len(steps) == report.seen
        broken = [s for s, touches in zip(steps, touched(steps), strict=True) if touches]
        assert len(report.set_aside) == sum(s.content in BROKEN for s in broken)
        known = recorded_at(ledger, "n")
        believed: dict[str, dict[str, str]] = {}
        for commit, step, at in zip(line, steps, expected_times(steps), strict=True):
            file = repo.checked_out(commit, Path(folder) / "tree") / step.name
            if not file.exists():
                believed = {}
            elif file.read_bytes() not in BROKEN:
                believed = parsed(file.read_bytes())
            view = ledger.view(valid_at=FAR, known_at=times.moment(at))
            assert told(view) == believed, commit
            assert known.get(commit, at) == at
        assert ledger.verify().ok


@random_histories
@given(histories(), st.data())
def test_an_import_in_two_runs_is_the_import_in_one(steps: list[Step], data: st.DataObject) -> None:
    sound = next(at for at, step in enumerate(steps) if step.content not in (*BROKEN, None))
    with tempfile.TemporaryDirectory() as folder:
        repo = built(Path(folder), steps)
        line = repo.line()
        cuts = data.draw(st.lists(st.integers(sound, len(line) - 1), min_size=1, max_size=3))
        with doxa.open(clock=clock) as once, doxa.open(clock=clock) as often:
            whole = import_git(once, repo.folder, steps[0].name, key="id")
            parts = [
                import_git(often, repo.folder, steps[0].name, key="id", ref=line[cut])
                for cut in [*sorted(cuts), len(line) - 1]
            ]
            assert list(export_events(often)) == list(export_events(once))
            for figure in ("added", "corrected", "withdrawn", "restamped", "written"):
                assert sum(getattr(p, figure) for p in parts) == getattr(whole, figure)
            assert parts[-1].paths == whole.paths
            again = import_git(often, repo.folder, steps[0].name, key="id")
            assert again.unchanged
            assert again.resumed_from is not None


@random_histories
@given(histories(), st.data())
def test_under_commit_the_valid_time_runs_with_the_authors_dates(
    steps: list[Step], data: st.DataObject
) -> None:
    sound = next(at for at, step in enumerate(steps) if step.content not in (*BROKEN, None))
    with tempfile.TemporaryDirectory() as folder, doxa.open(clock=clock) as ledger:
        repo = built(Path(folder), steps)
        cut = repo.line()[data.draw(st.integers(sound, len(steps) - 1))]
        for ref in (cut, "main"):
            import_git(ledger, repo.folder, steps[0].name, key="id", valid="commit", ref=ref)
        believed: dict[str, dict[str, str]] = {}
        since: dict[int, dict[str, dict[str, str]]] = {}
        running = times.FIRST
        for step, at, touches in zip(steps, expected_times(steps), touched(steps), strict=True):
            if not touches:
                continue
            running = max(running, min(step.date * 10**6, at))
            if step.content is None:
                believed = {}
            elif step.content not in BROKEN:
                believed = parsed(step.content)
            since[running] = believed  # of several at one time, the last
        for start, rows in since.items():
            assert told(ledger.view(valid_at=times.moment(start))) == rows
        before = times.moment(min(since) - 1)
        assert told(ledger.view(valid_at=before)) == {}
