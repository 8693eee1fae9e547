"""Summary of a pass: converts its tables to `traces.analysis.analysis_result`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from traces.analysis.analysis_result import (
    Analysis,
    CaptureSeen,
    ClockSeen,
    InterfaceSeen,
    NeighbourSeen,
)
from traces.analysis.clock_offsets import ClockPair
from traces.analysis.collector import CapturePass
from traces.analysis.control_summary import congestion_points, pauses_seen, probes_seen, stamps_seen
from traces.analysis.fairness import fairness
from traces.analysis.flow_labels import flow_seen, mac_text, point_names
from traces.analysis.flow_records import OVERFLOW, POINT
from traces.analysis.hops_and_cascades import causes, flows_without_latency, latencies
from traces.capture import NO_TIME
from traces.dissect import KINDS, Kind

NS = 10**9
ALWAYS = (Kind.DATA, Kind.CNM, Kind.PAUSE, Kind.PFC, Kind.OTHER)
"""Kinds whose count is reported even when it is 0."""


@dataclass(frozen=True)
class PointRows:
    """Rows that belong to one point: of flows, congestion points, links that pause, probes,
    stations, ports that stamp; and the (file, interface) pairs that captured there."""

    flows: list[int] = field(default_factory=list)
    congestion_points: list[int] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    stations: list[int] = field(default_factory=list)
    stamping: list[int] = field(default_factory=list)
    captured: list[tuple[int, int]] = field(default_factory=list)


def rows_by_point(collected: CapturePass) -> dict[int, PointRows]:
    """Rows of each point; looked up once, because there may be many points."""
    found: dict[int, PointRows] = defaultdict(PointRows)
    table = collected.flows.flows[: len(collected.flows)]
    for row in np.flatnonzero(table["frames"]).tolist():
        if row != OVERFLOW:
            found[int(table["point"][row])].flows.append(row)
    for index, one in enumerate(collected.messages.points):
        found[one.point].congestion_points.append(index)
    for index, link in enumerate(collected.pausing.links):
        found[link.point].links.append(index)
    for index, probed in enumerate(collected.probes.probed):
        found[probed.point].probes.append(index)
    for index, station in enumerate(collected.neighbours.stations):
        found[station.point].stations.append(index)
    for index, stamping in enumerate(collected.stamped.ports):
        found[stamping.point].stamping.append(index)
    for where, point in collected.points.items():
        found[point].captured.append(where)
    return found


def interface_seen(
    collected: CapturePass, point: int, where: tuple[int, int], name: str, here: PointRows
) -> InterfaceSeen:
    """One point; `where` are its file and interface."""
    file, interface = where
    block = collected.streams[file].interfaces[interface]
    points = collected.flows.points
    state = points[point] if point < len(points) else np.zeros(1, POINT)[0]
    lost = [
        drops
        for part, number in here.captured
        if (drops := collected.streams[part].interfaces[number].dropped) is not None
    ]
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
    fair = fairness(seen)
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
        capture_drops=sum(lost) if lost else None,
        feedback=dict(sorted(feedback.items())),
        pauses=sum(one.frames - one.resumes for one in plain),
        resumes=sum(one.resumes for one in plain),
        flows=own,
        conversations=others,
        ce=int(state["ce"]),
        jain=fair.jain,
        fairness=fair,
        congestion_points=stops,
        links=links,
        probes=probes_seen(collected, here.probes),
        neighbours=[
            NeighbourSeen(mac_text(one.source), one.frames, one.changes, one.says, one.notes)
            for one in (collected.neighbours.stations[index] for index in here.stations)
        ],
        stamps=stamps_seen(collected, here.stamping),
        drops={
            name: count
            for name, count in (
                ("interface", block.dropped_by_interface),
                ("system", block.dropped_by_system),
                ("between_frames", block.dropped_between_frames),
            )
            if count is not None
        },
        link_errors=dict(block.link_errors),
        untimed=block.untimed,
        fcs_octets=block.fcs_octets,
        fcs_unstated=block.fcs_unstated,
        cut=collected.cut[point],
        mirrored=collected.copies.is_mirrored(point),
        transmit_bps=block.transmit_bps,
        receive_bps=block.receive_bps,
    )


def clocks_seen(collected: CapturePass, clocks: list[ClockPair]) -> list[ClockSeen]:
    """The clocks of every two captures with the same frames."""
    return [
        ClockSeen(
            first=collected.streams[one.first].path,
            second=collected.streams[one.second].path,
            frames=one.frames,
            verdict=one.verdict,
            offset_s=None if one.offset_ns is None else one.offset_ns / NS,
            uncertainty_s=None if one.uncertainty_ns is None else one.uncertainty_ns / NS,
            drift_ppm=None if one.offset_ns is None else one.drift * 1e6,
            corrected=bool({one.first, one.second} & set(collected.corrections)),
            least_s=None if one.least_ns is None else one.least_ns / NS,
        )
        for one in clocks
    ]


def summarise(
    collected: CapturePass, backward: list[int], clocks: list[ClockPair]
) -> tuple[Analysis, np.ndarray]:
    """The analysis, and the pause spells (SPELL[n]).

    `backward` frames of each file were earlier than one before them, as the file has them."""
    names = point_names(collected)
    points = collected.flows.points
    ends = {
        point: int(points["last_ns"][point]) if point < len(points) else NO_TIME
        for point in range(len(names))
    }
    spells = collected.pausing.finish(ends)
    here = rows_by_point(collected)
    firsts: dict[int, tuple[int, int]] = {}
    for where, point in collected.points.items():
        firsts.setdefault(point, where)
    interfaces = [
        interface_seen(collected, point, where, names[point], here[point])
        for point, where in sorted(firsts.items())
    ]
    steps, note = causes(collected, spells, names)
    captures = [
        CaptureSeen(
            file=stream.path,
            format=stream.format,
            frames=stream.frames,
            damage=None if stream.damage is None else str(stream.damage),
            backward=backward[index],
            unsorted=collected.backward(index),
        )
        for index, stream in enumerate(collected.streams)
    ]
    analysis = Analysis(
        file=captures[0].file,
        interfaces=interfaces,
        captures=captures,
        latency=latencies(collected, names, clocks),
        without_latency=flows_without_latency(collected),
        clocks=clocks_seen(collected, clocks),
        cascades=steps,
        cascades_note=note,
        more_flows=int(collected.flows.flows["frames"][OVERFLOW]),
        more_messages=collected.messages.others,
        more_pauses=collected.pausing.others,
        more_probes=collected.probes.others,
        more_lldp=collected.neighbours.others,
        more_stamps=collected.stamped.others,
        undrawn_messages=collected.messages.undrawn,
        undrawn_spells=int(collected.pausing.states["spells"].sum()) - len(spells),
        undrawn_probes=collected.probes.undrawn,
    )
    return analysis, spells
