"""Whether two claims say the same in other words: a rule that would rather miss than confuse.

Two statements about one subject and predicate are the same where

- their objects are equal, or are texts of which the shorter is in the longer word for word, in
  order, and makes up `NEAR` of its words at least; and
- what turns a statement round is alike in both, in the objects and in the texts: numbers, dates,
  units, negations, doubts, tenses and signs, the same ones in one order; in objects, what stands
  behind a number too. Where there is no text, subject, predicate and object in words stand for it.

So the shortest of some statements that are the same says nothing that the others don't say. Words
are held against each other as they are, folded: not cut down to stems, as "lived" is not "lives".
What turns a statement is known for English, and of other languages some negations. O(text).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from doxa.engine.documents import spoken
from doxa.engine.events import equality_key
from doxa.projections.words import split, stem

__all__ = [
    "NEAR",
    "Denial",
    "Wording",
    "denial",
    "fewest",
    "may_deny",
    "near",
    "same",
    "within",
    "wording",
]

NEAR: Final = Fraction(4, 5)  # of the longer statement's words, those that the shorter has as well
LOOKED_AT: Final = 10_000  # characters; longer objects are the same where they are equal only

_TURNING: Final = """
    no not never none nobody nothing nowhere neither nor n't without cannot dont doesnt didnt
    isnt wasnt arent wont cant hardly barely scarcely rarely seldom except unless instead
    against lack lacks lacking fail fails failed refuse refuses refused deny denies denied stop
    stops stopped avoid avoids avoided cancelled canceled false fake wrong nicht kein keine
    keinen keiner ohne nie niemals ne pas jamais sans aucun aucune non mai senza nunca sin jamás
    não nem sem niet geen nooit zonder inte aldrig utan ikke aldri uden ei nigdy bez nikdy не
    нет ни никогда без لا ليس לא नहीं

    may might could would should must can if whether maybe perhaps possibly probably likely
    unlikely allegedly alleged apparently supposedly reportedly rumoured rumored almost nearly
    about around approximately roughly only least most more less fewer than over under above
    below up down

    was were had been did used formerly former ex previously once ago yet longer still will
    shall soon until till since before after during now today yesterday tomorrow tonight last
    next january february march april june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday
    saturday sunday spring summer autumn fall winter second seconds minute minutes hour hours
    day days week weeks month months year years decade decades century centuries am pm

    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand million billion trillion dozen half quarter third fourth fifth first
    double triple twice both all every each some any many few several always often sometimes

    mg kg mm cm km ft ml cl kb mb gb tb hz khz mhz ghz kw kwh mph kmh gram grams kilogram
    kilograms kilo kilos ton tons tonne tonnes ounce ounces oz lb lbs stone metre metres meter
    meters centimetre centimetres centimeter centimeters kilometre kilometres kilometer
    kilometers mile miles inch inches foot feet yard yards litre litres liter liters gallon
    gallons degree degrees celsius fahrenheit percent per usd eur gbp jpy chf cny inr dollar
    dollars cent cents euro euros pound pounds pence yen franc francs yuan rupee rupees
"""
_TURNS: Final = frozenset(_TURNING.split())
_DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2015"
_SIGN: Final = re.compile(rf"[{_DASHES}](?=\d)(?<!\w.)|[%#@&*/\\?§=<>+~^|$]", re.DOTALL)
_NARROW: Final = {code + 0xFEE0: code for code in range(0x21, 0x7F)}  # of the wide forms of ASCII
_SYMBOLS: Final = ("No", "Sc", "Sk", "Sm", "So")  # categories, beyond ASCII
_DIGIT: Final = re.compile(r"\d")
_PART: Final = re.compile(r"\d+(?:[.,;:']\d+)*|\D+")
_SIGNS_OF_NO: Final = frozenset("不没沒無无非未別别勿莫")  # negations in scripts without spaces
_NOT: Final = frozenset(("not", "no", "never", "cannot"))
_DENIES: Final = re.compile("(?<![^\\W_])(?:not|no|never|cannot)(?![^\\W_])|n['\u2019]t")
_MAY_DENY: Final = re.compile(
    r"\b_*(?:not|no|never|cannot)_*\b|_(?:not|no|never|cannot)_|n't", re.I
)
_HELPING: Final = frozenset(("do", "does", "did"))
_SHORTENED: Final = {"can't": "can", "won't": "will", "shan't": "shall"}


class Wording(NamedTuple):
    """What of a statement is held against another: two are the same where their ``guard`` is equal
    and the ``words`` of one are near those of the other."""

    guard: tuple[object, ...]
    words: tuple[str, ...]


class Denial(NamedTuple):
    """A statement without its negations, and whether it has any: two with one ``core`` of which
    one is ``denied`` contradict each other."""

    core: tuple[object, ...]
    denied: bool


def same(one: Wording, other: Wording) -> bool:
    """Whether two statements about one subject and predicate are the same."""
    return one.guard == other.guard and near(one.words, other.words)


def near(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the words of the shorter are all in the longer, in order, with few others."""
    short, long = sorted((one, other), key=len)
    return len(short) >= fewest(len(long)) and within(short, long)


