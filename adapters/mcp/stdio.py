"""Serving one client over the ends of a wire, until it leaves or the process is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from doxa.adapters.mcp.server import Service
from doxa.adapters.mcp.wire import Wire

__all__ = ["LONGEST", "serve_stdio"]

LONGEST: Final = 4 * 1024 * 1024  # bytes of one message
_AHEAD: Final = 64  # messages that are read before they are looked at, or wait to be written
_TOO_LONG: Final = "\x00"  # what stands for a message that is too long; no JSON begins so
_LEFT_OPEN: Final = 5.0  # seconds for what is under way, once the process was told to end


def serve_stdio(service: Service, wire: Wire) -> None:
    """Serves until the client leaves, or SIGTERM or SIGINT come."""
    asyncio.run(_serve(service, wire))


async def _serve(service: Service, wire: Wire) -> None:
    server, lines = service.server, _Lines(wire.heard)
    loop = asyncio.get_running_loop()
    try:
        with anyio.CancelScope() as scope:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, _end, scope.cancel)
            lines.start(loop)
            async with stdio_server(stdin=lines, stdout=_Told(wire.told)) as (incoming, outgoing):
                telling = _Telling(outgoing)
                heard = _Answering(incoming, telling)
                await server.run(heard, telling, server.create_initialization_options())
    except* BrokenPipeError:  # the client is gone, and reads no more answers
        pass


def _end(cancel: Callable[[], None]) -> None:
    """Stops serving; a client that no longer reads what it is sent does not keep the process."""
    late = threading.Timer(_LEFT_OPEN, os._exit, (128 + signal.SIGTERM,))
    late.daemon = True
    late.start()
    cancel()


class _Told:
    """A file that is written to, whole texts at a time."""

    def __init__(self, file: int) -> None:
        self._file = file

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._write, text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        """There is nothing that waits to be written."""

    def _write(self, left: bytes) -> None:
        while left:
            left = left[os.write(self._file, left) :]


class _Lines:
    """The lines of a file, read by a thread that nothing waits for: a read of stdin can't be
    called off. Lines that are blank are left out, and one that is too long is not kept."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._room = threading.Semaphore(_AHEAD)
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to read."""
        threading.Thread(target=self._read, args=(loop,), daemon=True, name="stdin").start()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        self._room.release()
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        def give(line: str | None) -> None:
            if line is not None:
                self._room.acquire()
            loop.call_soon_threadsafe(self._lines.put_nowait, line)

        try:
            self._split(give)
            give(None)
        except RuntimeError:  # the loop is closed: nobody listens any more
            return

    def _split(self, give: Callable[[str], None]) -> None:
        kept: list[bytes] = []
        size = 0
        while chunk := self._chunk():
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                size += len(end)
                line = b"" if size > LONGEST else b"".join([*kept, end])
                if size > LONGEST:
                    give(_TOO_LONG)
                elif line.strip():
                    give(line.decode("utf-8", "replace"))
                kept, size = [], 0
            size += len(rest)
            kept = (
                []
                if size > LONGEST
                else [*kept, rest]
                if len(kept) < 64
                else [b"".join(kept) + rest]
            )
        if size and size <= LONGEST and (line := b"".join(kept)).strip():
            give(line.decode("utf-8", "replace"))

    def _chunk(self) -> bytes:
        try:
            return os.read(self._file, 1 << 16)
        except OSError:
            return b""


class _Telling:
    """What a client is told, and how much of it waits until the client reads."""

    def __init__(self, outgoing: Any) -> None:
        self._outgoing, self._waiting, self._less = outgoing, 0, anyio.Event()

    async def send(self, item: Any) -> None:
        self._waiting += 1
        try:
            await self._outgoing.send(item)
        finally:
            self._waiting -= 1
            self._less.set()

    async def room(self) -> None:
        """Waits while too much waits."""
        while self._waiting >= _AHEAD:
            self._less = anyio.Event()
            await self._less.wait()

    async def aclose(self) -> None:
        await self._outgoing.aclose()

    async def __aenter__(self) -> _Telling:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Answering:
    """What a client says, less what can't be read: that is answered with an error, where the SDK
    would say nothing. Who reads no answers is not heard any further."""

    def __init__(self, incoming: Any, outgoing: _Telling) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def last_context(self) -> Any:
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> Any:
        await self._outgoing.room()
        while isinstance(item := await self._incoming.receive(), Exception):
            await self._outgoing.send(SessionMessage(_unreadable(item)))
        return item

    def __aiter__(self) -> _Answering:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._incoming.aclose()

    async def __aenter__(self) -> _Answering:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _unreadable(error: Exception) -> Any:
    """The error for what is no message of the protocol."""
    kinds = {each["type"] for each in error.errors()} if hasattr(error, "errors") else set()
    code = types.PARSE_ERROR if "json_invalid" in kinds else types.INVALID_REQUEST
    message = (
        f"a message is one line of JSON-RPC 2.0, an object of at most {LONGEST} bytes; this was not"
    )
    return types.JSONRPCError(
        jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=message)
    )
