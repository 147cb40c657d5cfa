"""What the text of a memo says of others: sentences that close one, and which of them prove it.

A proof is one of a few whole sentences in the memo's own voice, which names a memo as a whole. It
opens the memo, in a paragraph of its own, or stands in a section that tells of its status alone:
anywhere else a sentence before it may make it an example, a quotation or a plan, in words that no
list holds. Everything else is left to people.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from doxa.adapters.markdown.memo import Memo
from doxa.adapters.markdown.references import Unreadable, stem_of, target
from doxa.adapters.markdown.sentences import Block, Body, Sentence, body_of
from doxa.adapters.markdown.words import (
    CAUTION,
    CLOSING,
    IN_FORCE,
    NO_NAMES,
    PROOFS,
    REMARK,
    SECTIONS,
    STATUS,
    UNFINISHED,
    VOICE,
    WHOLE,
)

__all__ = ["Closure", "closures", "mentions"]

Carriers = Mapping[str, Sequence[Memo]]

_WIKI: Final = re.compile(r"\[\[[^\[\]]+\]\]")
_LINK: Final = re.compile(r"\[[^\[\]]*\]\([^()\s]+\)")
_QUOTES: Final = re.compile(  # double ones, and single ones that are no apostrophes
    "[\"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a]|(?<!\\w)['\u2018\u2019]|['\u2019](?!\\w)"
)
_NAMELIKE: Final = re.compile(r"[\d_\-. ]")
_MOST: Final = 100  # sentences of a memo that are looked at
_LONG: Final = 20_000  # characters of a text in which names are looked for
_SHORT: Final = 3  # words of a sentence: fewer may be a remark on the one before
_UP: Final = ("", ".", "..")
_WORD: Final = re.compile(r"[^\W_]+")
_STATUS_KEYS: Final = ("status", "state", "stage")
_KIND_KEYS: Final = ("tags", "tag", "type", "kind", "category", "categories")
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
        if block.quoted or block.comment or (block.level and _heading(block) in SECTIONS):
            continue
        for sentence in block.sentences:
            if CLOSING.search(sentence.text):
                found.append(_closure(memo, body, place, sentence, carriers))
                if len(found) > _MOST:
                    why = f"the memo has more than {_MOST} such sentences"
                    return [Closure(each.sentence, each.stems, None, why) for each in found]
    return [_undisputed(each, found, body, carriers) for each in found]


def _closure(memo: Memo, body: Body, place: int, sentence: Sentence, carriers: Carriers) -> Closure:
    stems = tuple(stem for stem in mentions(sentence.text, carriers) if stem != memo.stem)
    named = _named(sentence.text)
    if named is None:
        return Closure(sentence, stems, None, "it is not one of the sentences that prove one")
    stem, name = named
    label = _label(name)
    known = stems if stem in stems or stem not in carriers else (*stems, stem)
    why = _doubt(memo, body, place)
    if why is not None:
        pass
    elif stem not in carriers:
        why = f"no memo is called {stem!r:.80}"
    elif len(carriers[stem]) > 1:
        why = f"{len(carriers[stem])} memos are called {stem!r:.80}"
    elif carriers[stem][0].path == memo.path:
        why = "it names itself"
    elif not carriers[stem][0].usable:
        why = f"{carriers[stem][0].path} can't be read"
    elif not _whole(label, carriers[stem][0]):
        why = f"{label!r:.80} may be a part of the memo"
    elif not _leads_to(name, carriers[stem][0]):
        why = f"{name!r:.80} leads elsewhere than to {carriers[stem][0].path}"
    return Closure(sentence, known, stem if why is None else None, why or "")


def _named(text: str) -> tuple[str, str] | None:
    """The stem of the memo that a proof names, and the name as it is written. A single word
    without brackets may be a word like any other: "This policy replaces cash"."""
    for pattern in PROOFS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        name = found["name"].strip()
        plain = not name.startswith("[")
        if plain and (name.lower().split()[0] in NO_NAMES or not _NAMELIKE.search(name)):
            return None
        if CAUTION.search(name if plain else _label(name)):
            return None
        try:
            return target(name), name
        except Unreadable:
            return None
    return None


def _label(name: str) -> str:
    """The words that stand for a memo where it is named in brackets."""
    if not name.startswith("["):
        return ""
    if name.startswith("[["):
        return name[2:-2].partition("|")[2]
    return name[1 : name.rindex("](")]


def _whole(label: str, other: Memo) -> bool:
    """Whether the words for a memo mean all of it: its name or title, or "the old policy"."""
    said = set(_WORD.findall(label.casefold())) - WHOLE
    if not said:
        return True
    for name in (other.stem, other.title):
        words = _WORD.findall(name.casefold())
        number = {words[0], words[0].lstrip("0")} if words and words[0].isdigit() else set()
        if said <= number or said - number == {*words} - number - WHOLE:
            return True
    return False


def _leads_to(name: str, other: Memo) -> bool:
    """Whether the folders in a name, if there are any, are those of the memo."""
    if name.startswith("[["):
        path = name[2:-2].partition("|")[0]
    else:
        path = unquote(name[name.rindex("](") + 2 : -1]) if name.startswith("[") else name
    folders = [part for part in path.replace("\\", "/").split("/")[:-1] if part not in _UP]
    return not folders or other.path.split("/")[-len(folders) - 1 : -1] == folders


# ---------------------------------------------------------------- doubts


def _doubt(memo: Memo, body: Body, place: int) -> str | None:
    """Why a sentence that reads like a proof is none where it stands."""
    block = body.blocks[place]
    if body.foreign:
        return "the memo has HTML or marks that may take it back, or too many marks"
    if not block.plain:
        return "it does not stand in a paragraph of its own"
    if (status := _unfinished(memo, body)) is not None:
        return f"the memo says that it is {status!r:.40}"
    if _QUOTES.search(block.text):
        return "there are quotation marks around it"
    if not _proves(block):
        return "there are other words in its paragraph"
    if not _opens(body, place) and not _in_section(body, place):
        return "it does not open the memo, and is in no section about its status"
    for text in (memo.title, *block.headings, *_beside(body, place)):
        if (word := CAUTION.search(text)) is not None:
            return f"{word[0]!r} stands near it"
        if "?" in text:
            return "a question stands near it"
    if (after := _after(body, place)) is not None:
        sentence, plain = after
        short = plain and len(_WORD.findall(sentence.text)) < _SHORT
        if short or REMARK.match(sentence.text):
            return f"{sentence.shown!r:.80} may be a remark on it"
    return None


def _proves(block: Block) -> bool:
    """Whether a block is a paragraph of sentences that prove something, and nothing else."""
    return block.plain and all(_named(each.text) is not None for each in block.sentences)


def _opens(body: Body, place: int) -> bool:
    """Whether nothing stands above a block but the title and others like it."""
    above = [block for block in body.blocks[:place] if not block.comment]
    if above and above[0].level == 1:
        del above[0]
    return all(_proves(block) for block in above)


def _in_section(body: Body, place: int) -> bool:
    """Whether a block is in a section that says how the memo stands, and nothing else, right below
    the title if there is one."""
    first = next((at for at in range(place, -1, -1) if body.blocks[at].level), None)
    if first is None or _heading(body.blocks[first]) not in SECTIONS:
        return False
    above = [block for block in body.blocks[:first] if block.level]
    if body.blocks[first].headings and (above[0].level != 1 or body.blocks[first].level != 2):
        return False
    return all(
        block.comment or _proves(block) or (block.plain and _in_force(block))
        for block in _section(body, first)
    )


def _section(body: Body, heading: int) -> Iterator[Block]:
    """The blocks below a heading, up to the next."""
    for block in body.blocks[heading + 1 :]:
        if block.level:
            return
        yield block


def _heading(block: Block) -> str:
    return " ".join(_WORD.findall(block.text.casefold()))


def _in_force(block: Block) -> bool:
    return IN_FORCE.fullmatch(block.text.strip()) is not None


def _beside(body: Body, place: int) -> Iterator[str]:
    """What may turn a sentence's meaning: the comments around it, and the sentence after it."""
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(body.blocks) and body.blocks[at].comment:
            yield body.blocks[at].text
            at += step
    if (after := _after(body, place, headings=True)) is not None:
        yield after[0].text


