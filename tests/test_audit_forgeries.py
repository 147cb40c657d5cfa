"""Each kind of forgery of a ledger, and how `verify` names it; a log written anew shows only
against what was kept of it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.adapters.cli.app import app
from doxa.engine.log import NO_LINK
from doxa.engine.receipt import digest
from doxa.verification import Report, gaps_in
from tests.recorder_support import tampering

LOG = "log.sqlite"
Tamper = Callable[[sqlite3.Connection], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger of twelve events: ten claims, a correction with its replacement."""
    path = tmp_path / "a.doxa"
    with doxa.open(path) as ledger:
        for number in range(1, 11):
            ledger.claim("s", f"p{number}", number, id=f"c{number}", source="register")
        ledger.correct("c4", 40, id="k", source="letter")
    return path


def tamper(folder: Path, *changes: str | Tamper) -> None:
    with tampering(folder / LOG) as connection:
        for change in changes:
            connection.execute(change) if isinstance(change, str) else change(connection)


def verified(folder: Path, **options: Any) -> Report:
    with doxa.open(folder, create=False) as ledger:
        return ledger.verify(**options)


def named(report: Report) -> list[tuple[int, str, str | None]]:
    return [(problem.position, problem.code, problem.id) for problem in report.problems]


def rechain(connection: sqlite3.Connection) -> None:
    """Makes salts, links and the head row fit whatever stands in the log now."""
    rows = connection.execute(
        "SELECT position, recorded_at, type, tags, head, data, commitment FROM log"
        " ORDER BY position"
    ).fetchall()
    chain, at = NO_LINK, 0
    for new, (position, at, kind, tags, head, data, kept) in enumerate(rows, 1):
        salt = None if data is None else os.urandom(16)
        digest = kept if data is None else blake2b(data, key=salt or b"", digest_size=32).digest()
        header = f"{new}\x1f{at}\x1f{kind}\x1f{tags}\x1f".encode() + head
        chain = blake2b(chain + digest + header, digest_size=32).digest()
        connection.execute(
            "UPDATE log SET position=?, salt=?, chain=? WHERE position=?",
            (new, salt, chain, position),
        )
    connection.execute("UPDATE head SET position=?, recorded_at=?, chain=?", (len(rows), at, chain))


def forged_value(connection: sqlite3.Connection) -> None:
    """Another object in the fifth event."""
    (data,) = connection.execute("SELECT data FROM log WHERE position=5").fetchone()
    fields = json.loads(data) | {"object": "forged"}
    connection.execute("UPDATE log SET data=? WHERE position=5", (json.dumps(fields).encode(),))


# ---------------------------------------------------------------- what the chain itself shows


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(forged_value, [(5, "altered", "c5")], id="a forged payload"),
        pytest.param(
            """UPDATE log SET head = CAST('{"v":1,"id":"other"}' AS BLOB) WHERE position=5""",
            [(5, "altered", "other")],
            id="a forged header",
        ),
        pytest.param(
            "UPDATE log SET head = CAST('no json' AS BLOB) WHERE position=5",
            [(5, "altered", None)],
            id="a header that can't be read",
        ),
        pytest.param(
            "UPDATE log SET recorded_at = recorded_at + 1 WHERE position=5",
            [(5, "altered", "c5")],
            id="a forged time",
        ),
        pytest.param(
            "UPDATE log SET type = 'support' WHERE position=5", [(5, "altered", "c5")],
            id="another kind",
        ),
        pytest.param("DELETE FROM log WHERE position=5", [(5, "gap", None)], id="a dropped event"),
        pytest.param(
            "DELETE FROM log WHERE position>9", [(9, "truncated", None)], id="a truncated log"
        ),
        pytest.param(
            "UPDATE log SET data=NULL, salt=NULL WHERE position=5",
            [(5, "missing_payload", "c5")],
            id="data that was thrown away",
        ),
        pytest.param(
            "UPDATE log SET salt=NULL WHERE position=5", [(5, "missing_salt", "c5")],
            id="a salt that was thrown away",
        ),
        pytest.param(
            "UPDATE head SET chain=zeroblob(32)", [(12, "head", None)], id="a forged head row"
        ),
        pytest.param(
            "INSERT INTO log SELECT -3, recorded_at, type, tags, head, data, salt, NULL, chain"
            " FROM log WHERE position=5",
            [(-3, "stray", None)],
            id="an event before the first",
        ),
        pytest.param(
            "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log WHERE position=1; END",
            [(0, "schema", None)],
            id="a trigger",
        ),
        pytest.param("CREATE TABLE more(x)", [(0, "schema", None)], id="another table"),
    ],
)  # fmt: skip
def test_a_forgery_is_found_and_named(
    folder: Path, change: str | Tamper, expected: list[tuple[int, str, str | None]]
) -> None:
    tamper(folder, change)
    assert named(verified(folder)) == expected
    result = CliRunner().invoke(app, ["verify", str(folder), "--json"])
    assert result.exit_code == 4
    assert [p["id"] for p in json.loads(result.stdout)["problems"]] == [e[2] for e in expected]


