"""Recovery of a NIC from packets that are lost or late: NAKs as responder, go-back-N as requester.

Without a device the NIC is ours, and the timeline injects the losses at named packets; a device's
file names a capture of the port of another one (`loss_recovery`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.plan import Plan
from tests.hardware.device_figures import OURS, Figure, none
from tests.hardware.loss_recovery import (
    LATEST,
    US,
    Requester,
    Responder,
    requester_of,
    responder_of,
)
from tests.hardware.nic_port import PLAN, port_packets
from traces.pytest_plugin.nic_description import GoBackN
from traces.pytest_plugin.roce_packets import RocePackets
from traces.pytest_plugin.target_runner import Lab

PACKETS, PAYLOAD, FRAME, WINDOW = 120, 1024, 1200, 12
TAIL = 6
"""Packets of the message whose last one is lost."""
FIRST_PSN = {"into": (1 << 24) - 30, "out": (1 << 24) - 70, "tail": 7}
"""PSNs wrap within the messages."""
LATE = "30us"
"""By which a packet is late: those behind it overtake it."""
PACE = 0.01
SAYS_NO = "go-back-N: gaps without a NAK in time"
WRONG_NAK = "go-back-N: NAKs that no gap asks for, or not the first one"
EARLY_ACK = "go-back-N: packets acknowledged that did not come in order"
NAK_TIME = "go-back-N: longest time from a gap to its NAK"
IGNORED = "go-back-N: NAKs without the packet that they ask for in time"
NOT_ALL = "go-back-N: packets left out when it goes back"
CAUSELESS = "go-back-N: packets resent without a cause"
OFF_TIME = "go-back-N: timeouts too early or too late"
RESENT_TIME = "go-back-N: longest time from a NAK to the packet"
NAK = "InfiniBand, volume 1, 9.7.5.2.2: {}"
RETRY = "InfiniBand, volume 1, 9.7.6.1.3: {}"

pytestmark = pytest.mark.needs("queue-pairs")


@dataclass(frozen=True)
class Recovery:
    """A NIC in both parts, what is stated of it, and what times are good to (ps)."""

    responder: Responder
    requester: Requester
    stated: GoBackN
    clock: int
    reason: str


OWN = GoBackN(timeout=8)
"""What is stated of our NIC."""


def plan_of(
    stated: GoBackN,
    lost: tuple[int, ...] = (20, 60),
    late: int = 90,
    into: dict[str, Any] | None = None,
    out: dict[str, Any] | None = None,
) -> Plan:
    """Two messages to the NIC and from it, of which packets are lost and one is late, and a message
    from it whose last packet is lost. What goes to the NIC is lost in front of the captured port,
    what comes from it behind that. `into`, `out`: settings of the queue pairs' transports."""
    table = Plan.load(PLAN).to_table()
    timeout = f"{stated.timeout_ps}ps"
    carrier = {"plugin": "rc", "window": WINDOW, "timeout": timeout}
    ends = {"into": ("peer", "dut"), "out": ("dut", "peer"), "tail": ("dut", "peer")}
    table["links"]["near"]["delay"] = "5us"
    table["traffic"] = {
        name: {
            "plugin": "messages",
            "from": source,
            "to": target,
            "size": f"{PAYLOAD * (TAIL if name == 'tail' else PACKETS)}B",
            "frame": f"{FRAME}B",
            "transport": carrier
            | {"first_psn": FIRST_PSN[name]}
            | ((into if name == "into" else out) or {}),
        }
        for name, (source, target) in ends.items()
    }
    table["timeline"] = []
    for name, port in (("into", "peer.sw"), ("out", "sw.peer")):
        steps: list[dict[str, Any]] = [{"drop": name, "packet": packet} for packet in lost]
        steps.append({"delay": name, "packet": late, "by": LATE})
        table["timeline"] += [{"at": "0s", "port": port, **step} for step in steps]
    table["timeline"].append({"at": "0s", "drop": "tail", "packet": TAIL, "port": "sw.peer"})
    table["duration"] = f"{(LATEST + 2) * stated.timeout_ps + 500 * US}ps"
    return Plan.load(PLAN).with_data(table)


def judged(packets: RocePackets, stated: GoBackN, clock: int, reason: str) -> Recovery:
    """The NIC in both parts."""
    requester = requester_of(packets, stated, clock)
    return Recovery(responder_of(packets), requester, stated, clock, reason)


def measured(testbed: Lab) -> Recovery:
    """Recovery in the device's capture, or of our NIC with losses that are injected."""
    packets, clock, reason = port_packets(testbed, "go_back_n", plan_of(OWN), PACE)
    stated = OWN if testbed.device is None else testbed.device.go_back_n
    assert stated is not None
    return judged(packets, stated, clock, reason)


