"""A run takes memory for the frames that are under way, and not for those that could be."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from orchestrator.assembly import assemble, memory_demand
from orchestrator.assembly.memory_demand import check_certain, frame_octets, frames_within
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.reserved_memory import LEAST_OCTETS, reserved
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.run import machine_info
from orchestrator.targets.parallel import parallel_run
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.parallel.partitioning import split
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import MS, US, Table, line_of_three

MB = 10**6


def tree(traffic: str, times: int = 1) -> Table:
    """A fat tree of 16 hosts, its queues and delay lines so many times as large."""
    entry: dict[str, Any] = {"from": "{hosts}", "to": "{hosts}", "pairing": "ring"}
    if traffic == "cbr":
        entry |= {"plugin": "cbr", "rate": 10**9}
    else:
        entry |= {"plugin": "messages", "size": 200_000, "transport": {"plugin": "tcp"}}
    switch, host = {"buffer": MB * times}, {"host_queue": 64_000 * times}
    return {
        "name": "tree",
        "duration": MS,
        "sample_interval": 100 * US,
        "fabric": {"kind": "fat-tree", "k": 4, "rate": 10**10, "delay": US},
        "nodes": {
            "{edges}": switch,
            "{aggs}": switch,
            "{cores}": switch,
            "{hosts}": host,
        },
        "traffic": {"all": entry},
    }


def measured(table: Table, parts: int) -> dict[str, int]:
    """A run in a process of its own (`run_memory`)."""
    words = [sys.executable, "-m", "tests.orchestrator.assembly.run_memory", str(parts)]
    done = subprocess.run(
        words, input=json.dumps(table), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("traffic", ["cbr", "messages"])
@pytest.mark.parametrize("parts", [1, 2])
def test_memory_does_not_grow_with_what_could_be_under_way(traffic: str, parts: int) -> None:
    """A descriptor for all that these queues can hold would take 20 GB."""
    usual, roomy = (measured(tree(traffic, times), parts) for times in (1, 100))
    assert roomy["frames"] == usual["frames"] > 1000
    assert abs(roomy["octets"] - usual["octets"]) < 8 * MB
    assert roomy["octets"] < 40 * MB


def resolved_line(**traffic: object) -> ResolvedPlan:
    """A line whose long link holds some hundred frames."""
    plan = line_of_three(duration=10 * MS)
    plan["links"]["up"]["delay"] = 2 * MS
    plan["traffic"]["gen"] |= traffic
    return Plan(**plan).check(Registry.load())


def needed(resolved: ResolvedPlan) -> int:
    """Descriptors that a run uses."""
    world = assemble(resolved).world
    simulate(world, 0, 0)
    simulate(world, resolved.plan.duration + 1, 1 << 40)
    return int(world.clock[0].frames_used)


def available(frames: int) -> int:
    """Memory of which so many frames may take their share."""
    return int((frames + 0.5) * frame_octets(0) / memory_demand.SHARE)


@pytest.fixture
def any_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least number of frames does not count."""
    monkeypatch.setattr(memory_demand, "LEAST_FRAMES", 1)
    monkeypatch.setattr("orchestrator.assembly.world_assembly.check_certain", lambda *_: None)


@pytest.mark.usefixtures("any_room")
def test_a_run_is_refused_only_where_more_frames_are_under_way_than_memory_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolved = resolved_line()
    most = needed(resolved)
    plain = Simulated().run(resolved, silent)
    monkeypatch.setattr(machine_info, "free_bytes", lambda: available(most))
    fits = Simulated().run(resolved, silent)
    assert fits.data_frames == plain.data_frames
    assert fits.vanished == 0
    monkeypatch.setattr(machine_info, "free_bytes", lambda: available(most - 1))
    with pytest.raises(BadInput, match=f"more than {most - 1} frames under way by 0.0"):
        Simulated().run(resolved, silent)


@pytest.mark.usefixtures("any_room")
def test_a_run_in_parts_is_refused_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = Plan(**tree("cbr")).check(Registry.load())
    nodes = split(resolved, 2)
    monkeypatch.setattr(parallel_run, "free_bytes", lambda: 2 * available(5))
    with pytest.raises(BadInput, match="more than 5 frames under way"):
        ParallelRun(resolved, nodes).run(lambda _: None)
    monkeypatch.setattr(parallel_run, "free_bytes", lambda: 2 * available(5000))
    ParallelRun(resolved, nodes).run(lambda _: None)


def test_the_refusal_names_what_all_of_it_would_take() -> None:
    room = frames_within(10**8, 0, 10**9)
    assert room.frames * room.octets <= 10**9
    text = str(memory_demand.exhausted(resolved_line(), room, 5 * MS))
    assert "by 0.005 s" in text
    assert f"could hold {10**8}, which is 20 GB" in text
    assert frames_within(100, 0, 10**9).frames == frames_within(100, 0, None).frames == 100


def test_what_a_run_takes_in_any_case_is_asked_for_before() -> None:
    check_certain(resolved_line(), 1000, 1000)
    check_certain(resolved_line(), 1000, None)
    with pytest.raises(BadInput, match="999 octets of memory are available"):
        check_certain(resolved_line(), 1000, 999)


@pytest.mark.parametrize("octets", [8, LEAST_OCTETS, 8 * LEAST_OCTETS, 1 << 40])
def test_reserved_memory_reads_as_zeros_and_keeps_what_is_written(octets: int) -> None:
    words = reserved(octets // 8, "i8")
    assert words[0] == words[-1] == 0
    words[-1] = 7
    assert words[-1] == 7


def test_more_than_the_address_space_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        reserved(1 << 57, "i8")
