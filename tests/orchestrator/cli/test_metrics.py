"""`tailback metrics`: families as a table and as JSON, and the dashboard."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.cli import metrics as module
from orchestrator.metrics_export.family_listing import all_families
from orchestrator.registry import Registry
from tests.orchestrator.cli.command_page import check_commands


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "400")
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, ["metrics", *words])


def test_each_family_has_a_line_and_an_entry(metrics: Callable[..., Result]) -> None:
    families = all_families(Registry.load().algorithms)
    rows = json.loads(metrics("--json").stdout)
    assert [row["name"] for row in rows] == [family.exported for family in families]
    assert len(rows) > 50
    for row, family in zip(rows, families, strict=True):
        assert (row["type"], row["unit"]) == (family.kind, family.unit)
        assert (row["labels"], row["meaning"]) == (list(family.labels), family.meaning)
    text = metrics().stdout
    assert text.split()[:4] == ["metric", "type", "labels", "meaning"]
    assert all(row["name"] in text for row in rows)


def test_the_dashboard_is_json_and_goes_with_no_other_format(
    metrics: Callable[..., Result],
) -> None:
    found = json.loads(metrics("--dashboard").stdout)
    assert len(found["panels"]) > 5
    both = metrics("--dashboard", "--json")
    assert both.exit_code == 2
    assert "not together with --dashboard, which is JSON; leave one out" in both.output
    assert check_commands(module) == ["metrics"]
