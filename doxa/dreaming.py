"""Insights: what related claims say together, as a language model sees it, recorded as conclusions
from the claims that it cites."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Commit, Instant, check_list, check_text
from doxa.dreams import Contradiction, Dreams, Dreamt, Planned, Turned
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.errors import CallerError, ConflictError, DuplicateId
from doxa.engine.insight import (
    KIND,
    SEVERAL,
    Flaw,
    Refused,
    digest_of,
    keyed,
    messages,
    read_answer,
    record,
    schema,
)
from doxa.using import Using
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.adapters.endpoint import Endpoint
    from doxa.consolidating import Consolidation
    from doxa.projections.clusters import LastUsed
    from doxa.projections.related import Against, Group, Related

__all__ = ["Dreaming"]

Progress = Callable[[int, int | None], None]

KEY: Final = "DOXA_ENDPOINT_KEY"  # the environment variable that a key is taken from
CALLS: Final = 8  # of a run
IDLE: Final = 7.0  # days
PATIENCE: Final = 3  # calls in a row that fail for want of a working endpoint; then the run ends
_DAY: Final = 86_400_000_000  # microseconds
_BYTES_OF_A_TOKEN: Final = 4  # about so many, of English
# What is wrong with an endpoint rather than with one answer: the next call will fare no better.
_NO_ANSWER: Final = frozenset(
    (
        *(Flaw.UNREACHABLE, Flaw.TIMED_OUT, Flaw.BROKEN_OFF, Flaw.UNAUTHORIZED),
        *(Flaw.HTTP_STATUS, Flaw.REDIRECTED, Flaw.ENCODED, Flaw.NO_JSON, Flaw.NOT_A_COMPLETION),
    )
)


class Dreaming(Using):
    """The pass that asks a language model, and what is made of its answers."""

    if TYPE_CHECKING:
        append: Callable[..., Commit]
        consolidate: Callable[..., Consolidation]
        view: Callable[..., TruthView]

    def dream(
        self,
        *,
        endpoint: Endpoint | str | None = None,
        model: str | None = None,
        workspace: str = "",
        perspective: str | None = None,
        valid_at: Instant | None = None,
        idle: float = IDLE,
        limit: int | None = None,
        skip: Iterable[str] = (),
        dry_run: bool = False,
        mechanical: bool = False,
        last_used: LastUsed | None = None,
        progress: Progress | None = None,
    ) -> Dreams:
        """Shows groups of related claims to a language model, and records what it sees in them.

        ``endpoint`` is a `doxa.Endpoint`, or the base address of one with the ``model``'s name; its
        key is then taken from the environment variable ``DOXA_ENDPOINT_KEY``. Only claims are shown
        that are held and uncontested at ``valid_at`` (now), rest on a source, are no conclusions,
        and were not used, or else recorded, for ``idle`` days; ``last_used`` is as for
        `consolidate` and, left out, what was noted of their use. An insight is a claim of the kind
        "insight" that rests on the claims it cites, two at least, over the time that all of them
        apply. Its id is made of the ids of all that was shown: where it is there, the model is not
        asked again. At most ``limit`` (8) answers are asked for, the coldest groups first; those
        whose ids are in ``skip`` are passed over. Claims of which one denies what another says are
        not shown: their contradiction is declared.

        An answer that is not exactly what was asked for is refused and reported, nothing of it is
        recorded, and the run goes on; after three calls in a row that got no answer it ends. With
        ``dry_run`` nothing is asked and nothing is written. ``mechanical`` asks no model, and does
        what `consolidate` does. ``progress(calls done, limit)`` is called after each. Raises
        `CallerError` without an endpoint.
        """
        at = times.moment(self.clock()) if valid_at is None else valid_at
        place: dict[str, Any] = {"workspace": workspace, "perspective": perspective, "valid_at": at}
        if mechanical:
            if endpoint is not None or model is not None:
                raise CallerError("mechanical asks no model: leave endpoint and model out")
            options = {"limit": limit, "dry_run": dry_run, "last_used": last_used}
            return Dreams(consolidation=self.consolidate(**place, **options, progress=progress))
        asked = None if dry_run and endpoint is None else _endpoint(endpoint, model)
        check_text(workspace, "workspace")
        _check_bounds(idle, limit)
        passed_over = set(check_list(skip, "skip"))
        if asked is not None and not dry_run:
            asked.ready()
        view = self.view(**place, shared=False)
        used = self._noted_use(view) if last_used is None else last_used
        found = self._related(view, self.clock() - round(idle * _DAY), used)
        run = _Run(self, view, None if dry_run else asked, limit or CALLS, progress)
        for against in found.against:
            run.flag(against)
        for group in found.groups:
            if keyed(KIND, group.ids) not in passed_over:
                run.go_through(group)
        return run.told(found.too_long)

    def _noted_use(self, view: TruthView) -> LastUsed:
        """When the claims in sight were last used, as far as that was noted beside the log."""
        from doxa.projections.clusters import evidence

        keys = [(view.workspace, view.graph.claim_id(row)) for row, _ in evidence(view)]
        noted = {key: used.last for key, used in self._usage.of(keys).items()}
        return lambda workspace, id: noted.get((workspace, id))

    def _related(self, view: TruthView, unused_since: int, last_used: LastUsed) -> Related:
        from doxa.projections.related import related

        return related(
            view,
            lambda rows: self._claims(view, rows),
            unused_since=unused_since,
            last_used=last_used,
        )

    def _claims(self, view: TruthView, rows: Sequence[int]) -> list[ev.Claim | None]:
        """Claims as they were recorded; ``None`` for what was erased since."""
        from doxa.engine.texts import Texts

        texts = Texts(view.graph, self._stream.rows)
        positions = [view.graph.c_pos[row] for row in rows]
        texts.expect_at(positions)
        found = [texts.event(position) for position in positions]
        return [event if isinstance(event, ev.Claim) else None for event in found]

    def _there(self, workspace: str, id: str) -> bool:
        """Whether an id is in the log by now, whoever recorded it."""
        fold, _ = self._stream.capture(wait=True)
        return fold.belief.graph.taken(workspace, id)


class _Run:
    """One run, which asks nothing and writes nothing where there is no endpoint."""

    def __init__(
        self,
        ledger: Dreaming,
        view: TruthView,
        endpoint: Endpoint | None,
        limit: int,
        progress: Progress | None,
    ) -> None:
        self.ledger, self.view, self.limit = ledger, view, limit
        self.endpoint, self.progress = endpoint, progress
        self.insights: list[Dreamt] = []
        self.already: list[str] = []
        self.refused: list[Turned] = []
        self.planned: list[Planned] = []
        self.contradictions: list[Contradiction] = []
        self.calls = self.remaining = self.failing = 0

    def told(self, too_long: int) -> Dreams:
        """What came of it."""
        return Dreams(
            tuple(self.insights),
            tuple(self.already),
            tuple(self.refused),
            tuple(self.planned),
            tuple(self.contradictions),
            self.calls,
            self.remaining,
            too_long,
            self.failing >= PATIENCE,
        )

    def flag(self, against: Against) -> None:
        """Notes a contradiction, and declares it where nothing makes rivals of the claims yet."""
        if against.policy is not None and self.endpoint is not None:
            self._recorded(
                {
                    "event": "policy",
                    "id": against.policy,
                    "workspace": self.view.workspace,
                    "contradicts": sorted(against.ids),
                    "reason": "one says what the other denies",
                }
            )
        self.contradictions.append(Contradiction(against.ids, against.policy))

    def go_through(self, group: Group) -> None:
        """Asks about one group, unless that was done before, or is more than this run may do."""
        id = keyed(KIND, group.ids)
        if self.ledger._there(self.view.workspace, id):
            self.already.append(id)
            return
        if self.calls + len(self.planned) >= self.limit or self.failing >= PATIENCE:
            self.remaining += 1
            return
        claims = self.ledger._claims(self.view, group.rows)
        records = [record(claim) for claim in claims if claim is not None]
        prompt = messages(records)
        if self.endpoint is None:
            size = sum(len(message["content"].encode()) for message in prompt)
            tokens = -(-size // _BYTES_OF_A_TOKEN)
            self.planned.append(Planned(id, group.ids, size, tokens))
            return
        try:
            if len(records) < len(group.ids):
                raise Refused(Flaw.SOURCES_MOVED, "some of it was erased before it was shown")
            self.calls += 1
            answer = self.endpoint.ask(self.endpoint.body(prompt, schema(group.ids)))
            self.failing = 0
            self._take(id, group, answer)
        except Refused as refused:
            self.failing += refused.flaw in _NO_ANSWER
            self.refused.append(Turned(id, group.ids, refused.flaw, refused.detail))
        if self.progress is not None:
            self.progress(self.calls, self.limit)

    def _take(self, id: str, group: Group, answer: str) -> None:
        """Records an insight, if the answer is one and all that was shown is still as it was."""
        assert self.endpoint is not None
        found = read_answer(answer, group.ids)
        self._check_still(group.ids)
        graph = self.view.graph
        rows = [group.rows[group.ids.index(cited)] for cited in found.cites]
        start = max(graph.c_from[row] for row in rows)
        end = min(graph.c_to[row] for row in rows)
        assert start < end, "all of them are held at one instant"
        subjects = {graph.names.texts[graph.c_subject[row]] for row in rows}
        event = {
            "event": "claim",
            "id": id,
            "workspace": self.view.workspace,
            "subject": subjects.pop() if len(subjects) == 1 else SEVERAL,
            "predicate": KIND,
            "object": {
                "insight": found.insight,
                "model": self.endpoint.model,
                "answer": digest_of(answer),
                "shown": list(group.ids),
            },
            "text": found.insight,
            "kind": KIND,
            "perspective": group.perspective,
            "valid_from": None if start == times.NEG else times.moment(start),
            "valid_to": None if end == times.POS else times.moment(end),
            "because": found.cites,
        }
        try:
            new = self._recorded(event)
        except (CallerError, ConflictError) as error:  # such as a value that is rejected
            raise Refused(Flaw.NOT_ACCEPTED, f"the ledger does not take it: {error}") from None
        if new:
            self.insights.append(Dreamt(id, group.ids, tuple(found.cites), found.insight))
        else:
            self.already.append(id)

    def _recorded(self, event: dict[str, Any]) -> bool:
        """Whether an event went in; not so where somebody else was quicker."""
        try:
            return self.ledger.append([event]).new > 0
        except DuplicateId:
            return False

    def _check_still(self, shown: Sequence[str]) -> None:
        """Refuses an insight where something that the model was shown is no evidence by now."""
        then = self.view
        now = self.ledger.view(valid_at=then.valid_at, workspace=then.workspace, shared=False)
        for id in shown:
            calm = now.standing(id) in (Standing.REPORTED, Standing.CORROBORATED)
            sourced = any(
                each.live and each.source is not None and each.stance == "supports"
                for each in now.supports(id)
            )
            if not (calm and sourced):
                raise Refused(
                    Flaw.SOURCES_MOVED,
                    f"{id!r:.80} was shown, and is not held as it was by the time of the answer",
                )


def _endpoint(endpoint: Endpoint | str | None, model: str | None) -> Endpoint:
    """The endpoint that the arguments mean."""
    from doxa.adapters.endpoint import Endpoint

    if endpoint is None:
        raise CallerError(
            "dream needs a language model: give endpoint, the base address of one that speaks the "
            "OpenAI protocol (such as http://127.0.0.1:8080/v1), with model, its name there; or "
            "ask for the pass without one: mechanical=True"
        )
    if isinstance(endpoint, Endpoint):
        if model is not None:
            raise CallerError("the endpoint has a model; give model with an address only")
        return endpoint
    if model is None:
        raise CallerError("model is missing: give its name, as the server at the endpoint knows it")
    return Endpoint(endpoint, model, key=os.environ.get(KEY) or None)


def _check_bounds(idle: object, limit: int | None) -> None:
    if not isinstance(idle, int | float) or isinstance(idle, bool) or not 0 <= idle <= 36_500:
        raise CallerError(f"idle is {idle!r:.80}; give a number of days, 0 or more")
    if limit is not None and (type(limit) is not int or not 1 <= limit <= 10_000):
        raise CallerError(f"limit is {limit!r:.80}; give a number of calls, from 1 to 10,000")