@pytest.fixture
def recovery(testbed: Lab) -> Recovery:
    """What the NIC did."""
    return measured(testbed)


@pytest.fixture
def responder(recovery: Recovery) -> Responder:
    """The NIC as responder, where packets were missing."""
    if not recovery.responder.gaps:
        pytest.skip(f"{OURS}: no packet to the NIC was missing")
    return recovery.responder


@pytest.fixture
def requester(recovery: Recovery) -> Requester:
    """The NIC as requester, where it was asked for packets."""
    if not recovery.requester.naks:
        pytest.skip(f"{OURS}: the NIC got no NAK")
    return recovery.requester


def shown(sentences: list[str], count: str) -> str:
    """Why a count is what it is: the first sentences."""
    return "; ".join([*sentences[:3], count])


def gaps(responder: Responder) -> str:
    return f"{len(responder.gaps)} gaps in {responder.packets} packets to the NIC"


def naks(requester: Requester) -> str:
    return (
        f"{requester.naks} NAKs and {len(requester.timeouts)} timeouts for {requester.packets} "
        "packets of the NIC"
    )


def test_each_gap_is_answered_by_a_nak(
    responder: Responder, recovery: Recovery, figure: Figure
) -> None:
    off = responder.late(recovery.stated, recovery.clock)
    rule = NAK.format("a packet behind a gap is answered by a NAK, PSN sequence error")
    none(figure, SAYS_NO, len(off), rule, shown(off, gaps(responder)))


def test_a_gap_has_one_nak_with_its_psn(responder: Responder, figure: Figure) -> None:
    off = responder.wrong_naks
    rule = NAK.format("one NAK, with the missing PSN, until that packet is there")
    none(figure, WRONG_NAK, len(off), rule, shown(off, gaps(responder)))


def test_packets_behind_a_gap_are_not_acknowledged(responder: Responder, figure: Figure) -> None:
    off = responder.early_acks
    rule = NAK.format("packets behind a gap are discarded")
    none(figure, EARLY_ACK, len(off), rule, shown(off, gaps(responder)))


def test_the_nak_comes_in_time(responder: Responder, recovery: Recovery, figure: Figure) -> None:
    times = responder.times()
    if not times:
        pytest.skip("it sends no NAK, which another figure says")
    figure(
        NAK_TIME,
        rule="stated: nak_time",
        expected=0,
        seen=max(times) / US,
        tolerance=(recovery.stated.nak_time + recovery.clock) / US,
        unit="us",
        why=f"nak_time is stated; {gaps(responder)}; {recovery.reason}",
    )


def test_each_nak_is_answered_by_its_packet(requester: Requester, figure: Figure) -> None:
    rule = RETRY.format("a NAK makes the requester resend from its PSN on")
    none(figure, IGNORED, len(requester.late), rule, shown(requester.late, naks(requester)))


def test_all_packets_from_the_lost_one_on_are_resent(requester: Requester, figure: Figure) -> None:
    rule = RETRY.format("all packets from that PSN on, in order (go-back-N)")
    none(figure, NOT_ALL, len(requester.not_all), rule, shown(requester.not_all, naks(requester)))


def test_nothing_is_resent_without_a_cause(requester: Requester, figure: Figure) -> None:
    off = requester.causeless
    none(
        figure, CAUSELESS, len(off), RETRY.format("a NAK or a timeout"), shown(off, naks(requester))
    )


def test_the_packet_comes_in_time(requester: Requester, recovery: Recovery, figure: Figure) -> None:
    if not requester.times:
        pytest.skip("it resends no packet for a NAK, which another figure says")
    figure(
        RESENT_TIME,
        rule="stated: retransmission_time",
        expected=0,
        seen=max(requester.times) / US,
        tolerance=(recovery.stated.retransmission_time + recovery.clock) / US,
        unit="us",
        why=f"retransmission_time is stated; {naks(requester)}; {recovery.reason}",
    )


def test_what_is_not_answered_is_resent_after_the_timeout(
    recovery: Recovery, figure: Figure
) -> None:
    """The last packet of a message has no packet behind it that shows its loss."""
    requester = recovery.requester
    if not requester.timeouts and not requester.off_time:
        pytest.skip(f"{OURS}: every packet of the NIC was answered in time")
    rule = RETRY.format("from one to four times the local ACK timeout")
    none(
        figure, OFF_TIME, len(requester.off_time), rule, shown(requester.off_time, naks(requester))
    )
