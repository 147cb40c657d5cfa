"""Asking a language model over HTTP: what comes back whole and sound, and what is refused instead.

Every answer comes from a real server on this machine.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import pickle
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic
from typing import Any

import pytest

import doxa
from doxa.adapters import endpoint as module
from doxa.adapters.endpoint import Endpoint
from doxa.engine.insight import Flaw, Refused, messages, schema
from tests import model_server as told
from tests.model_server import ModelServer, answering, completion, raw, serving, spoken

KEY = "sk-none-but-the-server-sees-this"
ASKED = messages([{"id": "a", "subject": "ada"}, {"id": "b", "subject": "bob"}])


def endpoint(server: ModelServer, **options: Any) -> Endpoint:
    return Endpoint(server.url, "small", **{"timeout": 5.0, **options})


def ask(server: ModelServer, **options: Any) -> str:
    asked = endpoint(server, **options)
    return asked.ask(asked.body(ASKED, schema(["a", "b"])))


def refused(server: ModelServer, **options: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        ask(server, **options)
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)
    return caught.value


def test_what_the_model_says_comes_back_as_it_is() -> None:
    text = ' {"insight": "Ä \\ud83d\\ude00"}\n'
    with serving(answering(text)) as server:
        assert ask(server) == text
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert "authorization" not in request.headers


def test_the_request_is_what_the_protocol_has() -> None:
    with serving(answering("{}")) as server:
        ask(server, settings={"temperature": 0.5, "max_completion_tokens": 9})
    assert server.requests[0].json == {
        "model": "small",
        "messages": ASKED,
        "temperature": 0.5,
        "max_completion_tokens": 9,
        "stream": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema(["a", "b"])},
        },
    }


def test_a_server_that_knows_no_schemas_is_sent_none() -> None:
    with serving(answering("{}")) as server:
        ask(server, schema=False)
    assert "response_format" not in server.requests[0].json


def test_the_key_goes_to_the_server_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(answering("{}"), raw(b"no", kind="text/html")) as server:
        asked = endpoint(server, key=KEY)
        body = asked.body(ASKED, schema([]))
        asked.ask(body)
        error = refused(server, key=KEY)
    assert [request.headers["authorization"] for request in server.requests] == [
        f"Bearer {KEY}"
    ] * 2
    assert KEY.encode() not in body
    for text in (repr(asked), str(asked), str(error), caplog.text):
        assert KEY not in text


def test_an_answer_that_repeats_the_key_is_refused() -> None:
    with serving(answering(lambda request: request.headers["authorization"])) as server:
        assert refused(server, key=KEY).flaw is Flaw.KEY_SHOWN


ANSWERS: dict[str, tuple[told.Answer, Flaw]] = {
    "HTML": (raw(b"<html>Sign in</html>", kind="text/html"), Flaw.NO_JSON),
    "HTML that says it is JSON": (raw(b"<html>Sign in</html>"), Flaw.NO_JSON),
    "JSON that says it is text": (
        raw(json.dumps(completion("{}")).encode(), kind="text/plain"),
        Flaw.NO_JSON,
    ),
    "no type at all": (raw(json.dumps(completion("{}")).encode(), kind=None), Flaw.NO_JSON),
    "a stream of events": (raw(b"data: {}\n\n", kind="text/event-stream"), Flaw.NO_JSON),
    "nothing": (raw(b""), Flaw.NO_JSON),
    "10 MB": (told.endless, Flaw.TOO_LARGE),
    "10 MB at once": (raw(b" " * 10_000_000), Flaw.TOO_LARGE),
    "a gzip bomb": (told.bomb, Flaw.ENCODED),
    "gzip": (raw(gzip.compress(b"{}"), Content_Encoding="gzip"), Flaw.ENCODED),
    "an encoding nobody knows": (raw(b"{}", Content_Encoding="zstd, br"), Flaw.ENCODED),
    "a reset": (told.reset_at_once, Flaw.BROKEN_OFF),
    "a reset in the body": (told.reset_in_the_body, Flaw.BROKEN_OFF),
    "an end in the body": (told.closed_in_the_body, Flaw.BROKEN_OFF),
    "chunks that are none": (told.bad_chunks, Flaw.BROKEN_OFF),
    "no HTTP": (told.no_http, Flaw.BROKEN_OFF),
    "another place": (raw(b"", 307, Location="http://192.0.2.1/v1"), Flaw.REDIRECTED),
    "another place, permanently": (raw(b"", 301, Location="/v2"), Flaw.REDIRECTED),
    "a place that is none": (raw(b"", 302), Flaw.REDIRECTED),
    "no key": (raw(b"{}", 401), Flaw.UNAUTHORIZED),
    "a key of no worth": (raw(b"{}", 403), Flaw.UNAUTHORIZED),
    "no such model": (raw(b'{"error": {"message": "no such model"}}', 404), Flaw.HTTP_STATUS),
    "a bad request": (raw(b"{}", 400), Flaw.HTTP_STATUS),
    "created": (raw(json.dumps(completion("{}")).encode(), 201), Flaw.HTTP_STATUS),
    "no content": (raw(b"", 204), Flaw.HTTP_STATUS),
    "invalid UTF-8": (raw(b'{"choices": "\xff\xfe"}'), Flaw.NO_JSON),
    "UTF-16": (raw(json.dumps(completion("{}")).encode("utf-16")), Flaw.NO_JSON),
    "a byte order mark": (raw(b"\xef\xbb\xbf" + json.dumps(completion("{}")).encode()),
                          Flaw.NO_JSON),
    "deep nesting": (raw(b"[" * 200_000), Flaw.NO_JSON),
    "deep nesting that closes": (raw(b'{"a":' * 40_000 + b"1" + b"}" * 40_000), Flaw.NO_JSON),
    "a number of many digits": (raw(b'{"choices": ' + b"9" * 100_000 + b"}"), Flaw.NO_JSON),
    "a number too large": (raw(b'{"choices": 1e999}'), Flaw.NO_JSON),
    "NaN": (raw(b'{"choices": NaN}'), Flaw.NO_JSON),
    "a key twice": (raw(b'{"choices": [], "choices": []}'), Flaw.NO_JSON),
    "something behind it": (raw(json.dumps(completion("{}")).encode() + b"{}"), Flaw.NO_JSON),
    "a list": (raw(b"[]"), Flaw.NO_JSON),
    "null": (raw(b"null"), Flaw.NO_JSON),
    "10 MB of headers": (told.endless_head, Flaw.BROKEN_OFF),
    "no status": (spoken(b"HTTP/1.1\r\nContent-Type: application/json"), Flaw.BROKEN_OFF),
    "a status that is none": (spoken(b"HTTP/1.1 2000 OK"), Flaw.BROKEN_OFF),
    "a status nobody knows": (spoken(b"HTTP/1.1 799 Hm\r\nContent-Length: 0"), Flaw.HTTP_STATUS),
    "two lengths": (
        spoken(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3", b"{}"),
        Flaw.BROKEN_OFF,
    ),
    "a length below nothing": (
        spoken(b"HTTP/1.1 200 OK\r\nContent-Length: -2", b"{}"),
        Flaw.BROKEN_OFF,
    ),
    "another protocol": (
        spoken(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade"),
        Flaw.BROKEN_OFF,
    ),
    "an error with status 200": (raw(b'{"error": {"message": "busy"}}'), Flaw.NOT_A_COMPLETION),
    "no choice": (raw(b'{"choices": []}'), Flaw.NOT_A_COMPLETION),
    "two choices": (
        raw(json.dumps({"choices": completion("{}")["choices"] * 2}).encode()),
        Flaw.NOT_A_COMPLETION,
    ),
    "a choice that is none": (raw(b'{"choices": ["{}"]}'), Flaw.NOT_A_COMPLETION),
    "no message": (raw(b'{"choices": [{"finish_reason": "stop"}]}'), Flaw.NOT_A_COMPLETION),
    "no content at all": (answering(None), Flaw.NOT_A_COMPLETION),
    "content in parts": (answering([{"type": "text", "text": "{}"}]), Flaw.NOT_A_COMPLETION),
    "a number": (answering(7), Flaw.NOT_A_COMPLETION),
    "a call of a tool": (
        answering(
            None,
            message={"tool_calls": [{"id": "1", "function": {"name": "withdraw"}}]},
            finish_reason="tool_calls",
        ),
        Flaw.NOT_A_COMPLETION,
    ),
    "content and a call of a tool": (
        answering("{}", message={"tool_calls": [{"id": "1"}]}),
        Flaw.NOT_A_COMPLETION,
    ),
    "an old call of a function": (
        answering("{}", message={"function_call": {"name": "withdraw"}}),
        Flaw.NOT_A_COMPLETION,
    ),
    "the user's own words": (answering("{}", message={"role": "user"}), Flaw.NOT_A_COMPLETION),
    "an end for no reason": (answering("{}", finish_reason=None), Flaw.NOT_A_COMPLETION),
    "an end for another reason": (answering("{}", finish_reason=["stop"]), Flaw.NOT_A_COMPLETION),
    "half an answer": (answering("{}", finish_reason="length"), Flaw.CUT_SHORT),
    "a filter": (answering("{}", finish_reason="content_filter"), Flaw.DECLINED),
    "a refusal": (answering(None, message={"refusal": "I can't."}), Flaw.DECLINED),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_whole_completion_is_refused_with_its_reason(name: str) -> None:
    answer, flaw = ANSWERS[name]
    with serving(answer) as server:
        error = refused(server, key=KEY)
    assert error.flaw is flaw, error
    assert len(str(error)) < 400
    assert len(server.requests) == 1
    assert server.strays == []


@pytest.mark.parametrize(
    "answer",
    [
        told.hanging,
        told.silent_after_the_head,
        told.dripping,
        told.dripping_head,
        told.please_wait,
    ],
    ids=lambda answer: answer.__name__,
)
def test_a_server_that_takes_for_ever_is_left_after_the_timeout(answer: told.Answer) -> None:
    with serving(answer) as server:
        began = monotonic()
        assert refused(server, timeout=0.4).flaw is Flaw.TIMED_OUT
        assert monotonic() - began < 5
        left = [thread for thread in threading.enumerate() if "doxa: endpoint" in thread.name]
        for thread in left:
            thread.join(5)
            assert not thread.is_alive()


def test_silence_ends_a_call_before_its_timeout() -> None:
    with serving(told.silent_after_the_head) as server:
        assert refused(server, timeout=60.0, silence=0.3).flaw is Flaw.TIMED_OUT


@pytest.mark.parametrize("answer", [told.bomb, told.endless], ids=lambda answer: answer.__name__)
def test_of_a_long_answer_no_more_is_kept_than_the_limit(answer: told.Answer) -> None:
    with serving(answer) as server:
        ask_in = endpoint(server)
        body = ask_in.body(ASKED, schema([]))
        tracemalloc.start()
        try:
            with pytest.raises(Refused):
                ask_in.ask(body)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 4_000_000  # 10 MB would come, or 50 come out of it


def test_the_limit_is_exact() -> None:
    body = json.dumps(completion("x")).encode()
    with serving(raw(body)) as server:
        assert ask(server, limit=len(body)) == "x"
        assert refused(server, limit=len(body) - 1).flaw is Flaw.TOO_LARGE


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nConnection: close",
        b"HTTP/1.1 200\r\ncontent-type:APPLICATION/JSON\r\nContent-Encoding: identity\r\n"
        b"Set-Cookie: a=b\r\nConnection: close",
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Connection: close",
    ],
)
def test_a_response_may_be_whole_in_other_ways(head: bytes) -> None:
    with serving(spoken(head, json.dumps(completion("x")).encode())) as server:
        assert ask(server) == "x"
        assert ask(server) == "x"
    assert "cookie" not in server.requests[1].headers


# ---------------------------------------------------------------- busy servers


def test_a_server_that_is_busy_is_asked_again() -> None:
    with serving(raw(b"", 500), raw(b"", 429, Retry_After="0"), answering("{}")) as server:
        assert ask(server) == "{}"
    assert len(server.requests) == 3
    assert len({request.body for request in server.requests}) == 1


def test_a_server_that_stays_busy_is_asked_so_often_and_no_more() -> None:
    with serving(raw(b"", 503, Retry_After="0")) as server:
        error = refused(server, attempts=2)
    assert error.flaw is Flaw.HTTP_STATUS
    assert "503" in str(error)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "told_to_wait",
    [
        "3600",
        "9" * 400,
        format_datetime(datetime.now(UTC) + timedelta(days=400), usegmt=True),
    ],
    ids=["an hour", "for ever", "a day next year"],
)
def test_a_server_that_wants_to_be_left_alone_for_long_is(told_to_wait: str) -> None:
    with serving(raw(b"", 429, Retry_After=told_to_wait)) as server:
        began = monotonic()
        error = refused(server, timeout=30.0)
        assert monotonic() - began < 10
    assert error.flaw is Flaw.HTTP_STATUS
    assert "later than there is time for" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("nonsense", ["soon", "-1", "1e9", "٣", "", "Wed, 99 Foo 2024"])
def test_a_pause_that_is_none_is_passed_over(
    nonsense: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.01)
    answer = raw(b"", 429, Retry_After=nonsense.encode().decode("latin-1"))
    with serving(answer, answering("{}")) as server:
        assert ask(server) == "{}"


def test_a_pause_up_to_a_date_that_is_past_is_none() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(days=4), usegmt=True)
    with serving(raw(b"", 503, Retry_After=past), answering("{}")) as server:
        assert ask(server) == "{}"


def test_a_pause_is_kept() -> None:
    with serving(raw(b"", 429, Retry_After="1"), answering("{}")) as server:
        began = monotonic()
        ask(server)
        assert monotonic() - began >= 1


# ---------------------------------------------------------------- connections


def test_where_nobody_listens_it_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = Endpoint(f"http://127.0.0.1:{port}/v1", "small")
    with pytest.raises(Refused, match="can't be reached") as caught:
        nobody.ask(b"{}")
    assert caught.value.flaw is Flaw.UNREACHABLE


def test_a_name_that_leads_nowhere_is_unreachable() -> None:
    nobody = Endpoint("http://nobody.invalid/v1", "small", timeout=20.0)
    with pytest.raises(Refused) as caught:
        nobody.ask(b"{}")
    assert caught.value.flaw in (Flaw.UNREACHABLE, Flaw.TIMED_OUT)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Any) -> None:
    with serving(answering("{}")) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(tmp_path))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        with pytest.raises(Refused, match="not to be trusted") as caught:
            Endpoint(url, "small", key=KEY, timeout=5.0).ask(b"{}")
    assert caught.value.flaw is Flaw.UNREACHABLE
    assert server.requests == []


def certificate(folder: Any) -> Iterator[str]:
    """The files of a certificate that signs itself, and of its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there")
    names = [str(folder / "certificate.pem"), str(folder / "key.pem")]
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"),
            *("-subj", "/CN=localhost", "-out", names[0], "-keyout", names[1]),
        ],
        check=True,
        capture_output=True,
    )
    return iter(names)


