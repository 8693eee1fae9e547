"""Metrics of external devices (DUT), from the captures at the adjacent testbed ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.frame_type import CONTROL
from orchestrator.engine.records import DATA, HOST, NONE, PAUSE, PFC
from orchestrator.plan.metric_registry import METRICS
from orchestrator.recording import PortCapture
from traces.metrics.dut_frame_matching import MatchedFrames, match_frames
from traces.metrics.entity_metrics import Metrics

PS = 10**12
IN_FLIGHT_PS = 10_000_000_000
"""Frames that went in so shortly before the run ended may be in the device; or within the time
that the slowest frame took, where that is more."""
DEVICE, PORT = "external", "external port"
OF_THE_ORACLE = "departures"


def device_metrics(
    facing: Mapping[str, Mapping[str, str]],
    captures: Sequence[PortCapture],
    spans: Mapping[str, tuple[int, int]],
    ended_ps: int,
    apart_ps: int = 0,
) -> dict[str, dict[str, Metrics]]:
    """Phase -> device, and each port of it -> metrics; `spans` [from, to) in ps. The clocks of
    captures may differ by `apart_ps`.

    Where a capture was full before a phase ended, or is not there, all are None.
    """
    found: dict[str, dict[str, Metrics]] = {name: {} for name in spans}
    for node, ports in facing.items():
        seen = match_frames(ports, captures, apart_ps)
        for phase, (begin, end) in spans.items():
            known = seen is not None and (seen.horizon_ps is None or seen.horizon_ps >= end)
            if seen is None or not known:
                found[phase][node] = dict.fromkeys(METRICS[DEVICE], None)
                found[phase] |= {port: dict.fromkeys(METRICS[PORT], None) for port in ports}
                del found[phase][node][OF_THE_ORACLE]
                continue
            last = end + (end == ended_ps)  # the last instant belongs to the run
            every = np.ones(len(seen.out), bool)
            of = partial(_output_metrics, seen, begin, last)
            found[phase][node] = of(every) | _input_metrics(seen, begin, last, ended_ps)
            for number, port in enumerate(seen.ports):
                found[phase][port] = of(seen.out.port == number)
    return found


def _input_metrics(seen: MatchedFrames, begin: int, end: int, ended_ps: int) -> Metrics:
    times = seen.into.times_ps
    mine = (times >= begin) & (times < end)
    took = seen.latency_ps[seen.partner != NONE]
    under_way = max(IN_FLIGHT_PS, int(took.max(initial=0)))
    lost = int((seen.lost & mine & (times <= ended_ps - under_way)).sum())
    count = int(mine.sum())
    return {
        "frames.received": count,
        "frames.dropped": lost,
        "frames.drop_ratio": lost / count if count else None,
    }


def _output_metrics(seen: MatchedFrames, begin: int, end: int, some: np.ndarray) -> Metrics:
    """Metrics of the frames `some` bool[n] of those that came out."""
    out, partner = seen.out, seen.partner
    mine = some & (out.times_ps >= begin) & (out.times_ps < end)
    known = mine & (partner != NONE)
    alone = mine & (partner == NONE) & ~seen.again
    pauses = mine & np.isin(out.kind, (PAUSE, PFC))
    notifies = alone & np.isin(out.kind, _messages())
    entered = some & (partner != NONE)
    entered[entered] = np.isin(
        partner[entered],
        np.flatnonzero((seen.into.times_ps >= begin) & (seen.into.times_ps < end)),
    )
    return {
        "throughput_bps": int(out.octets_on_wire[mine].sum()) * 8 * PS / (end - begin),
        "frames.sent": int(known.sum()),
        "frames.reordered": int((_overtaken(seen, some) & mine).sum()),
        "frames.duplicated": int((mine & seen.again).sum()),
        "frames.foreign": int((alone & ~pauses & ~notifies).sum()),
        "feedback.sent": int(notifies.sum()),
        "pause.count": int(pauses.sum()),
        **_times(seen.latency_ps[entered]),
    }


def _messages() -> np.ndarray:
    """Kinds of frames that tell a source of congestion, by their layouts."""
    table = type_table()
    return np.flatnonzero((table.described != 0) & (table.carried == CONTROL))


def _times(latency_ps: np.ndarray) -> Metrics:
    if not len(latency_ps):
        return dict.fromkeys(("latency_s.mean", "latency_s.p50", "latency_s.p99", "latency_s.max"))
    ordered = np.sort(latency_ps)

    def rank(share: float) -> float:
        return float(ordered[max(int(np.ceil(share * len(ordered))) - 1, 0)]) / PS

    return {
        "latency_s.mean": float(ordered.mean()) / PS,
        "latency_s.p50": rank(0.50),
        "latency_s.p99": rank(0.99),
        "latency_s.max": float(ordered[-1]) / PS,
    }


def _overtaken(seen: MatchedFrames, some: np.ndarray) -> np.ndarray:
    """bool[n]: data frames, those of programs among them, that came out behind one of their flow,
    at that port, which went in later."""
    found = np.zeros(len(seen.out), bool)
    latest: dict[tuple[int, int], int] = {}
    rows = np.flatnonzero(some & (seen.partner != NONE) & np.isin(seen.out.kind, (DATA, HOST)))
    for row in rows.tolist():
        flow = int(seen.out.flow[row]), int(seen.out.port[row])
        before = latest.get(flow, NONE)
        found[row] = seen.partner[row] < before
        latest[flow] = max(before, int(seen.partner[row]))
    return found


def reordered(seen: MatchedFrames) -> int:
    """Data frames that came out of a device behind one of their flow that went in later."""
    return int(_overtaken(seen, np.ones(len(seen.out), bool)).sum())
