"""Whatever is in a plan, it is a plan that can be written and read back, or bad input."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tests.shipped import FOLDER as SHIPPED

CALM = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["0B", "1ps", "1h", "9999Gb/s", "1GB", "60min", "sink", "switch", "nic1", 0]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


@pytest.fixture(scope="module", params=["full", "quickstart"])
def text(request: pytest.FixtureRequest, full: str) -> str:
    """Plans that the small catalog has all plugins of; tests/plans has the others."""
    return full if request.param == "full" else (SHIPPED / "quickstart.toml").read_text("utf-8")


def holds(make: Any, catalog: Any) -> None:
    """It is bad input, or a plan whose text gives the same plan."""
    try:
        plan = make()
    except BadInput:
        return
    assert Plan.load(plan.to_toml()) == plan
    plan.routes()
    try:
        resolved = plan.check(catalog)
    except BadInput:
        return
    assert Plan.load(resolved.plan.to_toml(), catalog) == resolved.plan


def places(table: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in the data."""
    items = table.items() if isinstance(table, dict) else enumerate(table)
    found = []
    for key, value in items:
        found.append((table, key))
        if isinstance(value, dict | list):
            found += places(value)
    return found


@CALM
@given(data=st.data())
def test_text_with_slips(text: str, catalog: Any, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        pieces = st.one_of(st.text(max_size=5), st.sampled_from(['"', "=", "]", "\n", "0", "s"]))
        text = text[:start] + data.draw(pieces) + text[end:]
    holds(lambda: Plan.load("\n" + text, catalog), catalog)


@CALM
@given(data=st.data())
def test_lines_lost_doubled_or_moved(text: str, catalog: Any, data: st.DataObject) -> None:
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(lines) - 1))
        line = lines[index] if data.draw(st.booleans()) else lines.pop(index)
        if data.draw(st.booleans()):
            lines.insert(data.draw(st.integers(0, len(lines))), line)
    holds(lambda: Plan.load("\n".join(["", *lines]), catalog), catalog)


@CALM
@given(data=st.data())
def test_values_and_keys_replaced(text: str, catalog: Any, data: st.DataObject) -> None:
    table = copy.deepcopy(tomllib.loads(text))
    for _ in range(data.draw(st.integers(1, 4))):
        found = places(table)
        container, key = data.draw(st.sampled_from(found)) if found else (table, "name")
        how = data.draw(st.sampled_from(["drop", "rename", "replace", "swap"]))
        if how == "replace":
            container[key] = data.draw(VALUES)
        elif how == "swap":
            other, place = data.draw(st.sampled_from(found))
            container[key] = copy.deepcopy(other[place])
        else:
            value = container.pop(key)
            if how == "rename" and isinstance(container, dict):
                container[data.draw(st.text(max_size=8))] = value
    holds(lambda: Plan(**table), catalog)


@CALM
@given(
    setting=st.one_of(
        st.text(max_size=30),
        st.builds(
            "{}={}".format,
            st.lists(
                st.sampled_from(
                    ["nodes", "switch", "ports", "sink", "links", "up1", "ends", "rate", "0", "",
                     "timeline", "congestion_point", "forwarding", "limiter", "capture", "x"]
                ),
                max_size=5,
            ).map(".".join),
            st.one_of(st.text(max_size=10), st.sampled_from(["1", "{}", "[]", "1Gb/s", "{a=1}"])),
        ),
    )
)  # fmt: skip
def test_settings(full: str, catalog: Any, setting: str) -> None:
    holds(lambda: Plan.load(full).with_settings([setting]), catalog)
