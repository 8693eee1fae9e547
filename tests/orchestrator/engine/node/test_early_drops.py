"""What a congestion point may do to a frame: drop it, mark it, and see since when it is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.algorithm import Algorithm, congestion_point
from orchestrator.assembly import Assembly, assemble, record
from orchestrator.engine.kernel_answers import DROP
from orchestrator.engine.records import record as fields
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.observables import Observed
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import buffer_conservation
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, Empty, line_of_three, run_in_steps

STATE = fields("came", "left", "waited", "longest")
COLUMNS = (Observed("longest", "ps", "wait"), Observed("left", "1", "asked", "counter"))


def arrival(state, params, queue, frame, now, message):
    """Every third one is dropped, and every fourth one marked."""
    state.came += 1
    if state.came % 4 == 0:
        frame.mark = 3
    return DROP if state.came % 3 == 0 else 0


def departure(state, params, queue, frame, now, message):
    """Every fifth one is dropped, every seventh one marked."""
    state.left += 1
    state.waited += now - frame.entered
    state.longest = max(state.longest, now - frame.entered)
    if state.left % 7 == 0:
        frame.mark = 0x43
    return DROP if state.left % 5 == 0 else 0


def look(state, params, queue, frame, now, message):
    """How long the frame was there."""
    state.longest = max(state.longest, now - frame.entered)
    return 0


def coarse(**more: Any) -> Algorithm:
    return congestion_point(
        "coarse", "by numbers", Empty, STATE, columns=COLUMNS, arrival=arrival, **more
    )


BOTH = coarse(departure=departure, drops=("arrival", "departure"))
SLOW = {"kind": "switch", "service_rate": 10**8, "buffer": 20_000}
INPUTS: list[dict[str, Any]] = [
    {},
    {"inputs": {"buffer": 30_000}},
    {"inputs": {"buffer": 30_000, "hold_until_departure": True}},
    {"inputs": {"buffer": 30_000, "shared_memory": 40_000}},
]
PARTS = 40


def world(algorithm: Algorithm, switch: dict[str, Any], holder: str = "switch.sink") -> Assembly:
    """A NIC that sends ten times what the port of a switch serves."""
    table = line_of_three(duration=20 * MS)
    table["nodes"]["switch"] = SLOW | switch
    resolved = Plan(**table).check(Registry.load())
    use = {holder: Use(algorithm, Empty())}
    return assemble(replace(resolved, uses={**resolved.uses, "congestion_point": use}))


def ran(assembly: Assembly) -> Recording:
    """The run, with every count looked at on the way."""
    for _ in run_in_steps(assembly, PARTS):
        audit(assembly.world)
    return record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)


@pytest.mark.parametrize("switch", INPUTS)
def test_what_is_dropped_early_is_counted_apart_and_everything_adds_up(
    switch: dict[str, Any],
) -> None:
    assembly = world(BOTH, switch)
    recording = ran(assembly)
    queue = assembly.world.queues[assembly.indices.queues["switch.sink"]]
    left = int(recording.column("switch.sink", "left")[-1])
    came = int(queue.frames_in)
    assert left > 100
    assert queue.frames_dropped_early == came // 3 + left // 5
    assert queue.frames_out == left - left // 5
    assert queue.bytes_out == 1500 * queue.frames_out
    assert recording.column("switch.sink", "frames_dropped_early")[-1] == came // 3 + left // 5
    assert buffer_conservation.unbalanced_buffers(recording) == []
    sent = assembly.world.ports[assembly.indices.port_rows["switch.sink"]].frames_out
    assert sent == queue.frames_out, "what was dropped on its way out took no time of the link"
    assert abs(int(queue.frames_out) - 20 * MS // (120 * 10**6)) <= 2, "nor did it idle"


def test_marks_are_counted_wherever_they_are_set() -> None:
    assembly = world(BOTH, {})
    recording = ran(assembly)
    queue = assembly.world.queues[assembly.indices.queues["switch.sink"]]
    came, left = int(queue.frames_in), int(recording.column("switch.sink", "left")[-1])
    assert queue.frames_marked == came // 4 + left // 7
    assert set(assembly.world.frames["mark"].tolist()) <= {0, 3, 0x43}


def test_a_frame_shows_since_when_it_is_in_the_queue() -> None:
    """A full buffer of 13 frames, served one each 120 us."""
    watch = congestion_point("watch", "looks", Empty, STATE, columns=COLUMNS, departure=look)
    recording = ran(world(watch, {}))
    longest = recording.column("switch.sink", "longest")[-1]
    assert 12 * 120 * 10**6 < longest <= 13 * 120 * 10**6


def test_at_an_input_frames_are_dropped_and_marked_on_arrival() -> None:
    class Marks(Empty):
        def marks(self) -> bool:
            return True

    algorithm = coarse(drops=("arrival",))
    assembly = world(algorithm, INPUTS[1], "switch.nic/in")
    use = assembly.resolved.uses["congestion_point"]
    use["switch.nic/in"] = Use(algorithm, Marks())
    recording = ran(assemble(assembly.resolved))
    came = int(recording.column("switch.nic/in", "frames_in")[-1])
    assert recording.column("switch.nic/in", "frames_dropped_early")[-1] == came // 3 > 0
    assert recording.column("switch.nic/in", "frames_marked")[-1] == came // 4
    assert buffer_conservation.unbalanced_buffers(recording) == []


def test_drops_that_nobody_announced_make_no_result() -> None:
    with pytest.raises(BadInput, match=r"kernel 'arrival': .*declare `drops` at the algorithm"):
        ran(world(coarse(), {}))


def test_conservation_notices_a_drop_that_is_not_counted() -> None:
    recording = ran(world(BOTH, {}))
    recording.column("switch.sink", "frames_dropped_early")[-1] -= 1
    (sentence,) = buffer_conservation.unbalanced_buffers(recording)
    assert sentence.startswith("switch.sink: at 0.02 s")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"drops": ("timer",)}, "only arrival and departure of a congestion_point may drop"),
        ({"drops": ("departure",)}, "drops frames at departure, and has no such kernel"),
    ],
)
def test_an_algorithm_announces_events_that_it_has(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        coarse(**more)


def test_what_drops_as_frames_leave_is_refused_at_inputs() -> None:
    table = line_of_three()
    point = {"plugin": "codel"}
    table["nodes"]["switch"] = {"kind": "switch", "inputs": {"congestion_point": point}}
    with pytest.raises(BadInput) as caught:
        Plan(**table).check(Registry.load())
    (problem,) = caught.value.problems
    assert problem.where == "nodes.switch.inputs.congestion_point"
    assert "'codel' drops frames as they leave; it belongs at an output" in str(problem)


def test_the_operating_queue_of_what_holds_a_delay_follows_the_rate() -> None:
    registry = Registry.load()
    asked = {"codel": 62_500, "pie": 187_500, "qcn-cp": 26_000, "red": 102_500}
    for name, octets in asked.items():
        params = registry.find("congestion_point", name).params()
        assert params.operating_queue(10**8) == octets
    assert registry.find("pause", "pfc").params().operating_queue(10**8) == 110_000
