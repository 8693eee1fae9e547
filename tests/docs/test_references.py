"""The references are what the code says now, and results have what the references say."""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli.main import assemble
from orchestrator.package_shadowing import DISTRIBUTION
from orchestrator.pages import PAGES, __main__, generated
from orchestrator.pages.plan_page import sections
from orchestrator.plan import Plan
from orchestrator.plan.metric_registry import ENTITIES, METRICS
from orchestrator.plan.model_introspection import field_texts
from orchestrator.plan.observables import plugin_of
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes
from orchestrator.terminal.plan_loading import load_plan
from tests.docs.measured import Measured
from traces.metrics import UNITS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
EVERYTHING = Path(__file__).with_name("everything.toml")
PROGRAMS = Path(__file__).with_name("programs.toml")


def text(page: str) -> str:
    """A page as it stands in the repository."""
    return (FOLDER / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_code_says(page: str) -> None:
    assert text(page) == generated()[page], "renew it: python -m orchestrator.pages"


def test_pages_are_renewed_and_named_only_when_they_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, now in generated().items():
        (tmp_path / name).write_text(now, encoding="utf-8")
    (tmp_path / "plan.md").write_text("old", encoding="utf-8")
    assert __main__.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'plan.md'}\n"
    assert (tmp_path / "plan.md").read_text(encoding="utf-8") == generated()["plan.md"]
    assert __main__.main([str(tmp_path / "nowhere")]) == exit_codes.BAD_INPUT


def test_every_key_of_a_plan_is_explained() -> None:
    lacking = [
        f"{path or 'plan'}.{name}"
        for path, model in sections()
        for name in model.model_fields
        if name != "kind" and name not in field_texts(model)
    ]
    assert lacking == []


def test_every_table_of_a_plan_has_a_section() -> None:
    shown = text("plan.md")
    for path, model in sections():
        assert not path or model.__doc__, path
        assert not path or f"## `[{path}]`" in shown
    documented = set(re.findall(r"^\| `(\w+)` \|", shown, flags=re.M))
    used = {key for path in Registry.load().plans().values() for key in _keys(path)}
    assert len(used) > 30
    assert used - documented == set()


def _keys(path: Path) -> Iterator[str]:
    """The keys that a shipped plan has at its top, and in nodes, links, timeline and the like."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    yield from table
    for name in ("nodes", "links", "phases", "programs"):
        yield from (key for one in table.get(name, {}).values() for key in one)
    for name in ("timeline", "expect"):
        yield from (key for one in table.get(name, []) for key in one)
    yield from table.get("capture", {})


def test_every_command_and_option_is_there() -> None:
    shown = text("commands.md")
    app: Any = typer.main.get_command(assemble(Registry.load()))
    context = app.make_context("tailback", ["plans"], resilient_parsing=True)
    found = 0
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        inner = getattr(command, "commands", None) or {"": command}
        for below, one in inner.items():
            heading = f"`tailback {name} {below}".rstrip() + "`\n"
            assert heading in shown
            part = re.split(r"^##", shown.partition(f"# {heading}")[2], flags=re.M)[0]
            for parameter in one.params:
                options = [option for option in parameter.opts if option.startswith("--")]
                assert all(f"{option}" in part for option in options), (heading, options)
                found += len(options)
    assert found > 60


def test_every_exit_code_is_there() -> None:
    shown = text("commands.md")
    codes = {
        exit_codes.MET,
        exit_codes.MISSED,
        exit_codes.BAD_INPUT,
        exit_codes.INVALID,
        exit_codes.BUG,
    }
    assert codes <= {int(code) for code in re.findall(r"^\| `(\d+)` \|", shown, flags=re.M)}


def test_every_algorithm_and_parameter_is_there() -> None:
    shown = text("algorithms.md")
    for algorithm in Registry.load().algorithms:
        if algorithm.origin.startswith(f"{DISTRIBUTION} "):
            part = re.split(r"^##", shown.partition(f"\n### `{algorithm.name}`\n")[2], flags=re.M)
            assert part[0].strip(), algorithm.name
    assert shown.count("\n### ") > 30


@functools.cache
def measured(source: str) -> Measured:
    """What a simulated run of a plan measures."""
    return Measured.of(load_plan(source, []), "simulated")


PLANS = ("quickstart", "dctcp", "external-switch", os.fspath(EVERYTHING))


@pytest.mark.parametrize("source", [source for source in PLANS if source != "external-switch"])
def test_what_a_run_measures_is_in_the_reference(source: str) -> None:
    assert len(measured(source).metrics()) > 30
    assert len(measured(source).samples()) > 25
    units = measured(source).result["units"]
    assert {name: unit for name, unit in units.items() if not plugin_of(name)} == UNITS


def test_what_the_reference_says_is_measured() -> None:
    stated = {(kind, metric) for kind, names in METRICS.items() for metric in names}
    assert set().union(*(measured(source).metrics() for source in PLANS)) == stated
    sampled = {(kind, s.quantity, s.unit) for kind, every in ENTITIES.items() for s in every}
    assert set().union(*(measured(source).samples() for source in PLANS)) == sampled


@pytest.mark.software
def test_what_real_frames_of_programs_measure_is_in_the_reference(
    namespaces: None,
) -> None:
    plan = load_plan(os.fspath(PROGRAMS), [])
    found = Measured.of(plan, "software")
    assert [one["name"] for one in found.result["programs"]] == ["sender"]
    assert found.metrics() >= {("flow", "frames.received"), ("port", "queue_bytes.mean")}
    assert found.result["metrics"]["run"]["talk.0"]["frames.received"] > 0
    assert ("flow", "frames_received", "1") in found.samples()


def test_what_algorithms_show_is_on_the_page_with_its_metrics() -> None:
    shown, told = text("metrics.md"), 0
    for algorithm in Registry.load().algorithms:
        for one in algorithm.columns if algorithm.origin.startswith(f"{DISTRIBUTION} ") else ():
            metric = f"`{one.metric(algorithm.name)}`" if one.measured else "none"
            row = f"| `{algorithm.name}` | `{one.field}` | {one.unit} | {one.kind} | {metric} |"
            assert row in shown
            told += 1
    assert told > 8


def test_the_page_has_the_units_of_metrics_and_samples() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| ([\w/]+) \| (\w+) \|", text("metrics.md"), flags=re.M)
    metrics = {(name, unit.symbol) for names in METRICS.values() for name, unit in names.items()}
    samples = {(s.quantity, s.unit) for every in ENTITIES.values() for s in every}
    assert {(name, unit) for name, unit, _ in rows} == metrics | samples


# What the tables of docs/schemes.md name exists.

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
