"""Clients that send nonsense, cancel, flood, or vanish; and a server that goes on, or ends well."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.mcp import stdio, tools, workers
from doxa.adapters.mcp.desk import Desk
from doxa.adapters.mcp.server import Service
from tests.frameworks.mcp_agents import HELLO, PATIENCE, Raw, agent, command, environment, raw

DEEP = b"[" * 100_000


def filled(path: Path) -> Path:
    with doxa.open(path) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "people.doxa")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger that `client` uses."""
    return filled(tmp_path_factory.mktemp("mcp") / "served.doxa")


@pytest.fixture(scope="module")
def client(served: Path) -> Iterator[Raw]:
    """One client, and one server, which has to bear all that the tests do to it."""
    with raw(served) as connected:
        connected.greet()
        yield connected


def answers_still(client: Raw) -> None:
    """The server answers as if nothing had been."""
    client.call("still", "doxa_view", subject="ada")
    message = client.answers("still")["still"]
    assert message["result"]["structuredContent"]["claims"][0]["id"] == "home"


# ---------------------------------------------------------------- nonsense


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense", -32700),
        (b"{", -32700),
        (b"\xff\xfe\x00 not UTF-8", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700),
        (DEEP, -32700),
        (b"x" * (stdio.LONGEST + 1), -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * stdio.LONGEST + b'"}', -32700),
        (b"[]", -32600),
        (b"17", -32600),
        (b"null", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else str(value),
)
def test_what_is_no_message_is_answered_with_an_error(client: Raw, line: bytes, code: int) -> None:
    client.write(line + b"\n")
    told = client.answer()
    assert (told["id"], told["error"]["code"]) == (None, code)
    assert "one line of JSON-RPC" in told["error"]["message"]
    answers_still(client)


def test_blank_lines_and_foreign_answers_are_passed_over(client: Raw) -> None:
    client.write(b"\n  \n\r\n")
    client.write(b'{"jsonrpc":"2.0","id":{"no":"id"},"method":"ping"}\n')
    client.write(b'{"jsonrpc":"2.0","id":99,"result":{}}\n')
    client.write(b'{"jsonrpc":"2.0","id":98,"error":{"code":1,"message":"x"}}\n')
    client.send(method="notifications/nonsense", params={"a": 1})
    client.send(method="notifications/cancelled", params={"requestId": "never"})
    client.send(method="notifications/cancelled", params={})
    answers_still(client)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/nonsense", {}),
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "doxa_view", "arguments": [1]}),
        ("tools/call", {"name": "doxa_view", "arguments": "subject=ada"}),
        ("resources/read", {}),
        ("resources/read", {"uri": "file:///etc/passwd"}),
        ("resources/read", {"uri": ""}),
        ("resources/read", {"uri": "doxa://artefact/../../x"}),
        ("resources/read", {"uri": "doxa://claim/%ff"}),
        ("resources/read", {"uri": "doxa://claim/none"}),
        ("resources/read", {"uri": "doxa://view/now?subject=a&subject=b"}),
        ("resources/read", {"uri": "doxa://view/now?nonsense"}),
        ("resources/read", {"uri": "doxa://view/now?as_of=2024-01-01"}),
        ("resources/read", {"uri": "doxa://view/nonsense"}),
        ("resources/list", {"cursor": "nonsense"}),
        ("resources/list", {"cursor": "-1"}),
        ("prompts/get", {"name": "nonsense"}),
        ("prompts/get", {"name": "answer_from_what_may_be_believed"}),
        ("logging/setLevel", {"level": "debug"}),
        ("completion/complete", {}),
    ],
)
def test_a_request_that_cannot_be_understood_is_an_error_of_the_protocol(
    client: Raw, served: Path, method: str, params: dict[str, Any]
) -> None:
    client.send(id=1, method=method, params=params)
    told = client.answer()
    assert told["id"] == 1
    assert told["error"]["code"] in (-32600, -32601, -32602)
    assert str(served) not in json.dumps(told)
    answers_still(client)


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "1e999", '"\\ud800"', '"a\\u0000b"', "1" * 5_000, DEEP[:200].decode()],
)
def test_a_value_that_is_no_value_is_refused_and_nothing_recorded(
    client: Raw, served: Path, value: str
) -> None:
    """Some of them are no JSON, others no value of the ledger's; none is recorded as another."""
    line = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"doxa_claim","arguments":'
        '{"subject":"%s","predicate":"p","source":"s","object":%s}}}\n'
    )
    subject = f"odd {sum(value.encode())}"
    client.write((line % (subject, value)).encode())
    told = client.answer()
    refused = "error" in told or told["result"]["isError"]
    answers_still(client)
    with doxa.open(served) as ledger:
        claims = ledger.view(valid_at="2024-01-01").claims(subject=subject)
        assert refused == (not claims)
        if claims:  # what may be in a text
            assert claims[0].object == json.loads(value)


def test_a_request_before_the_handshake_is_refused(folder: Path) -> None:
    with raw(folder) as client:
        client.send(id=1, method="tools/list", params={})
        assert "error" in client.answer()
        client.greet()
        answers_still(client)


