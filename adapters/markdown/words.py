"""The English words by which a memo says that it closes another, and those that forbid to take it
at its word. What is in no list here proves nothing."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "CAUTION",
    "CLOSING",
    "IN_FORCE",
    "NO_NAMES",
    "OPAQUE",
    "PROOFS",
    "REMARK",
    "SECTIONS",
    "STATUS",
    "UNFINISHED",
    "VOICE",
    "WHOLE",
    "Words",
]

Words = re.Pattern[str]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


OPAQUE: Final = "\ufffc"  # stands for code, markup and escapes inside a sentence

_MEMO: Final = (
    "memo|note|document|page|file|decision|policy|record|entry|version|guideline|article|notice"
)
_WHOLLY: Final = "entirely|completely|fully|wholly|altogether"
_IN_FULL: Final = f"{_WHOLLY}|in full|in its entirety|as a whole|in whole"
_VERBS: Final = "supersedes|replaces|obsoletes|supersedes and replaces|replaces and supersedes"
_DONE: Final = "superseded|replaced|obsoleted|superseded and replaced"
# A name: [[…]], a link, or words without brackets, quotes and marks.
_NAME: Final = (
    rf"(?P<name>\[\[[^\[\]]+\]\]|\[[^\[\]]+\]\([^()\s]+\)|[^\[\]()\"'`“”„«»{OPAQUE}?!,;:]+?)"
)

# Whole sentences that prove an edge from the memo that they stand in.
PROOFS: Final[tuple[Words, ...]] = (
    re.compile(
        rf"(?:This (?:{_MEMO})(?: hereby)?(?: (?:{_WHOLLY}))? (?:{_VERBS})"
        rf"|(?:Hereby )?(?:Supersedes|Replaces|Obsoletes):?)"
        rf" (?:the (?:{_MEMO}) )?{_NAME}(?: (?:{_IN_FULL}))?[.!]?"
    ),
    re.compile(
        rf"{_NAME} is(?: hereby)?(?: (?:{_WHOLLY}))? (?:{_DONE})(?: (?:{_IN_FULL}))?"
        rf" by this (?:{_MEMO})[.!]?"
    ),
)

# How a memo speaks of itself.
VOICE: Final[Words] = re.compile(rf"(?:This|The present) (?:{_MEMO})\b", re.IGNORECASE)

# Words that close something: a sentence with one of them is looked at.
CLOSING: Final[Words] = re.compile(
    r"\b(?:supersed(?:e|es|ed|ing)|supersession|obsolet(?:e|es|ed|ing)|replac(?:es|ed) by"
    r"|replaces|rescind(?:s|ed)?|revok(?:es|ed)|annul(?:s|led)"
    r"|no longer (?:valid|in force|applies))\b",
    re.IGNORECASE,
)

# Names that a sentence may have where it names no memo.
NO_NAMES: Final = _set(
    "it this that these those them him her us all any anything each either every everything "
    "neither none nothing one some something such what which who the a an our ours mine its his "
    "hers theirs itself another other others both many most much more"
)

# Around a proof: what may say that it is somebody else's word, no word at all, or half a word.
CAUTION: Final[Words] = re.compile(
    r"(?:\b(?:sa(?:y|ys|id|ying)|writes?|wrote|written|claim(?:s that|ed)|accord(?:ing|s)"
    r"|quot(?:e|es|ed|ing)"
    r"|report(?:s that|ed|edly)|tells?|told|asks?|asked|believ(?:e|es|ed)|th(?:ink|inks|ought)"
    r"|suggest(?:s|ed|ion)?|propos(?:e|es|ed|al|als)|drafts?|examples?|templates?|samples?"
    r"|hypothe(?:sis|tical|tically)|imagin(?:e|ary)|suppos(?:e|ed|edly)|alleg(?:es|ed|edly)"
    r"|if|unless|once|whether|until|till|upon|pending|would|could|may|might"
    r"|perhaps|maybe|possibly|probably|likely|presumably|apparently"
    r"|not|never|no|neither|nor|cannot|false|untrue|wrong|mistak(?:e|en|enly)|incorrect(?:ly)?"
    r"|assum(?:e|es|ed|ing|ption)|pretend(?:s|ed)?|fictio(?:n|nal|us)|jok(?:e|es|ing)|iron(?:y|ic)"
    r"|retract(?:s|ed)?|withdr(?:awn|ew|aws)|rejected|cancel(?:s|led|ed)|rumou?rs?"
    r"|part|parts|partly|partial|partially|sections?|chapters?|paragraphs?|mostly|largely|mainly"
    r"|except|excluding|only|remains?|still|stays|continues|temporar(?:y|ily)|following|above|below"
    r"|former|latter|wish|hope|want"
    r"|argue[sd]?|state[sd]|insist(?:s|ed)?|announce[sd]?|mention(?:s|ed)?|explain(?:s|ed)?|heard"
    r"|note[sd]|reads?|formerly|past|reverts?|reverted|undone|undoe?s?|went back|void|errors?"
    r"|erroneous(?:ly)?|oops|nearly|almost|sort of|kind of|annex(?:es)?|appendix|apart from"
    r"|save for|however|though|although|otherwise|unaffected|keeps?|kept|subject to|provided"
    r"|considered|alternatives?|options?|variants?|discuss(?:ed|ion)?|motions?|votes?|voted|failed"
    r"|defeated|questions?|myths?|faq|exercises?|boilerplate|cop(?:y|ied)|insert|for instance"
    r"|minutes|when|effect|effective|planned|future|sic|tests?|snippets?"
    r"|letters?|transcripts?|excerpts?|phrases?|e-?mails?|wording|dropped|nobody|fools?|jokes?"
    r"|todo|tbd|fixme)\b|\be\.g\.|n['\u2019]t\b)",
    re.IGNORECASE,
)

# What the status of a memo begins with whose own words count; with any other they don't yet, or
# don't any more.
IN_FORCE: Final[Words] = re.compile(
    r"(?:accepted|approved|adopted|agreed|decided|final|active|in force|current|published|valid"
    r"|effective|implemented|released|stable|ratified|enacted|live|signed)"
    r"(?:[ ,:(]+(?:on |since |in )?(?:[\d./ -]|\b(?:january|february|march|april|may|june|july"
    r"|august|september|october|november|december)\b)+)?[).]*",
    re.IGNORECASE,
)

# A status within a text.
STATUS: Final[Words] = re.compile(r"\bstatus\s*[:=]\s*(?P<status>\S[^.:=]{0,40})", re.IGNORECASE)

# Headings of sections that say how a memo stands to others, and nothing else.
SECTIONS: Final = frozenset(
    {"status", "supersedes", "supersession", "replaces", "obsoletes", "supersedes memos"}
)

# Words in a file's name, its tags or its type with which its sentences are there to be copied, or
# are no words of its own yet.
UNFINISHED: Final = _set(
    "draft drafts proposed proposal proposals pending template templates example examples sample "
    "samples rejected withdrawn wip todo idea ideas minutes"
)

# What begins a remark on the sentence before.
REMARK: Final[Words] = re.compile(
    r"(?:that|this|these|those|it|its|so|but|yet|both|in|as|for|after|before|where|also|which|who"
    r"|update|edit|correction|ps|nb|best|regards|yours|sincerely|signed|cheers)\b"
    r"|[\u2014\u2013(*~=-]",
    re.IGNORECASE,
)

# Words with which a label speaks of a memo as a whole, besides those of its name and title.
WHOLE: Final = _set(
    f"{_MEMO.replace('|', ' ')} adr rfc the a an old older one that previous prior "
    "earlier last former its predecessor no nr number v version rev revision of"
)
