"""The peers: other stores of claims with two times, each in its own environment and process.

``python -m doxa.bench.peers`` makes the environments, under ``DOXA_PEERS`` or the user's cache
folder. A peer takes turns with doxa, at the largest size that it loads within five minutes; one
that is not installed is left out with a notice. The history is plain: claims alone.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import doxa
from doxa.bench.fields import moment
from doxa.bench.measuring import Effort, Finding, Series, in_turn, timed
from doxa.bench.report import size_name
from doxa.bench.workload import Workload, predicate
from doxa.engine import times

__all__ = ["DOCUMENTS", "PINNED", "Peer", "PeerError", "environments", "install", "measure"]

PINNED: Final = {
    "plugmem": ("plugmem==0.12.0",),
    "tgms": ("tgms==0.8.0",),
    "tiramemsu": ("tiramemsu==0.7.0",),
    "anatid": ("anatid==0.4.1",),
    "memvara": ("memvara==0.21.0", "pysqlite3==0.6.1"),
    "context-vault-ai": ("context-vault-ai==0.7.0",),
}
"""What goes into each peer's environment."""
DOCUMENTS: Final = {
    "peer_load": "The claims go into an empty store, in the fastest way that it has.",
    "peer_disk": "The bytes of its files, for each claim.",
    "peer_point": "What is said of a subject and predicate at a random valid time and batch; "
    "doxa captures its view each time.",
    "peer_slice": "All that is said at one valid time, as known late in the history; doxa's view "
    "as an Arrow table of eleven columns. The rows of both sides are counted.",
    "peer_append": "One claim more, as durable as the peer makes it.",
    "peer_withdraw": "Taking back one of the claims that were appended.",
    "peer_open": "Opened again in the same process, with a first answer.",
    "peer_stale": "Saved answers, one a subject; one claim is changed, and the answer that is "
    "stale is looked for.",
}
"""What is measured beside peers."""
LOAD_SECONDS: Final = 300.0
BATCH: Final = 1_000
SMALLEST: Final = 1_000  # claims that every peer is tried with first
T = TypeVar("T")
SAVED: Final = {"tiramemsu": 1_000, "tgms": 200}  # saved answers


class PeerError(Exception):
    """A peer that failed, or does not answer in time."""


