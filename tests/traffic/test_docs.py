"""The examples of docs/traffic.md are plans that can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry

TEXT = (Path(__file__).parents[2] / "docs" / "traffic.md").read_text(encoding="utf-8")
BASE, *EXAMPLES = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("]")[0].split("[")[-1])
def test_an_example_goes_into_the_plan_it_is_meant_for(example: str) -> None:
    first, _, rest = example.partition("\n")
    top = first if first.startswith("target") else ""
    plan = Plan.load(f"{top}\n{BASE}\n{rest if top else example}")
    assert plan.check(Registry.load()).uses["traffic"]


def test_every_source_and_transport_that_is_shipped_has_an_example() -> None:
    mine = {
        a.name
        for a in Registry.load().algorithms
        if a.kind in ("traffic", "transport") and a.origin.startswith("tailback")
    }
    shown = set(re.findall(r'plugin = "([a-z-]+)"', "".join(EXAMPLES)))
    assert mine <= shown | {"trace"}  # that one needs a file, and has a page of its own
