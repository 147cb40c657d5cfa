"""Markdown corpora: memos with front matter, imported, linted, mended and checked.

It needs the extra ``markdown``. ``import_corpus(ledger, folder)`` records what the memos of a
folder say; the others look at the folder alone.
"""

from doxa.adapters.markdown.importing import CorpusImport, SetAside, import_corpus

__all__ = ["CorpusImport", "SetAside", "import_corpus"]
