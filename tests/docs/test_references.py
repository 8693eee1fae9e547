"""The references are what the code says now, and results have what the references say."""

from __future__ import annotations

import functools
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer

from orchestrator.assembly.quantities import ENTITIES
from orchestrator.cli.main import assemble
from orchestrator.pages import PAGES, __main__, generated
from orchestrator.pages.docstrings import field_texts
from orchestrator.pages.plan import sections
from orchestrator.plan import Plan
from orchestrator.plan.meanings import MEANINGS
from orchestrator.plan.metrics import METRICS
from orchestrator.registry import Registry
from orchestrator.run.execute import run
from orchestrator.terminal import exits
from orchestrator.terminal.loading import load_plan
from traces.metrics import UNITS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
EVERYTHING = Path(__file__).with_name("everything.toml")


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
    assert __main__.main([str(tmp_path / "nowhere")]) == exits.BAD_INPUT


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
    codes = {exits.MET, exits.MISSED, exits.BAD_INPUT, exits.INVALID, exits.BUG}
    assert codes <= {int(code) for code in re.findall(r"^\| `(\d+)` \|", shown, flags=re.M)}


def test_every_algorithm_and_parameter_is_there() -> None:
    shown = text("algorithms.md")
    for algorithm in Registry.load().algorithms:
        if algorithm.origin.startswith("tailback "):
            part = re.split(r"^##", shown.partition(f"\n### `{algorithm.name}`\n")[2], flags=re.M)
            assert part[0].strip(), algorithm.name
    assert shown.count("\n### ") > 30


def test_metrics_and_meanings_are_of_the_same_names() -> None:
    assert {kind: set(names) for kind, names in METRICS.items()} == {
        kind: set(names) for kind, names in MEANINGS.items()
    }


@functools.cache
def measured(source: str) -> tuple[Plan, dict[str, Any], set[tuple[str, str, str]]]:
    """(plan, result.json, (entity, quantity, unit) of samples.parquet) of a run."""
    with tempfile.TemporaryDirectory() as folder:
        plan = load_plan(source, [])
        done = run(plan, target="simulated", out=Path(folder), report=False)
        assert done.folder is not None
        result = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
        table = pq.read_table(
            done.folder / "samples.parquet", columns=["entity", "quantity", "unit"]
        )
    keys = table.group_by(["entity", "quantity", "unit"]).aggregate([]).to_pylist()
    return plan, result, {(row["entity"], row["quantity"], row["unit"]) for row in keys}


PLANS = ("quickstart", os.fspath(EVERYTHING))


def found_metrics(source: str) -> set[tuple[str, str]]:
    """(kind, metric) of all that a run put into result.json; each must be in the reference."""
    plan, result, _ = measured(source)
    kinds, found = plan.entities(), set()
    for phase, entities in result["metrics"].items():
        for entity, metrics in entities.items():
            of = {kind for kind in kinds[entity] if kind in METRICS}
            for metric in metrics:
                having = {(kind, metric) for kind in of if metric in METRICS[kind]}
                assert having, f"{phase}: {entity} ({of}) has {metric}"
                found |= having
    return found


def found_samples(source: str) -> set[tuple[str, str, str]]:
    """(kind, quantity, unit) of all that a run sampled; each must be in the reference."""
    plan, _, series = measured(source)
    kinds, found = plan.entities(), set()
    for entity, quantity, unit in series:
        having = {
            (kind, quantity, unit)
            for kind in kinds[entity]
            for sampled in ENTITIES.get(kind, ())
            if (sampled.quantity, sampled.unit) == (quantity, unit)
        }
        assert having, f"{entity} ({kinds[entity]}) has {quantity} in {unit}"
        found |= having
    return found


@pytest.mark.parametrize("source", PLANS)
def test_what_a_run_measures_is_in_the_reference(source: str) -> None:
    assert len(found_metrics(source)) > 30
    assert len(found_samples(source)) > 25
    assert measured(source)[1]["units"] == UNITS


def test_what_the_reference_says_is_measured() -> None:
    stated = {(kind, metric) for kind, names in METRICS.items() for metric in names}
    assert set().union(*map(found_metrics, PLANS)) == stated
    sampled = {(kind, s.quantity, s.unit) for kind, every in ENTITIES.items() for s in every}
    assert set().union(*map(found_samples, PLANS)) == sampled


def test_the_page_has_the_units_of_metrics_and_samples() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| ([\w/]+) \| (\w+) \|", text("metrics.md"), flags=re.M)
    metrics = {(name, unit.symbol) for names in METRICS.values() for name, unit in names.items()}
    samples = {(s.quantity, s.unit) for every in ENTITIES.values() for s in every}
    assert {(name, unit) for name, unit, _ in rows} == metrics | samples
