"""From the bytes of a version to its rows; what is none of the file's own content is found out."""

from __future__ import annotations

import re
from typing import Final

from doxa.adapters.git.repository import Entry, Repository
from doxa.adapters.git.rows import Unsound, Version
from doxa.adapters.git.settings import FORMATS, Settings, format_of
from doxa.adapters.git.tables import Tables
from doxa.adapters.git.trees import read_tree

__all__ = ["SIZE", "Reader", "version_of"]

SIZE: Final = 256 << 20  # bytes of a version
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_OURS: Final = re.compile(r"^<{7}(?: |$)", re.MULTILINE)
_THEIRS: Final = re.compile(r"^>{7}(?: |$)", re.MULTILINE)
_PAGE: Final = re.compile(r"\s*<(?:!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE)


class Reader:
    """The reader of one file's versions, one after the other."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._tables: dict[str, Tables] = {}

    def read(self, content: bytes, path: str) -> Version:
        """What a version says. Raises `Unsound`."""
        format = format_of(path, self.settings)
        if format is None:
            raise Unsound(
                f"its new name does not tell its format; say which (format: {', '.join(FORMATS)})"
            )
        text = _text(content)
        if format not in ("csv", "tsv"):
            return read_tree(text, format, self.settings)
        delimiter = self.settings.delimiter or ("\t" if format == "tsv" else ",")
        if delimiter not in self._tables:
            self._tables[delimiter] = Tables(self.settings, delimiter)
        return self._tables[delimiter].read(text)


def version_of(repo: Repository, reader: Reader, path: str, entry: Entry) -> Version:
    """The version of a file that lies at a path in a commit. Raises `Unsound`."""
    if entry.problem is not None:
        raise Unsound(entry.problem)
    return reader.read(repo.content(entry, path), path)


def _text(content: bytes) -> str:
    if len(content) > SIZE:
        raise Unsound(f"it has {len(content):,} bytes; at most {SIZE:,} are read")
    if content.startswith(_POINTER):
        raise Unsound("it is a Git LFS pointer; the content is not in the repository")
    if (at := content.find(b"\0")) >= 0:
        raise Unsound(f"it is binary: byte {at} is NUL")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unsound(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    ours = _OURS.search(text) if "<<<<<<<" in text else None
    if ours is not None and _THEIRS.search(text):
        line = text.count("\n", 0, ours.start()) + 1
        raise Unsound(f"line {line}: it has the marks of a merge that was not resolved")
    if _PAGE.match(text):
        raise Unsound("it is an HTML or XML page in place of the file")
    return text
