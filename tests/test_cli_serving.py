"""The mcp command, as far as it goes without the SDK: what it needs, and what it refuses."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from doxa.adapters.cli import serving
from tests.test_cli import failed


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK, as far as it is asked whether it is there."""
    monkeypatch.setattr(serving, "find_spec", lambda name: object())
    monkeypatch.delenv(serving.TOKEN, raising=False)


def test_without_the_sdk_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        serving, "find_spec", lambda name: None if name == "mcp" else find_spec(name)
    )
    assert "pip install 'doxa[mcp]'" in failed(2, "mcp", tmp_path / "a.doxa")


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--create", "--read-only"], "--create and --read-only"),
        (["--no-token"], "go with --http"),
        (["--token-file", "t"], "go with --http"),
        (["--host-name", "n"], "go with --http"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, options: list[str], said: str
) -> None:
    assert said in failed(2, "mcp", tmp_path / "a.doxa", *options)
    assert not (tmp_path / "a.doxa").exists()


@pytest.mark.usefixtures("found")
def test_where_there_is_no_ledger_the_whole_path_and_the_option_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = failed(2, "mcp", "agent.doxa")
    assert f"there is no ledger at {tmp_path / 'agent.doxa'}; give --create" in said
    assert "--create" not in failed(2, "mcp", "agent.doxa", "--read-only")
    assert not (tmp_path / "agent.doxa").exists()
