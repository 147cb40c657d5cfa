"""What an import of a history records, and how it goes on: renames, clocks, rewritten lines, other
writers, rejected and erased values, and processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import export_events
from doxa.adapters.git import GitImport, RewrittenHistory, import_git
from doxa.engine import times
from doxa.engine.errors import CallerError, ConflictError
from tests.git_repositories import ADA, BOB, DAY, FAR, START, Repo, csv_bytes, recorded_at, told
from tests.support import ROOT

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Make = Callable[..., Repo]


def clock() -> datetime:
    return NOW


@pytest.fixture
def repo(tmp_path: Path) -> Make:
    """Makes a repository in which a file says one thing after the other."""

    def make(*versions: bytes | None, name: str = "d.csv", step: int = DAY) -> Repo:
        made = Repo(tmp_path / f"repo{len(list(tmp_path.glob('repo*')))}", home=tmp_path / "home")
        for number, content in enumerate(versions):
            add(made, content, START + number * step, name=name)
        return made.done() if versions else made

    return make


def add(repo: Repo, content: bytes | None, date: int, *, name: str = "d.csv", **more: Any) -> None:
    repo.commit({"x": b"1"} if content is None else {"x": b"1", name: content}, date, **more)


def table(**rows: str) -> bytes:
    return csv_bytes([{"id": key, "a": value} for key, value in rows.items()], ["id", "a"])


def take(ledger: doxa.Ledger, repo: Repo, path: Any = "d.csv", **more: Any) -> GitImport:
    more.setdefault("key", "id")
    return import_git(ledger, repo.folder, path, **more)


def now(ledger: doxa.Ledger) -> dict[str, dict[str, Any]]:
    return told(ledger.view(valid_at=FAR))


# ---------------------------------------------------------------- what is recorded


def test_a_changed_cell_is_a_correction_and_a_vanished_one_a_withdrawal(repo: Make) -> None:
    made = repo(table(k="1", m="2"), table(k="3"))
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made)
        assert (report.added, report.corrected, report.withdrawn) == (4, 1, 2)
        first, second = made.line()
        old = f"d.csv@{first}#1.2"
        view = ledger.view(valid_at=FAR)
        assert view.standing(old) is doxa.Standing.SUPERSEDED
        (claim,) = view.claims(subject="k", predicate="a")
        assert claim.id == f"d.csv@{second}#1.3"
        assert {str(view.standing(f"d.csv@{first}#1.{n}")) for n in (3, 4)} == {"retracted"}
        support = ledger.sql(
            "SELECT source, origin, digest FROM supports WHERE claim = ?", [claim.id]
        ).rows
        blob = made.git("rev-parse", f"{second}:d.csv").strip()
        assert support == [(f"git:{second}", ADA, blob)]
        assert f"git:{second}, d.csv:2" in str(view.why(claim.id))
        assert "commit " + second[:12] + ": a change" in str(view.why(claim.id))


def test_claims_say_what_was_assumed_of_their_valid_time(repo: Make) -> None:
    for valid, word, bounds in (("unknown", "at all times", 0), ("commit", "author's date", 2)):
        with doxa.open(clock=clock) as ledger:
            take(ledger, repo(table(k="1")), valid=valid)
            lines = [json.loads(line) for line in export_events(ledger)]
            assert all(word in line["assumed"] for line in lines)
            assert sum(line["valid_from"] is not None for line in lines[:2]) == bounds


def test_two_files_share_their_keys_and_each_has_its_own_say(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.csv": b"id,x,n\n1,u,one\n", "b.csv": b"id,y,n\n1,v,eins\n"}, START)
    made.commit({"a.csv": b"id,x,n\n1,w,one\n", "b.csv": b"id,y,n\n1,v,uno\n"}, START + DAY)
    made.commit({"a.csv": b"id,x,n\n1,w,un\n", "b.csv": b"id,y,n\n1,v,uno\n"}, START + 2 * DAY)
    made.commit({"a.csv": b"id,x,n\n1,w\n", "b.csv": b"id,y,n\n1,v,uno\n"}, START + 3 * DAY)
    made.commit({"a.csv": b"id,x,n\n1,w\n", "b.csv": b"id,y,n\n1,v,due\n"}, START + 4 * DAY)
    made.commit({"a.csv": b"id,x,n\n1,w,un\n"}, START + 5 * DAY)
    made.done()
    line = made.line()
    with doxa.open(clock=clock) as once, doxa.open(clock=clock) as often:
        take(once, made, ["a.csv", "b.csv"])
        for commit in line:
            take(often, made, ["a.csv", "b.csv"], ref=commit)
        assert list(export_events(often)) == list(export_events(once))
        at = recorded_at(once, "a.csv,b.csv")
        middle = once.view(valid_at=FAR, known_at=times.moment(at[line[1]]))
        assert middle.value("1", "x") == "w"
        assert sorted(middle.values("1", "n")) == ["one", "uno"]
        assert now(once) == {"1": {"id": "1", "x": "w", "n": "un"}}


def test_a_prefix_keeps_keys_apart_that_mean_different_things(repo: Make) -> None:
    made = repo(table(k="1"))
    with doxa.open(clock=clock) as ledger:
        take(ledger, made, prefix="city:", name="cities")
        take(ledger, made, prefix="order:", name="orders")
        assert set(now(ledger)) == {"city:k", "order:k"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from("kmn"), st.sampled_from("xyz"), st.integers(0, 6), st.integers(1, 3)
            ),
            max_size=5,
        ),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_with_columns_for_valid_time_each_view_has_the_rows_that_apply_then(
    versions: list[list[tuple[str, str, int, int]]], data: st.DataObject
) -> None:
    """Rows with intervals of years; of those of one key that overlap, the first is taken."""
    tables: list[list[tuple[str, str, int, int]]] = []
    for version in versions:
        rows: list[tuple[str, str, int, int]] = []
        for key, value, start, length in version:
            end = start + length
            if all(key != k or end <= s or start >= e for k, _, s, e in rows):
                rows.append((key, value, start, end))
        tables.append(rows)
    with tempfile.TemporaryDirectory() as folder, doxa.open(clock=clock) as ledger:
        made = Repo(Path(folder) / "r")
        columns = ["id", "a", "since", "till"]
        for number, rows in enumerate(tables):
            listed = [
                {
                    "id": k,
                    "a": v,
                    "since": f"{2000 + s}-01-01" if s else "",
                    "till": f"{2000 + e}-01-01",
                }
                for k, v, s, e in rows
            ]
            made.commit({"d.csv": csv_bytes(listed, columns), "n": b"%d" % number}, START + number)
        made.done()
        line = made.line()
        cut = data.draw(st.integers(0, len(line) - 1))
        for ref in (line[cut], "main"):
            import_git(
                ledger, made.folder, "d.csv", key="id", ref=ref, valid_from="since", valid_to="till"
            )
        at, known = recorded_at(ledger, "d.csv"), None
        for commit, rows in zip(line, tables, strict=True):
            known = at.get(commit, known)
            assert known is not None
            for year in range(-1, 10):
                view = ledger.view(valid_at=f"{2000 + year}-06-01", known_at=times.moment(known))
                there = {k: v for k, v, s, e in rows if (s == 0 or s <= year) and year < e}
                assert told(view) == {k: {"id": k, "a": v} for k, v in there.items()}
        assert ledger.verify().ok


def test_a_row_whose_interval_moves_is_corrected_over_the_whole_of_its_old_one(repo: Make) -> None:
    made = repo(
        b"id,a,since,till\n1,x,2020-01-01,2022-01-01\n",
        b"id,a,since,till\n1,x,2021-01-01,2023-01-01\n",
    )
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made, valid_from="since", valid_to="till")
        assert (report.corrected, report.withdrawn) == (2, 0)
        for year, rows in {2020: {}, 2021: {"1": {"id": "1", "a": "x"}}}.items():
            assert told(ledger.view(valid_at=f"{year}-06-01")) == rows


def test_numbers_are_one_value_in_whatever_form_and_true_is_not_one(repo: Make) -> None:
    made = repo(
        b'[{"id": "a", "n": 1, "b": [{"c": true}], "z": null}]',
        b'[{"z": null, "id": "a", "n": 1.0, "b": [{"c": 1}]}]',
        name="d.json",
    )
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made, "d.json")
        assert (report.added, report.corrected) == (4, 1)
        assert now(ledger)["a"] == {"id": "a", "n": 1, "b": [{"c": 1}], "z": None}


def test_inferred_types_change_where_text_does_not_look_it(repo: Make) -> None:
    made = repo(table(k="true", m="1"), table(k="1", m="1.0"), table(k="01", m="1.0"))
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made, types="infer")
        assert report.corrected == 2
        assert now(ledger)["k"]["a"] == "01"


# ---------------------------------------------------------------- renames, merges, places


def test_renames_are_followed_both_ways_as_git_does(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    rows = {f"k{n}": str(n) for n in range(20)}
    made.commit({"old.csv": table(**rows)}, START)
    made.commit({"dir/mid.csv": table(**rows | {"k3": "x"})}, START + DAY)
    made.commit({"dir/mid.csv": table(**rows | {"k3": "x"}), "y": b"1"}, START + 2 * DAY)
    made.commit({"new.csv": table(**rows | {"k4": "y"})}, START + 3 * DAY)
    made.done()
    listed = made.git("log", "--follow", "--format=%H", "--", "new.csv").split()
    for path in ("new.csv", "old.csv", "dir/mid.csv"):
        with doxa.open(clock=clock) as ledger:
            report = take(ledger, made, path)
            assert sorted(recorded_at(ledger, path)) == sorted(listed)
            assert (report.added, report.corrected, report.withdrawn) == (40, 3, 0)
            assert report.paths == {path: "new.csv"}
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made, "old.csv", follow=False)
        assert (report.written, report.withdrawn, now(ledger)) == (2, 40, {})


def test_a_file_that_is_replaced_by_another_is_not_a_rename(repo: Make) -> None:
    made = repo(table(k="1", m="2"))
    made.commit({"other.csv": b"something,else\nentirely,different\n" * 9}, START + DAY)
    made.done()
    with doxa.open(clock=clock) as ledger:
        assert take(ledger, made).withdrawn == 4


def test_one_file_under_its_two_names_is_refused(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.csv": table(k="1")}, START)
    made.commit({"b.csv": table(k="1")}, START + 1)
    with doxa.open(clock=clock) as ledger, pytest.raises(CallerError, match="one file under two"):
        take(ledger, made.done(), ["a.csv", "b.csv"])


def test_a_file_that_takes_the_name_of_another_one_is_that_one(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.csv": table(k="1"), "b.csv": table(m="2")}, START)
    with doxa.open(clock=clock) as ledger:
        take(ledger, made.done(), ["a.csv", "b.csv"])
        made.commit({"a.csv": table(k="1")}, START + 1)
        made.commit({"b.csv": table(k="1")}, START + 2)
        report = take(ledger, made.done(), ["a.csv", "b.csv"])
        assert report.paths == {"a.csv": "a.csv", "b.csv": "b.csv"}
        assert (report.added, report.withdrawn) == (2, 4)
        assert now(ledger) == {"k": {"id": "k", "a": "1"}}


def test_what_a_merged_branch_said_is_known_from_the_merge_on(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    base = made.commit({"d.csv": table(k="1")}, START)
    side = made.commit({"d.csv": table(k="2")}, START + DAY, branch="side", onto=base, author=BOB)
    made.commit({"d.csv": table(k="2"), "y": b"1"}, START + 3 * DAY, merge=side)
    made.done()
    with doxa.open(clock=clock) as ledger:
        assert take(ledger, made).written == 2
        for days, value in ((2, "1"), (3, "2")):
            at = datetime.fromtimestamp(START + days * DAY, UTC)
            assert ledger.view(valid_at=FAR, known_at=at).value("k", "a") == value
        assert take(ledger, made, ref="side", name="side", workspace="side").written == 2
        side_view = ledger.view(
            valid_at=FAR, known_at=datetime.fromtimestamp(START + 3 * DAY, UTC), workspace="side"
        )
        assert list(side_view.values("k", "a")) == ["2"]


def test_a_file_that_is_renamed_to_another_format_is_read_in_that(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"d.csv": b"id,a\n1,x\n"}, START)
    made.commit({"d.tsv": b"id,a\n1,x\n"}, START + 1)
    made.commit({"d.tsv": b"id\ta\n1\ty\n"}, START + 2)
    made.commit({"d.dat": b"id\ta\n1\ty\n"}, START + 3)
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made.done(), "d.csv")
        reasons = [each.reason for each in report.set_aside]
        assert "no column 'id'" in reasons[0]
        assert "does not tell its format" in reasons[1]
        assert now(ledger) == {"1": {"id": "1", "a": "y"}}


# ---------------------------------------------------------------- clocks


def test_a_date_ahead_of_the_clock_is_recorded_after_the_one_before(repo: Make) -> None:
    made = repo()
    century = 36_500 * DAY
    for number, (value, date) in enumerate([("1", 0), ("2", century), ("3", DAY)]):
        add(made, table(k=value), START + date, authored=START + number)
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made.done())
        assert report.restamped == 1
        at = [recorded_at(ledger, "d.csv")[commit] for commit in made.line()]
        assert at == [START * 10**6, START * 10**6 + 1, (START + DAY) * 10**6]
        stated = {json.loads(line).get("stated_at") for line in export_events(ledger)}
        assert stated == {None, times.iso((START + century) * 10**6)}


def test_where_nothing_is_before_it_a_date_ahead_of_the_clock_is_now(repo: Make) -> None:
    made = repo()
    add(made, table(k="1"), START + 36_500 * DAY)
    with doxa.open(clock=clock) as ledger:
        take(ledger, made.done())
        assert list(recorded_at(ledger, "d.csv").values()) == [times.instant(NOW)]


def test_dates_beyond_the_calendar_and_before_1970_are_no_obstacle(repo: Make) -> None:
    made = repo()
    for value, date in (("1", 1), ("2", 2**40), ("3", 5)):
        add(made, table(k=value), date)
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made.done())
        assert (report.restamped, now(ledger)["k"]["a"]) == (1, "3")


def test_a_history_behind_what_is_recorded_is_recorded_after_it(repo: Make) -> None:
    with doxa.open(clock=clock) as ledger:
        ledger.claim("k", "a", "by hand", id="mine", source="me")
        before = ledger.revision
        report = take(ledger, repo(table(k="1"), table(k="2")))
        assert report.restamped == 2
        view = ledger.view(valid_at=FAR, known_at=before)
        assert list(view.values("k", "a")) == ["by hand"]
        assert sorted(ledger.view(valid_at=FAR).values("k", "a")) == ["2", "by hand"]


# ---------------------------------------------------------------- sources


def test_one_commit_and_one_author_can_be_taken_back(repo: Make) -> None:
    made = repo()
    add(made, table(k="1", m="1"), START, author=ADA)
    add(made, table(k="2", m="1"), START + DAY, author=BOB)
    add(made, table(k="2", m="3"), START + 2 * DAY, author=BOB)
    with doxa.open(clock=clock) as ledger:
        take(ledger, made.done())
        second = made.line()[1]
        taken = ledger.withdraw(doxa.Source(f"git:{second}"), reason="made up")
        assert now(ledger) == {"k": {"id": "k"}, "m": {"id": "m", "a": "3"}}
        ledger.withdraw(taken)
        query = "SELECT DISTINCT source FROM supports WHERE origin = ?"
        sources = [source for (source,) in ledger.sql(query, [BOB])]
        assert len(sources) == 2
        ledger.append([{"event": "withdrawal", "source": source} for source in sources])
        assert now(ledger) == {"k": {"id": "k"}, "m": {"id": "m"}}
        ledger.withdraw(f"d.csv@{second}#1.1>", reason="the old value was right")
        assert now(ledger)["k"] == {"id": "k", "a": "1"}
        add(made, table(k="4", m="3"), START + 3 * DAY)
        report = take(ledger, made.done())  # it goes on, whatever is believed of what it said
        assert (report.written, report.corrected) == (1, 1)
        assert sorted(ledger.view(valid_at=FAR).values("k", "a")) == ["1", "4"]


def test_authors_and_messages_are_cleaned_before_they_are_names(repo: Make) -> None:
    made = repo()
    made.commit(
        {"d.csv": table(k="1")},
        START,
        author="Z\u202eo\u0308\x07 <z@x>",
        message="\n\n  Fi\x1bx \u2028it\nmore",
    )
    raw = made.done().git("cat-file", "commit", "main").encode()
    latin = raw.replace(b"author Z", b"encoding-less \xe9 Z").replace(b"encoding-less", b"author")
    commit = made.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=latin)
    with doxa.open(clock=clock) as ledger:
        take(ledger, made, ref=commit.strip())
        (claim,) = ledger.view(valid_at=FAR).claims(subject="k", predicate="a")
        assert claim.object == "1"
        assert ledger.verify().ok


# ---------------------------------------------------------------- going on


def test_it_goes_on_under_the_same_name_with_the_same_settings_only(repo: Make) -> None:
    made = repo(table(k="1"))
    with doxa.open(clock=clock) as ledger:
        take(ledger, made)
        with pytest.raises(
            CallerError, match="with types 'text', and now it is with types 'infer'"
        ):
            take(ledger, made, types="infer")
        with pytest.raises(CallerError, match="imported with key"):
            take(ledger, made, key="a")
        with pytest.raises(CallerError, match="without valid_from, and now it is with valid_from"):
            take(ledger, made, valid_from="a")
        assert take(ledger, made, types="infer", name="typed").added == 2


def test_a_file_that_is_followed_already_is_not_begun_anew_by_its_new_name(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.csv": table(k="1")}, START)
    made.done()
    with doxa.open(clock=clock) as ledger:
        take(ledger, made, "a.csv")
        made.commit({"b.csv": table(k="1")}, START + 1)
        made.done()
        assert take(ledger, made, "a.csv").paths == {"a.csv": "b.csv"}
        with pytest.raises(CallerError, match=r"imported already, under the name 'a\.csv'"):
            take(ledger, made, "b.csv")
        assert take(ledger, made, "b.csv", name="once more").added == 2


def test_after_a_broken_version_it_goes_on_from_the_last_sound_one(repo: Make) -> None:
    made = repo(table(k="1", m="2"), b"broken")
    with doxa.open(clock=clock) as ledger:
        report = take(ledger, made)
        assert [each.reason for each in report.set_aside] == [
            "there is no column 'id'; the columns are 'broken'"
        ]
        assert now(ledger)["m"]["a"] == "2"
        add(made, table(k="1"), START + 2 * DAY)
        report = take(ledger, made.done())
        assert (report.added, report.corrected, report.withdrawn, report.set_aside) == (0, 0, 2, ())
        state = ledger.view(valid_at=FAR, workspace="git").value("d.csv", "imported")
        assert state["files"]["d.csv"]["set_aside"] is None


def test_a_dry_run_tells_the_same_and_writes_nothing(repo: Make) -> None:
    made = repo(table(k="1"), b"", table(k="2"))
    with doxa.open(clock=clock) as ledger:
        dry = take(ledger, made, dry_run=True)
        assert (ledger.revision, dry.dry_run) == (0, True)
        done = take(ledger, made)
        same = {"dry_run", "revision"}
        assert {k: v for k, v in dry.as_dict().items() if k not in same} == {
            k: v for k, v in done.as_dict().items() if k not in same
        }
        assert json.loads(json.dumps(done.as_dict())) == done.as_dict()
        assert "set aside" in str(done)


def test_a_workspace_of_its_own_knows_nothing_of_another(repo: Make) -> None:
    made = repo(table(k="1"))
    with doxa.open(clock=clock) as ledger:
        assert take(ledger, made, workspace="w").added == 2
        assert take(ledger, made).added == 2
        assert take(ledger, made, workspace="w").unchanged


def test_who_asks_about_the_rows_does_not_come_upon_the_import(repo: Make) -> None:
    with doxa.open(clock=clock) as ledger:
        take(ledger, repo(table(k="1"), table(k="2")))
        take(ledger, repo(table(k="1")), name="staff", workspace="w")
        question = "What was imported, from which commit, with which settings, of d.csv?"
        for workspace in ("", "w"):
            view = ledger.view(valid_at=FAR, workspace=workspace)
            assert "imported" not in str(ledger.assemble(question, view=view, budget=9_000))
            assert {claim.predicate for claim in view.claims(standing="any")} == {"id", "a"}
        view = ledger.view(valid_at=FAR, workspace="git:w")
        assert view.value("staff", "imported")["files"]["d.csv"]["set_aside"] is None


def test_another_writer_in_between_is_no_obstacle(
    repo: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.adapters.git.importing.BATCH", 1)
    made = repo(table(k="1"), table(k="2"), table(k="3"))
    with doxa.open(clock=clock) as ledger:

        def meddle(done: int, total: int | None) -> None:
            ledger.claim(f"other {done}", "thing", done, source="me")

        take(ledger, made, progress=meddle)
        assert now(ledger)["k"]["a"] == "3"
        assert take(ledger, made).unchanged
        assert ledger.verify().ok


def test_the_same_import_twice_at_once_is_done_once(
    repo: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.adapters.git.importing.BATCH", 1)
    made = repo(table(k="1"), table(k="2"), table(k="3"))
    with doxa.open(clock=clock) as ledger, doxa.open(clock=clock) as alone:
        entered: list[int] = []

        def another(done: int, total: int | None) -> None:
            if not entered:
                entered.append(done)
                take(ledger, made)

        take(ledger, made, progress=another)
        take(alone, made)
        assert list(export_events(ledger)) == list(export_events(alone))


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
import doxa
from doxa.adapters.git import import_git
import doxa.adapters.git.importing as importing
importing.BATCH = 1
folder, repo, after = sys.argv[1], sys.argv[2], int(sys.argv[3])
def told(done, total):
    if done == after:
        os.kill(os.getpid(), signal.SIGKILL)
with doxa.open(folder, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)) as ledger:
    import_git(ledger, repo, "d.csv", key="id", progress=told)
"""


