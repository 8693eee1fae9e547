"""Compiles `peer_events.cpp` on the spot and runs it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from peer_simpy import Outcome

SOURCE = Path(__file__).with_name("peer_events.cpp")
FLAGS = ("-O3", "-march=native", "-std=c++17", "-Wall", "-Wextra", "-Werror")


def compiler() -> str | None:
    """The C++ compiler of this machine, None when there is none."""
    return shutil.which("g++") or shutil.which("clang++")


def build(folder: Path) -> Path:
    """The program, compiled into `folder`."""
    command = compiler()
    if command is None:
        raise SystemExit("peer_events.cpp needs a C++ compiler: install g++ or clang++")
    program = folder / "peer_events"
    subprocess.run([command, *FLAGS, "-o", program, SOURCE], check=True, timeout=120)
    return program


def run(program: Path, sources: int, simulated_ms: int) -> Outcome:
    """Simulate the network for `simulated_ms`; the program times its own loop."""
    line = subprocess.run(
        [program, str(sources), str(simulated_ms)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout
    delivered, dropped, latency_ps, cpu_s = line.split()
    return Outcome(int(delivered), int(dropped), int(latency_ps), float(cpu_s))
