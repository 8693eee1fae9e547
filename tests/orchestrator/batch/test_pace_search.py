"""Plans in real time are run at a pace that the machine holds."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.pace_search import real_seconds, search_pace
from orchestrator.plan import Plan
from orchestrator.plan.program_table import Program


def a_plan(duration: str, rate: str = "1Gb/s") -> Plan:
    return Plan.load(
        f'name = "wide"\nduration = "{duration}"\n'
        '[nodes.a]\nkind = "nic"\n[nodes.b]\nkind = "sink"\n[links.l]\nends = ["a", "b"]\n'
        f'rate = "{rate}"\n[traffic.f]\nplugin = "constant"\nfrom = "a"\nto = "b"\n'
        f'rate = "{rate}"\n'
    )


@dataclass
class Machine:
    """One that holds a pace, and advises `careful` times what it holds to a run that was faster."""

    holds: float
    careful: float = 0.5
    ran: list[float] = field(default_factory=list)

    def run(self, point: Point, pace: float) -> dict[str, object]:
        self.ran.append(pace)
        good = pace <= self.holds
        advice = None if good else self.careful * self.holds
        fidelity = {"verdict": "valid" if good else "invalid", "advised_pace": advice}
        return {"fidelity": fidelity | {"pace": pace}}


def paces_of(machine: Machine, duration: str, seeds: int, rate: str = "1Gb/s") -> list[float]:
    plan = a_plan(duration, rate)
    carry = search_pace(machine.run, lambda point: plan)
    subject = Experiment("wide", "software", {}, "digest")
    rows = [carry(Point(subject, seed)) for seed in range(1, seeds + 1)]
    assert [row["fidelity"]["pace"] for row in rows] == [machine.ran[-1]] * seeds
    return machine.ran


@pytest.mark.parametrize(
    ("duration", "holds", "ran"),
    [
        ("10s", 5.0, [1.0, 1.0]),
        ("10s", 0.1, [1.0, 0.05, 0.05]),
        ("2s", 5.0, [0.25, 0.25]),
        ("200ms", 0.01, [0.025, 0.005, 0.005]),
        ("100s", 7.0, [5.0, 5.0]),
        ("100s", 2.0, [5.0, 1.0, 1.0]),
        ("1000s", 20.0, [10.0, 10.0]),
    ],
)
def test_the_first_seed_finds_what_the_others_are_run_at(
    duration: str, holds: float, ran: list[float]
) -> None:
    assert paces_of(Machine(holds), duration, 2) == ran


def test_advice_that_is_not_slow_enough_is_followed_a_few_times() -> None:
    machine = Machine(0.001, careful=200.0)
    plan = a_plan("8s")
    carry = search_pace(machine.run, lambda point: plan)
    row = carry(Point(Experiment("wide", "software", {}, "digest"), 1))
    assert machine.ran == [1.0, 0.2, 0.2, 0.2]
    assert row["fidelity"]["verdict"] == "invalid"


def test_a_run_of_hours_is_not_made() -> None:
    assert paces_of(Machine(0.0001), "8s", 1) == [1.0]


def test_programs_have_the_clock_of_the_machine() -> None:
    plan = a_plan("2s")
    served = Program.model_validate({"node": "a", "command": ["true"]})
    paced = plan.model_copy(update={"programs": {"server": served}})
    machine = Machine(5.0)
    search_pace(machine.run, lambda point: paced)(
        Point(Experiment("wide", "software", {}, "digest"), 1)
    )
    assert machine.ran == [1.0]


def test_what_no_machine_sends_in_its_time_is_begun_more_slowly() -> None:
    """10 Gb/s are five times what is sent in a second; its plan comes after the quicker ones."""
    assert paces_of(Machine(holds=1.0), "8s", 1, "10Gb/s") == [0.2]
    assert real_seconds(a_plan("200ms", "10Gb/s")) == 1.0
    assert real_seconds(a_plan("200ms", "1Gb/s")) == 0.2
