"""State of the generator as arrays: what its compiled loop reads and writes.

Times are ps since `START_NS`, or ns by the clock that is named; sizes are octets without FCS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath.mmsg_batch import LONGEST, Batch, receiver, sender
from orchestrator.engine.datapath.packet_socket_io import poll_words
from orchestrator.engine.histogram import new_histogram
from orchestrator.otg.otg_config import OtgConfig
from orchestrator.otg.otg_flow import FCS, PS, OtgFlow
from orchestrator.otg.otg_ports import OtgPort
from orchestrator.otg.rocev2_state import PairState

STOPPED, STARTED, PAUSED, RESET = range(4)
"""Values of `state`; RESET alone keeps the loop off a flow of a queue pair. The loop alone ends a
flow that is started; all else is set from outside, while the flow does not run."""
MAGIC = 0x7A_0716
"""First three octets of a stamp; the fourth is the number of the configuration, modulo 256. Then
follow the flow (2), the sequence number (4) and the time (6: ns by CLOCK_REALTIME, modulo 2^48)."""
TIME_BITS = 48
SEND_BATCH, RECEIVE_BATCH = 16, 32
ROW_OCTETS = LONGEST + 64
CAPTURE_OCTETS = 64 << 20
"""Of one port's capture buffer."""
NO_CAPTURE = -1
MOST_DEBT_PS = PS // 10
"""A flow that is late by more than this gives that time up."""

FLOW = np.dtype(
    [
        (name, np.int64)
        for name in (
            "state",
            "port",
            "due_ps",
            "paused_ps",  # until `due_ps`, when it was paused
            "began_ps",
            "first",  # octets of headers
            "stamped",
            "ipv4_at",
            "ipv6_at",
            "udp_at",
            "total_length",
            "payload_length",
            "udp_length",
            "ipv4_checksum",
            "udp_checksum",
            "size_kind",
            "size_low",
            "size_high",
            "size_step",
            "draw",  # state of the generator of random sizes
            "interval_ps",
            "rate_bps",
            "speed_bps",
            "frames",  # 0: without an end
            "length_ps",
            "burst_frames",
            "bursts",
            "burst_gap_ps",
            "delay_ps",
            "begun",  # frames since it was started: number of the next frame
            "sent",
            "sent_octets",
            "unsent",
            "skipped",  # frames whose time was over by more than MOST_DEBT_PS
            "received",
            "received_octets",
            "expected",  # the next sequence number at the receiver
            "lost",  # sequence numbers that have not come
            "reordered",  # frames with a number lower than expected
            "misdirected",  # frames at a port that the flow does not name
            "latency_count",
            "latency_sum_ns",
            "latency_min_ns",
            "latency_max_ns",
            "first_ns",
            "last_ns",
        )
    ]
)
PORT = np.dtype(
    [
        (name, np.int64)
        for name in (
            "socket", "interface", "sent", "sent_octets", "unsent", "received",
            "received_octets", "capture", "capturing", "captured", "capture_lost",
        )
    ]
)  # fmt: skip
"""`capture` is the row of the buffers, or NO_CAPTURE; `captured` counts frames since its start."""
STOP, START_NS, EPOCH, TURNS, NAP_NS, CONTROL_WORDS = range(6)
"""Words of `control`: set to end the loop; CLOCK_MONOTONIC at 0 ps; number of the configuration;
turns of the loop; longest nap."""


class GeneratorState(NamedTuple):
    """All that the loop has."""

    flows: np.ndarray  # FLOW[n]
    templates: np.ndarray  # uint8[n, octets]
    masks: np.ndarray  # uint8[n, octets]: of flows that are known by their headers, else zeros
    receivers: np.ndarray  # uint8[n, ports]
    modifiers: np.ndarray  # int64[m, 5]: flow, bit, bits, first value, values
    values: np.ndarray  # int64[...]
    ports: np.ndarray  # PORT[p]
    polled: np.ndarray  # int64[p]: see packet_socket_io.poll_words
    incoming: Batch
    outgoing: Batch
    send_socket: np.ndarray  # int64[1]
    capture_octets: np.ndarray  # uint8[c, slots, octets]
    capture_notes: np.ndarray  # int64[c, slots, 3]: ns by CLOCK_REALTIME, length, octets kept
    capture_rules: np.ndarray  # int64[c, 3]: slots, octets of each, overwrite
    lateness: np.ndarray  # histogram (ps)
    control: np.ndarray  # int64[CONTROL_WORDS]
    timespec: np.ndarray  # int64[2]
    roce: PairState


