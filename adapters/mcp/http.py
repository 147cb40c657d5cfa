"""Serving over streamable HTTP: for whom has the token, and under the names that were given."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from doxa.adapters.mcp.server import Service
from doxa.engine.errors import CallerError

__all__ = ["Address", "bound", "serve_http"]

PATH: Final = "/mcp"
LARGEST: Final = 4 * 1024 * 1024  # bytes of one request
CONNECTIONS: Final = 256  # at once; one more is told 503
_PATIENCE: Final = 5  # seconds for what is under way, once the process was told to end
_SHORTEST: Final = 16  # characters of a token

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether nobody else can reach it than this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def any(self) -> bool:
        """Whether it is no address of its own, but all that this machine has."""
        return self.host in ("0.0.0.0", "::")

    @property
    def shown(self) -> str:
        """The host as it stands in an address of the web."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @classmethod
    def parsed(cls, text: str) -> Address:
        """HOST:PORT, or a port alone, which is on loopback. Raises `CallerError`."""
        host, _, port = text.rpartition(":")
        if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65_536):
            raise CallerError(
                f"--http is {text!r:.80}; give HOST:PORT, such as 127.0.0.1:8765, or a port alone"
            )
        return cls(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def bound(address: Address) -> socket.socket:
    """A socket that listens there. Raises `CallerError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CallerError(
            f"can't listen on {address.shown}:{address.port}: {error.strerror or error}; give "
            "another --http"
        ) from None
    return listening


def serve_http(
    service: Service,
    listening: socket.socket,
    address: Address,
    token: str | None,
    names: Sequence[str] = (),
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serves until SIGTERM or SIGINT come. ``names`` are further names of this host, under which
    clients or a proxy may ask for it. ``started`` is told the address."""
    port = listening.getsockname()[1]
    app = service.server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # nothing is kept from one call to the next
        max_request_body_size=LARGEST,
        transport_security=_names(address, port, names),
    )
    config = uvicorn.Config(
        _Guarded(app, token),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=_PATIENCE,
        ws="none",
    )
    server = _Server(config)
    started(f"http://{address.shown}:{port}{PATH}")
    asyncio.run(server.serve(sockets=[listening]))


def _names(address: Address, port: int, names: Sequence[str]) -> TransportSecuritySettings:
    """Under which names the server answers: a page in a browser that has its own name point here
    gets nothing."""
    own = ["127.0.0.1", "localhost", "[::1]"] if address.loopback else [address.shown]
    hosts = [f"{name}:{port}" for name in own]
    origins = [f"http://{host}" for host in hosts]
    for name in names:
        hosts += [name, f"{name}:*"]
        origins += [f"https://{name}", f"https://{name}:*", f"http://{name}", f"http://{name}:*"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


def checked_token(text: str, where: str) -> str:
    """A token that was given. Raises `CallerError`, which does not repeat it."""
    token = text.strip()
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise CallerError(
            f"the token in {where} can't be used: give {_SHORTEST} or more ASCII characters "
            "without spaces, such as the output of: openssl rand -hex 32"
        )
    return token


class _Guarded:
    """An application for whom has the token, if there is one. No stream is held open (GET), as
    there is nothing that the server would say by itself."""

    def __init__(self, app: Any, token: str | None) -> None:
        self._app, self._token = app, None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._known(scope):
            said = "a bearer token is needed: Authorization: Bearer TOKEN"
            await _refuse(send, 401, said, (b"www-authenticate", b'Bearer realm="doxa"'))
        elif scope["type"] == "http" and scope["method"] == "GET":
            await _refuse(send, 405, f"POST to {PATH}", (b"allow", b"POST"))
        else:
            await self._app(scope, receive, send)

    def _known(self, scope: Scope) -> bool:
        if self._token is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and kind.lower() == b"bearer"


async def _refuse(send: Send, status: int, said: str, header: tuple[bytes, bytes]) -> None:
    body = json.dumps({"error": said}).encode() + b"\n"
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what else was sent is not read
        header,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Server(uvicorn.Server):
    """Ends when it is told to, and lets the process close the ledger then."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
