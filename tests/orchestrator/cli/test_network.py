"""`tailback network`: deadlocks and headroom of plans, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.cli import network as module
from orchestrator.registry import Registry
from tests.orchestrator.cli.command_page import check_commands

RING = "pathology-deadlock-ring"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "200")
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, ["network", *words])


def test_a_ring_of_waits_is_found_with_what_breaks_it(network: Callable[..., Result]) -> None:
    done = network(RING)
    assert done.exit_code == 1, done.output
    for words in ("held by", "what breaks it, any one of:", "  - "):
        assert words in done.stdout
    assert "it cannot deadlock" not in done.stdout


def test_a_ring_is_listed_as_json(network: Callable[..., Result]) -> None:
    done = network(RING, "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["plan"] == RING
    assert found["deadlock_free"] is False
    assert len(found["rings"]) >= 1
    assert found["pausing_buffers"] >= 3
    assert found["waits"] >= 3
    assert found["links_between_switches"] >= 3


def test_a_plan_without_pauses_cannot_deadlock(network: Callable[..., Result]) -> None:
    done = network("quickstart")
    assert done.exit_code == 0, done.output
    assert "nothing in this plan pauses its neighbours: it cannot deadlock" in done.stdout
    found = json.loads(network("quickstart", "--json").stdout)
    assert found["deadlock_free"] is True
    assert (found["pausing_buffers"], found["rings"], found["short_of_headroom"]) == (0, [], [])


def test_a_plan_with_pauses_and_no_ring_says_how_much_was_looked_at(
    network: Callable[..., Result],
) -> None:
    pause = 'nodes.switch.pause={plugin="pause", high="100KB", low="50KB"}'
    done = network("quickstart", "--set", pause)
    assert "pausing buffers" in done.stdout
    assert "it cannot deadlock" in done.stdout
    found = json.loads(network("quickstart", "--set", pause, "--json").stdout)
    assert found["pausing_buffers"] > 0
    assert done.exit_code == (1 if found["short_of_headroom"] else 0)


def test_a_plan_that_is_none_is_bad_input_and_options_are_those_of_the_page(
    network: Callable[..., Result],
) -> None:
    assert network("no-such-plan").exit_code != 0
    assert check_commands(module) == ["network"]
