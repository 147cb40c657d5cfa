"""The command that serves a ledger to agents."""

from __future__ import annotations

import logging
import os
import stat
import sys
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import typer

from doxa.adapters.cli import asking
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import note
from doxa.adapters.mcp.wire import Wire, claimed
from doxa.engine.errors import CallerError, NotALedger
from doxa.ledger import Ledger

if TYPE_CHECKING:
    from doxa.adapters.mcp.desk import Desk
    from doxa.adapters.mcp.http import Address

__all__ = ["add_to"]

TOKEN: Final = "DOXA_MCP_TOKEN"  # the variable; a token on a command line is seen by all


def mcp(
    path: opt.Path,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer no tool that records.")
    ] = False,
    workspace: Annotated[
        str | None,
        typer.Option(
            help="Serve this workspace only; tools have no argument for it then. Left out: all."
        ),
    ] = None,
    shared: opt.Shared = True,
    create: Annotated[
        bool, typer.Option("--create", help="Make the ledger where there is none.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            help="Serve streamable HTTP here, not stdin and stdout; a port alone is on loopback.",
            metavar="HOST:PORT",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            help=f"The file with the bearer token for --http; or set {TOKEN}.", metavar="FILE"
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let all programs of this machine in, over loopback.")
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            help="A further name under which --http is asked for, as behind a proxy; may be "
            "repeated.",
            metavar="NAME",
        ),
    ] = None,
    embedder: asking.Embedder = None,
    trust: asking.Trust = None,
) -> None:
    """Serve a ledger to agents, over the Model Context Protocol.

    Over stdin and stdout, for a host that starts it; or with --http over streamable HTTP. It ends,
    with 0, when stdin does, or on SIGTERM. Needs the extra mcp.
    """
    if find_spec("mcp") is None:
        raise CallerError("doxa mcp needs the MCP SDK; install it: pip install 'doxa[mcp]'")
    if create and read_only:
        raise CallerError("give one of --create and --read-only")
    if http is None and (token_file is not None or no_token or host_name):
        raise CallerError("--token-file, --no-token and --host-name go with --http")
    address, token = (None, None) if http is None else _guard(http, token_file, no_token)
    if address is not None and address.any and not host_name:
        raise CallerError(
            f"--http {address.shown} listens everywhere: say with --host-name under which names, "
            "or addresses, clients ask for it"
        )
    if address is None and sys.stdin.isatty():
        note("waits for a client on stdin, which a host connects; docs/frameworks/mcp.md says how")
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="doxa: %(name)s: %(message)s"
    )
    wire = claimed() if address is None else None
    with _opened(path, create, read_only, embedder) as ledger:
        from doxa.adapters.mcp.desk import Desk

        desk = Desk(ledger, read_only, workspace, shared, trust)
        if told := desk.uncalibrated():
            note(told)
        _serve(desk, wire, address, token, host_name or [])


def _opened(
    path: str, create: bool, read_only: bool, embedder: str | None
) -> AbstractContextManager[Ledger]:
    if not os.path.exists(path):
        if not create:
            made = "" if read_only else "give --create to have it made there, or "
            raise NotALedger(
                f"there is no ledger at {os.path.abspath(path)}; {made}give the whole path of one "
                "that there is"
            )
        with opt.writing(path):
            note(f"made the ledger {os.path.abspath(path)}")
    return opt.reading(path, embedder)


def _serve(
    desk: Desk, wire: Wire | None, address: Address | None, token: str | None, names: list[str]
) -> None:
    from doxa.adapters.mcp.server import Service
    from doxa.adapters.mcp.workers import Workers

    workers = Workers()
    service = Service(desk, workers)
    try:
        if wire is not None:
            from doxa.adapters.mcp.stdio import serve_stdio

            serve_stdio(service, wire)
        else:
            assert address is not None
            from doxa.adapters.mcp.http import bound, serve_http

            listening = bound(address)
            if not address.loopback:
                note("the token goes over the wire as it is: put a proxy with TLS in front")
            serve_http(service, listening, address, token, names, lambda url: note(f"serves {url}"))
    finally:
        workers.close()


def _guard(http: str, token_file: str | None, no_token: bool) -> tuple[Address, str | None]:
    """Where to listen, and the token that is asked for."""
    from doxa.adapters.mcp.http import Address, checked_token

    address = Address.parsed(http)
    in_variable = os.environ.get(TOKEN)
    if no_token:
        if token_file is not None:
            raise CallerError("give one of --token-file and --no-token")
        if not address.loopback:
            raise CallerError(
                f"--no-token goes with loopback only, and {address.host} is not: give --token-file"
            )
        return address, None
    if token_file is not None:
        return address, checked_token(_read(token_file), token_file)
    if in_variable:
        return address, checked_token(in_variable, TOKEN)
    raise CallerError(
        f"--http needs a bearer token: give --token-file, or set {TOKEN}; or --no-token, which "
        "lets all programs of this machine in"
    )


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRGRP | stat.S_IROTH):
                note(f"others can read {path}; make it yours alone: chmod 600")
            return file.read(4_096)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CallerError(f"the token can't be read from {path}: {why}") from None


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command()(mcp)
