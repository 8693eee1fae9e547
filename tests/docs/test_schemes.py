"""What the tables of docs/schemes.md name exists."""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.registry import Registry

PAGE = (Path(__file__).parents[2] / "docs" / "schemes.md").read_text("utf-8")


def test_the_plugins_and_plans_of_its_tables_exist():
    registry = Registry.load()
    known = {algorithm.name for algorithm in registry.algorithms}
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("|")]
    schemes = [row for row in rows if len(row) == 5][2:]
    named = {
        name
        for row in schemes
        for cell in row[1:4]
        for name in re.findall(r"`([a-z0-9-]+)`", re.sub(r"preset `[^`]*`", "", cell))
    }
    assert len(schemes) >= 9
    assert named <= known
    plans = {
        name for row in rows if len(row) == 3 for name in re.findall(r"`([a-z0-9-]+)`", row[0])
    }
    assert len(plans) >= 10
    assert plans <= set(registry.plans())
