"""What carrying the history of a file in Git into a ledger costs, in changed cells a second.

Makes a repository with git, of a table of so many rows in which a few cells change with each
commit, and imports it. Run as a script:

    .venv/bin/python bench/git_import.py [--commits 1000] [--rows 2000] [--cells 20] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import doxa
from doxa.adapters.git import import_git

BAR = 5_000  # changed cells a second
COLUMNS = 5


def repository(folder: Path, commits: int, rows: int, cells: int) -> None:
    """A history of one CSV file, in a stream for ``git fast-import``."""
    chance = random.Random(1)
    table = [[str(chance.randrange(1_000_000)) for _ in range(COLUMNS)] for _ in range(rows)]
    stream = bytearray()
    for number in range(commits):
        if number:
            for place in chance.sample(range(rows * COLUMNS), cells):
                table[place // COLUMNS][place % COLUMNS] = f"{number}-{place}"
        lines = ["key," + ",".join(f"c{column}" for column in range(COLUMNS))]
        lines += [f"k{row}," + ",".join(said) for row, said in enumerate(table)]
        content = ("\n".join(lines) + "\n").encode()
        stream += b"commit refs/heads/main\n"
        stream += b"committer Ada <ada@example.org> %d +0000\ndata 1\n-\n" % (
            1_600_000_000 + number
        )
        stream += b"M 100644 inline table.csv\ndata %d\n%s\n" % (len(content), content)
    plain = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    alone = {**plain, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True, env=alone)
    subprocess.run([*git, "fast-import", "--quiet"], check=True, env=alone, input=bytes(stream))


def main() -> None:
    """Prints the medians, and ends with 1 where they are under the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    changed = given.cells * (given.commits - 1)
    whole, later = [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "repository"
        folder.mkdir()
        repository(folder, given.commits, given.rows, given.cells)
        for number in range(given.rounds):
            with doxa.open(Path(place) / f"{number}.doxa") as ledger:
                began = perf_counter()
                import_git(ledger, folder, "table.csv", key="key", ref="main~1", name="t")
                import_git(ledger, folder, "table.csv", key="key", ref="main", name="t")
                whole.append(perf_counter() - began)
                began = perf_counter()
                import_git(ledger, folder, "table.csv", key="key", ref="main", name="t")
                later.append(perf_counter() - began)
                cells = ledger.stats()["events"]["claim"]
    taken = statistics.median(whole)
    print(
        f"{given.commits:,} commits, {given.rows:,} rows of {COLUMNS + 1} cells, "
        f"{given.cells} changed a commit: {cells:,} claims, {given.rounds} rounds"
    )
    print(f"all of it      median {taken:.2f} s, least {min(whole):.2f} s")
    print(f"changed cells  {changed / taken:,.0f} a second ({cells / taken:,.0f} claims)")
    print(f"nothing new    median {statistics.median(later):.2f} s")
    sys.exit(int(changed / taken < BAR))


if __name__ == "__main__":
    main()
