"""Completion times of a run's messages as files: CSV, and the FCT file of HPCC's simulator.

That file has a line per completed flow, in the order of completion, as `qp_finish` of
simulation/scratch/third.cc (github.com/alibaba-edu/High-Precision-Congestion-Control) writes it:
addresses of source and destination in hexadecimal, source and destination port, octets, start,
completion time and that of the empty network, the last three in nanoseconds.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import MessageTable
from traces.run_reader import Run

PS_PER_NS = 1000
FIRST_PORT = 10_000
"""Source port of the first flow of a pair; the next one has the next."""
PORTS = 1 << 16
BASE_ADDRESS = 0x0B000001
"""11.0.0.1, the address of node 0."""
MOST_NODE = 1 << 16
DEFAULT_PORT = 100
"""Destination port of flows whose traffic entry names none."""
CSV_HEADER = (
    "entry",
    "flow",
    "source",
    "destination",
    "size_B",
    "start_ps",
    "fct_ps",
    "ideal_ps",
    "slowdown",
)
NUMBERED = re.compile(r"[A-Za-z_-]*?(0|[1-9][0-9]{0,4})")
NAMED_PORT = re.compile(r".*dport([0-9]{1,5})")


def address_of(node: int) -> int:
    """IPv4 address of a node's number: 11.0.0.1, then 11.0.1.1, ... 11.1.0.1 for node 256."""
    return BASE_ADDRESS + (node // 256 << 16) + (node % 256 << 8)


def messages_of(run: Run) -> MessageTable:
    """The messages of a run. Raises BadInput where it has none."""
    if run.messages is None:
        folder = str(run.folder or run.label)
        raise BadInput(folder, "has no messages.parquet: no traffic of its plan has messages")
    return run.messages


def ends_of(plan: Plan) -> dict[str, tuple[str, str]]:
    """Flow -> its source and destination."""
    return {flow.entity: (flow.node, flow.destination) for flow in plan.flows()}


def host_numbers(plan: Plan) -> dict[str, int]:
    """Node -> its number: the one that its name ends in, where these differ; else its place."""
    hosts = [name for name, node in plan.nodes.items() if node.kind in ("nic", "sink")]
    found = [NUMBERED.fullmatch(name) for name in hosts]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) == len(set(numbers)) == len(hosts) and max(numbers, default=0) < MOST_NODE:
        return dict(zip(hosts, numbers, strict=True))
    return {name: place for place, name in enumerate(hosts)}


def destination_port(entry: str, default: int) -> int:
    """The port that the name of a traffic entry ends in (pg3-dport200), else the default."""
    match = NAMED_PORT.fullmatch(entry)
    return int(match[1]) if match and int(match[1]) < PORTS else default


def write_csv(file: TextIO, run: Run) -> None:
    """Every message, with empty cells for what is not known of one that did not complete."""
    table, ends = messages_of(run), ends_of(run.parsed_plan())
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for row in range(len(table.size)):
        flow, entry = table.flows[int(table.flow[row])]
        start, done, ideal = (int(c[row]) for c in (table.start_ps, table.done_ps, table.ideal_ps))
        source, destination = ends[flow]
        time: list[object] = ["", ideal, ""]
        if done >= 0:
            time = [done - start, ideal, f"{(done - start) / ideal:.6f}"]
        begun = start if start >= 0 else ""
        writer.writerow([entry, flow, source, destination, int(table.size[row]), begun, *time])


def hpcc_lines(
    table: MessageTable,
    ends: Mapping[str, tuple[str, str]],
    numbers: Mapping[str, int],
    port: int,
    offset: int,
) -> Iterator[str]:
    """Lines of the FCT file; `offset` (ps) is added to every start, `port` is the default."""
    sports = _source_ports(table, ends)
    done = np.flatnonzero(table.done_ps >= 0)
    for row in done[np.argsort(table.done_ps[done], kind="stable")].tolist():
        flow, entry = table.flows[int(table.flow[row])]
        source, destination = (address_of(numbers[end]) for end in ends[flow])
        start, last = int(table.start_ps[row]), int(table.done_ps[row])
        times = (start + offset, last - start, int(table.ideal_ps[row]))
        words = " ".join(str(_ns(time)) for time in times)
        ports = f"{sports[row]} {destination_port(entry, port)}"
        yield f"{source:08x} {destination:08x} {ports} {int(table.size[row])} {words}\n"


def _ns(time: int) -> int:
    """Whole nanoseconds of ps, rounded to the nearest."""
    return (time + PS_PER_NS // 2) // PS_PER_NS


def _source_ports(table: MessageTable, ends: Mapping[str, tuple[str, str]]) -> Sequence[int]:
    """Port of each message: numbered through for each pair of nodes, in the order of starts."""
    counts: Counter[tuple[str, str]] = Counter()
    found = [0] * len(table.size)
    for row in np.argsort(table.start_ps, kind="stable").tolist():
        pair = ends[table.flows[int(table.flow[row])][0]]
        found[row] = (FIRST_PORT + counts[pair]) % PORTS
        counts[pair] += 1
    return found


def write_hpcc(file: TextIO, run: Run, port: int = DEFAULT_PORT, offset: int = 0) -> None:
    """The FCT file of HPCC's simulator, with the messages that completed."""
    plan = run.parsed_plan()
    table = messages_of(run)
    file.writelines(hpcc_lines(table, ends_of(plan), host_numbers(plan), port, offset))
