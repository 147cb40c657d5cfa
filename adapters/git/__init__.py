"""The history of a file in Git: its rows as claims, each commit a knowledge time.

It needs the extra ``git``. ``import_git(ledger, repository, paths, key=…)`` records what a CSV,
JSON, YAML or TOML file said, commit by commit, and again whenever there are new commits.
"""

from doxa.adapters.git.importing import import_git
from doxa.adapters.git.line import RewrittenHistory
from doxa.adapters.git.report import GitImport, KeptOut, SetAside

__all__ = ["GitImport", "KeptOut", "RewrittenHistory", "SetAside", "import_git"]
