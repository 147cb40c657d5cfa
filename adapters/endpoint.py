"""A language model behind an OpenAI-compatible endpoint, asked within bounds."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from doxa.adapters.extras import missing
from doxa.engine.bounded import bounded, in_short
from doxa.engine.errors import CallerError
from doxa.engine.fields import check_name
from doxa.engine.insight import Flaw, Refused, strict_object
from doxa.engine.outcomes import Unavailable

if TYPE_CHECKING:
    import httpx2
    import tenacity

__all__ = ["Endpoint"]

_GRACE: Final = 1.0  # seconds that a call has for giving up, beyond its timeout
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0  # seconds between attempts, where the server names none
_SETTINGS: Final[Mapping[str, Any]] = {"temperature": 0, "max_tokens": 1024}
_OWN: Final = ("model", "messages", "response_format", "stream", "n", "tools")
_DIGITS: Final = re.compile("[0-9]{1,9}")


class _Busy(Exception):
    """A refusal for now: 429, or an error of the server's. ``pause``: seconds to wait, as told."""

    def __init__(self, status: int, pause: float | None) -> None:
        super().__init__(status)
        self.status, self.pause = status, pause


@dataclass(frozen=True)
class Endpoint:
    """Where a language model is asked: ``POST {url}/chat/completions``, as OpenAI defined it.

    ``url`` is the base, such as ``http://127.0.0.1:8080/v1``; ``model`` the model's name there;
    ``key`` goes out as a bearer token, and nowhere else. ``timeout`` is in seconds for a whole
    call, ``connect`` for connecting and ``silence`` for waiting without a byte; ``limit`` is the
    number of bytes that are read of an answer, ``attempts`` how often a server that is busy (429,
    5xx) is asked. ``settings`` go into each request. With ``schema=False`` the answer's JSON schema
    does not, for servers that refuse it. Redirects are not followed. Raises `CallerError`.
    """

    url: str
    model: str
    _: KW_ONLY
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    connect: float = 10.0
    silence: float = 60.0
    limit: int = 262_144
    attempts: int = 3
    schema: bool = True
    settings: Mapping[str, Any] = field(default_factory=lambda: dict(_SETTINGS))

    def __post_init__(self) -> None:
        host = _checked_url(self.url)
        try:
            named = isinstance(self.model, str) and bool(check_name(self.model))
        except ValueError:
            named = False
        if not named:
            raise _unfit(f"model is {self.model!r:.80}", "name the model as the server does")
        for name, most in (("timeout", 3_600), ("connect", 3_600), ("silence", 3_600)):
            seconds = getattr(self, name)
            if isinstance(seconds, bool) or not isinstance(seconds, int | float):
                raise _unfit(f"{name} is {seconds!r:.80}", "give seconds")
            if not 0 < seconds <= most:
                raise _unfit(f"{name} is {seconds!r:.80}", "give seconds, at most an hour")
        for name, most in (("limit", 1 << 26), ("attempts", 10)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
                raise _unfit(f"{name} is {number!r:.80}", f"give a number from 1 to {most:,}")
        self._check_settings()
        if self.key is not None:
            if not isinstance(self.key, str) or not re.fullmatch("[!-~]+", self.key):
                raise _unfit("key is no token", "give it without spaces and line ends")
            if self.url.startswith("http:") and not _loopback(host):
                raise _unfit(
                    f"url is {self.url!r:.200}, over which a key would go unencrypted",
                    "use https, or no key",
                )

    def _check_settings(self) -> None:
        if not isinstance(self.settings, Mapping):
            raise _unfit(f"settings is {self.settings!r:.80}", "give names with values")
        for name in self.settings:
            if name in _OWN:
                raise _unfit(f"settings name {name}", f"doxa sets {', '.join(_OWN)} itself")
        try:
            json.dumps(dict(self.settings), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise _unfit("settings are no JSON object", "give texts, numbers, lists") from None

    @property
    def who(self) -> str:
        """The endpoint, as messages name it."""
        return f"endpoint {in_short(self.url)}"

    def body(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> bytes:
        """What is sent, in ASCII; ``schema`` is the JSON schema of the answer."""
        fields: dict[str, Any] = {**self.settings, "model": self.model, "messages": list(messages)}
        fields["stream"] = False
        if self.schema:
            named = {"name": "answer", "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        return json.dumps(fields, ensure_ascii=True, allow_nan=False).encode("ascii")

    def ready(self) -> None:
        """Raises `MissingExtra` where the packages that a call needs are not there."""
        for name in ("httpx2", "tenacity"):
            if find_spec(name) is None:
                raise missing(name, "llm", "an endpoint")

    def ask(self, body: bytes) -> str:
        """What the model answers to a request, as it is. Raises `Refused` where nothing whole and
        sound comes back within the bounds, `MissingExtra` without the extra ``llm``."""
        self.ready()

        def call() -> str | Refused:
            try:
                return asyncio.run(self._asked(body))
            except Refused as refused:
                return refused

        try:
            answer = bounded(call, self.timeout + _GRACE, self.who)
        except Unavailable as error:
            if error.__cause__ is not None:  # a mistake of ours, or of a library's
                raise
            answer = Refused(Flaw.TIMED_OUT, f"{self.who} gave no answer in {self.timeout:g} s")
        if isinstance(answer, Refused):
            raise answer
        if self.key is not None and self.key in answer:
            raise Refused(Flaw.KEY_SHOWN, f"{self.who} repeated the key in its answer")
        return answer

    async def _asked(self, body: bytes) -> str:
        """One call, with the attempts that it takes, inside its timeout."""
        import httpx2

        end = monotonic() + self.timeout
        limits = httpx2.Timeout(self.silence, connect=self.connect)
        try:
            async with (
                asyncio.timeout(self.timeout),
                httpx2.AsyncClient(
                    timeout=limits,
                    follow_redirects=False,
                    trust_env=not _loopback(urlsplit(self.url).hostname or ""),
                ) as client,
            ):
                return _completion(await self._retrying()(self._once, client, body))
        except _Busy as busy:
            later = busy.pause is not None and busy.pause >= end - monotonic()
            left = ", and wants to be asked later than there is time for" if later else ""
            raise Refused(Flaw.HTTP_STATUS, f"{self.who} answers {busy.status}{left}") from None
        except (TimeoutError, httpx2.TimeoutException):
            within = f"{self.timeout:g} s, or was silent for too long"
            raise Refused(
                Flaw.TIMED_OUT, f"{self.who} gave no whole answer within {within}"
            ) from None
        except httpx2.ConnectError as error:
            raise Refused(Flaw.UNREACHABLE, f"{self.who} can't be reached{_why(error)}") from None
        except httpx2.HTTPError as error:
            raise Refused(
                Flaw.BROKEN_OFF,
                f"{self.who} broke off, or does not speak HTTP ({type(error).__name__})",
            ) from None

    def _retrying(self) -> tenacity.AsyncRetrying:
        """Tries again where the server is busy, as often and as long as the bounds allow."""
        import tenacity

        growing = tenacity.wait_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)

        def pause(state: tenacity.RetryCallState) -> float:
            busy = state.outcome.exception() if state.outcome is not None else None
            told = busy.pause if isinstance(busy, _Busy) else None
            return float(growing(state)) if told is None else told

        return tenacity.AsyncRetrying(
            reraise=True,
            retry=tenacity.retry_if_exception_type(_Busy),
            stop=tenacity.stop_after_attempt(self.attempts)
            | tenacity.stop_before_delay(self.timeout),
            wait=pause,
        )

    async def _once(self, client: httpx2.AsyncClient, body: bytes) -> bytes:
        """The bytes of one answer; what is not worth reading is not read."""
        headers = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "doxa",
        }
        if self.key is not None:
            headers["authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        async with client.stream("POST", address, content=body, headers=headers) as response:
            self._check_status(response)
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding != "identity":
                raise Refused(
                    Flaw.ENCODED, f"{self.who} compressed its answer, which it was asked not to do"
                )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(
                    Flaw.NO_JSON,
                    f"{self.who} answers with {in_short(kind, 80)}, and not with JSON",
                )
            parts: list[bytes] = []
            size = 0
            async for part in response.aiter_raw():
                size += len(part)
                if size > self.limit:
                    raise Refused(
                        Flaw.TOO_LARGE,
                        f"{self.who} answers with more than {self.limit:,} bytes; the rest was not "
                        "read",
                    )
                parts.append(part)
            return b"".join(parts)

    def _check_status(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status == 200:
            return
        if status == 429 or 500 <= status < 600:
            raise _Busy(status, _pause_of(response.headers.get("retry-after")))
        if 300 <= status < 400:
            raise Refused(
                Flaw.REDIRECTED,
                f"{self.who} answers {status} and points elsewhere, where nothing is sent; give "
                "the address that it means",
            )
        if status in (401, 403):
            raise Refused(Flaw.UNAUTHORIZED, f"{self.who} answers {status}; see to the key")
        raise Refused(Flaw.HTTP_STATUS, f"{self.who} answers {status}")


def _unfit(what: str, advice: str) -> CallerError:
    return CallerError(f"an endpoint's {what}; {advice}")


def _checked_url(url: object) -> str:
    """The host of a base address that can be used."""
    advice = "give the base, such as http://127.0.0.1:8080/v1"
    if isinstance(url, str) and "@" in url:
        raise _unfit("url holds a name or a password", "give the key by itself")
    if not isinstance(url, str) or not re.fullmatch("[!-~]+", url):
        raise _unfit(f"url is {url!r:.200}", advice)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _unfit(f"url is {url!r:.200}", advice) from None
    if parts.scheme not in ("http", "https") or not host:
        raise _unfit(f"url is {url!r:.200}", advice)
    if "?" in url or "#" in url:
        raise _unfit("url has more than a path behind the host", advice)
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise _unfit(f"url is {url!r:.200}", f"{advice}; /chat/completions is put behind it")
    return host


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _why(error: Exception) -> str:
    """What lies behind a connection that could not be made, in a word or two."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return " (its certificate or its TLS is not to be trusted)"
        cause = cause.__cause__ or cause.__context__
    return ""


def _pause_of(told: str | None) -> float | None:
    """The seconds that a Retry-After names, or those up to the date that it names."""
    if told is None:
        return None
    if told.isascii() and told.isdigit():
        return float(told) if _DIGITS.fullmatch(told) else float("inf")
    try:
        at = parsedate_to_datetime(told)
    except (ValueError, OverflowError, IndexError):
        return None
    zoned = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (zoned - datetime.now(UTC)).total_seconds())


# ---------------------------------------------------------------- what a completion holds


def _completion(raw: bytes) -> str:
    """The text of the one choice of a completion that was made to its end. Raises `Refused`."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            Flaw.NO_JSON, f"the completion is not UTF-8: {error.reason} at byte {error.start}"
        ) from None
    choices = strict_object(text, "the completion", Flaw.NO_JSON).get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        count = len(choices) if isinstance(choices, list) else "no list of"
        raise _no_completion(f"it holds {count} choices, where one was asked for")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _no_completion("its choice holds no message")
    if message.get("refusal") is not None:
        raise Refused(Flaw.DECLINED, "the model declined to answer")
    for name in ("tool_calls", "function_call"):
        if message.get(name):
            raise _no_completion(f"it holds {name}, and there are no tools")
    reason = choice.get("finish_reason")
    if reason == "length":
        raise Refused(Flaw.CUT_SHORT, "the answer was cut short, as it grew too long")
    if reason == "content_filter":
        raise Refused(Flaw.DECLINED, "the answer was held back by a filter")
    if reason != "stop":
        raise _no_completion("its finish_reason is not stop")
    if message.get("role") != "assistant":
        raise _no_completion("its message is not the assistant's")
    content = message.get("content")
    if not isinstance(content, str):
        raise _no_completion("its content is no text")
    return content


def _no_completion(why: str) -> Refused:
    return Refused(Flaw.NOT_A_COMPLETION, f"that is no completion: {why}")
