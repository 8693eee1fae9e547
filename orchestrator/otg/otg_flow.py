"""Raw flows of an OTG configuration: ends, sizes, rates, durations, metrics.

Decisions where the model is silent, as in IEEE 802.3: a size counts the FCS (64 octets are 60 on a
packet socket); rates in bit/s and percentages are those of layer 1, with 20 octets of preamble and
gap per frame; the percentage is of the port's speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.otg.frame_template import FrameTemplate, read_template
from orchestrator.otg.otg_ports import LARGEST_SIZE, OtgPort, port_rows
from orchestrator.otg.otg_reader import Reader

FCS, OVERHEAD = 4, 20
"""Octets of a frame that a packet socket does not see, and octets between frames on the wire
(preamble 7, start delimiter 1, gap 12; IEEE 802.3 clause 4.4.2)."""
LEAST_SIZE = 64
DEFAULT_GAP = 12
STAMP_OCTETS = 16
"""At the end of a frame: where its flow's latency and order are measured."""
PS = 10**12
LONGEST_S = 10**6
"""Of durations and gaps, so that a time in ps fits 64 bits."""
FIXED, INCREMENT, RANDOM = range(3)
RATE_UNITS = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}


@dataclass
class OtgFlow:
    """A raw flow. Times in ps, sizes with FCS."""

    name: str
    sender: int
    receivers: tuple[int, ...]
    template: FrameTemplate
    size_kind: int = FIXED
    size_low: int = LEAST_SIZE
    size_high: int = LEAST_SIZE
    size_step: int = 1
    interval_ps: int = 0
    """Of a flow whose rate is in frames/s; 0: by `rate_bps`."""
    rate_bps: int = 0
    frames: int = 0
    """0: without an end."""
    length_ps: int = 0
    burst_frames: int = 0
    bursts: int = 0
    burst_gap_ps: int = 0
    delay_ps: int = 0
    metrics: bool = False
    latency: bool = False
    loss: bool = False
    timestamps: bool = False
    stamped: bool = False


def read_flow(flow: Reader, rows: Mapping[str, int], ports: Sequence[OtgPort]) -> OtgFlow:
    """The flow of a message; problems are recorded in the reader."""
    found = OtgFlow(flow.text("name"), 0, (), FrameTemplate())
    if not found.name:
        flow.refuse("name", "", "a name is expected")
    ends = flow.child("tx_rx")
    ends.choice(["port"], "port")
    port = ends.child("port")
    sender = port.text("tx_name")
    if sender not in rows:
        port.refuse("tx_name", sender, f"a port of `ports` is expected: {', '.join(rows)}")
    found.sender = rows.get(sender, 0)
    receivers = port_rows(port, "rx_names", rows)
    if port.has("rx_name") and (name := port.text("rx_name")):
        if name not in rows:
            port.refuse("rx_name", name, f"a port of `ports` is expected: {', '.join(rows)}")
        receivers.append(rows.get(name, 0))
    found.receivers = tuple(dict.fromkeys(receivers))
    port.close()
    ends.close()
    found.template = read_template(flow)
    speed = ports[found.sender].speed_bps if ports else PS
    _read_size(flow.child("size"), found, ports)
    _read_rate(flow.child("rate"), found, speed)
    _read_duration(flow.child("duration"), found, speed)
    _read_metrics(flow.child("metrics"), found)
    flow.close()
    return found


def _read_size(size: Reader, flow: OtgFlow, ports: Sequence[OtgPort]) -> None:
    mtu = ports[flow.sender].interface.mtu if ports else LARGEST_SIZE
    high = min(LARGEST_SIZE, mtu + 14 + 4 * (flow.template.octets[12:14] == b"\x81\0") + FCS)
    low = max(LEAST_SIZE, len(flow.template.octets) + FCS)
    chosen = size.choice(["fixed", "increment", "random"], "fixed")
    if chosen == "fixed":
        flow.size_low = size.number("fixed", low, low, high)
        flow.size_high = flow.size_low
    else:
        ends = ("start", "end") if chosen == "increment" else ("min", "max")
        bounds = size.child(chosen)
        flow.size_kind = INCREMENT if chosen == "increment" else RANDOM
        flow.size_low = bounds.number(ends[0], low, low, high)
        flow.size_high = bounds.number(ends[1], min(1518, high), flow.size_low, high)
        if chosen == "increment":
            flow.size_step = bounds.number("step", 1, 1, LARGEST_SIZE)
        bounds.close()
    size.close()


