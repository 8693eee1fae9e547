"""In which order a plan's moments reach the registers."""

from __future__ import annotations

from typing import Any

from firmware.target.timeline_player import play_timeline
from tests.orchestrator.worlds import MS, assembled, line_of_three


class Told:
    """Registers that note what is done to them, and when."""

    def __init__(self) -> None:
        self.now = 0
        self.done: list[tuple[int, str]] = []

    def wait(self, now: int, kind: str) -> None:
        self.now = now

    def __getattr__(self, name: str) -> Any:
        return lambda: self.done.append((self.now // MS, name))


def test_counters_are_latched_before_what_changes_at_the_same_instant() -> None:
    plan = line_of_three(
        duration=4 * MS,
        sample_interval=2 * MS,
        timeline=[
            {"at": 1 * MS, "set": "nodes.switch.service_rate", "to": 10**8},
            {"at": 3 * MS, "set": "nodes.switch.service_rate", "to": 10**9},
        ],
        phases={"low": {"from": 1 * MS, "to": 3 * MS}},
    )
    told = Told()
    play_timeline(assembled(plan), told, told.wait)
    for instant in (1, 3):
        first, *changes, last = [what for at, what in told.done if at == instant]
        assert (first, {*changes}, last) == ("hold", {"apply"}, "read")
    assert [what for at, what in told.done if at == 2] == ["hold", "read"]
    for instant in (0, 4):  # the run's edges are samples and marks at once
        order = [what for at, what in told.done if at == instant]
        assert order.count("hold") == 1
        assert order[0] == "hold"
