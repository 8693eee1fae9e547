"""A target from outside: it runs what it is capable of, and refuses the rest by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_third_party import (  # noqa: F401  (cache is a fixture)
    HERE,
    Command,
    cache,
    installed,
    tailback,
)

PACKAGE = HERE / "hourglass"
QUICK = ("--json", "--no-report")


@pytest.fixture(scope="module")
def hourglass(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:  # noqa: F811
    """Python with the package installed."""
    return installed(PACKAGE, tmp_path_factory, cache)


def metrics(command: Command, target: str, out: Path) -> dict[str, Any]:
    """Of a run of quickstart, all but what the machine has to do with it."""
    done = tailback(command, "run", "quickstart", "--target", target, *QUICK, "--out", out)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert (result["target"], result["verdict"]) == (target, "met")
    found: dict[str, Any] = result["metrics"]
    return found


def test_it_runs_quickstart_as_the_simulator_does(hourglass: Command, tmp_path: Path) -> None:
    assert metrics(hourglass, "hourglass", tmp_path) == metrics(hourglass, "simulated", tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("iperf-qcn",), "it cannot run the programs of the plan"),
        (("quickstart", "--pace", "0.5"), "target hourglass has a time of its own"),
        (("quickstart", "--cores", "1"), "target hourglass does not take a number of cores"),
    ],
)
def test_what_it_is_not_capable_of_is_refused_by_name(
    hourglass: Command, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    more = ("--target", "hourglass", "--out", tmp_path)
    done = tailback(hourglass, "run", *words, *more)
    assert done.returncode == 2
    assert "hourglass" in done.stderr
    assert told in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())
