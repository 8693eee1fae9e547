"""A run looks whether its own counts add up, and is invalid when they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run import buffer_conservation
from orchestrator.run.execute_run import run
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import line_of_three, recorded


def test_a_sound_run_adds_up_at_every_sample() -> None:
    assert buffer_conservation.unbalanced_buffers(recorded(line_of_three())) == []


def test_a_frame_that_is_not_counted_is_named_with_its_place_and_time() -> None:
    recording = recorded(line_of_three())
    row = len(recording.times_ps) // 2
    recording.column("switch.sink", "frames_out")[row:] -= 1
    (sentence,) = buffer_conservation.unbalanced_buffers(recording)
    assert sentence.startswith(f"switch.sink: at {recording.times_ps[row] / 1e12:g} s")


@pytest.fixture(scope="module")
def full() -> Recording:
    """A queue that holds frames and drops others."""
    table = line_of_three()
    table["nodes"]["switch"] |= {"service_rate": 4 * 10**8, "buffer": 30_000}
    return recorded(table)


@pytest.mark.parametrize("quantity", buffer_conservation.COUNTS)
@pytest.mark.parametrize("off", [-1, 1])
def test_each_of_the_counts_is_weighed_and_told(full: Recording, quantity: str, off: int) -> None:
    assert buffer_conservation.unbalanced_buffers(full) == []
    recording = replace(full, values=full.values.copy())
    counts = {name: recording.column("switch.sink", name) for name in buffer_conservation.COUNTS}
    assert min(column[-1] for column in counts.values()) > 1
    counts[quantity][-1] += off
    came, left, dropped, queued = (counts[name][-1] for name in buffer_conservation.COUNTS)
    assert buffer_conservation.unbalanced_buffers(recording) == [
        f"switch.sink: at 0.002 s {came} frames had come, {left} left, {dropped} dropped, "
        f"trimmed or moved, and {queued} are there"
    ]


def test_an_entity_that_lacks_one_of_the_counts_is_passed_over(full: Recording) -> None:
    lone = [replace(c, entity="lone") for c in full.columns if c.quantity == "frames_in"][:1]
    counts = np.concatenate([np.full((len(full.values), 1), 7), full.values], axis=1)
    more = replace(full, columns=[*lone, *full.columns], values=counts)
    assert buffer_conservation.unbalanced_buffers(more) == []
    more.column("switch.sink", "frames_in")[-1] += 1
    assert [
        sentence.partition(":")[0] for sentence in buffer_conservation.unbalanced_buffers(more)
    ] == ["switch.sink"]


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
