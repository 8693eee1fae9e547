"""Diagnosis of data that a NIC sends: a pause, a rule of its limiter, or its flow order."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.node_api import eligible_at
from orchestrator.engine.records import DATA
from traces.oracle.diagnosis.deviation_text import (
    LEAST_SHARE,
    another_rate,
    frame_name,
    moved_by,
)
from traces.oracle.diagnosis.diagnosis_case import (
    SOON_NS,
    Case,
    Diagnosis,
    changes,
    explained,
    explanations,
    is_early,
    kind_of,
)
from traces.oracle.faults import REACTION
from traces.oracle.node_check import CLOCK_NS, Expected, SeenFrame

FIRST_FRAMES = 16
"""A wrong rate shows within so many frames of a flow behind the event that set it."""
FIRST_EXPIRY = 10
"""At the first expiry the target is divided if it is more than so many times the rate."""


def broken_expiry(case: Case, flow: int, row: int) -> Diagnosis | None:
    """The rule of the expiry that the deviation follows; None where it does not follow one."""
    trace = case.state_at(
        case.departure.time_ns - 1 - case.capture_delay_ns, ("limiters", row)
    ).trace
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
    gone_ps = (case.departure.time_ns - case.capture_delay_ns) * 1000 - int(now["time"])
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
    if abs(share - 1) < LEAST_SHARE:
        apart_ns = times[0][0] - times[0][1]
        return f"{abs(apart_ns) / 1000:.3f} us {'later' if apart_ns > 0 else 'earlier'}"
    return f"some {abs(share - 1):.1%} {'faster' if share > 1 else 'slower'}"


ENOUGH = 64
"""A variant explains a departure when it is right about so many more changes of the rate; a wrong
one may be right by chance for some frames."""


def sender(case: Case) -> Diagnosis:
    """The broken rule, by the cause of the delay, by the explaining variant, or by the limiter."""
    departure = case.departure
    if departure.what not in ("time", "frame", "missing", "unexpected"):
        return Diagnosis("source.frames", f"{departure.what} differs")
    if kind_of(departure.expected or departure.seen) not in (DATA, -1):
        return Diagnosis("source.messages", _message_time(case))
    if (paused := _during_pause(case)) is not None:
        return paused
    flow, early = _at_fault(case)
    row = _limiter(case, flow)
    watch = None if row is None else ("limiters", row)
    ways = explanations(case, REACTION, watch)
    known = row is None or (
        bool(ways) and (ways[0][0].departure is None or changes(ways[0][0], case.reached) >= ENOUGH)
    )
    if ways and known:
        found = explained(case, ways)
        assert found is not None
        return found
    if not is_early(departure) and (resumed := _behind_pause(case)) is not None:
        return resumed
    if flow is None or row is None:
        return Diagnosis("source.frames", f"a flow without a limiter: {_how_frames_differ(case)}")
    once = _is_single_deviation(case, flow)
    if not once or not early:  # a rate a little too low may show in one frame of many
        expiry = broken_expiry(case, flow, row)
        if expiry is not None:
            return expiry
    if not once and (found := explained(case, ways)) is not None:
        return found
    if once and not early and departure.what == "frame":
        return Diagnosis("source.frames", f"it is the turn of flow {flow}, which may send")
    how = "earlier" if early else "later"
    by = "" if departure.what != "time" else f": {_how_frames_differ(case)}"
    return Diagnosis("rp.rate", f"flow {flow} sends {how} than its limiter lets it{by}")


def _message_time(case: Case) -> str:
    """How a host's message differs from the predicted one, as text."""
    wanted, got = case.departure.expected, case.departure.seen
    if wanted is not None and got is not None and case.departure.what == "time":
        return f"{frame_name(wanted)} leaves {moved_by(got, wanted)}"
    one = wanted or got
    assert one is not None
    return f"{frame_name(one)} is {'not expected' if wanted is None else 'missing here'}"


