"""A whole scheme from outside, in one file: limited sources, measured times, answers of a sink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.registry import Registry
from tests.test_third_party import (  # noqa: F401  (cache is a fixture)
    HERE,
    Command,
    cache,
    installed,
    tailback,
)

PACKAGE = HERE / "delay-based"
PLAN = HERE / "delay.toml"
LONGEST = 150


@pytest.fixture(scope="module")
def delay_based(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:  # noqa: F811
    """Python with the package installed."""
    return installed(PACKAGE, tmp_path_factory, cache)


def test_it_is_one_short_file() -> None:
    lines = (PACKAGE / "delay_based.py").read_text("utf-8").splitlines()
    assert len(lines) < LONGEST


def test_it_meets_its_expectations_without_a_switch(delay_based: Command, tmp_path: Path) -> None:
    done = tailback(delay_based, "run", PLAN, "--json", "--no-report", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["settled"]["sink"]["feedback.sent"] > 100
    assert metrics["run"]["switch.sink"]["queue_bytes.max"] == 600_000, "it was full at the start"


def test_without_answers_the_sources_stay_at_their_links_rate(
    delay_based: Command, tmp_path: Path
) -> None:
    text = PLAN.read_text("utf-8")
    mute = tmp_path / "mute.toml"
    mute.write_text(text.replace('notification_point = { plugin = "delay-echo" }', ""))
    done = tailback(delay_based, "run", mute, "--json", "--no-report", "--out", tmp_path)
    assert done.returncode == 1, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["settled"]["h1.rp0"]["rate_bps.min"] == 10**9


@pytest.mark.software
def test_it_runs_on_real_frames(delay_based: Command, tmp_path: Path) -> None:
    refused = Registry.load().target("software").probe()
    if refused is not None:
        pytest.skip(str(refused))
    more = ["--target", "software", "--json", "--no-report", "--out", str(tmp_path)]
    done = tailback(delay_based, "run", PLAN, *more)
    assert done.returncode in {0, 1, 3}, done.stderr  # what the machine did is not the question
    metrics = json.loads(done.stdout)["metrics"]["run"]
    assert metrics["sink"]["feedback.sent"] > 50
    assert metrics["h1.rp0"]["rate_bps.min"] < 10**9
