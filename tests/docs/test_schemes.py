"""What the tables of docs/schemes.md name exists."""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.plan import Plan
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


def test_where_each_is_met_has_every_plan_over_a_transport():
    registry = Registry.load()
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("|")]
    told = {
        name
        for row in rows
        if len(row) == 6
        for name in re.findall(r"`([a-z0-9-]+)`", row[1])
        if row[1].strip().startswith("`")
    }
    told -= {"fullest"}  # which the page on algorithms has
    assert told <= set(registry.plans())
    carried = {
        name
        for name, path in registry.plans().items()
        if "shootout" not in name
        and name not in ("all-reduce", "ack-priority", "packet-faults", "burst-loss")  # no schemes
        and any(
            entry.transport is not None
            and entry.transport.plugin in ("go-back-n", "selective", "credit")
            for entry in Plan.load(path, registry).traffic.values()
        )
    }
    assert len(carried) >= 8
    assert carried <= told
