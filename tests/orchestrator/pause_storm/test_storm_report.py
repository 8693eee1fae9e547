"""Whose word counts: verdicts from what observers saw."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.pause_storm.storm_report import GAPLESS, LAPSED, UNPROVEN, storm_verdict

SENT = 100


def saw(frames: int = SENT, lapses: int = 0, **more: int) -> dict[str, Any]:
    return {"frames": frames, "lapses": lapses, **more}


def port(own: int = 0, kernel: Any = None, far: Any = None, missed: int = 0) -> dict[str, Any]:
    return {
        "interface": "eth1",
        "missed_holds": missed,
        "own": saw(SENT, own),
        "kernel": kernel or saw(),
        "far_end": far,
    }


@pytest.mark.parametrize(
    ("ports", "verdict", "said"),
    [
        ([port()], GAPLESS, ""),
        ([port(own=3)], GAPLESS, ""),  # off its core around the call; the kernel saw all frames
        ([port(kernel=saw(lapses=1))], LAPSED, "1 lapses by kernel"),
        ([port(), port(kernel=saw(lapses=1))], LAPSED, "1 lapses by kernel"),
        ([port(kernel=saw(0))], UNPROVEN, "of 100 frames 0 were seen by kernel"),
        ([port(own=2, kernel=saw(0))], LAPSED, "2 lapses by own"),
        ([port(kernel=saw(90, 4))], UNPROVEN, "of 100 frames 90"),  # its lapses may be lost stamps
        ([port(kernel=saw(90, 4), far=saw(dropped=0))], GAPLESS, "of 100 frames 90"),
        ([port(far=saw(lapses=2, dropped=0))], LAPSED, "2 lapses by far end"),
        ([port(far=saw(99, 1, dropped=0))], LAPSED, "1 lapses by far end"),  # one did not arrive
        ([port(far=saw(99, dropped=0))], UNPROVEN, "99 were seen by far end"),
        ([port(far=saw(99, 1, dropped=1))], GAPLESS, "99 were seen by far end"),
        ([port(missed=1)], LAPSED, "1 holds of the pattern did not begin"),
        ([], UNPROVEN, ""),
    ],
)
def test_the_verdict_is_that_of_observers_that_saw_every_frame(
    ports: list[dict[str, Any]], verdict: str, said: str
) -> None:
    found, why = storm_verdict(ports)
    assert found == verdict
    assert said in "; ".join(why)
