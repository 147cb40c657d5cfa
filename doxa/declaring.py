"""What a ledger is told about claims and predicates: policies, each one durable commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from doxa.arguments import Instant, check_list, fresh
from doxa.engine import times
from doxa.engine.gate import Override
from doxa.engine.parse import parse
from doxa.engine.plain import ready
from doxa.engine.stream import Request, Stream

__all__ = ["Declaring"]

_MOSTLY_PLAIN: Final = ("claim", "support")
_ASSERTING: Final = (*_MOSTLY_PLAIN, "citation", "summary")  # said once more, they come back


class Declaring:
    """The calls that declare policies, and how one event is recorded."""

    _stream: Stream

    def policy(
        self,
        *,
        single_valued: str | None = None,
        contradicts: Iterable[str] = (),
        verified: str | None = None,
        pinned: str | None = None,
        calibrated: Mapping[str, Any] | None = None,
        reason: str | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Declares a policy: a ``single_valued`` predicate, claims that contradict each other
        (``contradicts``), a claim that somebody ``verified``, a claim that is always given
        (``pinned``), or the parameters of a calibration (``calibrated``). Withdraw it by its id."""
        fields = {
            "single_valued": single_valued,
            "contradicts": tuple(check_list(contradicts, "contradicts")),
            "verified": verified,
            "pinned": pinned,
            "calibrated": calibrated,
        }
        return self._declare(fields, reason, id, workspace, recorded_at, False)

    def pin(
        self,
        claim: str,
        *,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> str:
        """Declares that a claim is always to be given; returns the id by which that is withdrawn.

        With ``dry_run`` it is judged, and nothing is written.
        """
        return self._declare({"pinned": claim}, reason, id, workspace, recorded_at, dry_run)

    def verify_claim(
        self,
        claim: str,
        *,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> str:
        """Declares that somebody verified a claim; returns the id by which that is withdrawn.

        With ``dry_run`` it is judged, and nothing is written.
        """
        return self._declare({"verified": claim}, reason, id, workspace, recorded_at, dry_run)

    def _declare(
        self,
        named: Mapping[str, Any],
        reason: str | None,
        id: str | None,
        workspace: str,
        recorded_at: Instant | None,
        dry_run: bool,
    ) -> str:
        fields = {
            "event": "policy",
            "id": fresh("policy") if id is None else id,
            "workspace": workspace,
            "reason": reason,
            **named,
        }
        return self._one(fields, recorded_at, dry_run)

    def _one(
        self,
        fields: Mapping[str, Any],
        recorded_at: Instant | None,
        dry_run: bool = False,
        override: Override | None = None,
    ) -> str:
        """Records one event, or only judges it."""
        event = ready(fields) if fields["event"] in _MOSTLY_PLAIN else parse(fields)
        stamp = None if recorded_at is None else times.instant(recorded_at, "recorded_at")
        again = fields["event"] in _ASSERTING
        request = Request((event,), stamp, override=override, asserting=again)
        if dry_run:
            self._stream.weigh(request)
        else:
            self._stream.append(request)
        return event.id
