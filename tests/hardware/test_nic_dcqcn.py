"""Rate of a NIC that gets CNPs: DCQCN's reaction point, by the parameters that are stated of it.

Without a device the NIC is ours, with the preset `connectx`; a device's file names a capture of the
port of another one (`dcqcn_reaction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.plan import Plan
from tests.hardware.dcqcn_reaction import Window, described, windows
from tests.hardware.device_figures import OURS, Figure, none
from tests.hardware.nic_port import PLAN, port_packets
from traces.pytest_plugin.nic_description import ReactionPoint
from traces.pytest_plugin.roce_packets import RocePackets
from traces.pytest_plugin.target_runner import Lab

RATE = 10**10
FRAME = "1200B"
MARKS_US = ((200, 1), (260, 1), (270, 12), (1000, 1), (1010, 1))
"""When packets are marked, and how many: a cut with alpha near 1, cuts in a row, then rest, and
cuts with alpha near 0."""
PACE = 0.004
OFF = "DCQCN: windows whose rate is not that of the rule"
FIRST = "DCQCN: rate behind the first CNP, of that of the port"
RP = "DCQCN (SIGCOMM 2015), 3.1, reaction point, with NVIDIA's parameters: {}"

pytestmark = pytest.mark.needs("queue-pairs")


def plan_of(nic: dict[str, Any]) -> Plan:
    """A queue pair of the NIC that always has data, of which the timeline marks packets behind the
    captured port; the peer answers each by a CNP. `nic`: settings of the NIC."""
    table = Plan.load(PLAN).to_table()
    table["nodes"]["dut"] |= {"limiter": {"period": "100ns", "depth": "1500B"}} | nic
    table["nodes"]["peer"]["notification_point"] = {
        "plugin": "notification-point",
        "preset": "connectx",
    }
    table["traffic"] = {
        "out": {
            "plugin": "bulk",
            "from": "dut",
            "to": "peer",
            "frame": FRAME,
            "transport": {"plugin": "rc", "timeout": "1s"},
        }
    }
    table["timeline"] = [
        {"at": f"{at}us", "mark": "out", "packets": count, "port": "sw.peer"}
        for at, count in MARKS_US
    ]
    table["duration"] = "3ms"
    return Plan.load(PLAN).with_data(table)


def point(**parameters: int) -> dict[str, Any]:
    """Settings of our NIC with such parameters."""
    return {"reaction_point": {"plugin": "dcqcn-rp", "preset": "connectx", **parameters}}


@dataclass(frozen=True)
class Reaction:
    """Windows of a NIC's rate, that of its port in bit/s, and what times are good to."""

    windows: list[Window]
    rate: int
    reason: str


OWN = ReactionPoint()
"""What is stated of our NIC."""


def judged(
    packets: RocePackets, stated: ReactionPoint, rate: int, clock: int, reason: str
) -> Reaction:
    """The rates of a NIC against the rule."""
    return Reaction(windows(packets, stated, rate, clock), rate, reason)


def measured(testbed: Lab) -> Reaction:
    """Rates in the device's capture, or of our NIC with CNPs that marks make a peer send."""
    packets, clock, reason = port_packets(testbed, "dcqcn", plan_of(point()), PACE)
    device = testbed.device
    stated, rate = (OWN, RATE) if device is None else (device.dcqcn, device.rate)
    assert stated is not None
    return judged(packets, stated, rate, clock, reason)


@pytest.fixture
def reaction(testbed: Lab) -> Reaction:
    """What the NIC did."""
    found = measured(testbed)
    if not found.windows:
        pytest.skip(f"{OURS}: the NIC got no CNP, or sent too few packets behind it")
    return found


def test_the_rate_behind_the_first_cnp_is_cut_by_the_rule(
    reaction: Reaction, figure: Figure
) -> None:
    first = reaction.windows[0]
    line = reaction.rate * (first.end - first.begin) / 8e6
    figure(
        FIRST,
        rule=RP.format("a CNP cuts the rate by alpha / 2"),
        expected=first.allowed / line,
        seen=first.octets / line,
        tolerance=first.tolerance / line,
        unit="1",
        why=f"two packets and 2 % of the octets, and what times are good to; {first}; "
        f"{reaction.reason}",
    )


def test_the_rate_follows_the_rule(reaction: Reaction, figure: Figure) -> None:
    """Cuts, alpha's decay, and recovery by the timer and the byte counter."""
    off = [str(one) for one in reaction.windows if one.is_off]
    rule = RP.format("alpha, cuts, and increases by timer and octets")
    why = "; ".join([*off[:3], described(reaction.windows), reaction.reason])
    none(figure, OFF, len(off), rule, why)
