"""Replies to ARP requests and neighbour solicitations beside scapy; what has none."""

from __future__ import annotations

from collections.abc import Sequence
from socket import AF_INET6
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    in6_getnsma,
    in6_getnsmac,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw
from scapy.pton_ntop import inet_ntop, inet_pton

from orchestrator.assembly.world_assembly import assemble
from orchestrator.engine.datapath.neighbour_replies import (
    ANSWERED,
    IP_VERSION,
    MOST_WAITING,
    TAGS,
    Neighbours,
    is_answered,
    reply_octets,
)
from orchestrator.engine.frames.address_index import ip_text, mac_text
from orchestrator.engine.frames.ipv6_header import ipv6_text
from orchestrator.engine.node.control_frames import push_control
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.records import BRIDGED, NONE
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.neighbour_tables import neighbours_of
from tests.orchestrator.targets.software.bought import PLAN

NODE, OWN, OTHER = 3, 6, 5
ASKER, ASKER_IP, ASKER_IPV6 = "52:54:00:00:00:09", "192.0.2.1", "fe80::9"
TAGGINGS: dict[str, tuple[list[tuple[int, int]], Any]] = {
    "untagged": ([], lambda: Ether(src=ASKER)),
    "tagged": ([(0x8100, 300)], lambda: Ether(src=ASKER) / Dot1Q(vlan=300, prio=5)),
    "qinq": (
        [(0x88A8, 7), (0x8100, 300)],
        lambda: Ether(src=ASKER) / Dot1AD(vlan=7, prio=5) / Dot1Q(vlan=300),
    ),
}


def neighbours(version: int, tags: Sequence[tuple[int, int]] = ()) -> Neighbours:
    """Address OWN is of node NODE, OTHER of another one."""
    owners = np.full(8, NONE, np.int64)
    owners[OWN], owners[OTHER] = NODE, NODE + 1
    rules = np.zeros(5, np.int64)
    rules[IP_VERSION] = version
    for place, tag in enumerate(tags):
        rules[TAGS + 2 * place : TAGS + 2 * place + 2] = tag
    return Neighbours(np.zeros((1, 2), np.int64), owners, rules)


def request(index: int = OWN, **changes: Any) -> Any:
    """The ARP request for an address index."""
    fields = {"op": 1, "hwsrc": ASKER, "psrc": ASKER_IP, "pdst": ip_text(index)} | changes
    return ARP(**fields)


def solicitation(index: int = OWN, source: str = ASKER_IPV6, **changes: Any) -> Any:
    """The neighbour solicitation for an address index; without an option from `::`."""
    target = ipv6_text(index)
    group = inet_ntop(AF_INET6, in6_getnsma(inet_pton(AF_INET6, target)))
    ip = {"src": source, "dst": group, "hlim": 255} | changes.pop("ip", {})
    asked = IPv6(**ip) / ICMPv6ND_NS(**{"tgt": target} | changes)
    return asked if source == "::" else asked / ICMPv6NDOptSrcLLAddr(lladdr=ASKER)


def reply(frame: Any, tables: Neighbours, to: str = "ff:ff:ff:ff:ff:ff") -> bytes | None:
    """The octets that answer a frame; None."""
    frame.dst = to
    row = np.zeros(128, np.uint8)
    octets = bytes(frame)
    row[: len(octets)] = np.frombuffer(octets, np.uint8)
    count = reply_octets(tables, NODE, row, len(octets))
    if count == 0:
        assert row[: len(octets)].tobytes() == octets, "what has no reply stays as it is"
        return None
    return row[:count].tobytes()


@pytest.mark.parametrize("tagging", TAGGINGS)
@pytest.mark.parametrize("to", ["ff:ff:ff:ff:ff:ff", mac_text(OWN)])
def test_an_arp_request_has_the_reply_that_scapy_builds(tagging: str, to: str) -> None:
    tags, head = TAGGINGS[tagging]
    wanted = head()
    wanted.src, wanted.dst = mac_text(OWN), ASKER
    wanted /= ARP(op=2, hwsrc=mac_text(OWN), psrc=ip_text(OWN), hwdst=ASKER, pdst=ASKER_IP)
    assert reply(head() / request(), neighbours(4, tags), to) == bytes(wanted)


@pytest.mark.parametrize("tagging", TAGGINGS)
@pytest.mark.parametrize("unicast", [False, True])
def test_a_solicitation_has_the_advertisement_that_scapy_builds(
    tagging: str, unicast: bool
) -> None:
    tags, head = TAGGINGS[tagging]
    wanted = head()
    wanted.src, wanted.dst = mac_text(OWN), ASKER
    wanted /= IPv6(src=ipv6_text(OWN), dst=ASKER_IPV6, hlim=255)
    wanted /= ICMPv6ND_NA(tgt=ipv6_text(OWN), R=0, S=1, O=1)
    wanted /= ICMPv6NDOptDstLLAddr(lladdr=mac_text(OWN))
    asked = solicitation(ip={"dst": ipv6_text(OWN)}) if unicast else solicitation()
    to = mac_text(OWN) if unicast else in6_getnsmac(inet_pton(AF_INET6, ipv6_text(OWN)))
    assert reply(head() / asked, neighbours(6, tags), to) == bytes(wanted)


