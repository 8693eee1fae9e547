"""Errors for people: one mistake is one line, however many entities it reaches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan
from orchestrator.registry import Registry

FABRIC = """name = "x"
duration = "1ms"
sample_interval = "10us"
fabric = { kind = "leaf-spine", leaves = 16, spines = 2, hosts = 32, rate = "10Gb/s" }

[templates.host]
reaction_point = { TABLE }

[nodes."{hosts}"]
like = "host"

[traffic.t]
plugin = "cbr"
from = "h1"
to = "h40"
rate = "1Gb/s"
"""
MISTAKES = {
    'plugin = "qcn-rp", gdd = 3': "unknown key 'gdd'",
    'plugin = "qcn-rp", min_rate = "0b/s"': "'0b/s' is not accepted",
    'plugn = "qcn-rp"': "reaction_point.plugin: missing",
}


@pytest.mark.parametrize("table", MISTAKES)
def test_a_mistake_in_the_template_of_a_fabric_is_one_line_with_a_count(
    tmp_path: Path, table: str
) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC.replace("TABLE", table))
    registry = Registry.load()
    with pytest.raises(BadInput) as caught:
        Plan.load(path, registry).check(registry)
    lines = [line for line in str(caught.value).splitlines() if MISTAKES[table] in line]
    assert len(lines) == 1
    assert re.search(r"fabric.toml:[79]: nodes.h1.reaction_point", lines[0])
    assert "(and the same of 511 more, nodes.h2." in lines[0]
    assert "to nodes.h512.reaction_point" in lines[0]
    assert len(caught.value.problems) >= 512


def test_other_lines_and_other_mistakes_keep_a_line_each() -> None:
    problems = [Problem(f"nodes.h{n}.rate", "x", "a rate is expected", f"f:{n}") for n in range(9)]
    problems.append(Problem("nodes.h3.rate", "y", "a rate is expected", "f:3"))
    text = str(BadInput("plan", problems))
    assert text.startswith("plan: 10 problems\n")
    assert len(text.splitlines()) == 11
    few = [Problem(f"nodes.h{n}.rate", "x", "a rate is expected", "f:3") for n in range(3)]
    assert len(str(BadInput("plan", few)).splitlines()) == 4
