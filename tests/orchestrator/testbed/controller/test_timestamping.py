"""Whose times the machines of a run have: by the inventory and what NICs offer, or refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.engine.datapath.launch_time import LEAD_NS
from orchestrator.errors import BadInput, Refused
from orchestrator.live.live_changes import ChangeRefused
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed.agent.agent_messages import HeartbeatReply, Nic, Pace
from orchestrator.testbed.controller.coordinated_changes import RemoteWorlds
from orchestrator.testbed.controller.deployment import Share
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.timestamping import TimestampPlan, plan_timestamps
from orchestrator.testbed.inventory import MachineEntry, Testbed
from tests.orchestrator.testbed.controller.test_deployment import offer

ALL = ["transmit by hardware", "receive by hardware", "receive by software", "hardware clock"]
PLAN = """
name = "two"
duration = "1s"

[nodes.h]
kind = "nic"

[nodes.d]
kind = "sink"

[links.wire]
ends = ["h", "d"]
rate = "100Mb/s"
delay = "{delay}"

[traffic.t]
from = "h"
to = "d"
plugin = "cbr"
frame = "1500B"
rate = "10Mb/s"
{more}
"""


def asked(
    stamps: Any = None,
    launch: bool = False,
    nics: list[Nic] | None = None,
    delay: str = "2ms",
    more: str = "",
    ports: dict[str, str] | None = None,
    speed: int = REAL_TIME,
) -> TimestampPlan:
    resolved = Plan.load(PLAN.format(delay=delay, more=more)).check(Registry.load())
    entry = MachineEntry(address="tcp://10.0.0.1:7010", key="k", stamps=stamps, launch=launch)
    share = Share(
        "left", ["h"], {"h.d": "e1"} if ports is None else ports, 1, Pace(threads=1, first=0), "k"
    )
    there = [Nic(name="e1", driver="igc", timestamping=ALL, ptp_clock=0)] if nics is None else nics
    offered = offer("left", "k", 2).model_copy(update={"nics": there})
    return plan_timestamps(share, entry, offered, resolved, speed)


def test_nobody_takes_times_where_the_inventory_does_not_say_so():
    found = asked()
    assert (found.stamps, found.launch) == (None, False)
    assert found.lease_fields == {"stamps": [], "launches": []}


def test_who_takes_them_is_asked_of_nics_that_can():
    assert asked("software").lease_fields == {"stamps": [], "launches": []}
    assert asked("software").stamps == "software"
    for stamps in ("hardware", "auto"):
        found = asked(stamps)
        assert (found.stamps, found.why) == ("hardware", None)
        assert found.lease_fields == {"stamps": ["e1"], "launches": []}
    assert asked(launch=True).lease_fields == {"stamps": [], "launches": ["e1"]}


@pytest.mark.parametrize(
    ("nic", "lack"),
    [
        ({"timestamping": ALL[1:]}, "NIC e1 (igc) has no transmit by hardware"),
        ({"timestamping": ALL[:1]}, "NIC e1 (igc) has no receive by hardware, no hardware clock"),
        ({"ptp_clock": None}, "NIC e1 (igc) has no PTP clock"),
        ({"timestamping": [], "driver": "veth"}, "NIC e1 (veth) has no receive by hardware, no tr"),
    ],
)
def test_what_a_nic_lacks_is_named_or_falls_back(nic, lack):
    there = [Nic(**{"name": "e1", "driver": "igc", "timestamping": ALL, "ptp_clock": 0} | nic)]
    with pytest.raises(Refused) as refused:
        asked("hardware", nics=there)
    assert str(refused.value).startswith(f"agent left: {lack}")
    assert 'stamps = "software", or "auto", in machines.left' in str(refused.value)
    found = asked("auto", nics=there)
    assert found.stamps == "software"
    assert found.why is not None
    assert found.why.startswith(lack)
    assert found.lease_fields["stamps"] == []


def test_a_machine_without_cables_has_the_kernels_alone():
    with pytest.raises(Refused, match="no node's link leads over a NIC here"):
        asked("hardware", ports={})
    assert asked("auto", ports={}).stamps == "software"
    assert not asked(launch=True, ports={}).launch


CHANGES = """
[[timeline]]
at = "0.5s"
set = "links.wire.delay"
to = "3ms"
"""
JITTER = '\n[links.wire.delay_line]\nplugin = "jitter-delay"\n'


def test_frames_are_launched_on_links_that_are_long_enough():
    assert asked(launch=True, delay=f"{LEAD_NS}ns").launch
    with pytest.raises(
        Refused, match=r"link wire has a delay of 499\.999 us, and frames .* 500 us"
    ):
        asked(launch=True, delay=f"{LEAD_NS - 1}ns")
    assert asked(launch=True, delay="50us", speed=REAL_TIME // 10).launch
    with pytest.raises(Refused, match="the delay of link wire changes"):
        asked(launch=True, more=CHANGES)
    assert not asked(more=CHANGES).launch


def test_a_live_change_of_such_a_delay_is_not_made():
    resolved = Plan.load(PLAN.format(delay="2ms", more="")).check(Registry.load())
    share = SimpleNamespace(machine="left", ports={"h.d": "e1"})
    run: Any = SimpleNamespace(
        resolved=resolved, shares=[share], timing={"left": TimestampPlan(launch=True)}, pace=1.0
    )
    machines = RemoteWorlds(run, SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(ChangeRefused, match=r"links\.wire\.delay: a NIC launches its frames"):
        machines._refuse_launched("links.wire.delay")
    machines._refuse_launched("links.wire.rate")
    run.timing["left"] = TimestampPlan()
    machines._refuse_launched("links.wire.delay")


def test_a_nic_that_is_found_not_to_launch_refuses_the_run():
    resolved = Plan.load(PLAN.format(delay="2ms", more="")).check(Registry.load())
    run = DistributedRun("ab" * 8, resolved, Testbed(), {})
    pulse = HeartbeatReply(received_ns=1, answered_ns=1, boot="ab" * 8, leases=1, state="failed")
    pulse = pulse.model_copy(update={"cause": "NIC e1 has no launch times: x", "code": 2})
    run.stage = "leasing"
    found = run._failure("left", pulse)
    assert isinstance(found, Refused)
    assert "agent left: NIC e1 has no launch times: x" in str(found)
    run.stage = "running"
    assert not isinstance(run._failure("left", pulse), Refused)


def test_an_inventory_says_who_takes_times(tmp_path):
    text = '[machines.left]\naddress = "tcp://10.0.0.1:7010"\nkey = "{}"\nstamps = "{}"\n'
    path = tmp_path / "bed.toml"
    path.write_text(text.format("k" * 40, "auto"))
    assert Testbed.load(path).machines["left"].stamps == "auto"
    path.write_text(text.format("k" * 40, "quartz"))
    with pytest.raises(BadInput, match=r"machines\.left\.stamps"):
        Testbed.load(path)
