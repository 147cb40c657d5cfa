"""The texts that stand for a manual: recorded, so that a change is seen; and the page's settings
for hosts, which name a command that there is."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import doxa
from doxa.adapters.cli.app import app
from doxa.adapters.mcp.desk import Desk
from doxa.adapters.mcp.tools import Toolbox
from tests.frameworks.mcp_agents import Agent, agent
from tests.frameworks.mcp_texts import RECORDED, told
from tests.support import ROOT

PAGE = ROOT / "docs" / "frameworks" / "mcp.md"
BLOCKS = [token for token in MarkdownIt().parse(PAGE.read_text("utf-8")) if token.type == "fence"]
SETTINGS = [json.loads(block.content) for block in BLOCKS if block.info.startswith("json")]


def test_what_an_agent_is_told_is_what_was_recorded(tmp_path: Path) -> None:
    with agent(tmp_path / "a.doxa", "--create") as alice:
        now = told(alice)
    then = RECORDED.read_text("utf-8")
    change = "\n".join(unified_diff(then.splitlines(), now.splitlines(), "recorded", "now", n=1))
    assert now == then, (
        f"{change}\nif that is meant: python -m tests.frameworks.mcp_texts, in this environment"
    )


def test_a_tool_fits_into_what_a_model_reads_of_it() -> None:
    """Hosts cut descriptions that are long, and every token of them is paid for in each request."""
    with doxa.open() as ledger:
        tools = Toolbox(Desk(ledger)).tools.values()
        for tool in tools:
            assert len(tool.text.description) <= 1_024, tool.name
        whole = [[tool.name, tool.text, tool.input_schema] for tool in tools]
        assert len(json.dumps(whole)) < 32_000


def test_no_title_of_a_schema_is_left_but_where_it_is_a_name() -> None:
    def titles(schema: Any, names: bool = False) -> list[str]:
        if isinstance(schema, list):
            return [one for each in schema for one in titles(each)]
        if not isinstance(schema, dict):
            return []
        own = [schema["title"]] if "title" in schema and not names else []
        for name, inner in schema.items():
            own += titles(inner, name in ("properties", "$defs") and not names)
        return own

    with doxa.open() as ledger:
        for tool in Toolbox(Desk(ledger)).tools.values():
            assert titles(tool.input_schema) == titles(tool.output_schema) == []


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: next(iter(one)))
def test_the_settings_of_a_host_name_a_command_that_there_is(settings: dict[str, Any]) -> None:
    from typer.main import get_command

    (servers,) = settings.values()
    (server,) = servers.values()
    assert server["command"] == "/path/to/.venv/bin/doxa"
    assert server["args"][0] == "mcp"
    command: Any = get_command(app).commands["mcp"]  # type: ignore[attr-defined]
    context = command.make_context("mcp", server["args"][1:])
    assert context.params["path"].endswith("people.doxa")
    assert context.params["create"] is not context.params["read_only"]


def test_the_settings_of_a_host_begin_a_server(tmp_path: Path) -> None:
    (args,) = (
        server["args"]
        for settings in SETTINGS
        for server in next(iter(settings.values())).values()
        if "--workspace" in server["args"]
    )
    with agent(tmp_path / "people.doxa", *args[2:]) as alice:
        check(alice)


def check(alice: Agent) -> None:
    assert alice.ask("doxa_view")["view"]["workspace"] == "my-project"


def test_there_are_settings_for_the_usual_hosts() -> None:
    page = PAGE.read_text("utf-8")
    assert len(SETTINGS) == 3
    for host in ("Claude Desktop", "Claude Code", "VS Code", "Cursor"):
        assert f"**{host}**" in page