def test_reordered_events_are_named_with_the_ids_that_they_have(folder: Path) -> None:
    tamper(
        folder,
        "UPDATE log SET position=-1 WHERE position=5",
        "UPDATE log SET position=5 WHERE position=9",
        "UPDATE log SET position=9 WHERE position=-1",
    )
    found = [entry for entry in named(verified(folder)) if entry[1] == "reordered"]
    assert found
    assert set(found) <= {(5, "reordered", "c5"), (9, "reordered", "c9")}


def test_the_id_stands_in_the_report_and_in_the_table(folder: Path) -> None:
    tamper(folder, forged_value)
    assert "problem at 5 (c5): altered: " in str(verified(folder))
    shown = CliRunner().invoke(app, ["verify", str(folder)])
    assert shown.exit_code == 4
    assert shown.stdout.splitlines()[1].split()[
        0 :: len(shown.stdout.splitlines()[1].split()) - 1
    ] == ["5", "c5"]


# ---------------------------------------------------------------- what only shows from outside


def heads(folder: Path) -> list[doxa.StatedHead]:
    """Heads that were kept along the way, of positions 3, 4 and 12."""
    with doxa.open(folder) as ledger:
        end = ledger.head()
        found = []
        for position in (3, 4):
            link = ledger.recorder.link_at(position)
            assert link is not None
            text = f"{position}:{link[1].hex()}"
            found.append(doxa.StatedHead(end.ledger, position, _at(link[0]), text.split(":")[1]))
    return [*found, end]


def _at(micros: int) -> Any:
    from doxa.engine import times

    return times.moment(micros)


def test_a_log_that_was_written_anew_shows_only_against_a_head(folder: Path) -> None:
    *_, end = heads(folder)
    tamper(folder, forged_value, rechain)
    assert verified(folder).ok
    report = verified(folder, against=end)
    assert named(report) == [(12, "rewritten", None)]
    assert report.pinned == 1
    assert end.chain in report.problems[0].message
    assert not verified(folder, against=str(end)).ok
    assert not verified(folder, against=end.as_dict()).ok


def test_several_heads_say_between_which_positions_the_log_was_rewritten(folder: Path) -> None:
    three, four, end = heads(folder)
    with tampering(folder / LOG) as connection:
        old = connection.execute("SELECT salt, chain FROM log WHERE position<5").fetchall()
    tamper(folder, forged_value, rechain)
    # rechain made new salts throughout: the first four are put back as they were
    with tampering(folder / LOG) as connection:
        for position, (salt, chain) in enumerate(old, 1):
            connection.execute(
                "UPDATE log SET salt=?, chain=? WHERE position=?", (salt, chain, position)
            )
        chain = old[-1][1]
        for position, at, kind, head, data, salt in connection.execute(
            "SELECT position, recorded_at, type, head, data, salt FROM log WHERE position>4"
            " ORDER BY position"
        ).fetchall():
            digest = blake2b(data, key=salt, digest_size=32).digest()
            header = f"{position}\x1f{at}\x1f{kind}\x1f\x1f".encode() + head
            chain = blake2b(chain + digest + header, digest_size=32).digest()
            connection.execute("UPDATE log SET chain=? WHERE position=?", (chain, position))
        connection.execute("UPDATE head SET chain=?", (chain,))
    assert verified(folder).ok
    report = verified(folder, against=[end, three, four])
    assert named(report) == [(12, "rewritten", None)]
    assert "rewritten after 4, which still fits, and up to 12" in report.problems[0].message


