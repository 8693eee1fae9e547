"""Indented JSON is that of the standard library, to the character."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.run import json_pretty

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
FINITE = PLAIN.filter(lambda value: value not in (float("inf"), float("-inf")))
VALUES = st.recursive(
    FINITE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_it_is_what_the_standard_library_writes(value: Any) -> None:
    assert json_pretty.pretty_json(value) == json.dumps(value, indent=2)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {"b": [float("nan")]}}])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_pretty.pretty_json(value)


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_pretty.pretty_json({"a": {"b": object()}})
