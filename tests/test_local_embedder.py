"""The embedder that runs here, for real, and those that a word on the command line means."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from doxa.adapters import embedders
from doxa.adapters.embedders import LOCAL, by_name, local
from doxa.engine.embedding import Embedder
from doxa.engine.errors import CallerError
from doxa.engine.outcomes import Gap, Unavailable
from tests.recording import recorded, vectors
from tests.support import ROOT


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test here reaches anything beyond this machine, or a cache of an earlier download."""

    def refuse(*given: Any, **options: Any) -> NoReturn:
        raise AssertionError("the network was asked for")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_local_embedder_needs_no_network() -> None:
    embedders._model.cache_clear()
    found = local().vectors(["Ada lives in London."])
    assert found.shape == (1, 256)
    assert local().name == LOCAL == "wordllama-l2-supercat-256"


def test_a_text_has_the_same_vector_whatever_is_beside_it() -> None:
    texts = [*vectors(), "word " * 500, "日本語の文章です。" * 40, "x", "\u200b", "\ud800"]
    together = local().vectors(texts)
    assert [local().vectors([text])[0].tolist() for text in texts] == together.tolist()
    assert local().vectors(texts[::-1]).tolist() == together[::-1].tolist()


def test_the_vectors_are_those_that_were_recorded() -> None:
    assert recorded().name == LOCAL
    texts = list(vectors())
    assert np.allclose(local().vectors(texts), recorded().vectors(texts), atol=1e-6)


@pytest.mark.parametrize("embedder", [local, recorded])
def test_related_texts_are_nearer_than_unrelated_ones(embedder: Any) -> None:
    answers = {
        "Where is Ada's home?": "Ada has moved her home to Portugal.",
        "When does the observatory shut?": "The observatory closes at ten in the evening.",
        "Was the pump repaired?": "The valve of the pump was replaced in March.",
        "How do I bake a loaf?": "A recipe for bread needs flour, water, salt and yeast.",
    }
    texts = [text for text in vectors() if text not in answers]
    near = embedder().vectors(list(answers)) @ embedder().vectors(texts).T
    assert [texts[at] for at in near.argmax(axis=1).tolist()] == [*answers.values()]


def test_the_rest_of_a_very_long_text_is_left_out() -> None:
    start = "word " * (embedders.LONGEST // 5 + 1)
    one, other = local().vectors([start + "london", start + "lisbon " * 200_000])
    assert one.tolist() == other.tolist()


def test_a_question_without_a_word_has_no_vector() -> None:
    with pytest.raises(Unavailable, match="all of it is zero") as caught:
        local().query("")
    assert caught.value.reason is Gap.VECTORS_UNAVAILABLE


def test_loading_the_model_leaves_the_logging_of_the_program_alone() -> None:
    program = (
        "import logging; from doxa.adapters.embedders import local; local().query('a');"
        "root = logging.getLogger(); print(root.handlers, root.level == logging.WARNING)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("[] True\n", "")


def test_without_its_package_the_way_to_get_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None)
    with pytest.raises(CallerError, match=r"needs: pip install 'doxa\[local\]'"):
        by_name("local")


# ---------------------------------------------------------------- by name


MINE = """
from doxa.engine.embedding import Embedder

def ones(texts):
    return [[1.0, 1.0] for _ in texts]

class Model:
    def embed(self, texts):
        return ones(texts)

model, number = Model(), 3
ready = Embedder("ready", ones, dimension=2)
"""


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a module in the working folder."""
    (tmp_path / "mine_of_a_test.py").write_text(MINE)
    (tmp_path / "broken_of_a_test.py").write_text("raise OSError('no\\nmodel')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.delitem(sys.modules, "mine_of_a_test", raising=False)
    return "mine_of_a_test"


def test_the_word_local_means_the_local_embedder() -> None:
    assert by_name("local") == local()


def test_a_function_is_an_embedder_by_the_word_that_names_it(mine: str) -> None:
    for word in (f"{mine}:ones", f"{mine}:model.embed"):
        found = by_name(word)
        assert found.name == word
        assert found.vectors(["a"]).tolist() == np.full((1, 2), 0.5**0.5, np.float32).tolist()


def test_an_embedder_is_taken_as_it_is(mine: str) -> None:
    found = by_name(f"{mine}:ready")
    assert isinstance(found, Embedder)
    assert (found.name, found.dimension) == ("ready", 2)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "'' is no embedder; give local, or module:attribute"),
        ("openai", "is no embedder"),
        (":ones", "is no embedder"),
        ("mine_of_a_test:", "is no embedder"),
        ("mine_of_a_test:twos", "there is no 'twos' in module 'mine_of_a_test'"),
        ("mine_of_a_test:model.embeds", "there is no 'model.embeds' in module"),
        ("mine_of_a_test:number", "is of type int; name a function"),
        ("missing_of_a_test:ones", "can't be imported: ModuleNotFoundError"),
        ("broken_of_a_test:ones", "can't be imported: OSError 'no model'"),
        ("..:ones", "can't be imported: TypeError"),
    ],
)
def test_a_word_that_means_no_embedder_is_refused(mine: str, word: str, message: str) -> None:
    with pytest.raises(CallerError) as caught:
        by_name(word)
    assert message in str(caught.value)
