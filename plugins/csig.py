"""CSIG: a frame carries one record of the bottleneck port of its path (draft-ravi-ippm-csig).

A port compares what the frame says with its own signal and replaces the record where its own is
worse: the least bandwidth that is left (`bandwidth`), the least share of the rate that is left
(`share`), the longest time that the frame itself waited (`delay`); not in the draft: the longest
queue (`queue`). The record says the signal in kbit/s, millionths, ns or octets, then what every
stamp says: octets sent, time, rate, port, which is where the bottleneck is. A reaction point that
asks for room for one stamp (`stamped_hops`) gets it by every acknowledgement, `hops` says how many
ports have compared.

Decided here: bandwidth is what was sent since the last time it was measured, over the time since,
when a frame leaves `interval` after that or later, and the whole rate before the first time. A
signal is as the port has it, where the draft quantises it into a tag.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from tailback.plugin import (
    STAMP_IF_LARGER,
    STAMP_IF_SMALLER,
    Algorithm,
    Capability,
    Duration,
    Observed,
    Params,
    compiled,
    congestion_point,
    record,
)

US = 10**6
KILO = 10**3
MILLION = 10**6
MOST_OCTETS = 10**12
"""Taken for sent in one interval at the most: 8 s at 1 Tb/s, of which an int64 holds a million."""
MOST_RATE = 9 * 10**12
BANDWIDTH, SHARE, DELAY, QUEUE = range(4)


class Csig(Params):
    """Parameters of the comparison."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"csig": {}}

    signal: Literal["bandwidth", "share", "delay", "queue"] = Field(
        "bandwidth",
        description="of the first two ports keep the least, of the others the most",
    )
    interval: Duration = Field(
        100 * US, ge=US, le=10**12, description="measurement interval of a port's rate"
    )


STATE = record("used", "since", "sent")


@compiled
def _measure(state, params, queue, now):
    """Rate that the port sent in the last interval, in bit/s."""
    if now - state.since >= params.interval:
        octets = min(max(queue.bytes_out - state.sent, 0), MOST_OCTETS)
        state.used = octets * 8 * MILLION // ((now - state.since) // MILLION)
        state.since = now
        state.sent = queue.bytes_out


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves; `queue` does not hold it any more."""
    rate = min(queue.service_rate, queue.line_rate)
    message.delta = queue.bytes_out
    message.feedback = rate
    if params.signal == QUEUE:
        message.offset = queue.bytes
        return STAMP_IF_LARGER
    if params.signal == DELAY:
        message.offset = (now - frame.entered) // KILO
        return STAMP_IF_LARGER
    _measure(state, params, queue, now)
    left = max(rate - state.used, 0)
    if params.signal == SHARE:
        halves = 1 if rate > MOST_RATE else 0  # an int64 holds a million of it then
        message.offset = (left >> halves) * MILLION // max(rate >> halves, 1)
    else:
        message.offset = left // KILO
    return STAMP_IF_SMALLER


CSIG: Algorithm = congestion_point(
    "csig",
    "keeps one stamp on data frames, of the port with the least bandwidth left, as CSIG does",
    Csig,
    STATE,
    needs=frozenset({Capability.STAMPS}),
    keeps_one_stamp=True,
    columns=(Observed("used", "bit/s", "rate of the port in the last interval"),),
    departure=on_departure,
)
