"""Messages that no limiter was free for are a note of the run; a released limiter is another's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import run_result
from orchestrator.run.run_result import judge_recording
from tests.orchestrator.worlds import MS, US, Table, line_of_three, recorded


def two_in_turn(limiters: int = 1) -> Table:
    """A flow that is slowed down and stops; 10 ms later another one of the same NIC begins."""
    plan = line_of_three(duration=30 * MS)
    rp = {"plugin": "qcn-rp", "time_reset": 100 * US, "ai_rate": 100_000_000}
    plan["nodes"]["nic"] |= {"reaction_points": limiters, "reaction_point": rp}
    plan["nodes"]["nic"]["host_queue"] = 15_000
    plan["nodes"]["switch"] |= {"service_rate": 300_000_000}
    plan["nodes"]["switch"]["congestion_point"] = {"plugin": "qcn-cp", "sample_base": 15_000}
    flow = plan["traffic"].pop("gen")
    plan["traffic"] = {"first": flow | {"stop": 10 * MS}, "then": flow | {"start": 20 * MS}}
    return plan


def test_a_stopped_source_gives_its_limiter_back_to_the_next() -> None:
    recording = recorded(two_in_turn())
    at_20ms = recording.times_ps == 20 * MS
    assert recording.column("nic.rp0", "feedback_received")[at_20ms][0] > 0
    assert recording.column("nic.rp0", "active")[at_20ms][0] == 0
    assert recording.column("nic.rp0", "active")[-1] == 1
    assert recording.column("nic", "feedback_unassigned")[-1] == 0
    assert run_result.limiter_shortages(recording) == []


def test_messages_without_a_limiter_are_noted_with_their_node_and_number() -> None:
    plan = two_in_turn()
    plan["traffic"]["first"] |= {"stop": 30 * MS, "rate": 200_000_000}
    plan["traffic"]["then"] |= {"start": 0}
    recording = recorded(plan)
    count = int(recording.column("nic", "feedback_unassigned")[-1])
    assert count > 1
    registry = Registry.load()
    (note,) = judge_recording(registry, Plan(**plan).check(registry), recording)["notes"]
    assert note.startswith(f"nic: {count} messages found no free limiter")
    assert "nodes.nic.reaction_points" in note


NO_FIDELITY: dict[str, Any] | None = None
ON_TIME: dict[str, Any] = {
    "verdict": "valid",
    "reasons": [],
    "lateness_s": {"p50": 0.0, "p99": 1e-6, "p99.9": 1e-6, "max": 1e-6},
}
"""Fidelity of a run in real time of which no node was later than 1 us."""
BROKEN = {
    "queue_max_bytes": ("switch.sink", 10**9, "capacity of a buffer"),
    "queue_bytes": ("switch.sink", 10**7, "octets of a buffer, at most"),
    "frames_received": ("first", 10**6, "frames of a flow"),
    "bytes_received": ("first", 10**9, "octets of a flow"),
    "bytes_out": ("nic>switch", 10**9, "rate of a link"),
    "current_rate": ("nic.rp0", 0, "rate of a limiter"),
}
"""Quantity -> entity, an impossible value of it, and the invariant that it breaks."""


def judged(recording: Recording) -> dict[str, Any]:
    registry = Registry.load()
    return judge_recording(registry, Plan(**two_in_turn()).check(registry), recording)


def with_value(quantity: str, value: int, row: int, fidelity: dict[str, Any] | None) -> Recording:
    """A sound run but for one sample."""
    recording = recorded(two_in_turn())
    recording.values = np.array(recording.values)
    recording.column(BROKEN[quantity][0], quantity)[row:] = value
    recording.fidelity = fidelity
    return recording


@pytest.mark.parametrize("fidelity", [NO_FIDELITY, ON_TIME], ids=["simulated", "software"])
@pytest.mark.parametrize("quantity", BROKEN)
def test_a_run_that_breaks_an_invariant_is_invalid_on_real_frames_too(
    quantity: str, fidelity: dict[str, Any] | None
) -> None:
    _, value, name = BROKEN[quantity]
    result = judged(with_value(quantity, value, -9, fidelity))
    assert result["verdict"] == "invalid"
    assert any(name in reason for reason in result["fidelity"]["reasons"]), result["fidelity"]


@pytest.mark.parametrize("fidelity", [NO_FIDELITY, ON_TIME], ids=["simulated", "software"])
def test_a_sound_run_is_valid(fidelity: dict[str, Any] | None) -> None:
    recording = recorded(two_in_turn())
    recording.fidelity = fidelity
    assert judged(recording)["fidelity"]["verdict"] == "valid"


@pytest.mark.parametrize("quantity", ["frames_received", "bytes_received", "bytes_out"])
def test_a_sample_that_was_taken_late_counts_on(quantity: str) -> None:
    """A node that takes its sample 500 us late has counted what came, or left, since."""
    recording = recorded(two_in_turn())
    entity = BROKEN[quantity][0]
    later = np.array(recording.column(entity, quantity))
    row = int(np.searchsorted(recording.times_ps, MS // 2))
    step = int(recording.times_ps[row + 1] - recording.times_ps[row])
    for late_ps, verdict in ((0, "invalid"), (5 * step, "valid")):
        late_s = ON_TIME["lateness_s"] | {"max": late_ps / 1e12}
        made = with_value(quantity, 0, len(later), ON_TIME | {"lateness_s": late_s})
        made.column(entity, quantity)[: row + 1] += later[row + 5] - later[row]
        assert judged(made)["fidelity"]["verdict"] == verdict, late_ps
