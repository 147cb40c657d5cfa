"""The normal form of a value: what two values share where rejecting one rejects the other.

Values are JSON values and texts. Two are equal here that differ in nothing but case, white space,
the Unicode normal form, or how their JSON is written. In this order:

1. a text is brought to NFC, case-folded (Unicode's full folding: ``ß`` is ``ss``, and the ligature
   ``ﬁ`` is ``fi``), and brought to NFC once more; each run of white space in it becomes one space,
   and none is left at its ends;
2. a text that is then a JSON object or array, nested at most `NESTED` deep, is that value;
3. numbers are by value, and true, false and null are themselves; lists are in their order, objects
   by their keys; every text in them, and every key, is brought to the form of step 1.

Nothing else makes values equal: a number is not the text of its digits, true is not 1, and what
only looks alike (other letters, other forms of digits, characters without width) is another
value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn
from unicodedata import combining, normalize

from pydantic_core import PydanticCustomError

from doxa.engine.errors import CallerError
from doxa.engine.events import equality_key
from doxa.engine.fields import DEPTH_LIMIT, check_value

__all__ = ["NESTED", "checked", "normal", "texts_in"]

_LONG: Final = 64  # marks
NESTED: Final = DEPTH_LIMIT  # lists and objects in one another; a value has no more

# Each of them passes over what it looked at, whatever it finds: in no more steps than characters.
_STEPS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_TEXT: Final = re.compile(r'((?:[^"\\]|\\.)++)', re.DOTALL)


def checked(value: object) -> object:
    """A copy of a value. Raises `CallerError` for what is none."""
    try:
        return check_value(value)
    except PydanticCustomError as error:
        raise CallerError(f"the value {error.message()}") from None


def normal(value: object) -> str:
    r"""The normal form of a JSON value or a text.

    >>> normal(" Caf\u00e9\u00a0 NOIR ") == normal("cafe\u0301 noir")
    True
    >>> normal('{"b": 1.0, "A": [true]}') == normal({"a": [True], "b": 1})
    True
    >>> normal(1) == normal("1"), normal(1) == normal(True)
    (False, False)
    """
    if not isinstance(value, str):
        return _form(value)
    text = _folded(value)
    if text[:1] in _OPENING and text[-1:] in _CLOSING:
        found = _read(text)
        if found is not None:
            return _form(found)
    return encode_basestring(text)


_OPENING: Final = ("[", "{")
_CLOSING: Final = ("]", "}")


def _folded(text: str) -> str:
    """A text in the form of the first step."""
    folded = normalize("NFC", normalize("NFC", _ordered(text)).casefold())
    return " ".join(folded.split())


def _ordered(text: str) -> str:
    """An equivalent text, whose long runs of marks are in canonical order. That is for `normalize`,
    which takes a time that grows with the square of such a run to put it in order."""
    if len(text) < _LONG or text.isascii():
        return text
    return _runs().sub(lambda run: "".join(sorted(_each(run[0]), key=combining)), text)


def _each(run: str) -> Iterator[str]:
    """The marks of a run, taken apart."""
    for mark in run:
        yield from normalize("NFD", mark)


@cache
def _runs() -> re.Pattern[str]:
    """What finds runs of marks: of characters that are no starters, or fall apart into such."""
    marks = (chr(code) for code in range(0x300, 0x20000) if not 0xD800 <= code < 0xE000)
    those = "".join(mark for mark in marks if combining(normalize("NFD", mark)[0]))
    return re.compile(f"[{re.escape(those)}]{{{_LONG},}}")


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, also where a key is there several times."""


def _form(value: object) -> str:
    """The normal form of a value that is no text of its own."""
    if isinstance(value, str):
        return encode_basestring(_folded(value))
    if isinstance(value, Mapping | _Pairs):
        pairs: Iterable[tuple[str, Any]] = value.items() if isinstance(value, Mapping) else value
        inner = sorted((encode_basestring(_folded(key)), _form(item)) for key, item in pairs)
        return "{" + ",".join(f"{key}:{item}" for key, item in inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_form, value)) + "]"
    return equality_key(value)


def _read(text: str) -> object:
    """The object or array that a text is; ``None`` where it is none."""
    depth = deepest = 0
    for step in _STEPS.finditer(text):
        mark = step[0]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    if deepest > NESTED + 1:
        return None
    try:
        found: object = _DECODER.decode(text)
    except ValueError:
        return None
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_constant=_no_constant, parse_float=_finite
)


def texts_in(broken: str) -> list[str]:
    """What stands between quotation marks in a line that is no JSON, as it reads where it can be
    read. Since a mark may be missing, that is all of the line in pieces."""
    found = []
    for match in _TEXT.finditer(broken):
        try:
            found.append(str(json.loads(f'"{match[1]}"', strict=False)))
        except ValueError:
            found.append(match[1])
    return found
