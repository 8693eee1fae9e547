"""The console with 64 nodes sampled at 100 Hz: its CPU share, key to screen, memory over time.

    python tests/benchmarks/bench_console.py [--seconds 600] [--size 200x60]
    python tests/benchmarks/bench_console.py --draws      CPU of a draw, view by view
    python tests/benchmarks/bench_console.py --fidelity [--pace 0.5] [--cores 1]
                                             software runs without and with a console, in turns

A process of its own feeds made-up samples in real time; the console runs headless in this one,
every key press through its own message queue to the finished screen. The figures are the console's
alone: the feed's process is not counted. Wall times are worth what the machine's load allows, which
is printed with them; the CPU of a draw hardly depends on it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from textual.events import Key

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.console.app import KINDS, Console
from orchestrator.console.run_data import RunData
from orchestrator.console.run_sources import LiveSource, take_in
from orchestrator.live import feed_messages, session_registry
from orchestrator.live.feed_server import FeedServer
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import NoRows
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run

HERTZ = 100
NODES = 64
MOST_SHARE, MOST_KEY_S, MOST_DRAW_S = 0.30, 0.100, 0.030
KEYS = ("plus", "minus", "comma", "full_stop", "n", "space", "space")
VIEWS = {str(number): name for number, name in enumerate(KINDS, 2)}
QUIET_S = 1.0
"""Without a key, between two pairs of them."""
DRAWS = 20
ALONE, WATCHED, USED = "without a console", "with a console", "with a console, a key every second"


def plan(seconds: int) -> Plan:
    """62 NICs with a limiter each, a switch and a sink."""
    nics = [f"h{number}" for number in range(NODES - 2)]
    nodes = {name: {"kind": "nic", "reaction_point": {"plugin": "qcn-rp"}} for name in nics}
    switch = {"kind": "switch", "congestion_point": {"plugin": "qcn-cp"}}
    ends = {f"l{n}": {"ends": [name, "switch"], "rate": "1Gb/s"} for n, name in enumerate(nics)}
    return Plan(
        name="bench",
        duration=seconds * 10**12,
        sample_interval=10**12 // 5,  # what is made up comes more often; a plan has its limit
        nodes={**nodes, "switch": switch, "sink": {"kind": "sink"}},
        links={**ends, "down": {"ends": ["switch", "sink"], "rate": 10**9}},
        traffic={"gen": {"plugin": "cbr", "from": nics, "to": "sink", "rate": 10**7}},
    )


class MadeUp:
    """Samples that move, in real time: gauges as waves, counters as counters. None is kept."""

    def __init__(self, session: Session) -> None:
        plan = session.resolved.plan
        self.columns = [probe.column for probe in probes(session.resolved, Indices(plan))]
        self._gauge = np.array([column.kind == "gauge" for column in self.columns])
        self._drift = np.arange(len(self.columns))
        self._begin = time.monotonic()

    def count(self) -> int:
        """How many rows there are by now."""
        return int((time.monotonic() - self._begin) * HERTZ)

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of rows `first` to before `last`."""
        at = np.arange(first, last)
        wave = 30_000 + 20_000 * np.sin(at / 20)[:, None] + self._drift
        values = np.where(self._gauge, wave, 1000 * at[:, None] + self._drift)
        return at * 10**12 // HERTZ, values.astype(np.int64)


def feed(address: str, seconds: int) -> None:
    """Serve samples in real time."""
    session = Session(plan(seconds).check(Registry.load()), "simulated")
    made = MadeUp(session)
    session.begin(made.columns, made, ("set", "act", "halt"))
    server = FeedServer(session, address)
    server.start()
    print(len(made.columns), flush=True)
    while made.count() < seconds * HERTZ:
        session.now_ps = made.count() * 10**12 // HERTZ
        time.sleep(0.01)
    server.close()


def resident_mb() -> float:
    """Of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def load() -> str:
    """What the machine has to do besides, in words."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


class Paints:
    """When the screen was painted after a key had its effect."""

    def __init__(self, app: Console) -> None:
        self.app = app
        self.drawn = self.painted = 0.0
        self.count = 0
        draw, display = app.draw, app._display

        def drawing() -> None:
            draw()
            self.drawn = time.perf_counter()

        def displaying(*arguments: Any) -> None:
            display(*arguments)
            self.painted = time.perf_counter()
            self.count += 1

        app.draw, app._display = drawing, displaying  # type: ignore[method-assign]

    async def after_key(self, key: str) -> float | None:
        """Press a key; seconds to the first paint after its view was drawn."""
        begin = time.perf_counter()
        character = key if len(key) == 1 else None
        self.app.post_message(Key(key, character))
        while time.perf_counter() - begin < 5:
            if begin < self.drawn < self.painted:
                return self.painted - begin
            await asyncio.sleep(0.001)
        return None


