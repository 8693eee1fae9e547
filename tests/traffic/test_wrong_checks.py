"""Frames that leave with a wrong IPv4 header checksum, UDP checksum or ICRC: tshark and scapy judge
their octets, on both targets and behind a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.worker_process import run_job
from orchestrator.testbed.inventory import Testbed
from tests.orchestrator.targets.software import bought
from tests.orchestrator.worlds import MS, US, Table
from tests.traces.capture.tshark import needs_tshark, rows

NTH = 4
"""Packet that is corrupted."""
FRAMES = 12
FOUR: Table = {}
SIX: Table = {"ip": 6}
UNTAGGED: Table = {"tagged": False, "priority": "dscp"}
CASES = [
    ("ipv4_checksum", FOUR, None),
    ("ipv4_checksum", UNTAGGED, None),
    ("ipv4_checksum", FOUR, "rc"),
    ("udp_checksum", FOUR, None),
    ("udp_checksum", UNTAGGED, None),
    ("udp_checksum", SIX, None),
    ("udp_checksum", SIX | UNTAGGED, "rc"),
    ("icrc", FOUR, "rc"),
    ("icrc", SIX, "rc"),
]


def plan(field: str, headers: Table, transport: str | None, **changes: Any) -> Plan:
    """Host, switch, host: 12 frames of 500 B, of which the fourth is corrupted."""
    entry: Table = {"plugin": "cbr", "rate": 8_000_000, "frame": 500, "stop": FRAMES * MS // 2 - US}
    if transport is not None:
        entry = {"plugin": "messages", "size": FRAMES * 256, "count": 1, "frame": 360}
        entry |= {"transport": {"plugin": transport, "window": 4, "timeout": 100 * MS}}
    table: Table = {
        "name": "wrong-checks",
        "duration": 400 * MS,
        "sample_interval": 10 * MS,
        "nodes": {"h1": {"kind": "nic"}, "h2": {"kind": "nic"}, "s": {"kind": "switch"}},
        "links": {
            h: {"ends": [h, "s"], "rate": 20_000_000, "delay": 20 * US} for h in ("h1", "h2")
        },
        "traffic": {"f": entry | {"from": "h1", "to": "h2"}},
        "timeline": [{"at": 0, "corrupt": "f", "packet": NTH, "field": field}],
        "headers": headers,
        "capture": {"ports": ["h1.s", "s.h2"], "snap": 1500},
    }
    return Plan(**table | changes)


def wrong_of(octets: bytes) -> set[str]:
    """The checks of a frame that scapy computes otherwise."""
    packet, found = Ether(octets), set()
    if IP in packet:
        again = packet[IP].copy()
        del again.chksum
        if IP(bytes(again)).chksum != packet[IP].chksum:
            found.add("ipv4_checksum")
    if IPv6 in packet or packet[UDP].chksum != 0:
        again = packet[IPv6 if IPv6 in packet else IP].copy()
        del again[UDP].chksum
        if type(again)(bytes(again))[UDP].chksum != packet[UDP].chksum:
            found.add("udp_checksum")
    if BTH in packet:
        bth = packet[BTH]
        if bth.compute_icrc(bytes(bth)[:-4]) != octets[-4:]:
            found.add("icrc")
    return found


def judged(frames: list[bytes], folder: Path) -> list[set[str]]:
    """The wrong checks of each frame, by scapy; tshark agrees about the checksums."""
    path = folder / "frames.pcap"
    wrpcap(str(path), [Ether(octets) for octets in frames])
    by_scapy = [wrong_of(octets) for octets in frames]
    checks = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
    fields = ["ip.checksum.status", "udp.checksum.status"]
    for row, wrong in zip(rows(path, fields, preferences=checks), by_scapy, strict=True):
        assert (row["ip.checksum.status"] == "0") == ("ipv4_checksum" in wrong)
        assert (row["udp.checksum.status"] == "0") == ("udp_checksum" in wrong)
    return by_scapy


def sent(done: Any, port: str) -> list[bytes]:
    """Octets of the frames that a captured port sent."""
    (capture,) = [one for one in done.recording.captures if f"{one.node}.{one.port}" == port]
    return [
        octets[: int(length)].tobytes()
        for length, octets, out in zip(
            capture.lengths, capture.octets, capture.outgoing, strict=True
        )
        if out
    ]


def judge_run(plan: Plan, field: str, target: str, folder: Path) -> dict[str, Any]:
    """Run it: just the named frame is wrong, in just that; returns what the run counted."""
    done = run(plan, target=target, out=None)
    first = judged(sent(done, "h1.s"), folder)
    assert len(first) >= FRAMES
    assert first == [{field} if n == NTH - 1 else set() for n in range(len(first))]
    behind = judged(sent(done, "s.h2"), folder)
    assert not any(behind)
    metrics = done.result["metrics"]["run"]
    assert metrics["h1>s"]["injected.corrupted"] == 1
    assert not [note for note in done.result["notes"] if "timeline" in note]
    reasons = [one for one in done.result["fidelity"]["reasons"] if "late" not in one]
    assert not [one for one in reasons if "understood" in one or "accounted" in one], reasons
    assert not [one for one in reasons if "not sent" in one or "no port sent" in one], reasons
    missed = done.result["fidelity"].get("lost_outside_queues", {})
    assert missed.get("not understood", 0) == 0, missed
    flow = {name: metrics["f"].get(name) for name in ("frames.sent", "frames.received")}
    return flow | {"dropped": metrics["h1>s"]["frames.dropped"], "behind": len(behind)}


def lost(field: str) -> int:
    """Frames that the switch at the link's other end drops."""
    return 0 if field == "udp_checksum" else 1


