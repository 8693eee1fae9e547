"""Acknowledged transports on fat trees: frames per CPU second and memory, beside ns-3.

    python tests/benchmarks/bench_transports.py [--json] [CASE ...]

Every run has a process of its own. `memory_mb` is what the run adds to a process that has loaded
the engine; `most_memory_mb` is all of that process. A frame counts when it was delivered;
acknowledgements do not count. ns-3 (Debian's) runs two of the DCTCP cases with the same pairs of
hosts; CPU seconds are those of the simulation alone, of both. ns-3 finds one of the shortest paths
for each pair, where tailback spreads flows over all of them: completion times are not compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peer_ns3
from peer_ns3 import Tree
from rich.console import Console
from rich.table import Table

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from tests.referees.ns3_programs import lack

PS_PER_MS = 10**9
PS_PER_US = 10**6
GB = 10**9
REPETITIONS = 3
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Messages of `size` octets over a fat tree of `k`, for `stop` ps."""

    scheme: str
    pattern: str
    k: int
    size: int
    stop: int

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return self.k**3 // 4

    @property
    def tree(self) -> Tree:
        """The network, and where its switches mark (DCTCP). The incast of NSCC fits its buffers:
        it has no trimming here, and a loss of most of it would last until the timeout."""
        rate = (10 if self.scheme == "dctcp" else 200) * GB
        buffer = 200_000_000 if self.scheme == "nscc" and self.pattern == "incast" else 10**6
        return Tree(self.k, rate, PS_PER_US, buffer, 97_500)

    def table(self) -> dict[str, Any]:
        """The plan."""
        tree = self.tree
        if self.scheme == "dctcp":
            point = {"plugin": "dctcp", "segment": 1500}
            marks = {"low": tree.threshold - 1, "high": tree.threshold}
            frame, transport = 1500, {"plugin": "go-back-n"}
        else:  # as htsim has it: 4 KB frames, marks from 75 to 300 KB
            point = {"plugin": "nscc"}
            marks = {"low": 75_000, "high": 300_000}
            frame, transport = 4150, {"plugin": "selective", "reordering": 100}
        switch = {
            "buffer": tree.buffer,
            "congestion_point": {"plugin": "red", **marks, "max_probability": 1},
        }
        host = {
            "reaction_points": 1,
            "reaction_point": point,
            "limiter": {"depth": 32_000, "period": PS_PER_US},
        }
        ends: dict[str, Any] = {"from": "{hosts}", "to": "{hosts}", "pairing": "permutation"}
        if self.pattern == "incast":
            ends = {"from": f"h{{1..{self.hosts - 1}}}", "to": f"h{self.hosts}"}
        return {
            "name": f"{self.scheme}-{self.pattern}-{self.hosts}",
            "duration": self.stop,
            "sample_interval": max(self.stop // 4, PS_PER_US),
            "fabric": {"kind": "fat-tree", "k": self.k, "rate": tree.rate, "delay": tree.delay},
            "nodes": dict.fromkeys(("{edges}", "{aggs}", "{cores}"), switch) | {"{hosts}": host},
            "traffic": {
                "all": {
                    "plugin": "messages",
                    "size": self.size,
                    "frame": frame,
                    "transport": transport,
                    **ends,
                }
            },
        }


CASES = {
    "dctcp-permutation-128": Case("dctcp", "permutation", 8, 400_000, 20 * PS_PER_MS),
    "dctcp-incast-128": Case("dctcp", "incast", 8, 400_000, 60 * PS_PER_MS),
    "dctcp-permutation-1024": Case("dctcp", "permutation", 16, 400_000, 5 * PS_PER_MS),
    "nscc-permutation-1024": Case("nscc", "permutation", 16, 2_000_000, 300 * PS_PER_US),
    "nscc-incast-1024": Case("nscc", "incast", 16, 100_000, 5 * PS_PER_MS),
    "nscc-permutation-8192": Case("nscc", "permutation", 32, 250_000, 60 * PS_PER_US),
}
WITH_PEER = ("dctcp-permutation-128", "dctcp-incast-128")
WARM_UP = Case("dctcp", "permutation", 4, 10_000, PS_PER_MS)


def _resident(name: str) -> int:
    """VmRSS or VmHWM of this process, in octets."""
    text = Path("/proc/self/status").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def alone(name: str) -> Row:
    """Simulate a case in this process, which does nothing else."""
    registry = Registry.load()
    target = registry.target("simulated")
    for warm_up in (WARM_UP, Case("nscc", "incast", 4, 10_000, PS_PER_MS)):
        target.run(Plan(**warm_up.table()).check(registry), silent)
    case = CASES[name]
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins again
    before = _resident("VmRSS")
    resolved = Plan(**case.table()).check(registry)
    recording = target.run(resolved, silent)
    most = _resident("VmHWM")
    places = {host: place for place, host in enumerate(f"h{n + 1}" for n in range(case.hosts))}
    return {
        "case": name,
        "hosts": case.hosts,
        "frames": recording.data_frames,
        "cpu_s": recording.cpu_s,
        "frames_per_cpu_s": recording.data_frames / recording.cpu_s,
        "memory_mb": (most - before) / 1e6,
        "memory_kb_per_host": (most - before) / 1e3 / case.hosts,
        "most_memory_mb": most / 1e6,
        "pairs": [
            (places[source], places[target_])
            for entry in resolved.plan.traffic.values()
            for source, target_ in entry.pairs
        ],
    }


def measure(names: list[str], folder: Path) -> list[Row]:
    """Every case, the median of some runs by speed; the peer beside those that it can run."""
    absent = lack()
    program = None if absent else peer_ns3.build(folder)
    rows = []
    for name in names:
        words = [sys.executable, __file__, "--alone", name]
        runs = []
        peers: list[Row] = []
        for _ in range(REPETITIONS if name in WITH_PEER else 1):
            done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
            runs.append(json.loads(done.stdout))
            if name in WITH_PEER and program is not None:
                case = CASES[name]
                one = peer_ns3.run(program, case.tree, runs[-1]["pairs"], case.size, case.stop)
                peers.append(
                    {
                        "ns3_frames": one.frames,
                        "ns3_frames_per_cpu_s": one.frames / one.cpu_s,
                        "ns3_most_memory_mb": one.octets / 1e6,
                    }
                )
        row = sorted(runs, key=lambda run: run["frames_per_cpu_s"])[len(runs) // 2]
        row.pop("pairs")
        for key in peers[0] if peers else ():
            row[key] = statistics.median(peer[key] for peer in peers)
        if peers:
            row["over_ns3"] = row["frames_per_cpu_s"] / row["ns3_frames_per_cpu_s"]
        elif name in WITH_PEER:
            row["ns3"] = absent
        rows.append(row)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--alone", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.alone)))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(options.cases or list(CASES), Path(folder))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    keys = list(dict.fromkeys(key for row in rows for key in row if key != "case"))
    table = Table("", *(row["case"] for row in rows), title="Acknowledged transports")
    for key in keys:
        cells = [row.get(key, "") for row in rows]
        table.add_row(key, *(f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells))
    Console().print(table)


if __name__ == "__main__":
    main()
