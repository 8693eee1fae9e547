"""Table of a Verilated model's state: what tells that the model is at rest, and for how long.

A model at rest repeats its state every REST_PERIOD clocks: its scans look at flows, limiters and
timers in turn, and nothing is due. `idle.cpp` compares the state at both ends of such a period, so
that rest is observed and not assumed; the fabric then skips whole periods (`fabric.cpp`). Three
kinds of members are not compared:

- copies of the time and counters of clocks, which grow by the same amount in every period;
- the credit of a service rate, which grows by the rate in every clock until a frame may start;
- memories of frames, events and compiled kernels' arrays, which are written only where an index or
  a state machine moves that is compared.

Members that hold an instant (a flow's next frame, a refill, a timer, the end of a PAUSE) bound how
long the rest lasts. A module that reads the time in another way has to be added here: modules with
a port `now` are listed in `TIMED_MODULES`, and a test holds the list against the Verilog.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TIMED_MODULES = frozenset(
    {
        "arrival_gate",
        "departure_gate",
        "flow_sources",
        "nic_limiters",
        "pause_control",
        "pause_timer",
        "qcn_nic",
        "qcn_rp",
        "qcn_switch",
        "switch_port",
        "token_bucket",
    }
)
"""Modules with a port `now` whose times are in the tables below, or that pass the time on."""
UNSUPPORTED_MODULES = frozenset(
    {"delay_line", "delay_unit", "generator_unit", "packet_generator", "ps_clock"}
)
"""Modules with a port `now` that no node has."""

TIMES = {
    ("output_port", "event_time"),
    ("buckets", "moment"),
    ("timer", "received_at"),
    ("port_timer", "received_at"),
    ("class_timer", "received_at"),
}
"""Instances and members that may hold the time of some clocks ago."""
CLOCK_COUNTERS = frozenset({"paused_clocks"})
CREDITS = frozenset({"credit", "raised"})
"""Credit of a service rate, and the sum that it becomes in the coming clock."""
INSTANTS = {
    ("sources", "states"),
    ("buckets", "ticks"),
    ("reaction_points", "timers"),
    ("reaction_points", "timer_of"),
    ("cp", "timer"),
    ("output_port", "timer"),
    ("qcn_nic", "held_until"),
    ("output_port", "port_until"),
    ("class_timer", "until_ps"),
}
"""Instances and members with an instant in the uppermost bits; `until_ps` has one per class."""
TIMER_BITS = (63, 64)
"""Widths of a timer of `qcn_rp` and of compiled kernels: bit 62 says that it is not set."""
EXPECTED = {
    "qcn_nic": {
        *(("sources", "states"), ("buckets", "ticks"), ("reaction_points", "timers")),
        *(("qcn_nic", "held_until"), ("timer", "received_at")),
    },
    "qcn_switch": {
        *(("output_port", "timer"), ("output_port", "port_until"), ("output_port", "event_time")),
        *(("service", "credit"), ("service", "held")),
    },
}
"""Instances and members without which a table would be incomplete."""
KERNEL_TIMERS = {("reaction_points", "timer_of"), ("cp", "timer")}
"""One of these is expected of compiled kernels, a limiter's in place of the hand-written one."""
UNCOMPARED = frozenset(
    {"memory", "lengths", "stamps", "headers", "events", "notes", "arriving", "q_stamp"}
)
"""Memories; `arriving` and `q_stamp` are wires: the time, and a header that is compared."""
TIME_BITS = 62
SWITCH_PERIOD = 1
"""Clocks: a switch has no scan, at rest its state stays."""

_TEMPORARY = re.compile(r"^__V(?!dfg)|____Vlvbound_")
"""Members that Verilator writes before it reads them in each clock, and its own."""
_SCALAR = re.compile(r"^\s+(CData|SData|IData|QData|VlWide<\d+>)/\*(\d+):0\*/ (\w+);$")
_PORT = re.compile(r"^\s+VL_OUT(?:8|16|64|W|)\((\w+),(\d+),0(?:,\d+)?\);$")
_ARRAY = re.compile(
    r"^\s+VlUnpacked<(?:CData|SData|IData|QData|VlWide<\d+>)/\*(\d+):0\*/, (\d+)> (\w+);$"
)


@dataclass(frozen=True)
class Member:
    """A member of Verilator's root class: bits of an element, number of elements (0: a scalar)."""

    name: str
    bits: int
    elements: int

    @property
    def last(self) -> str:
        """Name within its module."""
        return self.name.rsplit("__DOT__", 1)[-1]

    @property
    def instance(self) -> str:
        """Instance that it is in."""
        return (self.name.split("__DOT__")[:-1] or [""])[-1]


