"""Exported lines: every event once, in stream order, the same bytes after any round trip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import export_events, exported, import_events
from doxa.ledger import Ledger

T1, T2 = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00.000001Z"


def claim(id: str = "a", at: str = T1, **more: Any) -> dict[str, Any]:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": 1}
    return fields | {"source": "s", "recorded_at": at} | more


def one(ledger: Ledger, event: dict[str, Any]) -> str:
    report = ledger.import_events([event])
    assert report.set_aside == ()
    return list(export_events(ledger))[-1]


# ---------------------------------------------------------------- the form


def test_a_claim_is_written_with_all_its_keys_in_order(ledger: Ledger) -> None:
    assert one(ledger, claim(valid_from="2024-03-01")) == (
        '{"event":"claim","id":"a","workspace":"","subject":"x","predicate":"p","object":1,'
        '"text":null,"kind":"fact","perspective":"","valid_from":"2024-03-01T00:00:00Z",'
        '"valid_to":null,"recorded_at":"2024-01-02T00:00:00Z","source":"s"}'
    )


def test_a_source_with_more_than_an_id_is_an_object(ledger: Ledger) -> None:
    source = {"id": "letter", "locator": "p. 2", "quote": "…", "origin": "ada"}
    text = one(ledger, claim(source=source | {"observed_at": "2024-03-05"}))
    assert json.loads(text)["source"] == source | {"observed_at": "2024-03-05T00:00:00Z"}
    assert text.endswith(
        '"source":{"id":"letter","locator":"p. 2","quote":"…","origin":"ada",'
        '"observed_at":"2024-03-05T00:00:00Z"}}'
    )


def test_a_support_names_its_basis_and_stance(ledger: Ledger) -> None:
    ledger.import_events([claim("a"), claim("b")])
    support = {"event": "support", "id": "s1", "claim": "a", "because": ["b"], "recorded_at": T2}
    assert one(ledger, support) == (
        '{"event":"support","id":"s1","workspace":"","claim":"a","because":["b"],'
        '"stance":"supports","valid_from":null,"valid_to":null,"recorded_at":"'
        f'{T2}"}}'
    )


def test_a_portion_that_was_left_out_is_written_as_it_was_resolved(ledger: Ledger) -> None:
    ledger.import_events(
        [claim("a"), claim("b", valid_from="2024-02-01", valid_until="2024-02-29")]
    )
    correction = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "recorded_at": T2}
    assert one(ledger, correction | {"reason": "moved", "source": "t"}) == (
        '{"event":"correction","id":"k","workspace":"","corrects":"a","by":"b",'
        '"valid_from":"2024-02-01T00:00:00Z","valid_to":"2024-03-01T00:00:00Z",'
        f'"recorded_at":"{T2}","source":"t","reason":"moved"}}'
    )


def test_a_withdrawal_says_who_asked_and_whether_the_whole_source_goes(ledger: Ledger) -> None:
    ledger.import_events([claim("a")])
    ledger.withdraw("a", source="ada", id="w1")
    ledger.withdraw(doxa.Source("s"), source=doxa.Source("ada", locator="p. 1"), id="w2")
    first, second = (json.loads(text) for text in list(export_events(ledger))[1:])
    assert (first["target"], first["source"]) == ("a", "ada")
    assert (second["source"], second["whole_source"]) == ("s", True)
    assert second["asked_by"] == {"id": "ada", "locator": "p. 1"}


def test_an_unresolved_correction_leaves_out_what_it_was_given_without(ledger: Ledger) -> None:
    unresolved = {"event": "correction", "id": "k", "unresolved": "Z", "recorded_at": T1}
    assert one(ledger, unresolved) == (
        '{"event":"correction","id":"k","workspace":"","unresolved":"Z",'
        '"recorded_at":"2024-01-02T00:00:00Z"}'
    )
    more = {"id": "k2", "candidates": ["a", "b"], "valid_from": None, "valid_to": "2024-07-01"}
    ledger.import_events([claim("a", T2), claim("b", T2)])
    fields = json.loads(one(ledger, unresolved | more | {"recorded_at": "2024-01-05"}))
    assert fields["candidates"] == ["a", "b"]
    assert (fields["valid_from"], fields["valid_to"]) == (None, "2024-07-01T00:00:00Z")


@pytest.mark.parametrize("subjects", [None, ["x"]])
def test_a_snapshot_keeps_its_selection_and_instant(
    ledger: Ledger, subjects: list[str] | None
) -> None:
    ledger.import_events([claim("a")])
    summary = {"event": "summary", "id": "n", "text": "t", "facts": ["a"], "binding": "snapshot"}
    fields = json.loads(
        one(ledger, summary | {"subjects": subjects, "valid_at": T2, "recorded_at": T2})
    )
    assert (fields["subjects"], fields["valid_at"]) == (subjects, T2)


def test_stated_and_assumed_are_written_where_they_were_given(ledger: Ledger) -> None:
    fields = json.loads(one(ledger, claim(assumed="day of the file", stated_at=T1)))
    assert (fields["assumed"], fields["stated_at"]) == ("day of the file", T1)


def test_the_commit_shows_in_equal_times_and_nothing_is_merged(ledger: Ledger) -> None:
    withdrawal = {"event": "withdrawal", "id": "w", "target": "a", "recorded_at": T1}
    ledger.import_events([claim("a"), withdrawal])
    first, second = map(json.loads, export_events(ledger))
    assert (first["event"], second["event"]) == ("claim", "withdrawal")
    assert first["recorded_at"] == second["recorded_at"]


# ---------------------------------------------------------------- choosing and paging


def test_one_workspace_is_exported_alone(ledger: Ledger) -> None:
    ledger.import_events([claim("a"), claim("b", workspace="w"), claim("c", T2)])
    assert [json.loads(t)["id"] for t in export_events(ledger, workspace="w")] == ["b"]
    assert [json.loads(t)["id"] for t in export_events(ledger, workspace="")] == ["a", "c"]


@pytest.mark.parametrize("size", [1, 3, 7, 10, 11, 12])
@pytest.mark.parametrize("workspace", [None, ""])
def test_pages_by_position_join_to_the_whole_whatever_their_size(
    ledger: Ledger, size: int, workspace: str | None
) -> None:
    ledger.import_events([claim(f"c{n:02}") for n in range(11)])
    cursor, pages = 0, []
    while page := list(exported(ledger, workspace=workspace, since=cursor, limit=size)):
        assert len(page) <= size
        cursor = page[-1].position
        pages += [item.line for item in page]
    assert pages == list(export_events(ledger))


def test_what_comes_in_during_a_page_is_on_the_next(ledger: Ledger) -> None:
    ledger.import_events([claim(f"c{n}") for n in range(10)])
    page = list(exported(ledger, limit=5))
    ledger.import_events([claim(f"d{n}", T2) for n in range(3)])
    rest = list(exported(ledger, since=page[-1].position))
    assert [item.position for item in [*page, *rest]] == list(range(1, 14))


@pytest.mark.parametrize("since", [-1, True, 1.5, "3"])
def test_a_cursor_that_is_no_position_is_refused(ledger: Ledger, since: Any) -> None:
    with pytest.raises(doxa.CallerError, match="cursor"):
        export_events(ledger, since=since)


def test_a_page_of_nothing_is_refused(ledger: Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="limit"):
        exported(ledger, limit=0)


# ---------------------------------------------------------------- round trips


def round_trip(ledger: Ledger) -> None:
    lines = list(export_events(ledger))
    with doxa.open() as other:
        report = import_events(other, lines, strict=True)
        assert (report.events, report.repeated) == (len(lines), 0)
        assert list(export_events(other)) == lines
        assert other.revision == ledger.revision
        for at in ("2024-01-02", "2024-06-01"):
            here, there = ledger.view(valid_at=at), other.view(valid_at=at)
            assert here.fingerprint == there.fingerprint


@pytest.mark.parametrize("folder", ["advisories", "us_executive"])
def test_real_histories_survive_a_round_trip(
    ledger: Ledger, shared: Callable[..., Path], folder: str
) -> None:
    ledger.import_events(shared("data", folder, "events.jsonl"))
    round_trip(ledger)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LABEL = st.text("ab é\u0301漢🙂'\"\\", min_size=1, max_size=5)
PHRASE = TEXT.filter(str.strip)
MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def iso(micros: int) -> str:
    from doxa.engine import times

    return times.iso(micros)


@st.composite
def intervals(draw: st.DrawFn) -> dict[str, Any]:
    bounds = sorted({draw(MICROS), draw(MICROS)})
    start, end = bounds[0], bounds[-1]
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields["valid_from"] = draw(st.sampled_from([None, iso(start), "0001-01-01"]))
    if draw(st.booleans()) and end > start:
        fields["valid_to"] = draw(st.sampled_from([None, iso(end), "9999-12-31"]))
    elif draw(st.booleans()):
        fields["valid_until"] = draw(st.sampled_from(["2024-12-31", "9999-12-31"]))
    return fields


SOURCE = st.sampled_from(["s", "t"]) | st.fixed_dictionaries(
    {"id": st.sampled_from(["s", "t", "ü"])},
    optional={
        "locator": TEXT,
        "quote": TEXT,
        "digest": LABEL,
        "origin": LABEL,
        "observed_at": st.one_of(st.none(), MICROS.map(iso)),
    },
)


@st.composite
def event(draw: st.DrawFn, number: int, names: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    """One event; what it names is among ``names``, by kind, each with its workspace."""
    workspace = draw(st.sampled_from(["", "w"]))
    kind = draw(st.sampled_from(["claim", "claim", *names]))
    fields: dict[str, Any] = {"event": kind, "id": f"{kind[:2]}{number}", "workspace": workspace}

    def own(what: str) -> st.SearchStrategy[str]:
        ids = [id for place, id in names[what] if place == workspace]
        return st.sampled_from(ids or ["nobody"])

    def refs(what: str, least: int = 0) -> st.SearchStrategy[list[Any]]:
        there = [id for place, id in names[what] if place == ""]
        shared: list[Any] = [{"workspace": "", "id": id} for id in there]
        return st.lists(
            own(what) | st.sampled_from(shared or ["nobody"]), min_size=least, max_size=3
        )

    if draw(st.booleans()):
        fields["stated_at"] = draw(st.none() | MICROS.map(iso))
    if kind in ("claim", "support"):
        basis = draw(st.sampled_from(["source", "because", "nothing"]))
        if basis == "source":
            fields["source"] = draw(SOURCE)
        elif basis == "because":
            fields["because"] = draw(refs("claim", 1))
        if draw(st.booleans()):
            fields["assumed"] = draw(TEXT)
    if kind == "claim":
        fields |= {"subject": draw(LABEL), "predicate": draw(LABEL), "object": draw(JSON)}
        fields |= {"text": draw(st.none() | TEXT), "perspective": draw(st.just("") | LABEL)}
        fields |= {"kind": draw(st.sampled_from(["fact", "hypothesis"])), **draw(intervals())}
        if draw(st.booleans()):
            fields["recall_when"] = draw(st.lists(PHRASE, max_size=3))
    elif kind == "support":
        fields |= {"claim": draw(own("claim")), **draw(intervals())}
        fields["stance"] = draw(st.sampled_from(["supports", "refutes"]))
    elif kind == "correction":
        fields |= draw(intervals())
        if draw(st.integers(0, 3)):
            fields["corrects"] = draw(own("claim"))
            fields["resolves"] = draw(st.none() | own("correction"))
        else:
            fields["unresolved"] = draw(LABEL)
            fields["candidates"] = draw(st.lists(own("claim"), max_size=2, unique=True))
        fields |= {"by": draw(st.none() | own("claim")), "reason": draw(st.none() | TEXT)}
        fields["source"] = draw(SOURCE) if draw(st.booleans()) else "s"
    elif kind == "withdrawal":
        fields |= {"reason": draw(st.none() | TEXT), **draw(intervals())}
        asked = draw(st.booleans())
        if draw(st.booleans()):
            fields["target"] = draw(own(draw(st.sampled_from(list(names)))))
            fields |= {"source": draw(SOURCE)} if asked else {}
        else:
            fields |= {"source": draw(st.sampled_from(["s", "t"])), "whole_source": True}
            fields |= {"asked_by": draw(SOURCE)} if asked else {}
    elif kind in ("citation", "summary"):
        fields |= {"text": draw(TEXT), "facts": draw(refs("claim"))}
        fields["supports"] = draw(refs("support", kind == "citation"))
        fields["sources"] = draw(st.lists(st.sampled_from(["s", "t"]), max_size=2))
        if kind == "summary":
            fields["citations"] = draw(refs("citation"))
        if draw(st.booleans()):
            fields |= {"binding": "snapshot", "valid_at": draw(st.none() | MICROS.map(iso))}
            fields["subjects"] = draw(st.none() | st.lists(LABEL, max_size=2))
    elif kind == "policy":
        values: dict[str, st.SearchStrategy[Any]] = {
            "single_valued": LABEL,
            "contradicts": st.lists(own("claim"), min_size=2),
            "verified": own("claim"),
            "pinned": own("claim"),
            "calibrated": st.fixed_dictionaries({"embedder": LABEL}, optional={"boundary": JSON}),
            "scored": own("claim"),
            "expires": own("claim"),
            "archived": st.lists(own("claim"), min_size=1),
            "restored": st.lists(own("claim"), min_size=1),
            "decays": LABEL,
            "rejected": st.binary(min_size=32, max_size=32).map(bytes.hex),
        }
        beside: dict[str, dict[str, st.SearchStrategy[Any]]] = {
            "scored": {"importance": st.floats(0, 1)},
            "expires": {"at": MICROS.map(iso)},
            "decays": {"days": st.none() | st.floats(0.01, 1e5)},
            "rejected": {"predicate": st.none() | LABEL, "until": st.none() | MICROS.map(iso)},
        }
        name = draw(st.sampled_from(list(values)))
        fields[name] = draw(values[name])
        for other, said in beside.get(name, {}).items():
            fields[other] = draw(said)
        fields["reason"] = draw(st.none() | TEXT)
    return fields


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Lines of a stream whose events name earlier ones, or ones of their own commit."""
    kinds = ["claim", "support", "correction", "withdrawal", "citation", "summary", "policy"]
    names: dict[str, list[tuple[str, str]]] = {kind: [] for kind in kinds}
    at, lines = draw(st.integers(-(10**14), 10**14)), []
    for number in range(draw(st.integers(1, 15))):
        if draw(st.booleans()):
            at += draw(st.integers(1, 10**13))
        fields = draw(event(number, names))
        place = fields["workspace"]
        names[fields["event"]].append((place, fields["id"]))
        if fields["event"] == "claim" and (fields.get("source") or fields.get("because")):
            names["support"].append((place, fields["id"] + "/support"))
        lines.append(fields | {"recorded_at": iso(at)})
    return lines


@given(streams())
def test_export_import_export_is_identical(lines: list[dict[str, Any]]) -> None:
    with doxa.open() as ledger:
        ledger.import_events(lines)
        round_trip(ledger)


@given(streams())
def test_exported_lines_are_repeats_where_they_came_from(lines: list[dict[str, Any]]) -> None:
    with doxa.open() as ledger:
        ledger.import_events([json.dumps(fields) for fields in lines])
        written = list(export_events(ledger))
        report = ledger.import_events(written)
        assert (report.events, report.repeated, report.set_aside) == (0, len(written), ())
        assert list(export_events(ledger)) == written


@given(streams(), st.sampled_from([1, 2, 100]))
def test_how_a_file_is_cut_into_transactions_changes_nothing(
    lines: list[dict[str, Any]], batch: int
) -> None:
    from unittest.mock import patch

    from doxa.adapters.exchange import importing

    with doxa.open() as one, doxa.open() as other:
        with patch.object(importing, "BATCH", batch):
            one.import_events(lines)
        report = other.import_events(lines)
        written = list(export_events(one))
        assert written == list(export_events(other))
        brought_back = sum('"id":"restored-' in line for line in written)  # by lines about them
        assert report.events + brought_back == one.revision