def test_a_proxy_is_not_asked_for_what_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(answering("{}")) as server:
        assert ask(server) == "{}"


# ---------------------------------------------------------------- what can't be configured


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("", "give the base"),
        ("127.0.0.1:8080", "give the base"),
        ("ftp://127.0.0.1/v1", "give the base"),
        ("file:///etc/passwd", "give the base"),
        ("http://", "give the base"),
        ("http://[::1/v1", "give the base"),
        ("http://host:port/v1", "give the base"),
        ("http://host:99999/v1", "give the base"),
        ("http://127.0.0.1/v1?key=x", "more than a path"),
        ("http://127.0.0.1/v1#x", "more than a path"),
        ("http://127.0.0.1/v1/chat/completions", "is put behind it"),
        ("http://a b/v1", "give the base"),
        ("http://a/v1\r\nX: y", "give the base"),
        (None, "give the base"),
    ],
)
def test_an_address_that_is_no_base_is_refused(url: Any, advice: str) -> None:
    with pytest.raises(doxa.CallerError, match=advice):
        Endpoint(url, "small")


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    for url in ("http://ada:secret@127.0.0.1/v1", "http://ada:secret @127.0.0.1/v1"):
        with pytest.raises(doxa.CallerError) as caught:
            Endpoint(url, "small")
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a b", "a\r\nX: y", "ä", 7, b"key"])
def test_a_key_that_is_no_token_is_refused_and_not_repeated(key: Any) -> None:
    with pytest.raises(doxa.CallerError) as caught:
        Endpoint("https://models.example/v1", "small", key=key)
    assert (
        str(caught.value) == "an endpoint's key is no token; give it without spaces and line ends"
    )


