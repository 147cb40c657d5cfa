"""A LightRAG workspace into a ledger, and again after it has changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from doxa.adapters.carrying import Aside, Earlier, Progress, Written, check_ledger, write
from doxa.adapters.lightrag.mapping import Ids, Said, said_by
from doxa.adapters.lightrag.store import read_store
from doxa.engine import events as ev
from doxa.engine.errors import CallerError
from doxa.engine.words import counted

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["Gone", "Imported", "import_workspace"]


@dataclass(frozen=True, slots=True)
class Gone:
    """A support that was withdrawn since its chunk is gone, and how its claim stands without it (in
    a dry run: how it stands now)."""

    support: str
    claim: str
    source: str
    chunk: str | None
    subject: str
    predicate: str
    object: Any
    standing: str

    def as_dict(self) -> dict[str, Any]:
        """The support as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        said = f"{self.subject} {self.predicate} {str(self.object)[:80]!r}"
        return f"{said} is {self.standing} without {self.source} ({self.chunk})"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: ``events`` that are new and their ``commits``, of which so many are
    ``claims``, ``supports`` and ``summaries``; supports ``withdrawn`` since their chunk is gone,
    and ``restored`` since it is back; descriptions that LightRAG has ``replaced``; how many
    supports of chunks that are there are ``not_repeated`` (they stand); what was ``set_aside``."""

    events: int
    commits: int
    claims: int
    supports: int
    summaries: int
    withdrawn: tuple[Gone, ...]
    restored: int
    replaced: int
    not_repeated: int
    set_aside: tuple[Aside, ...]
    dry_run: bool = False

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to record."""
        return not self.events

    def as_dict(self) -> dict[str, Any]:
        """The import as a JSON object."""
        found = {name: getattr(self, name) for name in self.__slots__}
        found["withdrawn"] = [gone.as_dict() for gone in self.withdrawn]
        found["set_aside"] = [aside.as_dict() for aside in self.set_aside]
        return found

    def __str__(self) -> str:
        head = (
            f"{counted(self.claims, 'claim')}, {counted(self.supports, 'support')}, "
            f"{counted(self.summaries, 'summary', 'summaries')}; "
            f"{counted(len(self.withdrawn), 'support')} withdrawn, {self.restored} restored, "
            f"{counted(self.replaced, 'description')} replaced, {self.not_repeated} not repeated; "
            f"{len(self.set_aside)} set aside"
        )
        return "\n".join([head, *map(str, self.withdrawn), *map(str, self.set_aside)])


def import_workspace(
    ledger: Ledger,
    folder: str | os.PathLike[str],
    *,
    name: str = "default",
    namespace: str = "",
    prefix: str = "",
    workspace: str = "",
    zone: tzinfo | None = None,
    replace: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Records what the files of a LightRAG workspace say, and withdraws what rested on chunks that
    are gone since the last import under this ``name``.

    ``folder`` is the working_dir; ``namespace`` LightRAG's own ``workspace`` in it, ``prefix`` what
    stands before its files' names. Nothing is written where nothing changed. A store in which
    nothing is left of what was imported before is refused, unless ``replace`` says that it is
    meant. Times without a zone are of ``zone``. Raises `CallerError`, and writes nothing then, nor
    in a ``dry_run``. ``progress(events done, total)`` is called now and then. Memory: a few times
    the size of the largest file.
    """
    check_ledger(ledger)
    ids = Ids(name)
    store = read_store(folder, namespace, prefix)
    said = said_by(store, ids, zone)
    earlier = Earlier(ledger, workspace)
    plan = _Plan(earlier, said, ids)
    if plan.lost and not plan.known and not replace:
        raise CallerError(
            f"{store.folder} has nothing of what was imported under the name {name!r} before, and "
            f"{plan.lost} supports would be withdrawn; is it another store? Give it another name "
            "or, if all of it is gone, replace=True"
        )
    done = Written() if dry_run else write(ledger, plan.events, workspace, progress)
    return _report(ledger, plan, said, done, workspace, dry_run)


class _Plan:
    """What is to be recorded so that the ledger says what the store says."""

    def __init__(self, earlier: Earlier, said: Said, ids: Ids) -> None:
        self.earlier, self.said, self.ids = earlier, said, ids
        self.withdrawn: list[str] = []
        self.not_repeated = self.known = self.lost = self.replaced = 0
        gone = list(self._gone())
        self.back = list(self._back())
        replaced = list(self._replaced())
        self.new = [event for id, event in said.events.items() if not earlier.has(id)]
        self.events = [*gone, *replaced, *self.back, *self.new]

    def _gone(self) -> Iterator[dict[str, Any]]:
        """Withdrawals of the supports whose chunk the store no longer has."""
        head = f"{self.ids.prefix}support:"
        for id in self.earlier.supports(head):
            parts = id.removeprefix(head).split(":")
            if len(parts) != 3:
                continue  # somebody else's
            document, chunk, _ = parts
            here = f"{document}:{chunk}" in self.said.chunks
            if here or document in self.said.unsettled:
                self.known += 1
                self.not_repeated += here and id not in self.said.events and self.earlier.counts(id)
                continue
            event = self.earlier.taken_back(id, "its chunk is no longer in the LightRAG store")
            if event is not None:
                self.lost += 1
                self.withdrawn.append(id)
                yield event

    def _replaced(self) -> Iterator[dict[str, Any]]:
        """Withdrawals of descriptions that are not in the graph now, though all that they rest on
        stands. Those that rest on what is gone fall with it."""
        if not self.said.graph:
            return
        falling = set(self.withdrawn)
        back = {event["target"].rpartition("/gone-")[0] for event in self.back}
        for kind in ("entity", "relation"):
            for id in self.earlier.artefacts(f"{self.ids.prefix}{kind}:"):
                about = ":".join(id.split(":")[:-2]) + ":"
                if id in self.said.events or about in self.said.undecided:
                    continue
                rests_on = self.earlier.rests_on(id)
                if not falling.isdisjoint(rests_on):
                    continue
                if not all(each in back or self.earlier.counts(each) for each in rests_on):
                    continue
                event = self.earlier.taken_back(id, "LightRAG has no such description any more")
                if event is not None:
                    self.replaced += 1
                    yield event

    def _back(self) -> Iterator[dict[str, Any]]:
        for id, event in self.said.events.items():
            if event["event"] in ("support", "summary") and self.earlier.has(id):
                back = self.earlier.come_back(id, "it is in the LightRAG store again")
                if back is not None:
                    yield back


def _report(
    ledger: Ledger, plan: _Plan, said: Said, done: Written, workspace: str, dry_run: bool
) -> Imported:
    kinds = Counter(event["event"] for event in plan.new)
    view = ledger.view(valid_at=datetime.now(UTC), workspace=workspace)
    graph, payload = plan.earlier.graph, plan.earlier.payload
    gone = []
    for id in plan.withdrawn:
        support = payload(graph.position_of(plan.earlier.number(id)))
        assert isinstance(support, ev.Support), support
        claim = view.claim(support.claim)
        gone.append(
            Gone(
                id,
                claim.id,
                support.source.id if support.source else "",
                support.source.locator if support.source else None,
                claim.subject,
                claim.predicate,
                claim.object,
                str(claim.standing),
            )
        )
    return Imported(
        len(plan.events) if dry_run else done.events,
        done.commits,
        kinds["claim"],
        kinds["support"],
        kinds["summary"],
        tuple(gone),
        len(plan.back),
        plan.replaced,
        plan.not_repeated,
        (*said.aside, *done.refused),
        dry_run,
    )
