"""RoCEv2 queue pairs of an OTG configuration: devices, settings of ports, stateful flows.

Decisions where the model is silent: KB, MB and GB are powers of 1000; the line rate of a port is
shared by its flows in equal parts; a RETH has the virtual address and the key of the queue pair
that is written to. The next hop of a device is the device that has the address of its destination
or gateway, else the gateway's `gateway_mac`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.otg.otg_ports import OtgPort
from orchestrator.otg.otg_reader import Reader
from orchestrator.otg.rocev2_devices import Draft, QueuePair, read_ethernet, read_interface
from orchestrator.otg.rocev2_settings import Settings, read_settings

UNITS = {"bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
MOST_MESSAGE = 1 << 31
"""Octets of one RDMA operation (InfiniBand, volume 1, 9.7.1)."""
MOST_PAIRS = 256


@dataclass
class PairFlow:
    """Flow of RDMA messages from a queue pair to another one. Sizes in octets."""

    name: str
    source: QueuePair
    destination: QueuePair
    hops: tuple[bytes, bytes]
    """MAC addresses that its data, and what answers them, go to."""
    operation: str
    octets: int
    rate_bps: int
    sending: Settings
    receiving: Settings


@dataclass
class Rocev2Config:
    """Queue pairs and flows of a configuration; peers by name."""

    peers: dict[str, list[QueuePair]] = field(default_factory=dict)
    flows: list[PairFlow] = field(default_factory=list)
    auto_start: bool = True


def read_rocev2(
    config: Reader, rows: Mapping[str, int], ports: Sequence[OtgPort], names: set[str]
) -> Rocev2Config:
    """Queue pairs and their flows; `names` are those of raw flows, which theirs must not have."""
    found, draft = Rocev2Config(), Draft()
    devices = list(config.children("devices"))
    for device in devices:
        for ethernet in device.children("ethernets"):
            read_ethernet(ethernet, rows, ports, draft)
    for device in devices:
        points = device.child("rocev2")
        for interface in points.children("ipv4_interfaces"):
            read_interface(interface, draft, found.peers)
        points.close()
        device.text("name")
        device.close()
    _read_options(config.child("options"), rows, ports, draft, found)
    stateful = config.child("stateful_flows")
    if stateful.has("choice") or stateful.has("rocev2"):
        stateful.choice(["rocev2"], "rocev2")
    for group in stateful.children("rocev2"):
        for sender in group.children("tx_ports"):
            _read_sender(sender, rows, ports, draft, found, names)
        group.close()
    stateful.close()
    if len(found.flows) > MOST_PAIRS or len(draft.pairs) > 2 * MOST_PAIRS:
        config.refuse(
            "stateful_flows",
            f"{len(found.flows)} flows of {len(draft.pairs)} queue pairs",
            f"at most {MOST_PAIRS} of {2 * MOST_PAIRS} are expected",
        )
    return found


def _read_options(
    options: Reader,
    rows: Mapping[str, int],
    ports: Sequence[OtgPort],
    draft: Draft,
    found: Rocev2Config,
) -> None:
    protocols = options.child("protocol_options")
    found.auto_start = protocols.take("auto_start_all", True) is True
    protocols.close()
    for one in options.children("per_port_options"):
        name = one.text("port_name")
        if name not in rows:
            one.refuse("port_name", name, f"a port of `ports` is expected: {', '.join(rows)}")
        for protocol in one.children("protocols"):
            protocol.choice(["rocev2"], "rocev2")
            settings = protocol.child("rocev2")
            speed = ports[rows[name]].speed_bps if name in rows else 10**9
            draft.settings[rows.get(name, 0)] = read_settings(settings, speed)
            protocol.close()
        one.close()
    options.close()
    for row, port in enumerate(ports):
        if row not in draft.settings:
            draft.settings[row] = read_settings(Reader({}, "", []), port.speed_bps)


def _read_sender(
    sender: Reader,
    rows: Mapping[str, int],
    ports: Sequence[OtgPort],
    draft: Draft,
    found: Rocev2Config,
    names: set[str],
) -> None:
    name = sender.text("port_name")
    if name not in rows:
        sender.refuse("port_name", name, f"a port of `ports` is expected: {', '.join(rows)}")
        sender.take("transmit_type")
    transmit = sender.child("transmit_type")
    transmit.choice(["target_line_rate"], "target_line_rate")
    target = transmit.child("target_line_rate")
    percentage = target.number("value", 98, 1, 100)
    flows = list(target.children("flows"))
    for one in flows:
        rate_bps = ports[rows[name]].speed_bps * percentage // 100 // len(flows)
        _read_flow(one, name, rows, rate_bps, draft, found, names)
    target.close()
    transmit.close()
    sender.close()


def _read_flow(
    one: Reader,
    port: str,
    rows: Mapping[str, int],
    rate_bps: int,
    draft: Draft,
    found: Rocev2Config,
    names: set[str],
) -> None:
    name = one.text("name")
    if not name or name in names:
        one.refuse("name", name, "a name that no other flow has is expected")
    names.add(name)
    ends = [one.text("tx_endpoint"), one.text("rx_endpoint")]
    verb = one.child("rocev2_verb")
    operation = verb.choice(["write", "send"], "write")
    verb.close()
    unit = one.text("message_size_unit", "mb")
    if unit not in UNITS:
        one.refuse("message_size_unit", unit, f"one of {', '.join(UNITS)} is expected")
    size = one.number("message_size", 1, 1, 65_535)
    octets = size * UNITS.get(unit, 1)
    if octets > MOST_MESSAGE:
        one.refuse("message_size", f"{size} {unit}", f"at most {MOST_MESSAGE} bytes are expected")
    one.close()
    for key, end in zip(("tx_endpoint", "rx_endpoint"), ends, strict=True):
        if end not in draft.pairs:
            one.refuse(key, end, "a qp_name of `devices` is expected")
            return
    source, destination = (draft.pairs[end] for end in ends)
    if source.address.port != rows[port]:
        one.refuse("tx_endpoint", ends[0], f"a QP of a device at port {port} is expected")
    for a, b, key in ((source, destination, "rx_endpoint"), (destination, source, "tx_endpoint")):
        if a.remote != b.address.ip.ip:
            accepted = f"QP {a.name} has the destination_ip_address {a.remote}"
            one.refuse(key, b.name, f"{accepted}, and this QP is at {b.address.ip.ip}")
    for key, pair in (("tx_endpoint", source), ("rx_endpoint", destination)):
        if (other := draft.used.setdefault((key, pair.name), name)) != name:
            one.refuse(key, pair.name, f"flow {other} has this QP already")
    hops = _next_hop(source, draft), _next_hop(destination, draft)
    for pair, hop in zip((source, destination), hops, strict=True):
        if hop is None:
            gateway = f"{pair.address.gateway} of QP {pair.name}"
            accepted = f"the gateway {gateway} is no device here, so its gateway_mac.value"
            one.refuse("tx_endpoint", pair.name, f"{accepted} is expected")
    sending, receiving = (draft.settings[each.address.port] for each in (source, destination))
    macs = hops[0] or bytes(6), hops[1] or bytes(6)
    flow = PairFlow(
        name, source, destination, macs, operation, octets, rate_bps, sending, receiving
    )
    found.flows.append(flow)


def _next_hop(pair: QueuePair, draft: Draft) -> bytes | None:
    address = pair.address
    if pair.remote in address.ip.network and pair.remote in draft.by_ip:
        return draft.by_ip[pair.remote].mac
    if address.gateway_mac is None and address.gateway in draft.by_ip:
        return draft.by_ip[address.gateway].mac
    return address.gateway_mac
