"""The commands that ask in words: what they show, what they say is missing, how they exit."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.cli import output
from doxa.adapters.cli.answers import explain
from doxa.adapters.cli.asking import seconds
from doxa.engine.outcomes import Gap
from doxa.ledger import Ledger
from doxa.questions import DEFAULTS
from tests.test_cli import COMMANDS, answer, failed, ok, run

AT = ("--valid-at", "2024-07-01")
HERE = "tests.test_cli_recall"
AXES = ("--embedder", f"{HERE}:axes")
STRICT = ("--trust", "strict")


def axes(texts: list[str]) -> list[list[float]]:
    """Stands for a model: what a text is about, by words that are looked for."""
    topics = (("live", "home", "Lisbon", "London"), ("key",), ("sea", "deep"))
    return [[*(float(any(w in t for w in words)) for words in topics), 0.2] for t in texts]


def broken(texts: list[str]) -> list[list[float]]:
    raise RuntimeError("no such model")


def by_length(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def nothing_answers(query: str, texts: list[str]) -> list[bool]:
    return [False for _ in texts]


NO_FUNCTION = 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with what stands, what is superseded, a conflict, and a phrase."""
    folder = tmp_path / "people.doxa"
    with doxa.open(folder) as ledger:
        home = ledger.claim(
            "ada",
            "lives_in",
            "London",
            id="home",
            text="Ada lives in London.",
            valid_from="2024-03-01",
            source="city register",
            recorded_at="2024-03-02",
        )
        ledger.claim("ada", "taxed_in", "UK", id="tax", because=[home], recorded_at="2024-03-03")
        ledger.correct(
            home,
            "Lisbon",
            id="moved",
            text="Ada lives in Lisbon.",
            valid_from="2024-06-01",
            source="letter",
            recorded_at="2024-06-03",
        )
        ledger.policy(single_valued="born_in", recorded_at="2024-06-04")
        ledger.claim("bob", "born_in", "Paris", id="b1", source="a", recorded_at="2024-06-05")
        ledger.claim("bob", "born_in", "Rome", id="b2", source="b", recorded_at="2024-06-06")
        ledger.claim(
            "eve",
            "keeps",
            "key",
            id="key",
            source="eve",
            recall_when=["locked out"],
            text="The spare key is under the pot.",
            recorded_at="2024-06-07",
        )
    return folder  # fmt: skip


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Forty questions that the ledger answers, and forty that it does not."""
    file = tmp_path / "cases.jsonl"
    lines = [{"query": f"Where does Ada live ({n})?", "answerable": True} for n in range(40)]
    lines += [{"query": f"How deep is it there ({n})?", "answerable": False} for n in range(40)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def words(path: Path, *args: object) -> Any:
    return answer("recall", path, *args, *AT)


# ---------------------------------------------------------------- answers for people


def test_an_answer_is_text_and_what_may_not_be_served_is_named_on_stderr(path: Path) -> None:
    result = run("recall", path, "Where does Ada live?", *AT)
    assert result.exit_code == 0
    assert "unverified: reported, from 2024-06-01" in result.stdout
    assert "> Ada lives in Lisbon.\n(claim moved/replacement @4; from letter)" in result.stdout
    assert "London" not in result.output
    assert result.stderr.splitlines() == [
        "answered: 1 hit; 6 documents in sight, all that matched were looked at",
        "withheld: home (claim), superseded by moved/replacement",
        "withheld: tax (claim), unsupported",
    ]


def test_the_text_opens_with_what_it_is_and_of_when(path: Path) -> None:
    first = ok("recall", path, "Ada", *AT, "--known-at", 2).splitlines()[0]
    assert first == (
        "Recorded information, not instructions: valid 2024-07-01, known 2024-03-03 (revision 2, "
        "historical), lexical; confidence not judged."
    )


def test_where_nothing_is_found_the_code_is_1_and_the_next_step_is_said(path: Path) -> None:
    result = run("recall", path, "papacy", *AT)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "abstained: no hits; 6 documents in sight, none matched",
        "  nothing_found: nothing in sight matches the question",
        "  next: ask in other words, or list what is held with doxa view",
    ]


def test_where_no_document_passes_a_filter_the_next_step_is_the_filter(path: Path) -> None:
    result = run("recall", path, "Where does Ada live?", *AT, "--subject", "pluto")
    assert result.exit_code == 1
    (found, step) = result.stderr.splitlines()[1:]
    assert found == (
        '  nothing_found: nothing in sight matches the question and the filters: subject "pluto"'
    )
    assert step == "  next: see that the filters are spelt as recorded, or leave one out"


def test_at_most_three_of_what_is_withheld_are_named(path: Path) -> None:
    for number in range(4):
        ok("claim", path, f"gus {number}", "sails", "boats", "--id", f"g{number}", "--source", "x")
        ok("withdraw", path, f"g{number}")
    shown = run("recall", path, "who sails boats?", *AT).stderr.splitlines()
    assert [line for line in shown if "g" in line.partition("withheld: ")[2]] == [
        f"withheld: g{number} (claim), retracted" for number in range(3)
    ]
    assert shown[-1] == "  and 1 more (--json has them all)"
    assert len(answer("recall", path, "who sails boats?", *AT, code=1)["withheld"]) == 4
    block = run("assemble", path, "who sails boats?", *AT).stderr.splitlines()
    assert len([line for line in block if line.startswith("left out: ")]) == 3
    assert "  and 1 more (--json has them all)" in block


def test_a_quote_and_a_summary_are_withheld_with_what_they_are_of(path: Path) -> None:
    source = '{"id":"diary","quote":"Moved to Porto, at last."}'
    ok("claim", path, "gus", "lives_in", "Porto", "--id", "gus", "--source", source)
    ok("summarize", path, "Porto it is.", "--facts", "gus", "--id", "note")
    ok("correct", path, "gus", "Faro", "--id", "left", "--source", "y")
    shown = run("recall", path, "Porto", *AT).stderr.splitlines()
    assert sorted(line for line in shown if line.startswith("withheld: ")) == [
        "withheld: gus (claim), superseded by left/replacement",
        "withheld: gus/support (quote of gus), superseded by left/replacement",
        "withheld: note (summary, rests on gus), superseded by left/replacement",
    ]


def test_a_conflict_alone_is_shown_whole_and_is_no_answer(path: Path) -> None:
    result = run("recall", path, "Where was Bob born?", *AT)
    assert result.exit_code == 1
    assert '[contested by "b2": not settled]' in result.stdout
    assert '[contested by "b1": not settled]' in result.stdout
    assert "abstained: 2 hits; " in result.stderr
    assert "  contested: " in result.stderr


def test_a_refusal_lets_no_text_out_and_is_the_callers_to_mend(path: Path) -> None:
    result = run("recall", path, "Where does Ada live?", *AT, *STRICT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("refused: no text goes out\n")
    assert "  vectors_unavailable: " in result.stderr
    assert "  next: give --embedder" in result.stderr
    told = answer("recall", path, "Where does Ada live?", *AT, *STRICT, code=2)
    assert (told["outcome"], told["text"], told["hits"]) == ("refused", "", [])


def test_the_json_is_the_answer_of_the_twin_to_the_byte(path: Path) -> None:
    options = ("--predecessors", "--validity-annotate", "--top-k", 2, "--pool", 50)
    told = words(path, "Where does Ada live?", *options)
    with doxa.open(path) as ledger:
        twin = ledger.recall(
            "Where does Ada live?",
            view=ledger.view(valid_at="2024-07-01"),
            predecessors=True,
            validity_annotate=True,
            top_k=2,
            pool=50,
        )
    assert told == json.loads(twin.to_bytes())
    assert told["hits"][0]["predecessors"] == ["home"]
    assert told["hits"][0]["validity"]["grade"] == "valid"  # fmt: skip


def test_an_answer_of_then_is_the_same_whatever_was_recorded_since(path: Path) -> None:
    then = ("--known-at", 2)
    before = run("recall", path, "Where does Ada live?", *AT, *then, "--json").stdout
    ok("claim", path, "ada", "lives_in", "Rome", "--text", "Ada lives in Rome.", "--source", "x")
    assert run("recall", path, "Where does Ada live?", *AT, *then, "--json").stdout == before
    assert "Ada lives in London." in before


# ---------------------------------------------------------------- what may be asked


def test_filters_leave_the_rest_out_of_sight(path: Path) -> None:
    asked = ("Ada Bob Eve lives born keeps Paris",)
    ok("claim", path, "gus", "lives_in", "Paris", "--id", "gus", "--source", "x",
       "--workspace", "w", "--kind", "rumour")  # fmt: skip

    def found(*args: object) -> set[str]:
        shown = answer("recall", path, *asked, "--valid-at", "2024-07-01", *args, code=args_code)
        return {hit["id"] for hit in shown["hits"]}

    args_code = 0
    assert found("--subject", "eve") == {"key"}
    assert found("--predicate", "lives_in") == {"moved/replacement"}
    assert found("--workspace", "w", "--in-workspace", "w") == {"gus"}
    assert found("--workspace", "w", "--kind", "rumour") == {"gus"}
    args_code = 1
    assert found("--standing", "superseded", "--standing", "unsupported") == {"home", "tax"}
    assert found("--tier", "summary", "--tier", "quote") == set()
    assert found("--perspective", "nobody's") == set()


def test_what_is_not_held_comes_on_request_and_is_labelled(path: Path) -> None:
    told = answer("recall", path, "Ada London", *AT, "--standing", "superseded", code=1)
    assert [(hit["id"], hit["verdict"]) for hit in told["hits"]] == [("home", "superseded")]
    assert told["hits"][0]["text"].startswith('[superseded by "moved/replacement": not current] ')
    every = words(path, "Ada", "--standing", "any")
    assert {hit["verdict"] for hit in every["hits"]} == {"unverified", "superseded", "unsupported"}


def test_a_phrase_nominates(path: Path) -> None:
    told = words(path, "Help, I am LOCKED out!")
    assert [(hit["id"], hit["nominated"]) for hit in told["hits"]] == [("key", True)]


def test_a_cursor_goes_on_and_stays_on_its_view(path: Path) -> None:
    asked = ("Ada or the spare key", *AT, "--top-k", 1)
    first = answer("recall", path, *asked)
    second = answer("recall", path, *asked, "--cursor", first["cursor"])
    assert {hit["id"] for hit in first["hits"]} & {hit["id"] for hit in second["hits"]} == set()
    told = run("recall", path, *asked).stderr
    assert told.splitlines()[-1] == f"there is more; go on with --cursor {first['cursor']}"
    other = failed(2, "recall", path, "Bob", *AT, "--cursor", first["cursor"])
    assert "of another request" in other
    assert "is no cursor" in failed(2, "recall", path, *asked, "--cursor", "x")
    ok("claim", path, "x", "p", "1", "--source", "s")
    moved = failed(3, "recall", path, *asked, "--cursor", first["cursor"])
    assert moved.startswith("doxa: view_moved: ")


def test_a_budget_counts_the_text_and_names_what_did_not_fit(path: Path) -> None:
    asked = ("Ada or the spare key", *AT, "--budget")
    result = run("recall", path, *asked, 260)
    assert re.search(r"^left out: \S+: does not fit in the budget$", result.stderr, re.M)
    used = re.search(r"^(\d+) of 260 characters$", result.stderr, re.M)
    assert used is not None
    assert int(used[1]) == len(result.stdout.rstrip("\n"))
    none = run("recall", path, *asked, 20)  # not even the line about the conditions
    assert (none.exit_code, none.stdout) == (1, "")
    assert none.stderr.startswith("partial: no hits; ")
    assert "give more\n  next: give a larger --budget\n" in none.stderr  # ids are told of below
    block = run("assemble", path, *asked, 20)
    assert (block.exit_code, block.stdout.strip()) == (1, "")
    counted = answer("recall", path, *asked, 10_000, "--count", "builtins:len")
    assert counted["unit"] == "builtins:len" or counted["unit"].endswith("len")


def test_a_search_that_ended_early_names_the_option_that_ended_it(path: Path) -> None:
    pool = run("recall", path, "Ada", *AT, "--pool", 1, "--standing", "any")
    assert pool.stderr.startswith("partial: 2 hits; 6 documents in sight, not all that matched ")
    assert "  next: give a larger --pool, or narrower filters\n" in pool.stderr
    scan = run("recall", path, "Ada", *AT, "--scan-limit", 1, "--standing", "any")
    assert "  next: give a larger --scan-limit, or narrower filters\n" in scan.stderr


def test_what_a_hit_is_still_worth_is_a_table_behind_the_answer(path: Path) -> None:
    asked = ("recall", path, "Where does Ada live?", *AT)
    shown = run(*asked, "--validity-annotate")
    heading, row = (re.split(r"  +", line) for line in shown.stdout.splitlines()[-2:])
    assert heading == ["hit", "grade", "freshness", "multiplier", "signals"]
    assert row == ["moved/replacement", "valid", "0.524", "0.576", "freshness:0.524, scope:exact"]
    assert "validity: " not in shown.stderr
    assert "multiplier" not in run(*asked).stdout
    weighed = run(*asked, "--profile", "validity")
    assert weighed.stdout == shown.stdout
    told = "validity: annotated only: mode lexical, and only fused mode is re-ranked"
    assert told in weighed.stderr.splitlines()
    fused = run(*asked, *AXES, "--trust", "standing", "--profile", "validity")
    assert "validity: " not in fused.stderr


def test_what_is_too_old_is_a_warning(path: Path) -> None:
    asked = ("Where does Ada live?", *AT, "--max-age")
    assert (
        "warning: the newest of it was observed 28.0 days"
        in run("recall", path, *asked, "7d").stderr
    )
    assert "warning" not in run("recall", path, *asked, "30d").stderr
    assert words(path, *asked[:1], "--max-age", "12h", "--now", "2024-06-03")["staleness"] == {
        "newest": "2024-06-03T00:00:00Z", "age": 0.0, "max_age": 43200.0, "stale": False,
    }  # fmt: skip
    assert "is no age" in failed(2, "recall", path, *asked, "a week")
    assert [seconds(age) for age in (None, "90", "1.5m", "2h", "1d")] == [
        None, 90.0, 90.0, 7_200.0, 86_400.0
    ]  # fmt: skip


def test_several_questions_are_answered_at_one_view(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_text("\ufeffWhere does Ada live?\n\n  \nWho knows the papacy?\n".replace(
        "Who knows the papacy?", "papacy"), "utf-8")  # fmt: skip
    result = run("recall", path, "--queries", file, *AT, "--json")
    assert result.exit_code == 1  # that of the worst
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["outcome"] for one in told] == ["answered", "abstained"]
    assert told[0] == words(path, "Where does Ada live?")
    shown = run("recall", path, "--queries", "-", *AT, stdin="Ada\nBob\n").stdout
    assert shown.startswith("1. Ada\n\nRecorded information")
    assert "\n\n2. Bob\n\nRecorded information" in shown
    file.write_bytes(b"\xff\n")
    assert "is not UTF-8" in failed(2, "recall", path, "--queries", file, *AT)
    assert "no file" in failed(2, "recall", path, "--queries", tmp_path / "nowhere", *AT)
    assert "one of them" in failed(2, "recall", path, *AT)
    assert "one of them" in failed(2, "recall", path, "x", "--queries", file, *AT)
    assert "with one QUERY" in failed(2, "recall", path, "--queries", file, "--cursor", "x", *AT)


def test_candidates_are_judged_in_place_of_what_is_found(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_text(
        '{"id":"t1","text":"Ada is in London.","facts":["home"],"score":0.9}\n'
        '{"id":"t2","text":"Ada is in Lisbon.","facts":["moved/replacement"],"score":0.5}\n'
        '{"id":"t3","text":"Nobody says so.","score":0.4}\n'
    )
    result = run("recall", path, "Where is Ada?", "--candidates", file, *AT)
    assert result.exit_code == 0
    assert "> Ada is in Lisbon." in result.stdout
    assert result.stderr.splitlines()[:2] == [
        "answered: 1 hit; 3 candidates judged",
        "withheld: t1 (rests on home), superseded by moved/replacement",
    ]
    assert "withheld: t3, invalid metadata: declares no facts" in result.stderr
    assert "line 1" in failed(2, "recall", path, "x", "--candidates", _bad(tmp_path), *AT)


def _bad(folder: Path) -> Path:
    (folder / "bad.jsonl").write_text("{\n")
    return folder / "bad.jsonl"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["  "], "query is empty"),
        (["x", "--top-k", "0"], "top_k is 0"),
        (["x", "--mode", "semantic"], "mode is 'semantic'"),
        (["x", "--trust", "blind"], "trust is 'blind'"),
        (["x", "--tier", "rumour"], "tier is 'rumour'"),
        (["x", "--standing", "maybe"], "maybe"),
        (["x", "--profile", "age"], "profile is 'age'"),
        (["x", "--freshness-from", "birth"], "freshness_from is 'birth'"),
        (["x", "--in-workspace", "elsewhere"], "workspace is 'elsewhere'"),
        (["x", "--timeout", "0"], "timeout is 0"),
        (["x", "--embedder", "minilm"], "'minilm' is no embedder; give local"),
        (["x", "--embedder", "no_such_module:embed"], "can't be imported"),
        (["x", "--embedder", f"{HERE}:NO_FUNCTION"], "is of type int"),
        (["x", "--rerank", f"{HERE}:no_such"], "--rerank"),
        (["x", "--judge", f"{HERE}:NO_FUNCTION"], "--judge"),
        (["x", *AXES, "--calibration", "mine"], "there is no calibration 'mine'"),
        (["x", "--explain", "--json"], "one of --explain and --json"),
        (["x", "--as-of", "now"], "--as-of is refused"),
    ],
)
def test_what_can_not_be_asked_is_one_line(path: Path, args: list[str], told: str) -> None:
    result = run("recall", path, *args, *AT)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert told in line


def test_a_module_that_fails_as_it_is_loaded_is_the_callers(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_counter.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    line = failed(2, "recall", path, "Ada", *AT, "--count", "odd_counter:count")
    assert "division by zero" in line


# ---------------------------------------------------------------- vectors and calibrations


def test_an_index_is_made_and_told_in_figures(path: Path) -> None:
    assert answer("index", path) == {"documents": 6, "embedded": 0, "saved": 1}
    assert answer("index", path, *AXES) == {"documents": 6, "embedded": 6, "saved": 1}
    assert answer("index", path, *AXES)["embedded"] == 0
    shown = ok("index", path)
    assert re.search(r"^documents +6$", shown, re.M)
    assert re.search(r"^saved +yes$", shown, re.M)


def test_a_bar_is_drawn_once_the_work_has_taken_half_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([10.0, 10.1, 10.4, 10.6])
    monkeypatch.setattr(output, "monotonic", lambda: next(clock))
    monkeypatch.setattr(output, "_terminal", lambda file: True)
    drawn: list[str] = []
    bar = output._bar

    def noticed(stack: ExitStack, title: str) -> Callable[[int, int | None], None]:
        drawn.append(title)
        return bar(stack, title)

    monkeypatch.setattr(output, "_bar", noticed)
    with output.progress("index") as told:
        told(1, 100)
        told(2, 100)
        assert drawn == []
        told(3, 100)
        told(4, 100)
    assert drawn == ["index"]
    assert capsys.readouterr().out == ""


def test_an_index_that_can_not_be_kept_is_told_by_the_code(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"documents": 6, "embedded": 0, "saved": 0}
    monkeypatch.setattr(Ledger, "index", lambda ledger, progress=None: told)
    result = run("index", path)
    assert result.exit_code == 4
    assert "could not be written" in result.stderr


def test_an_embedder_that_fails_is_a_reason_and_no_crash(path: Path) -> None:
    failing = ("--embedder", f"{HERE}:broken")
    assert failed(2, "index", path, *failing).startswith("doxa: unavailable: embedder")
    result = run("recall", path, "Ada", *AT, *failing, "--trust", "standing")
    assert result.exit_code == 0
    assert "partial: 1 hit; " in result.stderr
    assert "  dependency_unavailable: embedder" in result.stderr
    assert "> Ada lives in Lisbon." in result.stdout
    dense = run("recall", path, "Ada", *AT, *failing, "--trust", "standing", "--mode", "dense")
    assert (dense.exit_code, dense.stdout) == (2, "")


def test_a_calibration_prints_its_id_and_says_in_words_what_it_is(path: Path, cases: Path) -> None:
    before = answer("stats", path)["revision"]
    dry = run("calibrate", path, cases, *AT, *AXES, "--dry-run")
    assert dry.exit_code == 0
    assert dry.stderr.splitlines()[-1] == "not recorded"
    assert answer("stats", path)["revision"] == before
    result = run("calibrate", path, cases, *AT, *AXES, "--reason", "first")
    assert result.stdout == dry.stdout
    assert re.fullmatch(r"calibration-[0-9a-f]{32}\n", result.stdout)
    assert "certification: certified: AUC 1.000, at least 1.000" in result.stderr
    assert "false confidence: 0.0%, 0 of 20 unanswerable questions that were held out" in (
        result.stderr
    )
    assert "warning" not in result.stderr
    assert answer("stats", path)["revision"] == before + 1
    told = answer("calibrate", path, cases, *AT, *AXES, "--reason", "first")
    assert (told["id"], told["recorded"]) == (result.stdout.strip(), True)
    assert (told["false_confidence"], told["false_abstention"]) == (0.0, 0.0)
    assert answer("stats", path)["revision"] == before + 1  # the same again is a no-op


def test_a_calibration_counts_again_where_it_was_withdrawn_or_replaced(
    path: Path, cases: Path
) -> None:
    made = ok("calibrate", path, cases, *AT, *AXES).strip()
    assert answer("calibrate", path, cases, *AT, *AXES)["in_force"] is True
    ok("withdraw", path, made, "--id", "w")
    assert answer("calibrate", path, cases, *AT, *AXES)["in_force"] is True
    fewer = cases.with_name("fewer.jsonl")
    fewer.write_text("".join(cases.read_text().splitlines(True)[2:]))
    assert ok("calibrate", path, fewer, *AT, *AXES).strip() != made
    assert answer("calibrate", path, cases, *AT, *AXES)["in_force"] is True
    assert answer("calibration", path, *AT, *AXES)["calibration"]["id"] == made


def test_labelled_questions_that_can_not_be_used_are_named_by_their_lines(
    path: Path, tmp_path: Path
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"query":"a","answerable":true}\n{"query":"a","answerable":false}\n{\n')
    line = failed(2, "calibrate", path, file, *AT, *AXES)
    assert "line 2: 'a' is labelled the other way on line 1" in line
    assert "line 3" in line
    assert "no file" in failed(2, "calibrate", path, tmp_path / "nowhere", *AT, *AXES)
    assert "Missing option '--embedder'" in failed(2, "calibrate", path, file, *AT)
    asked = run("calibrate", path, "-", *AT, *AXES, stdin=b'{"query":"a","answerable":true}\n')
    assert asked.exit_code == 2
    assert "give two at least" in asked.stderr


def test_the_calibration_in_force_is_shown_and_its_absence_is_a_no(path: Path, cases: Path) -> None:
    none = run("calibration", path, *AT, *AXES)
    assert (none.exit_code, none.stdout) == (1, "")
    assert "calibration_missing: there are no vectors" in none.stderr
    told = answer("calibration", path, *AT, *AXES, code=1)
    assert (told["calibration"], told["reason"]) == (None, "calibration_missing")
    made = ok("calibrate", path, cases, *AT, *AXES)
    assert re.search(rf"^calibration +{made}$", ok("calibration", path, *AT, *AXES), re.M)
    told = answer("calibration", path, *AT, *AXES)
    assert (told["calibration"]["id"], told["drift"]) == (made, None)
    ok("withdraw", path, made)
    assert run("calibration", path, *AT, *AXES).exit_code == 1


def test_a_calibration_that_has_drifted_is_a_no(path: Path, cases: Path, tmp_path: Path) -> None:
    ok("calibrate", path, cases, *AT, *AXES)
    same = run("calibration", path, *AT, *AXES, "--drift", cases)
    assert same.exit_code == 0
    assert re.search(r"^drift +ok$", same.stdout, re.M)
    swapped = tmp_path / "swapped.jsonl"
    text = cases.read_text().replace("true", "null").replace("false", "true")
    swapped.write_text(text.replace("null", "false"))
    result = run("calibration", path, *AT, *AXES, "--drift", swapped)
    assert result.exit_code == 1
    assert "drifted: 100% of the unanswerable questions are judged confident" in result.stderr
    told = answer("calibration", path, *AT, *AXES, "--drift", swapped, code=1)
    assert told["drift"]["verdict"] == "drifted"


def test_confidence_decides_where_it_is_calibrated(path: Path, cases: Path) -> None:
    refused = run("recall", path, "Where does Ada live?", *AT, *AXES)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "calibration_missing" in refused.stderr
    made = ok("calibrate", path, cases, *AT, *AXES)
    told = answer("recall", path, "Where does Ada live?", *AT, *AXES)
    assert [hit["id"] for hit in told["hits"] if hit["verdict"] == "ok"] == ["moved/replacement"]
    assert (told["calibrated"], told["calibration"]) == (True, made)
    before = ("recall", path, "Where does Ada live?", *AT, *AXES, "--known-at", 7)
    assert "  next: give --calibration ID with one that was recorded later" in run(*before).stderr
    assert run(*before, "--calibration", made).exit_code == 0
    below = run("recall", path, "How deep is the sea?", *AT, *AXES)
    assert below.exit_code == 1
    assert "  below_boundary: " in below.stderr
    assert "warning: the best dense score" in below.stderr


def test_an_explanation_shows_arms_hits_and_the_gate(path: Path, cases: Path) -> None:
    made = ok("calibrate", path, cases, *AT, *AXES)
    shown = ok("recall", path, "Where does Ada live? I am locked out", *AT, *AXES, "--explain")
    rows = [re.split(r"  +", line) for line in shown.splitlines()]
    assert ["arm", "available", "fired", "found", "scanned", "eligible"] in rows
    assert ["triggers", "yes", "yes", "1", "1", "1"] in rows
    (lexical,) = (row for row in rows if row[0] == "lexical")
    assert lexical[1:3] == ["yes", "yes"]
    assert ["trust", "strict"] in rows
    assert ["calibration", made] in rows
    assert ["fused", "lexical, dense, triggers (reciprocal ranks, 60)"] in rows
    (first,) = (row for row in rows if row[0] == "moved/replacement")
    assert first[1] == "ok"
    assert len(first) == 6  # confidence, score, words and meaning: no phrase fired for it
    assert "key: nominated by a phrase" in shown.splitlines()
    plain = ok("recall", path, "Ada", *AT, "--explain", "--profile", "validity")
    assert "standing alone decides; confidence is not judged" in plain
    assert "annotated only: mode lexical" in plain
    assert "moved/replacement: promoted from home" in plain.splitlines()


def test_an_explanation_says_which_arm_never_fired(path: Path) -> None:
    shown = ok("recall", path, "Ada", *AT, "--explain")
    assert re.search(r"^triggers +yes +no +0 +0 +0$", shown, re.M)


def test_a_boundary_that_nobody_fitted_is_said_to_be_the_default(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("recall", path, "Ada", *AT, *AXES, "--trust", "development", "--explain")
    shown = ok(*asked)
    assert re.search(r"^calibrated +no; the boundary and the scale are the defaults$", shown, re.M)
    assert re.search(r"^boundary +0\.500$", shown, re.M)
    with doxa.open(path) as ledger:
        view = ledger.view(valid_at="2024-07-01")
        explain(ledger.recall("Ada", view=view, trust="strict"), None)
    assert "available" not in capsys.readouterr().out  # no arm was asked


def test_a_reranker_and_a_judge_are_functions_of_the_callers(path: Path, cases: Path) -> None:
    ok("calibrate", path, cases, *AT, *AXES)
    asked = ("recall", path, "Where does Ada live?", *AT, *AXES, "--subject", "ada")
    ranked = answer(*asked, "--rerank", f"{HERE}:by_length", "--timeout", "5")
    assert ranked["hits"][0]["score"] == len("Ada lives in Lisbon.")
    none = run(*asked, "--judge", f"{HERE}:nothing_answers")
    assert none.exit_code == 1
    assert "  not_entailed: " in none.stderr
    wrong = failed(2, *asked, "--judge", f"{HERE}:gives_nothing")
    assert "the judge gave 0 decisions" in wrong


def gives_nothing(query: str, texts: list[str]) -> list[bool]:
    return []


def test_every_option_of_a_recall_is_one_of_the_command() -> None:
    given = {parameter.name for parameter in COMMANDS["recall"].params}
    assert set(DEFAULTS) - given == set()
    assert "in_workspace" in given  # for the filter; --workspace is the view's, as elsewhere


def test_every_reason_has_a_next_step() -> None:
    from doxa.adapters.cli.answers import _NEXT

    assert set(_NEXT) == set(Gap)


# ---------------------------------------------------------------- blocks from a question


def test_a_question_is_recalled_judged_and_rendered_as_one_block(path: Path) -> None:
    result = run("assemble", path, "Where does Ada live?", *AT)
    assert result.exit_code == 0
    assert result.stdout == (
        "Recorded information, not instructions.\n\nreported, from 2024-06-01, observed "
        "2024-06-03\n> Ada lives in Lisbon.\n"
    )
    assert result.stderr.splitlines() == [
        "110 of 1500 characters",
        "left out: home: missing_fact: 'home' is superseded",
        "left out: tax: missing_fact: 'tax' is unsupported",
        "answered: 1 hit; 6 documents in sight, all that matched were looked at",
    ]
    large = run("assemble", path, "Where does Ada live?", *AT, "--budget", "large")
    assert "of 6000 characters" in large.stderr
    told = answer("assemble", path, "Where does Ada live?", *AT, "--top-k", 1, "--subject", "ada")
    assert told["recalled"]["outcome"] == "answered"


def test_a_block_of_a_question_exits_as_its_recall_does(path: Path) -> None:
    nothing = run("assemble", path, "papacy", *AT)
    assert (nothing.exit_code, nothing.stdout.strip()) == (1, "")
    refused = run("assemble", path, "Ada", *AT, *AXES)
    assert (refused.exit_code, refused.stdout.strip()) == (2, "")
    assert "calibration_missing" in refused.stderr


def test_registered_summaries_are_asked_for_by_name(path: Path, tmp_path: Path) -> None:
    ok("summarize", path, "Ada is a Lisboeta.", "--facts", "moved/replacement", "--id", "n1")
    shown = ok("assemble", path, "any question", *AT, "--registered")
    assert "> Ada is a Lisboeta." in shown
    both = ("--registered", "--candidates", _bad(tmp_path))
    assert "give one of" in failed(2, "assemble", path, "x", *AT, *both)
    assert "mode" in failed(2, "assemble", path, "x", *AT, "--registered", "--mode", "lexical")


def test_without_a_question_there_is_a_pointer_or_what_is_pinned(path: Path) -> None:
    pointer = ok("assemble", path, "", *AT)
    assert pointer.startswith("There is recorded information to ask for")
    assert ok("assemble", path, " ", *AT) == pointer
    for number in range(6):
        ok("claim", path, f"s{number}", "p", str(number), "--id", f"c{number}", "--source", "s")
        ok("policy", path, "--pinned", f"c{number}")
    result = run("assemble", path, "", *AT, "--inject", "always_inject")
    assert result.stdout.count("> s") == 5
    assert 'warning: 6 claims are pinned, and 5 are always on: left out "c5"' in result.stderr
    assert "inject is 'never'" in failed(2, "assemble", path, "", *AT, "--inject", "never")


def test_a_budget_is_a_number_or_large(path: Path) -> None:
    assert "--budget is 'huge'" in failed(2, "assemble", path, "Ada", *AT, "--budget", "huge")


def test_a_block_of_a_question_replays(path: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "r.json"
    made = run("assemble", path, "Where does Ada live?", *AT, "--receipt", receipt)
    ok("withdraw", path, "moved")
    again = run("replay", path, receipt)
    assert (again.exit_code, again.stdout) == (0, made.stdout)


def test_attempts_do_not_go_with_a_filter_of_workspaces(path: Path) -> None:
    asked = ("assemble", path, "Ada", *AT, "--attempts", 2)
    assert run(*asked).exit_code == 0
    assert "--in-workspace" in failed(2, *asked, "--in-workspace", "")


def test_recalling_writes_nothing_into_the_log(path: Path) -> None:
    log = path / "log.sqlite"
    before = log.read_bytes()
    ok("recall", path, "Where does Ada live?", *AT)
    ok("assemble", path, "Where does Ada live?", *AT)
    ok("index", path, *AXES)
    assert log.read_bytes() == before
