"""Compiles `peer_ns3_tree.cpp` with Debian's ns-3 (package libns3-dev) and runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.referees.ns3_programs import compiled

SOURCE = Path(__file__).with_name("peer_ns3_tree.cpp")
MODULES = (
    "core",
    "network",
    "internet",
    "point-to-point",
    "applications",
    "traffic-control",
    "nix-vector-routing",
)
KIB = 1024


@dataclass(frozen=True)
class Tree:
    """Fat tree of `k`, rate (bit/s), delay (ps), buffer and marking threshold (octets)."""

    k: int
    rate: int
    delay: int
    buffer: int
    threshold: int


@dataclass(frozen=True)
class Result:
    """Outcome of a run of the peer."""

    frames: int
    cpu_s: float
    whole: int
    """Messages that arrived whole."""
    mean_fct_ps: float
    octets: int
    """Most resident memory."""


def build(folder: Path) -> Path:
    """The program, compiled into `folder`."""
    return compiled(SOURCE, MODULES, folder, "-O2", "-Wall", "-Wextra")


def run(
    program: Path, tree: Tree, pairs: Sequence[tuple[int, int]], size: int, stop: int
) -> Result:
    """A message of `size` octets for each pair of hosts, until `stop` (ps)."""
    words = [tree.k, f"{tree.rate}bps", tree.delay, f"{tree.buffer}B", tree.threshold, size, stop]
    lines = "".join(f"{source} {target}\n" for source, target in pairs)
    line = [str(program), *map(str, words)]
    done = subprocess.run(line, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    frames, cpu_s, whole, mean, kib = map(float, done.stdout.split())
    return Result(int(frames), cpu_s, int(whole), mean, int(kib) * KIB)
