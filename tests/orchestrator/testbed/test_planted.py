"""Chaos and endurance find faults that were planted, and say which: both in their short form.

A machine that is busy distorts runs and hides none of these: what is judged is what was left, lost,
done twice or done for a stranger.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job
from tests.planting import exchanged
from tests.trials import plans
from tests.trials.chaos import CLEAN_S
from tests.trials.drawn_faults import ALL as FORMER
from tests.trials.drawn_faults import DRAWN
from tests.trials.further_faults import BESIDE, FURTHER
from tests.trials.planted import PLANTED, Fault, environment

ALL: dict[str, Fault] = FORMER | FURTHER

CHAOS = ("mischief", "lossy wire", "stranger beats", "kill agent")
CASES = [(program, name) for program in ("chaos", "endurance") for name in PLANTED]
UNDECIDED = "a machine starts late"
"""A run with this fault was not over within the time of a trial, so it names no kind."""
CASES += [("chaos", n) for n, fault in DRAWN.items() if fault.runs == 1 and n != UNDECIDED]
CASES += [("chaos", n) for n in FURTHER if n not in BESIDE]
TAKES_S = 1800
STAYS_S = 20.0
"""What is left of a run for so long, where a fault is planted, stays; without one it may take
`CLEAN_S`, for the machine may be busy."""


def found(program: str, folder: Path, clean_s: float) -> dict[str, list[str]]:
    """What a program says is wrong or left, by kind."""
    rows: list[dict[str, Any]]
    if program == "chaos":
        job = "tests.trials.chaos:chaos"
        rows = run_job(job, str(folder), 1, range(len(CHAOS)), CHAOS, clean_s)
    else:
        rows = run_job("tests.trials.endurance:endure", str(folder), 1, 1, clean_s)["rows"]
    print(*rows, sep="\n")
    kinds: dict[str, list[str]] = {}
    for row in rows:
        kinds |= row["left" if program == "chaos" else "behind"] | row["wrong"]
    return kinds


@functools.cache
def prepared() -> None:
    """Real frames are to be had, and the data path is compiled."""
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    plans.compile_once()


@pytest.mark.parametrize("name", ALL)
def test_the_text_that_is_exchanged_is_there(name: str):
    """A fault that is not planted would not be found, and nobody would know."""
    root = Path(__file__).parents[3]
    for module, old, new in ALL[name].changes:
        source = root / (module.replace(".", "/") + ".py")
        changed = exchanged(old, new)(source.read_text(encoding="utf-8"))
        compile(changed, str(source), "exec", dont_inherit=True)


@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(TAKES_S)
@pytest.mark.parametrize("program", ["chaos", "endurance"])
def test_nothing_is_found_where_nothing_is_planted(program: str, tmp_path: Path):
    prepared()
    assert found(program, tmp_path / "lab", CLEAN_S) == {}


@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(TAKES_S)
@pytest.mark.parametrize(("program", "name"), CASES)
def test_a_planted_fault_is_found_and_named(
    program: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    prepared()
    for key, value in environment(ALL[name].changes, tmp_path).items():
        monkeypatch.setenv(key, value)
    assert set(found(program, tmp_path / "lab", STAYS_S)) & ALL[name].kinds


@pytest.mark.trials
@pytest.mark.timeout(TAKES_S)
@pytest.mark.parametrize("name", BESIDE)
def test_a_planted_fault_is_found_beside_the_code(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", str(Path(__file__).parent / BESIDE[name])],
        env={**os.environ, **environment(ALL[name].changes, tmp_path)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout[-2000:]


# A flood of a stranger ends no run and takes neither memory nor disk (`tests.trials.flood`).

SECONDS = float(os.environ.get("TAILBACK_FLOOD_S", "120"))
MEMORY, LOG = 200 * 2**20, 2**20
CAME = ("met",)
"""Its plan demands little of the machine (`tests.trials.flood.unhurried`)."""


@pytest.mark.slow
@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(SECONDS + 900)
def test_a_flood_of_a_stranger_beside_a_run() -> None:
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    with tempfile.TemporaryDirectory() as folder:
        told = run_job("tests.trials.flood:flooded", folder, SECONDS)
    print(told)
    assert told["whole"], told
    assert told["cause"] is None, told
    assert told["verdict"] in CAME, told
    assert max(told["peaks"].values()) < MEMORY, told["peaks"]
    assert max(told["logs"].values()) < LOG, told["logs"]
    assert min(told["flood"].get(kind, 0) for kind in ("idle", "half", "large")) > 10
    assert told["left"] == {}