def _read_rate(rate: Reader, flow: OtgFlow, speed_bps: int) -> None:
    chosen = rate.choice(["pps", "percentage", *RATE_UNITS], "pps")
    if chosen == "pps":
        flow.interval_ps = PS // rate.number("pps", 1000, 1, 10**9)
    elif chosen == "percentage":
        flow.rate_bps = int(speed_bps * rate.real("percentage", 100.0, 0.000_001, 100.0) / 100)
    else:
        unit = RATE_UNITS[chosen]
        flow.rate_bps = unit * rate.number(chosen, 10**9 // unit, 1, PS // unit)
    rate.close()


def _time_ps(gap: Reader, speed_bps: int, default: float) -> int:
    """Length of a gap or delay (ps) that is given in bytes at the port's speed, ns or us."""
    chosen = gap.choice(["bytes", "nanoseconds", "microseconds"], "bytes")
    defaults = {"bytes": default, "nanoseconds": default * 8, "microseconds": default * 0.008}
    number = gap.real(chosen, defaults[chosen])
    gap.close()
    unit = {"bytes": 8 * PS / speed_bps, "nanoseconds": 1e3, "microseconds": 1e6}[chosen]
    return min(int(number * unit), LONGEST_S * PS)


def _read_duration(duration: Reader, flow: OtgFlow, speed_bps: int) -> None:
    options = ["continuous", "fixed_packets", "fixed_seconds", "burst"]
    chosen = duration.choice(options, "continuous")
    body = duration.child(chosen)
    if chosen == "fixed_packets":
        flow.frames = body.number("packets", 1, 1, 2**32 - 1)
    elif chosen == "fixed_seconds":
        flow.length_ps = int(body.real("seconds", 1.0, 0.0, LONGEST_S) * PS)
    elif chosen == "burst":
        flow.bursts = body.number("bursts", 0, 0, 2**32 - 1)
        flow.burst_frames = body.number("packets", 1, 1, 2**32 - 1)
        flow.burst_gap_ps = _time_ps(body.child("inter_burst_gap"), speed_bps, DEFAULT_GAP)
    if chosen != "burst":
        flow.delay_ps = _time_ps(body.child("delay"), speed_bps, 0.0)
    if body.number("gap", DEFAULT_GAP, 0, 2**32 - 1) != DEFAULT_GAP:
        body.problems.append(f"{body.at('gap')} is not supported but for {DEFAULT_GAP}")
    body.close()
    duration.close()


def _read_metrics(metrics: Reader, flow: OtgFlow) -> None:
    flow.metrics = metrics.flag("enable")
    flow.loss = metrics.flag("loss")
    flow.timestamps = metrics.flag("timestamps")
    latency = metrics.child("latency")
    flow.latency = latency.flag("enable")
    if latency.text("mode", "store_forward") != "store_forward":
        latency.problems.append(f"{latency.at('mode')} is not supported but for store_forward")
    latency.close()
    metrics.close()
    room = flow.size_low - FCS - len(flow.template.octets)
    flow.stamped = flow.metrics and not flow.template.control and room >= STAMP_OCTETS
    if flow.metrics and (flow.latency or flow.timestamps) and not flow.stamped:
        least = len(flow.template.octets) + STAMP_OCTETS + FCS
        reason = (
            "PAUSE and PFC frames have no room for a stamp"
            if flow.template.control
            else f"a size of at least {least} has room for the stamp"
        )
        key = "latency" if flow.latency else "timestamps"
        metrics.problems.append(f"{metrics.at(key)} is not supported for this flow; {reason}")


def alike(one: FrameTemplate, other: FrameTemplate) -> bool:
    """True if a frame may match the headers of both templates."""
    pairs = zip(one.octets, other.octets, one.mask, other.mask, strict=False)
    return all((a ^ b) & m & n == 0 for a, b, m, n in pairs)


def check_recognition(flows: Sequence[OtgFlow], problems: list[str]) -> None:
    """Refuse flows with metrics and without stamps whose frames cannot be told apart."""
    plain = [(row, flow) for row, flow in enumerate(flows) if flow.metrics and not flow.stamped]
    for place, (row, flow) in enumerate(plain):
        for earlier, other in plain[:place]:
            if set(flow.receivers) & set(other.receivers) and alike(flow.template, other.template):
                problems.append(
                    f"flows[{row}].packet: flows {other.name!r} and {flow.name!r} have the same "
                    f"headers and no room for stamps; their metrics need headers that differ "
                    f"(flows[{earlier}].packet), or sizes with {STAMP_OCTETS} octets more"
                )
