"""Routing loops: IP routers drop frames whose TTL ends; loops without a router are refused."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.assembly import assemble, record
from orchestrator.engine.frames.frame_layout import IP, IP_TTL
from orchestrator.engine.records import ACK, CNP, DATA, HOST, TRIMMED
from orchestrator.errors import BadInput
from orchestrator.recording import Recording
from orchestrator.run.frame_audit import audit
from tests.orchestrator.engine.node.bench import POOL, Bench
from tests.orchestrator.engine.node.test_forwarding_hosts import chain, last, resolved
from tests.orchestrator.engine.node.test_receive_steps import BUSY, NOW, busy
from tests.orchestrator.worlds import MS, Table, run_in_steps

ROUTER = {"kind": "switch", "forwards_by": "ip"}


def ring(count: int, routers: int, **flow: Any) -> Table:
    """So many switches in a ring that send frames for d round it, the first ones by IP."""
    table = chain("nic", "switch", "sink", duration=4 * MS)
    table["nodes"] = {"h": {"kind": "nic"}, "d": {"kind": "sink"}, "e": {"kind": "sink"}}
    table["links"] = {
        "up": {"ends": ["h", "s0"], "rate": 10**10},
        "down": {"ends": [f"s{count - 1}", "d"], "rate": 10**10},
        "other": {"ends": [f"s{count - 1}", "e"], "rate": 10**10},
    }
    for place in range(count):
        name, after = f"s{place}", f"s{(place + 1) % count}"
        by = "ip" if place < routers else "mac"
        table["nodes"][name] = {"kind": "switch", "forwards_by": by, "forwarding": {"d": after}}
        if count > 2 or place == 0:
            table["links"][f"on{place}"] = {"ends": [name, after], "rate": 10**10}
    table["traffic"] = {
        "lost": {"plugin": "messages", "from": "h", "to": "d", "size": 10 * 1430, "count": 1},
        "kept": {"plugin": "cbr", "from": "h", "to": "e", "rate": 10**8},
    }
    table["traffic"]["lost"] |= flow
    return table


def ran(table: Table) -> Recording:
    """The run, with every count looked at on the way."""
    assembly = assemble(resolved(table))
    for _ in run_in_steps(assembly, 20):
        audit(assembly.world)
    return record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)


@pytest.mark.parametrize(
    ("count", "routers"), [(2, 2), (3, 3), (5, 5), (4, 1), (5, 3), (2, 1)], ids=str
)
def test_frames_go_round_until_their_ttl_ends(count: int, routers: int) -> None:
    """The 64th router takes the last one off the TTL and drops the frame: it is the one at place
    64 mod n of the ring, and each of the links before it was passed as often."""
    recording = ran(ring(count, routers))
    sent = last(recording, "lost", "frames_sent")
    assert sent == 10
    expired = {
        f"s{place}": last(recording, f"s{place}", "frames_ttl_expired") for place in range(routers)
    }
    final = (IP_TTL - 1) % routers
    assert expired == {f"s{place}": sent * (place == final) for place in range(routers)}
    assert last(recording, "lost", "frames_received") == 0
    rounds, links = divmod(IP_TTL - 1, routers)
    for place in range(count):
        on = f"s{place}.s{(place + 1) % count}"
        kept = last(recording, "s1.e", "frames_out") if (count, place) == (2, 0) else 0
        passed = sent * (rounds + (place < links if place < routers else 0))
        assert last(recording, on, "frames_out") - passed in (kept, kept + 1)
    assert last(recording, "kept", "frames_received") >= last(recording, "kept", "frames_sent") - 1


@pytest.mark.parametrize(("routers", "arrive"), [(IP_TTL - 1, True), (IP_TTL, False)])
def test_a_frame_passes_one_router_fewer_than_its_ttl(routers: int, arrive: bool) -> None:
    table = chain("nic", *["switch"] * routers, "sink")
    for place in range(routers):
        table["nodes"][f"n{place + 1}"] = dict(ROUTER)
    table["duration"] = 5 * MS
    recording = ran(table)
    came = last(recording, "gen", "frames_received")
    ended = last(recording, f"n{routers}", "frames_ttl_expired")
    assert (came > 10, ended > 10) == (arrive, not arrive)
    assert sum(last(recording, f"n{n}", "frames_ttl_expired") for n in range(1, routers)) == 0


@pytest.mark.parametrize("kind", [DATA, ACK, TRIMMED, CNP])
@pytest.mark.parametrize("hops", [IP_TTL - 2, IP_TTL - 1, IP_TTL])
def test_a_router_counts_what_it_does_not_send_on(kind: int, hops: int) -> None:
    bench = busy()
    node = bench.world.nodes[0]
    node.routed = 1
    bench.arrives(NOW, kind=kind, hops=hops)
    over = hops + 1 >= IP_TTL
    assert (node.ttl_expired, node.unroutable, bench.unused) == (over, 0, POOL - 1 + over)
    node.routed = 0
    bench.arrives(NOW, kind=kind, hops=hops)
    assert node.ttl_expired == over, "a switch takes nothing off"


@pytest.mark.parametrize(("ttl", "over"), [(1, True), (2, False), (200, False)])
def test_programs_have_a_ttl_of_their_own(ttl: int, over: bool) -> None:
    bench = Bench(wires=1)
    w = bench.world
    w.ports["free_at"], w.nodes[0].routed = BUSY, 1
    w.octets[:, IP + 8] = ttl
    bench.arrives(NOW, kind=HOST)
    assert w.nodes[0].ttl_expired == over


def spread_loop() -> Table:
    """s0 spreads over s1 and s2, and s2 sends what is for d back."""
    table = ring(2, 0)
    table["links"] = {
        "up": {"ends": ["h", "s0"], "rate": 10**10},
        "d1": {"ends": ["s1", "d"], "rate": 10**10},
        "d2": {"ends": ["s2", "d"], "rate": 10**10},
        "e1": {"ends": ["s1", "e"], "rate": 10**10},
        "on1": {"ends": ["s0", "s1"], "rate": 10**10},
        "on2": {"ends": ["s0", "s2"], "rate": 10**10},
    }
    table["nodes"]["s0"] = {"kind": "switch", "spread": "flows"}
    table["nodes"]["s1"] = {"kind": "switch"}
    table["nodes"]["s2"] = {"kind": "switch", "forwarding": {"d": "s0"}}
    return table


@pytest.mark.parametrize(
    ("table", "loop"),
    [(ring(2, 0), "s0 > s1 > s0"), (ring(4, 0), "s0 > s1 > s2 > s3 > s0"), (spread_loop(), "s0")],
)
def test_a_loop_without_a_router_is_refused(table: Table, loop: str) -> None:
    """By name, with the remedy; the remedy helps."""
    with pytest.raises(BadInput, match=r"traffic\.lost\.to.*round .*without end") as refused:
        resolved(table)
    assert loop in str(refused.value)
    assert 'forwards_by = "ip"' in str(refused.value)
    table["nodes"]["s0"]["forwards_by"] = "ip"
    resolved(table)


def test_what_cannot_loop_is_not_refused() -> None:
    """A forwarding table that leads to its end is no loop, by MAC either."""
    table = ring(4, 0)
    table["nodes"]["s3"]["forwarding"] = {"d": "d"}
    assert last(ran(table), "lost", "frames_received") == 10


@pytest.mark.parametrize("by", ["ip", "mac"])
def test_frames_that_are_sent_back_to_their_source_are_refused(by: str) -> None:
    """A source carries no frames: it would take its own for delivered."""
    table = chain("nic", "switch", "sink")
    table["nodes"]["n1"] |= {"forwards_by": by, "forwarding": {"n2": "n0"}}
    with pytest.raises(BadInput, match=r"traffic\.gen\.to.*round and back to n0"):
        resolved(table)