def _after(body: Body, place: int, *, headings: bool = False) -> tuple[Sentence, bool] | None:
    """The sentence that follows a proof, and others like it, and whether it is in a paragraph;
    below a heading none does."""
    for block in body.blocks[place + 1 :]:
        if block.comment or (block.sentences and _proves(block)):
            continue
        if not block.sentences or (block.level and not headings):
            return None
        if block.plain and _in_force(block):
            continue
        return block.sentences[0], block.plain
    return None


def _unfinished(memo: Memo, body: Body) -> str | None:
    """What a memo is called, in its name, front matter or text, whose sentences don't count yet, or
    are there to be copied."""
    assert memo.front is not None, memo
    pairs: dict[str, object] = {
        name.lower(): pair.value.value for name, pair in memo.front.pairs.items()
    }
    for name in _STATUS_KEYS:
        value = pairs.get(name)
        if value is not None and not isinstance(value, str):
            return "of several kinds"
        if value is not None and value.strip() and not IN_FORCE.fullmatch(value.strip()):
            return value.strip()
    draft, published = pairs.get("draft"), pairs.get("published")
    if isinstance(draft, str) and draft.lower() not in ("false", "no", "off", "", "null", "~"):
        return "a draft"
    if isinstance(published, str) and published.lower() in ("false", "no", "off"):
        return "not published"
    kinds = [memo.path, *(each for name in _KIND_KEYS for each in _texts(pairs.get(name)))]
    for word in (word for kind in kinds for word in _WORD.findall(kind.casefold())):
        if word in UNFINISHED:
            return str(word)
    return _status(body)


