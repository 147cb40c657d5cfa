"""Keys of front matter that are not read, but were probably meant to be.

``date`` is none of them: where sites and notes have it, it is the day of publication, and not the
first day on which something applies.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

from doxa.adapters.markdown.frontmatter import KEYS

__all__ = ["REVERSED", "meant", "plain"]

REVERSED: Final = frozenset({"superseded_by", "replaced_by", "obsoleted_by"})
"""What a memo says of the one that supersedes it, which is read there and not here."""

_OTHER_WORDS: Final = {
    "replaces": "supersedes",
    "obsoletes": "supersedes",
    "effective": "valid_from",
    "effective_from": "valid_from",
    "effective_date": "valid_from",
    "valid_since": "valid_from",
    "valid_to": "valid_until",
    "valid_till": "valid_until",
    "until": "valid_until",
    "effective_until": "valid_until",
    "expires": "valid_until",
    "expiry": "valid_until",
    "expiry_date": "valid_until",
    "source": "sources",
}
# Words that a letter or an event has too. With a day they are probably meant.
_WITH_A_DAY: Final = {"from": "valid_from", "since": "valid_from", "to": "valid_until"}
_DAY: Final = re.compile(r"['\"]?[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?![0-9])")
_OTHERS: Final = frozenset({"resource", "resources"})  # of others, and close to one of ours
_CLOSE: Final = 0.8
_LETTERS: Final = 5  # shorter keys are close to too many


def plain(key: str) -> str:
    """A key in small letters, with underscores.

    >>> plain("Valid-From")
    'valid_from'
    """
    return re.sub(r"[-\s]+", "_", key[:40].strip()).lower()


def meant(key: str, value: str | None) -> str | None:
    """The key that one was probably meant for that is not read; ``value`` is what it says, where
    that is a text.

    >>> meant("superseeds", "a"), meant("until", "x"), meant("from", "Ann"), meant("date", "x")
    ('supersedes', 'valid_until', None, None)
    """
    said = plain(key)
    if key in KEYS or said in _OTHERS:
        return None
    if said in KEYS:
        return said
    if said in REVERSED:
        return "supersedes"
    if said in _WITH_A_DAY:
        return _WITH_A_DAY[said] if _DAY.match((value or "").strip()) else None
    if said in _OTHER_WORDS:
        return _OTHER_WORDS[said]
    near = difflib.get_close_matches(said, KEYS, 1, _CLOSE) if len(said) >= _LETTERS else []
    return near[0] if near else None
