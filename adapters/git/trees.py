"""Versions of JSON, YAML and TOML files: lists of records, or records under their keys."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, Final

from doxa.adapters.exchange.lines import decoder
from doxa.adapters.extras import needed
from doxa.adapters.git.cells import record_row
from doxa.adapters.git.rows import Row, Unsound, Version
from doxa.adapters.git.settings import Settings

__all__ = ["VALUE", "read_tree"]

VALUE: Final = "value"  # the column of a mapping's value that is no record
_NODES: Final = 2_000_000  # values of a file, with every alias counted as what it stands for
_DEPTH: Final = 100
_TAG: Final = "tag:yaml.org,2002:"


def read_tree(text: str, format: str, settings: Settings) -> Version:
    """What a version of a file says. Raises `Unsound`."""
    try:
        node = _plain(_PARSERS[format](text), _Budget(), 0)
    except RecursionError:
        raise Unsound("it is nested too deep to be read") from None
    node = _pointed(node, settings.records)
    rows: list[Row] = []
    places: list[int | str] = []
    for place, key, record in _records(node, settings):
        where = f"#{settings.records}/{_escaped(place)}"
        try:
            rows.append(record_row(record, settings, key))
        except Unsound as error:
            raise Unsound(f"{where}: {error}") from None
        places.append(where)
    return Version.of(rows, places, bool(settings.bounds))


def _records(node: Any, settings: Settings) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Each record: its place, its key where it stands under one, and itself."""
    if isinstance(node, list):
        if not settings.key:
            raise Unsound("it is a list; say which field names what a record is about (key)")
        for at, record in enumerate(node):
            if not isinstance(record, dict):
                raise Unsound(f"#{settings.records}/{at} is {_kind(record)}, not a record")
            yield str(at), None, record
        return
    if not isinstance(node, dict):
        raise Unsound(f"it is {_kind(node)}, not a list or mapping of records")
    if len(settings.key) > 1:
        raise Unsound("its records stand under keys, and a key there has one part")
    for key, record in node.items():
        yield key, key, record if isinstance(record, dict) else {VALUE: record}


def _kind(node: Any) -> str:
    if node is None or isinstance(node, bool):
        return json.dumps(node)
    names = {"list": "a list", "dict": "a mapping", "str": "a text"}
    return names.get(type(node).__name__, "a number")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _pointed(node: Any, pointer: str) -> Any:
    """The node that a JSON pointer names."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isascii() and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise Unsound(f"nothing lies at {pointer!r:.80}")
    return node


# ---------------------------------------------------------------- as JSON has it


class _Budget:
    """How many values are still read of a file."""

    def __init__(self) -> None:
        self.left = _NODES

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unsound(f"it has more than {_NODES:,} values, aliases written out")


def _plain(node: Any, budget: _Budget, depth: int) -> Any:
    """A value as JSON has it; dates and times are text."""
    budget.spend()
    if node is None or isinstance(node, str | bool | int):
        return node
    if isinstance(node, float):
        if not math.isfinite(node):
            raise Unsound(f"it holds {node}, which is not a number that JSON has")
        return node
    if depth > _DEPTH:
        raise Unsound(f"it is nested more than {_DEPTH} deep")
    if isinstance(node, Mapping):
        found: dict[str, Any] = {}
        for key, value in node.items():
            name = _key(key)
            if name in found:
                raise Unsound(f"the key {name!r:.60} is there twice in one mapping")
            found[name] = _plain(value, budget, depth + 1)
        return found
    if isinstance(node, list | tuple):
        return [_plain(value, budget, depth + 1) for value in node]
    if isinstance(node, datetime | date | time):
        return node.isoformat()
    raise Unsound(f"it holds a value of type {type(node).__name__}, which JSON does not have")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int):
        return json.dumps(key)
    raise Unsound(f"a mapping has the key {key!r:.60}; a key is text or a whole number")


def _json(text: str) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise Unsound(f"line {error.lineno}: it is no JSON: {error.msg}") from None
    except ValueError as error:
        raise Unsound(f"it is no JSON: {error}") from None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise Unsound(f"it is no TOML: {error}") from None


def _yaml(text: str) -> Any:
    with needed("ruamel", "git"):
        from ruamel.yaml import YAML
        from ruamel.yaml.constructor import SafeConstructor
        from ruamel.yaml.error import YAMLError

    class Plain(SafeConstructor):
        """Dates as they were written; nothing that JSON has not."""

    Plain.add_constructor(f"{_TAG}timestamp", SafeConstructor.construct_yaml_str)
    for name in ("binary", "omap", "set", "pairs"):
        Plain.add_constructor(f"{_TAG}{name}", SafeConstructor.construct_undefined)
    yaml = YAML(typ="safe", pure=True)  # the same wherever it runs
    yaml.Constructor = Plain
    yaml.composer.warn_double_anchors = False  # an anchor may be used again
    try:
        return yaml.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}: "
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise Unsound(f"{where}it is no YAML: {what}") from None
    except (ValueError, OverflowError, TypeError) as error:
        raise Unsound(f"it is no YAML: {error}") from None


_PARSERS: Final = {"json": _json, "toml": _toml, "yaml": _yaml}
