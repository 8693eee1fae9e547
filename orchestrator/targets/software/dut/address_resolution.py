"""Address resolution: the MAC addresses of external routers, by ARP and neighbour discovery.

A router (`forwards_by = "ip"`) forwards no broadcast, so no probe passes it. Each of its ports has
the IP address of its address index. Before a run the host at the other end of the cable asks for
that address, by ARP (RFC 826) or by a neighbour solicitation (RFC 4861), from its own address, and
sends its frames to the MAC address that answers.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Sequence
from ipaddress import IPv6Address

from orchestrator.assembly.row_index import Indices, is_end
from orchestrator.engine.datapath.neighbour_replies import (
    ADVERTISEMENT,
    ARP_ETHERNET,
    ARP_TYPE,
    HOP_LIMIT,
    ICMPV6,
    REPLY,
    REQUEST,
    SOLICITATION,
    SOURCE_LINK_ADDRESS,
)
from orchestrator.engine.frames.address_index import ip_of, ip_text, mac_of
from orchestrator.engine.frames.frame_layout import IPV6_TYPE
from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.ipv6_header import ipv6_text
from orchestrator.errors import Refused
from orchestrator.plan import Plan, Switch
from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.targets.software.dut.dut_probing import BROADCAST, tags_of, take
from orchestrator.targets.software.kernel_refusals import WHO

PATIENCE_S, TRIES = 0.5, 10
"""How long each of so many requests is waited for: a port that has just come up may take a second,
and its IPv6 address is checked for duplicates before it answers (RFC 4862)."""
SHORTEST = 60


def is_router(plan: Plan, device: str) -> bool:
    """True if an external node is an IP router."""
    node = plan.nodes[device]
    return isinstance(node, Switch) and node.forwards_by == "ip"


def address_text(headers: HeaderOptions, index: int) -> str:
    """The IP address of an address index in the plan's version of IP."""
    return ip_text(index) if headers.ip == 4 else ipv6_text(index)


def arp_request(tags: bytes, index: int, target: int) -> bytes:
    """The ARP request of an address index for the address of another."""
    source = int(mac_of(index)).to_bytes(6, "big")
    body = ARP_ETHERNET.to_bytes(6, "big") + struct.pack("!H", REQUEST) + source
    body += int(ip_of(index)).to_bytes(4, "big") + bytes(6) + int(ip_of(target)).to_bytes(4, "big")
    return BROADCAST + source + tags + struct.pack("!H", ARP_TYPE) + body


def icmpv6_sum(source: bytes, destination: bytes, message: bytes) -> int:
    """The checksum of an ICMPv6 message (RFC 4443, 2.3; RFC 1071) of an even number of octets."""
    octets = source + destination + struct.pack("!IxxxB", len(message), ICMPV6) + message
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def solicitation(tags: bytes, index: int, target: int) -> bytes:
    """The neighbour solicitation (RFC 4861, 4.3) of an address index for the address of another,
    to its solicited-node multicast address."""
    mac, wanted = int(mac_of(index)).to_bytes(6, "big"), IPv6Address(ipv6_text(target)).packed
    source = IPv6Address(ipv6_text(index)).packed
    group = IPv6Address("ff02::1:ff00:0").packed[:13] + wanted[13:]
    option = struct.pack("!BB", SOURCE_LINK_ADDRESS, 1) + mac
    message = struct.pack("!BBHI", SOLICITATION, 0, 0, 0) + wanted + option
    checked = struct.pack("!H", icmpv6_sum(source, group, message))
    message = message[:2] + checked + message[4:]
    header = struct.pack("!IHBB", 0x60000000, len(message), ICMPV6, HOP_LIMIT) + source + group
    to = b"\x33\x33" + group[12:]
    return to + mac + tags + struct.pack("!H", IPV6_TYPE) + header + message


def answered_mac(octets: bytes, headers: HeaderOptions, target: int) -> int | None:
    """The MAC address that a frame, whose tags were taken, says the address of an index has; None
    of any other frame."""
    if headers.ip == 4:
        expected = struct.pack("!H", ARP_TYPE) + ARP_ETHERNET.to_bytes(6, "big")
        expected += struct.pack("!H", REPLY)
        said = octets[28:32] == int(ip_of(target)).to_bytes(4, "big")
        return int.from_bytes(octets[22:28], "big") if octets[12:22] == expected and said else None
    message = octets[54:]
    if octets[12:14] != struct.pack("!H", IPV6_TYPE) or octets[20:22] != bytes((ICMPV6, HOP_LIMIT)):
        return None
    wanted = IPv6Address(ipv6_text(target)).packed
    if message[:1] != bytes((ADVERTISEMENT,)) or message[8:24] != wanted:
        return None
    return int.from_bytes(octets[6:12], "big")


def resolve(
    plan: Plan, cables: Sequence[Cable], sockets: Sequence[socket.socket]
) -> dict[str, int]:
    """Our port -> the MAC address of the router's port at the other end of its cable. `sockets`:
    one of each cable. Raises Refused, naming the ports that do not answer."""
    headers, indices = plan.headers.options(), Indices(plan)
    if apart := [one for one in cables if not is_end(plan, one.ours.partition(".")[0])]:
        raise Refused(
            WHO,
            f"{apart[0].port} leads to {apart[0].ours}, a tailback switch, which answers no router",
            "Remedy: cables from the router's ports to NICs and sinks (docs/dut.md).",
        )
    tags, found = tags_of(headers), dict[str, int]()
    ask = arp_request if headers.ip == 4 else solicitation
    targets = [indices.port_address(cable.port) for cable in cables]
    for _ in range(TRIES):
        for cable, raw, target in zip(cables, sockets, targets, strict=True):
            if cable.ours not in found:
                own = indices.node_address(cable.ours.partition(".")[0])
                raw.send(ask(tags, own, target).ljust(SHORTEST + len(tags), b"\0"))
        end = time.monotonic() + PATIENCE_S
        while len(found) < len(cables) and (rest := end - time.monotonic()) > 0:
            for raw in select.select(sockets, [], [], rest)[0]:
                row = sockets.index(raw)
                octets, tagged = take(raw, tags)
                mac = answered_mac(octets, headers, targets[row])
                if tagged and mac is not None:
                    found[cables[row].ours] = mac
        if len(found) == len(cables):
            return found
    lacking = [
        f"{cable} has to have the address {address_text(headers, target)}"
        for cable, target in zip(cables, targets, strict=True)
        if cable.ours not in found
    ]
    raise Refused(
        WHO,
        f"no answer to {'ARP' if headers.ip == 4 else 'neighbour solicitations'}: "
        + "; ".join(lacking),
        "Remedy: give the router's ports these addresses, with the plan's VLAN tags, and routes to "
        "the addresses of the flows and nodes behind them (docs/dut.md).",
    )
