"""Names and texts as LightRAG cleans them before they go into its graph, so that what a model
answered can be found there again (`lightrag.utils.sanitize_and_normalize_extracted_text`)."""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ["cleaned", "cleaned_name", "cleaned_type"]

LONGEST: Final = 256  # characters of a name
LONGEST_BYTES: Final = 512

_UNSAFE: Final = re.compile("[\ud800-\udfff\ufffe\uffff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAGS: Final = re.compile(r"</p\s*>|<p\s*>|<p/>|</br\s*>|<br\s*>|<br/>", re.IGNORECASE)
_FULL_WIDTH: Final = (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
_WIDE: Final = {
    **{code: code - 0xFEE0 for code in _FULL_WIDTH},
    **str.maketrans("\uff0d\uff0b\uff0f\uff0a\uff08\uff09\u2014\u3000", "-+/*()- "),
}
_HAN: Final = "[\u4e00-\u9fa5]"
_LATIN: Final = r"[a-zA-Z0-9\(\)\[\]@#$%!&\*\-=+_]"
# a blank beside a Chinese character is the model's, not the name's
_GAPS: Final = (
    re.compile(rf"(?<={_HAN})\s+(?={_HAN})"),
    re.compile(rf"(?<={_HAN})\s+(?={_LATIN})"),
    re.compile(rf"(?<={_LATIN})\s+(?={_HAN})"),
)
_QUOTES: Final = ('""', "''", "\u201c\u201d", "\u2018\u2019", "\u300a\u300b")
_CURLY: Final = re.compile("[\u201c\u201d\u2018\u2019]")
_BESIDE_HAN: Final = (re.compile(rf"['\"]+(?={_HAN})"), re.compile(rf"(?<={_HAN})['\"]+"))
_NARROW: Final = re.compile("(?<=[^\\d])\u202f")
_RESERVED: Final = frozenset({"__proto__", "constructor", "prototype"})
_NO_TYPE: Final = re.compile(r"['()<>|/\\]")


def cleaned(text: str, *, name: bool = False) -> str:
    """A text as it goes into the graph; of a ``name``, quotes within it go too. Empty where nothing
    of it counts, as with a bare number of one or two digits.

    >>> cleaned("'Ann'"), cleaned("42", name=True)
    ('Ann', '')
    """
    text = _UNSAFE.sub("", html.unescape(text.strip())).strip()
    text = _TAGS.sub("", text).translate(_WIDE)
    for gap in _GAPS:
        text = gap.sub("", text)
    if len(text) >= 2:
        for quotes in _QUOTES:
            text = _unquoted(text, *quotes)
    if name:
        text = _CURLY.sub("", text)
        for quote in _BESIDE_HAN:
            text = quote.sub("", text)
        text = _NARROW.sub(" ", text.replace("\u00a0", " "))
    text = text.strip()
    return "" if _is_number(text) else text


def _unquoted(text: str, opening: str, closing: str) -> str:
    """Without the quotes around it, where there are none within."""
    if not (text.startswith(opening) and text.endswith(closing)):
        return text
    inner = text[1:-1]
    return text if opening in inner or closing in inner else inner


def _is_number(text: str) -> bool:
    if len(text) < 3 and re.match("^[0-9]+$", text):
        return True
    return len(text) < 6 and "." in text and all(c.isdigit() or c == "." for c in text)


def cleaned_name(text: str) -> str:
    """The name of an entity, cut where LightRAG cuts it."""
    name = cleaned(text, name=True)
    return name[:LONGEST].encode()[:LONGEST_BYTES].decode(errors="ignore")


def cleaned_type(text: str) -> str:
    """The type of an entity; empty where it is none."""
    kind = cleaned(text, name=True)
    if not kind or _NO_TYPE.search(kind):
        return ""
    first = next((part for each in kind.split(",") if (part := each.strip())), "")
    kind = first.replace(" ", "").lower()
    return "" if kind in _RESERVED else kind
