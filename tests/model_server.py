"""A server on this machine that speaks the chat completions protocol, as badly as a test asks."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__all__ = ["Answer", "ModelServer", "Request", "answering", "completion", "serving"]

Answer = Callable[["Handler"], None]
BOMB = gzip.compress(b" " * 50_000_000)


class Request(NamedTuple):
    """What the server received."""

    path: str
    headers: dict[str, str]
    body: bytes
    port: int  # of the client

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records that the model was shown."""
        _, user = self.json["messages"]
        found: list[dict[str, Any]] = json.loads(user["content"])["records"]
        return found


class Handler(BaseHTTPRequestHandler):
    """One request: kept, and answered as the server was told to."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request_read = Request(self.path, headers, body, self.client_address[1])
        self.close_connection = True
        self.server.turn(self.request_read)(self)

    def do_GET(self) -> None:
        self.server.strays.append(self.path)
        self.send_error(405)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def send(
        self,
        body: bytes,
        status: int = 200,
        kind: str | None = "application/json",
        **headers: str,
    ) -> None:
        """A whole response."""
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """Breaks the connection off, without a word."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def wait(self) -> None:
        """Says nothing until the test is over."""
        self.server.over.wait(30)


class ModelServer(ThreadingHTTPServer):
    """Answers each request with the next of ``answers``, the last one over and over."""

    daemon_threads = True

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.requests: list[Request] = []
        self.strays: list[str] = []
        self.over = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def turn(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has heard enough is no error."""


@contextmanager
def serving(*answers: Answer) -> Iterator[ModelServer]:
    """A server with these answers, for as long as the block runs."""
    server = ModelServer(list(answers))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


# ---------------------------------------------------------------- answers


def completion(content: Any, **choice: Any) -> dict[str, Any]:
    """A completion as servers send it."""
    message = {"role": "assistant", "content": content, **choice.pop("message", {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }


def answering(content: Any, **choice: Any) -> Answer:
    """Answers with one choice of this content; a function makes it of the request."""

    def answer(handler: Handler) -> None:
        made = content(handler.request_read) if callable(content) else content
        handler.send(json.dumps(completion(made, **choice)).encode())

    return answer


def raw(body: bytes, status: int = 200, **options: Any) -> Answer:
    """Answers with these bytes."""
    return lambda handler: handler.send(body, status, **options)


def insight(text: str = "They go together.", **more: Any) -> Answer:
    """Answers with an insight that cites all that was shown."""

    def made(request: Request) -> str:
        cites = [record["id"] for record in request.records]
        return json.dumps({"insight": text, "cites": cites, **more})

    return answering(made)


def hanging(handler: Handler) -> None:
    handler.wait()


def silent_after_the_head(handler: Handler) -> None:
    handler.send(b'{"choices": ', Content_Length="1000")
    handler.wait()


def dripping(handler: Handler) -> None:
    """A byte at a time, faster than any patience between two bytes ends."""
    handler.send(b"", Transfer_Encoding="chunked")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"1\r\n \r\n")
        handler.wfile.flush()


def dripping_head(handler: Handler) -> None:
    """The same of the head of a response."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"X: y\r\n")
        handler.wfile.flush()


def endless(handler: Handler) -> None:
    """Far more than anybody wants to read; counted, so that a test may see what was read."""
    handler.send(b"", Transfer_Encoding="chunked")
    part = b"%x\r\n%s\r\n" % (65_536, b" " * 65_536)
    for _ in range(160):
        handler.wfile.write(part)
    handler.wfile.write(b"0\r\n\r\n")


def reset_at_once(handler: Handler) -> None:
    handler.reset()


def reset_in_the_body(handler: Handler) -> None:
    handler.send(b'{"choices": [', Content_Length="1000")
    handler.reset()


def closed_in_the_body(handler: Handler) -> None:
    handler.send(b'{"choices": [', Content_Length="1000")


def bad_chunks(handler: Handler) -> None:
    handler.send(b"zzz\r\nnothing of a chunk\r\n", Transfer_Encoding="chunked")


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"220 mail.example ESMTP ready\r\n")


def bomb(handler: Handler) -> None:
    """Little that would become much."""
    handler.send(BOMB, Content_Encoding="gzip")


def spoken(head: bytes, body: bytes = b"") -> Answer:
    """Answers with these very bytes, whatever they are."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(head + b"\r\n\r\n" + body)

    return answer


def endless_head(handler: Handler) -> None:
    """10 MB of header lines."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(160):
        handler.wfile.write((b"X-Y: " + b"z" * 1_000 + b"\r\n") * 65)


def please_wait(handler: Handler) -> None:
    """Nothing but interim responses."""
    while not handler.server.over.wait(0.001):
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
