"""Every published case that this version reaches, as it is written, and the account of the rest.

What a case asks for beyond statements (several processes, frozen clocks, damaged files) is done in
`test_cases_by_hand`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa.adapters.exchange import export_events
from tests import test_cases_by_hand, test_projection_files, test_purging_cases
from tests.cases_names import Case, cases, prepared, shown_by

CASES = cases()

# Cases, or what a case says is to be done, that this version has no means for.
NOT_REACHED = {
    "C086": "there is no PostgreSQL recorder yet",
}
NOT_DONE: dict[str, str] = {}

CHECKED = {id: case for id, case in CASES.items() if case.checks}


BY_HAND = (
    shown_by(test_cases_by_hand) | shown_by(test_projection_files) | shown_by(test_purging_cases)
)


@pytest.mark.parametrize("case", CHECKED.values(), ids=CHECKED)
def test_the_case_has_the_right_answer(case: Case, tmp_path: Path) -> None:
    """Built as the case says; every check is true, the oracle agrees, and export loses nothing."""
    with prepared(case, tmp_path) as names:
        wrong = [check for check in case.checks if eval(check, names) is not True]
        assert not wrong, f"{case.id} ({case.symptom}): {case.text}\nnot so: " + "\n".join(wrong)
        ledger = names["ledger"]
        report = ledger.verify()
        assert report.ok, str(report)
        _survives_export(ledger, tmp_path)
        marks = _marks(ledger)
    with doxa.open(tmp_path / "case.doxa", create=False) as again:
        assert _marks(again) == marks


def _survives_export(ledger: doxa.Ledger, folder: Path) -> None:
    lines = list(export_events(ledger))
    with doxa.open(folder / "copy.doxa") as copy:
        report = copy.import_events(lines, strict=True)
        assert report.set_aside == ()
        assert list(export_events(copy)) == lines
        assert _marks(copy) == _marks(ledger)


def _marks(ledger: doxa.Ledger) -> list[str]:
    """Fingerprints here and there: equal lists for equal truth."""
    ends = {0, ledger.revision // 2, ledger.revision}
    known = []
    for k in sorted(ends):
        try:
            known.append(ledger.view(valid_at="2024-06-01", known_at=k))
        except doxa.CallerError:  # inside a commit
            continue
    return [view.fingerprint for view in known]


def test_every_case_is_run_or_named_as_out_of_reach() -> None:
    assert set(CASES) == set(CHECKED) | BY_HAND | set(NOT_REACHED)
    assert not set(NOT_REACHED) & (set(CHECKED) | BY_HAND)


def test_whatever_a_case_says_is_to_be_done_is_done_or_named_as_out_of_reach() -> None:
    to_do = {id for id, case in CASES.items() if "do" in case.input}
    assert to_do == BY_HAND | set(NOT_REACHED) | set(NOT_DONE)


def test_cases_are_found_by_all_of_their_inputs() -> None:
    known = {"data", "events", "file", "steps", "do"}
    assert {key for case in CASES.values() for key in case.input} <= known
