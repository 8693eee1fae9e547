"""From what a pass has collected to what is told: `traces.analysis.found`."""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from traces.analysis import cascade
from traces.analysis.collect import Collected
from traces.analysis.found import (
    Analysis,
    CaptureSeen,
    Cause,
    CongestionPointSeen,
    FlowSeen,
    HopSeen,
    InterfaceSeen,
    PauseSeen,
)
from traces.analysis.kernel import OVERFLOW, POINT
from traces.analysis.latency import lower_edges
from traces.analysis.pausing import PLAIN
from traces.capture import NO_TIME
from traces.dissect import ABSENT, KINDS, Kind

NS = 10**9
ALWAYS = (Kind.DATA, Kind.CNM, Kind.PAUSE, Kind.PFC, Kind.OTHER)
"""Kinds whose count is told even when it is 0."""


def mac_text(address: int) -> str:
    """A MAC address of 48 bits as text; "" when it is absent."""
    return "" if address < 0 else ":".join(f"{octet:02x}" for octet in address.to_bytes(6, "big"))


def ip_text(high: int, low: int, version: int) -> str | None:
    """An IP address of two words as text; None without one."""
    if version == 4 and low >= 0:  # of a header with an impossible length there is no more
        return str(ipaddress.IPv4Address(low))
    if version == 6:
        return str(ipaddress.IPv6Address((high % 2**64) << 64 | low % 2**64))
    return None


def point_names(collected: Collected) -> list[str]:
    """What each point is called: its interface, with the file where that is not unique."""
    found = {}
    for (index, interface), point in collected.points.items():
        found[point] = (collected.streams[index], interface)
    names = [found[point][0].interfaces[found[point][1]].name for point in range(len(found))]
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{Path(found[point][0].path).name}:{name}"
        for point, name in enumerate(names)
    ]


def flow_seen(collected: Collected, row: int) -> FlowSeen:
    """One row of the flow table."""
    flow, key = collected.flows.flows[row], collected.flows.keys[row].tolist()
    kind, version = Kind(int(flow["kind"])), int(flow["headers"])
    ports = (key[6] & 0xFFFFF) - 1, ((key[6] >> 20) & 0xFFFFF) - 1
    protocol, qp = ((key[6] >> 40) & 0x3FF) - 1, (key[7] >> 32) - 1
    counts = bool(flow["numbered"]) and kind in (Kind.DATA, Kind.ROCE)
    span = int(flow["last_ns"]) - int(flow["first_ns"])
    # the first frame only opens the interval over which the others were sent
    octets = int(flow["octets"]) - int(flow["first_length"])
    lost = int(flow["high"]) - int(flow["low"]) + 1 - int(flow["distinct"])
    return FlowSeen(
        source=mac_text(key[0]),
        destination=mac_text(key[1]),
        flow=int(flow["number"]) if kind == Kind.DATA else None,
        frames=int(flow["frames"]),
        octets=int(flow["octets"]),
        throughput_bps=octets * 8 * NS / span if span > 0 else None,
        lost=max(lost, 0) if counts and not flow["reads"] else None,
        duplicates=int(flow["duplicates"]) if counts else None,
        reordered=int(flow["reordered"]) if flow["numbered"] else None,
        kind=KINDS[kind],
        vlan=_known(int(flow["vlan"])),
        priority=_known(int(flow["priority"])),
        ethertype=((key[7] >> 13) & 0x1FFFF) - 1,
        from_address=ip_text(key[2], key[3], version),
        to_address=ip_text(key[4], key[5], version),
        protocol=_known(protocol),
        source_port=_known(ports[1]),
        destination_port=_known(ports[0]),
        qp=_known(qp),
        undecided=int(flow["undecided"]),
        ect0=int(flow["ect0"]),
        ect1=int(flow["ect1"]),
        ce=int(flow["ce"]),
        row=row,
    )


def _known(value: int) -> int | None:
    return None if value == ABSENT else value


