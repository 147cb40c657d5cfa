"""The libraries that an extra brings: what is said where they are not there, or of another time."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from doxa.adapters.extras import MissingExtra, needed


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
