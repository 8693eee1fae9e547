"""Text for addresses, capture points and flows of a pass."""

from __future__ import annotations

import ipaddress
from collections import Counter
from pathlib import Path

import numpy as np

from traces.analysis.analysis_result import FlowSeen
from traces.analysis.collector import CapturePass
from traces.analysis.rotated_files import rotation_base
from traces.capture.capture_interface import printable
from traces.capture.capture_stream import CaptureStream, capture_name
from traces.dissect import ABSENT, KINDS, TUNNELS, Kind

NS = 10**9


def mac_text(address: int) -> str:
    """A MAC address of 48 bits as text; "" when it is absent."""
    return "" if address < 0 else ":".join(f"{octet:02x}" for octet in address.to_bytes(6, "big"))


def ip_text(high: int, low: int, version: int) -> str | None:
    """An IP address of two words as text; None without one."""
    if version == 4 and low >= 0:  # of a header with an impossible length there is no more
        return str(ipaddress.IPv4Address(low))
    if version == 6:
        return str(ipaddress.IPv6Address((high % 2**64) << 64 | low % 2**64))
    return None


def tunnel_text(bits: int) -> str | None:
    """Names of the tunnels around a flow, from bits of TUNNELS; None without any."""
    return "+".join(name for bit, name in enumerate(TUNNELS) if bits >> bit & 1) or None


def point_names(collected: CapturePass) -> list[str]:
    """Name of each point: its interface, with the file where that is not unique."""
    found: dict[int, tuple[CaptureStream, int]] = {}
    for (index, interface), point in collected.points.items():
        found.setdefault(point, (collected.streams[index], interface))
    names = [found[point][0].interfaces[found[point][1]].name for point in range(len(found))]
    for group in collected.groups:
        point = collected.points.get((group[0], 0), -1)
        if len(group) > 1 and point >= 0 and found[point][0].format == "pcap":
            base = rotation_base(found[point][0].path)
            names[point] = printable(capture_name(base)) if base else names[point]
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{Path(found[point][0].path).name}:{name}"
        for point, name in enumerate(names)
    ]


def flow_seen(collected: CapturePass, row: int) -> FlowSeen:
    """One row of the flow table."""
    flow, key = collected.flows.flows[row], collected.flows.keys[row].tolist()
    kind, version = Kind(int(flow["kind"])), int(flow["headers"])
    ports = (key[6] & 0xFFFFF) - 1, ((key[6] >> 20) & 0xFFFFF) - 1
    protocol, qp = ((key[6] >> 40) & 0x3FF) - 1, (key[7] >> 32) - 1
    counts = bool(flow["numbered"]) and kind in (Kind.DATA, Kind.ROCE)
    span = int(flow["last_ns"]) - int(flow["first_ns"])
    # the first frame only opens the interval over which the others were sent
    octets = int(flow["octets"]) - int(flow["first_length"])
    lost = int(flow["high"]) - int(flow["low"]) + 1 - int(flow["distinct"])
    return FlowSeen(
        source=mac_text(int(flow["source"])),
        destination=mac_text(int(flow["destination"])),
        flow=int(flow["number"]) if kind == Kind.DATA else None,
        frames=int(flow["frames"]),
        octets=int(flow["octets"]),
        throughput_bps=octets * 8 * NS / span if span > 0 else None,
        lost=max(lost, 0) if counts and not flow["reads"] else None,
        duplicates=int(flow["duplicates"]) if counts else None,
        reordered=int(flow["reordered"]) if flow["numbered"] else None,
        kind=KINDS[kind],
        vlan=_or_none(int(flow["vlan"])),
        priority=_or_none(int(flow["priority"])),
        ethertype=((key[7] >> 13) & 0x1FFFF) - 1,
        from_address=ip_text(key[2], key[3], version),
        to_address=ip_text(key[4], key[5], version),
        protocol=_or_none(protocol),
        source_port=_or_none(ports[1]),
        destination_port=_or_none(ports[0]),
        qp=_or_none(qp),
        undecided=int(flow["undecided"]),
        restarts=int(flow["restarts"]),
        ect0=int(flow["ect0"]),
        ect1=int(flow["ect1"]),
        ce=int(flow["ce"]),
        tunnel=tunnel_text(int(flow["tunnel"])),
        network=_or_none(int(flow["network"])),
        data_frames=_data_frames(flow),
        row=row,
    )


def _data_frames(flow: np.void) -> int:
    """Frames of RoCE that are no mere acknowledgements."""
    if flow["kind"] != Kind.ROCE:
        return 0
    return int(flow["numbered"]) + int(flow["responses"]) + int(flow["datagrams"])


def _or_none(value: int) -> int | None:
    return None if value == ABSENT else value
