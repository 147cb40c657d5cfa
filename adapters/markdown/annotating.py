"""What the texts of another index over the same folder rest on: the wordings of memos that hold
them."""

from __future__ import annotations

import os
import posixpath
import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doxa.adapters.basis import in_place
from doxa.adapters.carrying import check_ledger
from doxa.adapters.markdown.recorded import KIND, PREDICATE
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError
from doxa.engine.graph import NONE, SUPPORT
from doxa.engine.texts import Texts

if TYPE_CHECKING:
    from doxa.adapters.judging import Found
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["MemoAnnotation", "annotate_memos"]

KEYS: Final = ("source", "file_path", "path")
_FRONT: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")


def annotate_memos(
    ledger: Ledger,
    folder: str | os.PathLike[str],
    *,
    corpus: str | None = None,
    workspace: str = "",
    key: str | Iterable[str] = KEYS,
) -> MemoAnnotation:
    """A function for ``annotate``: a text from a file of an imported folder rests on the wording of
    its memo in which it stands, the newest that the view knows of. So what only an older wording
    says falls with that one, and what no wording says is unknown. It decides nothing itself.

    ``folder``, ``corpus`` and ``workspace`` are those of `import_corpus`; the folder need not be
    there. ``key`` names the metadata that says which file a text is from, the first that is there:
    absolute, or relative to the folder or the directory from which it was indexed. Raises
    `CallerError`.
    """
    check_ledger(ledger)
    root = os.path.abspath(os.fspath(folder))
    name = os.path.basename(os.path.realpath(root)) if corpus is None else corpus
    keys = (key,) if isinstance(key, str) else tuple(key)
    for what, value in (("corpus", name), ("workspace", workspace), *(("key", k) for k in keys)):
        if not isinstance(value, str) or not (value or what == "workspace"):
            raise CallerError(f"{what} is {value!r:.80}; give a name, a text")
    return MemoAnnotation(ledger, root, name, workspace, keys)


class _Wording(NamedTuple):
    """A wording of a memo: its place in the log, the id of its claim, and its words."""

    position: int
    id: str
    words: str


@dataclass(frozen=True, slots=True)
class _Corpus:
    """The wordings of memos, newest first, by the names of the files that they were read from."""

    wordings: Mapping[str, list[_Wording]]
    named: Mapping[str, list[str]]  # paths by the name of the file