def test_an_import_that_is_killed_and_run_again_is_the_import_in_one(
    repo: Make, tmp_path: Path
) -> None:
    made = repo(*(table(k=str(n), **{f"m{n}": "x"}) for n in range(5)))
    for after in (2, 4):
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                KILLED,
                str(tmp_path / "killed"),
                str(made.folder),
                str(after - 1),
            ],
            cwd=ROOT,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            capture_output=True,
        )
        assert ran.returncode == -signal.SIGKILL, ran.stderr
    with doxa.open(tmp_path / "killed", clock=clock) as killed, doxa.open(clock=clock) as whole:
        assert killed.revision > 0
        report = take(killed, made)
        assert 0 < report.written < 5
        take(whole, made)
        assert list(export_events(killed)) == list(export_events(whole))


# ---------------------------------------------------------------- rewritten histories


def test_a_rewritten_history_is_refused_and_on_request_corrects_what_was_believed(
    repo: Make,
) -> None:
    made = repo(table(k="1"), table(k="2", m="1"), table(k="3", m="1"))
    later = NOW + timedelta(days=9)
    with doxa.open(clock=lambda: later) as ledger:
        take(ledger, made)
        before = ledger.revision
        made.git("update-ref", "refs/heads/main", made.line()[0])
        made.tip = "refs/heads/main^0"
        add(made, table(k="2"), START + DAY + 5, author=BOB)
        add(made, table(k="9", n="1"), START + 2 * DAY, author=BOB)
        made.done()
        with pytest.raises(RewrittenHistory, match="not among the first parents of 'HEAD'"):
            take(ledger, made)
        assert issubclass(RewrittenHistory, ConflictError)
        assert ledger.revision == before
        report = take(ledger, made, rewritten=True)
        assert (report.written, report.restamped, report.seen) == (2, 2, 2)
        assert now(ledger) == {"k": {"id": "k", "a": "9"}, "n": {"id": "n", "a": "1"}}
        new = made.line()[1:]
        at = recorded_at(ledger, "d.csv")
        assert [at[commit] for commit in new] == [times.instant(later), times.instant(later) + 1]
        until = ledger.view(valid_at=FAR, known_at=later - timedelta(days=1))
        assert told(until) == {"k": {"id": "k", "a": "3"}, "m": {"id": "m", "a": "1"}}
        assert take(ledger, made).unchanged
        assert ledger.verify().ok


