"""Live changes of a simulated run: carried out at their time, kept, and repeated by the plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback
from orchestrator.live import feed_messages
from orchestrator.live.live_session import Session
from orchestrator.live.recording_marks import mark_live_changes
from orchestrator.plan import Plan
from orchestrator.plan.timeline_tables import Expect, Phase
from orchestrator.recording import PortCapture, Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import RunResult, run
from orchestrator.targets import simulated
from tests.orchestrator.worlds import MS, US, line_of_three


def plan(**changes: Any) -> Plan:
    """20 ms of QCN, with phases and a step of its own."""
    table = line_of_three(
        duration=20 * MS,
        timeline=[{"at": 12 * MS, "set": "nodes.switch.service_rate", "to": 8 * 10**8}],
        phases={"early": {"from": 0, "to": 5 * MS}, "late": {"from": 15 * MS, "to": 20 * MS}},
        **changes,
    )
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp", "preset": "netfpga"}
    table["nodes"]["nic"]["host_queue"] = 3000
    point = {"plugin": "qcn-cp", "sample_base": 3000, "set_point": 10_000}
    table["nodes"]["switch"] |= {"service_rate": 3 * 10**8, "congestion_point": point}
    return Plan.load(Plan(**table).check(Registry.load()).plan.to_toml())


class Asked:
    """A session whose target finds requests waiting at chosen moments of the run."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, at: dict[int, list[Any]], plan: Plan
    ) -> None:
        monkeypatch.setattr(simulated, "EVENTS_PER_REPORT", 10)
        self.session = Session(plan.check(Registry.load()), "simulated")
        self.answers: list[Any] = []
        waiting = sorted(at.items())
        orders = self.session.orders

        def asked() -> Any:
            while waiting and self.session.now_ps >= waiting[0][0]:
                for request in waiting.pop(0)[1]:
                    self.session.ask(request, self.answers.append)
            return orders()

        monkeypatch.setattr(self.session, "orders", asked)

    def run(self) -> Recording:
        target = simulated.Simulated()
        recording = target.run(self.session.resolved, lambda news: None, self.session)
        return mark_live_changes(recording, self.session)


def told(capture: PortCapture) -> list[tuple[Any, ...]]:
    """The frames of a capture as they are told live."""
    return [
        (
            f"{capture.node}.{capture.port}",
            int(capture.times_ps[row]),
            bool(capture.outgoing[row]),
            int(capture.lengths[row]),
            capture.octets[row, : capture.kept[row]].tobytes().hex(),
        )
        for row in range(len(capture.times_ps))
    ]


def test_captured_frames_are_told_while_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = ["switch.sink", "nic.switch"]
    look = feed_messages.FramesNear(request="1", time_ps=3 * MS, most=12)
    asked = Asked(
        monkeypatch, {6 * MS: [look]}, plan(capture={"ports": ports, "snap": 64, "frames": 5000})
    )
    recording = asked.run()
    (answer,) = asked.answers
    assert isinstance(answer, feed_messages.CapturedFrames)
    frames = [
        (one.port, one.time_ps, one.outgoing, one.length, one.octets) for one in answer.frames
    ]
    every = [frame for capture in recording.captures for frame in told(capture)]
    nearest = sorted(every, key=lambda frame: abs(frame[1] - look.time_ps))[: look.most]
    assert frames == sorted(frames, key=lambda frame: frame[1])
    assert {frame[0] for frame in frames} == set(ports)
    assert sorted(frames) == sorted(nearest)


def again(session: Session) -> Recording:
    """The plan that a run became, run by itself."""
    text = session.resolved.plan.to_toml()
    resolved = Plan.load(text).check(Registry.load())
    return simulated.Simulated().run(resolved, lambda news: None)


CHANGES = {
    2 * MS: [feed_messages.SetValue(request="1", key="nodes.switch.service_rate", to="0.2Gb/s")],
    4 * MS: [feed_messages.Act(request="2", verb="pause", of="switch.sink")],
    6 * MS: [
        feed_messages.Act(request="3", verb="resume", of="switch.sink"),
        feed_messages.SetValue(
            request="4", key="nodes.switch.congestion_point.set_point", to="20KB"
        ),
    ],
    8 * MS: [feed_messages.Act(request="5", verb="cut", of="up")],
    9 * MS: [feed_messages.Act(request="6", verb="mend", of="up")],
    13 * MS: [
        feed_messages.SetValue(request="7", key="links.down.delay", to="30us"),
        feed_messages.SetValue(request="8", key="traffic.gen.rate", to="0.4Gb/s"),
        feed_messages.SetValue(request="9", key="nodes.nic.reaction_point.ai_rate", to="5Mb/s"),
    ],
    16 * MS: [feed_messages.Act(request="10", verb="stop", of="gen")],
    17 * MS: [feed_messages.Act(request="11", verb="start", of="gen")],
}


