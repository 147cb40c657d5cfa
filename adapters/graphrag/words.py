"""The words of an index: what a status means, what stands for nothing, and names as graphrag
compares them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from doxa.adapters.carrying import label
from doxa.engine.errors import CallerError

__all__ = ["VOCABULARY", "Status", "Vocabulary", "name"]

Status = Literal["true", "false", "suspected"]

ENTITIES, RELATIONSHIPS, COVARIATES = "entities", "relationships", "covariates"
TEXT_UNITS, REPORTS = "text_units", "community_reports"


def _folded(word: str) -> str:
    return " ".join(word.strip().strip("*_`\"'").split()).casefold()


def _words(*words: str) -> frozenset[str]:
    return frozenset(map(_folded, words))


@dataclass(frozen=True)
class Vocabulary:
    """The words that a prompt's language puts into an index; case, white space and asterisks
    around them don't matter.

    ``true``, ``false`` and ``suspected`` are the words of a claim's status, ``nulls`` those that
    stand for nothing, ``data`` the word that begins a citation, and ``datasets`` what a citation
    calls a table.
    """

    true: frozenset[str] = _words("TRUE", "真实", "真", "属实", "是", "已确认", "确认")
    false: frozenset[str] = _words("FALSE", "虚假", "假", "错误", "不实", "否", "已否认")
    suspected: frozenset[str] = _words("SUSPECTED", "疑似", "可疑", "怀疑", "待证实", "未证实")
    nulls: frozenset[str] = _words(
        *("", "NONE", "N/A", "NA", "NULL", "UNKNOWN", "NAN", "NIL", "-", "<NONE>", "(NONE)"),
        *("无", "未知", "没有", "不适用", "不详", "空"),
    )
    data: frozenset[str] = _words("Data", "数据", "資料")
    datasets: Mapping[str, str] = field(
        default_factory=lambda: {
            **dict.fromkeys(["entities", "entity", "实体", "實體"], ENTITIES),
            **dict.fromkeys(
                ["relationships", "relationship", "relations", "关系", "關係"], RELATIONSHIPS
            ),
            **dict.fromkeys(
                ["claims", "claim", "covariates", "covariate", "声明", "主张", "断言", "聲明"],
                COVARIATES,
            ),
            **dict.fromkeys(
                ["sources", "source", "text units", "text unit", "text_units", "来源", "來源"],
                TEXT_UNITS,
            ),
            **dict.fromkeys(["文本单元", "文本块"], TEXT_UNITS),
            **dict.fromkeys(
                ["reports", "report", "community reports", "报告", "社区报告", "報告"], REPORTS
            ),
        }
    )

    def nothing(self, said: str | None) -> bool:
        """Whether a cell says nothing."""
        return said is None or _folded(said) in self.nulls

    def value(self, said: str | None) -> str | None:
        """What a cell says, or `None` for every way to say nothing."""
        return None if said is None or self.nothing(said) else said.strip()

    def status(self, said: str | None) -> Status | None:
        """What a claim's status means, or `None` where that is not known."""
        word = _folded(said or "")
        if word in self.true:
            return "true"
        if word in self.false:
            return "false"
        return "suspected" if word in self.suspected else None

    def dataset(self, word: str) -> str | None:
        """The table that a citation's word means."""
        return self.datasets.get(_folded(word))

    def extended(self, more: Mapping[str, Any]) -> Vocabulary:
        """This vocabulary and further words: a list for each key, and for ``datasets`` a mapping
        from a word to a table. Raises `CallerError`.

        >>> VOCABULARY.extended({"true": ["vrai"], "nulls": ["aucun"]}).status("Vrai")
        'true'
        """
        made: dict[str, Any] = {}
        for key, words in more.items():
            if key not in (known := [each.name for each in fields(self)]):
                raise CallerError(f"a vocabulary has no {key!r:.60}; it has {', '.join(known)}")
            if key == "datasets":
                made[key] = {**self.datasets, **_tables(words)}
            else:
                made[key] = getattr(self, key) | _given(key, words)
        extended = Vocabulary(**{**{f.name: getattr(self, f.name) for f in fields(self)}, **made})
        for one, other in (("true", "false"), ("true", "suspected"), ("false", "suspected")):
            if both := getattr(extended, one) & getattr(extended, other):
                raise CallerError(f"{min(both)!r} can't mean {one} and {other} in one vocabulary")
        return extended


def _given(key: str, words: object) -> frozenset[str]:
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise CallerError(f"{key} of the vocabulary is {words!r:.80}; give a list of words")
    found = list(words)
    if bad := [word for word in found if not isinstance(word, str)]:
        raise CallerError(f"{key} of the vocabulary holds {bad[0]!r:.80}; words are text")
    return _words(*found)


def _tables(words: object) -> dict[str, str]:
    known = (ENTITIES, RELATIONSHIPS, COVARIATES, TEXT_UNITS, REPORTS)
    if not isinstance(words, Mapping):
        raise CallerError(f"datasets is {words!r:.80}; give a mapping from a word to a table")
    for word, table in words.items():
        if not isinstance(word, str) or table not in known:
            raise CallerError(
                f"datasets says that {word!r:.60} is {table!r:.60}; give one of {', '.join(known)}"
            )
    return {_folded(word): table for word, table in words.items()}


VOCABULARY: Final = Vocabulary()

_SPACE: Final = re.compile(r"\s+")


def name(said: str | None) -> str:
    """A name as graphrag compares it: upper case, white space collapsed, without the quotes that
    0.x wrote around titles. Empty where nothing is left.

    >>> name('"Alex  Mercer"'), name(None)
    ('ALEX MERCER', '')
    """
    if said is None:
        return ""
    line = _SPACE.sub(" ", label(html.unescape(said))).strip()
    if len(line) >= 2 and line[0] == line[-1] == '"':
        line = line[1:-1].strip()
    return label(line.upper())
