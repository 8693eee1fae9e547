"""An hour at 1 Gb/s through a switch: is anything lost outside its queues, does memory grow?

    python -m tests.trials.hour                       # a minute
    python -m tests.trials.hour --for 3600 --datapath xdp

Two sources of 1 Gb/s into a switch that QCN holds at 0.95 Gb/s, full frames, on real frames in
real time. A line for each reading of the resident memory of all that runs, then a summary as JSON.
Exit code 0 when

- no frame was lost but in the switch's own queue: not by a socket, an interface, for want of a
  descriptor or on the way between (the kernel's counters and those of both ends, as fidelity has
  them);
- every reading of memory after the first is within `GROWTH` of it: what a run needs is set aside
  before it begins;
- the link to the sink carried what the switch serves, so that it was 1 Gb/s that was tried.

How late frames were is not judged: a machine that others use holds the run's clock, which then
takes longer, and loses nothing all the same.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from orchestrator import python_command

GROWTH = 0.02
"""A process touches some of what it set aside later than at its start; an octet that is kept of
every frame would be a third of all its memory in a quarter of an hour."""
CARRIED = 0.98
"""Of what the switch serves; it takes a moment until its queue is filled."""
EACH_S = 60.0
SETTLE_S = 2.0
"""After the start of the run: memory that was set aside and not touched is not there yet."""
ENDS_S = 1.0
"""Before the earliest end of the run: its results are written then, which takes memory. The first
line of progress is at most that late."""
SERVED = 950_000_000
LAST_LINES = 10
"""Of what a run said before it ended without a result: its progress, and then why."""
PLAN = """
name = "hour"
seed = 1
duration = "{seconds}s"
sample_interval = "{sample}ms"

[nodes."nic{{1..2}}"]
kind = "nic"
host_queue = "6KB"
reaction_point = {{ plugin = "qcn-rp", preset = "netfpga" }}

[nodes.switch]
kind = "switch"
service_rate = "0.95Gb/s"
buffer = "150KB"
congestion_point = {{ plugin = "qcn-cp", preset = "netfpga" }}

[nodes.sink]
kind = "sink"

[links."up{{1..2}}"]
ends = ["nic{{}}", "switch"]
rate = "1Gb/s"
delay = "50us"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic."gen{{1..2}}"]
plugin = "cbr"
from = "nic{{}}"
to = "sink"
frame = "1500B"
rate = "1Gb/s"

[phases]
whole = {{ from = "{begin}s", to = "{seconds}s" }}
"""


@dataclass
class Told:
    """What an hour came to."""

    memory_kb: list[int] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    frames_sent: int = 0
    carried_bps: float = 0.0
    fidelity: str = ""
    held_share: float = 0.0

    def wrong(self) -> list[str]:
        """What is not as it should be, a sentence each."""
        found = [f"{count} frames lost: {place}" for place, count in self.lost.items() if count]
        if len(self.memory_kb) < 2:
            found.append(f"{len(self.memory_kb)} readings of memory: the run was too short to tell")
        elif max(self.memory_kb) > self.memory_kb[0] * (1 + GROWTH):
            found.append(f"memory grew from {self.memory_kb[0]} to {max(self.memory_kb)} kB")
        if self.carried_bps < CARRIED * SERVED:
            found.append(f"{self.carried_bps / 1e6:.0f} Mb/s carried, of {SERVED / 1e6:.0f}")
        return found


def plan(seconds: float) -> str:
    """The plan as TOML; samples are few, whatever it lasts."""
    whole = max(round(seconds), 2)
    return PLAN.format(seconds=whole, sample=max(whole // 10, 1) * 10, begin=whole / 10)


def resident_kb(process: int) -> int:
    """Resident memory of a process and all below it; 0 when it has ended."""
    parents: dict[int, int] = {}
    memory: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue  # it has ended meanwhile
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        parents[int(folder.name)] = int(lines["PPid"])
        memory[int(folder.name)] = int(lines.get("VmRSS", "0 kB").split()[0])

    def below(one: int) -> bool:
        while one in parents and one != process:
            one = parents[one]
        return one == process

    return sum(size for one, size in memory.items() if below(one))


def told_of(result: Mapping[str, Any], memory_kb: Sequence[int]) -> Told:
    """From the run's `result.json`."""
    fidelity = result["fidelity"]
    whole = result["metrics"]["whole"]["switch.sink"]
    return Told(
        memory_kb=list(memory_kb),
        lost={place: int(count) for place, count in fidelity["lost_outside_queues"].items()},
        frames_sent=int(fidelity["frames_sent"]),
        carried_bps=float(whole["throughput_bps"]),
        fidelity=str(fidelity["verdict"]),
        held_share=float(fidelity["held"]["share"]),
    )


def run(seconds: float, datapath: str, each_s: float, say: Callable[[str], None] = print) -> Told:
    """Run it; memory is read by the clock, every `each_s` seconds from SETTLE_S after the run's
    first line of progress until ENDS_S before its end: how often the run prints progress depends
    on the machine."""
    with tempfile.TemporaryDirectory(prefix="hour-") as folder:
        text = Path(folder) / "hour.toml"
        text.write_text(plan(seconds), encoding="utf-8")
        out = Path(folder) / "run"
        words = ["run", str(text), "--target", "software", "--datapath", datapath]
        words += ["--profile", "none", "--out", str(out), "--json"]
        process = subprocess.Popen(
            python_command.module("orchestrator.cli", *words),
            env=python_command.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines = queue.SimpleQueue[str | None]()
        reader = threading.Thread(target=_forward, args=(process.stderr, lines), daemon=True)
        reader.start()
        memory: list[int] = []
        begun = due = until = None
        last = deque[str](maxlen=LAST_LINES)
        while True:
            now = time.monotonic()
            if due is not None and until is not None and now >= due:
                memory.append(resident_kb(process.pid))
                say(f"{now - (begun or now):8.1f} s  {memory[-1]} kB")
                due = due + each_s if due + each_s < until else None
            try:
                line = lines.get(timeout=None if due is None else max(due - now, 0))
            except queue.Empty:
                continue
            if line is None:
                break
            last.append(line.rstrip())
            if "running" in line and begun is None:
                begun, due, until = now, now + SETTLE_S, now + seconds - ENDS_S
            if "writing" in line:
                due = None
        reader.join()
        answer = process.communicate()[0]
        if not answer.strip():
            said = "\n".join(last) or "it said nothing"
            raise RuntimeError(f"the run ended with exit code {process.returncode}:\n{said}")
        return told_of(json.loads(answer), memory)


def _forward(source: TextIO, lines: queue.SimpleQueue[str | None]) -> None:
    """Put every line into a queue, and None behind the last."""
    for line in iter(source.readline, ""):
        lines.put(line)
    lines.put(None)


def main() -> int:
    """Run, tell, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--for", dest="seconds", type=float, default=60, help="seconds (60)")
    parser.add_argument("--datapath", default="packet", help="as of `tailback run` (packet)")
    parser.add_argument("--each", type=float, default=0, help="seconds between two readings")
    asked = parser.parse_args()
    each = asked.each or min(EACH_S, asked.seconds / 10)
    told = run(asked.seconds, asked.datapath, each)
    wrong = told.wrong()
    print(json.dumps(vars(told) | {"wrong": wrong}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
