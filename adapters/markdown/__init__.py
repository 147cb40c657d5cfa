"""Markdown corpora: memos with front matter, imported, linted, mended and checked.

It needs the extra ``markdown``. ``import_corpus(ledger, folder)`` records what the memos of a
folder say; `lint`, `fix` and `check` look at the folder alone; ``annotate_memos`` tells what the
texts of another index over the folder rest on.
"""

from doxa.adapters.markdown.annotating import MemoAnnotation, annotate_memos
from doxa.adapters.markdown.checking import Check, Offer, check
from doxa.adapters.markdown.findings import Finding
from doxa.adapters.markdown.fixing import Added, Fix, Unproved, fix
from doxa.adapters.markdown.importing import CorpusImport, SetAside, import_corpus
from doxa.adapters.markdown.linting import Lint, lint
from doxa.adapters.markdown.plans import Change, Linked

__all__ = [
    "Added",
    "Change",
    "Check",
    "CorpusImport",
    "Finding",
    "Fix",
    "Linked",
    "Lint",
    "MemoAnnotation",
    "Offer",
    "SetAside",
    "Unproved",
    "annotate_memos",
    "check",
    "fix",
    "import_corpus",
    "lint",
]
