"""Serving over HTTP: for whom has the token, under its own name, within bounds."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import doxa
from doxa.adapters.mcp.http import LARGEST, Address
from doxa.engine.errors import CallerError
from tests.frameworks.mcp_agents import PATIENCE, command, environment, over_http
from tests.frameworks.test_mcp import RECORDING
from tests.frameworks.test_mcp_reach import refused

TOKEN = "a-token-that-nobody-can-guess"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
SAID = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Site:
    """A server that listens, and requests to it."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process, self.url, self.log = process, url, log
        self.host, self.port = urlsplit(url).hostname or "", urlsplit(url).port or 0

    def post(
        self, body: object = LIST, path: str = "/mcp", method: str = "POST", **headers: str
    ) -> tuple[int, str]:
        """The status and the text that a request gets."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = SAID | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, text, given)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@contextmanager
def serving(folder: Path, *options: object, **variables: str) -> Iterator[Site]:
    log = folder.parent / "log"
    line = command(folder, "--http", "0", *options)
    with (
        open(log, "wb") as errors,
        subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(**variables),
        ) as process,
    ):
        try:
            yield Site(process, listening(process, log), log)
        finally:
            process.kill()


def listening(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that a server tells of."""
    while True:
        for line in log.read_text().splitlines():
            if line.startswith("serves "):
                return line.removeprefix("serves ")
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("http") / "people.doxa"
    with doxa.open(path) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
    return path


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    token = folder.parent / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    with serving(folder, "--token-file", token, "--host-name", "doxa.example") as site:
        yield site
        assert TOKEN not in site.log.read_text()


def test_the_real_client_does_over_http_what_it_does_over_stdio(site: Site) -> None:
    with over_http(site.url, TOKEN) as alice:
        assert set(alice.tools()) >= RECORDING
        alice.ask("doxa_correct", claim="home", object="Lisbon", source="letter", id="moved",
                  valid_from="2024-06-01")  # fmt: skip
        seen = alice.ask("doxa_view", subject="ada", predicate="lives_in")
        assert seen["values"] == ["Lisbon"]
        assert "> ada lives in Lisbon" in alice.text("doxa_assemble", query="Where is Ada?")
        assert alice.fails("doxa_why", id="none").startswith("unknown_target: ")
        assert "claim home" in alice.read("doxa://claim/home")


def test_two_clients_see_what_each_records(site: Site) -> None:
    with over_http(site.url, TOKEN) as alice, over_http(site.url, TOKEN) as bob:
        alice.ask("doxa_claim", subject="bo", predicate="age", object=1, id="bo", source="s")
        assert bob.ask("doxa_view", subject="bo", predicate="age")["values"] == [1]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer \u00fc\u00ff"},
    ],
)
def test_without_the_token_there_is_nothing(site: Site, given: dict[str, str]) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/")):
        status, text = site.post(method=method, path=path, **given)
        assert status == 401
        assert "bearer token is needed" in text
        assert TOKEN not in text
    assert site.post(Authorization=f"bearer {TOKEN}", MCP_Protocol_Version="2025-06-18")[0] == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "doxa.example"}, 200),
        ({"Host": "doxa.example:443", "Origin": "https://doxa.example"}, 200),
    ],
)
def test_a_name_that_was_not_given_is_answered_nothing(
    site: Site, given: dict[str, str], status: int
) -> None:
    asked = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18", **given}
    got, text = site.post(**asked)
    assert got == status
    assert ("doxa_view" in text) == (status == 200)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[" * 100_000,
        b"[]",
        b"17",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    ],
    ids=lambda body: repr(body[:30]),
)
def test_nonsense_is_refused_and_the_next_request_answered(site: Site, body: bytes) -> None:
    known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    status, text = site.post(body, **known)
    assert status == 400 or "error" in json.loads(text)
    assert "Traceback" not in text
    assert site.post(**known)[0] == 200


def test_a_request_that_is_too_large_is_not_read(site: Site) -> None:
    known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    status, _ = site.post(b" " * (LARGEST + 1), **known)
    assert status == 413
    assert site.post(b"{}", MCP_Session_Id="x" * 70_000, **known)[0] in (400, 431)
    assert site.post(**known)[0] == 200


def test_a_flood_over_http_is_answered_every_request(site: Site) -> None:
    known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    call = {**LIST, "method": "tools/call"}
    call["params"] = {"name": "doxa_recall", "arguments": {"query": "Where is Ada?"}}
    with ThreadPoolExecutor(40) as many:
        answers = [*many.map(lambda _: site.post(call, **known), range(200))]
    for status, text in answers:
        assert status in (200, 503)
        if status == 200:
            result = json.loads(text)["result"]
            assert not result["isError"] or result["content"][0]["text"].startswith("busy: ")
    assert any(status == 200 for status, _ in answers)
    assert site.post(**known)[0] == 200


