"""State of RoCEv2 queue pairs as arrays: what the generator's loop and the kernels read and write.

Transport, reaction point and notification point are the algorithms `rc`, `dcqcn-rp` and
`notification-point`, called as nodes call them. Sizes are octets without FCS.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.algorithm import ENTITIES
from orchestrator.engine import kernel_guards
from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.jit import kernel_address, record_address
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.engine.records import FLOW, INSTANCE, LIMITER, NEVER, NODE, NONE
from orchestrator.otg.rocev2_config import PairFlow
from orchestrator.otg.rocev2_settings import Table
from orchestrator.registry import Registry

DATA_FRAME, ACK_FRAME, NAK_FRAME, CNP_FRAME = range(4)
"""Rows of a flow's templates."""
HEADER = 14 + 20 + 8
"""Octets of Ethernet, IPv4 and UDP."""
COUNTS = (
    "sent", "sent_octets", "received", "received_octets", "resent", "sequence_errors", "ce",
    "cnp_sent", "cnp_received", "ack_sent", "ack_received", "nak_sent", "nak_received",
    "messages_sent", "messages_received", "messages_completed", "completed_ps",
    "latency_count", "latency_sum_ns", "latency_min_ns", "latency_max_ns", "first_ns", "last_ns",
)  # fmt: skip
"""`completed_ps`: the last acknowledgement of a whole message came."""
PAIR = np.dtype(
    [
        (name, np.int64)
        for name in (
            "state",
            "port",  # of the source
            "peer_port",  # of the destination
            "source_ip",
            "destination_ip",
            "source_qp",
            "destination_qp",
            "segment",  # octets of a full packet's payload
            "octets",  # of a message
            "packets",  # of a message
            "write",  # 1: RDMA WRITE; 0: SEND
            "virtual_address",
            "key",
            "first_psn",
            "rate_bps",  # at most
            "controlled",  # 1: by DCQCN
            "first_rate_bps",
            "transport",  # instances
            "reaction",
            "notification",
            "began_ps",
            "due_ps",
            "blocked",  # 1: the transport had no packet that may be sent
            "expected",  # sequence at the destination
            "unacknowledged",  # first sequence, at the source
            *COUNTS,
        )
    ]
)


class PairState(NamedTuple):
    """All that the loop has of queue pairs."""

    pairs: np.ndarray  # PAIR[n]
    templates: np.ndarray  # uint8[n, 4, HEADER]
    flows: np.ndarray  # records.FLOW[n]
    limiters: np.ndarray  # records.LIMITER[n]
    nodes: np.ndarray  # records.NODE[1]
    instances: np.ndarray  # records.INSTANCE[3 n]
    frames: np.ndarray  # records.FRAME[2]: that of an event, and the message under construction


