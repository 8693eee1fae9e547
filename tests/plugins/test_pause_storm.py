"""A storm in a plan: held to the instant, without a lapse; one that is planted lets a frame out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.node.transmitter import quanta_time, wire_time
from orchestrator.engine.records import NEVER, PFC
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from plugins.pause_storm import STORM, PauseStorm
from tests.orchestrator.worlds import MS, US, Table, line_of_three, recorded
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

LINK = 10**9
DELAY = 5 * US
FRAME_PS = int(wire_time(1500, LINK))
PAUSE_PS = int(wire_time(60, LINK))


def stormed(duration: int = 20 * MS, **storm: Any) -> Table:
    """A NIC that has a frame at any time, and a switch that storms it."""
    plan = line_of_three(
        duration=duration, capture={"ports": ["nic.switch"], "frames": 40_000, "snap": 64}
    )
    pause = {"plugin": "pause-storm"} | storm
    plan["nodes"]["switch"] |= {"inputs": {"buffer": 100_000, "pause": pause}}
    plan["links"]["up"]["delay"] = DELAY
    return plan


def with_answers(plan: Table) -> Table:
    """Frames that go the other way, too: the one that is on the wire is ahead of a PAUSE.

    They come from a port whose own queue storms all others.
    """
    pause = plan["nodes"]["switch"].pop("inputs")["pause"]
    plan["nodes"]["switch"]["ports"] = {"other": {"pause": pause}}
    plan["nodes"]["other"] = {"kind": "nic"}
    plan["links"]["third"] = {"ends": ["other", "switch"], "rate": LINK}
    back = {"plugin": "cbr", "from": "other", "to": "nic", "rate": LINK}
    return plan | {"traffic": plan["traffic"] | {"back": back}}


def told(recording: Recording) -> list[tuple[int, str]]:
    """When PAUSE and PFC came to the NIC, and their octets from the type on."""
    seen = recording.captures[0]
    control = [
        (int(at), octets[12:34].tobytes().hex())
        for at, out, octets in zip(seen.times_ps, seen.outgoing, seen.octets, strict=True)
        if not out and octets[12:14].tobytes() == b"\x88\x08"
    ]
    return control


def begun(recording: Recording) -> np.ndarray:
    """When the NIC began to send its frames."""
    seen = recording.captures[0]
    return seen.times_ps[seen.outgoing] - DELAY - FRAME_PS


@pytest.mark.parametrize("quanta", [65_535, 300, 60])
@pytest.mark.parametrize("frames", ["pfc", "pause"])
def test_no_frame_leaves_a_held_port(quanta: int, frames: str) -> None:
    recording = recorded(with_answers(stormed(quanta=quanta, frames=frames, refresh_margin="9/10")))
    first = told(recording)[0][0]
    assert (begun(recording) >= first).sum() == 0
    held = recording.column("nic>switch", "paused_ps")[-1]
    assert held == 20 * MS - first, "the whole time that there is from the first frame on"
    assert (recording.column("nic>switch", "bytes_out")[-1]) == len(begun(recording)) * 1500


def test_a_lapse_that_is_planted_lets_frames_out() -> None:
    """A margin that is less than the frame ahead takes on the wire."""
    storm = {"quanta": 60, "refresh_margin": "1/10"}
    assert quanta_time(60, LINK) // 10 < FRAME_PS
    recording = recorded(with_answers(stormed(**storm)))
    times = np.array([at for at, _ in told(recording)])
    late = np.diff(times, append=20 * MS) - int(quanta_time(60, LINK))  # the last lasts to the end
    lapsed = int(np.maximum(late, 0).sum())
    late = late[:-1]
    assert (late > 0).sum() > 10
    held = recording.column("nic>switch", "paused_ps")[-1]
    assert held == 20 * MS - times[0] - lapsed
    left = begun(recording)[begun(recording) >= times[0]]
    assert len(left) == (late > 0).sum(), "one in each lapse: the next frame comes after it"


def test_it_is_held_and_let_go_by_the_pattern() -> None:
    recording = recorded(
        stormed(start=MS, stop=14 * MS, storm_time=2 * MS, idle_time=3 * MS, quanta=300)
    )
    way = PAUSE_PS + DELAY
    frames = told(recording)
    gone = [at - way for at, octets in frames if octets.endswith("0000" * 8)]
    assert gone == [3 * MS, 8 * MS, 13 * MS]
    for out in (begun(recording) - way).tolist():
        assert not any(start <= out < start + 2 * MS for start in (MS, 6 * MS, 11 * MS))
    assert recording.column("nic>switch", "paused_ps")[-1] == 6 * MS


def test_it_stops_in_the_middle_of_a_hold() -> None:
    recording = recorded(stormed(start=MS, stop=12 * MS, storm_time=4 * MS, idle_time=3 * MS))
    assert recording.column("nic>switch", "paused_ps")[-1] == 8 * MS
    assert told(recording)[-1][0] == 12 * MS + PAUSE_PS + DELAY


@pytest.mark.parametrize(
    ("vector", "octets"),
    [(0, "00ff" + "1000" * 8), (0x18, "0018" + "0000" * 3 + "1000" * 2 + "0000")],
)
def test_pfc_names_the_priorities_of_the_vector(vector: int, octets: str) -> None:
    recording = recorded(stormed(vector=vector, quanta=0x1000))
    assert told(recording)[0][1].startswith("88080101" + octets)


@pytest.mark.parametrize(("vector", "held"), [(0x21, 2), (0x80, 1), (0, 3)])
def test_with_lanes_of_their_own_only_those_are_held(vector: int, held: int) -> None:
    plan = stormed(vector=vector)
    plan["priorities"] = "separate"
    traffic = plan["traffic"].pop("gen")
    for priority in (0, 5, 7):
        rate = {"priority": priority, "rate": LINK // 4}
        plan["traffic"][f"gen{priority}"] = traffic | rate
    recording = recorded(plan)
    frames = told(recording)
    assert {octets[8:12] for _, octets in frames} == {f"{vector or 0xFF:04x}"}
    assert len(frames) == 3, "one for all of them"
    sums = [c for c in recording.columns if c.quantity == "paused_ps" and "/" in c.entity]
    stopped = {c.entity for c in sums if recording.column(c.entity, c.quantity)[-1] > 0}
    by_priority = {f"nic>switch/p{p}" for p in (0, 5, 7)}
    assert len(stopped & by_priority) == held, stopped


def test_who_has_none_of_the_priorities_says_nothing() -> None:
    storm = Driver(STORM, PauseStorm(vector=4), priorities=3, pause_timer=NEVER, pause_rate=LINK)
    assert storm.come("timer") == 0
    assert storm.pause_timer == NEVER
    storm.set(priorities=6)
    assert storm.come("timer") == 1
    assert int(storm.message["mark"][0]) == 4
    assert int(storm.message["kind"][0]) == PFC


def test_the_next_frame_is_due_when_the_margin_is_left() -> None:
    params = PauseStorm(quanta=1000, refresh_margin="1/5", frames="pause")  # type: ignore[arg-type]
    storm = Driver(STORM, params, priorities=255, pause_timer=NEVER, pause_rate=LINK)
    assert storm.come("timer", 7 * US) == 1
    assert storm.pause_timer == 7 * US + 1000 * 512_000 * 4 // 5


@pytest.mark.parametrize(
    ("storm", "where"),
    [
        ({"storm_time": MS}, "storm_time and idle_time"),
        ({"start": 2, "stop": 1}, "start must not be above stop"),
        ({"refresh_margin": "1"}, "refresh_margin"),
        ({"vector": 256}, "vector"),
        ({"quanta": 1}, "quanta"),
    ],
)
def test_what_cannot_be_is_refused(storm: dict[str, Any], where: str) -> None:
    with pytest.raises(BadInput, match=where):
        Plan(**stormed(**storm)).check(Registry.load())


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.pause_storm") > 0
