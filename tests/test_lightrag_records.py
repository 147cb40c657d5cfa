"""What a model answered LightRAG, read record by record."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.adapters.lightrag.names import cleaned, cleaned_name, cleaned_type
from doxa.adapters.lightrag.records import Debris, Entity, Relation, extracted

ANN = Entity("Ann", "person", "Ann is the CEO.")
LEADS = Relation("Ann", "Acme", "Ann leads Acme.")


@pytest.mark.parametrize(
    "answer",
    [
        "entity<|#|>Ann<|#|>person<|#|>Ann is the CEO.\n<|COMPLETE|>",
        "entity<|#|>Ann<|#|>Person<|#|>Ann is the CEO.",
        '  entity<|#|>"Ann"<|#|> person <|#|> Ann is the CEO. <|complete|>',
        "entity<#>Ann<|#>person<||#||>Ann is the CEO.",
        "entity<|##|>Ann<|\\#|>person|#|>Ann is the CEO.",
        "entity<|#|>Ann<|#|>person,boss<|#|>Ann is the CEO.\n"
        "entity<|#|>Ann<|#|>person<|#|>Ann is the CEO.",
        '```json\n{"entities": [{"name": "Ann", "type": "Person",'
        ' "description": "Ann is the CEO."}]}\n```',
    ],
)
def test_an_entity_is_read_however_it_is_spelt(answer: str) -> None:
    assert extracted(answer) == [ANN]


@pytest.mark.parametrize(
    "answer",
    [
        "relation<|#|>Ann<|#|>Acme<|#|>leads,ceo<|#|>Ann leads Acme.",
        "relationship<|#|>Ann<|#|>Acme<|#|>leads<|#|>Ann leads Acme.",
        "entity<|#|>Ann<|#|>Acme<|#|>leads<|#|>Ann leads Acme.",
        json.dumps(
            {
                "entities": [],
                "relationships": [
                    {"source": "Ann", "target": "Acme", "description": "Ann leads Acme."}
                ],
            }
        ),
    ],
)
def test_a_relation_is_read_however_it_is_spelt(answer: str) -> None:
    assert extracted(answer) == [LEADS]


def test_records_on_one_line_are_taken_apart() -> None:
    line = (
        "entity<|#|>Ann<|#|>person<|#|>Ann is the CEO.<|#|>relation<|#|>Ann<|#|>Acme<|#|>leads<|#|>"
        "Ann leads Acme."
    )
    assert extracted(line) == [ANN, LEADS]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("entity<|#|>Ann<|#|>person", "has 3 of the 4 fields of an entity"),
        ("relation<|#|>Ann<|#|>Acme", "has 3 of the 5 fields of a relation"),
        ("entity<|#|>12<|#|>person<|#|>x", "the entity has no name that counts"),
        ("entity<|#|>Ann<|#|>(person)<|#|>x", "the entity has no type that counts"),
        ("entity<|#|>Ann<|#|>__proto__<|#|>x", "the entity has no type that counts"),
        ("entity<|#|>Ann<|#|>person<|#|>''", "the entity has no description that counts"),
        ("relation<|#|>Ann<|#|>'Ann'<|#|>x<|#|>y", "the relation leads from an entity to itself"),
        ("relation<|#|>1.2<|#|>Ann<|#|>x<|#|>y", "the relation has no source that counts"),
        ('{"entities": 7}', "entities is no list"),
        ('{"entities": ["Ann"]}', "is no object in entities"),
        ('{"entities": [{}]}', "the entity has no name that counts"),
    ],
)
def test_what_is_no_record_says_why(answer: str, reason: str) -> None:
    (found,) = extracted(answer)
    assert isinstance(found, Debris)
    assert found.reason == reason


def test_json_that_can_not_be_read_is_debris() -> None:
    for answer in ('{"entities": [{"name": "Ann"', "[1, 2]", "{" * 2_000):
        assert all(isinstance(each, Debris) for each in extracted(answer))


def test_names_are_cleaned_and_cut_as_lightrag_does() -> None:
    assert cleaned("“Ann” said", name=True) == "Ann said"
    assert cleaned("“Ann”") == "Ann"
    assert cleaned("张 三 a", name=True) == "张三a"
    assert cleaned("\uff21\uff43\uff4d\uff45\uff08\uff11\uff09") == "Acme(1)"
    assert cleaned("&lt;b&gt;<br>\x07\ud800") == "<b>"
    assert len(cleaned_name("x" * 300)) == 256
    assert len(cleaned_name("张" * 300).encode()) <= 512
    assert cleaned_type("Natural Object") == "naturalobject"


@given(st.text())
def test_any_answer_is_read_and_nothing_of_it_is_empty(answer: str) -> None:
    for record in extracted(answer):
        assert all(record)
        assert not isinstance(record, Relation) or record.source != record.target
