"""A target from outside: it runs what it is capable of, and refuses the rest by name."""

from __future__ import annotations

import json
import tomllib
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
        (
            ("quickstart", "--pace", "0.5"),
            "--pace: target hourglass does not take it: simulated and software have it",
        ),
        (
            ("quickstart", "--cores", "1"),
            "--cores: target hourglass does not take it: gateware, simulated and software have",
        ),
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--grains", "0"), "--grains: '0' is not accepted; at least 1 is expected"),
        (("--pause", "5"), "--pause: '5' is not accepted; the unit is missing"),
        (
            ("--set", "targets.hourglass.grain=5"),
            "targets.hourglass.grain: unknown option 'grain'; target hourglass does not take it: "
            "did you mean grains?",
        ),
        (("--set", "targets.houglass.grains=5"), "did you mean hourglass?"),
    ],
)
def test_a_mistake_in_its_options_is_a_sentence(
    hourglass: Command, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    more = ("--target", "hourglass", "--out", tmp_path)
    done = tailback(hourglass, "run", "quickstart", *words, *more)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


OPTIONS = {"grains": 7, "pause": "2ms"}


def recorded_options(folder: Path) -> tuple[Any, Any]:
    """Options in the plan of a run's folder, and in its manifest."""
    plan = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))
    return plan.get("targets"), json.loads((folder / "manifest.json").read_bytes()).get("options")


def check_options(done: Any, folder: Path) -> None:
    """The run was cut into seven parts, and its folder says so."""
    assert done.returncode == 0, done.stderr
    assert "of 7)" in done.stderr  # progress is shown now and then
    assert recorded_options(folder) == ({"hourglass": OPTIONS}, OPTIONS)


def folder_of(done: Any) -> Path:
    """The run folder that `tailback run --json` tells."""
    return Path(json.loads(done.stdout)["folder"])


def test_its_options_are_taken_from_the_command_line(hourglass: Command, tmp_path: Path) -> None:
    words = ("quickstart", "--target", "hourglass", *QUICK, "--out", tmp_path)
    done = tailback(hourglass, "run", *words, "--grains", "7", "--pause", "2ms")
    check_options(done, folder_of(done))


def test_its_options_are_taken_from_a_plan(hourglass: Command, tmp_path: Path) -> None:
    plan = tmp_path / "mine.toml"
    mine = '[targets.hourglass]\ngrains = 7\npause = "2ms"\n'
    theirs = "[targets.simulated]\ncores = 2\n"
    plan.write_text(f'base = "quickstart"\nname = "mine"\ntarget = "hourglass"\n{mine}{theirs}')
    done = tailback(hourglass, "run", plan, *QUICK, "--out", tmp_path)
    check_options(done, folder_of(done))
    done = tailback(hourglass, "run", plan, *QUICK, "--out", tmp_path, "--target", "simulated")
    assert recorded_options(folder_of(done)) == ({"simulated": {"cores": 2}}, {"cores": 2})
    again = tailback(hourglass, "run", folder_of(done) / "plan.toml", *QUICK, "--out", tmp_path)
    assert recorded_options(folder_of(again)) == ({"simulated": {"cores": 2}}, {"cores": 2})


def test_its_options_are_taken_from_python(hourglass: Command, tmp_path: Path) -> None:
    code = (
        "import sys, tailback\n"
        "run = lambda **how: tailback.run('quickstart', out=sys.argv[1], progress=True, **how)\n"
        "done = run(target='hourglass', options={'grains': 7, 'pause': 2 * 10**9})\n"
        "print(done.folder)\n"
        "for how in ({}, {'target': 'hourglass', 'seed': 2}):\n"
        "    try:\n"
        "        run(options={'grains': 7, 'cores': 1}, **how)\n"
        "    except tailback.BadInput as error:\n"
        "        print(error)\n"
    )
    done = hourglass("-c", code, tmp_path)
    folder, *refused = done.stdout.splitlines()
    check_options(done, Path(folder))
    having = "hourglass has it; leave it out, or run on hourglass"
    assert refused[0] == f"option grains: target simulated does not take it: {having}"
    assert refused[1].startswith("option cores: target hourglass does not take it: ")


def test_other_targets_refuse_its_options(hourglass: Command, tmp_path: Path) -> None:
    for target in ("simulated", "gateware"):
        done = tailback(
            hourglass, "run", "quickstart", "--target", target, "--grains", "7", "--out", tmp_path
        )
        assert done.returncode == 2
        told = f"--grains: target {target} does not take it: hourglass has it; leave it out"
        assert told in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_help_and_completion_know_its_options(hourglass: Command) -> None:
    for command in ("run", "sweep"):
        text = tailback(hourglass, command, "--help").stdout
        own = text.partition("Options of target hourglass:")[2].partition("Options of")[0]
        assert "--grains N" in own
        assert "--pause DURATION" in own
        assert "Default: 100." in own
        assert "--datapath" not in own


def test_a_sweep_varies_its_options(hourglass: Command, tmp_path: Path) -> None:
    words = ("--target", "hourglass", "--pause", "1us", "--json", "--out", tmp_path)
    over = ("--over", "targets.hourglass.grains=2,5")
    done = tailback(hourglass, "sweep", "quickstart", *words, *over)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [axis["texts"] for axis in result["axes"]] == [["2", "5"]]
