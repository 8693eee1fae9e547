"""Summaries of congestion points, pauses, probes and stamps of a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames.address_index import mac_of
from traces.analysis import pause_cascade
from traces.analysis.analysis_result import CongestionPointSeen, PauseSeen, ProbesSeen, StampsSeen
from traces.analysis.collector import CapturePass
from traces.analysis.flow_labels import mac_text
from traces.analysis.pause_spells import PLAIN
from traces.analysis.stamp_statistics import rate_bps

NS = 10**9


def congestion_points(collected: CapturePass, rows: list[int]) -> list[CongestionPointSeen]:
    """Summaries of some rows of congestion points."""
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


def pauses_seen(collected: CapturePass, rows: list[int], seconds: float) -> list[PauseSeen]:
    """The pauses of some links, by sender, direction and priority."""
    pausing = collected.pausing
    found = []
    for index in rows:
        link = pausing.links[index]
        known = pausing.has_link_rate(index)
        for priority in range(PLAIN + 1):
            state = pausing.states[index, priority]
            if not state["frames"]:
                continue
            paused = int(state["paused_ns"]) / NS
            found.append(
                PauseSeen(
                    source=mac_text(link.source),
                    direction=pause_cascade.DIRECTIONS.get(link.direction, "unknown"),
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
                    **(_lapses(state) if known else {}),
                )
            )
    return found


def _lapses(state: np.void) -> dict[str, Any]:
    """Between spells of which none was let go."""
    paused, lapsed = int(state["paused_ns"]), int(state["lapsed_ns"])
    return {
        "lapses": int(state["lapses"]),
        "lapsed_s": lapsed / NS,
        "longest_lapse_s": int(state["longest_lapse_ns"]) / NS,
        "lapsed_share": lapsed / (paused + lapsed) if paused + lapsed else None,
    }


def probes_seen(collected: CapturePass, rows: list[int]) -> list[ProbesSeen]:
    """The probes of some flows."""
    found = []
    for index in rows:
        one, sums = collected.probes.probed[index], collected.probes.sums[index]
        count = int(sums["count"])
        lost = int(sums["high"]) - int(sums["low"]) + 1 - count
        rates = {name: float(sums[f"rate_{name}"]) for name in ("low", "high", "last")}
        found.append(
            ProbesSeen(
                source=mac_text(one.source),
                destination=mac_text(one.destination),
                flow=one.flow,
                way="back" if one.echo else "forward",
                probes=count,
                lost=max(lost, 0),
                reordered=int(sums["reordered"]),
                rate_bps={
                    "min": rates["low"],
                    "mean": float(sums["rate_sum"]) / count,
                    "max": rates["high"],
                    "last": rates["last"],
                },
                index=index,
            )
        )
    return sorted(found, key=lambda one: (one.way, one.source, one.flow))


def stamps_seen(collected: CapturePass, rows: list[int]) -> list[StampsSeen]:
    """The stamps of some ports."""
    found = []
    for index in rows:
        one, sums = collected.stamped.ports[index], collected.stamped.sums[index]
        count = int(sums["count"])
        found.append(
            StampsSeen(
                port=mac_text(int(mac_of(one.port))),
                way="back" if one.echo else "forward",
                stamps=count,
                places=[int(sums["place_low"]), int(sums["place_high"])],
                queued={
                    "min": float(sums["queued_low"]),
                    "mean": float(sums["queued_sum"]) / count,
                    "max": float(sums["queued_high"]),
                },
                rate_bps=rate_bps(sums),
            )
        )
    return sorted(found, key=lambda one: (one.way, one.places, one.port))
