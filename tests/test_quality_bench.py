"""The bench of recall: it fails where a system does not do what it must, and says what it found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import doxa
from doxa.bench import judging, quality, quality_page, recall_speed, scores
from doxa.bench.aged import NOTES
from doxa.bench.generated import System, generated
from doxa.bench.judging import Judged, judged
from doxa.bench.measuring import Effort, Finding, Series
from doxa.bench.questions import Lack, Question
from doxa.bench.scores import Asked, Broken, Share
from doxa.bench.systems import Answer, Answering, Baseline, Doxa, Truth
from doxa.engine.embedding import Embedder
from doxa.engine.errors import CallerError

TOPICS = 60
WHEN: Any = {"valid_at": "2024-06-01T00:00:00Z", "known_at": "2024-06-01T00:00:00Z"}


def by_name(texts: list[str]) -> list[Any]:
    """A direction for the name in a text, which ends as no other word does: nothing is as near."""
    found = []
    for text in texts:
        (name, *_) = (w for w in text.lower().replace("?", " ").split() if w.endswith("x"))
        seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
        found.append(np.random.default_rng(seed).standard_normal(64))
    return found


NAMES = Embedder("names", by_name, dimension=64)


# ---------------------------------------------------------------- one corpus


@pytest.fixture(scope="module")
def plain() -> Judged:
    return judged("generated", TOPICS, None)


def columns(one: Judged) -> dict[str, judging.Column]:
    return {column.name: column for column in one.columns}


def test_all_systems_are_asked_and_doxa_serves_nothing_that_is_not_held(plain: Judged) -> None:
    found = columns(plain)
    assert list(found) == [
        "plain top-k",
        "newest wins",
        "plain top-k, as of today",
        "newest wins, as of today",
        "doxa",
    ]
    assert plain.calibration is None
    assert plain.documents == 84
    for asked in (found["doxa"].now, found["doxa"].past):
        assert asked["not held"].some == asked["about it, not held"].some == 0
        assert asked["right first"] == replace(asked["right first"], some=asked["right first"].of)
    assert found["plain top-k"].now["about it, not held"].some > 0
    assert found["newest wins"].now["conflicts whole"].some == 0
    assert found["doxa"].now["conflicts whole"].some == found["doxa"].now["conflicts whole"].of > 0


def test_what_is_kept_for_calibration_is_in_no_figure(plain: Judged) -> None:
    asked = [q for q in generated(TOPICS).questions if not q.held_out]
    column = columns(plain)["doxa"]
    assert column.now["refused"].of + column.past["refused"].of == len(asked)
    assert plain.questions["answerable"] == sum(q.answerable for q in asked)


def test_an_embedder_that_tells_the_questions_apart_lets_strict_trust_abstain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "generated", partial(generated, withdrawal=0.4))
    found = judged("generated", 90, NAMES)
    assert found.calibration is not None
    assert found.calibration.certified
    strict, fused = columns(found)["doxa, strict"], columns(found)["doxa, fused"]
    assert strict.now["refused"].some == strict.past["refused"].some == 0
    assert strict.lacks["never_recorded"].rate == 1
    assert fused.lacks["never_recorded"].rate == 0
    assert strict.now["abstained wrongly"].rate == 0
    assert set(fused.grades) == {"stale", "context_invalid"}


def test_a_gate_that_cannot_run_has_refused_and_not_abstained() -> None:
    found = judged("generated", TOPICS, NAMES)
    assert found.calibration is not None
    assert not found.calibration.certified  # there are too few questions
    strict = columns(found)["doxa, strict"]
    assert strict.now["refused"].rate == 1
    assert strict.now["abstained rightly"].some == strict.now["abstained wrongly"].some == 0


def test_the_truth_that_is_read_off_the_lines_is_what_a_view_holds() -> None:
    corpus = generated(TOPICS)
    truth = Truth(corpus.events())
    claims = [event["id"] for event in corpus.events() if event["event"] == "claim"]
    with doxa.open() as ledger:
        ledger.import_events(corpus.events())
        for q in corpus.questions[::5]:
            view = ledger.view(valid_at=q.valid_at, known_at=q.known_at)
            held = {claim.id for claim in view.claims()}
            assert {claim for claim in claims if truth.held(claim, q)} == held, q


# ---------------------------------------------------------------- what ends a run


class Other(Baseline):
    """A store that serves something else than it should."""

    def answer(self, question: Question) -> Answer:
        found = super().answer(question)
        view = self.ledger.view(valid_at=question.valid_at)
        retracted = {c for c in found.served if view.standing(c) is doxa.Standing.RETRACTED}
        return replace(found, served=tuple(c for c in found.served if c not in retracted))


class Doubling(Baseline):
    """A store that serves only its first hit."""

    def answer(self, question: Question) -> Answer:
        found = super().answer(question)
        return replace(found, served=found.served[:1])


class Silent(Baseline):
    """A store that serves nothing where the name is unknown to it."""

    def answer(self, question: Question) -> Answer:
        found = super().answer(question)
        known = question.lack is not Lack.NEVER_RECORDED
        return found if known else replace(found, served=(), abstained=True)


def instead(kind: System, cut: bool, other: type[Baseline]) -> Callable[[Answering], Answering]:
    def change(system: Answering) -> Answering:
        if isinstance(system, Baseline) and (system.kind, system.cut) == (kind, cut):
            named = {each.name: getattr(system, each.name) for each in fields(system)}
            return other(**named)
        return system

    return change


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize(
    ("kind", "other", "figure"),
    [
        (System.NEWEST, Other, "stale"),
        (System.PLAIN, Other, "stale"),
        (System.PLAIN, Doubling, "stale|right|whole"),
        (System.NEWEST, Silent, "abstained"),
    ],
)
def test_a_store_that_scores_otherwise_than_its_formula_ends_the_run(
    kind: System, other: type[Baseline], figure: str, cut: bool
) -> None:
    with pytest.raises(Broken, match=f"{kind}.*: ({figure}) is .* by the formula it must be"):
        judged("generated", TOPICS, None, change=instead(kind, cut, other))


def test_a_store_that_forgets_its_past_is_not_one_that_was_given_it() -> None:
    def change(system: Answering) -> Answering:
        if isinstance(system, Baseline) and system.cut:
            return Today(**vars(system))
        return system

    class Today(Baseline):
        def answer(self, question: Question) -> Answer:
            today = {**vars(self), "cut": False}
            return Baseline(**today).answer(question)

    with pytest.raises(Broken, match=r"past_right is .* by the formula it must be 1"):
        judged("generated", TOPICS, None, change=change)


class Forgetful(Doxa):
    """A ledger that is asked what it holds today, whatever the question's known_at is."""

    def recalled(self, question: Question) -> Any:
        view = self.ledger.view(valid_at=question.valid_at)
        return self.ledger.recall(question.text, view=view, top_k=self.top_k, **self.options)


