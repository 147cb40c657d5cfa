"""What has been recorded, as rows: claims, supports, corrections, withdrawals, sources.

Rows are typed columns, one entry an event, in log order. Rows are only ever added, so a reader
that looks at positions up to *k* alone sees an unchanging picture while later events arrive.

An *entity* is one number for a row of any kind: ``row * 8 + kind``. Rows, positions and codes have
31 bits, instants 64.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.declared import Policies
from doxa.engine.numbers import Lists, Numbers, Series, before_each, chain, lead, without
from doxa.engine.points import Points
from doxa.engine.tables import NONE, Ids, Names, Objects

__all__ = [
    "ARTEFACT",
    "CLAIM",
    "CORRECTION",
    "FACT",
    "HYPOTHESIS",
    "KINDS",
    "NAMED",
    "NONE",
    "PLAIN",
    "POLICY",
    "SHARED",
    "SOURCE",
    "SUPPORT",
    "WHOLE",
    "WITHDRAWAL",
    "Rows",
    "entity",
]

CLAIM, SUPPORT, CORRECTION, WITHDRAWAL, SOURCE, ARTEFACT, POLICY = range(7)
KINDS: Final = ("claim", "support", "correction", "withdrawal", "source", "artefact", "policy")
HYPOTHESIS, SHARED, FACT = range(3)  # the codes of the first names of all
PLAIN: Final = 4  # a claim that its own source alone carries
_MANY = 64  # rows that are chained together
UNBOUND, WHOLE, NAMED = range(3)  # how an artefact is bound: to no snapshot, a workspace, subjects


def entity(kind: int, row: int) -> int:
    """The number of a row of that kind."""
    return row * 8 + kind


def _column() -> array[int]:
    return array("i")


def _instants() -> array[int]:
    return array("q")


class Rows(Policies):
    """The rows of one log, and what is found by them."""

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        for name in ("hypothesis", "", "fact"):
            self.names.code(name)
        self.ids = Ids()

        self.c_pos, self.c_ws = _column(), _column()
        self.c_subject, self.c_predicate = _column(), _column()
        self.c_perspective, self.c_kind = _column(), _column()
        self.c_from, self.c_to = _instants(), _instants()
        self.c_object = Objects()
        self.c_carried = _column()  # support row, or NONE
        self.c_plain = bytearray()  # PLAIN where its own source alone makes it held, else 0
        self.c_next_key, self.c_next_subject = _column(), _column()
        self._first_key = Numbers()
        self.points = Points()
        self._first_subject = _column()  # by the code of the subject
        self.extra_supports = Lists()
        self.dependents = Lists()  # claim → supports that rest on it
        self.corrections_of = Lists()
        self.replaces = Lists()  # claim → corrections that put it in

        self.s_claim, self.s_pos, self.s_source = _column(), _column(), _column()
        self.s_from, self.s_to, self.s_observed = _instants(), _instants(), _instants()
        self.s_origin, self.s_digest = _column(), _column()
        self.s_refutes = bytearray()
        self.s_because = Lists()  # support → claims
        self.s_next_source = _column()

        self.k_pos, self.k_ws, self.k_target, self.k_by = (
            _column(), _column(), _column(), _column(),
        )  # fmt: skip
        self.k_from, self.k_to, self.k_source = _instants(), _instants(), _column()

        self.k_unresolved: dict[int, ev.Correction] = {}
        self.k_candidates = Lists()  # claim → unresolved corrections
        self.resolvers_of = Lists()  # unresolved correction → what settles it
        self.k_resolves = Numbers()
        self._dangling: dict[tuple[int, str], list[int]] = {}  # workspace, name → corrections
        self.bound: list[int] = []  # dangling corrections whose claim came with the last commit

        self.w_pos, self.w_ws, self.w_target = _column(), _column(), _column()
        self.w_from, self.w_to = _instants(), _instants()
        self.withdrawals_of = Lists()  # entity → withdrawal rows

        self.r_ws, self.r_name = _column(), _column()  # sources
        self._sources = Numbers()
        self.sources_named = Lists()
        self.r_first_support = _column()
        self.r_corrections = Lists()

        self.a_pos, self.a_ws = _column(), _column()
        self.artefacts_in: dict[int, array[int]] = {}  # workspace → positions
        self.a_at = _instants()  # the valid time of a snapshot; else when it was recorded
        self.a_summary, self.a_snapshot = bytearray(), bytearray()
        self.a_facts, self.a_supports = Series(), Series()  # claim rows; support rows
        self.a_sources, self.a_citations = Series(), Series()  # source rows; artefact rows
        self.a_subjects = Series()  # of snapshots bound to named subjects

    # -- positions

    def claims_upto(self, position: int) -> int:
        """How many claims were recorded up to a position."""
        return bisect_right(self.c_pos, position)

    def artefacts_upto(self, workspace: int, position: int) -> int:
        """How many artefacts of a workspace were registered up to a position."""
        return bisect_right(self.artefacts_in.get(workspace, ()), position)

    def revision_of(self, workspace: str, upto: int) -> int:
        """`revision` of a workspace by name; 0 where nothing was ever recorded in it."""
        code = self.names.find(workspace)
        return 0 if code == NONE else self.revision(code, upto)

    # -- looking up

    def find(self, workspace: str, id: str) -> int:
        """The entity of an id in a workspace, or NONE."""
        ws = self.names.find(workspace)
        if ws == NONE:
            return NONE
        found = self.ids.find(ws, id)
        if found == NONE and id.endswith(ev.CARRIED):
            found = self.ids.find(ws, id[: -len(ev.CARRIED)])
            carried = NONE
            if found != NONE and found & 7 == CLAIM:
                carried = self.c_carried[found >> 3]
            return NONE if carried == NONE else entity(SUPPORT, carried)
        return found

    def find_everywhere(self, id: str) -> list[int]:
        """The entities of an id in whatever workspaces know it; O(workspaces)."""
        texts = self.names.texts
        found = (self.find(texts[ws], id) for ws in list(self.revisions))
        return [number for number in found if number != NONE]

    def find_source(self, workspace: str, name: str) -> int:
        """The row of a source in a workspace, or NONE."""
        ws, code = self.names.find(workspace), self.names.find(name)
        return NONE if NONE in (ws, code) else self._sources.get(ws << 32 | code)

    def shared_source(self, source: int) -> int:
        """The row of the source of the same name in the shared workspace, or NONE."""
        return self._sources.get(SHARED << 32 | self.r_name[source])

    def position_of(self, number: int) -> int:
        """The log position of an entity (a carried support's is its claim's; a source's is 0)."""
        kind, row = number & 7, number >> 3
        if kind == CLAIM:  # most are
            return self.c_pos[row]
        columns = {
            SUPPORT: self.s_pos, CORRECTION: self.k_pos,
            WITHDRAWAL: self.w_pos, ARTEFACT: self.a_pos, POLICY: self.p_pos,
        }  # fmt: skip
        return columns[kind][row] if kind != SOURCE else 0

    def id_at(self, position: int) -> str:
        """The id of the event at a position."""
        return self.ids.texts[position - 1]

    def claim_id(self, row: int) -> str:
        """The id of a claim."""
        return self.ids.texts[self.c_pos[row] - 1]

    def artefact_id(self, row: int) -> str:
        """The id of a citation or summary."""
        return self.ids.texts[self.a_pos[row] - 1]

    def id_of(self, number: int) -> str:
        """The id that an entity is known by."""
        kind, row = number & 7, number >> 3
        if kind == SOURCE:
            return self.names.texts[self.r_name[row]]
        id = self.id_at(self.position_of(number))
        if kind == SUPPORT and self.c_carried[self.s_claim[row]] == row:
            return id + ev.CARRIED
        return id

    def workspace_of(self, number: int) -> int:
        """The code of the workspace that an entity lives in."""
        kind, row = number & 7, number >> 3
        if kind == CLAIM:
            return self.c_ws[row]
        if kind == SUPPORT:
            return self.c_ws[self.s_claim[row]]
        columns = {
            CORRECTION: self.k_ws, WITHDRAWAL: self.w_ws,
            SOURCE: self.r_ws, ARTEFACT: self.a_ws, POLICY: self.p_ws,
        }  # fmt: skip
        return columns[kind][row]

    def supports_of(self, claim: int) -> Iterator[int]:
        """The support rows of a claim, of both stances, in log order."""
        carried = self.c_carried[claim]
        if carried != NONE:
            yield carried
        yield from self.extra_supports.get(claim)

    def claims_about(self, subject: int, predicate: int | None) -> Iterator[int]:
        """The claim rows about a subject (and predicate), newest first."""
        if predicate is None:
            first = self._first_subject
            row = first[subject] if subject < len(first) else NONE
            following = self.c_next_subject
        else:
            row, following = self._first_key.get(subject << 32 | predicate), self.c_next_key
        while row != NONE:
            yield row
            row = following[row]

    def newest_about(self, subject: int, predicate: int) -> int:
        """The newest claim row about a subject and predicate, or NONE; `c_next_key` leads on."""
        return self._first_key.get(subject << 32 | predicate)

    def supports_from(self, source: int) -> Iterator[int]:
        """The support rows that name a source, newest first."""
        row = self.r_first_support[source]
        while row != NONE:
            yield row
            row = self.s_next_source[row]

    def subjects_of(self, artefact: int) -> Sequence[int] | None:
        """The codes of the subjects that a snapshot is bound to; ``None`` where there are none."""
        return self.a_subjects[artefact] if self.a_snapshot[artefact] == NAMED else None

    def base(self, number: int) -> times.Intervals:
        """The interval or portion that an entity was recorded with."""
        kind, row = number & 7, number >> 3
        if kind == CLAIM:
            return (self.c_from[row], self.c_to[row])
        if kind == SUPPORT:
            return (self.s_from[row], self.s_to[row])
        if kind == CORRECTION:
            portion = (self.k_from[row], self.k_to[row])
            return portion if portion[0] < portion[1] else times.EMPTY
        if kind == WITHDRAWAL:
            return (self.w_from[row], self.w_to[row])
        return times.ALL

    # -- adding rows

    def add_row(self, position: int, recorded_at: int, ws: int, event: ev.Event) -> int:
        """The entity of a new event, whose edges are still to be added."""
        if isinstance(event, ev.Claim):
            return entity(CLAIM, self._add_claim(position, ws, event))
        if isinstance(event, ev.Support):
            refutes, (start, end) = event.stance == "refutes", event.valid
            row = self._add_support(position, ws, NONE, event.source, start, end, refutes)
            return entity(SUPPORT, row)
        if isinstance(event, ev.Correction):
            row = len(self.k_pos)
            self.k_pos.append(position)
            self.k_ws.append(ws)
            start, end = event.valid
            self.k_from.append(start)
            self.k_to.append(end)
            if event.unresolved is not None:
                self.k_unresolved[row] = event
            named = event.source
            self.k_source.append(NONE if named is None else self.source(ws, named.id))
            self.k_target.append(NONE)
            self.k_by.append(NONE)
            return entity(CORRECTION, row)
        if isinstance(event, ev.Withdrawal):
            self.w_pos.append(position)
            self.w_ws.append(ws)
            self.w_from.append(event.valid_from)
            self.w_to.append(event.valid_to)
            self.w_target.append(NONE)
            return entity(WITHDRAWAL, len(self.w_pos) - 1)
        if isinstance(event, ev.Citation | ev.Summary):
            at = recorded_at if event.valid_at is None else event.valid_at
            return entity(ARTEFACT, self._add_artefact(position, at, ws, event))
        assert isinstance(event, ev.Policy), event
        return entity(POLICY, self.add_policy(position, ws, event))

    def _add_artefact(
        self, position: int, at: int, ws: int, event: ev.Citation | ev.Summary
    ) -> int:
        row = len(self.a_pos)
        self.artefacts_in.setdefault(ws, _column()).append(position)
        self.a_ws.append(ws)
        self.a_at.append(at)
        self.a_summary.append(event.TYPE == "summary")
        named = event.subjects is not None
        snapshot = event.binding == "snapshot"
        self.a_snapshot.append(UNBOUND if not snapshot else NAMED if named else WHOLE)
        self.a_sources.append(self.source(ws, name) for name in event.sources)
        self.a_subjects.append(self.names.code(name) for name in event.subjects or ())
        self.a_pos.append(position)
        return row

    def _add_claim(self, position: int, ws: int, event: ev.Claim) -> int:
        row, code = len(self.c_pos), self.names.code
        support = NONE
        if event.source is not None or event.because:
            support = self._add_support(
                position, ws, row, event.source, times.NEG, times.POS, False
            )
        return self.put_claim(
            position,
            ws,
            code(event.subject),
            code(event.predicate),
            code(event.perspective),
            code(event.kind),
            event.valid_from,
            event.valid_to,
            event.object,
            support,
        )

    def _add_support(
        self,
        position: int,
        ws: int,
        claim: int,
        named: ev.SourceRef | None,
        start: int,
        end: int,
        refutes: bool,
    ) -> int:
        source = origin = digest = NONE
        observed = times.NEG
        if named is not None:
            code = self.names.code
            source = self.source(ws, named.id)
            origin = code(named.id if named.origin is None else named.origin)
            digest = NONE if named.digest is None else code(named.digest)
            observed = times.NEG if named.observed_at is None else named.observed_at
        return self.put_support(
            position, claim, source, origin, digest, observed, start, end, refutes
        )

    def put_claim(
        self,
        position: int,
        ws: int,
        subject: int,
        predicate: int,
        perspective: int,
        kind: int,
        start: int,
        end: int,
        object: object,
        carried: int,
    ) -> int:
        """Adds the row of a claim, in codes; ``carried`` is its own support's."""
        row = len(self.c_pos)
        self.c_ws.append(ws)
        self.c_subject.append(subject)
        self.c_predicate.append(predicate)
        self.c_perspective.append(perspective)
        self.c_kind.append(kind)
        self.c_from.append(start)
        self.c_to.append(end)
        self.c_object.append(object)
        self.c_carried.append(carried)
        sourced = carried != NONE and self.s_source[carried] != NONE
        self.c_plain.append(PLAIN if sourced and kind != HYPOTHESIS else 0)
        self.c_pos.append(position)
        self.chain_claims(row, (subject,), (predicate,))
        return row

    def chain_claims(self, row: int, subjects: Sequence[int], predicates: Sequence[int]) -> None:
        """Puts new claims, which begin at ``row``, before the others about their subjects, and
        about their subjects and predicates. All else of them is there: readers find them from now
        on."""
        first, live = self._first_subject, self._first_key.live
        if len(first) < len(self.names):
            first.extend(array("i", [NONE]) * (len(self.names) - len(first)))
        if len(subjects) >= _MANY:
            of = np.array(subjects, np.int64)
            self.c_next_subject.frombytes(chain(first, of, row).tobytes())
            lead(first, of, row)
            pairs = of << 32 | np.array(predicates, np.int64)
            keys, rows = pairs.tolist(), range(row, row + len(pairs))
            before = np.array(self._first_key.get_all(keys), np.int32)
            self.c_next_key.frombytes(before_each(pairs, row, before).tobytes())
            live.update(zip(keys, rows, strict=True))
            return
        next_key, next_subject = self.c_next_key.append, self.c_next_subject.append
        for subject, predicate in zip(subjects, predicates, strict=True):
            key = subject << 32 | predicate
            found = live.get(key)
            next_key(self._first_key.get(key) if found is None else found)
            next_subject(first[subject])
            live[key] = first[subject] = row
            row += 1

    def unchain(self, rows: Sequence[int]) -> None:
        """Takes claims out of the chains of their subjects and predicates; who stands on one of
        them still gets on. O(claims about these subjects)."""
        gone = set(rows)
        subjects = {self.c_subject[row] for row in rows}
        keys = {self.c_subject[row] << 32 | self.c_predicate[row] for row in rows}
        for subject in subjects:
            self._first_subject[subject] = without(
                gone, self._first_subject[subject], self.c_next_subject
            )
        for key in keys:
            self._first_key[key] = without(gone, self._first_key.get(key), self.c_next_key)

    def chain_supports(self, row: int, sources: Sequence[int]) -> None:
        """Puts new supports, which begin at ``row`` and are there, before the others from their
        sources."""
        first = self.r_first_support
        if len(sources) >= _MANY:
            of = np.array(sources, np.int64)
            self.s_next_source.frombytes(chain(first, of, row).tobytes())
            lead(first, of, row)
            return
        following = self.s_next_source.append
        for source in sources:
            if source == NONE:
                following(NONE)
            else:
                following(first[source])
                first[source] = row
            row += 1

    def put_support(
        self,
        position: int,
        claim: int,
        source: int,
        origin: int,
        digest: int,
        observed: int,
        start: int,
        end: int,
        refutes: bool,
    ) -> int:
        """Adds the row of a support, in codes."""
        row = len(self.s_pos)
        self.s_claim.append(claim)
        self.s_source.append(source)
        self.s_origin.append(origin)
        self.s_digest.append(digest)
        self.s_observed.append(observed)
        self.s_from.append(start)
        self.s_to.append(end)
        self.s_refutes.append(refutes)
        self.s_pos.append(position)
        self.chain_supports(row, (source,))
        return row

    def source(self, ws: int, name: str) -> int:
        """The row of a source, made where it is new."""
        code = self.names.code(name)
        key = ws << 32 | code
        row = self._sources.get(key)
        if row == NONE:
            row = len(self.r_name)
            self.r_ws.append(ws)
            self.r_first_support.append(NONE)
            self.sources_named.add(code, row)
            self.r_name.append(code)
            self._sources[key] = row
        return row