class MemoAnnotation:
    """What a text from a file of a folder rests on; `annotate_memos` makes it."""

    def __init__(
        self, ledger: Ledger, root: str, corpus: str, workspace: str, keys: tuple[str, ...]
    ) -> None:
        self.ledger, self.corpus, self.workspace, self.keys = ledger, corpus, workspace, keys
        self._roots = dict.fromkeys(map(_composed, (root, os.path.realpath(root))))
        self._lock = threading.Lock()
        self._state: object = None  # of the log, when it was last looked at
        self._shape: object = None  # of the corpus in it
        self._read = _Corpus({}, {})

    def __call__(self, found: Found) -> dict[str, Any] | None:
        """What a result rests on as the ledger knows it now."""
        view = self.ledger.view(
            valid_at=times.moment(self.ledger.clock()), workspace=self.workspace
        )
        return self.at_view(found, view)

    def at_view(self, found: Found, view: TruthView) -> dict[str, Any] | None:
        """What a result rests on as it is known at a view; ``None`` where it is from no file of the
        folder."""
        corpus = self._corpus(view)
        paths = self._paths(found.metadata, corpus)
        if not paths:
            return None
        front = _FRONT.match(found.text)
        spoken = {_plain(found.text), _plain(found.text[front.end() :]) if front else ""} - {""}
        ids = dict.fromkeys(
            id for path in paths if (id := _holding(corpus.wordings[path], spoken, view.k))
        )
        return {"claim_ids": [in_place(id, self.workspace, view) for id in ids]}

    # -- which file

    def _paths(self, metadata: Mapping[str, Any], corpus: _Corpus) -> list[str]:
        """The files of the corpus that a result may be from: one, but for a relative path that can
        be read in two ways."""
        given = (metadata.get(key) for key in self.keys)
        named = next((one for one in given if isinstance(one, str | os.PathLike) and one), None)
        if named is None or not isinstance(path := os.fspath(named), str):
            return []
        path = _composed(posixpath.normpath(path))
        for root in self._roots:
            if path.startswith(f"{root}/"):
                below = path.removeprefix(f"{root}/")
                return [below] if below in corpus.wordings else []
        names = {*map(os.path.basename, self._roots), _composed(self.corpus)}
        parts = path.split("/")
        rest = ["/".join(parts[at + 1 :]) for at, part in enumerate(parts) if part in names]
        found = [each for each in dict.fromkeys([path, *rest]) if each in corpus.wordings]
        return found or list(corpus.named.get(path, ()))

    # -- what the ledger has of the corpus

    def _corpus(self, view: TruthView) -> _Corpus:
        """The corpus as the log of a view has it, read again where that has changed."""
        graph = view.graph
        state = id(graph), view.horizon, len(graph.erased)
        with self._lock:
            if self._state != state:
                rows = list(self._rows(view))
                supports = [list(self._supports(view, row)) for row in rows]
                shape = id(graph), len(graph.erased), rows, supports
                if self._shape != shape:
                    self._read = self._reading(view, dict(zip(rows, supports, strict=True)))
                self._state, self._shape = state, shape
            return self._read

    def _reading(self, view: TruthView, supports: Mapping[int, list[int]]) -> _Corpus:
        graph = view.graph
        origin: Any = view.origin
        texts = Texts(graph, origin[0].rows)
        texts.expect_at(
            [
                *(graph.c_pos[row] for row in supports),
                *(graph.s_pos[s] for each in supports.values() for s in each),
            ]
        )
        paths: dict[str, set[str]] = defaultdict(set)  # by the memo's name
        wordings: dict[str, list[_Wording]] = defaultdict(list)
        for row in supports:
            claim = texts.event(graph.c_pos[row])
            if isinstance(claim, ev.Claim) and claim.text is not None:
                wording = _Wording(graph.c_pos[row], claim.id, _plain(claim.text))
                wordings[claim.subject].append(wording)
            for support in supports[row]:
                event = texts.event(graph.s_pos[support])
                path = self._path(event) if isinstance(event, ev.Claim | ev.Support) else None
                if path is not None:
                    paths[graph.names.texts[graph.c_subject[row]]].add(path)
        return _by_path(paths, wordings)

    def _rows(self, view: TruthView) -> Iterator[int]:
        """The rows of the claims that are wordings of memos of the corpus."""
        graph = view.graph
        codes = [graph.names.find(name) for name in (self.workspace, PREDICATE, KIND)]
        if NONE in codes:
            return
        ids = re.compile(re.escape(self.corpus) + r":(.*)@[1-9][0-9]*", re.DOTALL)
        for row in view.belief.of_predicate(codes[1]):
            if graph.c_ws[row] == codes[0] and graph.c_kind[row] == codes[2]:
                found = ids.fullmatch(graph.claim_id(row))
                if found and found[1] == graph.names.texts[graph.c_subject[row]]:
                    yield row

    def _supports(self, view: TruthView, claim: int) -> Iterator[int]:
        """The rows of the supports that imports recorded of a claim."""
        graph, id = view.graph, view.graph.claim_id(claim)
        if graph.c_carried[claim] != NONE:
            yield graph.c_carried[claim]
        number = 1
        while graph.taken(self.workspace, f"{id}+{number}"):
            found = graph.find(self.workspace, f"{id}+{number}")
            if found != NONE and found & 7 == SUPPORT:
                yield found >> 3
            number += 1

    def _path(self, event: ev.Claim | ev.Support) -> str | None:
        """The file that a support is from."""
        if event.source is None:
            return None
        before = f"{self.corpus}/"
        place = event.source.locator or ""
        place = place[place.rfind(before) :] if before in place else event.source.id
        return place.removeprefix(before) if place.startswith(before) else None


def _by_path(paths: Mapping[str, set[str]], wordings: Mapping[str, list[_Wording]]) -> _Corpus:
    found: dict[str, list[_Wording]] = defaultdict(list)
    named: dict[str, list[str]] = defaultdict(list)
    for key, places in paths.items():
        for place in places:
            found[_composed(place)].extend(wordings.get(key, ()))
    for place, each in found.items():
        each.sort(reverse=True)
        named[posixpath.basename(place)].append(place)
    return _Corpus(dict(found), dict(named))


def _holding(wordings: Iterable[_Wording], spoken: Iterable[str], k: int) -> str | None:
    """The newest wording, known at a position, in which one of these texts stands."""
    for wording in wordings:
        if wording.position <= k and any(each in wording.words for each in spoken):
            return wording.id
    return None


def _composed(path: str) -> str:
    """A path in the one of the two Unicode forms of accented letters."""
    return unicodedata.normalize("NFC", path)


def _plain(text: str) -> str:
    """The words of a text, each between blanks, so that one is not found within another: "at nine"
    does not stand in "at nineteen", nor "10" in "10.50"."""
    words = text.split()
    return f" {' '.join(words)} " if words else ""
