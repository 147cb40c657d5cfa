"""What the events of a commit name: whether it is there, and is what it has to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.declared import COMPACTED, REDACTED, REJECTED
from doxa.engine.errors import InvalidEvent, UnknownTarget, WasErased, workspace_in_words
from doxa.engine.graph import ARTEFACT, CLAIM, KINDS, NONE, POLICY, SUPPORT
from doxa.engine.overlay import Meaning
from doxa.engine.retention import archived_now

__all__ = ["References"]

_RECORDS: Final = ("claim", "citation", "summary")  # what may be archived, scored, …


class References:
    """The events of one commit, and what each of them means by an id: in the log or the commit."""

    def __init__(self, belief: Belief, events: Sequence[ev.Event]) -> None:
        self.belief, self.graph = belief, belief.graph
        self.events = list(events)
        self.ids: dict[tuple[str, str], int] = {}  # workspace and id → place in the commit

    def _targets(self, event: ev.Event, index: int) -> None:
        if isinstance(event, ev.Support):
            self._living(event, event.claim, "claim")
        if isinstance(event, ev.Claim | ev.Support):
            for ref in event.because:
                self._claim(event, ref, "because")
        elif isinstance(event, ev.Correction):
            self._unresolved(event)
        elif isinstance(event, ev.Withdrawal):
            self._withdrawable(event, index)
        elif isinstance(event, ev.Citation | ev.Summary):
            self._dependencies(event)
        elif isinstance(event, ev.Policy):
            if event.compacted is not None:
                raise InvalidEvent(
                    f"policy {event.id!r} says that something was compacted, which only a "
                    "compaction records; leave it out"
                )
            self._policy(event)

    def _policy(self, event: ev.Policy) -> None:
        for ref in event.contradicts:
            self._claim(event, ref, "contradicts")
        for role in ("verified", "pinned"):
            named = getattr(event, role)
            if named is not None:
                self._living(event, named, role)
        for role in ("scored", "expires", "archived", "restored"):
            named = getattr(event, role) or ()
            for ref in (named,) if isinstance(named, str) else named:
                meaning = self._named(event, ref, role, _RECORDS)
                if role in ("scored", "expires"):
                    self._not_erased(event, meaning, ref, role)
        for role in ("overrides", "blocked"):
            named = getattr(event, role)
            if named is not None:
                self._rejection(event, named, role)
        if event.overrides is not None and event.of is not None:
            self._claim(event, event.of, "of")
        for one in event.redacted:
            self._redactable(event, one.id)

    def _redactable(self, event: ev.Policy, id: str) -> None:
        """Only what is archived, in the log or by this commit, or is erased already, is erased;
        and with it what says something of it alone."""
        where, number = self._meaning(event, id, "redacted")
        if where == "commit":
            raise InvalidEvent(
                f"policy {event.id!r}: redacted names {id!r}, which is in the same commit; what is "
                "not recorded yet needs no erasure"
            )
        if number & 7 not in (CLAIM, ARTEFACT) or number in self.graph.erased:
            return
        named = (id in other.archived for other in self.events if isinstance(other, ev.Policy))
        if not archived_now(self.belief, number) and not any(named):
            raise InvalidEvent(
                f"{id!r} is not archived, and only what is archived is purged; archive it first"
            )

    def _rejection(self, event: ev.Policy, ref: str, role: str) -> None:
        where, number = self._named(event, ref, role, ("policy",))
        if where == "log":
            rejects = self.graph.p_what[number >> 3] == REJECTED
        else:
            other = self.events[number]
            rejects = isinstance(other, ev.Policy) and other.rejected is not None
        if not rejects:
            raise InvalidEvent(
                f"policy {event.id!r}: {role} names {ref!r}, which rejects no value; give the id "
                "that reject returned"
            )

    def _meaning(self, event: ev.Event, ref: str | ev.Ref, role: str) -> Meaning:
        key = event.key(ref)
        found = self.graph.find(*key)
        if found != NONE:
            return "log", found
        here = self.ids.get(key)
        if here is None and key.id.endswith(ev.CARRIED):
            here = self.ids.get(ev.Ref(key.workspace, key.id[: -len(ev.CARRIED)]))
            if here is not None:
                claim = self.events[here]
                if not isinstance(claim, ev.Claim) or not (claim.source or claim.because):
                    here = None
        if here is None and self.graph.gone is not None:
            self.graph.gone.refuse(*key, f"{event.TYPE} {event.id!r}: {role} names")
        if here is None:
            raise UnknownTarget(
                f"{event.TYPE} {event.id!r}: {role} names {key.id!r}, which is not in "
                f"{workspace_in_words(key.workspace)} of this ledger; record it first, or in the "
                "same commit"
            )
        return "commit", here

    def _kind(self, meaning: Meaning, ref: str | ev.Ref) -> str:
        where, number = meaning
        id = ref.id if isinstance(ref, ev.Ref) else ref
        if where == "log":
            kind = number & 7
            if kind == ARTEFACT:
                return "summary" if self.graph.a_summary[number >> 3] else "citation"
            return KINDS[kind]
        return "support" if id.endswith(ev.CARRIED) else self.events[number].TYPE

    def _named(
        self, event: ev.Event, ref: str | ev.Ref, role: str, kinds: Sequence[str]
    ) -> Meaning:
        meaning = self._meaning(event, ref, role)
        kind = self._kind(meaning, ref)
        if kind not in kinds:
            id = ref.id if isinstance(ref, ev.Ref) else ref
            raise InvalidEvent(
                f"{event.TYPE} {event.id!r}: {role} names {id!r}, a {kind}; "
                f"it takes a {' or '.join(kinds)}"
            )
        return meaning

    def _claim(self, event: ev.Event, ref: str | ev.Ref, role: str) -> Meaning:
        return self._named(event, ref, role, ("claim",))

    def _living(self, event: ev.Event, ref: str | ev.Ref, role: str) -> None:
        """A claim of which more may be said: one that is not erased."""
        self._not_erased(event, self._claim(event, ref, role), ref, role)

    def _not_erased(self, event: ev.Event, meaning: Meaning, ref: str | ev.Ref, role: str) -> None:
        where, number = meaning
        if where == "log" and number in self.graph.erased and not event.erased:
            id = ref.id if isinstance(ref, ev.Ref) else ref
            raise WasErased(
                f"{event.TYPE} {event.id!r}: {role} names {id!r}, which was erased, and of which "
                "nothing more is recorded; what is claimed anew has a new id"
            )

    def _unresolved(self, event: ev.Correction) -> None:
        """An unresolved correction names what it may mean; one that resolves names such a one."""
        for ref in event.candidates:
            self._claim(event, ref, "candidates")
        if event.resolves is not None:
            where, number = self._named(event, event.resolves, "resolves", ("correction",))
            settled = (
                self.graph.k_unresolved.get(number >> 3) if where == "log" else self.events[number]
            )
            if not isinstance(settled, ev.Correction) or settled.unresolved is None:
                raise InvalidEvent(
                    f"correction {event.id!r}: resolves names {event.resolves!r}, which is not "
                    "unresolved; withdraw it, if it was wrong"
                )
        if event.unresolved is not None and not event.candidates:
            if self.graph.gone is not None:
                told = f"correction {event.id!r}: unresolved is"
                self.graph.gone.refuse(event.workspace, event.unresolved, told)
            known = self.graph.find(event.workspace, event.unresolved)
            if known != NONE and known & 7 == CLAIM:
                raise InvalidEvent(
                    f"correction {event.id!r}: {event.unresolved!r} is the id of a claim that is "
                    "there; say that it corrects that claim"
                )

    def _withdrawable(self, event: ev.Withdrawal, index: int) -> None:
        if event.target is not None:
            try:
                where, number = self._meaning(event, event.target, "target")
            except UnknownTarget as error:
                raise self._of_source(event, error) from None
            if number & 7 in (CLAIM, SUPPORT, ARTEFACT):  # a correction counts, without its words
                self._not_erased(event, (where, number), event.target, "target")
            erases = where == "log" and number & 7 == POLICY
            if erases and self.graph.p_what[number >> 3] == REDACTED:
                raise InvalidEvent(
                    f"withdrawal {event.id!r} takes back {event.target!r}, an erasure: what is "
                    "erased can't be brought back; record it anew, under a new id"
                )
            if erases and self.graph.p_what[number >> 3] == COMPACTED:
                raise InvalidEvent(
                    f"withdrawal {event.id!r} takes back {event.target!r}, which says what was "
                    "compacted: that can't be brought back; open a backup from before"
                )
            if where == "commit" and number > index and self.events[number].TYPE == "withdrawal":
                raise InvalidEvent(
                    f"withdrawal {event.id!r} takes back the withdrawal {event.target!r}, which "
                    "comes after it; put it after"
                )
            return
        assert event.source is not None
        if not self._source_known(event.workspace, event.source):
            meant = self._of_origin(event.workspace, event.source)
            next_step = (
                "it may be spelled otherwise or be in another workspace: sources lists those that "
                "there are"
                if meant is None
                else f"it is the origin of the source {meant!r}: did you mean that?"
            )
            raise UnknownTarget.meaning(
                f"withdrawal {event.id!r}: nothing in {workspace_in_words(event.workspace)} names "
                f"the source {event.source!r}; {next_step}",
                meant,
            )

    def _of_source(self, event: ev.Withdrawal, error: UnknownTarget) -> UnknownTarget:
        """What is said where the target is no event: that it is a source, or the origin of one."""
        assert event.target is not None
        workspace, name = event.key(event.target)
        said = f"withdrawal {event.id!r}: target names {name!r}, which is"
        as_one = "as one: a doxa.Source as the target, or --whole-source"
        if self._source_known(workspace, name):
            return UnknownTarget.meaning(f"{said} a source; it is withdrawn {as_one}", name)
        if (meant := self._of_origin(workspace, name)) is None:
            return error
        return UnknownTarget.meaning(
            f"{said} the origin of the source {meant!r}: did you mean that? It is withdrawn "
            f"{as_one}",
            meant,
        )

    def _of_origin(self, workspace: str, origin: str) -> str | None:
        """The one source of an origin, where there is just one."""
        graph, texts = self.graph, self.graph.names.texts
        if (code := graph.names.find(origin)) == NONE:
            return None
        found = {
            texts[graph.r_name[source]]
            for row, source in enumerate(graph.s_source)
            if source != NONE
            and graph.s_origin[row] == code
            and workspace in ("", texts[graph.r_ws[source]])
        }
        return found.pop() if len(found) == 1 else None

    def _source_known(self, workspace: str, name: str) -> bool:
        code = self.graph.names.find(name)
        rows = self.graph.sources_named.get(code) if code != NONE else ()
        texts = self.graph.names.texts
        if any(workspace in ("", texts[self.graph.r_ws[row]]) for row in rows):
            return True
        if self.graph.gone is not None and self.graph.gone.names_source(workspace, name):
            return True
        for event in self.events:
            source = getattr(event, "source", None)
            if (
                isinstance(source, ev.SourceRef)
                and source.id == name
                and workspace in ("", event.workspace)
            ):
                return True
        return False

    def _dependencies(self, event: ev.Citation | ev.Summary) -> None:
        for ref in event.facts:
            self._claim(event, ref, "facts")
        for ref in event.supports:
            self._named(event, ref, "supports", ("support",))
        for ref in event.citations:
            self._named(event, ref, "citations", ("citation",))
        for name in event.sources:
            if not any(self._source_known(place, name) for place in (event.workspace, "")):
                raise UnknownTarget(
                    f"{event.TYPE} {event.id!r}: nothing in {workspace_in_words(event.workspace)} "
                    f"names the source {name!r}; record what it says first"
                )
