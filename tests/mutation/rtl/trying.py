"""All mutants of one module, tried: one simulation in which one after the other is chosen.

The benches' random sequences are drawn in two ways; those that hypothesis draws take most of the
time. So all mutants meet the others first, and only what survives those meets both.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import cocotb_tools.config
import find_libpython

from tests.firmware.benches.drawn import EVENLY
from tests.firmware.simulate import BENCH_RTL, BUILD_ARGUMENTS, ROOT, RTL
from tests.mutation.rtl.cores import FILES, Core
from tests.mutation.rtl.netlist import mutants
from tests.mutation.rtl.proving import same

BUILDS = ROOT / "build" / "mutants"
FOUND, SURVIVED = "found", "survived"
SLOWER, MORE_S, FIRST_S = 8, 20, 900
"""A mutant that has the simulator compute for so many times what the module takes, and so much
more, keeps it from going on; so long may the module itself take."""
POLL_S = 0.5
SEED = 1
QUICK = "by the sequences that are drawn evenly"


class Broken(Exception):
    """The bench fails on the module as it is, or did not run."""


class Trying:
    """The mutants of one file."""

    def __init__(self, file: str, told: Callable[[str], None], sample: int = 0) -> None:
        self.file, self.core, self._told = file, FILES[file], told
        self.name = Path(file).stem
        self._folder = BUILDS / self.name
        shutil.rmtree(self._folder, ignore_errors=True)
        core = self.core
        own = core.parameters if core.top == self.name else core.own
        self.mutants = mutants(self.name, own, sample or core.count, self._folder)
        self._build()

    def _build(self) -> None:
        """Compile the bench's module with ours in the place of the file's."""
        sources = [path for path in (*RTL, *BENCH_RTL) if path.stem != self.name]
        parameters = self.core.parameters if self.core.top != self.name else {}
        command = ["iverilog", "-o", "sim.vvp", "-s", self.core.top, *BUILD_ARGUMENTS["icarus"]]
        command += [f"-P{self.core.top}.{key}={value}" for key, value in parameters.items()]
        (self._folder / "cmds.f").write_text("+timescale+1ns/1ps\n")
        command += ["-f", "cmds.f", *map(str, sources), "mutated.v"]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"iverilog: {done.stdout[-1500:]}{done.stderr[-1500:]}")

    def outcomes(self, quick: bool) -> dict[int, str]:
        """By number: which test fails, empty where none does; without those that change nothing.

        Raises Broken.
        """
        every = [mutant.number for mutant in self.mutants]
        found = self._each(every, evenly=True)
        survivors = [number for number in every if not found[number]]
        nothing = same(self.name, survivors, self._folder)
        found = {number: why for number, why in found.items() if number not in nothing}
        if not quick:
            left = [number for number in survivors if number not in nothing]
            found |= self._each(left, evenly=False)
        return found

    def _each(self, numbers: list[int], evenly: bool) -> dict[int, str]:
        outcomes: dict[int, str] = {}
        left = numbers
        while left:
            new = self._simulate(left, evenly)
            if new.get(0) != "":
                raise Broken(f"its bench does not pass as it is: {new.get(0, 'no outcome')}")
            outcomes |= new
            left = [number for number in numbers if number not in outcomes]
            if left:  # the simulator came to no end with the first of them
                outcomes[left.pop(0)] = "the simulator does not go on"
            self._told(f"{self.file}: {len(outcomes)} of {len(numbers)}")
        return outcomes

    def _simulate(self, numbers: list[int], evenly: bool) -> dict[int, str]:
        """The outcomes of a simulation, as far as it came."""
        outcomes = self._folder / "outcomes"
        outcomes.write_text("")
        environment = os.environ | environment_of(self.core)
        environment |= {
            "BENCH_MUTANTS": " ".join(map(str, [0, *numbers])),
            "BENCH_OUTCOMES": str(outcomes),
            EVENLY: "1" if evenly else "",
        }
        library = cocotb_tools.config.lib_entry("vpi", "icarus")
        with (self._folder / "test.log").open("w") as log:
            running = subprocess.Popen(
                ["vvp", "-m", library, "sim.vvp"],
                cwd=self._folder,
                env=environment,
                stdout=log,
                stderr=log,
            )
            watch(running, outcomes)
        rows = [line.partition(" ") for line in outcomes.read_text().splitlines()]
        return {int(number): why for number, _, why in rows}


def watch(running: subprocess.Popen[bytes], outcomes: Path) -> None:
    """Wait for a simulation, or end it when one mutant takes too long: another one has come to its
    end when there is more in `outcomes`."""
    size, began, allowed = 0, 0.0, float(FIRST_S)
    while running.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            running.wait(POLL_S)
            return
        now = computed(running.pid)
        if (grown := outcomes.stat().st_size) != size:
            if size == 0:
                allowed = SLOWER * now + MORE_S  # the module as it is comes first
            size, began = grown, now
        elif now - began > allowed:
            running.kill()
            running.wait()


def computed(process: int) -> float:
    """CPU seconds of a process that is not waited for yet."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def digest(file: str) -> str:
    """Tells whether a score is of the file, and the bench, as they are now."""
    whole = hashlib.sha256()
    for name in (file, *FILES[file].needs):
        whole.update((ROOT / name).read_bytes())
    return whole.hexdigest()[:16]


def environment_of(core: Core) -> dict[str, str]:
    """What cocotb and the bench are told."""
    gpi = [find_libpython.find_libpython() or "", cocotb_tools.config.pygpi_entry_point()]
    return {
        "GPI_USERS": ";".join(gpi),
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        "COCOTB_TOPLEVEL": core.top,
        "COCOTB_TEST_MODULES": "tests.firmware.benches.mutated",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RANDOM_SEED": str(SEED),
        "COCOTB_RESULTS_FILE": "results.xml",
        "COCOTB_LOG_LEVEL": "CRITICAL",
        "NUMBA_DISABLE_JIT": "1",
        "BENCH_NAME": core.bench,
        "BENCH_PATH": core.path,
        "BENCH_PARAMETERS": " ".join(f"{key}={value}" for key, value in core.parameters.items()),
    }


def score(
    file: str, told: Callable[[str], None], quick: bool = False, sample: int = 0
) -> dict[str, Any]:
    """Try all mutants of a file: how many were found, and which not. Raises Broken.

    `quick`: by the sequences that are drawn evenly alone, which finds somewhat fewer. `sample`: so
    many mutants instead of those that there are to be; 0: these.
    """
    trying = Trying(file, told, sample)
    found = trying.outcomes(quick)
    tried = [(m, found[m.number]) for m in trying.mutants if m.number in found]
    notes = [f"a sample of {FILES[file].count}"] * (sample > 0) + [QUICK] * quick
    return {
        **({"note": ", ".join(notes)} if notes else {}),
        "digest": digest(file),
        "mutants": len(tried),
        "found": sum(why != "" for _, why in tried),
        "survivors": [
            {"line": mutant.line, "change": mutant.key, "outcome": SURVIVED}
            for mutant, why in tried
            if not why
        ],
    }


if __name__ == "__main__":
    asked, most, report, *how = sys.argv[1:]

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        made = score(asked, tell, "quick" in how, int(most))
    except Broken as broken:
        sys.exit(f"{asked}: {broken}")
    Path(report).write_text(json.dumps(made))
