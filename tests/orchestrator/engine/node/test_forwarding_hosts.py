"""Hosts with several links forward what is addressed to others, as in BCube."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import assemble, record
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.forwarding_hosts import forwarding_hosts
from orchestrator.plan.shortest_paths import path
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from orchestrator.targets.parallel.parallel_run import ParallelRun
from tests.orchestrator.worlds import MS, US, Table, run_in_steps

GBPS = 10**9
FRAME = 1500


def bcube(width: int, levels: int = 2, **changes: Any) -> Table:
    """BCube of Guo et al. (SIGCOMM 2009): hosts by digits, a switch of `width` ports for each
    digit and the values of the others. No host reaches all others by switches alone."""
    hosts = ["".join(map(str, digits)) for digits in product(range(width), repeat=levels)]
    nodes: Table = {f"h{host}": {"kind": "nic"} for host in hosts}
    links: Table = {}
    for host, level in product(hosts, range(levels)):
        switch = f"s{level}-{host[:level]}{host[level + 1 :]}"
        nodes[switch] = {"kind": "switch"}
        ends = [f"h{host}", switch]
        links[f"l{level}-{host}"] = {"ends": ends, "rate": 10 * GBPS, "delay": US}
    return {
        "name": "bcube",
        "duration": MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "links": links,
        "traffic": {
            "all": {
                "plugin": "messages",
                "from": [f"h{host}" for host in hosts],
                "to": [f"h{host}" for host in hosts],
                "pairing": "all",
                "size": 4 * (FRAME - 70),
            }
        },
    } | changes


def chain(*kinds: str, **changes: Any) -> Table:
    """Nodes in a row; the first sends to the last."""
    names = [f"n{place}" for place in range(len(kinds))]
    links = {
        f"l{place}": {"ends": list(ends), "rate": GBPS}
        for place, ends in enumerate(pairwise(names))
    }
    flow = {"plugin": "cbr", "from": names[0], "to": names[-1], "rate": GBPS // 10}
    return {
        "name": "chain",
        "duration": 2 * MS,
        "sample_interval": 100 * US,
        "nodes": {name: {"kind": kind} for name, kind in zip(names, kinds, strict=True)},
        "links": links,
        "traffic": {"gen": flow},
    } | changes


def resolved(table: Table):
    return Plan(**table).check(Registry.load())


def ran(table: Table) -> Recording:
    """The run, with every count looked at on the way."""
    assembly = assemble(resolved(table))
    for _ in run_in_steps(assembly, 20):
        audit(assembly.world)
    return record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


@pytest.mark.parametrize(("width", "levels"), [(2, 2), (4, 2), (2, 3)])
def test_every_host_of_a_bcube_reaches_every_other(width: int, levels: int) -> None:
    """Over as many switches as their names have different digits, and over a host between two."""
    table = bcube(width, levels)
    plan = resolved(table).plan
    assert len(forwarding_hosts(plan)) == width**levels
    known = {port.entity: port for port in plan.ports()}
    hops = 0
    for flow in plan.flows():
        way = path(plan, plan.routes(), known, flow.node, flow.destination)
        assert not isinstance(way, str)
        differ = sum(a != b for a, b in zip(flow.node, flow.destination, strict=True))
        assert len(way) == 2 * differ
        hops += differ - 1
    recording = ran(table)
    for flow in plan.flows():
        assert last(recording, flow.entity, "frames_received") == 4
    hosts = [port.entity for port in plan.ports() if port.node.startswith("h")]
    assert sum(last(recording, port, "frames_out") for port in hosts) == 4 * hops > 0
    assert sum(last(recording, port, "frames_dropped") for port in hosts) == 0


@pytest.mark.parametrize(
    "kinds",
    [
        ("nic", "nic", "nic"),
        ("nic", "nic", "sink"),
        ("nic", "nic", "nic", "nic", "sink"),
        ("nic", "switch", "nic", "switch", "sink"),
        ("nic", "nic", "switch", "nic", "nic"),
    ],
)
def test_a_row_of_hosts_passes_frames_on(kinds: tuple[str, ...]) -> None:
    recording = ran(chain(*kinds))
    sent, came = (last(recording, "gen", f"frames_{what}") for what in ("sent", "received"))
    assert sent - 1 <= came <= sent
    assert came > 10
    for place in range(1, len(kinds) - 1):
        port = f"n{place}.n{place + 1}"
        assert came <= last(recording, port, "frames_out") <= sent


@pytest.mark.parametrize("kinds", [("nic", "nic", "sink"), ("nic", "nic", "switch", "sink")])
def test_a_hosts_own_frames_and_those_of_others_take_turns(kinds: tuple[str, ...]) -> None:
    """Both want the whole link: each gets half of it, and of the frames of others that come too
    fast the host's queue drops the rest."""
    table = chain(*kinds)
    table["traffic"]["gen"]["rate"] = GBPS
    table["traffic"]["own"] = {"plugin": "bulk", "from": "n1", "to": f"n{len(kinds) - 1}"}
    table["nodes"]["n1"]["forwarding_buffer"] = 10 * FRAME
    table["duration"] = 10 * MS
    recording = ran(table)
    theirs, own = (last(recording, name, "frames_received") for name in ("gen", "own"))
    assert theirs == pytest.approx(own, rel=0.02)
    assert last(recording, "n1.n2", "queue_max_bytes") == 10 * FRAME
    assert last(recording, "n1.n2", "frames_dropped") == pytest.approx(theirs, rel=0.05)
    table["traffic"]["own"]["rate"] = GBPS // 4
    table["traffic"]["own"]["plugin"] = "cbr"
    recording = ran(table)
    theirs, own = (last(recording, name, "frames_received") for name in ("gen", "own"))
    assert theirs == pytest.approx(3 * own, rel=0.02), "what one does not take the other has"