def test_a_log_and_head_that_were_rolled_back_together_show_against_a_head(folder: Path) -> None:
    *_, end = heads(folder)
    tamper(folder, "DELETE FROM log WHERE position>9", rechain)
    assert verified(folder).ok
    with tampering(folder / LOG) as connection:
        (left,) = connection.execute("SELECT count(*) FROM log").fetchone()
    report = verified(folder, against=end)
    assert named(report) == [(left, "truncated", None)]
    assert "3 events are cut off" in report.problems[0].message


def test_another_ledger_in_its_place_shows_against_a_head(folder: Path, tmp_path: Path) -> None:
    *_, end = heads(folder)
    other = tmp_path / "other.doxa"
    with doxa.open(folder) as ledger, doxa.open(other) as copy:
        from doxa.adapters.exchange import export_events

        copy.import_events(list(export_events(ledger)))
    assert named(verified(other, against=end)) == [(0, "another_ledger", None)]
    assert named(verified(other, against=str(end))) == [(12, "rewritten", None)]


def test_a_receipt_shows_a_log_that_was_written_anew(folder: Path) -> None:
    with doxa.open(folder) as ledger:
        view = ledger.view(valid_at="2024-01-01")
        receipt = ledger.assemble("?", candidates=[], view=view, budget=100).receipt
        assert ledger.verify(against=receipt).ok
        assert ledger.verify(against=receipt.as_dict()).pinned == 1
        ledger.claim("s", "more", 1, source="x")
        assert ledger.replay(receipt).same
        report = ledger.verify(against=receipt)
        assert report.ok
        assert not any("keep heads" in note for note in report.notes)
    tamper(folder, forged_value, rechain)
    assert verified(folder).ok
    assert named(verified(folder, against=receipt)) == [(12, "rewritten", None)]


def test_a_receipt_that_knows_no_link_shows_a_log_that_was_written_at_other_times(
    folder: Path,
) -> None:
    with doxa.open(folder) as ledger:
        view = ledger.view(valid_at="2024-01-01", known_at=10)
        made = ledger.assemble("?", candidates=[], view=view, budget=100).receipt.as_dict()
        del made["view"]["horizon_chain"]
        made["digests"]["view"] = digest(made["view"])
        report = ledger.verify(against=made)
        assert report.ok
        assert report.pinned == 2
        assert any("keep heads as well" in note for note in report.notes)
        assert ledger.replay(made).same
    tamper(folder, "UPDATE log SET recorded_at = recorded_at + 1 WHERE position>=11", rechain)
    assert named(verified(folder, against=made)) == [(12, "rewritten", None)]


@pytest.mark.parametrize("chain", ["", "0" * 63, 5, None])
def test_a_receipt_with_a_link_that_is_none_is_refused(folder: Path, chain: object) -> None:
    with doxa.open(folder) as ledger:
        view = ledger.view(valid_at="2024-01-01")
        made = ledger.assemble("?", candidates=[], view=view, budget=100).receipt.as_dict()
        made["view"]["horizon_chain"] = chain
        made["digests"]["view"] = digest(made["view"])
        with pytest.raises(doxa.CallerError, match="horizon_chain"):
            ledger.verify(against=made)


def test_what_was_kept_is_compared_even_where_the_log_is_damaged(folder: Path) -> None:
    *_, end = heads(folder)
    tamper(folder, forged_value, "DELETE FROM log WHERE position>9")
    codes = [problem.code for problem in verified(folder, against=end).problems]
    assert codes == ["altered", "truncated", "gap"]
    tamper(folder, "DELETE FROM head")
    result = CliRunner().invoke(app, ["verify", str(folder), "--against", str(end), "--json"])
    assert result.exit_code == 4
    assert {p["code"] for p in json.loads(result.stdout)["problems"]} >= {"head", "altered"}


def test_a_head_that_still_fits_is_no_problem_however_much_was_recorded_later(
    folder: Path,
) -> None:
    kept = heads(folder)
    with doxa.open(folder) as ledger:
        ledger.claim("s", "more", 1, source="x")
        report = ledger.verify(against=kept)
    assert report.ok
    assert report.pinned == 3
    assert "3 positions compared with what was kept" in str(report)


def test_a_head_whose_time_was_changed_is_told_from_a_log_that_was(folder: Path) -> None:
    *_, end = heads(folder)
    changed = {**end.as_dict(), "recorded_at": "2020-01-01T00:00:00Z"}
    report = verified(folder, against=changed)
    assert named(report) == [(12, "statement", None)]


