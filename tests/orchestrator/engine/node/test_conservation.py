"""Whatever the plan: no frame is lost or doubled, and every count adds up at every step."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.recording import Recording
from orchestrator.run.frame_audit import audit
from tests.orchestrator.engine.node.test_lazy_egress import same
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import Table, assembled, recorded, run_in_steps, run_until

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=50, suppress_health_check=CALM)
@given(plan=plans())
def test_every_frame_is_in_one_place_at_any_time(plan: Table) -> None:
    assembly = assembled(plan)
    audit(assembly.world)
    for _ in run_in_steps(assembly, 12):
        audit(assembly.world)


@settings(max_examples=25, suppress_health_check=CALM)
@given(plan=plans(length=st.just(700)))
def test_frames_in_are_out_queued_or_dropped_at_every_sample(plan: Table) -> None:
    recording = recorded(plan)
    ports = {c.entity for c in recording.columns if c.quantity == "frames_in"}
    for port in ports:
        came, left, dropped, held = (
            recording.column(port, name)
            for name in ("frames_in", "frames_out", "frames_dropped", "queue_bytes")
        )
        early = ports_that_drop(recording).get(port, 0)
        assert np.array_equal(came, left + dropped + early + held // 700)
        assert not np.any(held % 700)


def ports_that_drop(recording: Recording) -> dict[str, np.ndarray]:
    """What was dropped early at each port whose congestion point may."""
    early = "frames_dropped_early"
    ports = [c.entity for c in recording.columns if c.quantity == early]
    return {port: recording.column(port, early) for port in ports}


@settings(max_examples=15, suppress_health_check=CALM)
@given(plan=plans())
def test_counters_never_fall(plan: Table) -> None:
    recording = recorded(plan)
    for column, values in zip(recording.columns, recording.values.T, strict=True):
        if column.kind == "counter" and column.quantity != "paused_ps":
            assert np.all(np.diff(values) >= 0), column


@settings(max_examples=15, suppress_health_check=CALM)
@given(plan=plans(), cuts=st.lists(st.integers(0, 10**9), max_size=5))
def test_where_a_run_is_interrupted_makes_no_difference(plan: Table, cuts: list[int]) -> None:
    whole, parts = assembled(plan), assembled(plan)
    for cut in sorted(cuts):
        run_until(parts, cut)
    for assembly in (whole, parts):
        run_until(assembly, plan["duration"] + 1)
    same(whole, parts)


@settings(max_examples=40, suppress_health_check=CALM)
@given(plan=plans())
def test_lines_that_hand_over_late_or_count_ahead_measure_the_same(plan: Table) -> None:
    """Nobody may be able to tell the difference to frames that are handed over one by one."""
    patient, prompt = assembled(plan), assembled(plan)
    prompt.world.ports["patience"] = 0
    prompt.world.ports["ahead"] = 0
    for assembly in (patient, prompt):
        run_until(assembly, plan["duration"] + 1)
        audit(assembly.world)
    assert np.array_equal(patient.world.row_times, prompt.world.row_times)
    assert np.array_equal(patient.world.rows, prompt.world.rows)
    assert np.array_equal(patient.world.latency_marks, prompt.world.latency_marks)
