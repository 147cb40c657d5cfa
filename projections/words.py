"""Words as they are searched: a text taken apart, folded, and each word cut down to its stem.

Words are those of Unicode's default word boundaries (UAX #29), in letters and digits, in NFKC and
without case; an underscore parts words too. The stems are Snowball's for English, which leaves most
other words as they are. There are no operators. English function words are in the index like all
others; in a question they are left out, unless it has no others.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from typing import Final

import regex
import Stemmer

__all__ = ["FUNCTION_WORDS", "LONGEST", "METHOD", "asked", "searched", "split", "stem", "words"]

LONGEST: Final = 100  # characters of a word; what a longer one has beyond them is not looked at

# The boundaries of UAX #29 in ASCII: a mark between two letters, or two digits, joins them.
_ASCII: Final = re.compile(
    r"[a-z0-9]+(?:(?:(?<=[a-z])['.:](?=[a-z])|(?<=[0-9])['.,;](?=[0-9]))[a-z0-9]+)*"
)
_WORD: Final = regex.compile(r"(?w)\b\w.*?\b", regex.DOTALL)
# Normalising sorts the marks on a letter in quadratic time; 30 are what UAX #15 calls safe. The
# two halfwidth ones are letters that become marks.
_MARKS: Final = regex.compile(r"([\p{M}\uFF9E\uFF9F]{30})[\p{M}\uFF9E\uFF9F]+")
_MAY_MARK: Final = re.compile("[\u0300-\u1fff\u20d0-\U0010ffff]")  # all of these, and much else
# Scripts without spaces between words, which the boundaries take apart sign by sign.
_NEIGHBOURS: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{2}")
_MAY_NEIGHBOUR: Final = re.compile("[\u0e00-\u1fff\u2e80-\U0010ffff]")  # all of these, and others
_LANGUAGE: Final = "english"

METHOD: Final = "-".join(
    (
        "words.2",
        f"regex.{regex.__version__}",
        f"unicode.{unicodedata.unidata_version}",
        f"snowball.{Stemmer.version()}.{_LANGUAGE}",
    )
)  # whatever decides how a text is taken apart


# What says nothing of what a question is about. The first 33 are the stop words of Lucene's English
# analyzer; the others ask, help a verb, or point at whoever speaks. "us", "may" and "can" are not
# among them: they are names and things as well.
_FUNCTION_WORDS: Final = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there
    these they this to was will with
    who whom whose what which when where why how do does did done has have had having am been being
    were i you he she we me my your his her its our from about
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION_WORDS.split())


class _Stemmers(threading.local):
    """A stemmer for each thread, as they can't be shared."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer(_LANGUAGE, 0).stemWord


_stemmers: Final = _Stemmers()


def words(text: str) -> list[str]:
    """The stems of a text's words, in order. Never raises; O(text).

    >>> words("Ada's flat: she lives_in Nürnberg, since 3.14")
    ['ada', 'flat', 'she', 'live', 'in', 'nürnberg', 'sinc', '3.14']
    """
    return [stem(word) for word in split(text)]


def split(text: str) -> list[str]:
    """The words of a text in order, folded, not cut down yet."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    return _WORD.findall(_folded(text))


def searched(text: str) -> list[str]:
    """What `split` gives, and behind it each two neighbours in a script that is written without
    spaces, so that they are found together before they are found apart."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    folded = _folded(text)
    found: list[str] = _WORD.findall(folded)
    if _MAY_NEIGHBOUR.search(folded):
        found += _NEIGHBOURS.findall(folded, overlapped=True)
    return found


def asked(text: str) -> list[str]:
    """What a question is searched by: as `searched`, without function words, unless there are no
    others.

    >>> asked("Where does Ada live?"), asked("to be or not to be")
    (['ada', 'live'], ['to', 'be', 'or', 'not', 'to', 'be'])
    """
    found = searched(text)
    return [word for word in found if word not in FUNCTION_WORDS] or found


def stem(word: str) -> str:
    """The stem of one word."""
    found: str = _stemmers.stem(word[:LONGEST])
    return found


def _folded(text: str) -> str:
    """A text without differences of case and form: NFKC, casefold, NFKC."""
    text = text.encode("utf-8", "replace").decode()  # a question may hold half a surrogate pair
    if _MAY_MARK.search(text):
        text = _MARKS.sub(r"\1", text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = unicodedata.normalize("NFKC", folded)
    return plain.replace("\u2019", "'").replace("\xad", "").replace("_", " ")