def test_a_line_that_is_set_back_and_goes_on_again_can_be_recorded(repo: Make) -> None:
    made = repo(table(k="1"), table(k="2"), table(k="3"))
    first, second, third = made.line()
    with doxa.open(clock=clock) as ledger:
        take(ledger, made)
        course = [(first, "1", True), (third, "3", False), (second, "2", True), (third, "3", False)]
        for ref, value, back in [*course, (first, "1", True)]:
            if back:
                with pytest.raises(RewrittenHistory):
                    take(ledger, made, ref=ref)
            take(ledger, made, ref=ref, rewritten=back)
            assert now(ledger)["k"]["a"] == value
        assert ledger.verify().ok


def test_another_repository_under_the_same_name_is_refused(repo: Make) -> None:
    with doxa.open(clock=clock) as ledger:
        take(ledger, repo(table(k="1")))
        other = repo(table(k="5"))
        add(other, table(k="6"), START + 99)
        other.done()
        with pytest.raises(RewrittenHistory, match="another repository"):
            take(ledger, other)
        assert take(ledger, other, name="other").added == 2


def test_what_was_believed_last_must_be_in_the_clone(repo: Make, tmp_path: Path) -> None:
    made = repo(table(k="1"), table(k="2"))
    with doxa.open(clock=clock) as ledger:
        take(ledger, made)
        made.git("update-ref", "refs/heads/main", made.line()[0])
        made.tip = "refs/heads/main^0"
        add(made, table(k="3"), START + 2 * DAY)
        made.done()
        clone = tmp_path / "clone"
        made.git("clone", "--quiet", f"file://{made.folder}", str(clone))
        with pytest.raises(CallerError, match="is not in this clone: git fetch origin"):
            import_git(ledger, clone, "d.csv", key="id", rewritten=True)


