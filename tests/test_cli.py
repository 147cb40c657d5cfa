"""The doxa command: its twins in Python, its exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import doxa
from doxa.adapters.cli.app import app
from doxa.adapters.cli.output import table
from doxa.adapters.exchange import import_events
from doxa.engine.view import Captured
from doxa.ledger import Ledger
from doxa.views import TruthView
from tests.support import ROOT

# a group, though its type says a command
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]

# Public names of the ledger, and the command that is their twin; or, in brackets, why there is
# none.
LEDGER = {
    "claim": "claim",
    "support": "support",
    "withdraw": "withdraw",
    "correct": "correct",
    "cite": "cite",
    "summarize": "summarize",
    "policy": "policy",
    "pin": "policy",
    "verify_claim": "policy",
    "reject": "reject",
    "rejections": "rejections",
    "is_rejected": "is-rejected",
    "append": "append",
    "import_events": "import",
    "view": "view",
    "history": "history",
    "judge": "judge",
    "judge_artefact": "judge",
    "reconcile": "reconcile",
    "recall": "recall",
    "recall_batch": "recall",
    "index": "index",
    "calibrate": "calibrate",
    "calibration": "calibration",
    "calibration_drift": "calibration",
    "consolidate": "consolidate",
    "refresh": "refresh",
    "dream": "dream",
    "embedder": "recall",
    "assemble": "assemble",
    "assemble_fresh": "assemble",
    "replay": "replay",
    **{name: name for name in ("score", "expire", "decays", "archive", "restore", "usage")},
    **{name: name for name in ("decay", "prune", "maintain", "purge")},
    "sql": "sql",
    "export_parquet": "export",
    "verify": "verify",
    "head": "head",
    "audit": "audit",
    "backup": "backup",
    "stats": "stats",
    "compact": "prune",
    "destroy_key": "destroy-key",
    "encrypted": "stats",
    "revision": "stats",
    "workspace_revision": "stats",
    "path": "stats",
    "judge_candidates": "(assemble lists what it leaves out, with the reasons)",
    "moved": "(a view does not outlive its command)",
    "close": "(each command closes the ledger)",
    "clock": "(given when it is opened)",
    "recorder": "(for programs)",
}
VIEW = {
    "value": "value",
    "values": "values",
    "claims": "view",
    "claim": "view",
    "standing": "standing",
    "why": "why",
    "diff": "diff",
    "fingerprint": "view",
    "fingerprint_of": "(of use with a view at hand)",
    "entries": "(what a fingerprint is of)",
    "revision": "view",
    "valid_at": "view",
    "known_at": "view",
    "workspaces": "view",
    "supports": "why",
    "successors": "why",
    "sources": "sources",
    "ambiguous": "(unresolved names come with other adapters)",
    "to_arrow": "(tables for programs)",
    "to_pandas": "(tables for programs)",
    "to_polars": "(tables for programs)",
    "payload": "export",
}
INTERNAL = {"find", "in_sight", "rows", "held_values", "observed", "standing_in_sight"}
INTERNAL |= set(Captured.__slots__)  # what a view consists of
OTHERS = {
    "export",
    "set-aside",
    *("import-markdown", "lint", "fix", "check"),
    *("import-git", "import-graphrag", "import-lightrag", "import-graphiti"),
    "demo",
    "mcp",
    "plane",
    "keygen",
    "check-head",
    "recover",
}  # commands whose twins are no methods


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def ok(*args: object) -> str:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def answer(*args: object, code: int = 0) -> Any:
    """The JSON document of a command."""
    result = run(*args, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def failed(code: int, *args: object) -> str:
    """The one line that a command fails with."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("doxa: ")
    return line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The ledger of the example in the README."""
    folder = tmp_path / "people.doxa"
    ok(
        "claim",
        folder,
        "ada",
        "lives_in",
        "London",
        "--id",
        "home",
        "--valid-from",
        "2024-03-01",
        "--source",
        "city register",
    )
    ok(
        "claim",
        folder,
        "ada",
        "taxed_in",
        "UK",
        "--id",
        "tax",
        "--valid-from",
        "2024-03-01",
        "--because",
        "home",
    )
    ok("cite", folder, "Register, line 7", "--claim", "home", "--id", "line7")
    ok(
        "summarize",
        folder,
        "Ada lives in London.",
        "--facts",
        "home",
        "--citations",
        "line7",
        "--id",
        "note",
        "--recorded-at",
        "2100-01-01",
    )
    ok(
        "correct",
        folder,
        "home",
        "Lisbon",
        "--valid-from",
        "2024-06-01",
        "--id",
        "moved",
        "--source",
        '{"id":"letter","locator":"p. 2"}',
    )
    return folder


# ---------------------------------------------------------------- twins


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_every_call_of_the_ledger_has_a_command() -> None:
    with doxa.open() as ledger:
        names = {name for name in dir(ledger) if not name.startswith("_")}
    names -= {f"a{name}" for name in names}  # asynchronous twins
    assert names - set(LEDGER) == set(), "give each a command, or a reason why it has none"
    assert set(LEDGER) - names == set()


def test_every_answer_of_a_view_has_a_command() -> None:
    names = public(TruthView) - INTERNAL
    assert names - set(VIEW) == set(), "give each a command, or a reason why it has none"
    assert set(VIEW) - names == set()


def test_every_command_is_a_twin_and_every_twin_a_command() -> None:
    twins = {name for name in [*LEDGER.values(), *VIEW.values()] if not name.startswith("(")}
    assert set(COMMANDS) == twins | OTHERS


@pytest.mark.parametrize(
    ("name", "call"),
    [
        *((name, getattr(Ledger, name)) for name in LEDGER if LEDGER[name] == name),
        ("import", import_events),
        ("assemble", Ledger.assemble_fresh),
        ("recall", Ledger.recall_batch),
        *((name, getattr(TruthView, name)) for name in ("value", "values", "standing", "why")),
    ],
)
def test_a_command_takes_the_arguments_of_its_twin(name: str, call: Any) -> None:
    wanted = {
        parameter.name
        for parameter in inspect.signature(call).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    # A view is named by its coordinates, a ledger by its folder, lines by their file.
    # What is a function in Python is no option.
    wanted -= {"self", "view", "since", "ledger", "lines", "events", "progress", "last_used"}
    given = {parameter.name for parameter in COMMANDS[name].params}
    assert wanted - given == set()


def test_every_command_and_option_is_explained() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert set(re.findall(r"^### (\S+)$", page, re.MULTILINE)) == set(COMMANDS)
    for name, command in COMMANDS.items():
        assert command.help, name
        assert f"`doxa {name} " in page or f"`doxa {name}`" in page, name
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name}"
        help = run(name, "--help")
        assert help.exit_code == 0
        assert "Usage: doxa" in help.stdout


def test_every_option_that_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    options = {
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in [*parameter.opts, *parameter.secondary_opts]
    }
    named = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", page))
    assert named - options - {"--as-of", "--help", "--version", "--keys"} == {
        "--install-completion",
        "--show-completion",
    }


# ---------------------------------------------------------------- recording


def test_a_claim_prints_its_id_and_nothing_else(tmp_path: Path) -> None:
    result = run("claim", tmp_path / "new", "s", "p", "o", "--source", "x")
    assert re.fullmatch(r"claim-\w+\n", result.stdout)
    assert result.stderr == ""


@pytest.mark.parametrize("value", ["38", '"38"', "null", "[1.5,{}]", "true"])
def test_an_object_is_text_unless_it_is_given_as_json(tmp_path: Path, value: str) -> None:
    ok("claim", tmp_path / "l", "s", "text", value, "--source", "x")
    ok("claim", tmp_path / "l", "s", "json", "--object-json", value, "--source", "x")
    at = ("--valid-at", "now")
    assert answer("value", tmp_path / "l", "s", "text", *at) == value
    assert answer("value", tmp_path / "l", "s", "json", *at) == json.loads(value)


@pytest.mark.parametrize("value", ["{", "NaN", "1}, {", '1, "a": 2', '{"a":1,"a":2}', "1e999"])
def test_an_object_that_is_no_json_is_refused(tmp_path: Path, value: str) -> None:
    line = failed(2, "claim", tmp_path / "l", "s", "p", "--object-json", value)
    assert "--object-json" in line


def test_an_object_is_needed_once(tmp_path: Path) -> None:
    assert "needs an OBJECT" in failed(2, "claim", tmp_path / "l", "s", "p")
    both = failed(2, "claim", tmp_path / "l", "s", "p", "o", "--object-json", "1")
    assert "not both" in both


def test_a_refused_claim_makes_no_ledger_that_it_would_leave_behind(tmp_path: Path) -> None:
    failed(2, "claim", tmp_path / "l", "s", "p")
    assert not (tmp_path / "l").exists()


def test_what_begins_with_a_dash_comes_after_two(tmp_path: Path) -> None:
    ok("claim", tmp_path / "l", "--source", "x", "--", "s", "p", "-5")
    assert ok("value", tmp_path / "l", "s", "p", "--valid-at", "now") == "-5"


def test_a_bound_is_open_where_it_says_none(path: Path) -> None:
    ok("correct", path, "tax", "--valid-from", "none", "--valid-to", "2024-04-01", "--id", "k")
    (line,) = (json.loads(t) for t in ok("export", path).splitlines() if '"id":"k"' in t)
    assert (line["valid_from"], line["valid_to"]) == (None, "2024-04-01T00:00:00Z")
    ok("correct", path, "tax", "PT", "--valid-to", "none", "--id", "k2")
    assert answer("correct", path, "tax", "--id", "k3")["replacement"] is None


def test_sources_and_references_may_be_json(path: Path) -> None:
    ok(
        "claim",
        path,
        "x",
        "p",
        "1",
        "--workspace",
        "w",
        "--because",
        '{"workspace":"","id":"home"}',
        "--id",
        "c",
    )
    last = json.loads(ok("export", path).splitlines()[-1])
    assert last["because"] == [{"workspace": "", "id": "home"}]
    moved = next(t for t in ok("export", path).splitlines() if '"id":"moved"' in t)
    assert json.loads(moved)["source"] == {"id": "letter", "locator": "p. 2"}
    assert "is none" in failed(2, "claim", path, "x", "p", "1", "--source", '{"id"')


def test_a_support_may_refute(path: Path) -> None:
    ok("support", path, "tax", "--source", "rumour", "--stance", "refutes", "--id", "s1")
    assert ok("standing", path, "tax", "--valid-at", "2024-04-01") == "contested"
    assert "stance" in failed(2, "support", path, "tax", "--source", "x", "--stance", "denies")


def test_a_whole_source_is_withdrawn_and_given_back(path: Path) -> None:
    ok("withdraw", path, "letter", "--whole-source", "--reason", "forged", "--id", "w1")
    at = ("--valid-at", "2024-07-01")
    assert ok("value", path, "ada", "lives_in", *at) == "London"
    ok("withdraw", path, "w1", "--source", "ada")
    assert ok("value", path, "ada", "lives_in", *at) == "Lisbon"


def test_a_text_that_is_not_eligible_is_registered_and_stderr_says_so(path: Path) -> None:
    result = run("summarize", path, "Gone.", "--facts", "home", "--id", "n2")
    assert (result.exit_code, result.stdout) == (0, "n2\n")
    assert result.stderr == "registered, but not eligible now: n2: missing_fact home (superseded)\n"
    told = answer("summarize", path, "Gone too.", "--facts", "home")
    assert told["eligible"] is False


def test_a_snapshot_of_a_view_that_moved_is_refused_as_a_conflict(path: Path) -> None:
    asked = ("summarize", path, "Old.", "--facts", "tax", "--binding", "snapshot")
    line = failed(3, *asked, "--valid-at", "2024-04-01", "--known-at", 2)
    assert line.startswith("doxa: view_moved: ")
    ok("cite", path, "New.", "--claim", "tax", "--valid-at", "2024-04-01")
    alone = failed(2, "cite", path, "x", "--claim", "tax", "--known-at", "2")
    assert "--known-at alone is ambiguous" in alone


def test_policies_are_declared(path: Path) -> None:
    ok("policy", path, "--single-valued", "lives_in")
    ok("policy", path, "--contradicts", "home", "--contradicts", "tax")
    ok("policy", path, "--verified", "home", "--id", "p3")
    ok("policy", path, "--pinned", "home", "--id", "p4")
    ok("policy", path, "--calibrated", '{"embedder":"e","boundary":0.4}', "--id", "p5")
    assert "exactly one of" in failed(2, "policy", path)
    assert "--calibrated '{' is not JSON" in failed(2, "policy", path, "--calibrated", "{")
    said = [json.loads(line) for line in ok("export", path).splitlines()[-2:]]
    assert said[0]["pinned"] == "home"
    assert said[1]["calibrated"] == {"embedder": "e", "boundary": 0.4}


def test_phrases_at_which_a_claim_is_recalled_are_kept(path: Path) -> None:
    said = ("--recall-when", "moving house", "--recall-when", "Umzug")
    ok("claim", path, "ada", "moves", "soon", *said)
    last = json.loads(ok("export", path).splitlines()[-1])
    assert last["recall_when"] == ["moving house", "Umzug"]
    assert "empty phrase" in failed(2, "claim", path, "a", "p", "1", "--recall-when", " ")


def test_a_file_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    one = '{"event":"claim","id":"a","subject":"s","predicate":"p","object":1,"source":"x"}\n'
    file.write_text(one + one.replace('"a"', '"b"'))
    told = answer("append", tmp_path / "l", file, "--expected-revision", "0")
    assert (told["ids"], told["new"], told["revision"]) == (["a", "b"], 2, 2)
    file.write_text(one.replace('"a"', '"c"'))
    assert failed(3, "append", tmp_path / "l", file, "--expected-revision", "0").startswith(
        "doxa: revision_conflict: "
    )
    file.write_text(one.replace('"a"', '"c"') + "{\n")
    assert "line 2" in failed(2, "append", tmp_path / "l", file)
    assert answer("stats", tmp_path / "l")["revision"] == 2


# ---------------------------------------------------------------- exchange


GOOD = '{"event":"claim","id":"%s","subject":"s","predicate":"p","object":"\u202eé","source":"x"}\n'


def test_an_import_says_what_it_set_aside_and_the_code_does_too(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(GOOD % "a" + "{\n" + GOOD % "b", "utf-8")
    result = run("import", tmp_path / "l", file)
    assert result.exit_code == 1
    assert re.search(r"^2 +the line is not JSON", result.stdout, re.MULTILINE)
    assert result.stderr == "2 events in 1 commit, 0 repeated, 1 set aside\n"
    told = answer("import", tmp_path / "l", file, code=1)
    assert (told["events"], told["repeated"], told["set_aside"][0]["line"]) == (0, 2, 2)
    assert answer("set-aside", tmp_path / "l")[0]["text"] == "{"
    assert ok("set-aside", tmp_path / "l", "--text") == "{"
    assert re.search(r"in\.jsonl +2 ", ok("set-aside", tmp_path / "l"))


def test_an_import_reads_stdin(tmp_path: Path) -> None:
    result = run("import", tmp_path / "l", "-", stdin=GOOD % "a")
    assert result.exit_code == 0
    assert answer("stats", tmp_path / "l")["revision"] == 1


def test_a_strict_import_is_refused_as_the_callers_mistake(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(GOOD % "a" + "{\n", "utf-8")
    assert "line 2" in failed(2, "import", tmp_path / "l", file, "--strict")
    assert answer("stats", tmp_path / "l")["revision"] == 0
    assert "no file" in failed(2, "import", tmp_path / "new", tmp_path / "nowhere")
    assert not (tmp_path / "new").exists()


def test_what_is_exported_is_what_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(GOOD % "a" + GOOD.replace("}", ',"workspace":"w"}') % "b", "utf-8")
    ok("import", tmp_path / "l", file)
    (tmp_path / "out.jsonl").write_text(run("export", tmp_path / "l").stdout, "utf-8")
    ok("import", tmp_path / "m", tmp_path / "out.jsonl", "--strict")
    assert run("export", tmp_path / "m").stdout == run("export", tmp_path / "l").stdout
    assert ok("export", tmp_path / "l", "--workspace", "w").count("\n") == 0


def test_an_export_is_paged_by_position(path: Path) -> None:
    whole, cursor, pages = ok("export", path).splitlines(), 0, []
    while (page := answer("export", path, "--since", cursor, "--limit", 2))["events"]:
        pages += page["events"]
        cursor = page["cursor"]
    assert [json.loads(line) for line in whole] == pages
    result = run("export", path, "--limit", 2)
    assert result.stderr == "2 events; go on with --since 2\n"
    assert "cursor" in failed(2, "export", path, "--since", -1)


# ---------------------------------------------------------------- reading


def test_a_value_is_printed_bare_and_as_json_on_request(path: Path) -> None:
    at = ("--valid-at", "2024-07-01")
    assert run("value", path, "ada", "lives_in", *at).stdout == "Lisbon\n"
    assert run("value", path, "ada", "lives_in", *at, "--json").stdout == '"Lisbon"\n'
    assert ok("value", path, "ada", "lives_in", *at, "--known-at", "2") == "London"


def test_no_value_or_no_one_value_is_a_no(path: Path) -> None:
    at = ("--valid-at", "2024-07-01")
    line = failed(1, "value", path, "bob", "lives_in", *at)
    assert line.startswith("doxa: not_held: ")
    ok(
        "claim",
        path,
        "ada",
        "lives_in",
        "Porto",
        "--source",
        "friend",
        "--valid-from",
        "2024-06-01",
    )
    assert failed(1, "value", path, "ada", "lives_in", *at).startswith("doxa: several_held: ")
    ok("policy", path, "--single-valued", "lives_in")
    assert failed(1, "value", path, "ada", "lives_in", *at).startswith("doxa: contested: ")
    assert ok("values", path, "ada", "lives_in", *at).splitlines() == ["Lisbon", "Porto"]
    assert answer("values", path, "ada", "lives_in", *at) == ["Lisbon", "Porto"]
    assert run("values", path, "bob", "lives_in", *at).exit_code == 1


def test_a_view_is_one_document_with_its_coordinates(path: Path) -> None:
    told = answer("view", path, "--valid-at", "2024-04-01", "--known-at", 2)
    assert {claim["id"] for claim in told["claims"]} == {"home", "tax"}
    assert (told["revision"], told["live"], told["valid_at"]) == (2, False, "2024-04-01T00:00:00Z")
    assert len(told["fingerprint"]) == 32
    assert told["claims"][0]["valid_to"] is None
    some = answer(
        "view",
        path,
        "--valid-at",
        "2024-07-01",
        "--standing",
        "superseded",
        "--standing",
        "unsupported",
    )
    assert [claim["id"] for claim in some["claims"]] == ["home", "tax"]
    assert len(answer("view", path, "--valid-at", "now", "--standing", "any")["claims"]) == 3
    only = answer("view", path, "--valid-at", "now", "--subject", "ada", "--predicate", "taxed_in")
    assert only["claims"] == []


def test_a_table_is_never_cut_off_where_there_is_no_terminal(tmp_path: Path) -> None:
    ok("claim", tmp_path / "l", "s", "p", "long " * 200, "--source", "x")
    lines = ok("view", tmp_path / "l", "--valid-at", "now").splitlines()
    assert len(lines) == 2
    assert "long " * 199 in lines[1]
    assert lines[0].split()[:2] == ["id", "subject"]


def test_marks_that_steer_a_terminal_are_written_out_in_tables_and_json(tmp_path: Path) -> None:
    ok("claim", tmp_path / "l", "s", "p", "a\x1b[31m\u202eb\nc", "--source", "x")
    assert r"a\u001b[31m\u202eb\nc" in ok("view", tmp_path / "l", "--valid-at", "now")
    shown = run("value", tmp_path / "l", "s", "p", "--valid-at", "now", "--json").stdout
    assert shown == '"a\\u001b[31m\\u202eb\\nc"\n'
    assert json.loads(shown) == "a\x1b[31m\u202eb\nc"


def test_the_history_of_a_belief(path: Path) -> None:
    told = answer("history", path, "ada", "lives_in", "--valid-at", "2024-07-01")
    assert [item["values"] for item in told] == [["London"], ["Lisbon"]]
    assert ok("history", path, "ada", "lives_in", "--valid-at", "2024-07-01").count("\n") == 2


def test_the_standing_of_a_claim_in_one_word(path: Path) -> None:
    assert ok("standing", path, "tax", "--valid-at", "2024-07-01") == "unsupported"
    assert answer("standing", path, "nobody", "--valid-at", "2024-07-01") == "not_yet_known"
    assert "is a" in failed(2, "standing", path, "note", "--valid-at", "2024-07-01")


def test_why_is_a_tree_for_people_and_data_for_programs(path: Path) -> None:
    assert "home" in ok("why", path, "tax", "--valid-at", "2024-07-01")
    assert answer("why", path, "tax", "--valid-at", "2024-07-01")["id"] == "tax"


def test_a_difference_is_told_by_the_code(path: Path) -> None:
    told = answer("diff", path, "--valid-at", "2024-07-01", "--other-known-at", 2, code=1)
    assert [(c["id"], c["before"], c["after"]) for c in told[:2]] == [
        ("home", "reported", "superseded"),
        ("tax", "reported", "unsupported"),
    ]
    assert answer("diff", path, "--valid-at", "2024-07-01") == []
    across = answer(
        "diff", path, "--valid-at", "2024-07-01", "--other-valid-at", "2024-04-01", "--known-at", 2
    )
    assert across == []


def test_judging_says_no_by_its_code(path: Path) -> None:
    told = answer("judge", path, "tax", "note", "--valid-at", "2024-07-01", code=1)
    assert [one["reason"] for one in told] == ["missing_fact", "missing_fact"]
    assert answer("judge", path, "home", "--valid-at", "2024-04-01")[0]["eligible"] is True


def test_a_reconciliation_names_reason_and_cause(path: Path) -> None:
    told = answer("reconcile", path, "--valid-at", "2024-07-01", code=1)
    (gone,) = told["invalidated"]
    assert (gone["id"], gone["reason"], gone["cause"]["event"]) == ("note", "missing_fact", "moved")
    assert told["unchanged"] == 1
    told = answer("reconcile", path, "--valid-at", "2024-04-01", "--unchanged")
    assert {one["id"] for one in told["unchanged"]} <= {"line7", "note"}
    since = ("--since-valid-at", "2024-04-01")
    told = answer("reconcile", path, "--valid-at", "2024-07-01", *since, code=1)
    assert told["invalidated"][0]["cause"]["instant"] == "2024-06-01T00:00:00Z"


def test_an_assembly_is_printed_and_replayed_from_its_receipt(path: Path, tmp_path: Path) -> None:
    receipt, found = tmp_path / "r.json", tmp_path / "found.jsonl"
    found.write_text(
        '{"id":"k1","text":"Ada lives in London.","facts":["home"],"score":0.9}\n'
        '{"id":"k2","text":"Ada is taxed in the UK.","facts":["nobody"]}\n'
    )
    asked = (
        "assemble",
        path,
        "Where?",
        "--valid-at",
        "2024-04-01",
        "--known-at",
        2,
        "--budget",
        400,
    )
    result = run(*asked, "--candidates", found, "--receipt", receipt)
    assert result.exit_code == 0
    assert "Ada lives in London." in result.stdout
    assert "left out: k2: missing_fact" in result.stderr
    again = run("replay", path, receipt)
    assert (again.exit_code, again.stdout) == (0, result.stdout)
    assert answer("replay", path, receipt)["same"] is True
    assert answer(*asked, "--candidates", found)["text"] == result.stdout.removesuffix("\n")
    changed = json.loads(receipt.read_text()) | {}
    changed["digests"] = {name: "0" * 64 for name in changed["digests"]}
    receipt.write_text(json.dumps(changed))
    assert run("replay", path, receipt).exit_code in (1, 2)


def test_a_counter_is_named_by_module_and_function(path: Path) -> None:
    asked = ("assemble", path, "Ada?", "--valid-at", "2024-04-01", "--budget", 400, "--count")
    assert run(*asked, "builtins:len").exit_code == 0
    assert "names no function" in failed(2, *asked, "builtins:nothing")
    assert "names no function" in failed(2, *asked, "no_such_module:len")
    assert "not a function" in failed(2, *asked, "sys:path")


def test_attempts_are_for_the_newest_knowledge(path: Path) -> None:
    asked = (
        "assemble",
        path,
        "Ada?",
        "--valid-at",
        "2024-04-01",
        "--budget",
        400,
        "--attempts",
        3,
    )
    assert run(*asked).exit_code == 0
    assert "--attempts" in failed(2, *asked, "--known-at", 2)


# ---------------------------------------------------------------- the ledger itself


def test_a_sound_ledger_verifies(path: Path) -> None:
    told = answer("verify", path)
    assert told["ok"] is True
    assert told["compared"] > 0
    assert answer("verify", path, "--no-oracle")["compared"] == 0


def test_a_log_whose_end_was_cut_off_is_damage(tmp_path: Path) -> None:
    import sqlite3

    folder = tmp_path / "l"
    with doxa.open(folder) as ledger:
        for n in range(10):
            ledger.claim("s", "p", n, source="x")
    with sqlite3.connect(folder / "log.sqlite") as log:
        log.execute("DELETE FROM log WHERE position > 7")
    log.close()
    told = answer("verify", folder, code=4)
    assert told["ok"] is False
    assert any("7" in problem["message"] for problem in told["problems"])
    assert failed(4, "view", folder, "--valid-at", "now").startswith("doxa: damage: ")


def test_figures_about_a_ledger(path: Path) -> None:
    told = answer("stats", path)
    assert told["revision"] == 6
    assert re.search(r"^workspaces \(shared\) +6$", ok("stats", path), re.MULTILINE)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["viw"], 2, "usage: No such command 'viw'. Did you mean 'view'"),
        (["view"], 2, "usage: Missing"),
        (["view", "PATH"], 2, "usage: Missing option '--valid-at'"),
        (["view", "PATH", "--valid-at", "now", "--nonsense"], 2, "usage: No such option"),
        (["view", "PATH", "--as-of", "2024-01-01"], 2, "--as-of is refused: say --valid-at"),
        (["value", "PATH", "s", "p", "--as-of", "now", "--valid-at", "now"], 2, "is refused"),
        (["view", "PATH", "--valid-at", "2024-01-01T00:00:00"], 2, "invalid_time: "),
        (["view", "PATH", "--valid-at", "yesterday"], 2, "invalid_time: "),
        (["view", "PATH", "--valid-at", "now", "--known-at", "99"], 2, "caller: "),
        (["view", "PATH", "--valid-at", "now", "--known-at", "2999-01-01"], 2, "invalid_time: "),
        (["view", "PATH", "--valid-at", "now", "--standing", "maybe"], 2, "maybe"),
        (["view", "NOWHERE", "--valid-at", "now"], 2, "not_a_ledger: there is no ledger"),
        (["export", "NOWHERE"], 2, "not_a_ledger: "),
        (["verify", "NOWHERE"], 2, "not_a_ledger: "),
        (["stats", "postgresql://x"], 2, "postgresql://"),
        (["claim", "PATH", "ada", "lives_in", "Rome", "--id", "home"], 3, "duplicate_id: "),
        (["withdraw", "PATH", "nobody"], 2, "unknown_target: "),
        (["--nonsense"], 2, "usage: "),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_a_code(
    path: Path, args: list[str], code: int, told: str
) -> None:
    places = {"PATH": str(path), "NOWHERE": str(path.parent / "nowhere")}
    given = [places.get(arg, arg) for arg in args]
    assert told in failed(code, *given)
    result = run(*given, "--json")
    assert result.exit_code == code
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert (error["exit"], set(error)) == (code, {"code", "message", "exit"})
    assert not (path.parent / "nowhere").exists()


def test_a_mistake_of_doxa_itself_shows_where_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(ledger: Ledger) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(Ledger, "stats", broken)
    result = run("stats", path)
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("doxa: unexpected: ")


def test_a_disk_that_refuses_is_no_callers_mistake(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(ledger: Ledger) -> None:
        raise doxa.StorageError("the disk is full")

    monkeypatch.setattr(Ledger, "stats", full)
    assert failed(4, "stats", path) == "doxa: storage: the disk is full"


def test_an_interruption_is_told_by_its_code(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(ledger: Ledger) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "stats", stopped)
    assert run("stats", path).exit_code == 130


def test_an_interrupted_import_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(ledger: Ledger, lines: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "import_events", stopped)
    told = run("import", tmp_path / "l", "-", stdin="")
    assert (told.exit_code, told.stdout) == (130, "")
    assert "run the same import again" in told.stderr


def test_the_version_and_the_help(path: Path) -> None:
    assert ok("--version") == f"doxa {doxa.__version__}"
    listed = re.findall(r"(?m)^  ([a-z][\w-]*)  ", ok("--help").partition("Record:")[2])
    assert sorted(listed) == sorted(COMMANDS)
    nothing = run()
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "Usage: doxa" in nothing.stderr


# ---------------------------------------------------------------- as a process


def doxa_command(*args: object, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "doxa", *map(str, args)],
        capture_output=True,
        text=True,
        env=environment,
        **more,
    )


def test_the_process_keeps_its_streams_apart_and_exits_with_its_code(path: Path) -> None:
    ran = doxa_command("value", path, "ada", "lives_in", "--valid-at", "2024-07-01")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Lisbon\n", "")
    ran = doxa_command("diff", path, "--valid-at", "2024-07-01", "--other-known-at", 2, "--json")
    assert (ran.returncode, ran.stderr) == (1, "")
    ran = doxa_command("view", path)
    assert (ran.returncode, ran.stdout) == (2, "")
    ran = doxa_command("import", path, "-", input="{\n")
    assert ran.returncode == 1


def test_output_is_utf8_whatever_the_terminals_language(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        ledger.claim("s", "p", "漢é", source="x")
    ran = subprocess.run(
        [sys.executable, "-m", "doxa", "value", str(tmp_path / "l"), "s", "p", "--valid-at", "now"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert ran.stdout == "漢é\n".encode()


def test_a_reader_that_goes_away_is_no_mistake(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        ledger.import_events(
            {"event": "claim", "id": f"c{n}", "subject": "s", "predicate": "p", "object": "x" * 99}
            for n in range(5_000)
        )
    with subprocess.Popen(
        [sys.executable, "-m", "doxa", "export", str(tmp_path / "l")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as exporting:
        assert exporting.stdout is not None
        assert exporting.stderr is not None
        exporting.stdout.readline()
        exporting.stdout.close()
        assert exporting.stderr.read() == b""
    assert exporting.returncode == 141


def test_on_a_terminal_values_can_not_steer_it(tmp_path: Path) -> None:
    import pty

    with doxa.open(tmp_path / "l") as ledger:
        ledger.claim("s", "p", "a\x1b[31m\u202eb", source="x")
    for command in (["value", "L", "s", "p"], ["view", "L"]):
        args = [str(tmp_path / "l") if arg == "L" else arg for arg in command]
        ours, theirs = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "doxa", *args, "--valid-at", "now"],
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTHONUTF8": "1"},
            check=True,
        )
        os.close(theirs)
        shown = os.read(ours, 65536)
        os.close(ours)
        assert rb"a\u001b[31m\u202eb" in shown
        assert "\u202e".encode() not in shown


def test_a_table_on_a_narrow_terminal_is_folded_and_not_cut_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("doxa.adapters.cli.output._terminal", lambda file: True)
    table(("id", "valid_from"), [("summary-e1a1b7c3bfed4ac08902", "2024-03-01T00:00:00Z")])
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert "".join(row[1].strip() for row in rows) == "summary-e1a1b7c3bfed4ac08902"
    assert "".join(row[2].strip() for row in rows) == "2024-03-01T00:00:00Z"


@pytest.mark.parametrize(
    "words",
    [
        ("withdraw", "a"),
        ("support", "a", "--source", "s"),
        ("correct", "a"),
        ("cite", "text", "--claim", "a"),
        ("summarize", "text", "--facts", "a"),
    ],
)
def test_what_can_only_follow_a_claim_makes_no_ledger(tmp_path: Path, words: Any) -> None:
    path = tmp_path / "mistyped.doxa"
    done = run(words[0], path, *words[1:])
    assert done.exit_code == 2
    assert "there is no ledger" in done.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("claim", "ada", "lives_in", "London", "--valid-from", "yesterday"),
        ("claim", "ada", "lives_in", "London", "--because", "nobody"),
        ("policy", "--verified", "nobody"),
        ("policy", "--pinned", "nobody"),
        ("policy",),
    ],
)
def test_what_is_refused_makes_no_ledger(tmp_path: Path, words: Any) -> None:
    path = tmp_path / "mistyped.doxa"
    assert run(words[0], path, *words[1:]).exit_code == 2
    assert not path.exists()


def test_a_refused_append_makes_no_ledger(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"event":"withdrawal","id":"w","target":"nobody"}\n')
    assert run("append", tmp_path / "mistyped.doxa", file).exit_code == 2
    assert not (tmp_path / "mistyped.doxa").exists()