def test_a_check_for_a_duplicate_address_is_answered_to_all_nodes() -> None:
    """From `::`, RFC 4861, 7.2.4: S is 0."""
    wanted = Ether(src=mac_text(OWN), dst="33:33:00:00:00:01")
    wanted /= IPv6(src=ipv6_text(OWN), dst="ff02::1", hlim=255)
    wanted /= ICMPv6ND_NA(tgt=ipv6_text(OWN), R=0, S=0, O=1)
    wanted /= ICMPv6NDOptDstLLAddr(lladdr=mac_text(OWN))
    found = reply(Ether(src=ASKER) / solicitation(source="::"), neighbours(6), "33:33:ff:00:00:06")
    assert found == bytes(wanted)


BARE = Ether(src=ASKER)
UNANSWERED: dict[str, tuple[int, Any]] = {
    "another node's address": (4, BARE / request(OTHER)),
    "nobody's address": (4, BARE / request(7)),
    "an address beyond the table": (4, BARE / request(90000)),
    "a group": (4, BARE / request(pdst="239.0.0.6")),
    "an address that is not emulated": (4, BARE / request(pdst="192.0.2.7")),
    "a reply": (4, BARE / request(op=2)),
    "another hardware type": (4, BARE / request(hwtype=6)),
    "another protocol": (4, BARE / request(ptype=0x0806)),
    "an asker that is a group": (4, BARE / request(hwsrc="53:54:00:00:00:09")),
    "a cut request": (4, Ether(bytes(BARE / request())[:-1])),
    "a tagged one of an untagged plan": (4, BARE / Dot1Q(vlan=1) / request()),
    "ARP of a plan with IPv6": (6, BARE / request()),
    "ND of a plan with IPv4": (4, BARE / solicitation()),
    "another node's": (6, BARE / solicitation(OTHER)),
    "another prefix": (6, BARE / solicitation(tgt="fd74::a00:6", ip={"dst": "ff02::1:ff00:6"})),
    "a router forwarded it": (6, BARE / solicitation(ip={"hlim": 254})),
    "a wrong checksum": (6, BARE / solicitation(cksum=1)),
    "a code": (6, BARE / solicitation(code=1)),
    "another group": (6, BARE / solicitation(ip={"dst": "ff02::1:ff00:7"})),
    "all nodes": (6, BARE / solicitation(ip={"dst": "ff02::1"})),
    "an option without length": (6, BARE / solicitation() / Raw(bytes([14, 0] + [0] * 6))),
    "an option beyond the end": (6, BARE / solicitation() / Raw(bytes([14, 2] + [0] * 6))),
    "`::` with a link-layer address": (
        6,
        BARE / solicitation(source="::") / ICMPv6NDOptSrcLLAddr(lladdr=ASKER),
    ),
    "`::` to the address itself": (6, BARE / solicitation(source="::", ip={"dst": ipv6_text(OWN)})),
    "a cut solicitation": (6, Ether(bytes(BARE / solicitation())[:-1])),
    "an advertisement": (
        6,
        BARE / IPv6(hlim=255, src=ASKER_IPV6) / ICMPv6ND_NA(tgt=ipv6_text(OWN)),
    ),
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_what_asks_for_no_address_of_ours_has_no_reply(name: str) -> None:
    version, frame = UNANSWERED[name]
    assert reply(frame.copy(), neighbours(version)) is None


@pytest.mark.parametrize("vlan", [299, 301])
def test_a_request_in_another_vlan_has_no_reply(vlan: int) -> None:
    frame = Ether(src=ASKER) / Dot1Q(vlan=vlan) / request()
    assert reply(frame, neighbours(4, [(0x8100, 300)])) is None


def test_a_request_to_the_mac_address_of_another_has_no_reply() -> None:
    assert reply(BARE / request(), neighbours(4), mac_text(OTHER)) is None
    assert reply(BARE / request(), neighbours(4), ASKER) is None


def test_a_reply_is_a_whole_frame_is_counted_and_leaves_room_for_the_run() -> None:
    """A host answers for its node and its flows, at ports that face a device; at one at which
    MOST_WAITING frames wait it answers no more."""
    resolved = Plan.load(PLAN).check(Registry.load())
    assembly = assemble(resolved, ["nic1", "sink"], ["nic1.sw", "sink.sw"])
    indices, world = assembly.indices, assembly.world
    tables = neighbours_of(assembly)
    nic, sink, sw = (indices.port_rows[port] for port in ("nic1.sw", "sink.sw", "sw.sink"))
    own, others = [0, indices.node_address("nic1")], [1, indices.node_address("nic2")]

    def ask(index: int, port: int) -> int:
        head = Ether(src=ASKER, dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=1, prio=5)
        octets = bytes(head / request(index))
        row = take(world)
        world.octets[row, : len(octets)] = np.frombuffer(octets, np.uint8)
        world.octets[row, len(octets) :] = 0xEE
        answered = is_answered(world, tables, port, row, len(octets))
        return row if answered else NONE

    assert [ask(index, nic) for index in others] == [NONE, NONE]
    assert [ask(index, sw) for index in (*own, *others)] == [NONE] * 4
    assert [ask(index, sink) for index in own] == [NONE] * 2
    assert ask(indices.node_address("sink"), sink) != NONE
    for waiting in range(MOST_WAITING + 1):
        row = ask(own[waiting % 2], nic)
        assert (row != NONE) == (waiting < MOST_WAITING)
        if row != NONE:
            frame = world.frames[row]
            assert (frame.kind, frame.length, frame.priority, frame.mark) == (BRIDGED, 60, 5, 0)
            assert world.octets[row, 46:60].tobytes() == bytes(14)
            push_control(world, nic, row, 0)
    assert tables.ports[nic, ANSWERED] == MOST_WAITING
    assert tables.ports[sw, ANSWERED] == 0
