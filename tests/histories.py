"""Random histories: an author who records what the law allows, and a good deal that it does not.

Everything happens within a week, so that things collide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
DAY: Final = 86_400_000_000
FIRST: Final = (START - EPOCH) // timedelta(microseconds=1)
GRID: Final = tuple(FIRST + day * DAY for day in range(7))
INSTANTS: Final = tuple(at + off for at in GRID for off in (-1, 0, 1))
WORKSPACES: Final = ("", "w", "x")
PERSPECTIVES: Final = ("", "ada")
SUBJECTS: Final = ("s", "t")
PREDICATES: Final = ("p", "q")
OBJECTS: Final = (1, 1.0, True, 2, "1", None, [1, {"a": 2}], [1.0, {"a": 2.0}])
SOURCES: Final = ("A", "B", "C")
EMBEDDERS: Final = ("e", "f")
PREFIX: Final = {
    "claim": "c", "support": "s", "correction": "k", "withdrawal": "d", "citation": "q",
    "summary": "u", "policy": "p",
}  # fmt: skip
KINDS: Final = tuple(PREFIX)

Fields = dict[str, Any]


def moment(micros: int) -> datetime:
    """The aware time of an instant in microseconds."""
    return EPOCH + timedelta(microseconds=micros)


def iso(micros: int) -> str:
    """The text that exchange lines have for an instant."""
    return moment(micros).isoformat().replace("+00:00", "Z")


# ---------------------------------------------------------------- what is recorded


class Author:
    """Makes commits out of what it knows to be recorded; `learn` tells it what was accepted."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.crowded = random.random() < 0.15  # all is said of one subject and predicate
        self.ids: dict[tuple[str, str], list[str]] = {}  # workspace and kind → ids
        self.events: list[Fields] = []
        self._count: dict[tuple[str, str], int] = {}
        self._plan: list[tuple[str, str, str]] = []

    def learn(self, events: Iterable[Fields]) -> None:
        """Takes note of accepted events."""
        for event in events:
            place = (event.get("workspace", ""), event["event"])
            if event["id"] not in self.ids.setdefault(place, []):
                self.ids[place].append(event["id"])
                self.events.append(event)

    def commit(self) -> list[Fields]:
        """The events of a commit, which may name one another in any order."""
        chance = self.random.random()
        if self.events and chance < 0.05:
            return self._repeat()
        if chance < 0.12:
            return self._ring()
        if chance < 0.2:
            return self._replacement()
        if chance < 0.25:
            return self._evidence()
        if not self.events and chance < 0.6:
            return self.of(["policy", *["claim"] * (9 if self.crowded else 2)])
        size = self.random.choice((1, 1, 1, 1, 1, 2, 2, 3, 5))
        return self.of([self._kind() for _ in range(size)])

    def of(self, kinds: Sequence[str], workspace: str | None = None) -> list[Fields]:
        """A commit of events of the given kinds."""
        if workspace is None:
            workspace = self._workspace()
        self._plan = []
        for kind in kinds:
            place = workspace if self.random.random() < 0.85 else self._workspace()
            self._plan.append((place, kind, self._fresh(place, kind)))
        made = [
            getattr(self, "_" + kind)({"event": kind, "id": id, "workspace": place})
            for place, kind, id in self._plan
        ]
        self._plan = []
        return made

    # -- the parts of an event

    def _kind(self) -> str:
        if len(self.ids.get(("", "claim"), ())) < 2 and self.random.random() < 0.7:
            return "claim"
        return self.random.choices(KINDS, (26, 15, 14, 25, 6, 8, 6))[0]

    def _workspace(self) -> str:
        return self.random.choices(WORKSPACES, (55, 40, 5))[0]

    def _fresh(self, workspace: str, kind: str) -> str:
        place = (workspace, kind)
        self._count[place] = self._count.get(place, 0) + 1
        return f"{PREFIX[kind]}{self._count[place]}"

    def known(self, workspace: str, kind: str) -> list[str]:
        """The ids of a kind that an event of a workspace may name, those of its commit too."""
        planned = [id for place, what, id in self._plan if (place, what) == (workspace, kind)]
        return self.ids.get((workspace, kind), []) + planned

    def _one(self, workspace: str, *kinds: str, but: str = "") -> str:
        if self.random.random() < 0.01:
            return "nobody"
        ids = [id for kind in kinds for id in self.known(workspace, kind) if id != but]
        if not ids:
            ids = [id for id in self.known(workspace, "claim") if id != but]
        return self._near(ids) if ids else "nothing"

    def _near(self, ids: Sequence[str]) -> str:
        return self.random.choice(ids[-4:] if self.random.random() < 0.4 else ids)

    def _refs(self, workspace: str, kind: str, most: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3)[:most])):
            shared = workspace and self.random.random() < 0.35 and self.known("", kind)
            if kind == "support":
                id = self._support_id("" if shared else workspace)
            else:
                id = self._one("" if shared else workspace, kind)
            found.append({"workspace": "", "id": id} if shared else id)
        return found

    def _support_id(self, workspace: str) -> str:
        if self.random.random() < 0.6:
            return self._one(workspace, "claim") + "/support"
        return self._one(workspace, "support")

    def instant(self) -> int:
        """An instant of the week, mostly a midnight, now and then a microsecond beside it."""
        off = self.random.choice((0, 0, 0, 0, 0, 0, -1, 1))
        return self.random.choice(GRID) + off

    def _bounds(self, event: Fields, whole: float = 0.4) -> None:
        if self.random.random() < whole:
            return
        low, high = sorted((self.instant(), self.instant()))
        if low == high:
            high += self.random.choice((1, DAY, 2 * DAY, 2 * DAY, 0))
        shape = self.random.choice(("both", "both", "from", "to"))
        if shape != "to":
            event["valid_from"] = iso(low)
        if shape != "from":
            event["valid_to"] = iso(high)

    def _source(self) -> Any:
        name = self.random.choice(SOURCES)
        if self.random.random() < 0.5:
            return name
        details: Fields = {"id": name}
        if self.random.random() < 0.4:
            details["origin"] = self.random.choice(("A", "o"))
        if self.random.random() < 0.6:
            details["digest"] = self.random.choice(("d", "e"))
        return details

    # -- events

    def _claim(self, event: Fields) -> Fields:
        random = self.random
        event |= {
            "subject": random.choice((*SUBJECTS, SUBJECTS[0])),
            "predicate": random.choice((*PREDICATES, PREDICATES[0])),
            "object": random.choice(OBJECTS),
        }
        if event["id"].endswith("3"):  # without a throw, so that other histories stay the same
            event["recall_when"] = ["then", event["id"]]
        if random.random() < 0.12:
            event["kind"] = "hypothesis"
        if random.random() < 0.25:
            event["perspective"] = "ada"
        if self.crowded and random.random() < 0.9:
            event |= {"subject": SUBJECTS[0], "predicate": PREDICATES[0], "perspective": ""}
        basis = random.random() * (0.7 if self.crowded else 1)
        if basis < 0.6:
            event["source"] = self._source()
        elif basis < 0.85:
            event["because"] = self._refs(event["workspace"], "claim", 6)
        self._bounds(event)
        return event

    def _support(self, event: Fields) -> Fields:
        event["claim"] = self._one(event["workspace"], "claim")
        if self.random.random() < 0.5:
            event["source"] = self._source()
        else:
            event["because"] = self._refs(event["workspace"], "claim", 6)
        if self.random.random() < 0.25:
            event["stance"] = "refutes"
        self._bounds(event, 0.6)
        return event

    def _correction(self, event: Fields) -> Fields:
        target, chance = self._one(event["workspace"], "claim"), self.random.random()
        if chance < 0.1:
            self._unresolved(event)
        else:
            event["corrects"] = target
            if self._open_names(event["workspace"]) and chance < 0.4:
                event["resolves"] = self.random.choice(self._open_names(event["workspace"]))
        if self.random.random() < 0.7:
            but = target if self.random.random() < 0.97 else ""
            event["by"] = self._one(event["workspace"], "claim", but=but)
        if self.random.random() < 0.35:
            event["source"] = self._source()
        if self.random.random() < 0.15:
            event["valid_from"] = event["valid_to"] = None
        self._bounds(event, 0.5)
        return event

    def _unresolved(self, event: Fields) -> None:
        """A name with several candidates, or one that nobody has yet."""
        workspace = event["workspace"]
        claims = self.known(workspace, "claim")
        ahead = self._count.get((workspace, "claim"), 0) + self.random.choice((1, 1, 2, 3))
        event["unresolved"] = f"c{ahead}"
        if len(claims) > 1 and self.random.random() < 0.5:
            event["candidates"] = self.random.sample(claims, min(len(claims), 2))

    def _open_names(self, workspace: str) -> list[str]:
        return [
            event["id"]
            for event in self.events
            if "unresolved" in event and event["workspace"] == workspace
        ]

    def _withdrawal(self, event: Fields) -> Fields:
        workspace, chance = event["workspace"], self.random.random()
        if chance < 0.15:
            event["source"] = self.random.choice(SOURCES)
            self._bounds(event, 0.4)
            return event
        if chance < 0.5:
            target = self._one(workspace, "withdrawal", but=event["id"])
        elif chance < 0.6:
            target = self._support_id(workspace)
        elif chance < 0.7:
            target = self._one(workspace, "correction")
        elif chance < 0.8:
            target = self._one(workspace, "policy", "citation", "summary")
        else:
            target = self._one(workspace, *KINDS, but=event["id"])
        event["target"] = target
        self._bounds(event, 0.55)
        return event

    def _artefact(self, event: Fields) -> None:
        event["text"] = "words"
        if self.random.random() < 0.4:
            event["facts"] = self._refs(event["workspace"], "claim", 4)
        if self.random.random() < 0.2:
            event["sources"] = [self.random.choice(SOURCES)]
        if self.random.random() < 0.45:
            event["binding"] = "snapshot"
            if self.random.random() < 0.5:
                event["subjects"] = [self.random.choice((*SUBJECTS, "nowhere"))]
            if self.random.random() < 0.6:
                event["valid_at"] = iso(self.instant())

    def _citation(self, event: Fields) -> Fields:
        event["supports"] = self._refs(event["workspace"], "support", 3)
        self._artefact(event)
        return event

    def _summary(self, event: Fields) -> Fields:
        self._artefact(event)
        if self.random.random() < 0.4:
            event["supports"] = self._refs(event["workspace"], "support", 3)
        if self.random.random() < 0.5:
            event["citations"] = self._refs(event["workspace"], "citation", 3)
        return event

    def _policy(self, event: Fields) -> Fields:
        chance = self.random.random()
        if chance < 0.65:
            event["single_valued"] = self.random.choice(PREDICATES)
        elif chance < 0.7:
            event["pinned"] = self._one(event["workspace"], "claim")
        elif chance < 0.73:
            event["verified"] = self._one(event["workspace"], "claim")
        elif chance < 0.74:
            event["scored"] = self._one(event["workspace"], "claim")
            event["importance"] = round(self.random.random(), 3)
        elif chance < 0.75:
            event["expires"] = self._one(event["workspace"], "claim")
            event["at"] = iso(self.instant())
        elif chance < 0.77:
            name = self.random.choice(("archived", "archived", "restored"))
            kind = self.random.choice(("claim", "claim", "summary", "citation"))
            event[name] = [self._one(event["workspace"], kind)]
        elif chance < 0.79:
            event["calibrated"] = {
                "embedder": self.random.choice(EMBEDDERS),
                "boundary": chance,
            }
        else:
            claims = self.known(event["workspace"], "claim")
            if len(claims) < 2:
                claims = ["nothing", "nobody"]
            size = min(len(claims), self.random.choice((2, 2, 3)))
            event["contradicts"] = self.random.sample(claims, size)
        return event

    # -- commits with a plot

    def _ring(self) -> list[Fields]:
        """Claims that support each other in a ring of one to four."""
        workspace = self._workspace()
        claims = self.known(workspace, "claim")
        if not claims:
            return self.of(["claim", "claim"], workspace)
        size = min(len(claims), self.random.choice((1, 2, 2, 3, 4)))
        chosen = self.random.sample(claims, size)
        events = self.of(["support"] * size, workspace)
        for place, event in enumerate(events):
            event.pop("source", None)
            event |= {"workspace": workspace, "claim": chosen[place - 1]}
            event["because"] = [chosen[place]]
            event["id"] = self._fresh(workspace, "support")
        return events

    def _replacement(self) -> list[Fields]:
        """A claim that replaces another, in any order, with a withdrawal of one of the two."""
        workspace = self._workspace()
        claims = self.known(workspace, "claim")
        if not claims:
            return self.of(["claim"], workspace)
        events = self.of(["claim", "correction", "withdrawal"], workspace)
        new, correction, withdrawal = events
        for event in events:
            event["workspace"] = workspace
            event["id"] = self._fresh(workspace, event["event"])
        correction |= {"corrects": self._near(claims), "by": new["id"]}
        withdrawal.pop("source", None)
        withdrawal["target"] = self.random.choice((new["id"], correction["id"], claims[-1]))
        if self.random.random() < 0.6:
            events.pop()
        self.random.shuffle(events)
        return events

    def _evidence(self) -> list[Fields]:
        """A claim with several sources, which may or may not be independent."""
        workspace = self._workspace()
        claims = self.known(workspace, "claim")
        events = self.of(["claim"] if not claims else [], workspace)
        claim = events[0]["id"] if events else self._near(claims)
        for _ in range(self.random.choice((1, 2, 2, 3))):
            event = {"event": "support", "id": self._fresh(workspace, "support")}
            event |= {"workspace": workspace, "claim": claim, "source": self._source()}
            self._bounds(event, 0.5)
            events.append(event)
        return events

    def _repeat(self) -> list[Fields]:
        """Something once more: the same, or the same id for something else."""
        event = dict(self.random.choice(self.events))
        if self.random.random() < 0.3:
            event["valid_from"] = iso(GRID[0] - 5)
        return [event] if self.random.random() < 0.6 else [event, *self.of(["claim"])]
