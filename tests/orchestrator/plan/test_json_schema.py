"""The JSON Schema of plans: a schema, and one that shipped plans meet and slips do not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.plan.json_schema import plan_schema

PLANS = Path(__file__).parents[3] / "plugins" / "plans"


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    Draft202012Validator.check_schema(plan_schema())
    return Draft202012Validator(plan_schema())


@pytest.mark.parametrize("path", sorted(PLANS.rglob("*.toml")), ids=lambda path: path.stem)
def test_shipped_plans_meet_it(schema: Draft202012Validator, path: Path) -> None:
    schema.validate(tomllib.loads(path.read_text("utf-8")))


@pytest.mark.parametrize(
    "slip",
    [
        {"durration": "1s"},
        {"duration": "1 hour"},
        {"nodes": {"a": {"kind": "swich"}}},
        {"nodes": {"a": {"kind": "switch", "bufer": "1KB"}}},
        {"links": {"l": {"rate": 7}}},
        {"links": {"l": {"ends": ["a"]}}},
        {"traffic": {"f": {"pairing": "some"}}},
        {"expect": [{"source": "nobody"}]},
        {"scale": []},
    ],
)
def test_slips_do_not(schema: Draft202012Validator, slip: dict[str, Any]) -> None:
    assert not schema.is_valid(slip)


def test_an_editor_is_told_what_a_key_means() -> None:
    table = plan_schema()["$defs"]["Nic"]["properties"]["reaction_time"]
    assert "limiter acts on it" in table["description"]
    assert plan_schema()["$defs"]["Switch"]["properties"]["buffer"]["default"] == "150KB"