def new_state(
    config: OtgConfig,
    sockets: Sequence[int],
    interfaces: Sequence[int],
    send_socket: int,
    epoch: int,
    roce: PairState,
) -> GeneratorState:
    """State of a configuration whose flows are stopped.

    `sockets` and `interfaces` (indices) are those of its ports, in order.
    """
    octets = max([len(flow.template.octets) for flow in config.flows], default=1)
    flows = np.zeros(len(config.flows), FLOW)
    templates = np.zeros((len(flows), octets), np.uint8)
    masks = np.zeros((len(flows), octets), np.uint8)
    receivers = np.zeros((len(flows), max(len(config.ports), 1)), np.uint8)
    modifiers: list[tuple[int, ...]] = []
    values: list[int] = []
    for row, flow in enumerate(config.flows):
        _fill_flow(flows[row], flow, config.ports[flow.sender], row)
        header = flow.template.octets
        templates[row, : len(header)] = np.frombuffer(bytes(header), np.uint8)
        if flow.metrics and not flow.stamped:
            masks[row, : len(header)] = np.frombuffer(bytes(flow.template.mask), np.uint8)
        receivers[row, list(flow.receivers)] = 1
        for modifier in flow.template.modifiers:
            found = (row, modifier.bit, modifier.bits, len(values), len(modifier.values))
            modifiers.append(found)
            values += modifier.values
    ports = np.zeros(len(config.ports), PORT)
    ports["socket"], ports["interface"] = sockets, interfaces
    captures = _number_captures(config.ports, ports)
    slots = max([rules[0] for rules in captures], default=1)
    width = max([rules[1] for rules in captures], default=1)
    return GeneratorState(
        flows=flows,
        templates=templates,
        masks=masks,
        receivers=receivers,
        modifiers=np.array(modifiers or np.zeros((0, 5)), np.int64).reshape(-1, 5),
        values=np.array(values or [0], np.int64),
        ports=ports,
        polled=poll_words(list(sockets)),
        incoming=receiver(np.zeros((RECEIVE_BATCH, ROW_OCTETS), np.uint8), RECEIVE_BATCH),
        outgoing=sender(
            np.zeros((SEND_BATCH, ROW_OCTETS), np.uint8), SEND_BATCH, list(interfaces) or [0]
        ),
        send_socket=np.array([send_socket], np.int64),
        capture_octets=np.zeros((len(captures), slots, width), np.uint8),
        capture_notes=np.zeros((len(captures), slots, 3), np.int64),
        capture_rules=np.array(captures or np.zeros((0, 3)), np.int64).reshape(-1, 3),
        lateness=new_histogram(),
        control=np.array([0, 0, epoch & 0xFF, 0, 0], np.int64),
        timespec=np.zeros(2, np.int64),
        roce=roce,
    )


def _fill_flow(record: np.void, flow: OtgFlow, port: OtgPort, row: int) -> None:
    template = flow.template
    record["port"], record["first"] = flow.sender, len(template.octets)
    record["stamped"], record["speed_bps"] = flow.stamped, port.speed_bps
    for name in ("ipv4_at", "ipv6_at", "udp_at", "total_length", "payload_length", "udp_length"):
        record[name] = getattr(template, name)
    for name in ("ipv4_checksum", "udp_checksum"):
        record[name] = getattr(template, name)
    for name in (
        *("size_kind", "size_step", "interval_ps", "rate_bps", "frames", "length_ps"),
        *("burst_frames", "bursts", "burst_gap_ps", "delay_ps"),
    ):
        record[name] = getattr(flow, name)
    record["size_low"], record["size_high"] = flow.size_low - FCS, flow.size_high - FCS
    record["draw"] = row + 1


def _number_captures(wanted: Sequence[OtgPort], ports: np.ndarray) -> list[tuple[int, int, int]]:
    """Give each port with a capture its buffer; the rules of the buffers."""
    rules: list[tuple[int, int, int]] = []
    ports["capture"] = NO_CAPTURE
    for row, port in enumerate(wanted):
        if (capture := port.capture) is not None:
            ports[row]["capture"] = len(rules)
            slots = max(CAPTURE_OCTETS // capture.packet_size, 1)
            rules.append((slots, capture.packet_size, int(capture.overwrite)))
    if rules:  # the buffers are one array, so each has as many slots as the widest
        slots = min(each[0] for each in rules)
        rules = [(slots, *each[1:]) for each in rules]
    return rules