class QueuePairs:
    """Queue pairs of a configuration: their arrays, and the states of their algorithms."""

    def __init__(self, flows: Sequence[PairFlow]) -> None:
        self.config = flows
        count = len(flows)
        self._states: list[tuple[np.ndarray, ...]] = []
        self._parameters: list[np.ndarray] = []
        self.state = PairState(
            pairs=np.zeros(count, PAIR),
            templates=np.zeros((count, 4, HEADER), np.uint8),
            flows=np.zeros(count, FLOW).view(np.recarray),
            limiters=np.zeros(count, LIMITER).view(np.recarray),
            nodes=np.zeros(1, NODE).view(np.recarray),
            instances=np.zeros(3 * count, INSTANCE).view(np.recarray),
            frames=empty_descriptors(2),
        )
        for row, flow in enumerate(flows):
            self._fill(row, flow)
            self.reset(row, 0)

    def failed(self, row: int) -> bool:
        """True if the connection gave up, after all retries."""
        return bool(self._states[row][0]["failed"][0])

    def reset(self, row: int, began_ps: int) -> None:
        """Let a flow begin anew at a time; it must not be in the loop's hands."""
        pair, flow = self.state.pairs[row], self.state.flows[row]
        limiter = self.state.limiters[row]
        for one in self._states[row]:
            one[:] = np.zeros(1, one.dtype)
        flow_zero, limiter_zero = np.zeros(1, FLOW), np.zeros(1, LIMITER)
        self.state.flows[row : row + 1] = flow_zero
        self.state.limiters[row : row + 1] = limiter_zero
        for name in COUNTS:
            pair[name] = 0
        first = int(pair["first_psn"])
        pair["began_ps"] = pair["due_ps"] = began_ps
        pair["blocked"] = 0
        pair["expected"] = pair["unacknowledged"] = first
        flow.highest = flow.available = first
        flow.ack_timer = NEVER
        flow.controlled = 1
        limiter.link_rate = limiter.rate = limiter.target = pair["rate_bps"]
        limiter.backlog = 1  # there is always a further message
        limiter.timer = limiter.soonest = NEVER
        limiter.flow = NONE

    def _fill(self, row: int, flow: PairFlow) -> None:
        pair, source, destination = self.state.pairs[row], flow.source, flow.destination
        pair["port"], pair["peer_port"] = source.address.port, destination.address.port
        pair["source_ip"], pair["destination_ip"] = int(source.address.ip), int(source.remote)
        pair["source_qp"], pair["destination_qp"] = source.number, destination.number
        pair["segment"], pair["octets"] = source.mtu, flow.octets
        pair["packets"] = -(-flow.octets // source.mtu)
        pair["write"] = flow.operation == "write"
        pair["virtual_address"] = np.array(destination.virtual_address, np.uint64).view(np.int64)
        pair["key"], pair["first_psn"] = destination.key, source.first_psn
        pair["rate_bps"], pair["first_rate_bps"] = flow.rate_bps, flow.sending.first_rate_bps
        reaction = flow.sending.reaction
        pair["controlled"] = reaction is not None
        answers = flow.receiving
        for kind, tos in (
            (DATA_FRAME, source.tos),
            (ACK_FRAME, answers.ack_tos),
            (NAK_FRAME, answers.nak_tos),
            (CNP_FRAME, answers.cnp_tos),
        ):
            ends = (source, destination) if kind == DATA_FRAME else (destination, source)
            hop = flow.hops[0 if kind == DATA_FRAME else 1]
            octets = (
                hop
                + ends[0].address.mac
                + struct.pack(
                    "!HBBHHHBBHIIHHHH",
                    *(0x0800, 0x45, tos, 0, 0, frame_layout.IP_DONT_FRAGMENT, frame_layout.IP_TTL),
                    *(17, 0, int(ends[0].address.ip), int(ends[1].address.ip)),
                    *(ends[0].source_port, frame_layout.ROCE_PORT, 0, 0),
                )
            )
            self.state.templates[row, kind] = np.frombuffer(octets, np.uint8)
        connection = {**flow.sending.connection, **ANSWERS, "first_psn": source.first_psn}
        states = []
        for place, (key, role, name, table) in enumerate(
            (
                ("transport", "transport", "rc", connection),
                ("reaction", "reaction_point", "dcqcn-rp", reaction or {}),
                ("notification", "notification_point", "notification-point", answers.notification),
            )
        ):
            pair[key] = 3 * row + place
            states.append(self._start(3 * row + place, role, name, table))
        self._states.append(tuple(states))

    def _start(self, number: int, kind: str, name: str, table: Table) -> np.ndarray:
        """Make an instance of an algorithm; its state."""
        algorithm = Registry.load().find(kind, name)
        parameters = algorithm.params.from_table(dict(table), name).record()
        self._parameters.append(parameters)
        state = np.zeros(1, algorithm.state)
        instance = self.state.instances[number]
        instance["state"], instance["params"] = record_address(state), record_address(parameters)
        instance["words"], instance["kept"] = algorithm.state.itemsize // 8, NONE
        for event, kernel in algorithm.kernels.items():
            limits = algorithm.limits(event)
            kernel_guards.add_label(kernel, f"{kind} {name!r}, kernel {event!r}", limits)
            instance["kernels"][EVENTS[kind][event]] = kernel_address(
                kernel, state.dtype, parameters.dtype, ENTITIES[kind], limits
            )
        return state


ANSWERS = {"ack_every": 16, "ack_delay": "50us"}
"""A destination acknowledges so many packets at once."""
