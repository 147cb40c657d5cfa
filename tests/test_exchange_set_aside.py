"""Lines set aside: kept until they are mended, and let in at their arrival."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import doxa
from doxa.adapters.exchange import export_events, importing, set_aside
from doxa.adapters.exchange.lines import LINE_LIMIT
from doxa.adapters.exchange.set_aside import FILE, Register, SetAside, identify
from doxa.ledger import Ledger

T1, T2, T3 = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z"
NOW = datetime(2025, 5, 5, tzinfo=UTC)


@pytest.fixture(params=["in a folder", "in memory"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A ledger whose clock stands still."""
    path = tmp_path / "ledger" if request.param == "in a folder" else None
    with doxa.open(path, clock=lambda: NOW) as ledger:
        yield ledger


def claim(id: str = "a", at: str | None = T1, **more: Any) -> dict[str, Any]:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": 1}
    fields |= {"source": "s"} | more
    return fields if at is None else fields | {"recorded_at": at}


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = (text if isinstance(text, str) else json.dumps(text) for text in lines)
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def exported(ledger: Ledger, id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        fields for fields in map(json.loads, export_events(ledger)) if fields["id"] == id
    )
    return found


def test_a_line_set_aside_is_kept_with_its_file_number_reason_and_text(
    kept: Ledger, tmp_path: Path
) -> None:
    file = write(tmp_path / "in.jsonl", claim("a"), claim("b", T2, valid_from="never"))
    kept.import_events(file)
    (line,) = set_aside(kept)
    assert (line.line, line.file, line.id) == (2, str(file), "b")
    assert "'never'" in line.reason
    assert json.loads(line.text)["id"] == "b"
    assert line.set_aside_at == "2025-05-05T00:00:00Z"


