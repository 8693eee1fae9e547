"""Metrics of RoCEv2 peers and flows in the columns and units of the OTG model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.otg.generator import Generator

PEER_COLUMNS = ("qp_configured", "qp_up", "qp_down")
"""Queue pairs are set up on both sides by the configuration: no connection messages are sent, and
the columns that count those are not supported."""
PAIR_COLUMNS = {
    "data_frames_tx": "sent",
    "data_frames_rx": "received",
    "data_frames_retransmitted": "resent",
    "frame_sequence_error": "sequence_errors",
    "tx_bytes": "sent_octets",
    "rx_bytes": "received_octets",
    "message_tx": "messages_sent",
    "message_complete_rx": "messages_received",
    "ecn_ce_rx": "ce",
    "cnp_tx": "cnp_sent",
    "cnp_rx": "cnp_received",
    "ack_tx": "ack_sent",
    "ack_rx": "ack_received",
    "nak_tx": "nak_sent",
    "nak_rx": "nak_received",
    **dict.fromkeys(
        (
            *("flow_name", "port_tx", "port_rx", "src_qp", "dest_qp", "src_ipv4", "dest_ipv4"),
            *("frame_delta", "data_tx_rate", "data_rx_rate", "message_fail"),
            *("flow_completion_time", "avg_latency", "min_latency", "max_latency"),
            *("first_timestamp", "last_timestamp"),
        ),
        "",
    ),
}
"""Columns; those that are counts with the field of the state that has them. `cnp_tx`, `ack_tx` and
`nak_tx` are what the destination sent, `cnp_rx`, `ack_rx` and `nak_rx` what the source received."""
PS_PER_MS = 10**9
SENT_OCTETS, RECEIVED_OCTETS = 1, 3
"""Of the rates of a generator."""
GIGABITS = 8 / 1e9


def peer_metrics(generator: Generator, names: Sequence[str]) -> list[dict[str, Any]]:
    """Metrics of peers: how many of their queue pairs are up."""
    failed = {
        flow.source.name
        for row, flow in enumerate(generator.pairs.config)
        if generator.pairs.failed(row)
    }
    found = []
    for name in names:
        pairs = generator.config.roce.peers[name]
        up = sum(pair.name not in failed for pair in pairs) if name in generator.up else 0
        counts = (len(pairs), up, len(pairs) - up)
        found.append({"name": name, **dict(zip(PEER_COLUMNS, counts, strict=True))})
    return found


def pair_metrics(generator: Generator) -> list[dict[str, Any]]:
    """Metrics of flows, one each, for a queue pair has one flow."""
    rates, _ = generator.rates()
    ports, first = generator.config.ports, len(generator.state.flows)
    found = []
    for row, flow in enumerate(generator.pairs.config):
        counts = generator.pairs.state.pairs[row].copy()
        one: dict[str, Any] = {
            "flow_name": flow.name,
            "port_tx": ports[flow.source.address.port].name,
            "port_rx": ports[flow.destination.address.port].name,
            "src_qp": flow.source.number,
            "dest_qp": flow.destination.number,
            "src_ipv4": str(flow.source.address.ip.ip),
            "dest_ipv4": str(flow.source.remote),
        }
        one |= {name: int(counts[key]) for name, key in PAIR_COLUMNS.items() if key}
        one["frame_delta"] = max(one["data_frames_tx"] - one["data_frames_rx"], 0)
        one["data_tx_rate"] = float(rates[first + row][SENT_OCTETS]) * GIGABITS
        one["data_rx_rate"] = float(rates[first + row][RECEIVED_OCTETS]) * GIGABITS
        one["message_fail"] = int(generator.pairs.failed(row))
        if counts["messages_completed"]:
            lapse = int(counts["completed_ps"] - counts["began_ps"])
            one["flow_completion_time"] = lapse // PS_PER_MS
        if count := int(counts["latency_count"]):
            one["avg_latency"] = int(counts["latency_sum_ns"]) // count
            one["min_latency"] = int(counts["latency_min_ns"])
            one["max_latency"] = int(counts["latency_max_ns"])
        if one["data_frames_rx"]:
            one["first_timestamp"] = str(int(counts["first_ns"]))
            one["last_timestamp"] = str(int(counts["last_ns"]))
        found.append(one)
    return found