def fewest(words: int) -> int:
    """How many words a statement has at least that is near to one of so many."""
    return -(-words * NEAR.numerator // NEAR.denominator)


def within(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether words are in others, in order.

    >>> within(["dark", "coffee"], ["dark", "roast", "coffee"]), within("ba", "ab")
    (True, False)
    """
    rest = iter(long)
    return all(word in rest for word in short)


def wording(subject: str, predicate: str, value: Any, text: str | None = None) -> Wording:
    """What a claim is held against others by.

    >>> river = wording("ada", "lives", "in London, by the river Thames")
    >>> same(river, wording("ada", "lives", "In London by river Thames"))
    True
    >>> same(wording("ada", "walks", "5 km a day"), wording("ada", "walks", "6 km a day"))
    False
    """
    said = _said(subject, predicate, value, text)
    about: object = tuple(_turns(said)) if len(said) <= LOOKED_AT else said
    if not isinstance(value, str) or len(value) > LOOKED_AT:
        return Wording((equality_key(value), about), ())
    parts = _parts(value)
    words = tuple(word for word in parts if word != "the") or tuple(parts)
    if not words:  # nothing but marks
        return Wording((equality_key(value), about), ())
    return Wording(("", tuple(_turns(value)), tuple(_measures(parts)), about), words)


def may_deny(value: Any, text: str | None) -> bool:
    """Whether a claim may have a negation that `denial` knows."""
    for said in (value, text):
        if isinstance(said, str) and (not said.isascii() or _MAY_DENY.search(said)):
            return True
    return isinstance(value, list | dict)  # their words are not looked for


def denial(subject: str, predicate: str, value: Any, text: str | None = None) -> Denial:
    """What a claim says, and whether it says so or denies it, as far as English words tell.

    >>> tea = denial("ada", "likes", "tea")
    >>> tea.core == denial("ada", "likes", "tea", "Ada doesn't like tea.").core
    True
    """
    said = _said(subject, predicate, value, text)
    if len(said) > LOOKED_AT:
        return Denial((equality_key(value), said), False)
    left, denied = _without_denial(said)
    if not isinstance(value, str):
        return Denial((equality_key(value), *_signs(said), *left), denied)
    object, inside = _without_denial(value)
    if not object:  # nothing is left to deny
        return Denial((equality_key(value), *_signs(said), *left), False)
    return Denial((object, *_signs(said), *left), denied or inside)


def _without_denial(text: str) -> tuple[tuple[str, ...], bool]:
    """The stems of a text without its negations, and whether it had any: small ones, as a capital
    may begin a name ("No Doubt")."""
    left, denied = [], False
    parts = _parts(text)
    for word, behind in zip_longest(parts, parts[1:], fillvalue=""):
        if word in _NOT and not _DIGIT.match(behind):  # "no 5" is a number
            denied = True
        elif word.endswith("n't"):
            denied = True
            helping = _SHORTENED.get(word) or word.removesuffix("n't")
            if helping not in _HELPING:
                left.append(stem(helping))
        elif word not in _HELPING and word != "the":
            left.append(stem(word))
    return tuple(left), denied and _DENIES.search(text) is not None


def _said(subject: str, predicate: str, value: Any, text: str | None) -> str:
    """The text of a claim or, where it has none, what it says in words."""
    if text is None or not text.strip():
        return spoken(subject, predicate, _whole(value))
    return text


def _whole(value: Any) -> Any:
    """A JSON value with its whole numbers written as such: equal values, equal words."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(value[key]) for key in sorted(value)}
    return value


def _parts(text: str) -> list[str]:
    """The words of a text, with numbers apart from the letters that stand next to them."""
    words = split(text)
    if not _DIGIT.search(text):
        return words
    return [part for word in words for part in _PART.findall(word)]


def _turns(text: str) -> Iterator[str]:
    """What turns a statement round, in order: signs, then words and numbers."""
    yield from _signs(text)
    for word in _parts(text):
        if word in _TURNS or word in _SIGNS_OF_NO or _DIGIT.match(word):
            yield word
        elif word.endswith("n't"):
            yield "n't"


def _measures(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each number, with the word behind it."""
    for word, behind in zip_longest(parts, parts[1:], fillvalue=""):
        if _DIGIT.match(word):
            yield word, behind


def _signs(text: str) -> Iterator[str]:
    """The signs in a text that say something by themselves."""
    yield from _SIGN.findall(text if text.isascii() else text.translate(_NARROW))
    if not text.isascii():
        for sign in text:
            if sign >= "\x80" and unicodedata.category(sign) in _SYMBOLS:
                yield sign