def _texts(value: object) -> list[str]:
    """The texts of a value in front matter, or of a list of them."""
    if isinstance(value, str):
        return [value]
    found = [getattr(each, "value", None) for each in value] if isinstance(value, list) else []
    return [each for each in found if isinstance(each, str)]


def _status(body: Body) -> str | None:
    """A status of which the text tells, and with which its sentences don't count."""
    for place, block in enumerate(body.blocks):
        if (found := STATUS.search(block.text)) is not None:
            said = found["status"].strip()
            if not IN_FORCE.fullmatch(said):
                return said
        if block.level and _heading(block) in ("status", "state"):
            for below in _section(body, place):
                if not (below.comment or _proves(below) or _in_force(below)):
                    return below.text or "something else"
    return None


def _undisputed(one: Closure, others: Sequence[Closure], body: Body, carriers: Carriers) -> Closure:
    """A proof falls where another sentence of the memo closes the same one and proves nothing, or
    says anything of it but its name."""
    if one.proves is None:
        return one
    for other in others:
        if other.proves is None and (one.proves in other.stems or not other.stems):
            return _disputed(one, other.sentence)
    for block in body.blocks:
        for sentence in block.sentences:
            if one.proves not in unicodedata.normalize("NFC", unquote(sentence.text)):
                continue
            if (named := _named(sentence.text)) is not None and named[0] == one.proves:
                continue
            if _says_more(sentence.text) and one.proves in mentions(sentence.text, carriers):
                return _disputed(one, sentence)
    return one


def _says_more(text: str) -> bool:
    """Whether there are words in a sentence besides links."""
    return _WORD.search(_LINK.sub(" ", _WIKI.sub(" ", text))) is not None


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
