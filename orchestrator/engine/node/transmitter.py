"""Transmitter of a port and the delay line behind it: serialisation, then a FIFO of due times."""

from __future__ import annotations

from typing import Any

from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import line_actor
from orchestrator.engine.node.delay_line import link_delay
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.early_delivery import count_at_send
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.fault_injection import transmit_injected
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE, Port

BIT_PS = 8_000_000_000_000
"""ps that an octet takes at 1 bit/s."""

QUANTUM_PS = 512 * 10**12
"""ps that a quantum lasts at 1 bit/s."""


LONGEST_PS = 1 << 60
"""Upper bound of times on the wire: 13 days, where a run lasts an hour at most. Two of them and
the clock together stay below NEVER."""

AT_ONCE = 10**6
"""Octets whose ps at 1 bit/s, with 10^13 added to round up, are within an int64."""


@inlined
def wire_time(octets: int, rate: int) -> int:
    """ps that `octets` (any size of a plan, to 10^12) take at `rate` (bit/s, to 10^13), rounded up.

    At most LONGEST_PS.
    """
    if octets > AT_ONCE:
        return _long_wire_time(octets, rate)
    return min((octets * BIT_PS + rate - 1) // rate, LONGEST_PS)


@compiled
def _long_wire_time(octets: int, rate: int) -> int:
    """The same, divided digit by digit: 1.2 MB times BIT_PS are beyond an int64."""
    time, rest = octets * 8 // rate, octets * 8 % rate
    for _ in range(4):  # s, ms, us, ns, ps
        if time > LONGEST_PS // 1000:
            return LONGEST_PS
        time = time * 1000 + rest * 1000 // rate
        rest = rest * 1000 % rate
    return min(time + (1 if rest > 0 else 0), LONGEST_PS)


@compiled
def quanta_time(quanta: int, rate: int) -> int:
    """ps that `quanta` of 512 bit times (802.3 annex 31B) last at `rate` (bit/s), rounded up.

    Divided in two parts: 65 535 quanta times the ps of a bit at 1 bit/s are beyond an int64.
    """
    whole, rest = QUANTUM_PS // rate, QUANTUM_PS % rate
    return quanta * whole + (quanta * rest + rate - 1) // rate


CLOCK_BITS = 30
"""A clock's drift is counted in 2^-30: 1 ppm is 1 073 of them."""

SHORT_PS = 1 << 40
"""Times below, 1.1 s, can be multiplied by any drift (1 000 ppm at most) within an int64."""


@inlined
def by_clock(time: int, drift: int) -> int:
    """ps that `time` (ps, not negative) by a clock that is `drift` * 2^-30 slow takes, rounded down
    to whole ps; without drift exactly `time`. From 2^60 ps on it means never, and stays."""
    if time < SHORT_PS:
        return time + (time * drift >> CLOCK_BITS)
    return time if time >= LONGEST_PS else time + (time >> CLOCK_BITS) * drift


@inlined
def on_wire(port: Port, octets: int) -> int:
    """ps that `octets` take on a port's wire by the clock of its node, divided out again only when
    octets or rate are not those of the last time."""
    if port.timed_octets != octets or port.timed_rate != port.rate:
        port.timed_octets = octets
        port.timed_rate = port.rate
        port.timed_ps = by_clock(wire_time(octets, port.rate), port.drift)
    return port.timed_ps


@inlined
def cached_wire_time(place: Any, octets: int, rate: int) -> int:
    """`wire_time`, divided out again only when octets or rate are not those of the last time.

    `place` is the record that keeps it, a queue or an input.
    """
    if place.timed_octets != octets or place.timed_rate != rate:
        place.timed_octets = octets
        place.timed_rate = rate
        place.timed_ps = wire_time(octets, rate)
    return place.timed_ps


@inlined
def transmit(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """Start sending a frame: the transmitter is busy for its wire time, then the line holds it."""
    port = w.ports[port_index]
    frame = w.frames[index]
    port.free_at = now + on_wire(port, frame.length + port.overhead)
    port.bytes_out += frame.length
    port.frames_out += 1
    if port.injector != 0:
        transmit_injected(w, port_index, index, now)
        return
    delay = link_delay(w, port, frame, now)
    if delay < 0:
        port.frames_lost += 1
        give_back(w, index)
        return
    frame.due = port.free_at + delay
    if port.ahead != 0 and count_at_send(w, port_index, index):
        return
    frame.next = NONE
    if port.line_head == NONE:
        frame.due = max(frame.due, port.last_due)
        port.line_head = index
        if port.entries == 0:  # else its wake is set when its port has done what was due
            wake_at(w, line_actor(w, port_index), frame.due + port.patience)
    else:
        last = w.frames[port.line_tail]
        frame.due = max(frame.due, last.due)  # a shortened delay does not reorder
        last.next = index
    port.line_tail = index
    port.line_bytes += frame.length
