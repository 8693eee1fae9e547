"""Plans of the measurements, run by the simulator: they do what each measurement counts on."""

from __future__ import annotations

import pytest

from orchestrator.calibration import trial_plans
from orchestrator.calibration.trial_plans import FAST, FRAME, GIGABIT, MS, US
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry

DURATION = 10 * MS


def ran(plan: Plan) -> Recording:
    registry = Registry.load()
    return registry.target("simulated").run(plan.check(registry), silent)


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


def test_a_switch_forwards_all_that_the_source_sends() -> None:
    plan = trial_plans.through_switch(GIGABIT, FRAME, DURATION)
    assert plan.capture is None or not plan.capture.ports
    recording = ran(plan)
    received = last(recording, "gen", "bytes_received")
    assert received * 8 / (DURATION / 1e12) == pytest.approx(GIGABIT, rel=0.02)
    assert last(recording, "switch.sink", "frames_dropped") == 0
    assert plan.links["up"].rate == plan.links["down"].rate == FAST
    slow = trial_plans.through_switch(GIGABIT, FRAME, DURATION, line=GIGABIT)
    assert slow.links["up"].rate == GIGABIT


def test_frames_are_captured_where_they_come_into_the_switch() -> None:
    (capture,) = ran(trial_plans.through_switch(GIGABIT, FRAME, DURATION, captured=50)).captures
    assert (capture.node, capture.port) == ("switch", "nic")
    assert (len(capture.times_ps), capture.octets.shape[1]) == (50, 128)
    assert not capture.outgoing.any()


@pytest.mark.parametrize("rate", [100_000_000, 400_000_000])
def test_a_limiter_has_its_rate_from_the_start(rate: int) -> None:
    recording = ran(trial_plans.limited(rate, FRAME, DURATION))
    received = last(recording, "gen", "bytes_received")
    assert received * 8 / (DURATION / 1e12) == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("delay", [50 * US, 500 * US])
def test_a_link_has_its_delay_and_room_for_what_is_on_it(delay: int) -> None:
    plan = trial_plans.delayed(delay, GIGABIT, FAST, FRAME, DURATION)
    assert plan.links["up"].delay == delay
    assert plan.links["up"].buffer >= 2 * FAST * delay // (8 * 10**12)
    recording = ran(plan)
    received = last(recording, "gen", "bytes_received")
    assert received * 8 / ((DURATION - delay) / 1e12) == pytest.approx(GIGABIT, rel=0.02)
    edges = recording.latency_edges_ps
    (history,) = recording.latency.values()
    seen = history[-1].nonzero()[0]
    assert edges[seen[0]] <= delay + 2 * US
    assert edges[seen[-1] + 1] > delay


@pytest.mark.parametrize("kind", ["cnm", "pause"])
def test_a_switch_answers_once_in_every_interval(kind: str) -> None:
    every = 500 * US
    recording = ran(trial_plans.answered(kind, every, 500_000_000, DURATION, quanta=3))
    counter = "feedback_sent" if kind == "cnm" else "pause_sent"
    port = "switch.sink"
    assert last(recording, port, counter) == pytest.approx(DURATION // every, abs=1)


def test_plans_of_measurements_are_all_of_one_seed_and_sampled_seldom() -> None:
    for plan in (
        trial_plans.through_switch(GIGABIT, FRAME, MS // 2),
        trial_plans.limited(GIGABIT, FRAME, MS // 2),
    ):
        assert (plan.name, plan.seed, plan.duration) == ("calibrate", 1, MS // 2)
        assert plan.sample_interval == MS
    assert trial_plans.limited(GIGABIT, FRAME, 5 * MS).sample_interval == 5 * MS
