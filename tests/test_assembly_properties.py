"""Random ledgers, candidates and budgets: what holds of every block."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa import Ledger, TruthView
from doxa.engine.assembly import Block

DAYS = [f"2024-0{month}-01" for month in range(1, 8)]
PREDICATES = ["lives_in", "likes"]  # the first is single-valued


@dataclass
class World:
    """A ledger with what its builder knows of it, from which the sides of a conflict follow."""

    ledger: Ledger
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)
    contradictions: list[set[str]] = field(default_factory=list)
    supports: dict[str, str] = field(default_factory=dict)  # support → claim
    citations: dict[str, list[str]] = field(default_factory=dict)  # citation → supports
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def rivals(self, view: TruthView, one: str) -> set[str]:
        """The held claims that a claim can't stand beside, by going through all of them."""

        def against(other: str) -> bool:
            a, b = self.claims[one], self.claims[other]
            keys = ("subject", "predicate")
            return any({one, other} <= pair for pair in self.contradictions) or (
                a["predicate"] == PREDICATES[0]
                and all(a[key] == b[key] for key in keys)
                and a["object"] != b["object"]
            )

        return {
            other
            for other in self.claims
            if other != one and view.standing(other).held and against(other)
        }

    def sides(self, view: TruthView, claim: str) -> set[str]:
        """The claims and live evidence against them in the conflict of a contested claim."""
        found, stack = {claim}, [claim]
        while stack:
            for rival in self.rivals(view, stack.pop()):
                if rival not in found:
                    found.add(rival)
                    stack.append(rival)
        return found | {
            support.id
            for one in found
            for support in view.supports(one)
            if support.live and support.stance == "refutes"
        }

    def speaks_for(self, view: TruthView, declared: dict[str, Any]) -> tuple[set[str], set[str]]:
        """The sides that a text speaks for, and the claims that it reaches."""
        declared = self.summaries.get(str(declared.get("artefact")), declared)
        supports = [*declared.get("supports", ())]
        for citation in declared.get("citations", ()):
            supports += self.citations[citation]
        sides, reached = set(declared.get("facts", ())), set(declared.get("facts", ()))
        for support in supports:
            claim = self.supports[support]
            reached.add(claim)
            (item,) = (s for s in view.supports(claim) if s.id == support)
            sides.add(support if item.stance == "refutes" else claim)
        return sides, reached


