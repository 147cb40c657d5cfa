"""Agents that use a ledger over MCP: the SDK's own client, and one that says whatever it likes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

__all__ = ["HELLO", "Agent", "Raw", "agent", "command", "environment", "over_http", "raw"]

HELLO: dict[str, Any] = {  # the first message of a client of the older kind
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
PATIENCE = 60.0  # seconds for an answer, on a machine that has much else to do


def command(folder: Path | str, *options: object) -> list[str]:
    """The command line that serves a ledger."""
    return [sys.executable, "-m", "doxa", "mcp", str(folder), *map(str, options)]


def environment(**more: str) -> dict[str, str]:
    """The environment of a server: that of the tests, without what is meant for doxa."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOXA_")}
    return {**kept, **more}


class Agent:
    """A client that calls tools one after the other, from code that does not wait otherwise."""

    def __init__(self, portal: Any, client: Any) -> None:
        self.portal, self.client = portal, client

    def do(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What an asynchronous call of the client gives."""

        async def doing() -> Any:
            return await getattr(self.client, name)(*args, **kwargs)

        return self.portal.call(doing)

    def result(self, tool: str, /, **arguments: Any) -> Any:
        """The whole result of a tool."""
        return self.do("call_tool", tool, arguments)

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The data of an answer, which is no error."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content[0].text
        data: dict[str, Any] = result.structured_content
        return data

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of an answer, which is no error."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content[0].text
        (content,) = result.content
        return str(content.text)

    def fails(self, tool: str, /, **arguments: Any) -> str:
        """The words of an error."""
        result = self.result(tool, **arguments)
        assert result.is_error, result.content[0].text
        assert result.structured_content is None
        return str(result.content[0].text)

    def tools(self) -> dict[str, Any]:
        """The tools by their names."""
        return {tool.name: tool for tool in self.do("list_tools").tools}

    def read(self, uri: str) -> str:
        """The text of a resource."""
        (content,) = self.do("read_resource", uri).contents
        assert content.uri == uri
        return str(content.text)


@contextmanager
def _connected(transport: Any, **options: Any) -> Iterator[Agent]:
    from anyio.from_thread import start_blocking_portal
    from mcp.client import Client

    failed: BaseException | None = None
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(transport(), **options)) as client,
    ):
        try:
            yield Agent(portal, client)
        except BaseException as error:  # it is not to be told as one of several of the client's
            failed = error
    if failed is not None:
        raise failed


@contextmanager
def agent(
    folder: Path | str, *options: object, log: Path | None = None, **variables: str
) -> Iterator[Agent]:
    """The SDK's client over stdio, and a server of its own; ``log`` gets the server's stderr."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    line = command(folder, *options)
    server = StdioServerParameters(command=line[0], args=line[1:], env=environment(**variables))
    with (
        open(log or os.devnull, "w", encoding="utf-8") as errors,
        _connected(lambda: stdio_client(server, errlog=errors)) as connected,
    ):
        yield connected


@contextmanager
def over_http(url: str, token: str | None = None) -> Iterator[Agent]:
    """The SDK's client over HTTP."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as client,
            streamable_http_client(url, http_client=client) as streams,
        ):
            yield streams

    with _connected(transport) as connected:
        yield connected


class Raw:
    """A server, and a client that writes bytes to it and reads lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, text: bytes) -> None:
        """Bytes, as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        """One message."""
        self.write(json.dumps({**message, "jsonrpc": "2.0"}).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        """The next message; every line of stdout is one."""
        line = self.lines.get(timeout=PATIENCE)
        assert line is not None, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answers(self, *ids: object) -> dict[object, dict[str, Any]]:
        """The messages with these ids, in whatever order they come."""
        found: dict[object, dict[str, Any]] = {}
        while len(found) < len(ids):
            message = self.answer()
            assert message["id"] in ids, message
            found[message["id"]] = message
        return found

    def greet(self) -> dict[str, Any]:
        """The handshake."""
        self.send(**HELLO)
        answered = self.answer()
        self.send(method="notifications/initialized")
        return answered

    def call(self, id: object, tool: str, /, **arguments: Any) -> None:
        """A call of a tool, whose answer is not waited for."""
        self.send(id=id, method="tools/call", params={"name": tool, "arguments": arguments})

    def ended(self) -> int:
        """The exit code."""
        return self.process.wait(PATIENCE)

    def left(self) -> list[bytes]:
        """All lines up to the end of stdout."""
        found = []
        while (line := self.lines.get(timeout=PATIENCE)) is not None:
            found.append(line)
        return found


@contextmanager
def raw(
    folder: Path | str, *options: object, log: Path | None = None, **variables: str
) -> Iterator[Raw]:
    """A server that is told whatever the test likes; it is gone at the end."""
    with (
        open(log or os.devnull, "wb") as errors,
        subprocess.Popen(
            command(folder, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(**variables),
        ) as process,
    ):
        try:
            yield Raw(process)
        finally:
            process.kill()
