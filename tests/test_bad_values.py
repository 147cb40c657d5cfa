"""Texts, numbers and sizes that can't be kept, and arguments of the wrong type everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import pytest

import doxa
from doxa.engine.codec import encode
from doxa.engine.parse import parse
from tests.refusals import DAY, appending, claim, refused, told_ledger

MIB = 1 << 20


@pytest.fixture
def told() -> Iterator[doxa.Ledger]:
    with told_ledger() as ledger:
        yield ledger


# ---------------------------------------------------------------- texts, numbers, sizes

LONE = "\ud83d"
LABELS = {
    "empty": ("", "is empty"),
    "a line feed": ("two\nlines", "U+000A at 3"),
    "a null": ("nul\x00", "U+0000 at 3"),
    "an escape": ("\x1b[31mred", "U+001B at 0"),
    "a delete": ("a\x7f", "U+007F"),
    "a C1 control": ("a\x85b", "U+0085"),
    "a line separator": ("a\u2028b", "U+2028"),
    "a right-to-left override": ("invoice\u202etxt.exe", "U+202E at 7"),
    "an isolate": ("a\u2067b", "U+2067"),
    "an Arabic letter mark": ("a\u061cb", "U+061C"),
    "half of a pair": (f"a{LONE}", "U+D83D at 1, half of a surrogate pair"),
    "too long": ("v" * 1001, "1001 characters; a label has at most 1000"),
}
FIELDS: dict[str, Callable[[doxa.Ledger, str], object]] = {
    "subject": lambda on, bad: on.claim(bad, "p", 1),
    "predicate": lambda on, bad: on.claim("x", bad, 1),
    "kind": lambda on, bad: on.claim("x", "p", 1, kind=bad),
    "id": lambda on, bad: on.claim("x", "p", 1, id=bad),
    "source": lambda on, bad: on.claim("x", "p", 1, source=bad),
    "because": lambda on, bad: on.claim("x", "p", 1, because=[bad]),
    "target": lambda on, bad: on.withdraw(bad),
    "single_valued": lambda on, bad: on.policy(single_valued=bad) if bad else on.claim("", "p", 1),
    "subjects": lambda on, bad: on.summarize("t", binding="snapshot", selection=[bad]),
}


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_is_not_one_plain_line_is_refused(label: str, told: doxa.Ledger) -> None:
    bad, words = LABELS[label]
    for field in FIELDS.values():
        # the default binds the field of this turn, which the type checker takes for an argument
        refused(told, lambda on, field=field: field(on, bad), doxa.InvalidEvent, words)  # type: ignore[misc]
    if bad:  # the empty one is the shared workspace, and no perspective
        refused(told, lambda on: on.claim("x", "p", 1, workspace=bad), doxa.InvalidEvent, words)
        refused(told, lambda on: on.claim("x", "p", 1, perspective=bad), doxa.InvalidEvent, words)


@pytest.mark.parametrize(
    "label", ["ada", "Ада", "ada 🚀", "e\u0301", "नमस्ते", "\u200dzwj", "x" * 1000]
)
def test_a_label_of_any_script_is_kept_as_it_is(label: str, told: doxa.Ledger) -> None:
    told.claim(label, label, label, id=label, source=label)
    assert told.view(valid_at=DAY).value(label, label) == label


VALUES: dict[str, tuple[Any, str]] = {
    "nan": (float("nan"), "holds nan"),
    "infinity": (float("inf"), "holds inf"),
    "nan within": ({"a": [1, {"b": float("-inf")}]}, "holds -inf"),
    "bytes": (b"x", "of type bytes"),
    "a set": ({1}, "of type set"),
    "a date": (date(2024, 1, 1), "of type date"),
    "an object": (object(), "of type object"),
    "half of a pair": (LONE, "half of a surrogate pair"),
    "half of a pair in a key": ({LONE: 1}, "half of a surrogate pair"),
    "a key that is a number": ({1: 1}, "keys are text"),
    "a key that is None": ({None: 1}, "keys are text"),
    "nesting": (eval("[" * 102 + "]" * 102), "nested more than 100 deep"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_json_has_no_form_for_is_refused(name: str, told: doxa.Ledger) -> None:
    value, words = VALUES[name]
    refused(told, lambda on: on.claim("x", "p", value, source="s"), doxa.InvalidEvent, words)
    refused(told, lambda on: on.correct("a", value), doxa.InvalidEvent, words)


def test_a_value_that_contains_itself_is_refused(told: doxa.Ledger) -> None:
    ring: list[Any] = []
    ring.append(ring)
    refused(told, lambda on: on.claim("x", "p", ring, source="s"), doxa.InvalidEvent, "100 deep")


@pytest.mark.parametrize("value", [10**3900, -(2**200), 1e308, 5e-324, -0.0, [[[]]], {}, "", None])
def test_a_value_that_json_has_comes_back_the_same(value: Any, told: doxa.Ledger) -> None:
    id = told.claim("x", "p", value, source="s")
    view = told.view(valid_at=DAY)
    assert view.value("x", "p") == value
    assert type(view.claim(id).object) is type(value)
    assert told.verify().ok


def test_a_whole_number_too_long_to_be_read_back_is_refused(told: doxa.Ledger) -> None:
    refused(
        told,
        lambda on: on.claim("x", "p", 10**5000, source="s"),
        doxa.InvalidEvent,
        "at most 13,000",
    )


def test_a_payload_of_one_mebibyte_fits_and_one_byte_more_does_not(told: doxa.Ledger) -> None:
    def size(text: str) -> int:
        return sum(map(len, encode(parse(claim(id="big", object=text)))))

    text = "v" * (MIB - size(""))
    refused(
        told,
        lambda on: on.append([claim(id="big", object=text + "v")]),
        doxa.PayloadTooLarge,
        "'big'", "1,048,577 bytes", "the limit is 1,048,576", "keep large texts outside",
    )  # fmt: skip
    told.append([claim(id="big", object=text)])
    assert told.view(valid_at=DAY).claim("big").object == text
    assert told.verify().ok


def test_ten_megabytes_are_refused_wherever_they_are(told: doxa.Ledger) -> None:
    huge = "v" * 10_000_000
    for call in (
        lambda on: on.claim("x", "p", huge, source="s"),
        lambda on: on.claim("x", "p", 1, text=huge, source="s"),
        lambda on: on.claim("x", "p", 1, source=doxa.Source("s", quote=huge)),
        lambda on: on.withdraw("a", reason=huge),
        lambda on: on.summarize(huge, facts=["a"]),
        appending(claim(id="small"), claim(id="large", object=[huge])),
    ):
        refused(told, call, doxa.PayloadTooLarge, "the limit is 1,048,576")


# ---------------------------------------------------------------- types

WRONG: list[Any] = [
    None, 5, 1.5, True, b"x", [], ["a"], {}, {"a": 1}, object(), "", "two\nlines", "v" * 2000, LONE,
    datetime(2024, 1, 1), float("nan"), ("a",), {"a"}, lambda: 1,
]  # fmt: skip

# Each argument of each call, given something of a wrong type.
GIVEN: dict[str, Callable[[Any, Any], object]] = {
    "claim subject": lambda on, x: on.claim(x, "p", 1),
    "claim predicate": lambda on, x: on.claim("x", x, 1),
    "claim object": lambda on, x: on.claim("x", "p", x),
    "claim id": lambda on, x: on.claim("x", "p", 1, id=x),
    "claim text": lambda on, x: on.claim("x", "p", 1, text=x),
    "claim kind": lambda on, x: on.claim("x", "p", 1, kind=x),
    "claim perspective": lambda on, x: on.claim("x", "p", 1, perspective=x),
    "claim valid_from": lambda on, x: on.claim("x", "p", 1, valid_from=x),
    "claim valid_to": lambda on, x: on.claim("x", "p", 1, valid_to=x),
    "claim valid_until": lambda on, x: on.claim("x", "p", 1, valid_until=x),
    "claim source": lambda on, x: on.claim("x", "p", 1, source=x),
    "claim source id": lambda on, x: on.claim("x", "p", 1, source=doxa.Source(x)),
    "claim source quote": lambda on, x: on.claim("x", "p", 1, source=doxa.Source("s", quote=x)),
    "claim observed_at": lambda on, x: on.claim(
        "x", "p", 1, source=doxa.Source("s", observed_at=x)
    ),
    "claim because": lambda on, x: on.claim("x", "p", 1, because=x),
    "claim one of because": lambda on, x: on.claim("x", "p", 1, because=[x]),
    "claim workspace": lambda on, x: on.claim("x", "p", 1, workspace=x),
    "claim recorded_at": lambda on, x: on.claim("x", "p", 1, recorded_at=x),
    "support claim": lambda on, x: on.support(x, source="s"),
    "support stance": lambda on, x: on.support("a", source="s", stance=x),
    "withdraw target": lambda on, x: on.withdraw(x),
    "withdraw source": lambda on, x: on.withdraw(doxa.Source(x)),
    "withdraw reason": lambda on, x: on.withdraw("a", reason=x),
    "withdraw asked by": lambda on, x: on.withdraw("a", source=x),
    "correct claim": lambda on, x: on.correct(x, 3),
    "correct claim by": lambda on, x: on.correct(x, by="b"),
    "correct by": lambda on, x: on.correct("a", by=x),
    "correct workspace": lambda on, x: on.correct("a", 3, workspace=x),
    "cite text": lambda on, x: on.cite(x, claim="a"),
    "cite claim": lambda on, x: on.cite("t", claim=x),
    "cite source": lambda on, x: on.cite("t", claim="a", source=x),
    "cite supports": lambda on, x: on.cite("t", supports=x),
    "cite sources": lambda on, x: on.cite("t", claim="a", sources=x),
    "cite binding": lambda on, x: on.cite("t", claim="a", binding=x),
    "cite workspace": lambda on, x: on.cite("t", claim="a", workspace=x),
    "cite selection": lambda on, x: on.cite("t", claim="a", binding="snapshot", selection=x),
    "cite view": lambda on, x: on.cite("t", claim="a", view=x),
    "summarize facts": lambda on, x: on.summarize("t", facts=x),
    "summarize citations": lambda on, x: on.summarize("t", citations=x),
    "policy single_valued": lambda on, x: on.policy(single_valued=x),
    "policy contradicts": lambda on, x: on.policy(contradicts=x),
    "policy verified": lambda on, x: on.policy(verified=x),
    "policy pinned": lambda on, x: on.policy(pinned=x),
    "policy calibrated": lambda on, x: on.policy(calibrated=x),
    "policy embedder": lambda on, x: on.policy(calibrated={"embedder": x}),
    "pin": lambda on, x: on.pin(x),
    "pin in a dry run": lambda on, x: on.pin(x, dry_run=True),
    "verify_claim": lambda on, x: on.verify_claim(x),
    "claim recall_when": lambda on, x: on.claim("x", "p", 1, recall_when=x),
    "claim one of recall_when": lambda on, x: on.claim("x", "p", 1, recall_when=[x]),
    "append": lambda on, x: on.append(x),
    "append event": lambda on, x: on.append([x]),
    "append kind": lambda on, x: on.append([{"event": x}]),
    "append key": lambda on, x: on.append([claim(**{"object": 1}) | {_key(x): 1}]),
    "append expected": lambda on, x: on.append([claim()], expected_revision=x),
    "import": lambda on, x: on.import_events([x] if isinstance(x, str) else x),
    "import line": lambda on, x: on.import_events([x]),
    "view valid_at": lambda on, x: on.view(valid_at=x),
    "view known_at": lambda on, x: on.view(valid_at=DAY, known_at=x),
    "view workspace": lambda on, x: on.view(valid_at=DAY, workspace=x),
    "view perspective": lambda on, x: on.view(valid_at=DAY, perspective=x),
    "view shared": lambda on, x: on.view(valid_at=DAY, shared=x),
    "value subject": lambda on, x: on.view(valid_at=DAY).value(x, "p"),
    "value predicate": lambda on, x: on.view(valid_at=DAY).value("a", x),
    "values": lambda on, x: on.view(valid_at=DAY).values(x, x),
    "claims subject": lambda on, x: on.view(valid_at=DAY).claims(subject=x),
    "claims predicate": lambda on, x: on.view(valid_at=DAY).claims(predicate=x),
    "claims standing": lambda on, x: on.view(valid_at=DAY).claims(standing=x),
    "claims kind": lambda on, x: on.view(valid_at=DAY).claims(kind=x),
    "standing": lambda on, x: on.view(valid_at=DAY).standing(x),
    "supports": lambda on, x: on.view(valid_at=DAY).supports(x),
    "successors": lambda on, x: on.view(valid_at=DAY).successors(x),
    "why": lambda on, x: str(on.view(valid_at=DAY).why(x)),
    "diff": lambda on, x: on.view(valid_at=DAY).diff(x),
    "fingerprint_of": lambda on, x: on.view(valid_at=DAY).fingerprint_of(x),
    "history subject": lambda on, x: on.history(x, "p", valid_at=DAY),
    "history valid_at": lambda on, x: on.history("a", "p", valid_at=x),
    "judge ids": lambda on, x: on.judge(x, on.view(valid_at=DAY)),
    "judge view": lambda on, x: on.judge(["a"], x),
    "reconcile view": lambda on, x: on.reconcile(x),
    "reconcile since": lambda on, x: on.reconcile(on.view(valid_at=DAY), since=x),
    "moved": lambda on, x: on.moved(x),
    "workspace_revision": lambda on, x: on.workspace_revision(x),
    "assemble query": lambda on, x: on.assemble(x, view=on.view(valid_at=DAY), budget=9),
    "assemble view": lambda on, x: on.assemble("q", view=x, budget=9),
    "assemble candidates": lambda on, x: _assembled(on, candidates=x),
    "assemble candidate": lambda on, x: _assembled(on, candidates=[x]),
    "assemble budget": lambda on, x: _assembled(on, budget=x),
    "assemble count": lambda on, x: _assembled(on, count=x),
    "assemble top_k": lambda on, x: _assembled(on, top_k=x),
    "replay": lambda on, x: on.replay(x),
}


def _key(value: Any) -> Any:
    return value if value.__hash__ else 1


def _assembled(ledger: Any, **options: Any) -> object:
    return ledger.assemble("q", view=ledger.view(valid_at=DAY), **{"budget": 9, **options})


@pytest.mark.parametrize("name", GIVEN)
def test_an_argument_of_a_wrong_type_raises_our_errors_alone(name: str, told: doxa.Ledger) -> None:
    """Some of these are acceptable here or there; what is not is refused, never half accepted."""
    for wrong in WRONG:
        before = told.revision
        try:
            GIVEN[name](told, wrong)
        except doxa.DoxaError as error:
            message = str(error)
            message.encode()  # it can be printed
            assert 10 < len(message) < 2100, message
            assert told.revision == before
    assert told.verify().ok


def test_a_text_is_never_taken_for_the_list_of_its_letters(told: doxa.Ledger) -> None:
    view = told.view(valid_at=DAY)
    for call in (
        lambda on: on.claim("x", "p", 1, because="abc"),
        lambda on: on.cite("t", supports="abc"),
        lambda on: on.cite("t", claim="a", facts="abc"),
        lambda on: on.cite("t", claim="a", sources="st"),
        lambda on: on.cite("t", claim="a", binding="snapshot", selection="abc"),
        lambda on: on.policy(contradicts="abc"),
        lambda on: on.append("abc"),
        lambda on: view.fingerprint_of("abc"),
    ):
        refused(told, call, doxa.CallerError, "give a list")
    assert [judged.id for judged in told.judge("a", view)] == ["a"]


TEXTLESS: list[Any] = [5, b"w", ["w"], True]
UNDECIDED: list[Any] = [None, 0, "no", []]
SEEN: list[tuple[str, Any, str]] = [
    ("workspace", None, "give text"),
    *(("workspace", wrong, "give text") for wrong in TEXTLESS),
    *(("perspective", wrong, "give text") for wrong in TEXTLESS),
    *(("shared", wrong, "give True or False") for wrong in UNDECIDED),
]


@pytest.mark.parametrize(("option", "wrong", "words"), SEEN)
def test_what_a_view_sees_is_never_guessed(
    option: str, wrong: Any, words: str, told: doxa.Ledger
) -> None:
    options: dict[str, Any] = {option: wrong}
    refused(told, lambda on: on.view(valid_at=DAY, **options), doxa.CallerError, option, words)
