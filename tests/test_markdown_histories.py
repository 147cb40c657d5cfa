"""Whatever becomes of the files, and whatever people record in between, an import goes on."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.markdown import import_corpus
from doxa.ledger import Ledger
from tests.memos import text

NAMES = ("a.md", "b.md", "x/a.md", "c.md", "d.md")
STEMS = ("a", "b", "c", "d", "gone")


def content(chance: random.Random) -> bytes:
    """A memo, or what is none."""
    if chance.random() < 0.1:
        return chance.choice([b"\xff", b"---\nvalid_from: soon\n---\nx", b"---\nid: [\n---\n"])
    front = {}
    if chance.random() < 0.5:
        front["valid_from"] = f"2024-0{chance.randint(1, 4)}-01"
    if chance.random() < 0.3:
        front["valid_until"] = "2024-06-30"
    if chance.random() < 0.7:
        front["supersedes"] = f"[{', '.join(chance.sample(STEMS, chance.randint(1, 3)))}]"
    if chance.random() < 0.3:
        front["sources"] = f"[{', '.join(chance.sample(['L', 'M'], chance.randint(1, 2)))}]"
    if chance.random() < 0.2:
        front["id"] = chance.choice(["I", "J"])
    return text(chance.choice(["one", "two", "three"]), **front).encode()


def change(folder: Path, chance: random.Random) -> None:
    """Files that are written or removed."""
    for name in chance.sample(NAMES, chance.randint(1, 4)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and chance.random() < 0.3:
            path.unlink()
        else:
            path.write_bytes(content(chance))


def interfere(ledger: Ledger, chance: random.Random) -> None:
    """Something that a person records, if it can be recorded."""
    claims = [item.id for item in ledger.view(valid_at="2024-05-01").claims(standing="any")]
    if not claims:
        return
    one, other = chance.choice(claims), chance.choice(claims)
    source = chance.choice(["L", "M", "n/a.md", "n/b.md"])
    recorded = chance.choice([">1", "/support", ">1!1", "/support!1"])
    acts: list[Callable[[], object]] = [
        lambda: ledger.withdraw(one),
        lambda: ledger.withdraw(one + recorded),
        lambda: ledger.withdraw(doxa.Source(source)),
        lambda: ledger.correct(one, by=other),
        lambda: ledger.support(one, source="somebody else"),
        lambda: (ledger.archive([one]), ledger.purge([one], reason="asked for")),
    ]
    with contextlib.suppress(doxa.CallerError, doxa.ConflictError):
        chance.choice(acts)()


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_an_import_goes_on_and_a_second_one_writes_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rounds: int
) -> None:
    folder, chance = tmp_path_factory.mktemp("histories") / "n", random.Random(seed)
    with doxa.open() as ledger:
        for _ in range(rounds):
            change(folder, chance)
            first = import_corpus(ledger, folder, allow_empty=True)
            second = import_corpus(ledger, folder, allow_empty=True)
            assert second.unchanged, second.as_dict()
            aside = [
                [(each.path, each.name) for each in done.set_aside] for done in (first, second)
            ]
            assert aside[0] == aside[1]
            interfere(ledger, chance)
        report = ledger.verify()
        assert report.ok, report
