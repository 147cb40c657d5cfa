"""Exchange lines into a ledger: commits, repeats, bad lines, resuming."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import ImportReport, export_events, importing
from doxa.adapters.exchange.lines import LINE_LIMIT
from doxa.ledger import Ledger

T1, T2, T3 = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z"


def claim(id: str = "a", at: str | None = T1, **more: Any) -> dict[str, Any]:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": 1}
    fields |= {"source": "s"} | more
    return fields if at is None else fields | {"recorded_at": at}


def line(*args: Any, **more: Any) -> str:
    return json.dumps(claim(*args, **more))


def aside(report: ImportReport) -> list[int]:
    return [kept.line for kept in report.set_aside]


def only_reason(report: ImportReport) -> str:
    (kept,) = report.set_aside
    return kept.reason


def ids(ledger: Ledger) -> list[str]:
    return [json.loads(text)["id"] for text in export_events(ledger)]


# ---------------------------------------------------------------- commits


def test_consecutive_lines_of_one_time_are_one_commit(ledger: Ledger) -> None:
    report = ledger.import_events([line("a"), line("b"), line("c", T2)])
    assert (report.events, report.commits, report.repeated) == (3, 2, 0)
    assert ledger.view(valid_at=T1, known_at=2).claims()
    with pytest.raises(doxa.CallerError, match="inside the commit"):
        ledger.view(valid_at=T1, known_at=1)


def test_one_instant_written_in_two_ways_is_one_commit(ledger: Ledger) -> None:
    other = "2024-01-02T06:00:00+06:00"
    assert ledger.import_events([line("a"), line("b", other)]).commits == 1


def test_a_bad_line_does_not_part_the_commit_around_it(ledger: Ledger) -> None:
    report = ledger.import_events([line("a"), "{", line("bad", T2, valid_to=7), line("b")])
    assert (report.events, report.commits, aside(report)) == (2, 1, [2, 3])


def test_lines_without_a_time_are_one_commit_recorded_on_arrival() -> None:
    now = datetime(2025, 5, 5, tzinfo=UTC)
    with doxa.open(clock=lambda: now) as ledger:
        report = ledger.import_events([line("a", None), line("b", None, recorded_at=None)])
        assert (report.events, report.commits) == (2, 1)
        assert ledger.view(valid_at=T1).claim("a").recorded_at == now


def test_an_event_may_name_one_that_comes_later_in_its_commit(ledger: Ledger) -> None:
    support = {"event": "support", "id": "s2", "claim": "a", "source": "t", "recorded_at": T1}
    assert aside(ledger.import_events([support, claim("a")])) == []


def test_many_commits_share_a_transaction_and_each_can_be_known(ledger: Ledger) -> None:
    lines = [line(f"c{n}", f"2024-01-02T00:00:{n:02}Z") for n in range(50)]
    assert ledger.import_events(lines).commits == 50
    assert len(ledger.view(valid_at=T1, known_at="2024-01-02T00:00:09Z").claims()) == 10


def test_mappings_may_hold_datetimes_and_dates(ledger: Ledger) -> None:
    given = claim(
        "a", None, valid_from=date(2024, 3, 1), recorded_at=datetime(2024, 3, 2, tzinfo=UTC)
    )
    assert aside(ledger.import_events([given])) == []
    (text,) = export_events(ledger)
    assert '"valid_from":"2024-03-01T00:00:00Z"' in text
    assert '"recorded_at":"2024-03-02T00:00:00Z"' in text


def test_a_workspace_is_that_of_lines_which_name_none(ledger: Ledger) -> None:
    ledger.import_events([line("a"), line("b", workspace="other")], workspace="mine")
    assert ledger.view(valid_at=T1, workspace="mine", shared=False).claim("a")
    assert ledger.view(valid_at=T1, workspace="other", shared=False).claim("b")


# ---------------------------------------------------------------- ways in


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"{line('a')}\n{line('b', T2)}\n", id="plain"),
        pytest.param(f"\ufeff{line('a')}\n{line('b', T2)}\n", id="byte order mark"),
        pytest.param(f"{line('a')}\r\n{line('b', T2)}\r\n", id="CRLF"),
        pytest.param(f"{line('a')}\n{line('b', T2)}", id="no newline at the end"),
        pytest.param(f"\n  \n{line('a')}\n\n\r\n{line('b', T2)}\n\n", id="blank lines"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_however_it_is_laid_out(
    ledger: Ledger, tmp_path: Path, content: str, packed: bool
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    for given in (file, str(file)):
        report = ledger.import_events(given)
        assert aside(report) == []
        assert report.events + report.repeated == 2
    assert ids(ledger) == ["a", "b"]


def test_blank_lines_count_in_the_numbering(ledger: Ledger) -> None:
    assert aside(ledger.import_events(io.BytesIO(b"\n\n{\n"))) == [3]
    assert aside(ledger.import_events(["", "\n", b"{"])) == [3]


def test_open_files_are_read_in_both_modes(ledger: Ledger) -> None:
    assert ledger.import_events(io.BytesIO(f"{line('a')}\n".encode())).events == 1
    assert ledger.import_events(io.StringIO(f"{line('b', T2)}\n")).events == 1


def test_an_open_file_may_be_compressed(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_bytes(gzip.compress(f"{line('a')}\n".encode()))
    with file.open("rb") as packed:
        assert ledger.import_events(packed).events == 1


def test_a_generator_of_lines_is_read_as_it_comes(ledger: Ledger) -> None:
    assert ledger.import_events(text for text in (line("a"), line("b", T2))).events == 2


def test_what_is_no_file_is_refused_by_name(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(doxa.CallerError, match="no file"):
        ledger.import_events(tmp_path / "nowhere.jsonl")
    with pytest.raises(doxa.CallerError, match="folder"):
        ledger.import_events(tmp_path)
    with pytest.raises(doxa.CallerError, match="one line"):
        ledger.import_events(claim("a"))
    with pytest.raises(doxa.CallerError, match="one line"):
        ledger.import_events(b"{}")  # type: ignore[arg-type]


def test_a_compressed_file_that_was_cut_off_gives_what_it_has_and_says_where(
    ledger: Ledger, tmp_path: Path
) -> None:
    whole = gzip.compress("".join(f"{line(f'c{n}', None)}\n" for n in range(2000)).encode())
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(whole[: len(whole) // 2])
    report = ledger.import_events(file)
    assert report.events > 0
    assert aside(report) == [report.events + 1]
    assert "can't be read from here on" in only_reason(report)


# ---------------------------------------------------------------- bad lines


BAD: list[tuple[str, str | bytes, str]] = [
    ("torn", '{"event":"claim","id":"a","subj', "not JSON"),
    ("two objects", line("a") + line("b"), "not JSON: Extra data"),
    ("a list", "[1]", "is a list, not a JSON object"),
    ("a number", "5", "is a number"),
    ("null", "null", "is null"),
    ("an unknown event", '{"event":"gossip","id":"a"}', "event is 'gossip'; the events are claim"),
    ("no event", '{"id":"a"}', "event is None"),
    ("an unknown key", line("a", publish_date="2024-01-09"), "publish_date is not a key"),
    ("a key twice", line("a")[:-1] + ',"subject":"y"}', "the key 'subject' is there twice"),
    (
        "a key twice inside",
        line("a").replace(": 1", ': {"k":1,"k":2}'),
        "the key 'k' is there twice",
    ),
    ("NaN", line("a").replace(": 1", ": NaN"), "holds NaN"),
    ("Infinity", line("a").replace(": 1", ": -Infinity"), "holds -Infinity"),
    ("a number too large", line("a").replace(": 1", ": 1e400"), "1e400 is too large"),
    ("half a surrogate pair", line("a").replace(": 1", r': "\ud800"'), "half of a surrogate pair"),
    ("half a pair in a key", line("a").replace(": 1", r': {"\ud800":1}'), "half of a surrogate"),
    ("half a pair as a key", line("a")[:-1] + r',"\ud800":1}', "unicode"),
    ("too many digits", line("a").replace(": 1", ": " + "1" * 5000), "more digits"),
    ("nested too deep", line("a").replace(": 1", ": " + "[" * 200 + "]" * 200), "100 deep"),
    ("nested far too deep", "[" * 200_000, "nested too deep"),
    ("not UTF-8", line("a").replace('"x"', '"\xe9"').encode("latin-1"), "not UTF-8: byte 0xe9"),
    ("an inverted interval", line("a", valid_from="2024-02-01", valid_to="2024-01-01"), "inverted"),
    ("an empty interval", line("a", valid_from="2024-02-01", valid_to="2024-02-01"), "empty"),
    ("a naive time", line("a", valid_from="2024-02-01T00:00:00"), "no time zone|no instant"),
    ("a naive recorded_at", line("a", "2024-02-01T00:00:00"), "recorded_at is '2024"),
    ("a month of 00", line("a", valid_from="2000-00-00"), "2000-00-00"),
    ("both ends", line("a", valid_to="2024-02-01", valid_until="2024-02-01"), "valid_until"),
    ("an unknown target", line("a", source=None, because=["nobody"]), "'nobody', which is not in"),
    ("a list as an id", line(["a"]), "id is"),
    ("objects for names", '{"event":"policy","id":"p","contradicts":[{"a":1},{}]}', "contradicts"),
    ("lists for sources", '{"event":"summary","id":"n","text":"t","sources":[["x"]]}', "sources"),
    ("lists for subjects", '{"event":"summary","id":"n","text":"t","subjects":[{}]}', "subjects"),
    ("a source of many keys", line("a", source={"id": "s", "page": 3}), "page"),
    ("a merge mark", "<<<<<<< HEAD", "not JSON"),
    ("zeros after a crash", "\0" * 100, "not JSON"),
]


@pytest.mark.parametrize(("bad", "reason"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
@pytest.mark.parametrize("as_file", [False, True])
def test_a_bad_line_is_set_aside_and_stops_nothing(
    ledger: Ledger, tmp_path: Path, bad: str | bytes, reason: str, as_file: bool
) -> None:
    import re

    raw = bad.encode() if isinstance(bad, str) else bad
    whole = [line("before").encode(), raw, line("after", T3).encode()]
    if as_file:
        (tmp_path / "events.jsonl").write_bytes(b"\n".join(whole))
        report = ledger.import_events(tmp_path / "events.jsonl")
    else:
        report = ledger.import_events(whole)
    assert aside(report) == [2]
    assert re.search(reason, only_reason(report)), only_reason(report)
    assert report.set_aside[0].text == raw.decode("utf-8", "backslashreplace")
    report.set_aside[0].reason.encode()
    assert ids(ledger) == ["before", "after"]


def test_mappings_that_json_can_not_hold_are_set_aside(ledger: Ledger) -> None:
    ring: list[Any] = []
    ring.append(ring)
    odd: list[Any] = [
        claim("a", object=float("nan")),
        claim("a", object={1: 2}),
        claim("a", object={"at": datetime.now(UTC)}),
        claim("a", object=ring),
        claim("a", valid_from=datetime(2024, 1, 1)),
        {**claim("a"), 7: 8},
        7,
        None,
    ]
    report = ledger.import_events([*odd, claim("z")])
    assert aside(report) == list(range(1, 9))
    assert ids(ledger) == ["z"]
    for kept in report.set_aside:
        assert kept.reason
        assert kept.text


def test_a_line_longer_than_any_event_is_passed_over_in_pieces(
    ledger: Ledger, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    with file.open("w") as out:
        out.write(line("a") + "\n" + '{"event":"claim","id":"long","object":"')
        for _ in range(LINE_LIMIT // 1_000_000 * 3):
            out.write("x" * 1_000_000)
        out.write('"}\n' + line("b", T2) + "\n")
    report = ledger.import_events(file)
    assert aside(report) == [2]
    assert "bytes, and an event at most 1,048,576" in only_reason(report)
    assert len(report.set_aside[0].text) < 2_000
    assert report.set_aside[0].code == "payload_too_large"
    assert ids(ledger) == ["a", "b"]


def test_an_event_that_is_too_large_is_set_aside_and_one_that_just_fits_is_not(
    ledger: Ledger,
) -> None:
    report = ledger.import_events(
        [line("a", object="x" * (1 << 20)), line("b", object="é" * ((1 << 19) - 100))]
    )
    assert aside(report) == [1]
    assert ids(ledger) == ["b"]


def test_a_commit_goes_in_without_its_bad_lines(ledger: Ledger) -> None:
    report = ledger.import_events(
        [
            claim("a"),
            claim("b", source=None, because=["nobody"]),
            {"event": "support", "id": "s1", "claim": "b", "source": "t", "recorded_at": T1},
            claim("c"),
        ]
    )
    assert (report.events, report.commits, aside(report)) == (2, 1, [2, 3])


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"corrects": "nobody"}, "nobody"),
        ({"valid_from": "2024-02-01", "valid_to": "2024-01-01"}, "inverted"),
        ({"why": "x"}, "not a key"),
        ({"recorded_at": "2024-01-03T00:00:00"}, "recorded_at"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_claim_goes_with_the_bad_correction_that_names_it(
    ledger: Ledger, spoilt: dict[str, Any], why: str, first: bool
) -> None:
    ledger.import_events([claim("a")])
    correction = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "recorded_at": T2}
    pair = [claim("b", T2), correction | spoilt]
    if first:
        pair.reverse()
    report = ledger.import_events([claim("y", T2), *pair, claim("z", T2), claim("b2", T3)])
    assert aside(report) == [2, 3]
    falling = next(kept for kept in report.set_aside if kept.id == "b")
    assert "goes with the correction 'k'" in falling.reason
    assert why in falling.reason
    assert ids(ledger) == ["a", "y", "z", "b2"]


def test_a_bad_correction_spares_a_claim_of_another_commit_or_workspace(ledger: Ledger) -> None:
    bad = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "oops": 1}
    report = ledger.import_events(
        [claim("b", workspace="w"), bad | {"recorded_at": T1}, claim("b", T2), claim("c", T3)]
    )
    assert aside(report) == [2]


def test_a_long_chain_on_a_bad_line_falls_at_once_and_spares_the_rest(ledger: Ledger) -> None:
    chain = [claim("c0", source=None, because=["nobody"])]
    chain += [claim(f"c{n}", source=None, because=[f"c{n - 1}"]) for n in range(1, 3_000)]
    start = time.perf_counter()
    report = ledger.import_events([claim("a"), *chain, claim("z")])
    assert time.perf_counter() - start < 20  # a third of a second on an idle machine
    assert aside(report) == list(range(2, 3_002))
    assert "which can't be accepted itself" in report.set_aside[-1].reason
    assert ids(ledger) == ["a", "z"]


def test_what_names_a_refused_repeat_of_a_known_id_is_spared(ledger: Ledger) -> None:
    ledger.import_events([claim("a")])
    other = claim("a", T2, object=2)
    report = ledger.import_events([other, claim("b", T2, source=None, because=["a"])])
    assert aside(report) == [1]
    within = [claim("c", T3), claim("c", T3, object=2), claim("d", T3, source=None, because=["c"])]
    assert aside(ledger.import_events(within)) == [2]


def test_a_support_that_a_refused_claim_carries_is_missed_by_what_names_it(ledger: Ledger) -> None:
    citation = {"event": "citation", "id": "q", "text": "t", "supports": ["a/support"]}
    withdrawal = {"event": "withdrawal", "id": "w", "target": "q", "recorded_at": T1}
    ledger.import_events([claim("k", "2020-01-01", source="gone")])
    ledger.withdraw(doxa.Source("gone"), recorded_at="2020-01-02")
    report = ledger.import_events(
        [claim("a", source="gone"), citation | {"recorded_at": T1}, withdrawal, claim("b")]
    )
    assert aside(report) == [1, 2, 3]


def test_a_correction_that_would_close_a_ring_is_set_aside(ledger: Ledger) -> None:
    there = {"event": "correction", "id": "k1", "corrects": "a", "by": "b", "recorded_at": T2}
    back = {"event": "correction", "id": "k2", "corrects": "b", "by": "a", "recorded_at": T3}
    report = ledger.import_events([claim("a"), claim("b", T2), there, back])
    assert aside(report) == [4]
    assert report.set_aside[0].code == "correction_ring"


def test_a_later_line_that_names_a_bad_one_is_set_aside_for_that(ledger: Ledger) -> None:
    bad = claim("a", valid_from="2024-02-30")
    report = ledger.import_events([bad, claim("b", T2, source=None, because=["a"]), claim("c", T3)])
    assert aside(report) == [1, 2]


def test_a_time_that_nothing_could_follow_keeps_nothing_else_out(ledger: Ledger) -> None:
    end, before = "9999-12-31T23:59:59.999999Z", "9999-12-30T23:59:59.999999Z"
    report = ledger.import_events([line("a", end), line("b", before), line("c", None)])
    assert aside(report) == [1]
    assert "nothing could be recorded after it" in only_reason(report)
    assert ids(ledger) == ["b", "c"]
    assert ledger.import_events([line("d", end), line("e", T1)], restamp=True).events == 1
    with pytest.raises(doxa.InvalidTime, match="the last day"):
        ledger.claim("x", "p", 1, recorded_at=end)
    assert ids(ledger) == ["b", "c", "e"]


# ---------------------------------------------------------------- time


def test_a_step_back_in_time_is_set_aside_naming_both_times(ledger: Ledger) -> None:
    report = ledger.import_events([line("a", T2), line("b", T1), line("c", T3)])
    assert aside(report) == [2]
    assert T1 in only_reason(report)
    assert T2 in only_reason(report)
    assert ids(ledger) == ["a", "c"]


def test_history_recorded_before_1970_goes_into_an_empty_ledger(ledger: Ledger) -> None:
    report = ledger.import_events([line("a", "1911-06-01"), line("b", "1970-01-01"), line("c", T1)])
    assert (report.events, aside(report)) == (3, [])
    assert ledger.view(valid_at=T1, known_at="1950-01-01").claims()[0].id == "a"
    assert ledger.view(valid_at=T1, known_at="1900-01-01").claims() == []
    assert ledger.recorder.verify().problems == []


def test_with_restamp_a_step_back_is_recorded_just_after_and_keeps_its_time(
    ledger: Ledger,
) -> None:
    report = ledger.import_events(
        [line("a", T2), line("b", T1), line("b2", T1), line("c", T3)], restamp=True
    )
    assert (report.events, report.commits, aside(report)) == (4, 3, [])
    b = json.loads(list(export_events(ledger))[1])
    assert b["recorded_at"] == "2024-01-03T00:00:00.000001Z"
    assert b["stated_at"] == T1


def test_restamped_lines_are_repeats_the_next_time(ledger: Ledger) -> None:
    lines = [line("a", T2), line("b", T1)]
    ledger.import_events(lines, restamp=True)
    again = ledger.import_events(lines, restamp=True)
    assert (again.events, again.repeated, aside(again)) == (0, 2, [])


# ---------------------------------------------------------------- repeats and resuming


def test_the_same_file_again_is_a_no_op_that_says_so(ledger: Ledger) -> None:
    correction = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "recorded_at": T2}
    lines = [claim("a"), claim("b", T2, object=2), correction]
    ledger.import_events(lines)
    before = ledger.revision
    again = ledger.import_events(lines)
    assert (again.events, again.commits, again.repeated, aside(again)) == (0, 0, 3, [])
    assert ledger.revision == before


def test_repeats_inside_one_file_are_recognised(ledger: Ledger) -> None:
    report = ledger.import_events([line("a"), line("a"), line("a", T2), line("b", T3)])
    assert (report.events, report.repeated, aside(report)) == (2, 2, [])


def test_the_same_id_with_other_content_is_set_aside(ledger: Ledger) -> None:
    report = ledger.import_events([line("a"), line("a", T2, object=2), line("a", T3, object=True)])
    assert aside(report) == [2, 3]
    assert {kept.code for kept in report.set_aside} == {"duplicate_id"}


def test_equal_numbers_are_the_same_content(ledger: Ledger) -> None:
    report = ledger.import_events([line("a", object=1), line("a", T2, object=1.0)])
    assert (report.repeated, aside(report)) == (1, [])


def test_an_import_goes_on_where_it_stopped(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    lines = [line(f"c{n}", f"2024-01-02T00:{n // 60:02}:{n % 60:02}Z") for n in range(100)]

    def stop(done: int, total: int | None) -> None:
        assert total == 100
        if done >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.import_events(lines, progress=stop)
    assert ledger.revision == 50
    report = ledger.import_events(lines)
    assert (report.events, report.repeated, aside(report)) == (50, 50, [])


KILLED = """
import sys, doxa
from doxa.adapters.exchange import importing
importing.BATCH = 50
doxa.open(sys.argv[1]).import_events(
    sys.argv[2], progress=lambda done, total: print(done, flush=True)
)
"""


def test_a_killed_import_leaves_whole_commits_and_the_rest_goes_in_later(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    with file.open("w") as out:
        for n in range(3000):
            out.write(line(f"c{n}", f"2024-01-02T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"))
            out.write(
                "\n"
                + line(
                    f"d{n}",
                    json.loads(line("x"))["recorded_at"][:11]
                    + f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
                )
                + "\n"
            )
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "ledger"), str(file)], stdout=subprocess.PIPE
    ) as importer:
        assert importer.stdout is not None
        importer.stdout.readline()
        importer.stdout.readline()
        importer.kill()
    with doxa.open(tmp_path / "ledger") as ledger:
        came = ledger.revision
        assert 0 < came < 6000
        assert came % 2 == 0
        report = ledger.import_events(file)
        assert (report.events, report.repeated, aside(report)) == (6000 - came, came, [])


def test_progress_is_told_in_bytes_of_the_file_or_in_lines(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress((line("a") + "\n").encode()))
    told: list[tuple[int, int | None]] = []
    ledger.import_events(file, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (file.stat().st_size, file.stat().st_size)
    told.clear()
    ledger.import_events(
        iter([line("b", T2)]), progress=lambda done, total: told.append((done, total))
    )
    last: tuple[int, int | None] = told[-1]
    assert last == (1, None)


# ---------------------------------------------------------------- strict


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "not JSON"),
        (line("b", "2020-01-01"), "not later"),
        (line("b", T2, source=None, because=["nobody"]), "nobody"),
        (line("a", T2, object=2), "taken"),
    ],
)
def test_a_strict_import_writes_nothing_if_one_line_is_bad(
    tmp_path: Path, bad: str, reason: str
) -> None:
    with doxa.open(tmp_path / "ledger") as ledger:
        with pytest.raises(doxa.InvalidEvent, match=f"line 2: .*{reason}") as refused:
            ledger.import_events([line("a"), bad, line("c", T3), "{"], strict=True)
        assert "2 lines can't be accepted" in str(refused.value)
        assert "nothing was written" in str(refused.value)
        assert ledger.revision == 0
        assert not (tmp_path / "ledger" / "set-aside.jsonl").exists()
        assert ledger.view(valid_at=T1).claims() == []
        assert ledger.import_events([line("a"), line("c", T3)], strict=True).events == 2


def test_a_strict_import_wants_it_said_that_a_whole_source_is_withdrawn(ledger: Ledger) -> None:
    withdrawal = {"event": "withdrawal", "id": "w", "source": "s", "recorded_at": T2}
    with pytest.raises(doxa.InvalidEvent, match="whole_source"):
        ledger.import_events([claim("a"), withdrawal], strict=True)
    report = ledger.import_events([claim("a"), withdrawal | {"whole_source": True}], strict=True)
    assert report.events == 2
    with doxa.open() as other:
        assert aside(other.import_events([claim("a"), withdrawal])) == []


# ---------------------------------------------------------------- erased events


def test_an_erased_event_does_not_come_back_from_its_old_file(tmp_path: Path) -> None:
    secret = "TOP-SECRET-7319"
    lines = [line("a", object=secret), line("b", T2)]
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.import_events(lines)
        ledger.recorder.erase([1])
    with doxa.open(tmp_path / "ledger") as ledger:
        report = ledger.import_events(lines)
        assert (report.events, report.repeated, aside(report)) == (0, 1, [1])
        assert "'a' was erased here, and does not come back" in only_reason(report)
        stub = json.loads(next(export_events(ledger)))
        assert (stub["event"], stub["of"], stub["id"]) == ("redacted", "claim", "a")
        assert secret not in str(stub)
    for path in (tmp_path / "ledger").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


def test_a_stub_of_an_erased_event_is_a_repeat_where_its_id_is_known(ledger: Ledger) -> None:
    stub = '{"event":"redacted","id":"a"}'
    report = ledger.import_events([stub, line("b")])
    assert aside(report) == [1]
    assert "erased where the line comes from" in only_reason(report)
    ledger.import_events([line("a", T2)])
    report = ledger.import_events([stub, line("b")])
    assert (report.repeated, aside(report)) == (2, [])
    assert aside(ledger.import_events(['{"event":"redacted","id":"a","x":1}'])) == [1]


# ---------------------------------------------------------------- speed


def test_twenty_five_thousand_lines_go_in_within_seconds(shared: Callable[..., Path]) -> None:
    file = shared("data", "covid_vintages", "events.jsonl.gz")
    with doxa.open() as ledger:
        start = time.perf_counter()
        report = ledger.import_events(file)
        took = time.perf_counter() - start
    assert (report.events, report.commits, aside(report)) == (25_010, 426, [])
    assert took < 15  # 2 s on an idle machine of 2024
