"""RoCEv2 devices of an OTG configuration: addresses, peers, queue pairs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.otg.otg_ports import OtgPort
from orchestrator.otg.otg_reader import Reader
from orchestrator.otg.rocev2_settings import Settings, read_ecn

MTUS = (256, 512, 1024, 2048, 4096)
"""IB MTUs of InfiniBand; the model's custom sizes are not supported."""
MOST_NUMBER = (1 << 24) - 1
"""Of queue pairs and PSNs, which have 24 bits (the model lets them have 25)."""
ABOVE_IP = 8 + 12 + 16 + 4
"""Octets of UDP, base transport header, RETH and ICRC."""
MAC = re.compile(r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}")


@dataclass
class Address:
    """IPv4 address of a device behind a port."""

    port: int
    mac: bytes
    ip: ipaddress.IPv4Interface
    gateway: ipaddress.IPv4Address
    gateway_mac: bytes | None
    mtu: int


@dataclass
class QueuePair:
    """Queue pair of a peer."""

    name: str
    peer: str
    address: Address
    remote: ipaddress.IPv4Address
    mtu: int
    number: int
    tos: int
    source_port: int
    first_psn: int
    virtual_address: int
    key: int


@dataclass
class Draft:
    """Parts of a configuration that later parts name."""

    addresses: dict[str, Address] = field(default_factory=dict)
    by_ip: dict[ipaddress.IPv4Address, Address] = field(default_factory=dict)
    pairs: dict[str, QueuePair] = field(default_factory=dict)
    numbers: set[tuple[str, int]] = field(default_factory=set)
    """Addresses and the numbers of their queue pairs."""
    used: dict[tuple[str, str], str] = field(default_factory=dict)
    """Ends that flows have, and these flows."""
    settings: dict[int, Settings] = field(default_factory=dict)


def _mac(reader: Reader, key: str) -> bytes:
    text = reader.text(key)
    if not MAC.fullmatch(text):
        reader.refuse(key, text, "a MAC address is expected, such as 00:11:22:33:44:55")
        return bytes(6)
    return bytes.fromhex(text.replace(":", ""))


def _ipv4(reader: Reader, key: str) -> ipaddress.IPv4Address:
    text = reader.text(key)
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        reader.refuse(key, text, "an IPv4 address is expected")
        return ipaddress.IPv4Address(0)


def read_ethernet(
    ethernet: Reader, rows: Mapping[str, int], ports: Sequence[OtgPort], draft: Draft
) -> None:
    """Add the IPv4 addresses of an Ethernet interface of a device."""
    connection = ethernet.child("connection")
    connection.choice(["port_name"], "port_name")
    port = connection.text("port_name")
    if port not in rows:
        connection.refuse("port_name", port, f"a port of `ports` is expected: {', '.join(rows)}")
    connection.close()
    mac, mtu = _mac(ethernet, "mac"), ethernet.number("mtu", 1500, 68, 65_535)
    for given in ethernet.children("ipv4_addresses"):
        name, ip = given.text("name"), _ipv4(given, "address")
        prefix, gateway = given.number("prefix", 24, 1, 32), _ipv4(given, "gateway")
        chosen = given.child("gateway_mac")
        by_hand = chosen.choice(["auto", "value"], "auto") == "value"
        hop = _mac(chosen, "value") if by_hand else None
        chosen.close("auto")
        given.close()
        if not name or name in draft.addresses or ip in draft.by_ip:
            accepted = "a name and an address that no other one has are expected"
            given.refuse("name", f"{name} {ip}", accepted)
            continue
        of = ipaddress.IPv4Interface((ip, prefix))
        mtu = min(mtu, ports[rows[port]].interface.mtu) if port in rows else mtu
        address = Address(rows.get(port, 0), mac, of, gateway, hop, mtu)
        draft.addresses[name] = draft.by_ip[ip] = address
    ethernet.text("name")
    ethernet.close()


def read_interface(interface: Reader, draft: Draft, peers: dict[str, list[QueuePair]]) -> None:
    """Add the peers and queue pairs of a RoCEv2 interface."""
    name = interface.text("ipv4_name")
    address = draft.addresses.get(name)
    if address is None:
        interface.refuse("ipv4_name", name, "a name of `ipv4_addresses` of a device is expected")
        interface.take("peers")
        return
    mtu = interface.number("ib_mtu", 1024)
    if mtu not in MTUS:
        interface.refuse("ib_mtu", mtu, f"one of {', '.join(map(str, MTUS))} is expected")
    elif mtu + 20 + ABOVE_IP > address.mtu:
        accepted = f"its packets have to fit an MTU of {address.mtu}, with {20 + ABOVE_IP} octets"
        interface.refuse("ib_mtu", mtu, f"{accepted} of headers")
    for peer in interface.children("peers"):
        peer_name = peer.text("name")
        remote = _ipv4(peer, "destination_ip_address")
        if not peer_name or peer_name in peers:
            peer.refuse("name", peer_name, "a name that no other peer has is expected")
        peers[peer_name] = []
        for given in peer.children("qps"):
            pair = _read_pair(given, peer_name, address, remote, mtu)
            if not pair.name or pair.name in draft.pairs:
                given.refuse("qp_name", pair.name, "a name that no other QP has is expected")
            if (name, pair.number) in draft.numbers:
                given.refuse("connection_type", pair.number, "another QP has its source_qp_number")
            draft.numbers.add((name, pair.number))
            draft.pairs[pair.name] = pair
            peers[peer_name].append(pair)
        peer.close()
    interface.close()


def _read_pair(
    given: Reader, peer: str, address: Address, remote: ipaddress.IPv4Address, mtu: int
) -> QueuePair:
    name = given.text("qp_name")
    kind = given.child("connection_type")
    kind.choice(["reliable_connection"], "reliable_connection")
    of = kind.child("reliable_connection")
    pair = QueuePair(
        name=name,
        peer=peer,
        address=address,
        remote=remote,
        mtu=mtu,
        number=of.number("source_qp_number", 2, 2, MOST_NUMBER),
        tos=of.number("dscp", 24, 0, 63) << 2 | read_ecn(of, "ecn"),
        source_port=of.number("udp_source_port", 49_152, 0, 65_535),
        first_psn=of.number("initial_psn", 0, 0, MOST_NUMBER),
        virtual_address=_hexadecimal(of, "virtual_address", 16),
        key=_hexadecimal(of, "remote_key", 8),
    )
    of.close()
    kind.close()
    given.close()
    return pair


def _hexadecimal(reader: Reader, key: str, digits: int) -> int:
    text = reader.text(key, "0")
    if not re.fullmatch(rf"(0x)?[0-9a-fA-F]{{1,{digits}}}", text):
        reader.refuse(key, text, f"up to {digits} hexadecimal digits are expected")
        return 0
    return int(text, 16)