@needs_tshark
@pytest.mark.parametrize(("field", "headers", "transport"), CASES)
def test_one_check_of_the_named_frame_is_wrong(
    field: str, headers: Table, transport: str | None, tmp_path: Path
) -> None:
    counts = judge_run(plan(field, headers, transport), field, "simulated", tmp_path)
    assert counts["dropped"] == lost(field)
    assert counts["behind"] == counts["frames.sent"] - lost(field)
    assert counts["frames.received"] == counts["frames.sent"] - lost(field)


@needs_tshark
@pytest.mark.software
@pytest.mark.parametrize(("field", "headers", "transport"), CASES)
def test_it_is_the_same_on_real_frames(
    namespaces: None, field: str, headers: Table, transport: str | None, tmp_path: Path
) -> None:
    table = plan(field, headers, transport)
    counts = judge_run(table, field, "software", tmp_path)
    assert counts == judge_run(table, field, "simulated", tmp_path)


def crossed(control: Any, text: str) -> tuple[list[bytes], dict[str, Any]]:
    """A job: run a plan through a device that keeps the octets that h1 sends it."""
    machines = Machines()
    device, seen = machines.add("device").name, list[bytes]()
    for name in ("e1", "e2"):
        bought.cable(machines, device, name, f"b-{name}", 9000)

    def keep(number: int, octets: bytes) -> list[tuple[float, bytes]]:
        seen.append(octets)
        return [(0.0, octets)]

    forwarder = bought.Forwarder(machines, device, ["b-e1", "b-e2"], keep)
    forwarder.start()
    try:
        bed = Testbed().with_cables(["s.h1=e1", "s.h2=e2"])
        done = run(Plan.load(text), target="software", testbed=bed, out=None)
    finally:
        forwarder.stop.set()
        forwarder.join()
    return seen, done.result["metrics"]["run"]


@needs_tshark
@pytest.mark.software
@pytest.mark.parametrize("headers", [FOUR, UNTAGGED], ids=["tagged", "untagged"])
@pytest.mark.parametrize("field", ["ipv4_checksum", "udp_checksum"])
def test_a_device_gets_the_frame_with_the_wrong_check(
    namespaces: None, field: str, headers: Table, tmp_path: Path
) -> None:
    nodes = {"h1": {"kind": "nic"}, "h2": {"kind": "sink"}, "s": {"kind": "external"}}
    capture = {"ports": list[str]()}
    links = {h: {"ends": [h, "s"], "rate": 20_000_000} for h in ("h1", "h2")}
    table = plan(field, headers, None, nodes=nodes, links=links, capture=capture)
    text = table.check(Registry.load()).plan.to_toml()
    seen, metrics = run_job("tests.traffic.test_wrong_checks:crossed", text)
    assert all(bought.is_of(octets, 0x0800) for octets in seen), "a probe is no data"
    assert {bought.type_at(octets) for octets in seen} == {12 if headers else 16}
    assert judged(seen, tmp_path) == [{field} if n == NTH - 1 else set() for n in range(FRAMES)]
    assert metrics["h1>s"]["injected.corrupted"] == 1
    assert metrics["h1>s"]["frames.dropped"] == 0, "the device's part"
    assert metrics["f"]["frames.received"] == FRAMES - lost(field)


def test_a_corrupted_frame_with_a_wrong_fcs_needs_no_wrong_check(tmp_path: Path) -> None:
    """The FCS check drops a frame that two steps name."""
    table = plan("udp_checksum", FOUR, None)
    steps = [*table.to_table()["timeline"], {"at": 0, "corrupt": "f", "packet": NTH}]
    for timeline in (steps, steps[::-1]):
        done = run(table.with_data(table.to_table() | {"timeline": timeline}), out=None)
        metrics = done.result["metrics"]["run"]
        assert metrics["f"]["frames.received"] == FRAMES - 1
        assert len(sent(done, "h1.s")) == FRAMES - 1, "no capture has a wrong FCS"