# ---------------------------------------------------------------- cancelling, flooding


def test_a_cancelled_call_is_not_answered_and_may_be_repeated(client: Raw) -> None:
    claim = {"subject": "bo", "predicate": "age", "object": 7, "id": "bo", "source": "s"}
    for number in range(20):
        client.call(f"c{number}", "doxa_claim", **claim)
        client.send(method="notifications/cancelled", params={"requestId": f"c{number}"})
    client.call("again", "doxa_claim", **claim)
    found: dict[str, Any] = {}
    while "again" not in found:
        message = client.answer()
        found[message["id"]] = message
    assert found["again"]["result"]["structuredContent"]["standing"] == "reported"
    client.call("seen", "doxa_view", subject="bo", standing=["any"])
    while "seen" not in found:
        message = client.answer()
        found[message["id"]] = message
    assert len(found["seen"]["result"]["structuredContent"]["claims"]) == 1


def test_a_flood_of_calls_is_answered_every_one(client: Raw) -> None:
    ids = [f"f{number}" for number in range(500)]

    def feed() -> None:
        for id in ids:
            client.call(id, "doxa_recall", query=f"Where is {id}?")

    feeding = threading.Thread(target=feed)
    feeding.start()
    answered = client.answers(*ids)
    feeding.join()
    results = [answered[id]["result"] for id in ids]
    busy = [one for one in results if one["isError"]]
    assert len(busy) < len(ids)
    for one in busy:
        assert one["content"][0]["text"].startswith("busy: 64 calls")
    answers_still(client)


def test_workers_take_so_many_calls_at_once_and_count_those_that_nobody_waits_for() -> None:
    import asyncio

    async def story() -> list[str]:
        few, going, begun = workers.Workers(1, 3), threading.Event(), threading.Event()

        def slow() -> None:
            begun.set()
            assert going.wait(30)
            done.append("slow")

        def queued() -> None:
            done.append("queued")

        done: list[str] = []
        tasks = [asyncio.ensure_future(few.run(work)) for work in (slow, queued, queued)]
        await asyncio.to_thread(begun.wait, 30)
        with pytest.raises(workers.Busy):
            await few.run(queued)
        for task in tasks[:2]:
            task.cancel()
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        with pytest.raises(workers.Busy):  # what is cancelled counts until it ends
            await few.run(queued)
        going.set()
        await tasks[2]
        await few.run(queued)
        few.close()
        return done

    # The slow one ends by itself, the cancelled one behind it is not begun.
    assert asyncio.run(story()) == ["slow", "queued", "queued"]


def test_a_slow_call_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from mcp.client import Client

    going = threading.Event()
    with doxa.open() as ledger:
        ledger.claim("ada", "lives_in", "London", source="s")
        real = ledger.history
        monkeypatch.setattr(
            ledger, "history", lambda *a, **k: real(*a, **k) if going.wait(30) else []
        )
        service = Service(Desk(ledger), workers.Workers())

        async def story() -> Any:
            asked = {"subject": "ada", "predicate": "lives_in"}
            async with Client(service.server) as client:
                slow = asyncio.ensure_future(client.call_tool("doxa_history", asked))
                quick = await client.call_tool("doxa_view", asked)
                assert not slow.done()
                going.set()
                return quick, await slow

        quick, slow = asyncio.run(story())
        service.workers.close()
    assert quick.structured_content["values"] == ["London"]
    assert slow.structured_content["beliefs"][0]["values"] == ["London"]


# ---------------------------------------------------------------- ending


def test_a_client_that_leaves_ends_the_server_well(folder: Path, tmp_path: Path) -> None:
    with raw(folder, log=tmp_path / "log") as client:
        client.greet()
        answers_still(client)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0
        assert client.left() == []
    assert (tmp_path / "log").read_text() == ""


def test_a_client_that_leaves_without_a_word_does_too(folder: Path, tmp_path: Path) -> None:
    with raw(folder, log=tmp_path / "log") as client:
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0
        assert client.left() == []
    assert (tmp_path / "log").read_text() == ""


