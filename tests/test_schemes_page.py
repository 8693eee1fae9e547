"""What docs/schemes.md shows works as it stands there, and what it names exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from orchestrator.plan import Plan
from orchestrator.registry import Registry

PAGE = (Path(__file__).parent.parent / "docs" / "schemes.md").read_text("utf-8")


def test_the_plan_is_a_plan():
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.S | re.M)
    table = tomllib.loads(text) | {
        "name": "page",
        "duration": "1ms",
        "links": {
            "up{1..4}": {"ends": ["h{}", "switch"], "rate": "1Gb/s"},
            "down": {"ends": ["switch", "sink"], "rate": "1Gb/s"},
        },
        "traffic": {"f": {"plugin": "cbr", "from": "h{1..4}", "to": "sink"}},
    }
    resolved = Plan(**table).check(Registry.load())
    assert resolved.use("notification_point", "sink") is not None


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