def test_no_stream_is_held_open(site: Site) -> None:
    known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    for path in ("/mcp", "/"):
        assert site.post(method="GET", path=path, **known)[0] == 405
    assert site.post(method="DELETE", **known)[0] == 405
    assert site.post(path="/other", **known)[0] == 404


def test_a_connection_that_is_dropped_halfway_does_no_harm(site: Site) -> None:
    for text in (b"", b"POST /mcp HTTP/1.1\r\nHo", b"nonsense\r\n\r\n", b"\x16\x03\x01" * 50):
        with socket.create_connection((site.host, site.port), timeout=PATIENCE) as connection:
            connection.sendall(text)
    known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    assert site.post(**known)[0] == 200


# ---------------------------------------------------------------- beginning and ending


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_and_nothing_is_on_stdout(folder: Path, number: int) -> None:
    with serving(folder, "--read-only", DOXA_MCP_TOKEN=TOKEN) as site:
        with over_http(site.url, TOKEN) as alice:
            assert not RECORDING & set(alice.tools())
        site.process.send_signal(number)
        assert site.process.wait(PATIENCE) == 0
        assert site.process.stdout is not None
        assert site.process.stdout.read() == b""
        assert site.log.read_text() == f"serves {site.url}\n"


def test_without_a_token_it_serves_this_machine_alone_and_on_request(folder: Path) -> None:
    with serving(folder, "--no-token", "--workspace", "w") as site, over_http(site.url) as alice:
        assert alice.ask("doxa_view")["view"]["workspace"] == "w"
        assert site.post(Host="evil.example", MCP_Protocol_Version="2025-06-18")[0] == 421


def test_a_server_that_can_not_be_guarded_is_not_begun(folder: Path, tmp_path: Path) -> None:
    code, line = refused(folder, "--http", "8765")
    assert (code, "--http needs a bearer token" in line) == (2, True)
    code, line = refused(folder, "--http", "0.0.0.0:0", "--no-token")
    assert (code, "loopback only" in line) == (2, True)
    code, line = refused(folder, "--http", "0.0.0.0:0", DOXA_MCP_TOKEN=TOKEN)
    assert (code, "say with --host-name" in line) == (2, True)
    code, line = refused(folder, "--http", "0", DOXA_MCP_TOKEN="s3cret")
    assert (code, "16 or more" in line, "s3cret" in line) == (2, True, False)
    code, line = refused(folder, "--http", "0", "--token-file", tmp_path / "none")
    assert (code, "can't be read" in line) == (2, True)
    code, line = refused(folder, "--http", "nonsense", "--no-token")
    assert (code, "HOST:PORT" in line) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, line = refused(folder, "--http", port, "--no-token")
    assert (code, f"can't listen on 127.0.0.1:{port}" in line) == (2, True)


def test_all_addresses_are_served_under_the_names_that_were_given(folder: Path) -> None:
    names = ("--http", "0.0.0.0:0", "--host-name", "doxa.example")
    with serving(folder, *names, DOXA_MCP_TOKEN=TOKEN) as site:
        known = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
        assert site.post(Host="doxa.example", **known)[0] == 200
        assert site.post(Host="0.0.0.0", **known)[0] == 421
        assert "a proxy with TLS" in site.log.read_text()


def test_a_token_that_others_can_read_is_told_of(folder: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o644)
    with serving(folder, "--token-file", token) as site:
        told = site.log.read_text()
    assert "others can read" in told
    assert TOKEN not in told


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("8765", "127.0.0.1", 8765, True),
        (":8765", "127.0.0.1", 8765, True),
        ("localhost:1", "localhost", 1, True),
        ("127.8.9.1:1", "127.8.9.1", 1, True),
        ("[::1]:80", "::1", 80, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("10.1.2.3:80", "10.1.2.3", 80, False),
        ("people.example:80", "people.example", 80, False),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int, loopback: bool) -> None:
    address = Address.parsed(text)
    assert (address.host, address.port, address.loopback) == (host, port, loopback)


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "1:65536", "1:-1", "host:8o"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(CallerError, match="HOST:PORT"):
        Address.parsed(text)


def test_it_listens_on_ipv6_too(folder: Path) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(folder, "--http", "[::1]:0", "--no-token") as site:
        assert site.url.startswith("http://[::1]:")
        assert site.post(MCP_Protocol_Version="2025-06-18")[0] == 200