def test_a_client_that_reads_no_more_ends_the_server_well(folder: Path, tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with (
        open(tmp_path / "log", "wb") as log,
        subprocess.Popen(
            command(folder), stdin=pipe, stdout=pipe, stderr=log, env=environment()
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            process.stdout.close()
            process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
            process.stdin.flush()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert (tmp_path / "log").read_text() == ""


def test_a_client_that_reads_nothing_is_not_heard_for_ever(folder: Path) -> None:
    """Its answers don't pile up; and the server ends when it is told to, if not as nicely."""
    with doxa.open(folder) as ledger:
        ledger.claim("bo", "wrote", "x" * 100_000, id="long", source="s")
    pipe, said = subprocess.PIPE, 0
    with subprocess.Popen(
        command(folder), stdin=pipe, stdout=pipe, stderr=pipe, env=environment(), bufsize=0
    ) as process:

        def feed() -> None:
            nonlocal said
            assert process.stdin is not None
            for said in range(5_000):
                params = {"name": "doxa_view", "arguments": {"subject": "bo"}}
                message = {"jsonrpc": "2.0", "id": said, "method": "tools/call", "params": params}
                try:
                    process.stdin.write(json.dumps(message).encode() + b"\n")
                except BrokenPipeError:
                    return

        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(HELLO).encode() + b"\n")
            feeding = threading.Thread(target=feed)
            feeding.start()
            feeding.join(8)
            assert feeding.is_alive()
            assert said < 2_000
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 128 + signal.SIGTERM
            feeding.join(PATIENCE)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_well(folder: Path, tmp_path: Path, number: int) -> None:
    with raw(folder, log=tmp_path / "log") as client:
        client.greet()
        answers_still(client)
        client.process.send_signal(number)
        assert client.ended() == 0
    assert (tmp_path / "log").read_text() == ""
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok


def test_a_signal_in_a_flood_ends_the_server_and_keeps_what_was_acknowledged(
    folder: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    with raw(folder, log=tmp_path / "log") as client:
        client.greet()
        for number in range(300):
            client.call(f"c{number}", "doxa_claim", subject="s", predicate="p", object=number,
                        id=f"c{number}", source="s")  # fmt: skip
        while len(told) < 5:  # most others are told at once that it is busy
            message = client.answer()
            if not message["result"]["isError"]:
                told.append(message["id"])
        client.process.send_signal(signal.SIGTERM)
        assert client.ended() == 0
        for line in client.left():
            message = json.loads(line)
            if not message["result"]["isError"]:
                told.append(message["id"])
    assert "Traceback" not in (tmp_path / "log").read_text()
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok
        known = {item.id for item in ledger.view(valid_at="2024-01-01").claims(subject="s")}
    assert set(told) <= known


# ---------------------------------------------------------------- others, and mistakes of our own


def test_what_others_record_is_seen_and_moves_what_was_seen(folder: Path) -> None:
    with agent(folder) as alice, agent(folder) as bob, doxa.open(folder) as writer:
        seen = alice.ask("doxa_assemble", query="Where does Ada live?")
        revision = seen["view"]["revision"]
        same = alice.ask("doxa_assemble", query="Where does Ada live?", seen_revision=revision)
        assert same["text"] == seen["text"]
        bob.ask("doxa_correct", claim="home", object="Lisbon", source="letter", id="moved")
        for tool in ("doxa_assemble", "doxa_recall"):
            words = alice.fails(tool, query="Where does Ada live?", seen_revision=revision)
            assert words.startswith("view_moved: something was recorded after revision 1")
        assert alice.ask("doxa_view", subject="ada", predicate="lives_in")["values"] == ["Lisbon"]
        writer.withdraw("moved")
        for each in (alice, bob):
            seen = each.ask("doxa_view", subject="ada", predicate="lives_in")
            assert seen["values"] == ["London", "Lisbon"]  # what was put in stands by itself
        assert "the ledger ends at" in alice.fails("doxa_recall", query="x", seen_revision=999)


def test_the_truth_that_moves_while_a_block_is_made_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with doxa.open() as ledger:
        ledger.claim("ada", "lives_in", "London", source="s")
        recall = ledger.recall

        def meanwhile(*args: Any, **kwargs: Any) -> Any:
            found = recall(*args, **kwargs)
            ledger.claim("bo", "age", 1, source="s")
            return found

        monkeypatch.setattr(ledger, "recall", meanwhile)
        box = tools.Toolbox(Desk(ledger))
        with pytest.raises(tools.Failed, match=r"^view_moved: the truth moved past revision 1"):
            box.answer("doxa_assemble", {"query": "Where does Ada live?"})


def test_an_answer_that_could_not_be_judged_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(texts: list[str]) -> list[list[float]]:
        raise OSError("/secret/model is gone")

    with doxa.open(embedder=doxa.Embedder("e", fails)) as ledger:
        ledger.claim("ada", "lives_in", "London", source="s")
        box = tools.Toolbox(Desk(ledger))
        for tool in ("doxa_recall", "doxa_assemble"):
            with pytest.raises(tools.Failed, match=r"^refused: there is no answer") as told:
                box.answer(tool, {"query": "Where does Ada live?"})
            assert "London" not in str(told.value)
            assert "/secret" not in str(told.value)


@pytest.mark.parametrize(
    "error",
    [
        doxa.StorageError("/secret/people.doxa/log.sqlite is full"),
        doxa.DamageError("/secret/people.doxa/log.sqlite is damaged"),
        RuntimeError("/secret is a mistake"),
        RecursionError("/secret"),
    ],
)
def test_what_is_the_servers_own_trouble_goes_to_its_log_alone(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    with doxa.open() as ledger:
        monkeypatch.setattr(ledger, "view", broken)
        monkeypatch.setattr(ledger, "append", broken)
        box = tools.Toolbox(Desk(ledger))
        for tool, arguments in {
            "doxa_view": {},
            "doxa_claim": {"subject": "s", "predicate": "p", "object": 1},
        }.items():
            with pytest.raises(tools.Failed) as told:
                box.answer(tool, arguments)
            assert "/secret" not in str(told.value)
            assert "tell the person who runs" in str(told.value)
    assert "/secret" in caplog.text