def test_doxa_serving_what_is_not_held_at_a_view_ends_the_run() -> None:
    def change(system: Answering) -> Answering:
        return Forgetful(**vars(system)) if isinstance(system, Doxa) else system

    with pytest.raises(Broken, match=r"doxa, on generated, served .*/B.* not held there"):
        judged("generated", TOPICS, None, change=change)


def test_serving_what_is_held_but_is_no_answer_ends_the_run_too() -> None:
    truth = Truth([{"event": "claim", "id": id, "recorded_at": "2024-01-01"} for id in "ab"])
    asked = Question("q", "q?", answers=("a",), about=("a", "b"), **WHEN)
    scores.never_served("doxa", [Asked(asked, Answer(("a",), 0.0))], truth)
    with pytest.raises(Broken, match="doxa served b"):
        scores.never_served("doxa", [Asked(asked, Answer(("a", "b"), 0.0))], truth)


def test_figures_are_counted_question_by_question() -> None:
    lines = [{"event": "claim", "id": id, "recorded_at": "2024-01-01"} for id in "abc"]
    lines.append({"event": "withdrawal", "target": "c", "recorded_at": "2024-02-01"})
    both = Question("1", "1?", answers=("a", "b"), about=("a", "b", "c"), contested=True, **WHEN)
    none = Question("2", "2?", answers=(), about=("c",), lack=Lack.WITHDRAWN, **WHEN)
    answers = [(both, "ab"), (both, "ba"), (both, "a"), (both, "ca"), (both, ""), (none, "")]
    asked = [Asked(q, Answer(tuple(served), 0.0, not served)) for q, served in answers]
    asked += [Asked(none, Answer(("c",), 0.0)), Asked(none, Answer((), 0.0, refused=True))]
    asked += [Asked(both, Answer(("a", "b"), 0.0, True)), Asked(both, Answer(("a",), 0.0, True))]
    assert scores.counted(asked, Truth(lines)) == {
        "not held": Share(2, 10),
        "about it, not held": Share(2, 10),
        "right among k": Share(6, 7),
        "right first": Share(5, 7),
        "right alone": Share(5, 7),
        "conflicts whole": Share(3, 7),
        "abstained rightly": Share(1, 3),
        "abstained wrongly": Share(2, 7),
        "refused": Share(1, 10),
    }


