"""The dashboard: its model, its grid, and queries that name metrics which exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.cli import main
from orchestrator.metrics_export.family_listing import all_families
from orchestrator.metrics_export.grafana_dashboard import (
    COLUMNS,
    VARIABLES,
    dashboard,
    expression,
    grafana_unit,
)
from orchestrator.registry import Registry

NAMES = re.compile(r"\btailback_[a-z0-9_]+")
UNITS = {"decbytes", "Bps", "s", "hertz", "percentunit", "short", "cps"}
"""Identifiers of units that Grafana has."""
PANELS = {"row", "timeseries", "state-timeline", "table"}
TYPES: dict[str, type | tuple[type, ...]] = {
    "uid": str, "title": str, "tags": list, "schemaVersion": int, "version": int, "panels": list,
    "templating": dict, "time": dict, "annotations": dict, "refresh": str, "editable": bool,
}  # fmt: skip
"""Fields of the dashboard's model and their types."""

Json = dict[str, Any]


@pytest.fixture
def made() -> Json:
    return dashboard(Registry.load().algorithms)


def panels(board: Json) -> list[Json]:
    """All panels, rows and what collapsed rows hold."""
    found = []
    for panel in board["panels"]:
        found += [panel, *panel.get("panels", [])]
    return found


def expressions(board: Json) -> list[str]:
    return [target["expr"] for panel in panels(board) for target in panel.get("targets", [])]


def overlap(a: Json, b: Json) -> bool:
    x, y = a["gridPos"], b["gridPos"]
    return (
        x["x"] < y["x"] + y["w"]
        and y["x"] < x["x"] + x["w"]
        and x["y"] < y["y"] + y["h"]
        and y["y"] < x["y"] + x["h"]
    )


def problems(board: Json) -> list[str]:
    """Faults of a dashboard by the rules of Grafana's model."""
    wrong = [
        f"{name} is no {kind}" for name, kind in TYPES.items() if not isinstance(board[name], kind)
    ]
    every = panels(board)
    numbers = [panel["id"] for panel in every]
    if len(set(numbers)) != len(numbers):
        wrong.append("numbers of panels repeat")
    for panel in every:
        grid = panel["gridPos"]
        if grid["x"] < 0 or grid["x"] + grid["w"] > COLUMNS or min(grid["w"], grid["h"]) < 1:
            wrong.append(f"{panel['title']} leaves the grid")
        if panel["type"] not in PANELS:
            wrong.append(f"{panel['title']} is of no type of panel")
        if panel["type"] == "row":
            continue
        unit = panel["fieldConfig"]["defaults"].get("unit", "short")
        if unit not in UNITS:
            wrong.append(f"{panel['title']} has the unit {unit}")
        if panel["datasource"]["uid"] != "${datasource}" or not panel["targets"]:
            wrong.append(f"{panel['title']} asks no data source")
    groups = [board["panels"], *(panel.get("panels", []) for panel in board["panels"])]
    wrong += [
        f"{a['title']} lies on {b['title']}"
        for group in groups
        for a, b in combinations(group, 2)
        if overlap(a, b)
    ]
    variables = {v["name"] for v in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\}?", json.dumps(board)))
    wrong += [f"there is no variable {name}" for name in used - variables - {"__all"}]
    known = {family.exported for family in all_families(Registry.load().algorithms)}
    for expr in expressions(board):
        if "__name__" not in expr:
            wrong += [f"there is no metric {name}" for name in NAMES.findall(expr)
                      if name not in known]  # fmt: skip
    return wrong


