"""Hop latencies and pause cascades between the capture points of a pass."""

from __future__ import annotations

import numpy as np

from traces.analysis import pause_cascade
from traces.analysis.analysis_result import Cause, HopSeen
from traces.analysis.clock_offsets import ClockPair
from traces.analysis.collector import CapturePass
from traces.analysis.fairness import NAMES
from traces.analysis.flow_labels import flow_seen
from traces.analysis.flow_records import OVERFLOW
from traces.analysis.latency_matching import identities, largest
from traces.dissect import Kind

NS = 10**9


WITHHELD = ("contradict", "absurd")


def clocks_of(collected: CapturePass, clocks: list[ClockPair], one: int, other: int) -> str:
    """What is known of the clocks of two points: "one", if they have the same, "corrected", or the
    verdict."""
    files = collected.point_clocks()
    first, second = sorted((int(files[one]), int(files[other])))
    if first == second:
        return "one"
    if {first, second} & set(collected.corrections):
        return "corrected"
    for pair in clocks:
        if (pair.first, pair.second) == (first, second):
            return pair.verdict
    return "unverified"


def latencies(collected: CapturePass, names: list[str], clocks: list[ClockPair]) -> list[HopSeen]:
    """Latencies of every flow that was seen at two points, save those that clocks belie."""
    matcher, flows = collected.matcher, collected.flows
    edges = largest()
    found = []
    for row in np.flatnonzero(matcher.hops["frames"]).tolist():
        hop, one = matcher.hops[row], flow_seen(collected, row)
        ends = int(flows.flows["point"][hop["before"]]), int(flows.flows["point"][row])
        verdict = clocks_of(collected, clocks, *ends)
        if verdict in WITHHELD:
            continue
        figures = {
            "min": int(hop["low_ns"]) / NS,
            "mean": int(hop["sum_ns"]) / int(hop["frames"]) / NS,
            "max": int(hop["high_ns"]) / NS,
        }
        if row < len(matcher.histogram):
            passed = np.cumsum(matcher.histogram[row])
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                place = int(np.searchsorted(passed, np.ceil(share * passed[-1])))
                # as result.json: what so many frames do not exceed, never too favourable
                figures[label] = min(int(edges[place]), int(hop["high_ns"])) / NS
        found.append(
            HopSeen(
                before=names[ends[0]],
                after=names[ends[1]],
                source=one.source,
                flow=one.flow,
                frames=int(hop["frames"]),
                latency_s=figures,
                other_paths=int(hop["other_paths"]),
                from_address=one.from_address,
                to_address=one.to_address,
                qp=one.qp,
                clocks="unverified" if verdict == "differ" else verdict,
            )
        )
    return found


def flows_without_latency(collected: CapturePass) -> dict[str, int]:
    """Flows over IP at several points whose frames cannot be told apart, by protocol."""
    count = len(collected.flows)
    flows, keys = collected.flows.flows[:count], collected.flows.keys[:count]
    protocols = ((keys[:, 6] >> 40) & 0x3FF) - 1
    foreign = (flows["kind"] == int(Kind.OTHER)) & (protocols >= 0)
    foreign[OVERFLOW] = False
    at_points = np.stack([identities(keys[foreign]), flows["point"][foreign]], axis=1)
    at_points, first = np.unique(at_points, axis=0, return_index=True)
    _, place, points = np.unique(at_points[:, 0], return_index=True, return_counts=True)
    found: dict[str, int] = {}
    for protocol in protocols[foreign][first[place[points > 1]]].tolist():
        name = NAMES.get(protocol, f"IP protocol {protocol}")
        found[name] = found.get(name, 0) + 1
    return found


def capture_points_of(
    collected: CapturePass, names: list[str]
) -> list[pause_cascade.CapturePoint | None]:
    """Capture points at which each link's pauses were seen."""
    return [
        None
        if link.point < 0
        else pause_cascade.capture_point_of(names[link.point], link.direction)
        for link in collected.pausing.links
    ]


def causes(
    collected: CapturePass, spells: np.ndarray, names: list[str]
) -> tuple[list[Cause], str | None]:
    """The cascades, and the reason where they are unknown."""
    links = collected.pausing.links
    if not links:
        return [], None
    places = capture_points_of(collected, names)
    if not any(collected.pausing.has_link_rate(index) for index in range(len(links))):
        return (
            [],
            "the links' rate is not known (give it with --rate), so neither are the pauses' ends",
        )
    if None in places:
        note = "some interfaces are not called node.port or do not state the direction of frames"
    else:
        note = None
    if not len(spells):  # frames that resume neighbours that were not paused
        return [], note
    start = int(spells["begin_ns"].min())
    found = []
    for cause, effect in pause_cascade.cascade_steps(spells, places):
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
