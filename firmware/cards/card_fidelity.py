"""Recording and fidelity of a run on cards: measured columns, lateness, drift, losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from firmware.cards.card_fleet import Fleet
from firmware.target.plan_check import UNCOUNTED
from orchestrator.plan import ResolvedPlan, Sink
from orchestrator.plan.endpoint_metrics import RECEIVED as AT_DESTINATION
from orchestrator.plan.metric_registry import ENTITIES, samples_of
from orchestrator.recording import Recording
from orchestrator.run.run_fidelity import DEGRADED, INVALID, LATE_P99, ORDER, RATE, STALL, VALID

RECEIVED = {one.quantity for one in samples_of("flow", AT_DESTINATION)}
SENT_BY_LINK = {one.quantity for one in ENTITIES["link"]}
NOT_MEASURED = (
    "frames at sinks, their latencies, and losses on links: cards count what they send and queue"
)


def without_unmeasured(resolved: ResolvedPlan, recording: Recording) -> Recording:
    """Recording without the columns that no card counts: absent, not 0."""
    plan = resolved.plan
    ways = {way.entity: way for way in plan.directions()}
    kept = []
    for number, column in enumerate(recording.columns):
        way = ways.get(column.entity)
        unseen = column.quantity in RECEIVED | UNCOUNTED | {"frames_refused"}
        if way is not None and column.quantity in SENT_BY_LINK:
            unseen |= isinstance(plan.nodes[way.sender.node], Sink)
            unseen |= column.quantity == "frames_dropped"
        if not unseen:
            kept.append(number)
    recording.columns = [recording.columns[number] for number in kept]
    recording.values = recording.values[:, kept]
    recording.latency = {}
    return recording


def fidelity(
    resolved: ResolvedPlan,
    fleet: Fleet,
    late: dict[str, list[int]],
    lost: dict[str, int],
    drifts: dict[str, float],
) -> dict[str, Any]:
    """Lateness of steps and samples, drift of the cards' clocks, losses, and their verdict."""
    plan = resolved.plan
    phases = [phase.to - phase.from_ for phase in plan.phases.values()]
    shortest = min([*phases, plan.duration])
    steps, samples = (np.array(late[kind], np.int64) for kind in ("steps", "samples"))
    judged = [
        ("the latest step of the timeline", _most(steps) / shortest, STALL, "the shortest phase"),
        ("samples late at p99", _p99(samples) / plan.sample_interval, LATE_P99, "their interval"),
        *(
            (f"the clock of card {name} drifts", abs(drift), RATE, "its time")
            for name, drift in drifts.items()
        ),
    ]
    verdict, reasons = VALID, []
    for what, share, (degraded, invalid), of in judged:
        grade = INVALID if share > invalid else DEGRADED if share > degraded else VALID
        if grade != VALID:
            verdict = max(verdict, grade, key=ORDER.index)
            bound = invalid if grade == INVALID else degraded
            reasons.append(f"{grade}: {what}: {share:.3g} of {of}, more than {bound:g}")
    for where, count in lost.items():
        if count:
            verdict = INVALID
            reasons.append(f"invalid: {where}: {count}")
    errors = {name: reading.error / 1e12 for name, reading in fleet.readings.items()}
    return {
        "verdict": verdict,
        "reasons": reasons,
        "note": "on cards, in real time; this machine steps the timeline and takes the samples",
        "not_measured": NOT_MEASURED,
        "lost_outside_queues": lost,
        "late_s": {
            kind: {"p99": _p99(values) / 1e12, "max": _most(values) / 1e12}
            for kind, values in (("steps", steps), ("samples", samples))
        },
        "start_error_s": errors,
        "clock_drift": drifts,
        "clock_hz": min(
            one.units[number].windows[0].clock_hz
            for one in fleet.cards.values()
            for number in one.serves.values()
        ),
    }


def _most(values: np.ndarray) -> int:
    return int(values.max(initial=0))


def _p99(values: np.ndarray) -> int:
    return int(np.percentile(values, 99, method="higher")) if len(values) else 0