def _how_frames_differ(case: Case) -> str:
    """The rate at which frames leave, or the time of the first, as text."""
    wanted, got = case.departure.expected, case.departure.seen
    if rate := another_rate(case):
        return f"its frames leave {rate}"
    if wanted is not None and got is not None and case.departure.what == "time":
        return f"{frame_name(wanted)} leaves {moved_by(got, wanted)}"
    if wanted is None or got is None:
        return "its frames are others"
    return f"{frame_name(got)} leaves in place of {frame_name(wanted)}"


def _during_pause(case: Case) -> Diagnosis | None:
    departure = case.departure
    if not is_early(departure) or departure.seen is None:
        return None
    left = _held_until(case) // 1000 + case.capture_delay_ns - departure.seen.time_ns
    if left <= 0:
        return None
    return Diagnosis("pause.obey", f"data is sent {left} ns before the pause is over")


def _behind_pause(case: Case) -> Diagnosis | None:
    expected, port = case.departure.expected, case.port
    if expected is None or int(port.pause_received) == 0:
        return None
    begun, held = expected.due_ps - int(port.delay), _held_until(case)
    if not 0 <= begun - held < 10 * SOON_NS * 1000:
        return None
    return Diagnosis("pause.resume", "the pause is over and nothing is sent")


def _held_until(case: Case) -> int:
    """End of the pause of the port or of any of its lanes (ps)."""
    world, port = case.state.assembly.world, case.port
    lanes = world.lanes[port.first_lane : port.first_lane + world.clock[0].lanes]
    return max(int(port.paused_until), *(int(lane.paused_until) for lane in lanes))


def _at_fault(case: Case) -> tuple[int | None, bool]:
    """The flow that sends when it may not, or does not when it may; and whether it is early.

    Where one flow's frame stands in another one's slot, its limiter has let it go too early; where
    it was free to go, the other one was held too long.
    """
    departure = case.departure
    wanted, got = departure.expected, departure.seen
    if kind_of(wanted) == kind_of(got) == DATA and departure.what == "frame":
        assert wanted is not None and got is not None  # noqa: PT018
        flow, other = int(got.frame["flow"]), int(wanted.frame["flow"])
        in_slot = flow != other and got.time_ns <= wanted.due_ps // 1000 + case.late_ns
        if in_slot and _limiter(case, flow) is not None and not _could_have_started(case, flow):
            return flow, True
        if flow != other and _limiter(case, other) is not None:
            return other, False
    early = is_early(departure)
    one: SeenFrame | Expected | None = departure.seen if early else departure.expected
    return (None if one is None else int(one.frame["flow"])), early


def _limiter(case: Case, flow: int | None) -> int | None:
    """The row of a flow's limiter."""
    flows = case.state.assembly.world.flows
    if flow is None or not 0 <= flow < len(flows) or int(flows[flow].limiter) < 0:
        return None
    return int(flows[flow].limiter)


def _could_have_started(case: Case, flow: int) -> bool:
    """True if the flow might have started a frame when the one of the deviation began. Of a clocked
    device the reference by itself may be a refill behind."""
    row, slack_ns = _limiter(case, flow), case.late_ns - CLOCK_NS
    begun = case.departure.time_ns - case.capture_delay_ns
    world = case.state_at(begun - 1, None).assembly.world
    if int(world.flows[flow].ready) != 0 or row is None or slack_ns == 0:
        return int(world.flows[flow].ready) != 0
    limiter = world.limiters[row]
    latest = (begun + slack_ns) * 1000 + int(limiter.period)
    return int(eligible_at(limiter, begun * 1000)) <= latest


def _is_single_deviation(case: Case, flow: int) -> bool:
    """True if the flow's frames behind the first one come as expected again."""
    due = {
        int(e.frame["sequence"]): e.due_ps // 1000
        for e in case.expected
        if kind_of(e) == DATA and int(e.frame["flow"]) == flow
    }
    mine = [s for s in case.seen if kind_of(s) == DATA and int(s.frame["flow"]) == flow][1:]
    known = [s for s in mine if int(s.frame["sequence"]) in due]
    # a reference that has left the device takes turns of its own: a slot more or less
    apart = case.late_ns + (case.slot_ns if case.late_ns > CLOCK_NS else 0)
    right = [abs(s.time_ns - due[int(s.frame["sequence"])]) <= apart for s in known]
    return bool(right) and all(right)