# ---------------------------------------------------------------- ages


def test_the_validity_profile_puts_what_is_fresh_and_in_scope_above_an_older_better_match() -> None:
    by_match, by_validity = judging.ages(12)
    assert by_match.fresh_first.rate == 0
    assert by_validity.fresh_first.rate == 1
    assert by_match.stale.rate is not None
    assert by_match.context_invalid.rate == 2 * by_match.stale.rate
    assert by_validity.context_invalid.some == 0


def test_notes_that_do_not_match_as_they_should_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "NOTES", (NOTES[-1], *NOTES[:-1]))
    with pytest.raises(Broken, match="by match alone it must be"):
        judging.ages(3)


# ---------------------------------------------------------------- speed


def test_the_speed_of_recall_is_measured_beside_bm25s_and_no_file_changes(tmp_path: Path) -> None:
    effort = Effort(rounds=0, seconds=0)
    found = recall_speed.measure(400, effort, tmp_path / "texts")
    assert {one.measure for one in found} == set(quality_page.SPEED)
    assert all(len(series.figures) >= 1 for one in found for series in one.series.values())
    recall = next(one for one in found if one.measure == "recall")
    assert set(recall.series) == {"doxa", "doxa: search alone", "bm25s"}
    assert {one.title for one in recall_speed.promises(found)} == {
        limit.title for limit in recall_speed.PROMISES
    }


def test_a_file_that_a_recall_changed_ends_the_run() -> None:
    recall_speed.unchanged({"a": "1"}, {"a": "1"})
    with pytest.raises(Broken, match="on the disk: a, b, c"):
        recall_speed.unchanged({"a": "1", "b": "1", "d": "1"}, {"a": "2", "c": "1", "d": "1"})


def test_the_best_of_five_runs_decides_at_a_hundred_thousand_texts() -> None:
    def finding(size: int, *seconds: float) -> Finding:
        return Finding("recall", size, {"doxa": Series(seconds), "bm25s": Series((0.004,))})

    small, large = finding(100_000, 0.011, 0.009, 0.02), finding(1_000_000, 0.1)
    for found in ([small, large], [large, small], [finding(10_000, 0.001), small]):
        p50, ratio = recall_speed.promises(found)
        assert (p50.met, p50.size, p50.best, p50.median) == (True, 100_000, 9.0, 11.0)
        assert (ratio.met, ratio.best) == (True, 2.25)
    assert not recall_speed.promises([finding(100_000, 0.0101)])[0].met
    assert len(recall_speed.promises([Finding("recall", 1, {"doxa": Series((1.0,))})])) == 1