def test_the_register_is_a_file_that_another_opening_finds(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.import_events(["{"])
    (text,) = (tmp_path / "ledger" / FILE).read_text("utf-8").splitlines()
    assert {"file", "line", "reason", "text", "set_aside_at"} <= set(json.loads(text))
    with doxa.open(tmp_path / "ledger") as ledger:
        assert [line.text for line in set_aside(ledger)] == ["{"]


def test_the_same_line_of_the_same_file_is_kept_once(kept: Ledger, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", "{", claim("b", source=None, because=["nobody"]))
    for _ in range(3):
        assert len(kept.import_events(file).set_aside) == 2
    assert [line.line for line in set_aside(kept)] == [1, 2]


def test_a_mended_line_is_recorded_at_its_arrival_and_keeps_its_own_time(
    kept: Ledger, tmp_path: Path
) -> None:
    bad = claim("b", T2, valid_from="2024-02-30")
    file = write(tmp_path / "in.jsonl", claim("a"), bad, claim("c", T3))
    assert [line.line for line in kept.import_events(file).set_aside] == [2]
    write(file, claim("a"), bad | {"valid_from": "2024-02-28"}, claim("c", T3))
    report = kept.import_events(file)
    assert (report.events, report.repeated, report.set_aside) == (1, 2, ())
    assert set_aside(kept) == []
    b = exported(kept, "b")
    assert (b["recorded_at"], b["stated_at"]) == ("2025-05-05T00:00:00Z", T2)
    again = kept.import_events(file)
    assert (again.repeated, again.set_aside) == (3, ())


def test_a_torn_line_is_known_by_its_number_in_its_file(kept: Ledger, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", claim("a"), '{"event":"cl', claim("c", T3))
    kept.import_events(file)
    write(file, claim("a"), claim("b", T2), claim("c", T3))
    assert kept.import_events(file).events == 1
    assert exported(kept, "b")["stated_at"] == T2
    assert set_aside(kept) == []


def test_a_mended_line_is_known_by_its_id_in_another_file(kept: Ledger, tmp_path: Path) -> None:
    torn = json.dumps(claim("b", T2))[:-20]
    write(tmp_path / "in.jsonl", claim("a"), torn, claim("c", T3))
    kept.import_events(tmp_path / "in.jsonl")
    report = kept.import_events(write(tmp_path / "mended.jsonl", claim("b", T2)))
    assert (report.events, report.set_aside) == (1, ())
    assert set_aside(kept) == []
    assert exported(kept, "b")["stated_at"] == T2


def test_what_was_set_aside_from_memory_is_known_by_its_id(kept: Ledger) -> None:
    kept.import_events([claim("a"), claim("b", T2, oops=1), claim("c", T3)])
    assert kept.import_events([claim("b", T2)]).events == 1
    assert set_aside(kept) == []


def test_a_line_whose_time_stepped_back_stays_out_until_it_is_changed_or_restamped(
    kept: Ledger, tmp_path: Path
) -> None:
    file = write(tmp_path / "in.jsonl", claim("a", T2), claim("b", T1), claim("c", T1, object=3))
    for _ in range(2):
        assert [line.line for line in kept.import_events(file).set_aside] == [2, 3]
    write(file, claim("a", T2), claim("b", T1, object=2), claim("c", T1, object=3))
    report = kept.import_events(file)
    assert (report.events, [line.line for line in report.set_aside]) == (1, [3])
    assert [line.id for line in set_aside(kept)] == ["c"]
    assert kept.import_events(file, restamp=True).events == 1
    assert set_aside(kept) == []
    assert exported(kept, "c")["stated_at"] == T1


def test_a_line_that_lacked_its_target_goes_in_once_the_target_is_there(
    kept: Ledger, tmp_path: Path
) -> None:
    file = write(tmp_path / "in.jsonl", claim("b", T2, source=None, because=["a"]), claim("c", T3))
    assert [line.line for line in kept.import_events(file).set_aside] == [1]
    kept.claim("x", "p", 1, id="a", source="s")
    assert kept.import_events(file).set_aside == ()
    assert set_aside(kept) == []


def test_mended_lines_come_after_the_rest_of_the_file_whose_history_they_must_not_bar(
    kept: Ledger, tmp_path: Path
) -> None:
    bad = claim("b", T2, oops=1)
    file = write(tmp_path / "in.jsonl", claim("a"), bad)
    kept.import_events(file)
    dependant = claim("d", "2024-01-06T00:00:00Z", source=None, because=["b"])
    write(file, claim("a"), claim("b", T2), claim("c", T3), dependant)
    report = kept.import_events(file)
    assert (report.events, report.commits, report.set_aside) == (3, 3, ())
    assert exported(kept, "c")["recorded_at"] == T3
    assert exported(kept, "b")["stated_at"] == T2
    assert exported(kept, "d")["stated_at"] == "2024-01-06T00:00:00Z"


def test_a_pair_that_was_set_aside_together_goes_in_as_one_commit(
    kept: Ledger, tmp_path: Path
) -> None:
    correction = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "recorded_at": T2}
    file = write(
        tmp_path / "in.jsonl", claim("a"), claim("b", T2), correction | {"x": 1}, claim("c", T3)
    )
    assert [line.line for line in kept.import_events(file).set_aside] == [2, 3]
    write(file, claim("a"), claim("b", T2), correction, claim("c", T3))
    report = kept.import_events(file)
    assert (report.events, report.commits, report.set_aside) == (2, 1, ())
    assert set_aside(kept) == []


def test_a_line_mended_badly_is_set_aside_again_and_leaves_when_it_is_good(
    kept: Ledger, tmp_path: Path
) -> None:
    file = tmp_path / "in.jsonl"
    for bad in (claim("b", T1, oops=1), claim("b", T1, valid_from="x")):
        kept.import_events(write(file, claim("a", T2), bad))
    assert len(set_aside(kept)) == 2
    assert kept.import_events(write(file, claim("a", T2), claim("b", T1))).events == 1
    assert set_aside(kept) == []


def test_a_taken_id_is_mended_by_another_id(kept: Ledger, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", claim("a"), claim("a", T2, object=2), claim("c", T3))
    kept.import_events(file)
    assert [line.code for line in set_aside(kept)] == ["duplicate_id"]
    kept.import_events(write(tmp_path / "other.jsonl", claim("a")))
    assert [line.code for line in set_aside(kept)] == ["duplicate_id"]
    write(file, claim("a"), claim("a2", T2, object=2), claim("c", T3))
    assert kept.import_events(file).events == 1
    assert set_aside(kept) == []


def test_a_line_of_another_event_does_not_take_a_kept_one_out(kept: Ledger, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", claim("a"), claim("b", T2, oops=1))
    kept.import_events(file)
    kept.import_events(write(tmp_path / "other.jsonl", claim("y", T2), claim("z", T3)))
    assert [line.id for line in set_aside(kept)] == ["b"]


def test_a_strict_import_lets_mended_lines_in_and_keeps_nothing_itself(
    kept: Ledger, tmp_path: Path
) -> None:
    file = write(tmp_path / "in.jsonl", claim("a"), claim("b", T1, oops=1), claim("c", T3))
    kept.import_events(file)
    with pytest.raises(doxa.InvalidEvent, match="1 line"):
        kept.import_events(file, strict=True)
    assert len(set_aside(kept)) == 1
    write(file, claim("a"), claim("b", T1), claim("c", T3))
    assert kept.import_events(file, strict=True).events == 1
    assert set_aside(kept) == []


# ---------------------------------------------------------------- the file itself


def entry(line: int, text: str = "{", **more: Any) -> SetAside:
    return SetAside(line, "why", text, file="in.jsonl", **more)


def test_a_torn_end_of_the_register_is_passed_over_and_written_after(tmp_path: Path) -> None:
    Register(tmp_path).add([entry(1), entry(2)])
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-10])
    register = Register(tmp_path)
    assert [kept.line for kept in register] == [1]
    register.add([entry(3)])
    assert [kept.line for kept in Register(tmp_path)] == [1, 3]


def test_two_processes_keep_and_remove_without_losing_each_others_lines(tmp_path: Path) -> None:
    one, other = Register(tmp_path), Register(tmp_path)
    one.add([entry(1), entry(2)])
    other.add([entry(3)])
    one.remove([entry(1)])
    other.add([entry(4)])
    assert [kept.line for kept in Register(tmp_path)] == [2, 3, 4]
    other.remove([entry(2), entry(3), entry(4)])
    assert not (tmp_path / FILE).exists()
    one.add([entry(5)])
    assert [kept.line for kept in Register(tmp_path)] == [5]


def test_two_processes_that_import_one_file_keep_each_line_once(tmp_path: Path) -> None:
    one, other = Register(tmp_path), Register(tmp_path)
    one.add([entry(1), entry(2)])
    other.add([entry(1), entry(2), entry(3)])
    assert [kept.line for kept in other] == [1, 2, 3]
    assert [kept.line for kept in Register(tmp_path)] == [1, 2, 3]


def test_a_register_that_can_not_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(doxa.StorageError, match="set-aside"):
        Register(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"event":"claim","id":"a","workspace":"w"}', ("w", "a")),
        ('{"event":"claim","id":"a","source":{"id":"s"', ("mine", "a")),
        ('{"event":"claim","workspace":"w","id":"\\u00e9', ("w", None)),
        ('{"event":"claim","id":"a\\"b","subj', ("mine", 'a"b')),
        ('{"id":7,"workspace":[]}', ("", None)),
        ("<<<<<<<", ("mine", None)),
        ("[1]", ("mine", None)),
    ],
)
def test_the_id_of_a_torn_line_is_read_as_far_as_it_goes(
    text: str, found: tuple[str, str | None]
) -> None:
    assert identify(text, "mine") == found


def test_a_torn_line_beside_a_whole_one_of_its_id_stays_set_aside(tmp_path: Path) -> None:
    whole = json.dumps(claim())
    file = write(tmp_path / "in.jsonl", whole[3:], whole)
    with doxa.open(tmp_path / "ledger") as ledger:
        for new in (1, 0, 0):
            report = ledger.import_events(file)
            assert report.events == new
            assert [aside.line for aside in report.set_aside] == [1]
            assert [aside.line for aside in set_aside(ledger)] == [1]
        write(file, whole, whole)
        assert not ledger.import_events(file).set_aside
        assert not set_aside(ledger)


@pytest.mark.parametrize(
    "foreign", [{"id": []}, {"line": []}, {"text": []}, {"file": 5}, {"reason": {}}, {"code": None}]
)
def test_what_is_not_of_the_registers_form_stops_no_import(
    foreign: dict[str, Any], tmp_path: Path
) -> None:
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.import_events(["torn"])
        with (tmp_path / "ledger" / FILE).open("a") as file:
            file.write(json.dumps({"line": 1, "reason": "r", "text": "t"} | foreign) + "\n")
        assert ledger.import_events(["torn", claim("b")]).events == 1
        assert [aside.text for aside in set_aside(ledger)] == ["torn"]


def test_only_the_beginning_of_an_overlong_line_is_kept_wherever_it_came_from(
    tmp_path: Path,
) -> None:
    long = '{"event":"claim","id":"' + "a" * LINE_LIMIT
    file = write(tmp_path / "in.jsonl", long)
    with doxa.open(tmp_path / "ledger") as ledger:
        for given in (file, [long], [long.encode()]):
            ledger.import_events(given)
        assert [aside.text for aside in set_aside(ledger)] == [long[:1_000]] * 2
        assert {aside.code for aside in set_aside(ledger)} == {"payload_too_large"}


def test_a_disk_that_fills_up_on_the_way_does_not_deny_what_went_in(tmp_path: Path) -> None:
    lines = [claim("a", T1), claim("b", T2), claim("c", T3)]
    with doxa.open(tmp_path / "ledger") as ledger:
        once = iter([ledger._stream.append_many])

        def failing(*args: Any, **options: Any) -> Any:
            for whole in once:
                return whole(*args, **options)
            raise doxa.StorageError("the disk is full; nothing was written")

        with (
            patch.object(importing, "BATCH", 1),
            patch.object(ledger._stream, "append_many", failing),
            pytest.raises(doxa.StorageError, match=r"before that, 1 event of this import"),
        ):
            ledger.import_events(lines)
        assert (ledger.revision, ledger.import_events(lines).repeated) == (1, 1)
