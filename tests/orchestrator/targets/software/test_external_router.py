"""A router of the Linux kernel forwards between our hosts, which answer its ARP and ND."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet6 import ICMPv6ND_NA
from scapy.layers.l2 import ARP
from scapy.utils import rdpcap

from orchestrator.targets.software.worker_process import run_job
from tests.traces.capture.tshark import needs_tshark, rows

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]

PLAN = """
name = "routed"
duration = "0.6s"
[headers]
{headers}
[nodes."h{{1,2}}"]
kind = "nic"
[nodes.r]
kind = "external"
forwards_by = "ip"
[links."up{{1,2}}"]
ends = ["h{{}}", "r"]
rate = "100Mb/s"
[traffic.t]
plugin = "messages"
from = "h1"
to = "h2"
bidirectional = true
size = "2KB"
interval = "5ms"
count = 60
frame = "1000B"
stop = "0.5s"
transport = {{ plugin = "go-back-n", timeout = "100ms" }}
"""
CASES = {
    "ipv4-tagged": "",
    "ipv4-untagged": "tagged = false",
    "ipv6-tagged": "ip = 6\nvlan = 300",
    "ipv6-untagged": "ip = 6\ntagged = false",
}


def through(headers: str, tmp_path: Path, **told: Any) -> dict[str, Any]:
    """What came of a run through the router."""
    plan = PLAN.format(headers=headers)
    job = "tests.orchestrator.targets.software.kernel_router:attempt"
    found: dict[str, Any] = run_job(job, plan, {"pcap": str(tmp_path / "router.pcap")} | told)
    return found


FIELDS = {
    4: [
        "eth.src",
        "eth.dst",
        "arp.opcode",
        "arp.src.hw_mac",
        "arp.src.proto_ipv4",
        "arp.dst.hw_mac",
    ],
    6: [
        *("eth.src", "eth.dst", "ipv6.hlim", "ipv6.src", "icmpv6.type", "icmpv6.checksum.status"),
        *("icmpv6.nd.na.flag.s", "icmpv6.nd.na.flag.o", "icmpv6.nd.na.flag.r"),
        *("icmpv6.nd.na.target_address", "icmpv6.opt.linkaddr", "icmpv6.opt.type"),
    ],
}
OURS = "02:54:42:"


def is_right(row: dict[str, str], version: int) -> bool:
    """True for a reply of ours, as tshark reads it; the last octets of its addresses agree."""
    mac = row["eth.src"]
    last = f"{int(mac[-2:], 16)}"
    if version == 4:
        return (
            row["arp.src.hw_mac"] == mac
            and row["arp.dst.hw_mac"] == row["eth.dst"]
            and row["arp.src.proto_ipv4"] == f"10.0.0.{last}"
        )
    return (
        (row["ipv6.hlim"], row["icmpv6.checksum.status"]) == ("255", "1")
        and [row[f"icmpv6.nd.na.flag.{flag}"] for flag in "sor"] == ["1", "1", "0"]
        and row["icmpv6.opt.linkaddr"] == mac
        and row["icmpv6.opt.type"] == "2"
        and row["ipv6.src"] == row["icmpv6.nd.na.target_address"]
        and row["ipv6.src"] == f"fd74:6261:636b::a00:{int(last):x}"
    )


@needs_tshark
@pytest.mark.parametrize("case", CASES)
def test_a_kernel_router_forwards_both_ways_without_static_neighbours(
    case: str, tmp_path: Path
) -> None:
    found = through(CASES[case], tmp_path)
    assert "result" in found, found
    metrics = found["result"]["metrics"]["run"]
    assert metrics["t"]["messages.completed"] == metrics["t"]["messages.started"] == 120
    seen = metrics["r"]
    assert seen["frames.received"] == seen["frames.sent"] > 600
    assert [seen[f"frames.{name}"] for name in ("dropped", "foreign", "duplicated")] == [0, 0, 0]
    answered = {
        row["port"]: row["answered"]
        for row in found["result"]["fidelity"]["external"]["r"].values()
    }
    assert min(answered.values()) >= 5  # it asks again all the time
    version = 6 if "ip = 6" in CASES[case] else 4
    pcap = tmp_path / "router.pcap"
    checks = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
    read = rows(pcap, [*FIELDS[version], "_ws.expert.severity", "vlan.id"], preferences=checks)
    kind, reply = ("arp.opcode", "2") if version == 4 else ("icmpv6.type", "136")
    asked = [
        row for row in read if row[kind] in ("1", "135") and not row["eth.src"].startswith(OURS)
    ]
    ours = [row for row in read if row[kind] == reply and row["eth.src"].startswith(OURS)]
    assert len(ours) == sum(answered.values())
    assert all(is_right(row, version) for row in ours)
    groups = [row for row in asked if row["eth.dst"].startswith(("ff:ff", "33:33"))]
    assert 0 < len(groups) < len(asked), "it asked all nodes, and one of them"
    assert {row["vlan.id"] for row in ours} == {
        {"ipv4-tagged": "1", "ipv6-tagged": "300"}.get(case, "")
    }
    assert max(int(row["_ws.expert.severity"] or 0) for row in ours) == 0
    for packet in rdpcap(str(pcap)):
        if packet.src.startswith(OURS) and (ARP in packet or ICMPv6ND_NA in packet):
            assert type(packet)(bytes(packet)).build() == bytes(packet)
            if ICMPv6ND_NA in packet:
                sent = packet[ICMPv6ND_NA].cksum
                del packet[ICMPv6ND_NA].cksum
                assert type(packet)(bytes(packet))[ICMPv6ND_NA].cksum == sent


def test_a_router_that_does_not_answer_is_refused_by_port_and_address(tmp_path: Path) -> None:
    found = through(CASES["ipv4-untagged"], tmp_path, mute=["h2"])
    assert found.get("exit") == 2
    assert "no answer to ARP: r.h2 (e2) has to have the address 10.0.0.8" in found["error"]
    assert "r.h1" not in found["error"]