# ---------------------------------------------------------------- rejected and erased


def test_a_rejected_value_is_kept_out_and_the_one_before_it_withdrawn(repo: Make) -> None:
    made = repo()
    for number, value in enumerate(("London", "  ATLANTIS ", "Lisbon", "Atlantis")):
        add(made, table(k=value, m=str(number)), START + (number + 5) * DAY)
    rejected_at = datetime.fromtimestamp(START, UTC)
    with doxa.open(clock=clock) as ledger:
        ledger.append(
            [{"event": "claim", "subject": "x", "predicate": "y", "object": 1}],
            recorded_at=rejected_at,
        )
        ledger.reject(
            "Atlantis", reason="no such place", id="no", recorded_at=rejected_at + timedelta(1)
        )
        report = take(ledger, made.done())
        assert [kept.rejections for kept in report.kept_out] == [("no",), ("no",)]
        assert now(ledger)["k"] == {"id": "k"}
        at = recorded_at(ledger, "d.csv")
        shown = [
            told(ledger.view(valid_at=FAR, known_at=times.moment(at[commit])))["k"].get("a")
            for commit in made.line()
        ]
        assert shown == ["London", None, "Lisbon", None]
        lines = list(export_events(ledger))
        assert not any("tlantis" in line for line in lines)
        assert sum('"blocked"' in line for line in lines) == 2
        add(made, table(k="Rome", m="3"), START + 20 * DAY)
        assert take(ledger, made.done()).kept_out == ()
        assert now(ledger)["k"]["a"] == "Rome"
        assert ledger.verify().ok


def test_what_was_erased_does_not_come_back(repo: Make, tmp_path: Path) -> None:
    made = repo(table(k="secret", m="1"), table(k="secret", m="2"))
    with doxa.open(tmp_path / "ledger", clock=clock) as ledger:
        take(ledger, made)
        erased = f"d.csv@{made.line()[0]}#1.2"
        ledger.archive([erased])
        ledger.purge([erased], reason="asked")
    with doxa.open(tmp_path / "ledger", clock=clock) as ledger:
        add(made, table(k="secret", m="3"), START + 9 * DAY)
        take(ledger, made.done())
        assert not any("secret" in line for line in export_events(ledger))
    with doxa.open(tmp_path / "ledger", clock=clock) as ledger:
        add(made, table(k="public", m="3"), START + 10 * DAY)
        report = take(ledger, made.done())
        assert (report.added, report.corrected) == (1, 0)
        assert now(ledger)["k"]["a"] == "public"
        assert ledger.verify().ok
