"""The libraries that an extra brings: what is said where they are not there, or of another time."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import doxa
from doxa.adapters import aes, embedders, frames, signing
from doxa.adapters.endpoint import Endpoint
from doxa.adapters.extras import MissingExtra, needed
from doxa.adapters.graphiti.stored import read_graph
from doxa.adapters.markdown import lint


def test_a_library_that_is_not_installed_is_named_with_its_extra() -> None:
    with (
        pytest.raises(
            MissingExtra, match=r"^missing_lib is not installed: pip install 'doxa\[x\]'"
        ),
        needed("missing_lib", "x"),
    ):
        importlib.import_module("missing_lib.parts")


@pytest.mark.parametrize("line", ["import old_lib.agents", "from old_lib import agents"])
def test_a_release_that_lacks_what_is_needed_is_said_to_be_one(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = ModuleType("old_lib")
    old.__path__ = []
    monkeypatch.setitem(sys.modules, "old_lib", old)
    with (
        pytest.raises(MissingExtra, match=r"agents.*pip install --upgrade 'doxa\[x\]'"),
        needed("old_lib", "x"),
    ):
        exec(line)


def test_what_another_library_lacks_is_raised_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="missing_lib") as raised, needed("old_lib", "x"):
        importlib.import_module("missing_lib")
    assert not isinstance(raised.value, MissingExtra)


@pytest.mark.parametrize(
    ("library", "extra", "call"),
    [
        ("cryptography", "encryption", lambda place: aes.check_library()),
        ("cryptography", "signing", lambda place: signing.keygen(place / "key")),
        ("pandas", "pandas", lambda place: frames.to_pandas(None)),
        ("polars", "polars", lambda place: frames.to_polars(None)),
        ("markdown_it", "markdown", lambda place: lint(place)),
        ("ruamel", "markdown", lambda place: lint(place)),
        ("graphiti_core", "graphiti", lambda place: asyncio.run(read_graph(None))),
    ],
)
def test_whatever_needs_an_extra_says_so_in_one_way(
    library: str,
    extra: str,
    call: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == library:
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "memo.md").write_text("---\nid: memo\n---\nThis memo supersedes [[other]].\n")
    clone = rf"pip install 'doxa\[{extra}\]' \(from a clone: pip install '\.\[{extra}\]'\)"
    with pytest.raises(MissingExtra, match=clone) as raised:
        call(tmp_path)
    assert isinstance(raised.value, doxa.CallerError)
    assert raised.value.code == "missing_extra"


def test_an_endpoint_and_the_local_embedder_name_their_extras(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("doxa.adapters.endpoint.find_spec", lambda name: None)
    monkeypatch.setattr("doxa.adapters.embedders.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"'doxa\[llm\]'"):
        Endpoint("http://127.0.0.1:1/v1", "m").ready()
    with pytest.raises(MissingExtra, match=r"'doxa\[local\]'"):
        embedders.local()
