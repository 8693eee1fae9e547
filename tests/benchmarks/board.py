"""Every figure of speed that tailback answers for, as ratios, in one run.

    python tests/benchmarks/board.py [--csv FILE] [--page FILE] [BENCH ...]

Runs the benches beside this file one after another, each in a process of its own, prints a table
that says what was aimed at and what came, and keeps it: every row with the day, the commit and the
machine at the end of the CSV file, and a page. It takes some fifteen minutes, and wants the machine
for itself. A bench that cannot run here stands there with what it said. A page has, of benches that
were not asked for, what the file keeps of the same day and machine.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
KEPT = HERE / "board.csv"


@dataclass(frozen=True)
class Row:
    """One figure. `aim` bounds `value`, from below where `at_least`, else from above."""

    bench: str
    what: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = True

    @property
    def reached(self) -> str:
        """`yes`, `no`, or nothing where there is no aim."""
        if self.aim is None:
            return ""
        return (
            "yes" if (self.value >= self.aim) == self.at_least or self.value == self.aim else "no"
        )

    @property
    def asked(self) -> str:
        """The aim as people read it."""
        if self.aim is None:
            return ""
        return f"{'at least' if self.at_least else 'at most'} {shown(self.aim, self.unit)}"


def shown(value: float, unit: str) -> str:
    """Three digits that count, and the unit."""
    return f"{value:.3g} {unit}".rstrip() if value < 1000 else f"{value:.0f} {unit}".rstrip()


def start(found: Any) -> Iterator[Row]:
    """What a user waits for beside a simulation. What is compiled already is loaded without numba.
    Figures are drawn at once and not when they are looked at: a report is opened by browsers, which
    cannot draw it. Of a report's CPU time the import of matplotlib is a fifth of a second, each
    figure of a queue a tenth. Why not 1 s of `p4qcn-fig17`: it has 15 million samples (2 001 of
    each of 7 575 series) and five figures. To encode the samples takes a quarter of its time, not
    much less without compression; the figures take another quarter, and importing numpy, pydantic,
    pyarrow and matplotlib as much."""
    by = {row["what"]: row for row in found}
    yield Row(
        "start",
        "first run, nothing compiled yet, on the wall",
        by["first"]["wall_s"],
        "s",
        12,
        False,
    )
    yield Row("start", "first run, CPU", by["first"]["cpu_s"], "s")
    yield Row(
        "start", "the command, `tailback --version`", by["version"]["wall_s"], "s", 0.5, False
    )
    yield Row(
        "start",
        "a run of one microsecond, without a report",
        by["instant"]["wall_s"],
        "s",
        1,
        False,
    )
    for name in ("quickstart", "p4qcn-fig17"):
        row = by[name]
        beside = row["cpu_s"] - row["simulated_s"]
        limit = max(1.0, row["simulated_s"])
        yield Row(
            "start",
            f"`{name}` with its report, CPU beside the simulation",
            beside,
            "s",
            limit,
            False,
        )


def simulator(found: Any) -> Iterator[Row]:
    """Frames per CPU second beside peers. On the peers' network a frame is two events and some
    1 240 / 1 400 / 1 530 instructions at 8 / 64 / 512 sources; the C++ loop takes 1 000 / 1 280 /
    1 580 (cachegrind) for four events. Of fig11 a frame is one event, at the input of the switch,
    and some 1 550 instructions: what its source does then was an event of its own before, which
    took as much. With 512 sources most frames are dropped. Why it is not as fast with these as with
    8: 1 MB of records of sources against 16 KB. Of a cache of 32 KB a frame misses 41 lines, which
    lie in the second level (of 1 MB, 0.1 are missed there; 3.6 when what waits in host queues had
    descriptors), and the tournament is two levels higher. The C++ loop keeps 0.67 of its speed."""
    rates = {(row["sources"], row["contestant"]): row["frames_per_cpu_s"] for row in found}
    counts = sorted({row["sources"] for row in found})
    fig11, bare, loop = "tailback fig11", "tailback, peers' network", "C++ event loop"
    for count in counts:
        yield Row(
            "simulator", f"fig11 with QCN, {count} sources", rates[count, fig11] / 1e6, "M frames/s"
        )
        ratio = rates[count, fig11] / rates[count, loop]
        yield Row(
            "simulator", f"fig11 with QCN over a C++ loop without, {count} sources", ratio, "", 1
        )
        ratio = rates[count, bare] / rates[count, loop]
        yield Row("simulator", f"the peers' network over a C++ loop, {count} sources", ratio, "", 1)
        ratio = rates[count, bare] / rates[count, "SimPy"]
        yield Row("simulator", f"the peers' network over SimPy, {count} sources", ratio, "")
    flat = rates[counts[-1], fig11] / rates[counts[0], fig11]
    yield Row("simulator", f"fig11, {counts[-1]} sources over {counts[0]}", flat, "", 0.85)


def large(found: Any) -> Iterator[Row]:
    """Racks and trees. Why not 6 M frames/s of ibm-rack640: that is 167 ns a frame, and a frame is
    one event now, that of its arrival at the input (4.05 before NICs, transfers, outputs and what
    leaves them needed none). What all of them do is done all the same, in the event of the input: a
    frame of ibm-rack64 takes 2 470 instructions (`make count`; 3 770 before). The half of that is
    what is lacking. The rest is memory, 1.6 MB of records beside a second-level cache of
    1 or 2 MB, and not mended by their layout: whole lines with the fields of every event first
    gained 2 % here and nothing at 512 sources of fig11; the record of who wakes next brought near
    beforehand gained 1 % here and cost 10 to 20 % there. Neither was kept."""
    rack, tree = found
    yield Row("large", "ibm-rack640", rack["frames_per_cpu_s"] / 1e6, "M frames/s", 6)
    yield Row("large", "ibm-rack640, most memory", rack["most_memory_mb"], "MB", 300, False)
    yield Row("large", "a fat tree of 8 192 hosts: plan checked", tree["check_s"], "s")
    yield Row(
        "large", "a fat tree of 8 192 hosts: laid out, 1 ms run", tree["laid_out_and_run_s"], "s"
    )
    yield Row(
        "large", "a fat tree of 8 192 hosts: all of it, with its report", tree["with_report_s"], "s"
    )
    yield Row(
        "large", "a fat tree of 8 192 hosts: most memory", tree["most_memory_with_report_mb"], "MB"
    )


def transports(found: Any) -> Iterator[Row]:
    """Acknowledged transports on fat trees of 10 Gb/s (DCTCP) and 200 Gb/s (NSCC with selective
    repeat, frames of 4 KB, as in htsim), beside Debian's ns-3 with DCTCP on the same pairs of
    hosts. Memory is what the run adds to a process that has loaded the engine. The permutation of 1
    024 hosts took 15.2 GB when every frame that full queues and links could hold had a descriptor.
    What remains for each of 8 192 hosts: 60 KB of names of sampled quantities and records of its
    share of the ports, 45 KB of states (18 KB of NSCC's; of selective repeat's 98 KB what its
    window reaches), 12 KB of frames under way, 37 KB of the plan. A frame takes some 23 events,
    half of them of its acknowledgement. Why it is slower with more hosts: at 128 hosts records and
    frames fit the second level of the caches; at 1 024 they are 30 MB, at 8 192 some 500 MB, and a
    quarter of the time of 1 024 hosts goes by at two loads, the first frame of a delay line and the
    time of the next (`perf`). htsim, built by hand on another day, took 21 CPU s and 118 MB for the
    permutation of 1 024 hosts."""
    for row in found:
        name = row["case"]
        rate = row["frames_per_cpu_s"] / 1e6
        yield Row("transports", f"{name}: data frames", rate, "M frames/s")
        aim = 236 if name == "nscc-permutation-1024" else 800 if row["hosts"] == 8192 else None
        yield Row("transports", f"{name}: memory", row["memory_mb"], "MB", aim, False)
        yield Row("transports", f"{name}: memory of a host", row["memory_kb_per_host"], "KB")
        if "over_ns3" in row:
            yield Row(
                "transports", f"{name}: frames of a CPU second over ns-3", row["over_ns3"], "", 50
            )


def cores(found: Any) -> Iterator[Row]:
    """One run cut for two cores, wherever it can be. How it would go on with more is told by
    `bench_cores.py --windows --cores N`: the cores over the share of the busiest part (`even`) is
    all that they can gain. For the fat tree of 1 024 hosts that is 1.9, 3.2 and 4.3 times on 2, 4
    and 8 cores (even: 1.03, 1.24, 1.85), with 11 700 events in a window of 1 us. In ibm-rack640
    hosts on another core than their switch need the events that they do without beside it, and so
    does what the switch sends them: five times as many in all. So `tailback run --cores` leaves it
    on one core, as it does with all plans of a single switch. The tree gained 1.94 on another
    machine and 1.68 on this one before one core did without the events of NICs: that made one core
    a seventh faster, and two no slower. Published: Unison (EuroSys '24, its
    abstract) is 40 times as fast as sequential ns-3 on 24 cores and 10 times as fast as older
    parallel simulation on as many; DONS (SIGCOMM '23, doi 10.1145/3603269.3604844) is quoted with
    65 times OMNeT++, on which it gains by the layout of its data as well. Both count from
    simulators that are far slower on one core than what stands in the section Simulator; what
    Unison gains beyond its cores its authors put down to caches, and nothing was timed here on more
    than 2 cores."""
    for row in found:
        aim = None if row["plan"] == "netfpga-fig11" else 1.7
        yield Row(
            "cores",
            f"{row['plan']} on {row['cores']} cores: sooner by",
            row["sooner"],
            "times",
            aim,
        )
        yield Row(
            "cores",
            f"{row['plan']}: events of a window of {row['window_us']:.3g} us",
            row["events"],
            "",
        )


def gateware(found: Any) -> Iterator[Row]:
    """Clocks of two NICs and a switch. Why not 2 MHz: of the time in which clocks go by, the code
    that Verilator makes of the three circuits has 97 % (`perf record`: the switch 62 %, both NICs
    together 35 %), the loop, links and frames around it 3 %. Where a clock was 1.9 us the switch
    had 1.2 of it: with a core for each node it would have come to 0.86 MHz at the most. Its code is
    400 KB in all, beside 32 KB of first-level cache. `-O3`, `--x-assign fast` and `--x-initial
    fast` are in; `-march=native` and builds by a profile gained nothing. Clocks in which nothing
    happens are skipped (page Gateware): these shares are of clocks that are evaluated."""
    for row in found:
        per = "a CPU second" if row["rate"] == "clocks_per_cpu_s" else "a second"
        text = f"two NICs and a switch, {row['load']}, {row['cores']} cores, clocks in {per}"
        yield Row("gateware", text, row["mhz"], "MHz", 2)


def traces(found: Any) -> Iterator[Row]:
    """Captures. The aim is 60 M frames a second on one core. A frame that looks like one before,
    and whose time and number go on, is recognised by one masked comparison of its first 64 octets
    and counted in one line of numbers of its flow, by some 90 instructions from its record on (281
    before, and 28 to find it). On one core records of pcap are found in the same loop, so nothing
    is written of most frames; of pcapng, and on two cores, they are found first: one core reads and
    finds, the other one looks at them in order, as what a flow's numbers say depends on those
    before. What is missing: to copy a frame out of the file's pages takes about two thirds as long
    as to count it, and a control frame as long as some fifty others. Reading from a mapped file
    took 28 % less than copying, but ends the process with SIGBUS when somebody truncates the file
    meanwhile; so it is copied."""
    rate = found["frames_per_cpu_second"]["analyze"] / 1e6
    yield Row("traces", "a capture analysed, of a CPU second", rate, "M frames/s", 60)
    walls = found["analyzed_per_second_on_the_wall"]
    if "analyze on two cores" in walls:
        wall = walls["analyze on two cores"] / 1e6
        text = "one capture analysed on two cores, on the wall"
        yield Row("traces", text, wall, "M frames/s", 60)
        ratio = found["two_cores_times_as_fast_as_one"]
        yield Row("traces", "the same over one core", ratio, "")
    for peer, ratio in found["analyze_times_as_fast_as"].items():
        if peer not in ("read", "read, dissect", "analyze", "analyze on two cores"):
            yield Row("traces", f"analysis over `{peer}`", ratio, "")


def sweep(found: Any) -> Iterator[Row]:
    """What a point costs."""
    yield Row(
        "sweep",
        "a point beyond a plain loop's, CPU",
        found["overhead_ms_per_point"],
        "ms",
        10,
        False,
    )
    yield Row("sweep", "the same as a share", found["overhead_share"], "", 0.2, False)


def datapath(found: Any) -> Iterator[Row]:
    """Real frames over one hop: of 70 octets, the shortest data frames, and of 1500. A switch node
    with a congestion point and Open vSwitch have a core, the sender another one; both by the second
    for which they had it. Ports without a node, and the Linux bridge, share one with the sender."""
    for length in ("70B", "1500B"):
        rows = found[length]
        rates, waits = rows["two_cores_per_cpu_s"], rows["latency_us"]["half"]
        nodes = {way: rate for way, rate in rates.items() if way.startswith("switch")}
        peers = {way: rate for way, rate in rates.items() if way.startswith("ovs")}
        for way, rate in (nodes | peers).items():
            yield Row("datapath", f"{length}, {way}", rate / 1e6, "M frames/s")
            what = f"{length}, {way}: latency at half of its rate"
            for share in ("p50", "p99"):
                yield Row("datapath", f"{what}, {share}", waits[way][share], "us")
        for kind in ("packet", "xdp"):
            best = [max((r for w, r in some.items() if kind in w), default=0) for some in
                    (nodes, peers)]  # fmt: skip
            if all(best):
                what = f"{length}, the switch node over Open vSwitch, by {kind}"
                yield Row("datapath", what, best[0] / best[1], "", 1)
        for way, ratio in rows["of_bridge"].items():
            if way != "bridge":
                rate = rows["one_core"][way] / 1e6
                yield Row("datapath", f"a hop on one core, {length}, {way}", rate, "M frames/s")
                yield Row("datapath", f"the same over the Linux bridge, {length}, {way}", ratio, "")


def limiter(found: Any) -> Iterator[Row]:
    """Limiters, by the kernel's times at the far end, beside those of the kernel."""
    for rate, rows in found.items():
        for name, row in rows.items() if rate.endswith("Mb/s") else ():
            if "skipped" in row:
                continue
            ours, fine = name.startswith("tailback"), name.endswith("100 ns")
            error = abs(row["mean_error_percent"])
            yield Row(
                "limiter", f"{rate}, {name}: mean error", error, "%", 0.01 if ours else None, False
            )
            off = row["steady_gap_p99_us"] - row["ideal_us"]
            aim = 1.0 if fine and rate == "950 Mb/s" else None
            what = f"{rate}, {name}: gap p99 over the ideal one, outside stalls"
            yield Row("limiter", what, off, "us", aim, False)


Reader = Callable[[Any], Iterator[Row]]
BENCHES: dict[str, tuple[Reader, list[str]]] = {
    "start": (start, ["bench_start.py", "--json"]),
    "simulator": (simulator, ["bench_simulator.py", "--json"]),
    "large": (large, ["bench_large.py", "--json"]),
    "transports": (transports, ["bench_transports.py", "--json"]),
    "cores": (cores, ["bench_cores.py", "--json"]),
    "gateware": (gateware, ["bench_gateware.py", "--json"]),
    "traces": (traces, ["bench_traces.py"]),
    "sweep": (sweep, ["bench_sweep.py", "16", "10"]),
    "datapath": (datapath, ["bench_datapath.py"]),
    "limiter": (limiter, ["bench_limiter.py"]),
}


def run(name: str) -> list[Row] | str:
    """Its rows, or the last line of what it said when it failed."""
    reader, words = BENCHES[name]
    path = os.pathsep.join(filter(None, (str(HERE.parents[1]), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, str(HERE / words[0]), *words[1:]],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
    return list(reader(json.loads(done.stdout)))


def machine() -> str:
    """The processor, its cores, the kernel and the Python that all ratios belong to."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    model = names[0] if names else platform.machine()
    count = len(os.sched_getaffinity(0))
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{count} cores, {model}, Linux {kernel}, Python {platform.python_version()}"


def commit() -> str:
    """That of the checkout, with a `+` where it was changed."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


Others = dict[str, tuple[str, list[Row]]]
"""Rows by bench, each with the commit that they were measured at."""


def page(
    found: dict[str, list[Row] | str], when: str, of: str, where: str, others: Others | None = None
) -> str:
    """The page in Markdown; `others` are benches of other days or commits, each with its own."""
    made_now = f"{when}, commit {of}"
    told = {**{name: (made_now, rows) for name, rows in found.items()}, **(others or {})}
    lines = [
        "# Performance",
        "",
        f"What `make bench` measured on {made_now}, on one machine: {where}.",
        "A row with an aim says whether it was reached. Peers ran in turn with what stands beside",
        "them: ratios carry further than times. Every row of every day is kept in",
        "`tests/benchmarks/board.csv`; that instructions do not grow is held by `make count`.",
        "",
        "<!-- not run: a quarter of an hour, and nothing else on the machine -->",
        "```sh",
        "make bench",
        "```",
    ]
    for name in (name for name in BENCHES if name in told):
        made, rows = told[name]
        doc = inspect.cleandoc(BENCHES[name][0].__doc__ or "")
        lines += [
            "",
            f"## {name.capitalize()}",
            "",
            doc + f" Measured on {made}." * (made != made_now),
            "",
        ]
        if isinstance(rows, str):
            lines.append(f"Not measured: {rows}")
            continue
        lines += ["| what | measured | aim | reached |", "|---|---|---|---|"]
        lines += [
            f"| {r.what} | {shown(r.value, r.unit)} | {r.asked} | {r.reached} |" for r in rows
        ]
    return "\n".join(lines) + "\n"


def keep(path: Path, rows: Sequence[Row], when: str, of: str, where: str) -> None:
    """Add rows to a CSV file that may not be there yet."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        fields = ("day", "commit", "machine", "bench", "what", "value", "unit", "aim", "at_least")
        writer = csv.DictWriter(file, fields)
        if fresh:
            writer.writeheader()
        for row in rows:
            told = asdict(row) | {"value": f"{row.value:.6g}"}
            writer.writerow({"day": when, "commit": of, "machine": where, **told})


def kept(path: Path, where: str) -> Others:
    """What a CSV file has of this machine: of each bench the day and commit that came last."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["machine"] == where]
    made = [f"{row['day']}, commit {row['commit']}" for row in rows]
    last = {row["bench"]: one for row, one in zip(rows, made, strict=True)}
    found: dict[str, dict[str, Row]] = {}
    for row, one in zip(rows, made, strict=True):
        if one == last[row["bench"]]:
            found.setdefault(row["bench"], {})[row["what"]] = Row(
                row["bench"],
                row["what"],
                float(row["value"]),
                row["unit"],
                float(row["aim"]) if row["aim"] else None,
                row["at_least"] == "True",
            )
    return {bench: (last[bench], list(told.values())) for bench, told in found.items()}


def main() -> None:
    """Run them, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benches", nargs="*", default=list(BENCHES), metavar="BENCH")
    parser.add_argument(
        "--csv", type=Path, default=KEPT, metavar="FILE", help=f"default {KEPT.name}"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write it as a page, too")
    asked = parser.parse_args()
    if strange := [name for name in asked.benches if name not in BENCHES]:
        parser.error(f"{', '.join(strange)}: no bench; one of {', '.join(BENCHES)} is expected")
    notes, screen = Console(stderr=True), Console()
    when, of, where = f"{datetime.now(UTC):%Y-%m-%d}", commit(), machine()
    found: dict[str, list[Row] | str] = {}
    for at, name in enumerate(asked.benches, start=1):
        notes.print(f"{name} ({at} of {len(asked.benches)})")
        found[name] = run(name)
    table = Table("bench", "what", "measured", "aim", "reached", title=where)
    for name, rows in found.items():
        if isinstance(rows, str):
            table.add_row(name, rows, "", "", "not measured")
            continue
        for row in rows:
            table.add_row(name, row.what, shown(row.value, row.unit), row.asked, row.reached)
    screen.print(table)
    keep(
        asked.csv,
        [r for rows in found.values() if not isinstance(rows, str) for r in rows],
        when,
        of,
        where,
    )
    if asked.page:
        others = kept(asked.csv, where)
        others = {name: one for name, one in others.items() if name not in found}
        asked.page.write_text(page(found, when, of, where, others))


if __name__ == "__main__":
    main()
