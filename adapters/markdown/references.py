"""Names of memos as they are written: ``name``, ``name.md``, ``[name]``, ``[[name]]``, links.

Directories are dropped, and what is compared is the stem, in Unicode's composed form.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

__all__ = ["SUFFIXES", "Unreadable", "listed", "stem_of", "target"]

SUFFIXES: Final = (".md", ".markdown")  # of the files that are memos

_WIKI: Final = re.compile(r"\[\[([^\[\]]*)\]\]")
_SINGLE: Final = re.compile(r"\[([^\[\]]*)\]")
_LINK: Final = re.compile(r"\[[^\[\]]*\]\(<?([^()<>]*)>?\)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Unreadable(ValueError):
    """What is written names no memo as a whole."""


def stem_of(path: str) -> str:
    """The stem of a path: without directories, and without the suffix of a memo.

    >>> stem_of("notes/plan.v2.md"), stem_of("plan.v2")
    ('plan.v2', 'plan.v2')
    """
    name = path.rpartition("/")[2]
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
            break
    return unicodedata.normalize("NFC", name.strip())


def target(written: str) -> str:
    """The stem that a reference names. Raises `Unreadable` where it names none, or a part of one.

    >>> [target(text) for text in ("a", "x/a.md", "[a]", "[[a|the first]]", "[one](a.md)")]
    ['a', 'a', 'a', 'a', 'a']
    """
    text = written.strip()
    if found := _WIKI.fullmatch(text):
        name = found[1].partition("|")[0]
        _whole(name, written)
    elif found := _LINK.fullmatch(text):
        name = unquote(found[1].strip())
        if _SCHEME.match(name) or name.startswith("//"):
            raise Unreadable(f"{written!r:.80} leads out of the folder; name a memo")
        _whole(name, written)
    elif found := _SINGLE.fullmatch(text):
        name = found[1]
    else:
        name = text
        if "[[" in name or "]]" in name:
            names = listed(written) or "one name an entry"
            raise Unreadable(f"{written!r:.80} is not one name; write a list: {names}")
    stem = stem_of(name.replace("\\", "/"))
    if not stem or stem in (".", ".."):
        raise Unreadable(f"{written!r:.80} names no memo")
    return stem


def listed(written: str) -> str | None:
    """Several names that stand in one text, as the list that was meant.

    >>> listed("a.md, [[b]]"), listed("a"), listed("a, ")
    ('[a, b]', None, None)
    """
    parts = re.split("[,;]", written)
    if len(parts) == 1:
        return None
    try:
        stems = [target(part) for part in parts]
    except Unreadable:
        return None
    plain = all(re.fullmatch(r"\w[\w .-]*", stem) for stem in stems)
    return f"[{', '.join(stems)}]" if plain else None


def _whole(name: str, written: str) -> None:
    if "#" in name or "^" in name:
        raise Unreadable(f"{written!r:.80} names a part of a memo; a memo is superseded as a whole")