def jain(amounts: list[int]) -> float | None:
    """Jain's index of fairness; None for none."""
    squares = sum(amount * amount for amount in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares else None


@dataclass(frozen=True)
class Here:
    """Rows that belong to one point: of flows, of congestion points, of links that pause."""

    flows: list[int] = field(default_factory=list)
    congestion_points: list[int] = field(default_factory=list)
    links: list[int] = field(default_factory=list)


def by_point(collected: Collected) -> dict[int, Here]:
    """What belongs to each point; looked up once, because there may be many points."""
    found: dict[int, Here] = defaultdict(Here)
    table = collected.flows.flows[: len(collected.flows)]
    for row in np.flatnonzero(table["frames"]).tolist():
        if row != OVERFLOW:
            found[int(table["point"][row])].flows.append(row)
    for index, one in enumerate(collected.messages.points):
        found[one.point].congestion_points.append(index)
    for index, link in enumerate(collected.pausing.links):
        found[link.point].links.append(index)
    return found


def congestion_points(collected: Collected, rows: list[int]) -> list[CongestionPointSeen]:
    """Those of some rows."""
    messages = collected.messages
    found = []
    for index in rows:
        one, counts = messages.points[index], messages.feedback[index]
        total = int(counts.sum())
        levels = np.flatnonzero(counts)
        found.append(
            CongestionPointSeen(
                cpid=f"{one.cpid % 2**64:016x}",
                source=mac_text(one.source),
                messages=total,
                feedback={int(level): int(counts[level]) for level in levels},
                feedback_mean=float(counts @ np.arange(len(counts))) / total,
                offset_bytes=_extremes(messages.offset[index], total),
                delta_bytes=_extremes(messages.delta[index], total),
                index=index,
            )
        )
    return found


def _extremes(sums: np.ndarray, total: int) -> dict[str, float]:
    return {"mean": float(sums[0]) / total, "min": float(sums[1]), "max": float(sums[2])}


def pauses_seen(collected: Collected, rows: list[int], seconds: float) -> list[PauseSeen]:
    """The pauses of some links, by sender, direction and priority."""
    pausing = collected.pausing
    found = []
    for index in rows:
        link = pausing.links[index]
        known = pausing.quantum_known(index)
        for priority in range(PLAIN + 1):
            state = pausing.states[index, priority]
            if not state["frames"]:
                continue
            paused = int(state["paused_ns"]) / NS
            found.append(
                PauseSeen(
                    source=mac_text(link.source),
                    direction=cascade.DIRECTIONS.get(link.direction, "unknown"),
                    priority=None if priority == PLAIN else priority,
                    frames=int(state["frames"]),
                    resumes=int(state["resumes"]),
                    quanta=int(state["quanta"]),
                    paused_s=paused if known else None,
                    duty=min(paused / seconds, 1.0) if known and seconds else None,
                    spells=int(state["spells"]) if known else None,
                    longest_s=int(state["longest_ns"]) / NS if known else None,
                    storms=int(state["storms"]) if known else None,
                    link=index,
                )
            )
    return found


def interface_seen(
    collected: Collected, point: int, where: tuple[int, int], name: str, here: Here
) -> InterfaceSeen:
    """One point; `where` are its file and interface."""
    file, interface = where
    block = collected.streams[file].interfaces[interface]
    points = collected.flows.points
    state = points[point] if point < len(points) else np.zeros(1, POINT)[0]
    seconds = (int(state["last_ns"]) - int(state["first_ns"])) / NS
    seen = [flow_seen(collected, row) for row in here.flows]
    own = sorted(
        (one for one in seen if one.flow is not None), key=lambda one: (one.source, one.flow)
    )
    others = sorted((one for one in seen if one.flow is None), key=lambda one: -one.octets)
    stops = congestion_points(collected, here.congestion_points)
    links = pauses_seen(collected, here.links, seconds)
    plain = [one for one in links if one.priority is None]
    feedback: dict[int, int] = {}
    for one in stops:
        for level, count in one.feedback.items():
            feedback[level] = feedback.get(level, 0) + count
    octets = int(state["octets"])
    return InterfaceSeen(
        name=name,
        file=collected.streams[file].path,
        linktype=block.linktype,
        seconds=seconds,
        frames={
            KINDS[kind]: int(state["frames"][kind])
            for kind in Kind
            if kind in ALWAYS or state["frames"][kind]
        },
        octets=octets,
        rate_bps=collected.rate(file, interface),
        throughput_bps=octets * 8 / seconds if seconds else None,
        capture_drops=block.dropped,
        feedback=dict(sorted(feedback.items())),
        pauses=sum(one.frames - one.resumes for one in plain),
        resumes=sum(one.resumes for one in plain),
        flows=own,
        conversations=others,
        ce=int(state["ce"]),
        jain=jain([one.octets for one in own or others]),
        congestion_points=stops,
        links=links,
    )


def latencies(collected: Collected, names: list[str]) -> list[HopSeen]:
    """Every flow that was seen at two points."""
    matcher, flows = collected.matcher, collected.flows
    edges = lower_edges()
    found = []
    for row in np.flatnonzero(matcher.hops["frames"]).tolist():
        hop, one = matcher.hops[row], flow_seen(collected, row)
        figures = {
            "min": int(hop["low_ns"]) / NS,
            "mean": int(hop["sum_ns"]) / int(hop["frames"]) / NS,
            "max": int(hop["high_ns"]) / NS,
        }
        if row < len(matcher.histogram):
            passed = np.cumsum(matcher.histogram[row])
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                place = int(np.searchsorted(passed, np.ceil(share * passed[-1])))
                figures[label] = int(edges[place]) / NS
        found.append(
            HopSeen(
                before=names[int(flows.flows["point"][hop["before"]])],
                after=names[int(flows.flows["point"][row])],
                source=one.source,
                flow=one.flow,
                frames=int(hop["frames"]),
                latency_s=figures,
                other_paths=int(hop["other_paths"]),
            )
        )
    return found


def places_of(collected: Collected, names: list[str]) -> list[cascade.Place | None]:
    """Where each link's pauses were seen."""
    return [
        None if link.point < 0 else cascade.place(names[link.point], link.direction)
        for link in collected.pausing.links
    ]


def causes(
    collected: Collected, spells: np.ndarray, names: list[str]
) -> tuple[list[Cause], str | None]:
    """The cascades, and why there are none where they could not be told."""
    links = collected.pausing.links
    if not links:
        return [], None
    places = places_of(collected, names)
    if not any(collected.pausing.quantum_known(index) for index in range(len(links))):
        return (
            [],
            "the links' rate is not known (give it with --rate), so neither are the pauses' ends",
        )
    if None in places:
        note = "some interfaces are not called node.port or do not tell the direction of frames"
    else:
        note = None
    start = int(spells["begin_ns"].min())
    found = []
    for cause, effect in cascade.steps(spells, places):
        place = places[int(spells["link"][effect])]
        found.append(
            Cause(
                node="" if place is None else place.node,
                cause_link=int(spells["link"][cause]),
                cause_begin_s=(int(spells["begin_ns"][cause]) - start) / NS,
                effect_link=int(spells["link"][effect]),
                effect_begin_s=(int(spells["begin_ns"][effect]) - start) / NS,
                cause=cause,
                effect=effect,
            )
        )
    return found, note


def summarise(collected: Collected) -> tuple[Analysis, np.ndarray]:
    """What was found, and the spells of pause (SPELL[n])."""
    names = point_names(collected)
    points = collected.flows.points
    ends = {
        point: int(points["last_ns"][point]) if point < len(points) else NO_TIME
        for point in range(len(names))
    }
    spells = collected.pausing.finish(ends)
    here = by_point(collected)
    interfaces = [
        interface_seen(collected, point, where, names[point], here[point])
        for where, point in collected.points.items()
    ]
    steps, note = causes(collected, spells, names)
    captures = [
        CaptureSeen(
            file=stream.path,
            format=stream.format,
            frames=stream.frames,
            damage=None if stream.damage is None else str(stream.damage),
        )
        for stream in collected.streams
    ]
    analysis = Analysis(
        file=captures[0].file,
        interfaces=interfaces,
        captures=captures,
        latency=latencies(collected, names),
        cascades=steps,
        cascades_note=note,
        more_flows=int(collected.flows.flows["frames"][OVERFLOW]),
        more_messages=collected.messages.others,
        more_pauses=collected.pausing.others,
    )
    return analysis, spells