def build(chance: random.Random, size: int) -> World:
    """A ledger of random claims, evidence, withdrawals, contradictions and artefacts."""
    ledger = doxa.open()
    world = World(ledger)
    ledger.policy(single_valued=PREDICATES[0])
    for n in range(size):
        low, high = sorted(chance.sample(range(len(DAYS)), 2))
        claim: dict[str, Any] = {
            "subject": chance.choice(["ada", "ben"]),
            "predicate": chance.choice(PREDICATES),
            "object": chance.choice(["x", "y\n[1] z", 1]),
            "valid_from": None if chance.random() < 0.7 else DAYS[low],
            "valid_to": None if chance.random() < 0.7 else DAYS[high],
        }
        because = chance.sample(sorted(world.claims), 1) if n and chance.random() < 0.2 else []
        source = None if because else f"s{n % 3}"
        ledger.claim(**claim, id=f"c{n}", source=source, because=because)
        world.claims[f"c{n}"] = claim
        world.supports[f"c{n}/support"] = f"c{n}"
    ids = sorted(world.claims)
    for n in range(size // 3):
        about = chance.choice(ids)
        stance: Any = chance.choice(["supports", "refutes"])
        evidence = doxa.Source(f"s{n}", quote=f"quote {n}")
        ledger.support(about, source=evidence, stance=stance, id=f"u{n}")
        world.supports[f"u{n}"] = about
    if size > 3 and chance.random() < 0.5:
        pair = chance.sample(ids, 2)
        ledger.policy(contradicts=pair)
        world.contradictions.append(set(pair))
    for n in range(4):
        named = chance.sample(sorted(world.supports), chance.choice([1, 1, 2]))
        text = f"citation {n}{chance.choice(['', chr(10) + 'more'])}"
        ledger.cite(text, supports=named, id=f"q{n}")
        world.citations[f"q{n}"] = named
    for n in range(3):
        rests: dict[str, Any] = {
            "facts": chance.sample(ids, 1),
            "supports": chance.sample(sorted(world.supports), chance.choice([0, 1])),
            "citations": chance.sample(sorted(world.citations), chance.choice([0, 1])),
        }
        ledger.summarize(f"summary {n}", **rests, id=f"n{n}")
        world.summaries[f"n{n}"] = rests
    for target in chance.sample([*ids, *sorted(world.supports), *world.citations], 2):
        ledger.withdraw(target)
    return world


def some_candidates(chance: random.Random, world: World, size: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(size):
        one: dict[str, Any] = {
            "id": f"t{n}",
            "text": f"text {n}{'.' * chance.choice([1, 1, 40, 300])}",
            "score": chance.choice([0, 0.5, 1, 2]),
        }
        if chance.random() < 0.15:
            artefact = chance.choice(sorted(world.summaries))
            one = {"id": f"t{n}", "artefact": artefact, "score": one["score"]}
        else:
            for name, known in (
                ("facts", [*world.claims, "nobody"]),
                ("supports", [*world.supports]),
                ("citations", [*world.citations]),
            ):
                often = 0.8 if name == "facts" else 0.25
                few = chance.choice([1, 1, 1, 2]) if chance.random() < often else 0
                one[name] = chance.sample(known, min(few, len(known)))
        if chance.random() < 0.05:
            one["score"] = float("nan")
        found.append(one)
    return found


def parsed(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The blocks of a text as (own line, quoted text), and the notices, by the form alone."""
    blocks: list[tuple[str, list[str]]] = []
    notices = []
    for line in text.split("\n") if text else ():
        if line.startswith(">"):
            blocks[-1][1].append(line[2:])
        elif line.startswith("conflict left out"):
            notices.append(line)
        elif line:
            blocks.append((line, []))
    return [(line, "\n".join(quoted)) for line, quoted in blocks], notices


def check(world: World, view: TruthView, given: list[dict[str, Any]], block: Block) -> None:
    """All that holds of a block of given candidates, whatever they are."""
    by_id = {one["id"]: one for one in given}
    printed = [one for one in block.printed if one.kind == "candidate"]

    assert len(block.text) == block.used <= block.budget
    assert sorted([*block.ids, *block.reasons]) == sorted(by_id)
    assert len(block.left_out) + len(block.ids) == len(given)

    # the text holds the printed blocks whole, in order, and their citations once each
    blocks, notices = parsed(block.text)
    body, notes = blocks[: len(block.printed)], blocks[len(block.printed) :]
    for shown, (line, quoted) in zip(block.printed, body, strict=True):
        marks = "".join(f"[{number}]" for number in shown.citations)
        assert line == f"{shown.label} {marks}".strip()
        if shown.kind == "candidate":
            one = by_id[shown.id]
            assert quoted == one.get("text", f"summary {str(one.get('artefact'))[1:]}")
    used = dict.fromkeys(number for shown in block.printed for number in shown.citations)
    assert list(used) == [one.number for one in block.citations] == [*range(1, len(used) + 1)]
    for citation, (line, quoted) in zip(block.citations, notes, strict=True):
        assert line.startswith(f"[{citation.number}]")
        assert quoted == citation.text
    assert len(notices) == len(block.notices)

    # nothing that may not be believed, nothing one-sided
    covered = {one.id for one in block.printed if one.kind != "candidate"}
    for shown in printed:
        covered |= world.speaks_for(view, by_id[shown.id])[0]
    for shown in printed:
        _, reached = world.speaks_for(view, by_id[shown.id])
        declared = world.summaries.get(str(by_id[shown.id].get("artefact")), by_id[shown.id])
        assert all(view.standing(fact).held for fact in declared.get("facts", ()))
        contested = [c for c in sorted(reached) if view.standing(c) == "contested"]
        assert bool(contested) == ("contested" in shown.label.replace("rests on contested", ""))
        for claim in contested:
            assert world.sides(view, claim) <= covered, (shown, claim)


@given(
    chance=st.randoms(use_true_random=False),
    size=st.integers(2, 10),
    count=st.integers(0, 9),
    budget=st.integers(0, 1500),
    top_k=st.none() | st.integers(1, 6),
    day=st.sampled_from(DAYS),
)
def test_every_block_is_whole_within_budget_never_one_sided_and_replays(
    chance: random.Random, size: int, count: int, budget: int, top_k: int | None, day: str
) -> None:
    world = build(chance, size)
    with world.ledger as ledger:
        view = ledger.view(valid_at=day)
        candidates = some_candidates(chance, world, count)
        request: dict[str, Any] = {"view": view, "budget": budget, "top_k": top_k}
        block = ledger.assemble("q", candidates=candidates, **request)
        check(world, view, candidates, block)
        units = {one.unit for one in block.printed} | {one.unit for one in block.notices}
        assert top_k is None or len(units) <= top_k

        shuffled = chance.sample(candidates, len(candidates))
        assert ledger.assemble("q", candidates=shuffled, **request) == block
        counted = ledger.assemble("q", candidates=candidates, **request, count=lambda t: len(t))
        assert (counted.text, counted.printed, counted.left_out) == (
            block.text,
            block.printed,
            block.left_out,
        )
        exact = ledger.assemble("q", candidates=candidates, **request | {"budget": block.used})
        assert exact.text == block.text
        again = ledger.replay(block.receipt.as_dict())
        assert (again.same, again.differences) == (True, ())


@given(
    chance=st.randoms(use_true_random=False), size=st.integers(2, 10), budget=st.integers(0, 900)
)
def test_registered_summaries_alone_make_blocks_that_hold_the_same(
    chance: random.Random, size: int, budget: int
) -> None:
    world = build(chance, size)
    with world.ledger as ledger:
        view = ledger.view(valid_at="2024-04-01")
        block = ledger.assemble("q", view=view, candidates="registered", budget=budget)
        given = [
            {"id": id, "text": f"summary {id[1:]}", **rests}
            for id, rests in world.summaries.items()
        ]
        check(world, view, given, block)
        for judged in ledger.judge(sorted(world.summaries), view):
            mine = block.reasons.get(judged.id)
            own = {None, "budget_exceeded", "conflict_incomplete"}
            assert mine == judged.reason or (judged.eligible and mine in own)
        assert ledger.replay(block.receipt).same