def told(name: str, took: list[float | None]) -> None:
    """The quantiles of one view's keys."""
    done = np.array([one for one in took if one is not None])
    never = f"; {len(took) - len(done)} never" if len(done) < len(took) else ""
    if len(done):
        p50, p95 = np.quantile(done, [0.5, 0.95]) * 1e3
        print(f"  {name:<9} p50 {p50:4.0f} ms, p95 {p95:4.0f} ms, of {len(done)}{never}")


async def watch(address: str, seconds: int, size: tuple[int, int]) -> None:
    """Watch for so long, press keys, tell."""
    app = Console(LiveSource(address, "", "bench"))
    paints = Paints(app)
    took: dict[str, list[float | None]] = defaultdict(list)
    async with app.run_test(size=size) as pilot:
        while app.data is None or not app.data.rows:
            await pilot.pause(0.1)
        await asyncio.sleep(3)
        cpu, begin, minute = time.process_time(), time.monotonic(), 1
        press = 0
        quiet_cpu = quiet_wall = 0.0
        print(f"memory at first {resident_mb():.0f} MB", flush=True)
        while (now := time.monotonic() - begin) < seconds - 5:
            before, at = time.process_time(), time.monotonic()
            await asyncio.sleep(QUIET_S)
            quiet_cpu += time.process_time() - before
            quiet_wall += time.monotonic() - at
            view = list(VIEWS)[press % len(VIEWS)]
            took["to a view"].append(await paints.after_key(view))
            for step in range(3):
                key = KEYS[(press + step) % len(KEYS)]
                if app.check_action("next", ()) or key != "n":
                    took[VIEWS[view]].append(await paints.after_key(key))
            press += 1
            if now >= 60 * minute:
                print(f"memory after {minute} min {resident_mb():.0f} MB, {load()}", flush=True)
                minute += 1
        share = (time.process_time() - cpu) / now
        rows = app.data.rows if app.data else 0
    if app.source is not None:
        app.source.close()
    print(f"memory at last {resident_mb():.0f} MB, {rows} rows kept")
    print(f"CPU share {quiet_cpu / quiet_wall:.1%} of a core watching, {share:.1%} with keys")
    print(f"key to screen, {load()}:")
    for name, times in took.items():
        told(name, times)
    told("all", [one for times in took.values() for one in times])
    print(
        f"asked of it: CPU below {MOST_SHARE:.0%}, p95 below {MOST_KEY_S * 1e3:.0f} ms, memory flat"
    )


class Still:
    """A source that gives rows when it is told to."""

    process: int | None = None

    def __init__(self) -> None:
        session = Session(plan(60).check(Registry.load()), "simulated")
        self._made = MadeUp(session)
        session.begin(self._made.columns, NoRows(), ("set", "act", "halt"))
        self.data = RunData("bench")
        take_in(self.data, session.described())
        take_in(self.data, session.state())
        self.more(30 * HERTZ)

    def more(self, rows: int) -> None:
        """So many rows more."""
        first = int(self.data.times[-1]) * HERTZ // 10**12 + 1 if self.data.rows else 0
        self.data.add(*self._made.read(first, first + rows))

    def poll(self) -> list[feed_messages.Answer]:
        """Nobody answers."""
        return []

    def ask(self, request: feed_messages.Request) -> str | None:
        """Nobody is asked."""
        return None

    def close(self) -> None:
        """Nothing is held."""


