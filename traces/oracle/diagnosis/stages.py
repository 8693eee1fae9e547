"""Diagnosis of a wrong rate increase: the rule of the expiry, by its stage."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.records import DATA
from traces.oracle.diagnosis.case import Case, Diagnosis, kind_of

FIRST_FRAMES = 16
"""A wrong rate shows within so many frames of a flow behind the event that set it."""
FIRST_EXPIRY = 10
"""At the first expiry the target is divided if it is more than so many times the rate."""


def broken_expiry(case: Case, flow: int, row: int) -> Diagnosis | None:
    """The rule of the expiry that the deviation follows; None where it does not follow one."""
    trace = case.state_at(case.departure.time_ns - 1 - case.way_ns, ("limiters", row)).trace
    if len(trace) < 2:
        return None
    now, before = trace[-1], trace[-2]
    raised = [n for n in ("byte_stage", "timer_stage") if now[n] > before[n]]
    same = now["messages"] == before["messages"] and now["active"] == before["active"]
    if not raised or not same or _frames_since(case, now) > FIRST_FRAMES:
        return None
    rule = _rule(case, now, before)
    stage = raised[0].replace("_", " ")
    return Diagnosis(
        rule, f"flow {flow} sends {_apart(case, flow)} since its {stage} became {now[raised[0]]}"
    )


def _rule(case: Case, now: np.ndarray, before: np.ndarray) -> str:
    """Fast recovery, active or hyper-active increase, or the division at the first expiry."""
    params = case.resolved.uses["reaction_point"][case.departure.node].params
    threshold = getattr(params, "threshold", None)
    stages = int(now["byte_stage"]), int(now["timer_stage"])
    if 1 in stages and before["target"] > FIRST_EXPIRY * before["rate"]:
        return "rp.first-expiry"
    if threshold is None or max(stages) <= threshold:
        return "rp.recovery"
    return "rp.hyper-active" if min(stages) > threshold else "rp.active"


def _frames_since(case: Case, now: np.ndarray) -> float:
    """Frames that the flow may have sent since its limiter's last change."""
    one = case.departure.expected or case.departure.seen
    assert one is not None
    gone_ps = (case.departure.time_ns - case.way_ns) * 1000 - int(now["time"])
    return gone_ps * int(now["rate"]) / (8 * 10**12 * int(one.frame["length"]))


def _apart(case: Case, flow: int) -> str:
    """Ratio of the captured rate of the flow's next frames to the expected one, as text."""
    due = {
        int(e.frame["sequence"]): e.due_ps / 1000
        for e in case.expected
        if kind_of(e) == DATA and int(e.frame["flow"]) == flow
    }
    times = [
        (s.time_ns, due[int(s.frame["sequence"])])
        for s in case.seen
        if kind_of(s) == DATA and int(s.frame["flow"]) == flow and int(s.frame["sequence"]) in due
    ]
    if len(times) < 2 or times[-1][0] == times[0][0]:
        return "at another rate"
    share = (times[-1][1] - times[0][1]) / (times[-1][0] - times[0][0])
    return f"some {abs(share - 1):.0%} {'faster' if share > 1 else 'slower'}"