def test_every_change_is_made_and_the_plan_it_gives_repeats_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked(monkeypatch, CHANGES, plan())
    recording = asked.run()
    assert [(a.request, a.done, a.text) for a in asked.answers] == [
        (str(number), True, "") for number in range(1, 12)
    ]
    repeated = again(asked.session)
    assert repeated.times_ps.tolist() == recording.times_ps.tolist()
    assert np.array_equal(repeated.values, recording.values)
    live = [event for event in recording.events if event.detail.get("live")]
    assert [(event.kind, event.entity) for event in live] == [
        ("set", "nodes.switch.service_rate"),
        ("pause", "switch.sink"),
        ("resume", "switch.sink"),
        ("set", "nodes.switch.congestion_point.set_point"),
        ("cut", "up"),
        ("mend", "up"),
        ("set", "links.down.delay"),
        ("set", "traffic.gen.rate"),
        ("set", "nodes.nic.reaction_point.ai_rate"),
        ("stop", "gen"),
        ("start", "gen"),
    ]
    assert [event.time_ps for event in live] == [answer.at_ps for answer in asked.answers]
    assert all(event.time_ps % US == 0 for event in live)


def test_what_is_on_a_link_when_it_changes_arrives_when_it_would_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames to a sink are counted late or ahead, until a change of their link: none too late."""
    delays = {
        n * MS: [
            feed_messages.SetValue(request=str(n), key="links.down.delay", to=f"{90 * (n % 2)}us")
        ]
        for n in range(2, 18)
    }
    for rare in (100 * US, 7 * MS):  # with few samples, frames are counted ahead
        asked = Asked(monkeypatch, delays, plan(sample_interval=rare))
        recording, repeated = asked.run(), again(asked.session)
        assert all(answer.done for answer in asked.answers)
        assert len(asked.answers) == len(delays)
        assert np.array_equal(repeated.values, recording.values)
        assert repeated.latency["gen"].sum() > 300
        assert np.array_equal(repeated.latency["gen"], recording.latency["gen"])


def test_each_change_shows_in_the_samples_from_its_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, CHANGES, plan())
    recording = asked.run()
    at = {answer.request: answer.at_ps for answer in asked.answers}
    times = recording.times_ps

    def between(entity: str, quantity: str, first: str, last: str) -> np.ndarray:
        inside = (times > at[first]) & (times < at[last])
        assert inside.sum() > 5
        return recording.column(entity, quantity)[inside]

    assert set(between("switch.sink", "service_rate", "1", "7")) >= {2 * 10**8}
    assert np.ptp(between("switch>sink", "frames_out", "2", "3")) <= 1  # one was under way
    held = between("switch>sink", "paused_ps", "2", "3")
    assert (np.diff(held) > 0).all()
    assert np.ptp(between("switch>sink", "paused_ps", "3", "8")) == 0
    assert np.ptp(between("nic>switch", "frames_dropped", "5", "6")) > 0
    assert np.ptp(between("gen", "frames_sent", "10", "11")) <= 2  # those that were queued


def test_a_run_without_a_session_is_the_same_as_one_that_nobody_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked(monkeypatch, {}, plan())
    watched = asked.run()
    alone = again(asked.session)
    assert np.array_equal(watched.values, alone.values)
    assert watched.events == alone.events


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (
            feed_messages.SetValue(key="nodes.switch.service", to="1Gb/s"),
            "did you mean service_rate",
        ),
        (feed_messages.SetValue(key="nodes.switch.service_rate", to="1GB/s"), "a rate counts bits"),
        (feed_messages.SetValue(key="nodes.switch.buffer", to="900MB"), "room for"),
        (feed_messages.SetValue(key="nodes.switch.congestion_point.weight", to="65"), "at most 64"),
        (feed_messages.Act(verb="cut", of="upp"), "did you mean up"),
        (feed_messages.Act(verb="pause", of="switch.nothing"), "unknown port"),
        (
            feed_messages.SetValue(
                key="nodes.switch.congestion_point.sampling", to="occupancy-random"
            ),
            "did not begin with the units",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, request_: Any, told: str
) -> None:
    request_ = request_.model_copy(update={"request": "1"})
    asked = Asked(monkeypatch, {3 * MS: [request_]}, plan())
    recording = asked.run()
    assert [answer.done for answer in asked.answers] == [False]
    assert told in asked.answers[0].text
    assert not [event for event in recording.events if event.detail.get("live")]


def test_the_same_request_twice_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    request = feed_messages.Act(request="1", verb="cut", of="up")
    asked = Asked(monkeypatch, {3 * MS: [request], 6 * MS: [request]}, plan())
    recording = asked.run()
    assert len(asked.answers) == 2
    assert asked.answers[0] == asked.answers[1]
    assert len([event for event in recording.events if event.kind == "cut"]) == 1


def stopped_at(monkeypatch: pytest.MonkeyPatch, at_ps: int, live: Plan, out: Path) -> RunResult:
    """Run a plan, and have a user stop it."""
    monkeypatch.setattr(simulated, "EVENTS_PER_REPORT", 10)
    told: list[Session] = []
    begin = Session.begin

    def stopping(self: Session, *arguments: Any) -> None:
        begin(self, *arguments)
        told.append(self)

    monkeypatch.setattr(Session, "begin", stopping)

    def stop(news: Any) -> None:
        if told and told[0].now_ps >= at_ps and not told[0].stopping:
            told[0].ask(feed_messages.Stop(request="1"), lambda answer: None)

    return run(live, out=out, report=False, progress=stop, pace=1e6)


def test_a_run_that_is_stopped_is_judged_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expect = [
        {"metric": "utilization", "of": "switch.sink", "phase": p, "min": 0.1}
        for p in ("early", "late")
    ]
    done = stopped_at(monkeypatch, 6 * MS, plan(expect=expect), tmp_path)
    assert done.result["verdict"] == "stopped"
    assert [row["met"] for row in done.result["expectations"]] == [True, False]
    assert done.result["expectations"][1]["value"] is None
    assert 6 * MS <= done.recording.times_ps[-1] < 8 * MS
    assert done.result["stopped_s"] == done.recording.times_ps[-1] / 1e12
    assert done.folder is not None
    events = [json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()]
    assert events[-1]["kind"] == "stopped"
    assert not [event for event in events if event["time_ps"] > events[-1]["time_ps"]]
    assert any("stopped at" in note for note in done.result["notes"])
    assert done.result["metrics"]["early"]["gen"]["latency_s.p50"] is not None
    assert done.result["metrics"]["late"]["gen"]["latency_s.p50"] is None
    assert tailback.load(done.folder).verdict == "stopped"


@pytest.mark.parametrize("phase", ["early", "late", "across", "run"])
def test_no_expectation_of_a_phase_that_did_not_end_is_met(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, phase: str
) -> None:
    """Counts of nothing are 0, and 0 lies within every upper bound."""
    bounds = {
        "frames.dropped": {"of": "switch.sink", "max": 10**9},
        "queue_bytes.max": {"of": "switch.sink", "max": "1GB"},
        "throughput_bps": {"of": "gen", "max": "1Tb/s"},
        "pause.time_s": {"of": "nic>switch", "max": "1s"},
        "frames.received": {"of": "gen", "max": 10**9},
    }
    expect = [{"metric": name, "phase": phase, **of} for name, of in bounds.items()]
    live = plan()
    across = Phase.model_validate({"from": "1ms", "to": "9ms"})
    added = {"phases": live.phases | {"across": across}}
    live = live.model_copy(update=added | {"expect": [Expect(**one) for one in expect]})
    done = stopped_at(monkeypatch, 6 * MS, live, tmp_path)
    assert done.result["verdict"] == "stopped"
    ended = phase == "early"
    assert {row["met"] for row in done.result["expectations"]} == {ended}
    assert {row["value"] is None for row in done.result["expectations"]} == {not ended}


def test_a_paced_run_takes_its_time() -> None:
    import time

    short = plan()
    begin = time.perf_counter()
    run(short, out=None, pace=0.1)  # compiled by now, or later than that
    assert time.perf_counter() - begin >= 0.2
