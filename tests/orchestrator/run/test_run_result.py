"""Messages that no limiter was free for are a note of the run; a released limiter is another's."""

from __future__ import annotations

from orchestrator.plan import Plan
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
