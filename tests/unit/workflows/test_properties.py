"""Properties: what they may say, and the values they take."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows import Property, PropertyType, check_value, read_properties
from comfyfleet.workflows.properties import EXACT_MAX, SEED_MAX

HERE = {"node": "1", "input_name": "x"}


def prop(kind: str, **said: Any) -> Property:
    return Property.from_json({"name": "p", "type": kind, **HERE, **said})


@pytest.mark.parametrize(
    ("kind", "said", "value", "problem"),
    [
        ("text", {}, 5, "must be text"),
        ("text", {}, "a\x00b", "NUL"),
        ("text", {}, "\ud800", "half a character"),
        ("text", {}, "x" * 200_001, "more than 200000 characters"),
        ("boolean", {}, 1, "true or false"),
        ("boolean", {}, "true", "true or false"),
        ("integer", {}, 1.5, "whole number"),
        ("integer", {}, True, "must be a number"),
        ("integer", {}, "1", "must be a number"),
        ("integer", {"minimum": 1, "maximum": 50}, 51, "must be from 1 to 50"),
        ("integer", {}, 2**53, "must be from"),
        ("number", {"minimum": 0, "maximum": 1}, 1.01, "must be from 0 to 1"),
        ("number", {}, math.nan, "that JSON has"),
        ("number", {}, math.inf, "that JSON has"),
        ("number", {}, 10**400, "must be from"),
        ("seed", {}, -1, "must be from 0"),
        ("seed", {}, SEED_MAX + 1, "must be from 0"),
        # As a float, the largest seed is one more than it is.
        ("seed", {"maximum": float(SEED_MAX)}, SEED_MAX + 1, "must be from 0"),
        ("choice", {"choices": ["euler", "ddim"]}, "heun", "must be one of 'euler', 'ddim'"),
        ("choice", {"choices": [1, 2]}, True, "must be one of 1, 2"),
        ("image", {}, "cat.png", "name it by its id"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_field(kind: str, said: Any, value: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as refused:
        check_value(prop(kind, **said), value, where="properties.p")
    assert refused.value.facts["field"] == "properties.p"


@pytest.mark.parametrize(
    ("kind", "said", "value", "taken"),
    [
        ("text", {}, "", ""),
        ("integer", {}, 3.0, 3),
        ("integer", {}, -EXACT_MAX, -EXACT_MAX),
        ("number", {"minimum": 0}, 0, 0),
        ("seed", {}, SEED_MAX, SEED_MAX),
        ("choice", {"choices": [1, "1"]}, "1", "1"),
        ("boolean", {}, False, False),
    ],
)
def test_a_value_that_fits_is_taken_with_its_type(kind: str, said: Any, value: Any, taken: Any) -> None:
    found = check_value(prop(kind, **said), value, where="p")
    assert (found, type(found)) == (taken, type(taken))


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"type": "colour"}, "properties[0].type"),
        ({"name": ""}, "properties[0].name"),
        ({"name": "1st"}, "properties[0].name"),
        ({"name": 5}, "properties[0].name"),
        ({"surprise": 1}, "properties[0].surprise"),
        ({"label": 5}, "properties[0].label"),
        ({"label": "x" * 201}, "properties[0].label"),
        ({"required": "yes"}, "properties[0].required"),
        ({"minimum": "1"}, "properties[0].minimum"),
        ({"minimum": math.inf}, "properties[0].minimum"),
        ({"minimum": 2, "maximum": 1}, "properties[0].minimum"),
        ({"type": "choice"}, "properties[0].choices"),
        ({"type": "choice", "choices": [["a"]]}, "properties[0].choices"),
        ({"type": "choice", "choices": "abc"}, "properties[0].choices"),
        ({"type": "choice", "choices": ["a\x00"]}, "properties[0].choices"),
        ({"choices": ["a"]}, "properties[0].choices"),
        ({"default": "ten"}, "properties[0].default"),
        ({"type": "image", "default": 5}, "properties[0].default"),
        ({"is_primary_input": True}, "properties[0].is_primary_input"),
        ({"node": None}, "properties[0]"),
        ({"placeholder": "p"}, "properties[0]"),
        ({"node": None, "input_name": None}, "properties[0]"),
    ],
)
def test_what_is_no_property_is_refused_with_its_field(said: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_properties([{"name": "p", "type": "number", **HERE, **said}])
    assert refused.value.facts["field"] == field


def test_properties_do_not_share_a_name_a_place_or_the_primary_input() -> None:
    one = {"name": "a", "type": "image", **HERE}
    for other in ({**one, "input_name": "y"}, {**one, "name": "b"}):
        with pytest.raises(InvalidInput, match="twice"):
            read_properties([one, other])
    with pytest.raises(InvalidInput, match="primary"):
        read_properties(
            [{**one, "is_primary_input": True}, {**one, "name": "b", "node": "2", "is_primary_input": True}]
        )
    with pytest.raises(InvalidInput, match="more than 200"):
        read_properties([{**one, "name": f"p{number}", "node": str(number)} for number in range(201)])


@given(
    kind=st.sampled_from(PropertyType),
    said=st.fixed_dictionaries(
        {},
        optional={
            "label": st.text(max_size=20),
            "default": st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            "minimum": st.none() | st.integers(-10, 10) | st.floats(),
            "choices": st.none() | st.lists(st.text(max_size=3) | st.integers(-3, 3), max_size=3),
            "required": st.booleans(),
        },
    ),
)
def test_what_was_read_is_read_again_the_same(kind: PropertyType, said: dict[str, Any]) -> None:
    try:
        made = prop(kind.value, **said)
    except InvalidInput:
        return
    assert Property.from_json(made.as_json()) == made
