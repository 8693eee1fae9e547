"""Losses and timeouts of `go-back-n`: what the reaction point hears of one loss, and timeouts that
end before an answer can be back."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.timeouts import timeout_problems
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, at, recorded

FRAME = 1500


def plan_of(point: dict[str, Any], transport: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A NIC, a switch and a sink 20 ms apart, at 10 Gb/s; one flow with all that it can send."""
    link = {"rate": 10**10, "delay": 5 * MS}
    return {
        "name": "far",
        "duration": 100 * MS,
        "sample_interval": MS,
        "nodes": {
            "h": {
                "kind": "nic",
                "limiter": {"depth": "3KB", "period": "1us"},
                "reaction_point": point,
            },
            "s": {"kind": "switch", "buffer": "20MB"},
            "z": {"kind": "sink"},
        },
        "links": {"u": link | {"ends": ["h", "s"]}, "d": link | {"ends": ["s", "z"]}},
        "traffic": {"t": {"plugin": "bulk", "from": "h", "to": "z", "transport": transport}},
    } | more


LOSES_ONE = [{"at": 25_100 * US, "cut": "d"}, {"at": 25_101_200 * 10**3, "mend": "d"}]


@pytest.mark.parametrize(("plugin", "left"), [("newreno", 0.5), ("cubic", 0.7), ("dctcp", 0.5)])
@pytest.mark.parametrize(
    "transport",
    [{"plugin": "go-back-n", "timeout": "300ms"}, {"plugin": "selective"}],
    ids=["go-back-n", "selective"],
)
def test_one_lost_frame_leaves_the_share_of_rfc_5681_of_what_was_under_way(
    plugin: str, left: float, transport: dict[str, Any]
) -> None:
    point = {"plugin": plugin, "initial_window": 100}
    done = recorded(plan_of(point, transport, timeline=LOSES_ONE))
    window = done.column("h.rp0", "window_bytes") / FRAME
    most = window.max()
    after = at(done, "h.rp0", "window_bytes", 50 * MS) / FRAME
    assert done.column("t", "frames_resent")[-1] > 0, "the frame was lost"
    assert after == pytest.approx(left * most, rel=0.06), "141 segments became 2"


def test_a_timeout_that_no_answer_can_come_before_is_refused() -> None:
    for timeout in (4 * MS, 20 * MS):
        with pytest.raises(BadInput, match=r"traffic\.t\.transport\.timeout.*expected"):
            transport = {"plugin": "go-back-n", "timeout": timeout}
            Plan(**plan_of({"plugin": "cubic"}, transport)).check(Registry.load())
    transport = {"plugin": "go-back-n", "timeout": 21 * MS}
    Plan(**plan_of({"plugin": "cubic"}, transport)).check(Registry.load())


def test_a_timeline_that_changes_a_link_is_judged_by_the_run_alone() -> None:
    timeline = [{"at": MS, "set": "links.u.delay", "to": "1us"}]
    transport = {"plugin": "go-back-n", "timeout": 16 * MS}
    resolved = Plan(**plan_of({"plugin": "cubic"}, transport, timeline=timeline)).check(
        Registry.load()
    )
    assert not timeout_problems(resolved.plan, resolved.uses["transport"], [*resolved.actions])


@pytest.mark.parametrize(("delay", "noted"), [(0, False), (30 * MS, True)])
def test_a_run_says_that_timeouts_came_before_the_answers_under_way(
    delay: int, noted: bool
) -> None:
    """A link becomes longer than the timeout while the run goes on: no plan says so beforehand."""
    timeline = [{"at": 50 * MS, "set": "links.u.delay", "to": f"{5 * MS + delay}ps"}]
    transport = {"plugin": "go-back-n", "timeout": "25ms"}
    table = plan_of({"plugin": "newreno"}, transport, timeline=timeline, duration=300 * MS)
    done = run(Plan(**table), out=None, report=False)
    early = done.result["metrics"]["run"]["t"]["go-back-n.early_timeouts"]
    assert (early > 0) == noted
    assert any("timeout" in note for note in done.result["notes"]) == noted
