"""RED marking as frames arrive and as they leave, and what that is to NSCC."""

from __future__ import annotations

import pytest

from orchestrator.assembly import assemble
from orchestrator.engine.records import CE, ECT0
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from plugins.red_marking import RED, RedMarking
from tests.orchestrator.worlds import MS, US, recorded
from tests.plugins.scheme_driver import Driver

LOW, HIGH = 3_000, 12_000


@pytest.mark.parametrize("mark", ["arrival", "departure"])
@pytest.mark.parametrize(("queue", "marked"), [(LOW, 0.0), (7_500, 0.5), (HIGH + 1, 1.0)])
def test_it_marks_by_the_queue_without_the_frame_at_its_event_alone(
    mark: str, queue: int, marked: float
) -> None:
    params = RedMarking(low=LOW, high=HIGH, most=1, mark=mark)
    point = Driver(RED, params, bytes=queue)
    for event in ("arrival", "departure"):
        found = 0
        for _ in range(2_000):
            point.come(event, mark=ECT0)
            found += int(point.frame["mark"][0]) & CE == CE
        assert found / 2_000 == pytest.approx(marked if event == mark else 0, abs=0.05)
    assert params.needless() == {"departure" if mark == "arrival" else "arrival"}


def incast(mark: str) -> dict[str, object]:
    """Eight messages of 500 KB at once through a port of 100 Gb/s, which needs 320 us."""
    link = {"rate": 10**11, "delay": 1_400_000}
    point = {"plugin": "red", "low": "30KB", "high": "120KB", "max_probability": 1, "mark": mark}
    hosts = [f"h{n}" for n in range(8)]
    return {
        "name": "incast",
        "duration": 2 * MS,
        "sample_interval": US,
        "nodes": {
            **{
                h: {
                    "kind": "nic",
                    "reaction_point": {"plugin": "nscc", "segment": 4_096},
                    "limiter": {"depth": "30KB", "period": "1us"},
                }
                for h in hosts
            },
            "s": {"kind": "switch", "buffer": "4MB", "congestion_point": point},
            "d": {"kind": "sink"},
        },
        "links": {
            "down": link | {"ends": ["s", "d"]},
            **{f"l{h}": link | {"ends": [h, "s"]} for h in hosts},
        },
        "traffic": {
            "q": {
                "plugin": "messages",
                "from": hosts,
                "to": "d",
                "size": 500_000,
                "interval": "1s",
                "count": 1,
                "start": US,
                "frame": 4_096,
                "transport": {"plugin": "selective", "reordering": 100},
            }
        },
    }


def test_marked_as_they_leave_sources_hear_of_the_queue_a_queues_time_earlier() -> None:
    """The first marks are those of frames that left, and not of such as came behind a queue."""
    ends, first = {}, {}
    for mark in ("arrival", "departure"):
        done = recorded(incast(mark))
        assert done.messages is not None
        ends[mark] = float(done.messages.fct_s().max())
        queue = done.column("s.d", "queue_bytes")
        window = done.column("h0.rp0", "window_bytes")
        first[mark] = int((window < window.max()).nonzero()[0][-1])
        assert int(done.column("s.d", "frames_marked")[-1]) > 0
        assert queue.max() > 120_000
    assert ends["departure"] <= ends["arrival"]
    assert ends["departure"] < 345e-6, "320 us are what the port needs"


def test_ports_that_mark_as_frames_leave_send_each_with_an_event_of_its_own() -> None:
    for mark, deaf in (("arrival", 1), ("departure", 0)):
        world = assemble(Plan(**incast(mark)).check(Registry.load())).world
        assert set(world.queues.deaf.tolist()) == {deaf}