def test_a_key_does_not_go_unencrypted_to_another_machine() -> None:
    with pytest.raises(doxa.CallerError, match="unencrypted; use https, or no key") as caught:
        Endpoint("http://models.example/v1", "small", key=KEY)
    assert KEY not in str(caught.value)
    Endpoint("https://models.example/v1", "small", key=KEY)
    Endpoint("http://models.example/v1", "small")
    for here in ("localhost", "127.0.0.1", "[::1]"):
        Endpoint(f"http://{here}:8080/v1", "small", key=KEY)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "60"},
        {"timeout": True},
        {"connect": -1},
        {"silence": 1e9},
        {"limit": 0},
        {"limit": 1.5},
        {"limit": 1 << 40},
        {"attempts": 0},
        {"attempts": 11},
        {"settings": []},
        {"settings": {"stream": True}},
        {"settings": {"n": 2}},
        {"settings": {"model": "other"}},
        {"settings": {"seed": float("nan")}},
        {"settings": {"seed": object()}},
    ],
    ids=lambda options: str(options).partition(" at 0x")[0],
)
def test_bounds_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(doxa.CallerError, match="an endpoint's"):
        Endpoint("http://127.0.0.1/v1", "small", **options)


@pytest.mark.parametrize("model", ["", "a\nb", None, 7, "x" * 2_000])
def test_a_model_without_a_name_is_refused(model: Any) -> None:
    with pytest.raises(doxa.CallerError, match="model is"):
        Endpoint("http://127.0.0.1/v1", model)


def test_without_its_packages_it_says_which_extra_brings_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(doxa.CallerError, match=r"pip install 'doxa\[llm\]'"):
        Endpoint("http://127.0.0.1/v1", "small").ask(b"{}")


def test_making_one_loads_no_http_client() -> None:
    program = (
        "import sys; from doxa.adapters.endpoint import Endpoint;"
        "Endpoint('http://127.0.0.1/v1', 'small');"
        "print(*{'httpx2', 'tenacity'} & set(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == []


def test_a_refusal_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(Refused(Flaw.TIMED_OUT, "too late")))
    assert (error.flaw, str(error)) == (Flaw.TIMED_OUT, "too late")


async def _inside_a_loop(server: ModelServer) -> str:
    return ask(server)


def test_it_can_be_asked_from_inside_an_event_loop() -> None:
    with serving(answering("{}")) as server:
        assert asyncio.run(_inside_a_loop(server)) == "{}"