def test_the_texts_are_the_same_each_time_and_follow_zipf() -> None:
    texts = recall_speed.Texts40(300)
    again = recall_speed.Texts40(300)
    assert [*texts.events()] == [*again.events()]
    assert texts.questions[:20] == again.questions[:20]
    assert len(set(texts.questions)) > 1_400
    ranks = np.bincount(texts.drawn.ravel(), minlength=1_000)
    assert ranks[0] > ranks[9] > ranks[99]
    assert {30, 40, 50} <= {len(texts.text(n).split()) for n in range(300)} <= {*range(30, 51)}


# ---------------------------------------------------------------- runs and the page


def some_run(plain: Judged) -> quality_page.QualityRun:
    names = ("processor", "system", "doxa", "python", "numpy", "began", "memory_gb", "load")
    where = {**dict.fromkeys(names, "?"), "cores": 2}
    figures = {"doxa": Series((0.004,) * 5), "bm25s": Series((0.001,) * 5)}
    findings = [Finding("recall", 100_000, figures, facts={"doxa, p95 ms": 5.0, "of": 3})]
    return quality_page.QualityRun(
        where, judged=[plain], ages=judging.ages(5), findings=findings, notices=["so be it"]
    )


def test_the_page_is_written_and_says_what_every_figure_means(
    plain: Judged, tmp_path: Path
) -> None:
    quality.write_page(some_run(plain), tmp_path / "new" / "quality.md")
    text = (tmp_path / "new" / "quality.md").read_text("utf-8")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]
    for heading in ("Quality", "What the figures mean", "generated", "How fast it is"):
        assert heading in headings
    for name in scores.FIGURES:
        assert f"| *{name}* |" in text
    assert "| about it, not held |" in text
    assert "| lexical recall ÷ bm25s | 100k | ≤ 3 x | 4 x | 4 x | **missed** |" in text
    assert "- **Notice:** so be it" in text
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 100
    kept = json.loads((tmp_path / "new" / "assets" / "quality.json").read_text("utf-8"))
    assert kept["corpora"][0]["systems"][-1]["now"]["not held"]["some"] == 0


def test_a_history_that_is_not_there_is_left_out_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_SHARED", str(tmp_path))
    made, said = quality_page.QualityRun({}), list[str]()
    quality.run(made, ["advisories"], 10, (), None, Effort(), tmp_path, said.append)
    assert made.judged == []
    assert [text.partition(":")[0] for text in said] == ["advisories is left out"]
    assert made.notices == said


def test_an_embedder_is_named_by_its_module() -> None:
    assert quality.embedder_of(f"{__name__}:NAMES") is NAMES
    assert quality.embedder_of(f"{__name__}:made") is NAMES
    for text in ("nowhere:at_all", f"{__name__}:nothing", f"{__name__}:TOPICS", ":", "x"):
        with pytest.raises(CallerError):
            quality.embedder_of(text)


def made() -> Embedder:
    return NAMES


def test_the_command_prints_json_for_one_part_and_names_the_parts() -> None:
    done = CliRunner().invoke(quality.app, ["--only", "generated", "--topics", "20", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["corpora"][0]["corpus"] == "generated"
    done = CliRunner().invoke(quality.app, ["--only", "beauty"])
    assert done.exit_code == 2
    assert "no part 'beauty'" in " ".join(done.output.split())


def test_a_broken_run_ends_with_1_and_writes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> Any:
        raise Broken("doxa served c1")

    monkeypatch.setattr(judging, "judged", broken)
    page = tmp_path / "quality.md"
    done = CliRunner().invoke(quality.app, ["--topics", "20", "--page", str(page)])
    assert done.exit_code == 1
    assert "failed: doxa served c1" in done.output
    assert not page.exists()