async def draws(size: tuple[int, int]) -> None:
    """CPU of a draw with its painting, view by view, each with 200 ms of new samples."""
    source = Still()
    app = Console(source, ticking=False)
    paints = Paints(app)
    print(f"CPU of a draw at {size[0]}x{size[1]}, {load()}:")
    async with app.run_test(size=size) as pilot:
        for name in KINDS:
            app.action_show_view(name)
            await pilot.pause(0.5)
            spent = 0.0
            for _ in range(DRAWS):
                source.more(HERTZ // 5)
                app.window.move_on(app.newest_ps, 0.2)
                before, seen = time.process_time(), paints.count
                app.draw()
                end = time.monotonic() + 1
                while paints.count == seen and time.monotonic() < end:
                    await asyncio.sleep(0.002)
                spent += time.process_time() - before
            print(f"  {name:<9} {spent / DRAWS * 1e3:5.1f} ms")
    print(f"asked of it: below {MOST_DRAW_S * 1e3:.0f} ms")


async def look_on(process: int, size: tuple[int, int], used: bool) -> None:
    """Watch a run of another process until it is over; `used`: with a key every second."""
    while not (
        notes := [note for note in session_registry.running_sessions() if note.process == process]
    ):
        await asyncio.sleep(0.1)
    app = Console(LiveSource(notes[0].address, notes[0].run, notes[0].plan))
    cpu, begin = time.process_time(), time.monotonic()
    async with app.run_test(size=size) as pilot:
        for turn in range(10_000):
            await asyncio.sleep(1.0)
            if app.data is not None and app.data.state is not None and not app.data.live:
                break
            if used:
                await pilot.press(list(VIEWS)[turn % len(VIEWS)])
        rows = app.data.rows if app.data else 0
    if app.source is not None:
        app.source.close()
    share = (time.process_time() - cpu) / (time.monotonic() - begin)
    told = f"{rows} rows, {app.data.dropped if app.data else 0} dropped"
    print(f"  the console saw {told}; it took {share:.1%} of a core")


@contextlib.contextmanager
def looked_on(how: str, size: str) -> Iterator[None]:
    """A console that watches what this process runs, or none."""
    if how == ALONE:
        yield
        return
    command = [sys.executable, __file__, "--look-on", str(os.getpid()), "--size", size]
    command += ["--used"] if how == USED else []
    with subprocess.Popen(command, start_new_session=True) as watcher:  # as in another terminal
        try:
            yield
            watcher.wait(60)
        finally:
            watcher.kill()


def fidelity(seconds: int, pace: float | None, cores: int | None, size: str) -> None:
    """The same software run without a console, with one, and with one that somebody uses."""
    found = Registry.load().plans()["quickstart"]
    table = Plan.load(found).to_table()
    table |= {"duration": f"{seconds}s", "target": "software", "timeline": [], "expect": []}
    table["phases"] = {"all": {"from": "0.5s", "to": f"{seconds}s"}}
    watched = Plan.load(found).with_data(table)
    run(watched.with_settings(["duration=1s", "phases.all.to=1s"]), out=None)  # compiles
    for how in (ALONE, WATCHED, USED) * 2:
        before = load()
        with looked_on(how, size):
            done = run(watched, out=None, live=True, pace=pace, cores=cores)
            told = done.result["fidelity"]
        held, late = told["held"], told["lateness_s"]
        print(
            f"{how}: fidelity {told['verdict']}, "
            f"late share {told['displaced_share']:.2e}, clock held back {held['share']:.2%} "
            f"({held['count']} times, longest {held['longest_s'] * 1e3:.1f} ms), "
            f"lateness p50 {late['p50'] * 1e6:.1f} us p99 {late['p99'] * 1e6:.0f} us "
            f"p99.9 {late['p99.9'] * 1e6:.0f} us; {before} before",
            flush=True,
        )


def main() -> None:
    """Start the feed, watch it; or one of the other measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--seconds", type=int, default=None)
    options.add_argument("--size", default="200x60", metavar="COLUMNSxROWS")
    options.add_argument("--draws", action="store_true")
    options.add_argument("--fidelity", action="store_true")
    options.add_argument("--pace", type=float, default=None)
    options.add_argument("--cores", type=int, default=None)
    options.add_argument("--used", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--feed", metavar="ADDRESS", help=argparse.SUPPRESS)
    options.add_argument("--look-on", type=int, metavar="PROCESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    width, height = map(int, chosen.size.split("x"))
    seconds = chosen.seconds or (10 if chosen.fidelity else 60)
    if chosen.feed:
        feed(chosen.feed, seconds)
    elif chosen.look_on:
        asyncio.run(look_on(chosen.look_on, (width, height), chosen.used))
    elif chosen.draws:
        asyncio.run(draws((width, height)))
    elif chosen.fidelity:
        fidelity(seconds, chosen.pace, chosen.cores, chosen.size)
    else:
        attended(seconds, (width, height))


def attended(seconds: int, size: tuple[int, int]) -> None:
    """A feed, and a console that watches it."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"ipc://{folder}/bench.feed"
        command = [sys.executable, __file__, "--feed", address, "--seconds", str(seconds + 120)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as feeder:
            assert feeder.stdout is not None
            print(f"{NODES} nodes, {feeder.stdout.readline().strip()} columns at {HERTZ} Hz")
            try:
                asyncio.run(watch(address, seconds, size))
            finally:
                feeder.kill()


if __name__ == "__main__":
    main()
