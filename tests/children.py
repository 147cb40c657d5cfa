"""What other processes do in tests: ``python -m tests.children ACTION LEDGER …``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import doxa
from tests.support import ROOT

__all__ = ["files_with", "run", "start"]

DAY = "2024-01-01"


def start(action: str, *arguments: object, **env: str) -> subprocess.Popen[str]:
    """Starts a child; it prints what it has to say and waits for a line where it says so."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.children", action, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(action: str, *arguments: object, **env: str) -> str:
    """The output of a child that is expected to end well."""
    with start(action, *arguments, **env) as child:
        out, err = child.communicate(timeout=100)
    assert child.returncode == 0, err
    return out


def _appending(path: str, name: str, count: str) -> None:
    """Claims, one commit each, once told to go."""
    with doxa.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            ledger.claim(name, "counts", number, id=f"{name}-{number}", source=name)


def _purging(path: str, count: str) -> None:
    """Purges archived claims, once told to go."""
    with doxa.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        ledger.purge([f"c{number}" for number in range(int(count))])
        print("purged", flush=True)


def _until_killed(path: str, name: str, size: str) -> None:
    """Commits of ``size`` claims for ever, each printed once it is durable."""
    with doxa.open(path) as ledger:
        number = ledger.revision
        while True:
            number += 1
            ledger.append(
                {
                    "event": "claim",
                    "id": f"{name}-{number}-{item}",
                    "subject": f"{name}-{number}",
                    "predicate": "part",
                    "object": "v" * 500,
                    "source": name,
                }
                for item in range(int(size))
            )
            print(number, flush=True)


def _racing(path: str, expected: str) -> None:
    """One append that expects a revision, once told to go."""
    with doxa.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        event = {"event": "claim", "subject": "x", "predicate": "p", "object": os.getpid()}
        try:
            ledger.append([{**event, "source": "s"}], expected_revision=int(expected))
        except doxa.RevisionConflict:
            print("lost")
        else:
            print("won")


def _moving(path: str, event: str) -> None:
    """One claim about a subject."""
    with doxa.open(path) as ledger:
        ledger.claim(event, "moved", True, source="s")


def _dreaming(path: str, url: str) -> None:
    """One run of dreaming, once told to go."""
    with doxa.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        done = ledger.dream(endpoint=url, model="small", idle=0)
        print(json.dumps(done.as_dict()))


def _limited(path: str, limit: str) -> None:
    """Appends under a limit of file size until the disk refuses, and then once more without it."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with doxa.open(path) as ledger:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
        refused = 0
        for number in range(200):
            before, problem = ledger.revision, None
            try:
                ledger.claim("x", "p", "v" * 20_000, id=f"c{number}", source="s")
            except doxa.StorageError as error:
                problem = str(error)
            if problem is not None:
                assert "nothing was written" in problem, problem
                assert ledger.revision == before, (ledger.revision, before)
                assert str(ledger.view(valid_at=DAY).standing(f"c{number}")) == "not_yet_known"
                refused += 1
            if refused == 3:
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        last = ledger.claim("x", "p", "at last", source="s")
        report = ledger.verify()
        assert report.ok, str(report)
        assert str(ledger.view(valid_at=DAY).standing(last)) == "reported"
        print(refused, ledger.revision)


def _creating(path: str, limit: str) -> None:
    """A ledger where files may not grow to its size."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        doxa.open(path)
    except doxa.StorageError:
        print("refused")


def _zone(path: str) -> None:
    """The answers that no time zone of the host may change."""
    lines = [
        {"event": "claim", "id": "a", "subject": "x", "predicate": "p", "object": 1,
         "valid_from": "2024-05-01", "recorded_at": "2024-05-02T00:00:00Z", "source": "s"},
        {"event": "claim", "id": "b", "subject": "x", "predicate": "p", "object": 2,
         "valid_from": "2024-05-29T10:00:00", "recorded_at": "2024-05-30T00:00:00Z", "source": "s"},
    ]  # fmt: skip
    with doxa.open(path) as ledger:
        report = ledger.import_events(lines)
        print([item.line for item in report.set_aside])
        for day in ("2024-04-30T23:59:59Z", "2024-05-01", "2024-06-01T00:00:00+12:00"):
            view = ledger.view(valid_at=day)
            print(view.valid_at.isoformat(), view.values("x", "p"), view.fingerprint)
        print(ledger.history("x", "p", valid_at="2024-06-01"))


def _compacting(path: str, versions: str) -> None:
    """One compaction, once told to go."""
    with doxa.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        print(ledger.compact(versions=int(versions)).events, flush=True)


_ACTIONS: dict[str, Callable[..., None]] = {
    "append": _appending,
    "purging": _purging,
    "until-killed": _until_killed,
    "race": _racing,
    "move": _moving,
    "dream": _dreaming,
    "limited": _limited,
    "create": _creating,
    "zone": _zone,
    "compact": _compacting,
}


def files_with(folder: Path, text: bytes) -> list[str]:
    """The files below a folder that hold some bytes."""
    found = [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]
    return [str(path.relative_to(folder)) for path in found]


if __name__ == "__main__":
    _ACTIONS[sys.argv[1]](*sys.argv[2:])