def test_the_dashboard_is_sound(made: Json):
    assert problems(made) == []
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (lambda b: b["panels"][1].update(id=1), "numbers of panels repeat"),
        (lambda b: b["panels"][1]["gridPos"].update(w=25), "leaves the grid"),
        (lambda b: b["panels"][2].update(gridPos=b["panels"][1]["gridPos"]), "lies on"),
        (lambda b: b["panels"][1].update(type="graf"), "is of no type"),
        (lambda b: b["panels"][1]["targets"][0].update(expr="tailback_no_such"), "no metric"),
        (lambda b: b["panels"][1]["targets"][0].update(expr="up == $nothing"), "no variable"),
        (lambda b: b["panels"][1]["fieldConfig"]["defaults"].update(unit="bits"), "the unit bits"),
        (lambda b: b.update(uid=7), "uid is no"),
    ],
)
def test_a_planted_fault_is_found(made: Json, plant: Callable[[Json], Any], said: str):
    plant(made)
    assert any(said in problem for problem in problems(made))


def test_grafanas_own_model_reads_all_of_it(made: Json):
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()
    read = models.Dashboard.from_json(made)
    assert missing(made, json.loads(json.dumps(read, cls=JSONEncoder))) == []
    made["panels"][1]["lengend"] = {}
    read = models.Dashboard.from_json(made)
    lost = missing(made, json.loads(json.dumps(read, cls=JSONEncoder)))
    assert lost == ["panels.1.lengend"], "a field that is none is noticed"


def missing(given: Any, read: Any, path: str = "") -> list[str]:
    """Paths of what was given and is not the same after it was read."""
    if isinstance(given, dict) and isinstance(read, dict):
        pairs = [(key, value, read.get(key)) for key, value in given.items()]
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        pairs = [(n, *pair) for n, pair in enumerate(zip(given, read, strict=True))]
    else:
        return [] if given == read else [path]
    return [
        lost for key, a, b in pairs for lost in missing(a, b, f"{path}.{key}" if path else str(key))
    ]


def test_every_family_but_results_has_a_panel_of_its_own(made: Json):
    asked = {name for expr in expressions(made) for name in NAMES.findall(expr)}
    families = all_families(Registry.load().algorithms)
    others = {f.exported for f in families if not f.name.startswith("tailback_result_")}
    assert others <= asked
    assert any("tailback_result_" in expr for expr in expressions(made))
    assert len(expressions(made)) == len(others) + 1


def test_counters_are_drawn_as_rates_with_the_unit_of_a_rate():
    for family in all_families(Registry.load().algorithms):
        assert grafana_unit(family) in UNITS
        rate = f"rate({family.exported}"
        assert expression(family).startswith(rate) == (family.kind == "counter")
        if family.kind == "counter" and family.unit == "seconds":
            assert grafana_unit(family) == "percentunit"


def test_prometheus_can_read_every_query(made: Json, tmp_path: Path):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    queries = [*expressions(made), *VARIABLES.values()]
    rules = [
        {"record": f"q{n}", "expr": expr.replace("$__rate_interval", "1m").replace("$", "")}
        for n, expr in enumerate(queries)
    ]
    checked = rules_checked(promtool, rules, tmp_path)
    assert checked.returncode == 0, checked.stderr
    broken = rules_checked(promtool, [{"record": "q", "expr": "rate(a[1m]"}], tmp_path)
    assert broken.returncode != 0


def rules_checked(
    promtool: str, rules: list[Json], folder: Path
) -> subprocess.CompletedProcess[str]:
    """`promtool check rules` of these queries; JSON is YAML."""
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    return subprocess.run(
        [promtool, "check", "rules", str(path)], capture_output=True, text=True, timeout=120
    )


def tailback(*words: str, **how: Any) -> Any:
    return CliRunner().invoke(main.assemble(Registry.load(), words), list(words), **how)


def test_the_command_prints_the_dashboard_and_the_list(made: Json):
    assert json.loads(tailback("metrics", "--dashboard").stdout) == made
    listed = json.loads(tailback("metrics", "--json").stdout)
    families = all_families(Registry.load().algorithms)
    assert [row["name"] for row in listed] == [family.exported for family in families]
    assert "tailback_port_queue_bytes" in tailback("metrics", env={"COLUMNS": "200"}).stdout
    both = tailback("metrics", "--dashboard", "--json")
    assert both.exit_code == 2
