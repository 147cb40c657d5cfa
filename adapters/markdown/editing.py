"""One more name in the front matter's ``supersedes``, with every other byte of the file as it was.

The edit is made in the text at the place that the YAML parser names, and counts only if the memo,
read again, says the same as before and supersedes exactly one more.
"""

from __future__ import annotations

from doxa.adapters.markdown import frontmatter
from doxa.adapters.markdown.frontmatter import FrontMatter, Pair
from doxa.adapters.markdown.memo import Memo, memo_of

__all__ = ["Refused", "with_name"]


class Refused(ValueError):
    """The front matter can't be edited without a doubt; it is for a person to do."""


def with_name(memo: Memo, stem: str) -> Memo:
    """The memo with one more name in ``supersedes``. Raises `Refused`."""
    if memo.front is None or not memo.usable:
        raise Refused("its front matter can't be read")
    name = frontmatter.quoted(f"[[{stem}]]")
    for text in _candidates(memo.text, memo.front, name):
        edited = memo_of(memo.path, text.encode("utf-8"))
        if _one_more(memo, edited, stem):
            return edited
    raise Refused("its front matter is written in a way that can't be added to safely")


def _candidates(text: str, front: FrontMatter, name: str) -> list[str]:
    """The text with the name, in the ways in which it may be put in."""
    newline = front.newline
    if not front.there:
        block = f"---{newline}supersedes: {name}{newline}---{newline}"
        return [text[: front.body] + block + text[front.body :]]
    pair = front.pairs.get("supersedes")
    if pair is None:
        if front.flow:
            return []
        return [f"{text[: front.end]}supersedes: {name}{newline}{text[front.end :]}"]
    return _extended(text, front, pair, name)


def _extended(text: str, front: FrontMatter, pair: Pair, name: str) -> list[str]:
    node = pair.value
    start, end = front.start + node.start_mark.index, front.start + node.end_mark.index
    if frontmatter.is_null(node):
        key = pair.at + len(pair.key)
        colon = text.find(":", key) + 1
        if start == end:  # nothing is written
            return [f"{text[:colon]} {name}{text[colon:]}"]
        return [f"{text[:start]}{name}{text[end:]}"]
    if not frontmatter.is_list(node):
        written = text[start:end]
        plain = f"{text[:start]}[{written}, {name}]{text[end:]}"
        again = frontmatter.quoted(str(node.value))
        return [plain, f"{text[:start]}[{again}, {name}]{text[end:]}"]
    if getattr(node, "flow_style", False):
        inside = text[start + 1 : end - 1].rstrip()
        comma = "" if not node.value or inside.endswith(",") else ", "
        space = " " if node.value and not comma else ""
        return [f"{text[: end - 1]}{comma}{space}{name}{text[end - 1 :]}"]
    return _another_line(text, front, pair, name)


def _another_line(text: str, front: FrontMatter, pair: Pair, name: str) -> list[str]:
    """One more line of a list that is written in lines, with the indent of those above it."""
    node, newline = pair.value, front.newline
    last = front.start + node.value[-1].end_mark.index
    while last < front.end and text[last] not in "\r\n":
        last += 1
    if text.startswith("\r\n", last):
        last += 2
    elif last < front.end:
        last += 1
    indent = " " * node.start_mark.column
    before = text[last - 1 : last]
    line = f"{indent}- {name}{newline}"
    return [text[:last] + (line if before in "\r\n" else newline + line) + text[last:]]


def _one_more(memo: Memo, edited: Memo, stem: str) -> bool:
    """Whether a memo differs from another in one more name alone."""
    before = [reference.stem for reference in memo.references]
    after = [reference.stem for reference in edited.references]
    same = ("key", "title", "valid_from", "valid_to", "sources", "said", "stated_id")
    flaws = [(finding.rule, finding.about) for finding in memo.findings]
    return (
        edited.front is not None
        and set(after) == {*before, stem}
        and len(after) == len(before) + 1
        and edited.body == memo.body
        and all(getattr(memo, name) == getattr(edited, name) for name in same)
        and flaws == [(finding.rule, finding.about) for finding in edited.findings]
        and _others(memo) == _others(edited)
    )


def _others(memo: Memo) -> list[tuple[str, str]]:
    """The other keys of the front matter, as they are written."""
    if memo.front is None:
        return []
    start = memo.front.start
    return [
        (
            name,
            memo.text[
                start + pair.value.start_mark.index : start + pair.value.end_mark.index
            ].strip(),
        )
        for name, pair in memo.front.pairs.items()
        if name != "supersedes"
    ]
