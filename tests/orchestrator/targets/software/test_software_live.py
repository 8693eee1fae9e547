"""A run on real frames that is watched, changed and stopped while it goes on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.live import feed_messages, session_registry
from orchestrator.live.feed_client import FeedClient
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.targets.software import short_plans

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

WITHIN_S = 500.0  # the data path may have to be compiled first
RATE = "nodes.switch.service_rate"
PLAN = 'name = "live"\nduration = "20s"\n' + short_plans.TOPOLOGY.format(
    reaction_point="", control=""
).replace('rate = "1Gb/s"\n\n[capture]', 'rate = "0.1Gb/s"\n\n[capture]')
ASKED = (
    feed_messages.SetValue(request="rate", key=RATE, to="0.5Gb/s"),
    feed_messages.Act(request="cut", verb="cut", of="up"),
    feed_messages.Act(request="mend", verb="mend", of="up"),
    feed_messages.Act(request="cut", verb="cut", of="up"),  # again: a lost answer
    feed_messages.Act(request="traffic", verb="stop", of="gen"),
    feed_messages.FramesNear(request="frames", time_ps=10**9, most=8),
)


class Asking(threading.Thread):
    """Somebody who watches, asks for all of that, and stops the run when it has happened."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.received: list[Any] = []
        self.answers: list[Any] = []

    def run(self) -> None:
        end = time.monotonic() + WITHIN_S
        while not (notes := session_registry.running_sessions()) and time.monotonic() < end:
            time.sleep(0.02)
        client = FeedClient(notes[0].address, notes[0].run)
        client.start()

        def until(true: Callable[[], bool]) -> None:
            while not true() and time.monotonic() < end:
                for message in client.take():
                    kind = (
                        self.answers if isinstance(message, feed_messages.Reply) else self.received
                    )
                    kind.append(message)
                time.sleep(0.01)

        until(lambda: self.now() > 0)
        for number, request in enumerate(ASKED, 1):
            client.ask(request)
            until(lambda n=number: len(self.answers) >= n)
        last = max(answer.at_ps or 0 for answer in self.answers if answer.kind == "answer")
        until(lambda: self.now() > last)
        client.ask(feed_messages.Stop(request="end"))
        until(lambda: len(self.answers) > len(ASKED))
        client.close()

    def now(self) -> int:
        """The last sample that has come (ps); -1 before there is one."""
        samples = [m for m in self.received if isinstance(m, feed_messages.Samples)]
        return int(samples[-1].times_ps[-1]) if samples else -1


def test_live_changes_are_made_on_real_frames(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    private = tmp_path_factory.mktemp("l")
    private.chmod(0o700)
    monkeypatch.setenv(session_registry.VARIABLE, str(private))
    asking = Asking()
    asking.start()
    done = run(Plan.load(PLAN), target="software", out=private, report=False, live=True)
    asking.join(WITHIN_S)
    told = {answer.request: answer for answer in asking.answers}
    at = [told[name].at_ps or 0 for name in ("rate", "cut", "mend")]
    assert at == sorted(at)
    assert at[0] > 0
    assert (
        told["traffic"].text
        == "target software cannot start or stop traffic that the plan does not"
    )
    assert told["end"].done
    kept = {
        (f"{capture.node}.{capture.port}", int(at))
        for capture in done.recording.captures
        for at in capture.times_ps
    }
    assert len(told["frames"].frames) == 8
    assert {(frame.port, frame.time_ps) for frame in told["frames"].frames} <= kept
    recording, times = done.recording, done.recording.times_ps
    service = recording.column("switch.sink", "service_rate")
    assert (service[times < at[0]] == 950_000_000).all()
    assert (service[times >= at[0]] == 500_000_000).all()
    received = sum(recording.column(f"gen.{flow}", "frames_received") for flow in range(2))
    quiet = received[(times > at[1] + 10**9) & (times < at[2])]
    assert len(quiet) > 2
    assert quiet.min() == quiet.max(), "nothing arrives over a link that is cut"
    assert at[2] < times[-1] < 20 * 10**12, "it was stopped"
    assert isinstance(done.folder, Path)
    events = [json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()]
    live = [(e["kind"], e["time_ps"]) for e in events if e["detail"].get("live")]
    assert live[:-1] == list(zip(("set", "cut", "mend"), at, strict=True))
    assert live[-1][0] == "stopped"
