"""What happened to one thing is told as it was: by the events that name it, and as the views at all
revisions have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import doxa
from doxa.adapters.cli.app import app
from doxa.adapters.exchange import export_events
from doxa.engine.narrative import Entry, Narrative
from doxa.ledger import Ledger
from tests.histories import INSTANTS, Fields, moment
from tests.trials import walking
from tests.walks import wander

OUTSIDE = ("not_yet_valid", "expired")
# Fields of a policy in the exchange form that name no event.
NO_IDS = {"event", "id", "workspace", "recorded_at", "stated_at", "reason", "evidence", "author"}
NO_IDS |= {"single_valued", "predicate", "calibrated", "decays", "rejected"}


def told(narrative: Narrative) -> list[tuple[str, str, str]]:
    return [(entry.event, entry.what, entry.detail) for entry in narrative]


@pytest.fixture
def people(ledger: Ledger) -> Ledger:
    ledger.claim("ada", "lives_in", "London", id="home", valid_from="2024-03-01", source="register")
    ledger.claim("ada", "taxed_in", "UK", id="tax", valid_from="2024-03-01", because=["home"])
    ledger.cite("Register, line 7", claim="home", id="quote")
    ledger.summarize("Ada lives in London.", facts=["home"], citations=["quote"], id="note")
    ledger.correct("home", "Lisbon", valid_from="2024-06-01", source="letter", id="moved")
    return ledger


# ---------------------------------------------------------------- by hand


def test_a_claim_is_told_of_from_its_recording_on(people: Ledger) -> None:
    people.withdraw("moved", reason="misread", source="Ben", id="w")
    people.withdraw("w", reason="it was right", id="w2")
    people.support("home", source="neighbour", stance="refutes", id="no")
    assert told(people.audit("home")) == [
        ("home", "recorded", 'ada lives_in "London", from 2024-03-01'),
        ("home", "supported", "register"),
        ("home", "became reported", "from 2024-03-01"),
        ("moved", "corrected", "home by moved/replacement from 2024-06-01, says letter"),
        ("moved", "became superseded", "from 2024-06-01; it was reported"),
        ("w", "correction withdrawn", "takes back moved: misread, asked by Ben"),
        ("w", "became reported", "from 2024-06-01; it was superseded"),
        ("w2", "correction restored", "takes back w: it was right"),
        ("w2", "became superseded", "from 2024-06-01; it was reported"),
        ("no", "refuted", "neighbour"),
        ("no", "became contested", "2024-03-01 to 2024-06-01; it was reported"),
    ]


def test_what_rests_on_a_claim_is_told_of_by_the_event_that_felled_the_claim(
    people: Ledger,
) -> None:
    assert told(people.audit("tax"))[2:] == [
        ("tax", "became reported", "from 2024-03-01"),
        ("moved", "became unsupported", "from 2024-06-01; it was reported"),
    ]
    assert ("moved", "replaces", "home by moved/replacement from 2024-06-01, says letter") in told(
        people.audit("moved/replacement")
    )


def test_a_text_is_told_of_with_what_invalidated_and_restored_it(people: Ledger) -> None:
    people.withdraw(doxa.Source("register"), reason="forged", valid_to="2024-04-01", id="f")
    people.withdraw("f", id="not-forged")
    people.withdraw("note", id="n")
    assert told(people.audit("note")) == [
        ("note", "registered", '"Ada lives in London."'),
        ("note", "eligible", "from 2024-03-01"),
        ("moved", "invalidated", "from 2024-06-01: missing_fact home (superseded)"),
        ("f", "invalidated", "2024-03-01 to 2024-04-01: missing_fact home (unsupported)"),
        ("not-forged", "eligible", "2024-03-01 to 2024-04-01"),
        ("n", "withdrawn", "takes back note"),
        ("n", "invalidated", "2024-03-01 to 2024-06-01: withdrawn"),
    ]


def test_sources_and_policies_are_told_of_with_what_became_of_them(people: Ledger) -> None:
    people.verify_claim("home", reason="seen", id="v")
    people.policy(contradicts=["home", "tax"], id="c")
    people.withdraw("c", id="c-")
    people.withdraw(doxa.Source("register"), reason="forged", id="f")
    found = told(people.audit("home"))
    assert ("v", "verified", "home is verified: seen") in found
    assert ("c", "contradicts", "home, tax contradict each other") in found
    assert ("c", "became contested", "2024-03-01 to 2024-06-01; it was reported") in found
    assert ("c-", "policy withdrawn", "takes back c") in found
    assert ("f", "source withdrawn", "takes back the source register: forged") in found
    assert ("f", "became unsupported", "2024-03-01 to 2024-06-01; it was reported") in found


def test_other_events_are_told_of_too(people: Ledger) -> None:
    people.withdraw("moved", id="w")
    people.withdraw("w", valid_from="2024-08-01", id="w2")
    assert told(people.audit("moved")) == [
        ("moved", "recorded", "home by moved/replacement from 2024-06-01, says letter"),
        ("moved", "counts", "from 2024-06-01"),
        ("w", "withdrawn", "takes back moved"),
        ("w", "counts no longer", "from 2024-06-01"),
        ("w2", "restored", "takes back w from 2024-08-01"),
        ("w2", "counts", "from 2024-08-01"),
    ]
    assert told(people.audit("w")) == [
        ("w", "recorded", "takes back moved"),
        ("w", "counts", "at any time"),
        ("w2", "withdrawn", "takes back w from 2024-08-01"),
        ("w2", "counts no longer", "from 2024-08-01"),
    ]
    assert told(people.audit("home/support")) == [
        ("home", "recorded", "register"),
        ("home", "counts", "at any time"),
    ]


def test_of_several_events_in_a_commit_the_one_that_bears_on_it_is_named(ledger: Ledger) -> None:
    ledger.claim("a", "p", 1, id="a", source="s")
    ledger.claim("b", "p", 1, id="b", because=["a"])
    ledger.append(
        [
            {"event": "claim", "id": "far", "subject": "z", "predicate": "p", "object": 1},
            {"event": "withdrawal", "id": "w", "source": "s"},
            {"event": "claim", "id": "farther", "subject": "z", "predicate": "p", "object": 1},
        ]
    )
    for id in ("a", "b"):
        assert [entry.event for entry in ledger.audit(id) if "became unsup" in entry.what] == ["w"]


def test_an_erased_event_is_told_of_without_its_content(people: Ledger) -> None:
    people.support("home", source=doxa.Source("tenancy", quote="Ada, London"), id="lease")
    people.recorder.erase([1, people.revision])
    again = doxa.open()
    try:
        again.import_events(list(export_events(people)))
    finally:
        again.close()
    shown = str(people.audit("home")) + json.dumps(people.audit("lease").as_dict())
    assert "Ada, London" not in shown
    assert "tenancy" in shown


def test_a_purged_claim_is_told_of_without_a_word_of_it(people: Ledger) -> None:
    people.support("home", source=doxa.Source("tenancy", quote="Ada, London"), id="lease")
    people.archive(["home", "note"])
    people.restore(["note"])
    people.purge(["home"], id="purge")
    story = people.audit("home")
    assert not {"London", "lives_in", "Ada"} & set(str(story).replace('"', " ").split())
    assert [entry.what for entry in story] == [
        "recorded", "supported", "became reported",
        "corrected", "became superseded",
        "supported", "became corroborated",
        "archived",
        "redacted", "became redacted", "became redacted", "became redacted",
    ]  # fmt: skip
    assert story.entries[0].detail == "(erased), from 2024-03-01"
    assert {entry.event for entry in story.entries[-4:]} == {"purge"}
    kept = [entry.what for entry in people.audit("note")]
    assert [what for what in kept if what in ("archived", "restored")] == ["archived", "restored"]


def test_a_compacted_claim_has_no_story_any_more(ledger: Ledger) -> None:
    ledger.claim("a", "p", 1, id="gone", source="s")
    ledger.withdraw("gone")
    ledger.claim("a", "p", 2, id="stays", source="s")
    before = told(ledger.audit("stays"))
    ledger.compact(older_than=0, now="2200-01-01")
    with pytest.raises(doxa.CallerError, match="was compacted"):
        ledger.audit("gone")
    assert told(ledger.audit("stays")) == before


def test_a_correction_that_came_to_concern_no_time_at_all_is_told_of(ledger: Ledger) -> None:
    ledger.claim("a", "p", 2, id="by", source="s", valid_from="2024-01-01", valid_to="2024-02-01")
    ledger.append([{"event": "correction", "id": "k", "unresolved": "late", "by": "by"}])
    ledger.claim("a", "p", 1, id="late", source="s", valid_from="2025-01-01")
    assert [(e.event, e.what) for e in ledger.audit("late")] == [
        ("k", "corrected"),
        ("late", "recorded"),
        ("late", "supported"),
        ("late", "became reported"),
    ]
    assert ledger.audit("late").entries[0].detail.startswith("late by by")
    assert "at no time" in str(ledger.view(valid_at="2025-06-01").why("late"))


def test_an_id_that_is_not_known_is_refused(people: Ledger) -> None:
    for id, workspace in (("nobody", ""), ("home", "nowhere-but-shared"), ("", "")):
        if id == "home":
            assert people.audit(id, workspace=workspace).workspace == ""
            continue
        with pytest.raises(doxa.UnknownTarget, match="is not known"):
            people.audit(id, workspace=workspace)
    for wrong in (None, 5, ["home"]):
        with pytest.raises(doxa.CallerError):
            people.audit(wrong)  # type: ignore[arg-type]


def test_an_id_means_that_of_its_workspace_first(ledger: Ledger) -> None:
    ledger.claim("a", "p", "shared", id="one", source="s")
    ledger.claim("a", "p", "own", id="one", source="s", workspace="w")
    assert '"own"' in ledger.audit("one", workspace="w").entries[0].detail
    assert '"shared"' in ledger.audit("one").entries[0].detail
    ledger.append(
        [{"event": "policy", "id": "pw", "workspace": "w", "pinned": "one"},
         {"event": "policy", "id": "ps", "pinned": "one"}]
    )  # fmt: skip
    for workspace, policy in (("w", "pw"), ("", "ps")):
        entries = ledger.audit("one", workspace=workspace)
        assert [entry.event for entry in entries if entry.what == "pinned"] == [policy]


@pytest.mark.parametrize(
    "id", ['"quoted"', "back\\slash", "häuschen", "p", "single", "a b", "日本"]
)
def test_a_policy_is_found_whatever_the_id_and_not_by_its_other_words(
    ledger: Ledger, id: str
) -> None:
    ledger.claim("s", id, id, id=id, source=id)
    ledger.policy(single_valued=id, reason=id, id="other")
    ledger.pin(id, reason="always", id="pin")
    names = [entry.event for entry in ledger.audit(id) if entry.what in ("pinned", "single_valued")]
    assert names == ["pin"]


def test_the_command_prints_a_table_or_json(tmp_path: Any) -> None:
    folder = tmp_path / "a.doxa"
    with doxa.open(folder) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register", workspace="w")
        ledger.withdraw("home", reason="wrong", id="x", workspace="w")
        expected = ledger.audit("home", workspace="w")
    shown = CliRunner().invoke(app, ["audit", str(folder), "home", "--workspace", "w"])
    assert shown.exit_code == 0
    header, *lines = shown.stdout.splitlines()
    assert header.split() == ["recorded_at", "position", "event", "what", "detail"]
    assert len(lines) == len(expected)
    as_json = CliRunner().invoke(app, ["audit", str(folder), "home", "--workspace", "w", "--json"])
    assert json.loads(as_json.stdout) == expected.as_dict()
    missing = CliRunner().invoke(app, ["audit", str(folder), "home"])
    assert missing.exit_code == 2
    assert missing.stderr.startswith("doxa: unknown_target: ")


# ---------------------------------------------------------------- the slow twin


def lines_of(ledger: Ledger) -> list[Fields]:
    return [json.loads(line) for line in export_events(ledger)]


def names(event: Fields) -> set[tuple[str, str]]:
    """The workspaces and ids that a policy names, in whatever field."""

    own: str = event["workspace"]

    def inside(value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, str):
            yield own, value
        elif isinstance(value, dict) and "id" in value:
            place: str = value.get("workspace", own)
            yield place, value["id"]
        elif isinstance(value, list):
            for each in value:
                yield from inside(each)

    return {found for key, value in event.items() if key not in NO_IDS for found in inside(value)}


def source_of(event: Fields) -> str | None:
    source = event.get("source")
    return source["id"] if isinstance(source, dict) else source


def directly(lines: list[Fields], subject: Fields, id: str) -> set[tuple[str, str]]:
    """The events that bear on one by what they say, each with what it is to it: by reading all
    lines, over and over."""
    workspace = subject["workspace"]
    here = [line for line in lines if line["workspace"] == workspace]
    kind = "support" if id != subject["id"] else subject["event"]
    first = "registered" if kind in ("citation", "summary") else "recorded"
    found = {(subject["id"], first)}
    sources: set[str | None] = set()
    settled: set[str] = set()

    def taken_back(target: str, noun: str) -> None:
        level, depth = {target}, 0
        while level:
            took = {
                line["id"] for line in here
                if line["event"] == "withdrawal" and line.get("target") in level
            }  # fmt: skip
            found.update((each, noun + ("restored" if depth % 2 else "withdrawn")) for each in took)
            level, depth = took, depth + 1

    def other(line: Fields, what: str, noun: str, target: str | None = None) -> None:
        found.add((line["id"], what))
        taken_back(line["id"] if target is None else target, noun)

    for line in here:
        if kind == "claim" and line["event"] == "claim" and line["id"] == id:
            if line.get("source") is not None or line.get("because"):
                other(line, "supported", "support ", f"{id}/support")
                sources.add(source_of(line))
        elif kind == "claim" and line["event"] == "support" and line["claim"] == id:
            refutes = line.get("stance") == "refutes"
            other(line, "refuted" if refutes else "supported", "support ")
            sources.add(source_of(line))
        elif kind == "claim" and line["event"] == "correction":
            perhaps = id in (line.get("candidates") or ())
            dangling = line.get("unresolved") == id and not line.get("candidates")
            if line.get("corrects") == id or dangling or perhaps:
                other(line, "perhaps corrected" if perhaps else "corrected", "correction ")
                sources.add(source_of(line))
                settled.add(line["id"])
            if line.get("by") == id:
                other(line, "replaces", "correction ")
    if kind in ("support", "correction"):
        sources.add(source_of(subject))
    if kind == "correction":
        settled.add(id)
    if kind in ("citation", "summary"):
        sources.update(subject.get("sources") or ())
    for line in here:
        if line["event"] == "correction" and line.get("resolves") in settled:
            other(line, "name settled", "correction ")
    taken_back(id, "")
    for line in lines:
        whole = line["event"] == "withdrawal" and line.get("target") is None
        if whole and line["workspace"] in ("", workspace) and line["source"] in sources - {None}:
            found.add((line["id"], "source withdrawn"))
            chain_of_source(lines, line, found)
        if line["event"] == "policy" and (workspace, id) in names(line):
            found.add((line["id"], next(key for key in line if key not in NO_IDS)))
            chain(lines, line, "policy ", found)
    return found


def chain(
    lines: list[Fields], target: Fields, noun: str, found: set[tuple[str, str]], depth: int = 0
) -> None:
    for line in lines:
        same = line["workspace"] == target["workspace"]
        if same and line["event"] == "withdrawal" and line.get("target") == target["id"]:
            found.add((line["id"], noun + ("restored" if depth % 2 else "withdrawn")))
            chain(lines, line, noun, found, depth + 1)


def chain_of_source(lines: list[Fields], line: Fields, found: set[tuple[str, str]]) -> None:
    chain(lines, line, "source ", found, 1)


def consequence(entry: Entry) -> bool:
    states = ("counts", "counts no longer", "eligible", "invalidated")
    return entry.what.startswith("became ") or entry.what in states


def state(narrative: Narrative, at: Any, k: int, revision_of: Any) -> str | None:
    """What the narrative leaves one with at (at, k): the last thing that became of that instant."""
    found = None
    for entry in narrative:
        inside = (entry.valid_from is None or entry.valid_from <= at) and (
            entry.valid_to is None or at < entry.valid_to
        )
        if consequence(entry) and inside and revision_of(entry.position) <= k:
            found = entry.what
    return found


def differences(ledger: Ledger, random: Random) -> Iterator[str]:
    """Where narratives are not what all lines, and the views at all revisions, say."""
    lines = lines_of(ledger)
    head = ledger.view(valid_at=moment(INSTANTS[0]))
    graph = head.graph
    instants = random.sample(INSTANTS, 6)
    subjects = [(line, line["id"]) for line in lines]
    subjects += [
        (line, f"{line['id']}/support")
        for line in lines
        if line["event"] == "claim" and (line.get("source") or line.get("because"))
    ]
    for line, id in random.sample(subjects, min(len(subjects), 12)):
        workspace, kind = line["workspace"], line["event"]
        narrative = ledger.audit(id, workspace=workspace)
        if [e.position for e in narrative] != sorted(e.position for e in narrative):
            yield f"{id} in {workspace!r} is not told of in order"
        ours = {(entry.event, entry.what) for entry in narrative if not consequence(entry)}
        if ours != (theirs := directly(lines, line, id)):
            yield f"{id} in {workspace!r}: {sorted(ours - theirs)} but not {sorted(theirs - ours)}"
        own = graph.position_of(graph.find(workspace, id))
        for k in graph.commit_last:
            if k < own:
                continue
            for at in map(moment, instants):
                view = ledger.view(valid_at=at, known_at=k, workspace=workspace, shared=False)
                found = state(narrative, at, k, graph.commit_of)
                where = f"{id} in {workspace!r} at {at}, {k}: told {found}"
                if id == line["id"] and kind == "claim":
                    standing = view.standing(id)
                    expected = None if standing in OUTSIDE else f"became {standing}"
                    if found != expected and not (
                        expected is None and found == f"became {standing}"
                    ):
                        yield f"{where}, is {standing}"
                elif kind in ("citation", "summary"):
                    whole = ledger._stream.capture()[0].registry.is_whole(
                        graph.find(workspace, id) >> 3
                    )
                    if not whole:
                        eligible = ledger.judge_artefact(view, workspace, id).eligible
                        if (found == "eligible") != eligible:
                            yield f"{where}, is {eligible}"
                else:
                    counts = view.why(id).counts
                    if (found == "counts") != counts:
                        yield f"{where}, is {counts}"


@settings(max_examples=settings().max_examples)
@given(seed=st.integers(0, 2**48))
def test_every_narrative_of_a_random_history_is_what_all_views_say(seed: int) -> None:
    with walking(False) as walk:
        wander(Random(seed), walk, 14)
        found = next(differences(walk.ledger, Random(seed)), None)
        assert found is None, f"seed {seed}\n{walk}\n\nfirst difference: {found}"


def test_a_snapshot_of_a_workspace_is_told_of_at_its_own_instant(ledger: Ledger) -> None:
    ledger.claim("a", "p", 1, id="a", source="s")
    view = ledger.view(valid_at="2024-06-01")
    ledger.summarize("All of it.", binding="snapshot", view=view, id="n")
    ledger.claim("b", "p", 1, id="b", source="s")
    ledger.withdraw("b", id="w")
    assert told(ledger.audit("n")) == [
        ("n", "registered", '"All of it."'),
        ("n", "eligible", "at 2024-06-01"),
        ("b", "invalidated", "at 2024-06-01: snapshot_mismatch"),
        ("w", "eligible", "at 2024-06-01"),
    ]
