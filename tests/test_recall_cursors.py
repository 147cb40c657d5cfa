"""Going on behind an answer: without a gap or a repeat, at the same view, for the same question."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.engine.cursors import Said, sealed
from tests.asked import Meanings, ask, ids, now, said, strict


def _filled(ledger: doxa.Ledger) -> None:
    """Nine documents in seven places: one conflict has three sides."""
    ledger.policy(single_valued="is")
    for number in range(6):
        said(ledger, f"a{number}", f"word {'more ' * number}")
    for id in "xyz":
        said(ledger, id, "word more more more", subject="one")


def _pages(ledger: doxa.Ledger, sizes: list[int], **options: Any) -> list[doxa.Recalled]:
    """All pages of an answer, the sizes taking turns."""
    pages = [ask(ledger, top_k=sizes[0], **options)]
    while pages[-1].cursor is not None:
        size = sizes[len(pages) % len(sizes)]
        pages.append(ask(ledger, top_k=size, cursor=pages[-1].cursor, **options))
    return pages


@pytest.mark.parametrize("sizes", [[1], [2], [3], [4], [5], [6], [7], [8], [1, 3], [4, 1, 2]])
@pytest.mark.parametrize("live", [True, False])
def test_pages_go_on_without_a_gap_or_a_repeat(
    ledger: doxa.Ledger, sizes: list[int], live: bool
) -> None:
    _filled(ledger)
    view = now(ledger) if live else now(ledger, known_at=ledger.revision)
    whole = ask(ledger, view=view, top_k=100)
    assert len(whole) == 9
    pages = _pages(ledger, sizes, view=view)
    assert [hit.as_dict() for page in pages for hit in page] == [hit.as_dict() for hit in whole]
    assert not any(page.reasons for page in pages)
    assert not any(page.abstained for page in pages[1:])  # whatever is on this one alone
    assert whole.cursor is None


def test_pages_go_on_in_the_order_of_trust_too() -> None:
    meanings: Meanings = {f"word {'more ' * number}": number / 10 for number in range(6)}
    with strict(meanings) as ledger:
        _filled(ledger)
        view = now(ledger)
        whole = ask(ledger, view=view, top_k=100)
        pages = _pages(ledger, [2], view=view)
        assert [hit.id for page in pages for hit in page] == ids(whole)
        assert [hit.verdict for page in pages for hit in page] == [hit.verdict for hit in whole]


@pytest.mark.parametrize("profile", [None, "validity"])
def test_pages_go_on_in_the_order_of_a_reranker_too(
    ledger: doxa.Ledger, profile: str | None
) -> None:
    _filled(ledger)

    def rerank(query: str, texts: list[str]) -> list[float]:
        return [float(len(text) % 4) + 1 for text in texts]

    view = now(ledger)
    options: dict[str, Any] = {"rerank": rerank, "profile": profile, "view": view}
    pages = _pages(ledger, [1, 2], **options)
    assert [hit.id for page in pages for hit in page] == ids(ask(ledger, top_k=50, **options))


def test_a_cursor_of_a_historical_view_goes_on_however_much_was_recorded_since(
    ledger: doxa.Ledger,
) -> None:
    _filled(ledger)
    revision = ledger.revision
    first = ask(ledger, view=now(ledger, known_at=revision), top_k=2)
    before = ask(ledger, view=now(ledger, known_at=revision), top_k=2, cursor=first.cursor)
    _grow(ledger)
    after = ask(ledger, view=now(ledger, known_at=revision), top_k=2, cursor=first.cursor)
    assert after.to_bytes() == before.to_bytes()


def _grow(ledger: doxa.Ledger) -> None:
    for number in range(5):
        said(ledger, f"later {number}", "word")


def test_a_cursor_of_a_live_view_is_refused_by_a_view_that_moved(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    view = now(ledger)
    first = ask(ledger, view=view, top_k=2)
    assert len(ask(ledger, top_k=2, cursor=first.cursor)) > 1  # nothing moved yet
    _grow(ledger)
    with pytest.raises(doxa.ViewMoved, match="out of date"):
        ask(ledger, top_k=2, cursor=first.cursor)
    with pytest.raises(doxa.ViewMoved):
        ask(ledger, top_k=2, cursor=first.cursor, view=now(ledger, known_at=view.revision))
    with pytest.raises(doxa.ViewMoved):
        ask(ledger, top_k=2, cursor=first.cursor, view=now(ledger, known_at=ledger.revision))


def test_a_cursor_goes_on_at_the_very_view_that_it_was_given_for(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    view = now(ledger)
    first = ask(ledger, top_k=2, view=view)
    before = ask(ledger, top_k=2, view=view, cursor=first.cursor)
    _grow(ledger)
    after = ask(ledger, top_k=2, view=view, cursor=first.cursor)
    assert after.to_bytes() == before.to_bytes()


def test_what_is_recorded_out_of_sight_moves_no_cursor(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    first = ask(ledger, top_k=2)
    before = ask(ledger, top_k=2, cursor=first.cursor)
    said(ledger, "elsewhere", "word", workspace="w")
    after = ask(ledger, top_k=2, cursor=first.cursor)
    assert [hit.as_dict() for hit in after] == [hit.as_dict() for hit in before]
    assert after.view["revision"] == ledger.revision
    ledger.policy(single_valued="has", workspace="w")
    assert ids(ask(ledger, top_k=2, cursor=after.cursor)) != ids(after)


def test_a_policy_of_all_moves_a_cursor_of_a_workspace_alone(ledger: doxa.Ledger) -> None:
    for id in "abc":
        said(ledger, id, "word", workspace="w", subject="one")
    first = ask(ledger, top_k=1, view=now(ledger, workspace="w", shared=False))
    said(ledger, "x", "word")
    alone = now(ledger, workspace="w", shared=False)
    assert ids(ask(ledger, top_k=1, view=alone, cursor=first.cursor)) == ["b"]
    ledger.policy(single_valued="is")
    alone = now(ledger, workspace="w", shared=False)
    with pytest.raises(doxa.ViewMoved):
        ask(ledger, top_k=1, view=alone, cursor=first.cursor)


def test_a_cursor_does_not_go_on_in_another_workspace(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    first = ask(ledger, top_k=2)
    with pytest.raises(doxa.CallerError, match="workspace"):
        ask(ledger, top_k=2, cursor=first.cursor, view=now(ledger, workspace="w"))


def test_a_cursor_of_another_view_is_refused(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    known = ledger.revision
    views: dict[str, dict[str, Any]] = {
        "valid_at": {"valid_at": "2024-07-02"},
        "perspective": {"perspective": ""},
        "shared": {"shared": False},
        "revision": {"known_at": known - 1},
    }
    first = ask(ledger, top_k=2, view=now(ledger, known_at=known))
    for name, other in views.items():
        view = now(ledger, **{"known_at": known, **other})
        with pytest.raises(doxa.CallerError, match=f"with another {name} "):
            ask(ledger, cursor=first.cursor, view=view)


@pytest.mark.parametrize(
    "other",
    [
        {"query": "more"},
        {"pool": 99},
        {"scan_limit": 50},
        {"now": "2024-01-01"},
        {"subject": "one"},
        {"standing": "any"},
        {"tier": "claim"},
        {"kind": "fact"},
        {"profile": "validity"},
        {"trust": "development"},
        {"rerank": lambda query, texts: [1.0] * len(texts)},
    ],
)
def test_a_cursor_of_another_request_is_refused(ledger: doxa.Ledger, other: dict[str, Any]) -> None:
    _filled(ledger)
    first = ask(ledger, top_k=2)
    options = {name: value for name, value in other.items() if name != "query"}
    with pytest.raises(doxa.CallerError, match="another request"):
        ask(ledger, other.get("query", "word"), cursor=first.cursor, **options)


def test_a_cursor_of_another_ledger_is_refused(ledger: doxa.Ledger, tmp_path: Path) -> None:
    with doxa.open(tmp_path) as other:
        _filled(other)
        cursor = ask(other, top_k=2).cursor
        _filled(ledger)
        with pytest.raises(doxa.CallerError, match="another ledger"):
            ask(ledger, cursor=cursor)
    with doxa.open(tmp_path) as again:
        assert len(ask(again, top_k=2, cursor=cursor)) > 1


def _opened(cursor: str | None) -> Said:
    assert cursor is not None
    return Said(*struct.unpack(">BB6s4s4sqQ8sI3s", base64.urlsafe_b64decode(cursor)[:-4]))


@pytest.mark.parametrize(
    "wrong",
    ["", "x", "é", "=", "e30", "bnVsbA", "W10", "A" * 5_000, 5, b"x", [], "\ud800", "\x00", " "],
)
def test_what_is_no_cursor_is_the_callers_mistake(ledger: doxa.Ledger, wrong: Any) -> None:
    _filled(ledger)
    with pytest.raises(doxa.CallerError, match="is no cursor; give that of the answer before"):
        ask(ledger, cursor=wrong)


def test_a_cursor_that_was_changed_is_refused(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    cursor = ask(ledger, top_k=2).cursor
    assert cursor is not None
    for place in range(0, len(cursor), 7):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        with pytest.raises(doxa.CallerError):
            ask(ledger, cursor=changed)
    for size in (0, 1, len(cursor) // 2, len(cursor) - 2):
        with pytest.raises(doxa.CallerError):
            ask(ledger, cursor=cursor[:size])


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"warmth": b"abc"},
        {"flags": 0},
        {"flags": 255},
        {"ledger": b"x" * 6},
        {"workspace": b"x" * 4},
        {"perspective": b"x" * 4},
        {"valid_at": 0},
        {"revision": 2**63},
        {"request": b"x" * 8},
    ],
)
def test_a_cursor_that_was_forged_with_its_seal_is_refused(
    ledger: doxa.Ledger, change: dict[str, Any]
) -> None:
    _filled(ledger)
    sound = _opened(ask(ledger, top_k=2).cursor)
    assert len(ask(ledger, top_k=2, cursor=sealed(sound))) > 1
    with pytest.raises((doxa.CallerError, doxa.ViewMoved)):
        ask(ledger, cursor=sealed(sound._replace(**change)))


def test_a_cursor_far_behind_the_end_finds_nothing_more(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    sound = _opened(ask(ledger, top_k=2).cursor)
    answer = ask(ledger, cursor=sealed(sound._replace(offset=2**32 - 1)))
    assert (ids(answer), answer.cursor) == ([], None)


def test_a_cursor_is_short_and_holds_nothing_of_what_was_recorded_or_asked(
    ledger: doxa.Ledger,
) -> None:
    _filled(ledger)
    asked = ask(ledger, "word more", top_k=2)
    cursor = asked.cursor
    assert cursor is not None
    assert len(cursor) == 68
    assert b"word" not in base64.urlsafe_b64decode(cursor)
    assert ask(ledger, "word more", top_k=2).cursor == cursor


def test_candidates_come_on_one_page(ledger: doxa.Ledger) -> None:
    _filled(ledger)
    cursor = ask(ledger, top_k=2).cursor
    with pytest.raises(doxa.CallerError, match="one page"):
        ask(ledger, cursor=cursor, candidates=[])
    given = [{"id": f"c{number}", "text": "t", "facts": ["a1"]} for number in range(4)]
    assert ask(ledger, candidates=given, top_k=2).cursor is None
