"""Injections of the timeline: the port that they act at, and what is refused of them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.assembly import assemble
from orchestrator.engine.records import WRONG_IPV4, WRONG_UDP
from orchestrator.errors import BadInput
from orchestrator.live.live_changes import ChangeRefused, run_to_end
from orchestrator.live.world_changes import PausedWorldChanges
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry

NET = """
name = "net"
duration = "1ms"
[nodes."h{1..2}"]
kind = "nic"
[nodes.two]
kind = "nic"
[nodes.s]
kind = "switch"
[nodes.t]
kind = "switch"
[links.a]
ends = ["h1", "s"]
[links.b]
ends = ["s", "t"]
[links.c]
ends = ["t", "h2"]
[links.d]
ends = ["two", "s"]
[links.e]
ends = ["two", "t"]
[templates.l]
[traffic.f]
plugin = "bulk"
from = "h1"
to = "h2"
transport = { plugin = "go-back-n" }
[traffic.g]
plugin = "bulk"
from = "h1"
to = "h2"
flows = 2
[traffic.up]
plugin = "bulk"
from = "two"
via = "e"
to = "h2"
[traffic.down]
plugin = "bulk"
from = "h1"
to = "two"
transport = { plugin = "go-back-n" }
"""
LINKS = "abcde"


def resolved(*steps: str) -> ResolvedPlan:
    text = NET.replace("[templates.l]\n", "")
    for link in LINKS:
        text = text.replace(f"[links.{link}]", f'[links.{link}]\nrate = "1Gb/s"')
    timeline = "".join(f"[[timeline]]\n{step}\n" for step in steps)
    return Plan.load(text + timeline).check(Registry.load())


@pytest.mark.parametrize(
    ("step", "link"),
    [
        ('drop = "f"', "h1>s"),
        ('drop = "f"\nof = "ack"', "h2>t"),
        ('drop = "f"\nof = "cnm"', "s>h1"),
        ('drop = "f"\nport = "t.h2"', "t>h2"),
        ('corrupt = "g.1"', "h1>s"),
        ('mark = "up"', "two>t"),
        ('drop = "up"\nof = "cnm"', "t>two"),
        ('delay = "down"\nby = "1us"\nof = "ack"\nport = "two.s"', "two>s"),
    ],
)
def test_an_injection_acts_where_the_frame_leaves_its_source(step: str, link: str) -> None:
    (action,) = resolved(f'at = "0s"\n{step}').actions
    assert (action.kind, action.entities) == ("injection", (link,))
    assert (action.values["packet"], action.values["packets"]) == (1, 1)


def test_a_resolved_plan_has_its_injections_as_they_were_written() -> None:
    step = 'at = "10us"\ndelay = "f"\npacket = 3\npackets = 2\nby = "1.5us"\nof = "ack"'
    plan = resolved(step).plan
    again = Plan.load(plan.to_toml()).check(Registry.load())
    assert again.actions == resolved(step).actions
    (action,) = again.actions
    assert action.values == {"packet": 3, "packets": 2, "of": 1, "delay": 1_500_000}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('drop = "nix"', r"timeline\[0\]\.drop: .*flow 'nix'"),
        ('drop = "g"', r"timeline\[0\]\.drop.*g has 2 flows; one of them is expected: g\.0"),
        ('drop = "f"\nport = "s.x"', r"timeline\[0\]\.port.*port 's\.x'"),
        ('drop = "down"\nof = "ack"', r"timeline\[0\]\.port.*acknowledgements of down may leave"),
        ('drop = "down"\nof = "data"\npacket = 0', r"timeline\[0\]\.packet"),
        ('drop = "f"\npackets = 0', r"timeline\[0\]\.packets"),
        ('drop = "f"\nof = "pause"', r"timeline\[0\]\.of"),
        ('drop = "f"\nby = "1us"', "'delay' needs 'by'"),
        ('delay = "f"', "'delay' needs 'by'"),
        ('delay = "f"\nby = "0s"', r"timeline\[0\]\.by"),
        ('delay = "f"\nby = "2s"', r"timeline\[0\]\.by"),
        ('mark = "f"\nof = "ack"', "'mark' sets the ECN codepoint of data"),
        ('start = "f"\npacket = 2', "'start' has no 'packet'"),
        ('drop = "f"\nmark = "f"', "found mark and drop|found drop and mark"),
        ('drop = "f"\nfield = "icrc"', "'drop' has no 'field'"),
        ('corrupt = "f"\nfield = "fcs"', r"timeline\[0\]\.field"),
        ('corrupt = "f"\nfield = "icrc"', r"timeline\[0\]\.field.*only RoCEv2 packets"),
        ('duplicate = "g.0"', r"timeline\[0\]\.duplicate.*give traffic\.g a transport"),
    ],
)
def test_what_names_no_frame_is_refused(step: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"(?s){said}"):
        resolved(f'at = "0s"\n{step}')


@pytest.mark.parametrize(
    ("headers", "field", "said"),
    [
        ("ip = 6", "ipv4_checksum", "IPv6 has no header checksum; 'udp_checksum' or headers.ip"),
        ("ip = 4", "ipv4_checksum", None),
        ("ip = 6", "udp_checksum", None),
        ("ip = 4", "udp_checksum", None),
    ],
)
def test_a_check_that_the_headers_do_not_have_is_refused(
    headers: str, field: str, said: str | None
) -> None:
    step = f'at = "0s"\ncorrupt = "f"\nfield = "{field}"\n[headers]\n{headers}'
    if said is None:
        wrong = {"ipv4_checksum": WRONG_IPV4, "udp_checksum": WRONG_UDP}[field]
        assert resolved(step).actions[0].values["damage"] == wrong
        return
    with pytest.raises(BadInput, match=rf"(?s)timeline\[0\]\.field.*{said}"):
        resolved(step)


@pytest.mark.parametrize("field", ["ipv4_checksum", "udp_checksum", "icrc"])
def test_packets_of_programs_have_no_check_of_ours(field: str) -> None:
    step = f"""at = "0s"
corrupt = "p"
field = "{field}"
[traffic.p]
plugin = "sockets"
from = "h1"
to = "h2"
[programs.server]
node = "h2"
command = "true"
[programs.client]
node = "h1"
command = "true"
"""
    said = r"timeline\[0\]\.field.*the packets of p are those of programs"
    with pytest.raises(BadInput, match=f"(?s){said}"):
        resolved(step)


def test_ranges_name_several_flows_and_ports() -> None:
    steps = resolved('at = "0s"\ndrop = "g.{0..1}"\nport = "s.t"').actions
    assert [(action.key, action.entities) for action in steps] == [
        ("g.0", ("s>t",)),
        ("g.1", ("s>t",)),
    ]


def test_an_external_node_injects_nothing() -> None:
    text = NET.replace("[templates.l]\n", "").replace(
        '[nodes.t]\nkind = "switch"', '[nodes.t]\nkind = "external"\nas = "switch"'
    )
    rated: Any = text
    for link in LINKS:
        rated = rated.replace(f"[links.{link}]", f'[links.{link}]\nrate = "1Gb/s"')
    with pytest.raises(BadInput, match=r"timeline\[0\]\.port.*t is external"):
        Plan.load(rated + '[[timeline]]\nat = "0s"\ndrop = "f"\nport = "t.h2"\n')


def test_a_running_world_takes_no_injection() -> None:
    assembly = assemble(resolved())
    changes = PausedWorldChanges(assembly, lambda: 0)
    with pytest.raises(ChangeRefused, match="by the plan's timeline alone"):
        run_to_end(changes.checked(assembly.resolved, {"drop": "f"}, 10**6))