def members(header: str) -> list[Member]:
    """The members of Verilator's root class that hold state, from the text of its header."""
    found = []
    for line in header.splitlines():
        if scalar := _SCALAR.match(line):
            found.append(Member(scalar[3], int(scalar[2]) + 1, 0))
        elif port := _PORT.match(line):
            found.append(Member(port[1], int(port[2]) + 1, 0))
        elif array := _ARRAY.match(line):
            found.append(Member(array[3], int(array[1]) + 1, int(array[2])))
    return found


def rest_period(top: str, parameters: Mapping[str, int]) -> int:
    """Clocks after which the scans of a node at rest are where they were."""
    if top != "qcn_nic":
        return SWITCH_PERIOD
    flows, limiters = parameters["FLOWS"], parameters["LIMITERS"]
    return math.lcm(4 * flows, 3 * limiters)


def no_rest_table() -> str:
    """The table of a model that is never at rest: all its clocks are evaluated."""
    return _table(0, [], [], [], [], [])


def rest_table(header: str, top: str, parameters: Mapping[str, int], *, compiled: bool) -> str:
    """The table as C++ for `idle.cpp`, from the header of Verilator's root class.

    `parameters`: those of the module `top`, with `compiled` kernels in it. Where the header is not
    as expected (another version of Verilator), it is the table of a model that is never at rest.
    """
    compared, times, counters, credits, instants = [], [], [], [], []
    for member in members(header):
        name, last = member.name, member.last
        if (member.instance, last) in TIMES:
            times.append(f"OFFSET({name})")
        elif last in CLOCK_COUNTERS:
            counters.append(f"OFFSET({name})")
        elif last in CREDITS and member.instance == "service":
            held = name.removesuffix(last) + "held"
            credits.append(f"{{OFFSET({name}), OFFSET({held})}}")
        elif not (last in UNCOMPARED or last.endswith("_memory") or _TEMPORARY.search(name)):
            compared.append(f"SPAN({name})")
        instants += _instants(member)
    present = {(member.instance, member.last) for member in members(header)}
    lacks = EXPECTED[top] - present
    if compiled and KERNEL_TIMERS & present:
        lacks -= {("reaction_points", "timers")}
    elif compiled:
        lacks |= KERNEL_TIMERS
    if lacks or _unread(header):
        return no_rest_table()
    return _table(rest_period(top, parameters), compared, times, counters, credits, instants)


def _unread(header: str) -> bool:
    """Return whether the header declares signals of modules that `members` does not know."""
    names = set(re.findall(r"\b(\w+__DOT__\w+);", header))
    return names != {member.name for member in members(header) if "__DOT__" in member.name}


def _table(
    period: int,
    compared: list[str],
    times: list[str],
    counters: list[str],
    credits: list[str],
    instants: list[str],
) -> str:
    lines = [f"constexpr int64_t REST_PERIOD = {period};"]
    lines += _array("Span", "COMPARED", compared)
    lines += _array("size_t", "TIMES", times)
    lines += _array("size_t", "CLOCK_COUNTERS", counters)
    lines += _array("Credit", "CREDITS", credits)
    lines += _array("Instant", "INSTANTS", instants)
    return "\n".join(lines) + "\n"


def _instants(member: Member) -> list[str]:
    name = member.name
    if (member.instance, member.last) not in INSTANTS:
        return []
    if member.last == "until_ps":
        lanes = range(member.bits // TIME_BITS)
        return [f"INSTANT({name}, {TIME_BITS * lane}, 1, 0, false)" for lane in lanes]
    flagged = member.bits in TIMER_BITS
    lowest = 0 if flagged else member.bits - TIME_BITS
    count = max(member.elements, 1)
    step = f"sizeof(Root::{name}) / {count}"
    return [f"INSTANT({name}, {lowest}, {count}, {step}, {str(flagged).lower()})"]


def _array(kind: str, name: str, rows: list[str]) -> list[str]:
    """A `std::array` of rows, which may have none."""
    head = f"const std::array<{kind}, {len(rows)}> {name}"
    return [f"{head} = {{{{", *(f"    {row}," for row in rows), "}};"] if rows else [f"{head}{{}};"]


def write_rest_table(
    made: Path, top: str, parameters: Mapping[str, int], *, rests: bool, compiled: bool
) -> None:
    """Write `rest_table.h` for `idle.cpp` into the folder `made` of Verilator's output.

    Without `rests` the model is never at rest: all its clocks are evaluated.
    """
    header = (made / "Vnode___024root.h").read_text()
    table = no_rest_table()
    if rests:
        table = rest_table(header, top, parameters, compiled=compiled)
    (made / "rest_table.h").write_text(table)