def test_a_head_in_a_compacted_stretch_shows_nothing_until_a_later_one_fits(
    folder: Path,
) -> None:
    kept = heads(folder)
    with doxa.open(folder) as ledger:
        for number in (1, 2, 3):
            ledger.withdraw(f"c{number}", id=f"w{number}")
        later = ledger.head()
        ledger.compact(older_than=0, now="2200-01-01")
        gaps = [(gap.first, gap.last) for gap in gaps_in(ledger.recorder)]
        assert gaps[0] == (1, 3)
        (link,) = [gap.chain.hex() for gap in gaps_in(ledger.recorder) if gap.last == 3]
        report = ledger.verify(against=f"2:{link}")
        assert named(report) == [(2, "compacted", None)]
        assert ledger.verify(against=kept[0]).ok, "the last link of a stretch is kept"
        assert ledger.verify(against=[f"2:{link}", kept[0]]).ok
        wrong = ledger.verify(against="3:" + "0" * 64)
        assert named(wrong) == [(3, "rewritten", None)]
        assert ledger.verify(against=kept).problems == []
        last = ledger.verify(against=later).problems
        assert [problem.code for problem in last] in ([], ["compacted"])
        assert ledger.verify(against=[later, ledger.head()]).ok


# ---------------------------------------------------------------- as it is given


def test_files_hold_one_head_or_one_a_line_as_json_or_text(folder: Path, tmp_path: Path) -> None:
    three, four, end = heads(folder)
    runner = CliRunner()
    for number, text in enumerate(
        [
            json.dumps(end.as_dict(), indent=2),
            json.dumps([three.as_dict(), str(end)]),
            f"{json.dumps(three.as_dict())}\n{four}\n\n{json.dumps(end.as_dict())}\n",
            str(end),
        ]
    ):
        file = tmp_path / f"heads-{number}"
        file.write_text(text)
        told = runner.invoke(app, ["verify", str(folder), "--against", str(file), "--json"])
        assert told.exit_code == 0, told.output
        assert json.loads(told.stdout)["pinned"] == (1, 2, 3, 1)[number]
    both = ["--against", str(tmp_path / "heads-0"), "--against", str(three)]
    told = runner.invoke(app, ["verify", str(folder), *both])
    assert told.exit_code == 0
    assert "2 positions against what was kept" in told.stderr


@pytest.mark.parametrize(
    "given",
    [
        "", "x", "5", "5:", "5:abc", "-1:" + "0" * 64, "05:" + "0" * 64, "5:" + "Z" * 64, {}, [], 5,
        {"head": 1}, {"head": "1"}, {"head": 0}, {"head": True}, {"receipt": 1}, [[]], [None],
        {"head": 1, "ledger": "0" * 32, "position": 1, "recorded_at": None, "chain": "0" * 64},
        {"head": 1, "ledger": "0" * 32, "position": -1, "recorded_at": None, "chain": "0" * 64},
        {"head": 1, "ledger": "0" * 31, "position": 0, "recorded_at": None, "chain": "0" * 64},
        {"head": 1, "ledger": "0" * 32, "position": 0, "recorded_at": None, "chain": 3},
        {"head": 1, "ledger": "0" * 32, "position": 1, "recorded_at": "soon", "chain": "0" * 64},
        {"head": 1, "ledger": "0" * 32, "position": 0, "recorded_at": None, "chain": "0" * 64,
         "more": 1},
    ],
)  # fmt: skip
def test_what_is_no_head_is_refused(given: Any) -> None:
    with doxa.open() as ledger, pytest.raises(doxa.CallerError):
        ledger.verify(against=given)


def test_a_head_of_a_later_version_is_refused_as_that() -> None:
    with doxa.open() as ledger, pytest.raises(doxa.NewerFormat, match="version 2"):
        ledger.verify(against=ledger.head().as_dict() | {"head": 2})


def test_the_empty_log_has_a_head_too() -> None:
    with doxa.open() as ledger:
        head = ledger.head()
        assert (head.position, head.recorded_at, head.chain) == (0, None, "0" * 64)
        ledger.claim("a", "p", 1, source="s")
        assert ledger.verify(against=head).ok
        assert ledger.verify(against="0:" + "1" * 64).problems[0].code == "rewritten"
