"""A run looks whether its own counts add up, and is invalid when they do not."""

from __future__ import annotations

import pytest

from orchestrator.plan import Plan
from orchestrator.run import conservation
from orchestrator.run.execute import run
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import line_of_three, recorded


def test_a_sound_run_adds_up_at_every_sample() -> None:
    assert conservation.broken(recorded(line_of_three())) == []


def test_a_frame_that_is_not_counted_is_named_with_its_place_and_time() -> None:
    recording = recorded(line_of_three())
    row = len(recording.times_ps) // 2
    recording.column("switch.sink", "frames_out")[row:] -= 1
    (sentence,) = conservation.broken(recording)
    assert sentence.startswith(f"switch.sink: at {recording.times_ps[row] / 1e12:g} s")


def test_such_a_run_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Simulated.run

    def loses_count(self: Simulated, *arguments: object) -> object:
        recording = honest(self, *arguments)  # type: ignore[arg-type]
        recording.column("switch.sink", "frames_in")[-1] += 1
        return recording

    monkeypatch.setattr(Simulated, "run", loses_count)
    result = run(Plan(**line_of_three()), out=None).result
    assert result["verdict"] == "invalid"
    assert any(
        "not accounted for: switch.sink" in reason for reason in result["fidelity"]["reasons"]
    )
