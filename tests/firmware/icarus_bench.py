"""Runs a bench in plain Verilog on Icarus."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

LONGEST_S = 60
"""Of a run."""


def printed_lines(folder: Path, files: Iterable[str | Path]) -> list[str]:
    """Lines that the module `bench` prints, built from `files`, whose paths count from `folder`.

    Raises CalledProcessError where they are not built, TimeoutExpired where it does not end.
    """
    build = ["iverilog", "-g2005", "-s", "bench", "-o", "bench.vvp", *map(str, files)]
    subprocess.run(build, cwd=folder, check=True, capture_output=True, text=True)
    done = subprocess.run(
        ["vvp", "-n", "bench.vvp"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    return done.stdout.splitlines()
