"""A congestion point may change lanes: the frame goes on in another one, here and further on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.algorithm import Algorithm, congestion_point, pause
from orchestrator.assembly import Assembly, assemble, record
from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.engine.kernel_answers import LANE
from orchestrator.engine.records import record as fields
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import buffer_conservation
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, Empty, Table, line_of_three, run_in_steps

STATE = fields("came")
SLOW = {"kind": "switch", "service_rate": 10**8, "buffer": 20_000}
SWITCHES: list[dict[str, Any]] = [
    {},
    {"inputs": {"buffer": 30_000}},
    {"inputs": {"buffer": 30_000, "hold_until_departure": True}},
    {"inputs": {"buffer": 30_000, "shared_memory": 60_000}},
]
HERE, ASIDE = "switch.far/p0", "switch.far/p5"


def every_third(state, params, queue, frame, now, message):
    """Every third one goes aside."""
    state.came += 1
    return LANE + 5 if state.came % 3 == 0 else 0


def to_and_fro(state, params, queue, frame, now, message):
    """Whichever lane a frame is in, it is to go on in the other one."""
    return LANE + 5 - frame.priority


def nowhere(state, params, queue, frame, now, message):
    """A priority that there is not."""
    return LANE + 8


def where_it_is(state, params, queue, frame, now, message):
    """A priority that is in this lane anyway, as all without traffic of their own are."""
    return LANE + 3


def point(kernel: Any, **more: Any) -> Algorithm:
    return congestion_point(
        "mine", "", Empty, STATE, arrival=kernel, **({"changes_lane": True} | more)
    )


def table(switch: dict[str, Any]) -> Table:
    """A NIC that sends ten times what a port of the first of two switches serves, in priority 0."""
    made = line_of_three(duration=20 * MS, priorities="separate", more_priorities=[5])
    made["nodes"]["switch"] = SLOW | switch
    made["nodes"]["far"] = {"kind": "switch"} | switch
    made["links"]["on"] = {"ends": ["switch", "far"], "rate": 10**9}
    made["links"]["down"]["ends"] = ["far", "sink"]
    return made


def world(algorithm: Algorithm, switch: dict[str, Any]) -> Assembly:
    resolved = Plan(**table(switch)).check(Registry.load())
    use = {"switch.far": Use(algorithm, Empty())}
    return assemble(replace(resolved, uses={**resolved.uses, "congestion_point": use}))


def ran(assembly: Assembly) -> Recording:
    """The run, with every count looked at on the way."""
    for _ in run_in_steps(assembly, 40):
        audit(assembly.world)
    return record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


@pytest.mark.parametrize("switch", SWITCHES)
def test_frames_go_on_in_the_lane_that_was_said(switch: dict[str, Any]) -> None:
    """Here and at the next switch, whose port sends them in turns with those of the other lane."""
    assembly = world(point(every_third), switch)
    recording = ran(assembly)
    moved = last(recording, HERE, "frames_moved")
    assert moved == last(recording, HERE, "frames_in") // 3 > 50
    assert last(recording, ASIDE, "frames_in") == moved
    assert last(recording, ASIDE, "frames_moved") == 0
    sent = {lane: last(recording, f"switch.far/{lane}", "frames_out") for lane in ("p0", "p5")}
    granted = "inputs" in switch and "shared_memory" not in switch["inputs"]
    if (
        granted
    ):  # inputs are granted room in the lane that frames come in: two stay for one that goes
        assert sent["p0"] == pytest.approx(2 * sent["p5"], rel=0.1)
    else:
        assert sent["p0"] == pytest.approx(sent["p5"], abs=2), "both wait, and take turns"
    for lane, count in sent.items():
        assert last(recording, f"far.sink/{lane}", "frames_in") == pytest.approx(count, abs=1)
    assert buffer_conservation.unbalanced_buffers(recording) == []
    recording.column(HERE, "frames_moved")[-1] -= 1
    assert len(buffer_conservation.unbalanced_buffers(recording)) == 1


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_frame_moves_once_at_a_port(switch: dict[str, Any]) -> None:
    """What fills up is the other lane: what finds no room there is lost there."""
    assembly = world(point(to_and_fro), switch)
    recording = ran(assembly)
    assert last(recording, HERE, "frames_out") == last(recording, HERE, "queue_frames") == 0
    assert last(recording, ASIDE, "frames_out") > 100
    assert last(recording, ASIDE, "frames_moved") == 0
    lost = last(recording, ASIDE, "frames_dropped") + last(recording, HERE, "frames_dropped")
    assert lost > 50
    assert last(recording, HERE, "frames_moved") > 100
    assert buffer_conservation.unbalanced_buffers(recording) == []


def test_a_lane_that_there_is_not_ends_the_run() -> None:
    with pytest.raises(BadInput, match="kernel nowhere: it answered 24"):
        ran(world(point(nowhere), {}))


def test_the_lane_that_a_frame_is_in_and_one_without_traffic_change_nothing() -> None:
    recording = ran(world(point(where_it_is), {}))
    assert last(recording, HERE, "frames_moved") == 0
    assert last(recording, HERE, "frames_out") > 100
    assert last(recording, HERE, "feedback_sent") == 0


def test_frames_find_their_lane_by_the_threshold() -> None:
    """`priority-demotion`: the first lane is never longer than its threshold; what goes beyond goes
    aside."""
    made = table({})
    made["nodes"]["switch"]["congestion_point"] = {
        "plugin": "priority-demotion",
        "threshold": 6_000,
        "priority": 5,
    }
    recording = ran(assemble(Plan(**made).check(Registry.load())))
    assert last(recording, HERE, "queue_max_bytes") == 6_000
    assert last(recording, ASIDE, "queue_max_bytes") > 15_000
    assert 0 < last(recording, HERE, "frames_moved") < last(recording, HERE, "frames_in")
    assert last(recording, HERE, "frames_dropped") == 0


def test_changes_that_nobody_announced_make_no_result() -> None:
    silent = point(every_third, changes_lane=False)
    with pytest.raises(BadInput, match=r"kernel 'arrival': .*declare `changes_lane` at the"):
        ran(world(silent, {}))


def test_only_the_arrival_of_a_congestion_point_changes_lanes() -> None:
    for make, event in ((congestion_point, "departure"), (pause, "enqueue")):
        with pytest.raises(ValueError, match="only arrival of a congestion_point may change lanes"):
            more: dict[str, Any] = {"changes_lane": True, event: every_third}
            make("odd", "", Empty, STATE, **more)


def refused(made: Table) -> str:
    with pytest.raises(BadInput) as found:
        Plan(**made).check(Registry.load())
    return str(found.value)


def test_what_cannot_be_is_refused() -> None:
    aside = {"plugin": "priority-demotion", "priority": 5}
    made = table({"inputs": {"congestion_point": aside}})
    assert (
        "'priority-demotion' sends frames on in another lane; it belongs at an output"
        in refused(made)
    )
    made = table({"congestion_point": aside | {"priority": 4}})
    told = refused(made)
    assert "nodes.switch.congestion_point: " in told
    assert 'no lane of its own; priorities = "separate" and more_priorities = [4] are' in told
    made = table({}) | {"priorities": "shared"}
    assert "more_priorities: " in refused(made)
    made = table({}) | {"more_priorities": [8]}
    assert "more_priorities" in refused(made)


def test_a_target_that_changes_no_lanes_refuses_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Registry.load()
    simulated = known.target("simulated")
    monkeypatch.setattr(type(simulated), "capabilities", IN_ENGINE - {Capability.LANES})
    made = table({"congestion_point": {"plugin": "priority-demotion", "priority": 5}})
    with pytest.raises(Refused) as found:
        simulated.check(Plan(**made).check(known), known.targets)
    assert "lacks lanes. It runs on: software." in str(found.value)
