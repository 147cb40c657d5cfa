"""Findings as SARIF 2.1.0, the form in which code hosts take what linters find."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from doxa.adapters.markdown.findings import RULES, Finding

__all__ = ["SCHEMA", "sarif_of"]

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT: Final = "doxaFinding/v1"


def sarif_of(folder: str | os.PathLike[str], findings: Sequence[Finding]) -> dict[str, Any]:
    """One run with all rules and the findings. Places are relative to the working directory where
    the folder lies in it, so that they fit a repository that is looked at from its root."""
    import doxa

    order = list(RULES)
    seen: Counter[tuple[str, str, str]] = Counter()
    results = []
    for finding in findings:
        place = (finding.rule, finding.path, finding.about)
        results.append(_result(folder, finding, order.index(finding.rule), seen[place]))
        seen[place] += 1
    driver = {
        "name": "doxa",
        "semanticVersion": doxa.__version__,
        "rules": [_rule(name) for name in order],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    rule = RULES[name]
    words = "".join(part.capitalize() for part in name.split("-"))
    return {
        "id": name,
        "name": words,
        "shortDescription": {"text": rule.what},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(
    folder: str | os.PathLike[str], finding: Finding, index: int, occurrence: int
) -> dict[str, Any]:
    span = finding.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    location = {"artifactLocation": {"uri": _uri(folder, finding.path)}, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint(occurrence)},
    }


def _uri(folder: str | os.PathLike[str], path: str) -> str:
    """A relative reference, or a file URI for what lies elsewhere."""
    here = Path.cwd()
    given = Path(os.path.abspath(folder))
    for root in (given, given.resolve()):  # through a link, as the working directory may be
        if root.is_relative_to(here):
            relative = quote((root / path).relative_to(here).as_posix())
            return relative if ":" not in relative.split("/")[0] else f"./{relative}"
    return (given / path).as_uri()
