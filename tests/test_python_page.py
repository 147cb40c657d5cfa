"""The page about the Python interface names every call, argument, attribute and error there is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

import doxa
from doxa.adapters.cli import failures
from doxa.adapters.exchange.importing import ImportReport
from doxa.adapters.exchange.kept_out import KeptOut
from doxa.adapters.exchange.set_aside import SetAside
from doxa.arguments import UNSET, ArtefactId, Commit, CorrectionId
from doxa.consolidating import Consolidation
from doxa.dreams import Contradiction, Dreams, Dreamt, Planned, Turned
from doxa.engine import (
    assembly,
    calibration,
    copies,
    drift,
    envelope,
    items,
    log,
    narrative,
    reconcile,
    recovery,
    registry,
    shelving,
    trust,
    why,
)
from doxa.maintaining import Maintenance
from doxa.projections.consolidation import Consolidated
from doxa.projections.refresh import Changed
from doxa.projections.stale import Stale
from doxa.querying import Result
from doxa.questions import DEFAULTS
from doxa.refreshing import Refresh
from doxa.rejecting import Rejection
from doxa.verification import Report
from doxa.views import Belief
from tests.support import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
INTERNAL = "Not for users"
HANDLES: dict[str, Any] = {"doxa": doxa, "ledger": doxa.Ledger, "view": doxa.TruthView}
# What calls give back, and the heading of the section that explains each.
GIVEN_BACK: dict[type, str] = {
    ArtefactId: "CorrectionId and ArtefactId",
    Changed: "Refresh, Changed and Stale",
    Consolidated: "Consolidation and Consolidated",
    Consolidation: "Consolidation and Consolidated",
    Refresh: "Refresh, Changed and Stale",
    Stale: "Refresh, Changed and Stale",
    Belief: "Belief",
    Commit: "Commit",
    CorrectionId: "CorrectionId and ArtefactId",
    ImportReport: "ImportReport",
    Report: "Report",
    Rejection: "Rejection",
    KeptOut: "ImportReport",
    Result: "Result",
    SetAside: "ImportReport",
    assembly.Citation: "Printed, Citation, Notice and LeftOut",
    assembly.LeftOut: "Printed, Citation, Notice and LeftOut",
    assembly.Notice: "Printed, Citation, Notice and LeftOut",
    assembly.Printed: "Printed, Citation, Notice and LeftOut",
    assembly.Replay: "doxa.Receipt and Replay",
    doxa.Block: "doxa.Block",
    doxa.Candidate: "doxa.Candidate",
    doxa.Receipt: "doxa.Receipt and Replay",
    doxa.Ref: "Arguments that many calls share",
    doxa.Source: "doxa.Source",
    doxa.StatedHead: "doxa.StatedHead",
    copies.Backup: "Backup and Restored",
    narrative.Entry: "Narrative and Entry",
    narrative.Narrative: "Narrative and Entry",
    recovery.Restored: "Backup and Restored",
    doxa.Standing: "doxa.Standing",
    items.Change: "Diff and Change",
    items.ClaimItem: "ClaimItem",
    items.Diff: "Diff and Change",
    items.SourceItem: "SourceItem",
    items.SupportItem: "SupportItem",
    log.Problem: "Report",
    reconcile.Cause: "Reconciliation, Outcome and Cause",
    reconcile.Outcome: "Reconciliation, Outcome and Cause",
    reconcile.Reconciliation: "Reconciliation, Outcome and Cause",
    registry.Judgement: "Judgement and doxa.Reason",
    why.Why: "Why",
    calibration.Calibration: "Calibration and HeldOut",
    calibration.HeldOut: "Calibration and HeldOut",
    doxa.Embedder: "doxa.Embedder",
    doxa.Endpoint: "doxa.Endpoint",
    doxa.Context: "doxa.Context",
    doxa.Guarded: "doxa.guard",
    doxa.Written: "doxa.Written",
    doxa.Recalled: "doxa.Recalled",
    drift.Drift: "Drift",
    shelving.Swept: "Swept and Maintenance",
    Maintenance: "Swept and Maintenance",
    **dict.fromkeys(
        (Contradiction, Dreams, Dreamt, Planned, Turned),
        "Dreams, Dreamt, Turned, Planned and Contradiction",
    ),
    envelope.Hit: "Hit",
    **dict.fromkeys(
        (
            *(envelope.Reference, envelope.Attribution, envelope.Missing, envelope.Withheld),
            *(envelope.Pool, envelope.Staleness, trust.Abstention),
        ),
        "Reference, Attribution, Missing, Withheld, Pool, Staleness and Abstention",
    ),
}
ERRORS = [name for name in doxa.__all__ if inspect.isclass(getattr(doxa, name))]
ERRORS = [name for name in ERRORS if issubclass(getattr(doxa, name), Exception)]


def sections() -> dict[str, str]:
    """The text below each heading, up to the next one."""
    parts = re.split(r"^##+ (.+)$", PAGE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections()


def spans(text: str) -> set[str]:
    """The words in code spans, without what is called with: ``as_dict()`` is ``as_dict``."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    found = re.findall(r"`([^`]+)`", prose)
    return {word for span in found for word in re.findall(r"[\w.]+", span.partition("(")[0])}


def public(owner: Any) -> set[str]:
    """The names that a class gives its users; of texts, tuples and the like, only its own."""
    inherited = {name for base in (str, tuple) if issubclass(owner, base) for name in dir(base)}
    names = {name for name in dir(owner) if name[0] != "_"} - inherited
    names |= set(getattr(owner, "__annotations__", {})) | set(getattr(owner, "_fields", ()))
    members = set(getattr(owner, "__members__", ()))
    return {name for name in names - members if name[0] != "_"}


def attributes(owner: type) -> Iterator[str]:
    """What an open ledger or a view of it has, whether of the class or of the object."""
    with doxa.open() as ledger:
        one = ledger if owner is doxa.Ledger else ledger.view(valid_at="2024-01-01")
        yield from (name for name in dir(one) if name[0] != "_")


def internal() -> set[str]:
    return spans(SECTIONS[INTERNAL])


def calls() -> list[str]:
    """All calls that are for users, as the page writes them."""
    found = ["doxa.open"]
    for handle in ("ledger", "view"):
        functions = inspect.getmembers(HANDLES[handle], inspect.isfunction)
        found += [f"{handle}.{name}" for name, _ in functions if name[0] != "_"]
    return [call for call in found if call not in internal()]


@pytest.mark.parametrize("name", doxa.__all__)
def test_every_name_of_doxa_stands_in_the_page(name: str) -> None:
    found = spans(PAGE) | set(SECTIONS)
    assert found & {f"doxa.{name}", name}, f"docs/python.md does not name doxa.{name}"


@pytest.mark.parametrize("handle", ["ledger", "view"])
def test_every_call_and_attribute_stands_in_the_page(handle: str) -> None:
    found = spans(PAGE) | set(SECTIONS)
    for name in attributes(HANDLES[handle]):
        assert f"{handle}.{name}" in found, (
            f"docs/python.md does not name {handle}.{name}: explain it, or list it under "
            f"'{INTERNAL}'"
        )


def test_what_the_page_names_is_there() -> None:
    there = {f"doxa.{name}" for name in doxa.__all__}
    there |= {"doxa.engine", "doxa.adapters.exchange", "doxa.adapters.exchange.export_events"}
    there |= {"doxa.adapters.embedders", "doxa.adapters.embedders.local"}
    there |= {"doxa.adapters.prov.why_to_prov"}
    there |= {"doxa.adapters.git", "doxa.adapters.graphrag", "doxa.adapters.markdown"}
    for handle in ("ledger", "view"):
        there |= {f"{handle}.{name}" for name in attributes(HANDLES[handle])}
    named = {
        name
        for name in spans(PAGE) | set(SECTIONS)
        if re.fullmatch(r"(doxa|ledger|view)\.[\w.]+", name)
    }
    lacking = {name for name in named - there if not is_adapter(name)}
    assert lacking == set(), "docs/python.md names what is not there"


def is_adapter(name: str) -> bool:
    """Whether a name is that of an adapter, which its own page explains."""
    return bool(re.fullmatch(r"doxa\.adapters\.\w+", name)) and find_spec(name) is not None


def test_nothing_internal_has_a_section_of_its_own() -> None:
    assert internal() & set(SECTIONS) == set()


@pytest.mark.parametrize("call", calls())
def test_each_call_has_a_section_with_its_signature_and_its_arguments(call: str) -> None:
    handle, _, name = call.partition(".")
    if handle == "ledger" and name[0] == "a" and hasattr(doxa.Ledger, name[1:]):
        assert call in spans(SECTIONS["Threads, processes and async"]), f"{call} is not listed"
        return
    assert call in SECTIONS, f"docs/python.md has no section '{call}'"
    text = SECTIONS[call]
    written = re.search(rf"```text\n{re.escape(call)}\((.*)\) -> .+\n```", text)
    assert written is not None, f"the section '{call}' shows no signature"
    real = inspect.signature(getattr(HANDLES[handle], name))
    wanted = [
        (p.name, p.kind, ... if p.default is UNSET else p.default)
        for p in real.parameters.values()
        if p.name not in ("self", "unknown")
    ]
    assert shown(written[1]) == wanted, f"{call} is {real}"
    known = spans(text) | spans(SECTIONS["Arguments that many calls share"])
    for argument, *_ in wanted:
        assert argument in known, f"the section '{call}' does not explain {argument}"


def shown(arguments: str) -> list[tuple[str, Any, Any]]:
    """A signature as it is written on the page: names, kinds and defaults."""
    function = ast.parse(f"def f({arguments}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    one = function.args
    missing: Any = inspect.Parameter.empty
    plain = [missing] * (len(one.args) - len(one.defaults)) + list(
        map(ast.literal_eval, one.defaults)
    )
    found: list[tuple[str, Any, Any]] = [
        (a.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
        for a, default in zip(one.args, plain, strict=True)
    ]
    for a, default in zip(one.kwonlyargs, one.kw_defaults, strict=True):
        filled = missing if default is None else ast.literal_eval(default)
        found.append((a.arg, inspect.Parameter.KEYWORD_ONLY, filled))
    if one.kwarg is not None:
        found.append((one.kwarg.arg, inspect.Parameter.VAR_KEYWORD, missing))
    return found


@pytest.mark.parametrize("owner", GIVEN_BACK, ids=lambda owner: owner.__name__)
def test_what_is_given_back_is_explained_to_the_last_attribute(owner: type) -> None:
    heading = GIVEN_BACK[owner]
    found = spans(SECTIONS[heading])
    for name in sorted(public(owner)):
        if f"{owner.__name__}.{name}" not in internal():
            assert name in found, (
                f"docs/python.md does not explain {owner.__name__}.{name} under '{heading}'"
            )


@pytest.mark.parametrize("kind", [doxa.Standing, doxa.Verdict], ids=lambda kind: kind.__name__)
def test_every_standing_and_verdict_stands_in_the_page(kind: Any) -> None:
    found = spans(SECTIONS[f"doxa.{kind.__name__}"])
    for one in kind:
        assert str(one) in found, f"docs/python.md does not name {one}, a {kind.__name__}"


def test_every_option_of_a_recall_stands_in_the_page() -> None:
    assert set(DEFAULTS) - spans(SECTIONS["ledger.recall"]) == set()


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_a_row_with_its_code_family_and_exit_code(name: str) -> None:
    error = getattr(doxa, name)
    family = error.__base__.__name__ if error is not doxa.DoxaError else ""
    first = f"| `{name}` | `{error.code}` | {f'`{family}` ' if family else ''}| "
    rows = [row for row in SECTIONS["Errors"].splitlines() if row.startswith(f"| `{name}` ")]
    assert rows, f"the table of errors in docs/python.md has no {name} ({error.code})"
    assert rows[0].startswith(f"{first}{failures._code(error.__new__(error))} | "), rows[0]


def test_a_name_that_the_page_lacks_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doxa.Ledger, "brand_new", lambda self: None, raising=False)
    with pytest.raises(AssertionError, match=r"ledger\.brand_new"):
        test_every_call_and_attribute_stands_in_the_page("ledger")
