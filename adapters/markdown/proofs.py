"""What the text of a memo says of others: sentences that close one, and which of them prove it.

A proof is one of a few whole sentences in the memo's own voice, in a paragraph of its own text,
with nothing around it that may turn its meaning. Everything else is left to people.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from doxa.adapters.markdown.memo import Memo
from doxa.adapters.markdown.references import Unreadable, stem_of, target
from doxa.adapters.markdown.sentences import Block, Body, Sentence, body_of
from doxa.adapters.markdown.words import CAUTION, CLOSING, NO_NAMES, PROOFS, UNFINISHED, VOICE

__all__ = ["Closure", "closures", "mentions"]

Carriers = Mapping[str, Sequence[Memo]]

_WIKI: Final = re.compile(r"\[\[[^\[\]]+\]\]")
_LINK: Final = re.compile(r"\[[^\[\]]*\]\([^()\s]+\)")
_QUOTES: Final = re.compile(  # double ones, and single ones that are no apostrophes
    "[\"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a]|(?<!\\w)['\u2018\u2019]|['\u2019](?!\\w)"
)
_NAMELIKE: Final = re.compile(r"[\d_\-. ]")
_MOST: Final = 100  # sentences of a memo that are looked at
_LONG: Final = 20_000  # characters of a paragraph in which nothing is proved
_LONGEST: Final = 6  # words of a name that stands in a sentence without brackets


@dataclass(frozen=True, slots=True)
class Closure:
    """A sentence with words that close something: the ``stems`` of the memos it names, and the one
    of which it proves that the memo supersedes it, or else why it proves nothing."""

    sentence: Sentence
    stems: tuple[str, ...]
    proves: str | None
    why_not: str

    @property
    def voice(self) -> bool:
        """Whether the memo speaks of itself in it."""
        return VOICE.match(self.sentence.text) is not None


def closures(memo: Memo, carriers: Carriers) -> list[Closure]:
    """The sentences of a memo that close something, quotes and code left out."""
    if CLOSING.search(memo.body) is None:
        return []
    body = body_of(memo.body)
    found: list[Closure] = []
    for place, block in enumerate(body.blocks):
        for sentence in block.sentences if not block.quoted else ():
            if CLOSING.search(sentence.text):
                found.append(_closure(memo, body, place, sentence, carriers))
                if len(found) > _MOST:
                    why = f"the memo has more than {_MOST} such sentences"
                    return [Closure(each.sentence, each.stems, None, why) for each in found]
    return [_undisputed(each, found, body, carriers) for each in found]


def _closure(memo: Memo, body: Body, place: int, sentence: Sentence, carriers: Carriers) -> Closure:
    stems = tuple(stem for stem in mentions(sentence.text, carriers) if stem != memo.stem)
    stem = _named(sentence.text)
    if stem is None:
        return Closure(sentence, stems, None, "it is not one of the sentences that prove one")
    known = stems if stem in stems or stem not in carriers else (*stems, stem)
    doubt = _doubt(memo, body, place, sentence)
    if doubt is not None:
        return Closure(sentence, known, None, doubt)
    why = ""
    if stem not in carriers:
        why = f"no memo is called {stem!r:.80}"
    elif len(carriers[stem]) > 1:
        why = f"{len(carriers[stem])} memos are called {stem!r:.80}"
    elif carriers[stem][0].path == memo.path:
        why = "it names itself"
    elif not carriers[stem][0].usable:
        why = f"{carriers[stem][0].path} can't be read"
    return Closure(sentence, known, None if why else stem, why)


def _named(text: str) -> str | None:
    """The stem of the memo that a proof names as a whole."""
    for pattern in PROOFS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        name = found["name"].strip()
        if name.startswith("[") and CAUTION.search(_label(name)):
            return None
        if not name.startswith("[") and (
            name.lower() in NO_NAMES or CAUTION.search(name) or name.lower().split()[0] in NO_NAMES
        ):
            return None
        try:
            return target(name)
        except Unreadable:
            return None
    return None


def _label(name: str) -> str:
    """The words that stand for a memo where it is named in brackets."""
    if name.startswith("[["):
        return name[2:-2].partition("|")[2]
    return name[1 : name.rindex("](")]


def _doubt(memo: Memo, body: Body, place: int, sentence: Sentence) -> str | None:
    """Why a sentence that reads like a proof is none where it stands."""
    block = body.blocks[place]
    if body.foreign:
        return "the memo has HTML or marks that may take it back"
    if len(block.text) > _LONG:
        return "its paragraph is too long"
    if not block.plain:
        return "it does not stand in a paragraph of its own"
    if memo.front is not None and (status := _unfinished(memo)) is not None:
        return f"the memo says that it is {status!r:.40}"
    if _QUOTES.search(block.text):
        return "there are quotation marks around it"
    before = block.text[: block.text.find(sentence.text)]
    if before.count("(") > before.count(")") or before.count("[") > before.count("]"):
        return "it stands in brackets"
    for text in _around(body, place, sentence):
        if text.rstrip().endswith(":"):
            return "it is introduced by a colon"
        if (word := CAUTION.search(text)) is not None:
            return f"{word[0]!r} stands near it"
    return None


def _around(body: Body, place: int, sentence: Sentence) -> Iterator[str]:
    """What may turn a sentence's meaning: the rest of its paragraph, the headings above it, and the
    sentences just before and after."""
    block = body.blocks[place]
    yield block.text.replace(sentence.text, " ", 1)
    yield from block.headings
    beside: list[tuple[int, int]] = [(place - 1, -1), (place + 1, 0)]
    for where, which in beside:
        if 0 <= where < len(body.blocks):
            near: Block = body.blocks[where]
            if near.sentences:
                yield near.sentences[which].text


def _unfinished(memo: Memo) -> str | None:
    assert memo.front is not None, memo
    for name, pair in memo.front.pairs.items():
        value = pair.value.value
        if not isinstance(value, str):
            continue
        said = value.strip().lower()
        if name.lower() == "status" and said in UNFINISHED:
            return value.strip()
        if name.lower() == "draft" and said not in ("false", "no", "", "null", "~"):
            return "a draft"
    return None


def _undisputed(one: Closure, others: Sequence[Closure], body: Body, carriers: Carriers) -> Closure:
    """A proof falls where another sentence of the memo closes the same one and proves nothing, or
    speaks of it with a word that may turn it."""
    if one.proves is None:
        return one
    for other in others:
        if other.proves is None and (one.proves in other.stems or not other.stems):
            return _disputed(one, other.sentence)
    for block in body.blocks:
        for sentence in block.sentences:
            if sentence.text == one.sentence.text or not CAUTION.search(sentence.text):
                continue
            if one.proves in sentence.text and one.proves in mentions(sentence.text, carriers):
                return _disputed(one, sentence)
    return one


def _disputed(one: Closure, by: Sentence) -> Closure:
    why = f"line {by.line + 1} of the text says something else of it"
    return Closure(one.sentence, one.stems, None, why)


def mentions(text: str, carriers: Carriers) -> list[str]:
    """The stems of memos that a text names: in brackets, as links, or as names that look like
    names. Those that nobody has are left out, and what comes after the first of a long text."""
    text = text[:_LONG]
    found: dict[str, None] = {}
    for pattern in (_WIKI, _LINK):
        for name in pattern.findall(text):
            bare = name if pattern is _LINK else re.sub(r"[#^][^|\]]*", "", name)
            try:
                found[target(re.sub(r"#[^)]*\)$", ")", bare))] = None
            except Unreadable:
                continue
    rest = _LINK.sub(" ", _WIKI.sub(" ", text))
    pieces = [piece.strip(".,;:!?()\"'“”*_") for piece in rest.split()]
    for start in range(len(pieces)):
        for end in range(start + 1, min(start + _LONGEST, len(pieces)) + 1):
            stem = stem_of(unicodedata.normalize("NFC", " ".join(pieces[start:end])))
            if stem in carriers and _NAMELIKE.search(stem):
                found[stem] = None
    return [stem for stem in found if stem in carriers]
