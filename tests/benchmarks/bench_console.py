"""The console with 64 nodes sampled at 100 Hz: its CPU share, key to screen, memory over time.

    python tests/benchmarks/bench_console.py [--seconds 600] [--view queues]

A process of its own feeds made-up samples in real time; the console runs headless in this one, at
120x40, every key press through its own message queue to the finished screen. The figures are the
console's alone: the feed's process is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from textual.events import Key

from orchestrator.assembly.columns import probes
from orchestrator.assembly.names import Indices
from orchestrator.console.app import Console
from orchestrator.console.sources import LiveSource
from orchestrator.live.feed import Feed
from orchestrator.live.rows import KeptRows
from orchestrator.live.session import Session
from orchestrator.plan import Plan
from orchestrator.registry import Registry

HERTZ = 100
NODES = 64
MOST_SHARE, MOST_KEY_S = 0.30, 0.100
KEYS = ("plus", "minus", "comma", "full_stop", "n", "space", "space")
VIEWS = "245673"


def plan(seconds: int) -> Plan:
    """62 NICs with a limiter each, a switch and a sink."""
    nics = [f"h{number}" for number in range(NODES - 2)]
    nodes = {name: {"kind": "nic", "reaction_point": {"plugin": "qcn-rp"}} for name in nics}
    switch = {"kind": "switch", "congestion_point": {"plugin": "qcn-cp"}}
    ends = {f"l{n}": {"ends": [name, "switch"], "rate": "1Gb/s"} for n, name in enumerate(nics)}
    return Plan(
        name="bench",
        duration=seconds * 10**12,
        sample_interval=10**12 // HERTZ,
        nodes={**nodes, "switch": switch, "sink": {"kind": "sink"}},
        links={**ends, "down": {"ends": ["switch", "sink"], "rate": 10**9}},
        traffic={"gen": {"plugin": "cbr", "from": nics, "to": "sink", "rate": 10**7}},
    )


def feed(address: str, seconds: int) -> None:
    """Serve samples in real time."""
    session = Session(plan(seconds).check(Registry.load()), "simulated")
    columns = [probe.column for probe in probes(session.resolved, Indices(session.resolved.plan))]
    rows = KeptRows(seconds * HERTZ + 1, len(columns))
    session.begin(columns, rows, ("set", "act", "halt"))
    server = Feed(session, address)
    server.start()
    print(len(columns), flush=True)
    begin = time.monotonic()
    drift = np.arange(len(columns))
    while (now := time.monotonic() - begin) < seconds:
        due = int(now * HERTZ)
        fresh = np.arange(rows.count(), due)
        if len(fresh):
            wave = 30_000 + 20_000 * np.sin(fresh / 20)[:, None] + drift + fresh[:, None]
            rows.add(fresh * 10**12 // HERTZ, wave.astype(np.int64))
            session.now_ps = int(fresh[-1]) * 10**12 // HERTZ
        time.sleep(0.01)
    server.close()


def resident_kb() -> int:
    """Of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


class Paints:
    """When the screen was painted after a key had its effect."""

    def __init__(self, app: Console) -> None:
        self.app = app
        self.drawn = self.painted = 0.0
        draw, display = app.draw, app._display

        def drawing() -> None:
            draw()
            self.drawn = time.perf_counter()

        def displaying(*arguments: Any) -> None:
            display(*arguments)
            self.painted = time.perf_counter()

        app.draw, app._display = drawing, displaying  # type: ignore[method-assign]

    async def after_key(self, key: str) -> float | None:
        """Press a key; the time of the first paint after its view was drawn (perf_counter s)."""
        begin = time.perf_counter()
        character = key if len(key) == 1 else None
        self.app.post_message(Key(key, character))
        while time.perf_counter() - begin < 5:
            if begin < self.drawn < self.painted:
                return self.painted
            await asyncio.sleep(0.001)
        return None


async def watch(address: str, seconds: int) -> None:
    """Watch for so long, press keys, tell."""
    app = Console(LiveSource(address, "", "bench"))
    paints = Paints(app)
    took: list[float] = []
    memory: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        while app.data is None or not app.data.rows:
            await pilot.pause(0.1)
        settled = time.monotonic() + 5
        while time.monotonic() < settled:
            await pilot.pause(0.1)
        cpu, begin = time.process_time(), time.monotonic()
        press = missed = 0
        quiet_cpu = quiet_wall = 0.0
        while (now := time.monotonic() - begin) < seconds - 10:
            before, at = time.process_time(), time.monotonic()
            await asyncio.sleep(5)
            quiet_cpu += time.process_time() - before
            quiet_wall += time.monotonic() - at
            for key in (VIEWS[press % len(VIEWS)], KEYS[press % len(KEYS)]):
                at = time.perf_counter()
                painted = await paints.after_key(key)
                if painted is None:
                    missed += 1
                else:
                    took.append(painted - at)
            press += 1
            memory.append(resident_kb())
        share = (time.process_time() - cpu) / now
        rows = app.data.rows if app.data else 0
    app.source.close() if app.source else None
    keys = np.array(took)
    print(f"CPU share {quiet_cpu / quiet_wall:.1%} of a core watching, {share:.1%} with keys")
    p50, p95 = np.quantile(keys, [0.5, 0.95]) * 1e3
    print(f"key to screen p50 {p50:.0f} ms, p95 {p95:.0f} ms, of {len(keys)}; {missed} never")
    third = max(len(memory) // 3, 1)
    print(
        f"memory in KB: {memory[0]} at first, {memory[third]} after a third, {memory[-1]} at last"
    )
    asked = f"CPU below {MOST_SHARE:.0%}, p95 below {MOST_KEY_S * 1e3:.0f} ms, memory flat"
    print(f"rows kept {rows}; asked of it: {asked}")
    print(f"most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} KB")


def main() -> None:
    """Start the feed, watch it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--feed", metavar="ADDRESS")
    chosen = options.parse_args()
    if chosen.feed:
        feed(chosen.feed, chosen.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        address = f"ipc://{folder}/bench.feed"
        command = [
            sys.executable,
            __file__,
            "--feed",
            address,
            "--seconds",
            str(chosen.seconds + 30),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as feeder:
            assert feeder.stdout is not None
            print(f"{NODES} nodes, {feeder.stdout.readline().strip()} columns at {HERTZ} Hz")
            try:
                asyncio.run(watch(address, chosen.seconds))
            finally:
                feeder.kill()


if __name__ == "__main__":
    main()
