"""Headers of a plan's frames: VLAN tags, IP version, and how a frame's priority is carried.

`[headers]` holds for every link of the plan. With `priority = "dscp"` hosts write the DSCP of each
priority (`tc_to_dscp`), and every node that receives a frame takes its priority from that
(`dscp_to_tc`, at switches `tc_to_queue` behind it), as switches and NICs with DSCP trust do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from orchestrator.engine.frames.frame_layout import ROCE_TOS
from orchestrator.engine.frames.header_options import LEAST_VLAN, MOST_VLAN, HeaderOptions
from orchestrator.errors import Problem
from orchestrator.plan.field_types import DscpMap, PriorityMap
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_tables import Switch, Table
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.units import format_size

CODE_POINTS = 64
SONIC_DSCP_TO_TC = {0: 1, 3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
"""DSCP -> traffic class of SONiC's default map AZURE (its template qos_config.j2); all others have
BEST_EFFORT."""
BEST_EFFORT = 1
CNP_DSCP = ROCE_TOS >> 2
"""DSCP of CNPs: class selector 6, 48."""
PRIORITY_7 = 56
"""DSCP (class selector 7) of priority 7, which SONiC's map has no code point for."""
TC_TO_DSCP = [8, 0, 5, 3, 4, 46, 48, PRIORITY_7]
"""DSCP of each priority, so that the default map takes it back to the same priority."""
Vlan = Annotated[int, Field(ge=LEAST_VLAN, le=MOST_VLAN)]
CodePoints = Annotated[
    list[Annotated[int, Field(ge=0, lt=CODE_POINTS)]], Field(min_length=8, max_length=8)
]


class Headers(Table):
    """Headers of all frames but PAUSE, PFC and link credits, which have none of them."""

    tagged: bool = True
    """Frames have a VLAN tag. false: they have none, and no priority in it either."""
    vlan: Vlan | None = None
    """VLAN id of the tag, 1 to 4094; default: 1."""
    outer_vlan: Vlan | None = None
    """VLAN id, 1 to 4094, of a service tag in front of it (802.1ad, QinQ); default: no such tag."""
    ip: Literal[4, 6] = 4
    """IP version of all frames that are IP."""
    priority: Literal["pcp", "dscp"] = "pcp"
    """pcp: the priority is that of the VLAN tag. dscp: the DSCP of a frame gives it its priority at
    every node that receives it; the priority in its tags is 0."""
    tc_to_dscp: CodePoints | None = None
    """DSCP, 0 to 63, that hosts write for each priority, 0 to 7, with priority = "dscp"; default:
    [8, 0, 5, 3, 4, 46, 48, 56], which SONiC's default map takes back to the same priorities."""
    dscp_to_tc: DscpMap | None = None
    """Priority, 0 to 7, of some DSCPs at every node, in place of the default: SONiC's map AZURE,
    and 7 for DSCP 56. A switch's own entries go before these."""

    cnps: Literal["ahead", "queued"] | None = None
    """ahead: switches send CNPs past every queue, and PFC holds none. queued: they wait in the
    queue of their priority, which PFC holds and which may drop them: that of their VLAN tag
    (`priority` of the notification point) or, with priority = "dscp", that of DSCP 48. Default:
    ahead."""

    def options(self) -> HeaderOptions:
        """The headers as the frame codec takes them."""
        return HeaderOptions(
            vlan=(self.vlan or 1) if self.tagged else None,
            outer_vlan=self.outer_vlan,
            ip=self.ip,
            by_dscp=self.priority == "dscp",
            queued_cnps=self.cnps == "queued",
        )

    def code_points(self) -> list[int]:
        """DSCP of each priority."""
        return self.tc_to_dscp or TC_TO_DSCP

    def classes(self, switch: Switch | None = None) -> list[int]:
        """Priority of every DSCP at a host, or at a switch with its own entries."""
        found = [BEST_EFFORT] * CODE_POINTS
        for dscp, tc in (SONIC_DSCP_TO_TC | {PRIORITY_7: 7}).items():
            found[dscp] = tc
        for own in (self.dscp_to_tc, switch and switch.dscp_to_tc):
            for text, tc in (own or {}).items():
                found[int(text)] = tc
        queues: PriorityMap | None = switch.tc_to_queue if switch is not None else None
        return [queues[tc] for tc in found] if queues else found


def header_problems(
    headers: Headers, switches: Mapping[str, Switch], frames: Mapping[str, tuple[int, int]]
) -> Iterator[Problem]:
    """Headers that contradict each other, and frames without room for them. `frames`: octets and
    largest priority of each traffic entry."""
    if not headers.tagged:
        for key in ("vlan", "outer_vlan"):
            if (vlan := getattr(headers, key)) is not None:
                text = f"untagged frames are in no VLAN; tagged = true, or no {key!r}, is expected"
                yield Clash(f"headers.{key}", vlan, text)
    if headers.priority == "pcp":
        text = 'priorities are those of VLAN tags; headers.priority = "dscp" is expected with it'
        for key in ("tc_to_dscp", "dscp_to_tc"):
            if (given := getattr(headers, key)) is not None:
                yield Clash(f"headers.{key}", given, text)
        for name, switch in switches.items():
            for key in ("dscp_to_tc", "tc_to_queue"):
                if (given := getattr(switch, key)) is not None:
                    yield Clash(f"nodes.{name}.{key}", given, text)
    least = headers.options().octets
    for name, (octets, priority) in frames.items():
        if octets < least:
            accepted = f"at least {format_size(least)}, the octets of its headers, is expected"
            yield Problem(f"traffic.{name}.frame", format_size(octets), accepted)
        if priority and not headers.tagged and headers.priority == "pcp":
            text = 'untagged frames have no tag for it; headers.priority = "dscp" is expected'
            yield Clash(f"traffic.{name}.priority", priority, text)


def header_use_problems(
    headers: Headers, groups: Mapping[str, object], uses: Mapping[str, Mapping[str, Use]]
) -> Iterator[Problem]:
    """Algorithms and traffic that need headers which the plan's frames do not have."""
    options = headers.options()
    for entry, use in uses["traffic"].items():
        if getattr(use.algorithm, "programs", False) and headers != Headers():
            text = "packets of programs have a VLAN tag 1 and IPv4; no table 'headers' is expected"
            yield Clash(f"traffic.{entry}", use.algorithm.name, text)
        if use.params.least_frame() < options.octets and use.params.frame_lengths() is not None:
            accepted = f"at least {format_size(options.octets)}, the octets of headers, is expected"
            shortest = format_size(use.params.least_frame())
            yield Problem(f"traffic.{entry}.min_frame", shortest, accepted)
    for kind in ("congestion_point", "notification_point"):
        for holder, use in uses[kind].items():
            where = f"nodes.{holder.partition('.')[0]}.{kind}"
            if headers.priority == "dscp" and use.params.feedback_in_dscp():
                text = (
                    "its feedback takes the six bits of the DSCP, which say the priority; "
                    'headers.priority = "pcp" is expected'
                )
                yield Clash(where, use.algorithm.name, text)
            if headers.ip == 6 and use.params.sends_cnm():
                text = (
                    "a CNM repeats 64 octets of a frame, too few for IPv6 headers and the flow's "
                    "number; headers.ip = 4 is expected"
                )
                yield Clash(where, use.algorithm.name, text)
    if headers.ip == 6 and groups:
        text = "groups have IPv4 addresses; headers.ip = 4 is expected"
        yield Clash("groups", next(iter(groups)), text)
