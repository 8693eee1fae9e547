"""Mapping of NIC clocks (PHC) to the system clock by a straight line per port.

Times that the kernel takes are of CLOCK_REALTIME. Those that a NIC takes are of a clock of its own,
a PTP hardware clock: what it reads is carried over by where both stood at one instant, and by how
much faster the system's runs. Who reads both (`orchestrator.targets.software.phc_tracker`) writes a
new
line every now and then, beside the one in use, and points to it last: it is used whole or not at
all.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled

WORD, LINE = 0, 1
"""Words of a wire's row of `Rig.clocks`: the word that its times begin at, in a control message of
three `struct timespec` (0: its port tells none); the line in use (0: its times are the system's,
1 or 2: the first or the second that follows)."""
FIRST, EACH = 2, 3
"""Begin of the first line, and words of a line: what the NIC's clock read (ns), what the
system's read then (ns), by how much faster that runs (billionths)."""
CLOCKS = FIRST + 2 * EACH
SOFTWARE_WORD, HARDWARE_WORD = 2, 6
"""Of such a control message: where the time that the kernel took begins, and the NIC's."""
FURTHEST_NS = 10**12
"""From the instant at which both clocks were read: what is further away is no time of this run."""


@compiled
def system_time(clocks: np.ndarray, wire: int, reading: int) -> int:
    """The system's clock (ns) when the clock of a wire's port read `reading` (ns)."""
    line = clocks[wire, LINE]
    if line == 0:
        return reading
    begin = FIRST + (line - 1) * EACH
    passed = min(max(reading - clocks[wire, begin], -FURTHEST_NS), FURTHEST_NS)
    return clocks[wire, begin + 1] + passed + passed * clocks[wire, begin + 2] // 10**9


def write_clock_mapping(
    clocks: np.ndarray, wire: int, own_ns: int, system_ns: int, ppb: int
) -> None:
    """Have a wire's times carried over by another line from now on. Call it from Python."""
    line = 2 if clocks[wire, LINE] == 1 else 1
    begin = FIRST + (line - 1) * EACH
    clocks[wire, begin : begin + EACH] = (own_ns, system_ns, ppb)
    clocks[wire, LINE] = line
