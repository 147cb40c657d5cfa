"""Whether a folder is the one that a corpus is to be read from: asked before its first memo is
recorded, since a folder that was copied, renamed or mistyped looks like a new corpus."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from doxa.adapters.markdown.corpus import Corpus
from doxa.adapters.markdown.recorded import Recorded, corpora
from doxa.engine.errors import CallerError
from doxa.engine.texts import Rows
from doxa.engine.view import TruthView

__all__ = ["check_folder"]


def check_folder(
    view: TruthView,
    rows: Rows,
    corpus: Corpus,
    name: str,
    folder: str | os.PathLike[str],
    *,
    named: bool,
    allow_empty: bool,
) -> None:
    """Refuses a folder as that of a corpus of which nothing is recorded, where it has no memos,
    or, unless the corpus was ``named``, most of its memos are those of another. Raises
    `CallerError`. O(memos of the workspace)."""
    known = corpora(view)
    if name in known:
        return
    silent = any(finding.blocks for finding in corpus.findings)
    if not corpus.memos and not silent and not allow_empty:
        passed = "".join(f"; {f.path}: {f.message}" for f in corpus.findings[:3])
        raise CallerError(
            f"there are no memos in {os.fspath(folder)!r:.200}, no files that end in .md or "
            f".markdown{passed}; give the folder with the memos; nothing was written"
        )
    if not named:
        _check_twin(view, rows, corpus, name, known)


def _check_twin(
    view: TruthView, rows: Rows, corpus: Corpus, name: str, known: Mapping[str, frozenset[str]]
) -> None:
    said = {memo.key: memo.said_digest for memo in corpus.memos if memo.usable}
    same = {
        other: _same(said, Recorded(view, other, rows))
        for other, keys in sorted(known.items())
        if 2 * len(keys & said.keys()) > len(said)
    }
    twin = max(same, key=lambda other: same[other], default=None)
    if twin is not None and 2 * same[twin] > len(said):
        raise CallerError(
            f"the corpus {twin!r} has {same[twin]} of the {len(said)} memos in the folder, with "
            f"the same text; to go on with it: --corpus {shlex.quote(twin)} (corpus={twin!r}); to "
            f"record them once more: --corpus {shlex.quote(name)}; nothing was written"
        )


def _same(said: Mapping[str, str], recorded: Recorded) -> int:
    """How many memos are those of a corpus, as it was imported last."""
    found = 0
    for key, wording in recorded.latest.items():
        object = wording.claim.object
        digest = object.get("digest") if isinstance(object, Mapping) else None
        there = any(support.off is None for support in wording.supports)
        found += there and digest is not None and said.get(key) == digest
    return found
