"""Duration of PAUSE quanta, and the margin before their end at which the next frame is sent."""

from __future__ import annotations

from orchestrator.engine.node.transmitter import quanta_time, wire_time

PS_PER_NS = 1000
WIRE_OCTETS = 84
"""Of a PAUSE or PFC frame: 64 with FCS, 20 of preamble and gap."""
SHARE = 3, 4
"""Of the hold: the margin at least. Four frames are sent in the time of one, and a machine that
stands still for less than three quarters of the hold leaves no lapse."""
MOST_SHARE = 7, 8
LEAST_DIVISOR = 8
FRAME_NS = 2_500
"""What a frame takes of a core, with its stamp: 2.0 us on that of docs/pfc-storm.md, and some."""
BUSY = 3, 4
"""Of a core, at the most: a thread that sleeps the rest may have the real-time scheduling class."""
LATENESSES = 4
"""Times the measured lateness (99.9th percentile): the margin where that is more."""


def hold_ns(quanta: int, rate_bps: int) -> int:
    """Duration for which quanta of 512 bit times pause a port of a rate, rounded down (ns)."""
    return int(quanta_time(quanta, rate_bps)) // PS_PER_NS


def wire_ns(rate_bps: int) -> int:
    """Time of one frame on the wire, rounded up (ns)."""
    return -(-int(wire_time(WIRE_OCTETS, rate_bps)) // PS_PER_NS)


def margin_ns(hold: int, lateness: int, ports: int = 1) -> int:
    """The margin of a hold (ns) on a machine that is late by `lateness` (ns, 99.9th percentile).

    Three quarters of the hold, more where four times the lateness asks for it, 7/8 at the most. One
    of many ports has less, so that their frames take three quarters of a core and no more, down to
    an eighth: then one core is not enough to be sure.
    """
    least = hold * SHARE[0] // SHARE[1]
    most = hold * MOST_SHARE[0] // MOST_SHARE[1]
    asked = min(max(least, LATENESSES * lateness), most)
    return max(min(asked, hold - apart_ns(ports)), hold // LEAST_DIVISOR)


def apart_ns(ports: int) -> int:
    """The time (ns) from one frame of a port to its next in which those of all leave a quarter of a
    core."""
    return ports * FRAME_NS * BUSY[1] // BUSY[0]
