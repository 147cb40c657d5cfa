"""The published cases about erasure, done by hand."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.engine.keyed import Keyed
from doxa.engine.log import commitment
from doxa.ledger import Ledger
from tests.cases_names import shows


def purge(ledger: Ledger, id: str) -> None:
    ledger.archive(id)
    ledger.purge(id)


@shows("C092")
def test_an_equal_value_elsewhere_stays_readable() -> None:
    with doxa.open() as ledger:
        for id, subject, value, month in (
            ("a", "x", "secret", "01"),
            ("b", "x", "other", "02"),
            ("c", "y", "secret", "03"),
        ):
            ledger.claim(
                subject,
                "p",
                value,
                id=id,
                source={"id": f"s{id}", "quote": "the secret"},
                valid_from=f"2024-{month}-01",
                valid_until=f"2024-{month}-28",
            )
        purge(ledger, "a")
        march = ledger.view(valid_at="2024-03-15")
        assert march.values("y", "p") == ("secret",)
        assert march.standing("a") == "redacted"
        (quote,) = ledger.recall("secret", view=march, tier="quote").hits
        assert (quote.id, quote.said) == ("c/support", "the secret")
        assert ledger.verify().ok


@shows("C094")
def test_a_file_that_is_imported_again_brings_nothing_back(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        ledger.claim("x", "p", "secret", id="a", source="s")
        file = tmp_path / "old.jsonl"
        file.write_text("\n".join(export_events(ledger)))
        purge(ledger, "a")
        report = ledger.import_events(file)
        assert report.events == 0
        assert "'a' was erased here" in str(report)
        view = ledger.view(valid_at="2024-06-01")
        assert view.standing("a") == "redacted"
        ledger.claim("x", "p", "secret", id="b", source="s")
        assert ledger.view(valid_at="2024-06-01").value("x", "p") == "secret"


@shows("C095")
def test_the_content_of_an_erased_event_can_not_be_found_by_guessing(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        for number in range(10):
            ledger.claim("x", "p", number, id=f"c{number}", source="s")
        purge(ledger, "c4")
        ledger.index()
        report = ledger.verify()
        assert report.ok, str(report)
        assert report.erased == 1
        keyed = ledger.recorder.keyed
        salts = [
            row[0]
            for row in ledger.recorder._readers.select("SELECT salt FROM log WHERE salt NOT NULL")
        ]
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    # what can be found by such digests is: the subject, which questions are recognised by
    assert keyed.digest("subject", "x").encode() in held
    assert b'{"subject":"x","predicate":"p","object":3}' in held
    for value in range(10):
        data = b'{"subject":"x","predicate":"p","object":%d}' % value
        for text in (data, str(value).encode()):
            guesses = [
                hashlib.sha256(text).digest(),
                hashlib.blake2b(text, digest_size=32).digest(),
                *(_keyed(keyed, label, text) for label in ("object", "value", "rejected", "")),
                *(commitment(salt, text) for salt in salts),
                commitment(keyed.secret[:16], text),
            ]
            for guess in guesses:
                assert guess not in held, value
                assert guess.hex().encode() not in held, value
    assert b'"object":4}' not in held


def _keyed(keyed: Keyed, label: str, text: bytes) -> bytes:
    return bytes.fromhex(keyed.digest(label, text.decode()))


@shows("C101")
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_rebuilt_from_the_log_is_what_was_live(tmp_path: Path, times: int) -> None:
    def noted(ledger: Ledger) -> list[object]:
        found: list[object] = []
        for k in ledger._stream.capture()[0].belief.graph.commit_last:
            view = ledger.view(valid_at="2024-06-01", known_at=k)
            found.append((view.fingerprint, [str(view.standing(id)) for id in "abcdef"]))
        live = ledger.view(valid_at="2024-06-01")
        hits = ledger.recall("said", view=live, top_k=20).hits
        rows = ledger.sql("SELECT claim, standing, known_to FROM beliefs ORDER BY ALL").rows
        return [
            *found,
            [hit.id for hit in hits],
            [one["archived"] for one in ledger.usage("d")],
            rows,
        ]

    with doxa.open(tmp_path) as ledger:
        for id in "abcdef":
            ledger.claim(f"of {id}", "said", id, id=id, source="s")
        ledger.withdraw("b", id="w")
        ledger.correct("c", "corrected", id="k")
        ledger.archive("d")
        purge(ledger, "e")
        before = noted(ledger)
    for _ in range(times):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        with doxa.open(tmp_path) as ledger:
            assert noted(ledger) == before
            assert ledger.verify().ok