def test_acknowledgements_and_messages_pass_a_host() -> None:
    """A transport ends its messages, and a congestion point beyond the host slows its source."""
    table = chain("nic", "nic", "switch", "nic")
    table["nodes"]["n2"]["congestion_point"] = {"plugin": "qcn-cp"}
    table["nodes"]["n0"]["reaction_point"] = {"plugin": "qcn-rp"}
    table["links"]["l2"]["rate"] = GBPS // 4
    table["traffic"]["gen"]["rate"] = GBPS
    table["traffic"]["file"] = {
        "plugin": "messages",
        "from": "n0",
        "to": "n3",
        "size": 10 * (FRAME - 70),
        "transport": {"plugin": "tcp"},
    }
    table["duration"] = 20 * MS
    recording = ran(table)
    assert last(recording, "n0.rp0", "feedback_received") > 5
    assert last(recording, "file", "frames_received") >= 10
    assert recording.column("n0.rp0", "current_rate")[-1] < GBPS // 2


def test_switches_that_join_everything_leave_hosts_alone() -> None:
    """A host with two links forwards where the plan wants it to, or where nothing else joins."""
    table = chain("nic", "switch", "switch", "sink")
    table["nodes"]["two"] = {"kind": "nic"}
    for place in (1, 2):
        table["links"][f"to{place}"] = {"ends": ["two", f"n{place}"], "rate": GBPS}
    assert forwarding_hosts(resolved(table).plan) == ()
    table["links"].pop("l1")
    assert forwarding_hosts(resolved(table).plan) == ("two",)
    table["links"]["l1"] = {"ends": ["n1", "n2"], "rate": GBPS}
    table["nodes"]["two"]["forwards"] = True
    assert forwarding_hosts(resolved(table).plan) == ("two",)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nodes": {"n1": {"forwards": False}}}, "no way from n0 to n2"),
        ({"nodes": {"n0": {"forwards": True}}}, r"nodes\.n0\.forwards.*n0 has 1 links; two"),
        ({"nodes": {"n0": {"forwarding_buffer": 9000}}}, r"n0\.forwarding_buffer.*not forward"),
        ({"groups": {"all": ["n2", "n3"]}}, "n1 forwards no multicast frames"),
    ],
)
def test_what_hosts_do_not_do_is_refused(changes: Table, sentence: str) -> None:
    table = chain("nic", "nic", "nic")
    table["nodes"]["n3"] = {"kind": "sink"}
    table["links"]["more"] = {"ends": ["n1", "n3"], "rate": GBPS}
    for name, more in changes.get("nodes", {}).items():
        table["nodes"][name] |= more
    if "groups" in changes:
        table["groups"] = changes["groups"]
        table["traffic"]["gen"]["to"] = "all"
    with pytest.raises(BadInput, match=sentence):
        resolved(table)


def test_on_two_cores_a_bcube_is_the_same() -> None:
    table = bcube(2, 3)
    whole = ran(table)
    nodes = list(table["nodes"])
    several = ParallelRun(resolved(table), [nodes[::2], nodes[1::2]])
    several.run(lambda _: None)
    shares = list(zip(several.assemblies, several.nodes, strict=True))
    parts = record("simulated", shares, cpu_s=0.0, wall_s=0.0)
    assert parts.columns == whole.columns
    assert np.array_equal(parts.values, whole.values)
