"""What an agent is told of a server, as one text: it is compared with the recorded one, so that no
word of it changes unseen. ``python -m tests.frameworks.mcp_texts`` records it anew."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from tests.frameworks.mcp_agents import Agent, agent
from tests.support import ROOT

RECORDED = ROOT / "tests" / "recorded" / "mcp-tools.txt"


def told(alice: Agent) -> str:
    """All that a client is told before it calls anything."""
    return "\n".join(_lines(alice)) + "\n"


def _lines(alice: Agent) -> Iterator[str]:
    yield "INSTRUCTIONS"
    for part in str(alice.client.instructions).split("\n\n"):
        yield _wrapped(part, 0)
    for tool in alice.do("list_tools").tools:
        hints = tool.annotations
        yield f"\nTOOL {tool.name}: {tool.title}"
        yield _wrapped(tool.description, 2)
        yield (
            f"  read only {hints.read_only_hint}, destructive {hints.destructive_hint}, "
            f"idempotent {hints.idempotent_hint}, open world {hints.open_world_hint}"
        )
        yield from _schema("takes", tool.input_schema)
        yield from _schema("gives", tool.output_schema)
    for template in alice.do("list_resource_templates").resource_templates:
        yield f"\nRESOURCE {template.uri_template}: {template.title}"
        yield _wrapped(template.description, 2)
    for prompt in alice.do("list_prompts").prompts:
        yield f"\nPROMPT {prompt.name}: {prompt.title}"
        yield _wrapped(prompt.description, 2)
        for one in prompt.arguments:
            needed = ", needed" if one.required else ""
            yield _wrapped(f"{one.name}{needed}: {one.description}", 4)


def _schema(title: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"  {title}{_rest(schema, ('properties', '$defs', 'required', 'type'))}"
    yield from _properties(schema, 4)
    for name, inner in schema.get("$defs", {}).items():
        yield f"    where {name}{_rest(inner, ('properties', 'required', 'type'))}"
        yield from _properties(inner, 6)


def _properties(schema: dict[str, Any], indent: int) -> Iterator[str]:
    for name, one in schema.get("properties", {}).items():
        needed = ", needed" if name in schema.get("required", ()) else ""
        yield _wrapped(f"{name}{needed}{_rest(one, ())}", indent)


def _rest(schema: dict[str, Any], without: tuple[str, ...]) -> str:
    """What else a schema says: its description, and the others as JSON."""
    about = schema.get("description")
    others = {key: value for key, value in schema.items() if key not in (*without, "description")}
    shown = f" {json.dumps(others, sort_keys=True)}" if others else ""
    return shown + ("" if about is None else f": {about}")


def _wrapped(text: str, indent: int) -> str:
    before = " " * indent
    return fill(
        text,
        100,
        initial_indent=before,
        subsequent_indent=f"{before}    " if indent > 2 else before,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _record() -> None:
    with tempfile.TemporaryDirectory() as place, agent(Path(place) / "a", "--create") as alice:
        RECORDED.write_text(told(alice), "utf-8")


if __name__ == "__main__":
    _record()