def environments() -> Path:
    """The folder with one environment a peer: ``DOXA_PEERS``, or in the user's cache folder."""
    named = os.environ.get("DOXA_PEERS")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "doxa" / "peers"


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment."""
    return environments() / name / "bin" / "python"


def install() -> int:
    """Makes the environments that are missing, with pip; how many peers could not be installed."""
    failed = 0
    for name, packages in PINNED.items():
        if not python_of(name).exists():
            venv.create(environments() / name, with_pip=True)
        pip = [str(python_of(name)), "-m", "pip", "install", "--quiet"]
        done = subprocess.run([*pip, "--disable-pip-version-check", *packages], check=False)
        failed += done.returncode != 0
        print(f"{name}: {'installed' if not done.returncode else 'could not be installed'}")
    return failed


class Peer:
    """A peer's process. Requests and answers are lines of JSON (`doxa.bench.peer`)."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._said = (folder.parent / f"{name}.log").open("w")
        program = Path(__file__).with_name("peer.py").resolve()
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [str(python_of(name)), "-W", "ignore", str(program), name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=clean,
        )

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                stream.close()

    def ask(self, do: str, timeout: float = 120.0, **arguments: Any) -> dict[str, Any]:
        """The answer to one request. Raises `PeerError` for an error, an end, and no answer within
        ``timeout`` seconds."""
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None
        assert writing is not None
        try:
            writing.write(json.dumps({"do": do, **arguments}) + "\n")
            writing.flush()
        except BrokenPipeError:
            raise PeerError(f"{self.name} ended before {do}: {self._end()}") from None
        if not select.select([reading], [], [], timeout)[0]:
            raise PeerError(f"{self.name} has not answered {do} within {timeout:.0f} s")
        line = reading.readline()
        if not line:
            raise PeerError(f"{self.name} ended at {do}: {self._end()}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise PeerError(f"{self.name} failed at {do}: {found['error']}")
        return found

    def _end(self) -> str:
        return Path(self._said.name).read_text("utf-8", "replace")[-500:]


def write_claims(workload: Workload, path: Path) -> None:
    """The plain history as the peers' program reads it."""
    columns = workload.columns
    with path.open("w") as file:
        for place in range(workload.size):
            until = columns.valid_to[place]
            row = [
                place,
                f"subject {columns.subject[place]}",
                predicate(columns.predicate[place]),
                f"value {columns.value[place]}",
                columns.valid_from[place],
                None if until == times.POS else until,
                workload.recorded(place),
            ]
            file.write(json.dumps(row) + "\n")


class Plain:
    """The plain history of one size: as a file for the peers, and in a ledger."""

    def __init__(self, size: int, folder: Path) -> None:
        self.workload, self.folder = Workload(size, plain=True), folder
        folder.mkdir(parents=True, exist_ok=True)
        self.claims = folder / "claims.jsonl"
        write_claims(self.workload, self.claims)
        self.ledger = doxa.open(folder / "ledger")
        take = timed(lambda _: self.ledger.import_events(self.workload.events()))
        self.seconds = take(0)
        self.gone: set[str] = set()  # claims that were withdrawn while peers were measured

    def close(self) -> None:
        """Closes the ledger and removes the folder."""
        self.ledger.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def measure(
    sizes: list[int],
    folder: Path,
    effort: Effort,
    begin: Callable[[str], None],
    tell: Callable[[str], None],
    fail: Callable[[str], None],
) -> Iterator[Finding]:
    """All peers that are installed, each at the largest of the sizes that it loads in time.

    ``begin`` is told what begins; ``tell`` takes notices, also of what a peer could not do;
    ``fail`` is called where doxa's side raised, while that is being handled.
    """
    there = [name for name in PINNED if python_of(name).exists()]
    for name in PINNED:
        if name not in there:
            tell(f"{name} is not installed: left out (make bench-peers installs it)")
    plain: dict[int, Plain] = {}
    try:
        for name in there:
            try:
                yield from _peer(name, sizes, folder, plain, effort, begin, tell)
            except PeerError as error:
                tell(f"left out: {error}")
            except Exception:
                fail(f"doxa beside {name}")
    finally:
        for one in plain.values():
            one.close()


def _peer(
    name: str,
    sizes: list[int],
    folder: Path,
    plain: dict[int, Plain],
    effort: Effort,
    begin: Callable[[str], None],
    tell: Callable[[str], None],
) -> Iterator[Finding]:
    """Loads size after size while the next one can be expected to fit into the time."""
    limit = min(LOAD_SECONDS, effort.seconds * 5)
    loaded: tuple[Peer, int, float] | None = None
    try:
        for size in sorted({SMALLEST, *sizes}):
            if loaded is not None and loaded[2] * size / loaded[1] > limit:
                break
            if size not in plain:
                begin(f"{size_name(size)}: making the plain history")
                plain[size] = Plain(size, folder / f"plain {size}")
            begin(f"{size_name(size)}: loading into {name}")
            peer = Peer(name, folder / f"{name} {size}")
            seconds = _load(peer, plain[size], limit, tell)
            if seconds is None:
                peer.end()
                break
            if loaded is not None:
                loaded[0].end()
            loaded = (peer, size, seconds)
        if loaded is not None:
            begin(f"{size_name(loaded[1])}: beside {name}")
            yield from _measured(loaded[0], plain[loaded[1]], loaded[2], effort, tell)
    finally:
        if loaded is not None:
            loaded[0].end()
        for path in folder.glob(f"{name} *"):
            shutil.rmtree(path, ignore_errors=True)


def _load(peer: Peer, plain: Plain, limit: float, tell: Callable[[str], None]) -> float | None:
    """The seconds that the peer took to load all of it, ``None`` where it could not in time."""
    try:
        found = peer.ask("load", timeout=limit * 2, path=str(plain.claims), limit=limit)
    except PeerError as error:
        tell(str(error))
        return None
    if found["found"] < plain.workload.size:
        tell(f"{peer.name} loads {found['found']:,} of {plain.workload.size:,} in {limit:.0f} s")
        return None
    return float(found["seconds"])


def _measured(
    peer: Peer, plain: Plain, seconds: float, effort: Effort, tell: Callable[[str], None]
) -> Iterator[Finding]:
    workload, ledger, name = plain.workload, plain.ledger, peer.name
    about = peer.ask("about")
    label = f"{name} {about['version']}"
    rng = workload.rng(f"peer {name}")
    keys = workload.keys(rng)
    batches = workload.size // BATCH
    asked = [(*next(keys), rng.randrange(batches), rng.random()) for _ in range(2_000)]
    late = [(batches - 1 - rng.randrange(max(1, batches // 10)), 0.9) for _ in range(60)]
    rows: dict[str, list[int]] = {"doxa": [], name: []}

    def theirs(do: str, arguments: Callable[[int], dict[str, Any]]) -> Callable[[int], float]:
        def taken(number: int) -> float:
            found = peer.ask(do, **arguments(number))
            if do == "slice":
                rows[name].append(found["found"])
            return float(found["seconds"])

        return taken

    def view(batch: int, share: float) -> doxa.TruthView:
        at = moment(workload.instant_at(share))
        return ledger.view(valid_at=at, known_at=(batch + 1) * BATCH)

    def slice_(number: int) -> None:
        rows["doxa"].append(view(*late[number]).to_arrow().num_rows)

    def point_of(number: int) -> dict[str, Any]:
        subject, what, batch, share = asked[number]
        at = workload.instant_at(share)
        return {"subject": subject, "predicate": what, "batch": batch, "valid_at": at}

    def slice_of(number: int) -> dict[str, Any]:
        batch, share = late[number]
        return {"batch": batch, "valid_at": workload.instant_at(share)}

    turns: dict[str, tuple[Callable[[int], object], Callable[[int], dict[str, Any]], int]] = {
        "point": (
            lambda n: view(*asked[n][2:]).values(*asked[n][:2]),
            point_of,
            40,
        ),
        "slice": (slice_, slice_of, 7),
        "append": (
            lambda n: ledger.claim(
                f"new {n}", "predicate 0", "x", id=f"{name} {n}", source="new source"
            ),
            lambda n: {"number": n},
            60,
        ),
        "withdraw": (lambda n: ledger.withdraw(f"{name} {n}"), lambda n: {"number": n}, 50),
    }
    notes = about["notes"]
    load = {"doxa": Series((plain.seconds,)), label: Series((seconds,))}
    loaded = _finding("load", workload, load, notes, items=workload.size)
    loaded.notes.append("Loaded once on each side, not in turn.")
    yield loaded
    sizes = {"doxa": plain.folder / "ledger", label: peer.folder}
    weighed = {who: Series((_bytes(path) / workload.size,), "B") for who, path in sizes.items()}
    yield _finding("disk", workload, weighed, notes)
    for do, (ours, arguments, rounds) in turns.items():
        found = peer.ask(do, **arguments(0))
        if "unsupported" in found:
            tell(f"{name}: {found['unsupported']}")
            continue
        if do == "append":
            timed(ours)(0)
        shift = 1 if do in ("append", "withdraw") else 0
        series = in_turn(
            {
                "doxa": timed(_later(ours, shift)),
                label: theirs(do, _later(arguments, shift)),
            },
            effort.of(rounds, least=5),
            effort,
            per_turn=10 if do == "point" else 1,
        )
        finding = _finding(do, workload, series, notes)
        if do == "slice":
            finding.facts |= {"rows of doxa": rows["doxa"][-1], f"rows of {name}": rows[name][-1]}
        if do == "append" and not about["durable"]:
            finding.notes.append(f"{name} does not flush; doxa does")
        yield finding
    if "unsupported" not in peer.ask("reopen", **point_of(0)):
        again = {"doxa": lambda n: _reopened(plain), label: theirs("reopen", point_of)}
        yield _finding("open", workload, in_turn(again, 3, effort), notes)
    if name in SAVED:
        yield _saved(peer, plain, label, effort)


def _finding(
    do: str,
    workload: Workload,
    series: dict[str, Series],
    notes: dict[str, str],
    items: int = 1,
) -> Finding:
    said = [notes[do]] if do in notes else []
    return Finding(f"peer_{do}", workload.size, series, items, notes=said)


def _later(call: Callable[[int], T], shift: int) -> Callable[[int], T]:
    return lambda number: call(number + shift)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _reopened(plain: Plain) -> float:
    """Seconds to open the ledger again, with one question."""
    plain.ledger.close()
    subject, what = next(plain.workload.keys(plain.workload.rng("reopen")))

    def again(number: int) -> None:
        plain.ledger = doxa.open(plain.folder / "ledger")
        plain.ledger.view(valid_at=moment(plain.workload.instant_at(0.9))).values(subject, what)

    return timed(again)(0)


def _saved(peer: Peer, plain: Plain, label: str, effort: Effort) -> Finding:
    """Saved answers, one a subject: one claim changes, and the one that is stale is looked for."""
    count = min(SAVED[peer.name], plain.workload.subjects)
    ledger, workload = plain.ledger, plain.workload
    columns = workload.columns
    facts: dict[int, list[str]] = {subject: [] for subject in range(count)}
    instant = workload.instant_at(0.9)
    for place in range(workload.size):
        holds = columns.valid_from[place] <= instant < columns.valid_to[place]
        holds = holds and f"c{place}" not in plain.gone
        if holds and columns.subject[place] in facts:
            facts[columns.subject[place]].append(f"c{place}")
    facts = {subject: found for subject, found in facts.items() if found}
    prefix = peer.name
    ledger.append(
        [
            {"event": "summary", "id": f"{prefix}{subject}", "text": "A text.", "facts": found}
            for subject, found in facts.items()
        ]
    )
    peer.ask("save", timeout=LOAD_SECONDS, count=count)
    at = moment(instant)
    changed = list(facts)
    wrong = [0, 0]

    def theirs(number: int) -> float:
        peer.ask("change", number=changed[number])
        found = peer.ask("stale", number=changed[number])
        _, missed, false = found["found"]
        wrong[0] += missed
        wrong[1] = max(wrong[1], false)
        return float(found["seconds"])

    def ours(number: int) -> float:
        before = ledger.view(valid_at=at)
        claim = facts[changed[number]][0]
        plain.gone.add(claim)
        ledger.withdraw(claim, id=f"{prefix} gone {number}")
        after = ledger.view(valid_at=at)
        found: list[str] = []

        def look(_: int) -> None:
            found.extend(item.id for item in ledger.reconcile(after, since=before).invalidated)

        taken = timed(look)(0)
        assert found == [f"{prefix}{changed[number]}"], found
        return taken

    series = in_turn({"doxa": ours, label: theirs}, effort.of(10, least=5), effort)
    return Finding(
        "peer_stale",
        workload.size,
        series,
        facts={
            "saved answers": count,
            f"missed by {peer.name}": wrong[0],
            f"falsely suspected by {peer.name}, at most": wrong[1],
        },
    )


if __name__ == "__main__":
    sys.exit(1 if install() else 0)
