"""Single calls at a history of 10,000 events, by pytest-benchmark: run by ``make bench``.

The comparisons with other stores, the larger histories and the bars are `python -m doxa.bench`.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.bench.appends import claim
from doxa.bench.fields import Field, moment, sentence

SIZE = 10_000


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    made = Field(SIZE, tmp_path_factory.mktemp("field"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def view(field: Field) -> doxa.TruthView:
    return field.ledger.view(valid_at=moment(field.workload.instant_at(0.9)))


def keys(field: Field) -> Iterator[tuple[str, str]]:
    return itertools.cycle(list(itertools.islice(field.workload.keys(field.workload.rng("")), 997)))


def ids(field: Field) -> Iterator[str]:
    return itertools.cycle(field.workload.picked(field.workload.rng(""), 997))


def test_view(benchmark: Any, field: Field) -> None:
    """Capturing a live view."""
    at = moment(field.workload.instant_at(0.5))
    assert benchmark(lambda: field.ledger.view(valid_at=at)).live


def test_values(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """The values of a subject's predicate."""
    asked = keys(field)
    benchmark(lambda: view.values(*next(asked)))


def test_standing(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """The standing of a claim."""
    asked = ids(field)
    assert benchmark(lambda: view.standing(next(asked)))


def test_why(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """The tree behind a claim, read from the log."""
    asked = ids(field)
    assert benchmark(lambda: view.why(next(asked))).behind


def test_history(benchmark: Any, field: Field) -> None:
    """The successive beliefs about a subject's predicate."""
    at, asked = moment(field.workload.instant_at(0.5)), keys(field)
    benchmark(lambda: field.ledger.history(*next(asked), valid_at=at))


def test_slice_of_one_subject(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """An Arrow table of what is held of one subject."""
    asked = keys(field)
    assert benchmark(lambda: view.to_arrow(subject=next(asked)[0])).num_columns


def test_fingerprint(benchmark: Any, field: Field) -> None:
    """A view and its digest, never of the same coordinates twice."""
    rng = field.workload.rng("fingerprint")

    def ask() -> str:
        v, k = field.workload.coordinates(rng)
        return field.ledger.view(valid_at=moment(v), known_at=k).fingerprint

    assert benchmark.pedantic(ask, rounds=20, warmup_rounds=1)


def test_judge(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """Whether a hundred summaries may be served."""
    names = [f"n{number}" for number in range(100)]
    assert len(benchmark(lambda: field.ledger.judge(names, view))) == 100


def test_assemble_ten(benchmark: Any, field: Field, view: doxa.TruthView) -> None:
    """A block of 2,000 characters out of ten candidates."""
    asked = ids(field)

    def ask() -> doxa.Block:
        found = [
            {"id": f"t{n}", "text": sentence("it"), "facts": [next(asked)], "score": 1 - n / 10}
            for n in range(10)
        ]
        return field.ledger.assemble("?", candidates=found, view=view, budget=2_000)

    assert benchmark(ask).left_out


def test_append_in_memory(benchmark: Any) -> None:
    """One commit of one claim, without a disk."""
    number = itertools.count()
    with doxa.open() as ledger:
        benchmark(lambda: ledger.append([claim(f"m{next(number)}")]))


def test_append_durably(benchmark: Any, tmp_path: Path) -> None:
    """One commit of one claim, with its flush."""
    number = itertools.count()
    with doxa.open(tmp_path / "ledger") as ledger:
        benchmark(lambda: ledger.append([claim(f"m{next(number)}")]))


IMPORT = """
import time, pydantic
class Loaded(pydantic.BaseModel): x: int
started = time.perf_counter()
import doxa
{more}
print(time.perf_counter() - started)
"""


@pytest.mark.parametrize("more", ["", "doxa.Ledger", "doxa.open().close()"])
def test_import(benchmark: Any, more: str) -> None:
    """``import doxa`` beyond pydantic, with the ledger class, with a ledger opened.

    The time is that of the whole process; the seconds inside it are extra information.
    """
    found: list[float] = []

    def start() -> None:
        command = [sys.executable, "-c", IMPORT.format(more=more)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(float(done.stdout))

    benchmark.pedantic(start, rounds=7)
    benchmark.extra_info["inside, least"] = min(found)
