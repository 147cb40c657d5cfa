"""Git repositories made by ``git`` itself, in a home of their own, and what ``git`` checks out."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import doxa
from doxa.engine import times

ADA = "Ada Lovelace <ada@example.org>"
BOB = "Bob <bob@example.org>"
DAY = 86_400
START = 1_500_000_000  # 2017-07-14T02:40:00Z
FAR = "2020-01-01"

Files = Mapping[str, bytes]


class Repo:
    """A repository on the disk; commits are made in one stream, `done` writes them."""

    def __init__(self, folder: Path, *options: str, home: Path | None = None) -> None:
        self.folder = folder
        self.home = home or folder.parent / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options, str(folder), at=self.home)
        self._stream: list[bytes] = []
        self._mark = 0
        self.tip: int | str | None = None

    def git(self, *args: str, at: Path | None = None, given: bytes | None = None) -> str:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        found = subprocess.run(
            ["git", *args],
            cwd=at or self.folder,
            env=env,
            check=True,
            capture_output=True,
            input=given,
        )
        return found.stdout.decode()

    def commit(
        self,
        files: Files,
        date: int,
        *,
        author: str = ADA,
        authored: int | None = None,
        message: str = "a change",
        onto: int | str | None = None,
        merge: int | None = None,
        branch: str = "main",
        modes: Mapping[str, str] | None = None,
    ) -> int:
        """A commit with exactly these files, on the branch's last one or on another."""
        self._mark += 1
        said = message.encode()
        before = self.tip if onto is None else onto
        lines = [
            f"commit refs/heads/{branch}",
            f"mark :{self._mark}",
            f"author {author} {date if authored is None else authored} +0000",
            f"committer {BOB} {date} +0000",
            f"data {len(said)}",
        ]
        self._stream += ["\n".join(lines).encode(), b"\n", said, b"\n"]
        if before is not None:
            at = f":{before}" if isinstance(before, int) else before
            self._stream.append(f"from {at}\n".encode())
        if merge is not None:
            self._stream.append(f"merge :{merge}\n".encode())
        self._stream.append(b"deleteall\n")
        for path, content in files.items():
            mode = (modes or {}).get(path, "100644")
            if mode == "160000":
                self._stream.append(b"M 160000 %b %b\n" % (content, path.encode()))
                continue
            head = f"M {mode} inline {path}\ndata {len(content)}\n".encode()
            self._stream += [head, content, b"\n"]
        if branch == "main":
            self.tip = self._mark
        return self._mark

    def done(self) -> Repo:
        """Writes the commits."""
        self.git(
            "fast-import", "--quiet", "--force", "--date-format=raw", given=b"".join(self._stream)
        )
        self._stream, self._mark = [], 0
        self.tip = "refs/heads/main^0"
        return self

    def line(self, ref: str = "main") -> list[str]:
        """The commits of the line, oldest first, as ``git`` lists them."""
        return self.git("rev-list", "--first-parent", "--reverse", ref).split()

    def checked_out(self, commit: str, folder: Path) -> Path:
        """A folder with the files of a commit, checked out by ``git``."""
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        index = f"--git-dir={self.folder / '.git'}"
        self.git(
            index, f"--work-tree={folder}", "checkout", "--quiet", "--force", commit, "--", "."
        )
        return folder


def csv_bytes(rows: list[dict[str, str]], columns: list[str]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parsed(content: bytes, key: str = "id") -> dict[str, dict[str, str]]:
    """The rows of a sound CSV file by their keys, empty cells left out: by the standard library."""
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    return {row[key]: {k: v for k, v in row.items() if v} for row in reader}


def told(view: doxa.TruthView) -> dict[str, dict[str, Any]]:
    """What a view holds of the rows: by subject and column."""
    found: dict[str, dict[str, Any]] = {}
    for claim in view.claims():
        row = found.setdefault(claim.subject, {})
        assert claim.predicate not in row, (claim, row)
        row[claim.predicate] = claim.object
    return found


def recorded_at(ledger: doxa.Ledger, name: str) -> dict[str, int]:
    """When each commit was recorded, that touched a file of an import."""
    view = ledger.view(valid_at=FAR, workspace="git", shared=False)
    return {
        claim.object["commit"]: times.instant(claim.recorded_at)
        for claim in view.claims(subject=name, predicate="imported", standing="any")
    }
