"""How the files of an import are to be read: the same each time that it goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any, Final, Literal, get_args

from doxa.engine.errors import CallerError

__all__ = ["FORMATS", "Empty", "Format", "Settings", "Types", "Valid", "checked", "format_of"]

Format = Literal["csv", "tsv", "json", "yaml", "toml"]
Types = Literal["text", "infer"]
Empty = Literal["none", "null", "text"]
Valid = Literal["unknown", "commit"]

FORMATS: Final = get_args(Format)
_SUFFIXES: Final = {f".{name}": name for name in FORMATS} | {".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How files are read, and what their cells become."""

    paths: tuple[str, ...]
    key: tuple[str, ...]
    format: str | None
    delimiter: str | None
    records: str
    types: str
    empty: str
    ignore: tuple[str, ...]
    prefix: str
    valid: str
    valid_from: str | None
    valid_to: str | None
    valid_until: str | None
    follow: bool

    def as_dict(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}

    @property
    def bounds(self) -> tuple[str, ...]:
        """The columns that say when a row applies."""
        return tuple(c for c in (self.valid_from, self.valid_to, self.valid_until) if c is not None)


def format_of(path: str, settings: Settings) -> str | None:
    """The format of a file, by what was said or by its name; `None` where neither tells."""
    return settings.format or _SUFFIXES.get(PurePosixPath(path).suffix.lower())


def _texts(value: str | Iterable[str], name: str) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else tuple(value)
    for each in found:
        if not isinstance(each, str):
            raise CallerError(f"{name} has {each!r:.80}; give texts")
    if len(set(found)) < len(found):
        raise CallerError(f"{name} names {max(found, key=found.count)!r:.80} twice; give it once")
    return found


def _path(path: str) -> str:
    """A path in the repository, from its root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts or "\0" in path:
        raise CallerError(
            f"{path!r:.200} is no path in the repository; give it from the repository's root, such "
            "as data/cities.csv"
        )
    try:
        path.encode()
    except UnicodeEncodeError:
        raise CallerError(f"{path!r:.200} is not UTF-8; rename the file in Git first") from None
    return "/".join(parts)


def _one_of(value: str, words: tuple[str, ...], name: str) -> None:
    if value not in words:
        raise CallerError(f"{name} is {value!r:.80}; give one of {', '.join(words)}")


def checked(paths: str | Iterable[str], key: str | Iterable[str], **rest: Any) -> Settings:
    """Settings that go together. Raises `CallerError`."""
    found = Settings(
        paths=_texts([_path(p) for p in _texts(paths, "paths")], "paths"),
        key=_texts(key, "key"),
        **{**rest, "ignore": _texts(rest["ignore"], "ignore")},
    )
    for each in fields(found):
        value = getattr(found, each.name)
        if not isinstance(value, str | tuple | bool | None):
            raise CallerError(f"{each.name} is {value!r:.80}; give a text")
    if not found.paths:
        raise CallerError("no path is given; name one file of the repository at least")
    for value, words, name in (
        (found.types, get_args(Types), "types"),
        (found.empty, get_args(Empty), "empty"),
        (found.valid, get_args(Valid), "valid"),
        (found.format or "csv", FORMATS, "format"),
    ):
        _one_of(value, words, name)
    _check_files(found)
    _check_columns(found)
    return found


def _check_files(found: Settings) -> None:
    if found.delimiter is not None and (len(found.delimiter) != 1 or found.delimiter in '"\r\n\0'):
        raise CallerError(f"delimiter is {found.delimiter!r:.20}; give one character, such as ;")
    if found.records and not found.records.startswith("/"):
        raise CallerError(
            f"records is {found.records!r:.80}; give a JSON pointer, such as /data/cities"
        )
    for path in found.paths:
        said = format_of(path, found)
        if said is None:
            raise CallerError(
                f"{path!r:.200} does not tell its format; say which one it is (format: "
                f"{', '.join(FORMATS)})"
            )
        if said in ("csv", "tsv") and not found.key:
            raise CallerError(
                f"{path!r:.200} has rows; say which column names what a row is about (key)"
            )


def _check_columns(found: Settings) -> None:
    if found.valid_to is not None and found.valid_until is not None:
        raise CallerError("valid_to (exclusive) and valid_until (an inclusive day): give one")
    if found.bounds and found.valid != "unknown":
        raise CallerError(
            "valid is commit, and columns are given for the valid time; it has one origin: give "
            "one of them"
        )
    twice = [c for c in (*found.key, *found.bounds) if (*found.key, *found.bounds).count(c) > 1]
    if twice:
        raise CallerError(f"the column {twice[0]!r:.80} is given two roles; give it one")
    if lost := set(found.ignore) & {*found.key, *found.bounds}:
        raise CallerError(f"the column {min(lost)!r:.80} is needed and can't be ignored")
