"""RoCEv2 queue pairs of a plan: the length of their packets, and points that refuse them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.roce_frame_types import MOST_ROCE_FLOWS, RETH_OCTETS
from orchestrator.engine.records import NOT_ROCE, ROCE_WRITE
from orchestrator.errors import Problem
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.units import format_size

PATH_MTUS = (256, 512, 1024, 2048, 4096)
"""Octets of the payload of all packets of a message but the last (InfiniBand, volume 1, 9.2.6)."""


def operation_of(transport: Use | None) -> int:
    """RoCEv2 operation of the flows of a traffic entry with this transport, or NOT_ROCE."""
    return NOT_ROCE if transport is None else transport.params.roce_operation()


def frame_options(options: HeaderOptions, transports: Mapping[str, Use]) -> HeaderOptions:
    """A plan's headers, with the layouts of RoCEv2 where a transport has queue pairs."""
    return replace(options, roce=any(map(operation_of, transports.values())))


def path_mtu(options: HeaderOptions, transport: Use, frame: int) -> int:
    """Octets of the path MTU: the largest that frames of `frame` octets and the transport allow; 0:
    none."""
    room = frame - options.roce_octets
    room -= RETH_OCTETS if operation_of(transport) == ROCE_WRITE else 0
    most = min(room, transport.params.largest_mtu())
    return max((mtu for mtu in PATH_MTUS if mtu <= most), default=0)


def packet_lengths(
    options: HeaderOptions, transport: Use | None, frame: int, headers: int
) -> tuple[int, int]:
    """Octets of a full frame of a traffic entry, and how many of these are no part of a message:
    `frame` and `headers` but for queue pairs. The first packet of a WRITE is 16 octets longer."""
    if transport is None or operation_of(transport) == NOT_ROCE:
        return frame, headers
    own = options.roce_octets
    return own + path_mtu(options, transport, frame), own


def queue_pair_problems(
    plan: PlanModel, uses: Mapping[str, Mapping[str, Use]]
) -> Iterator[Problem]:
    """Queue pairs without room for a packet, and points that need the payload of tailback's own
    data frames."""
    options = plan.headers.options()
    carriers = {name: use for name, use in uses["transport"].items() if operation_of(use)}
    if not carriers:
        return
    for name, use in carriers.items():
        entry = plan.traffic[name]
        if path_mtu(options, use, entry.frame) == 0:
            write = operation_of(use) == ROCE_WRITE
            least = options.roce_octets + PATH_MTUS[0] + (RETH_OCTETS if write else 0)
            accepted = (
                f"at least {format_size(least)}, which a path MTU of {PATH_MTUS[0]} octets takes "
                "with its headers, is expected"
            )
            yield Problem(f"traffic.{name}.frame", format_size(entry.frame), accepted)
        for source in sorted({source for source, _ in entry.pairs}):
            point = uses["reaction_point"].get(source)
            if point is not None and point.params.stamped_hops():
                text = (
                    f"'{point.algorithm.name}' at {source} works with stamps of ports, and RoCEv2 "
                    "packets have no room for any; another transport, such as 'go-back-n', is "
                    "expected"
                )
                yield Clash(f"traffic.{name}.transport", use.algorithm.name, text)
                break
    total = sum(len(entry.pairs) * entry.flows for entry in plan.traffic.values())
    if total > MOST_ROCE_FLOWS:
        text = f"at most {MOST_ROCE_FLOWS} flows in all, which queue pair numbers have room for"
        yield Problem(f"traffic.{next(iter(carriers))}.flows", total, text)
    for kind in ("congestion_point", "notification_point"):
        for holder, use in uses[kind].items():
            does = ""
            if use.params.sends_cnm():
                does = "sends CNMs, which repeat"
            elif use.params.returns_headers():
                does = "returns"
            elif getattr(use.algorithm, "trims", False):
                does = "trims frames to"
            if does:
                text = (
                    f"it {does} the header of tailback's own data frames, which the RoCEv2 packets "
                    f"of traffic.{next(iter(carriers))} have not; CNPs of a notification point, or "
                    "a transport such as 'go-back-n', are expected"
                )
                where = f"nodes.{holder.partition('.')[0]}.{kind}"
                yield Clash(where, use.algorithm.name, text)
