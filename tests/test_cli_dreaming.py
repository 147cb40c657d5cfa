"""The dream command: what it shows, how it ends, and what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa.engine.insight import keyed
from tests import model_server as told
from tests.model_server import answering, insight, serving
from tests.test_cli import answer, failed, ok, run

KEY = "sk-none-but-the-server-sees-this"
ID = keyed("insight", ["home", "work"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "people.doxa"
    with doxa.open(folder) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
        ledger.claim("ada", "works_at", "the mill", id="work", source="letter")
    return folder


def test_what_was_recorded_is_shown_and_a_second_run_records_nothing(path: Path) -> None:
    with serving(insight()) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        first = run("dream", path, *asked)
        second = run("dream", path, *asked)
        assert len(server.requests) == 1
    assert first.exit_code == second.exit_code == 0
    head, row = first.stdout.splitlines()
    assert head.split() == ["insight", "cites", "text"]
    assert row.split(maxsplit=1) == [ID, "home, work  They go together."]
    assert first.stderr == "1 call, 1 insight, 0 there before\n"
    assert (second.stdout, second.stderr) == ("", "no calls, no insights, 1 there before\n")


def test_a_dry_run_says_how_much_would_be_sent(path: Path) -> None:
    before = ok("stats", path, "--json")
    result = run("dream", path, "--dry-run", "--idle", 0)
    head, row = result.stdout.splitlines()
    assert head.split() == ["insight", "shown", "bytes", "tokens"]
    assert row.startswith(f"{ID}  home, work  ")
    assert result.exit_code == 0
    planned = answer("dream", path, "--dry-run", "--idle", 0)["planned"]
    assert [each["id"] for each in planned] == [ID]
    assert ok("stats", path, "--json") == before


def test_a_refusal_is_told_of_and_ends_in_no(path: Path) -> None:
    with serving(answering("Withdraw everything.\x1b[2J")) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        result = run("dream", path, *asked)
        refused = answer("dream", path, *asked, code=1)["refused"]
        skipped = run("dream", path, *asked, "--skip", ID)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"refused: {ID}: not_json: the answer is not JSON")
    assert [each["reason"] for each in refused] == ["not_json"]
    assert skipped.exit_code == 0


def test_an_endpoint_that_fails_again_and_again_is_told_of(path: Path) -> None:
    with doxa.open(path) as ledger:
        for number in range(3):
            for what in ("roof", "door"):
                ledger.claim(f"s{number}", "has", what, source="register")
    with serving(told.raw(b"", 403)) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        result = run("dream", path, *asked)
    assert result.exit_code == 1
    assert "stopped: the endpoint gave no answer" in result.stderr
    assert "3 calls, no insights, 0 there before, 1 group left" in result.stderr


def test_the_key_comes_from_the_environment_and_is_not_shown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_ENDPOINT_KEY", KEY)
    with serving(told.raw(b"", 401), insight()) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        results = [run("dream", path, *asked), run("dream", path, *asked, "--json")]
    assert [r.headers["authorization"] for r in server.requests] == [f"Bearer {KEY}"] * 2
    for result in results:
        assert KEY not in result.output
    away = failed(2, "dream", path, "--endpoint", "http://models.example/v1", "--model", "small")
    assert "use https" in away
    assert KEY not in away


def test_settings_and_schema_go_into_the_request(path: Path) -> None:
    with serving(insight()) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        run("dream", path, *asked, "--settings", '{"seed":7}', "--no-schema")
    sent = server.requests[0].json
    assert sorted(sent) == ["messages", "model", "seed", "stream"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give endpoint"),
        (("--endpoint", "http://127.0.0.1:1/v1"), "--endpoint needs --model"),
        (("--model", "small"), "--model goes with --endpoint"),
        (("--endpoint", "nowhere", "--model", "small"), "give the base"),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--settings", "{"), "--settings"),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--settings", "[]"), "settings"),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--timeout", "0"), "timeout"),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--mechanical"), "asks no model"),
        (("--dry-run", "--limit", "0"), "limit"),
        (("--dry-run", "--idle", "-1"), "idle"),
    ],
)
def test_what_can_not_be_asked_is_the_callers_mistake(
    path: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in failed(2, "dream", path, *options)


def test_contradictions_are_told_of(path: Path) -> None:
    with doxa.open(path) as ledger:
        ledger.claim("bob", "likes", "tea", id="yes", source="a")
        ledger.claim("bob", "does_not_like", "tea", id="no", source="a")
    told_of = run("dream", path, "--dry-run", "--idle", 0).stderr
    assert "not shown: yes, no: they contradict each other, would be declared as contra" in told_of
    with serving(insight()) as server:
        asked = ("--endpoint", server.url, "--model", "small", "--idle", 0)
        assert "contradict each other, declared as contra" in run("dream", path, *asked).stderr
        assert "not shown: yes, no: contested\n" in run("dream", path, *asked).stderr


def test_the_mechanical_pass_needs_no_endpoint(path: Path) -> None:
    with doxa.open(path) as ledger:
        ledger.claim("ada", "lives_in", "London", id="again", source="letter")
    before = ok("stats", path, "--json")
    dry = run("dream", path, "--mechanical", "--dry-run")
    head, row = dry.stdout.splitlines()
    assert head.split() == ["step", "subject", "predicate", "claims", "origins", "id"]
    assert row.split()[:5] == ["observed", "ada", "lives_in", "home,", "again"]
    assert dry.stderr == "1 cluster, nothing written\n"
    assert ok("stats", path, "--json") == before
    done = answer("dream", path, "--mechanical")
    (cluster,) = done["consolidation"]["clusters"]
    assert cluster["evidence"] == ["home", "again"]
    assert run("dream", path, "--mechanical").stderr == "no clusters\n"
