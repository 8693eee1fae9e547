"""A run across machines that is changed while it goes on, as the console does it."""

from __future__ import annotations

from typing import Any

from orchestrator.console.controller_session import ControllerSession
from orchestrator.console.run_sources import LiveSource
from orchestrator.live import feed_messages
from orchestrator.plan import Plan
from tests.trials import plans
from tests.trials.lab import WAIT_S, Lab, until

RATE = "nodes.switch.service_rate"
ASKED = (
    feed_messages.SetValue(request="rate", key=RATE, to="0.08Gb/s"),
    feed_messages.SetValue(request="source", key="traffic.gen.rate", to="0.02Gb/s"),
    feed_messages.Act(request="pause", verb="pause", of="switch.sink"),
    feed_messages.Act(request="resume", verb="resume", of="switch.sink"),
    feed_messages.Act(request="cut", verb="cut", of="down"),
    feed_messages.Act(request="mend", verb="mend", of="down"),
    feed_messages.Act(request="cut", verb="cut", of="down"),  # asked again: a lost answer
    feed_messages.SetValue(request="wrong", key=RATE, to="1GB/s"),
    feed_messages.SetValue(request="large", key="nodes.switch.buffer", to="900MB"),
    feed_messages.Act(request="traffic", verb="stop", of="gen"),
    feed_messages.Stop(request="end"),
)


def steered(lab: Lab) -> dict[str, Any]:
    """Start a run at the controller and ask it for one thing after the other."""
    site = ControllerSession("tcp://127.0.0.1:7011", lab.keys("user"), None)
    site.start()
    source: LiveSource | None = None
    try:
        assert site.answers(WAIT_S), site.why
        started = site.begin(Plan.load(plans.short("60s")))
        source = until(started.source, "a feed", 120.0)
        answers = answered(source)
        until(lambda: source.poll() is not None and judged(source), "the end", 120.0)
        until(lambda: started.over, "its result", 120.0)
    finally:
        if source is not None:
            source.close()
        site.close()
    data = source.data
    assert started.over is not None
    return {
        "answers": [(a.request, a.done, a.at_ps, a.text) for a in answers],
        "happened": [m.what for m in data.moments if m.live and m.what != "machine"],
        "code": started.over.exit_code,
        "folder": started.over.folder,
        "verdict": data.judged.verdict if data.judged else None,
        "rates": sorted(set(data.values[:, data.index["switch.sink"]["service_rate"]].tolist())),
        "left": until(lambda: not any(lab.leftovers().values()), "clean"),
    }


def judged(source: LiveSource) -> bool:
    """Whether the run is over and its verdict, which comes after that news, is here."""
    state = source.data.state
    done = state is not None and state.stage == "done"
    return not source.data.live and (source.data.judged is not None or not done)


def answered(source: LiveSource) -> list[feed_messages.Answer]:
    """The answers to all that is asked, each before the next question."""
    found: list[feed_messages.Answer] = []

    def received(count: int) -> bool:
        found.extend(source.poll())
        return len(found) >= count

    until(lambda: received(0) and source.data.rows > 0, "samples", 300.0)
    for number, request in enumerate(ASKED, 1):
        if isinstance(
            request, feed_messages.Stop
        ):  # not before all that was asked for has happened
            last = max(answer.at_ps or 0 for answer in found)

            def happened(at: int = last) -> bool:
                received(0)
                return not source.data.live or bool(source.data.times[-1] > at)

            until(happened, "the last one", 300.0)
            assert source.data.live, "the run ended before all that was asked for had happened"
        source.ask(request)
        until(lambda n=number: received(n), f"an answer to {request.request}", 120.0)
    return found
