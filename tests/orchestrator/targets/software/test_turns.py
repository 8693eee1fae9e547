"""What a turn of the loop sends: a batch at once, and however much is due."""

from __future__ import annotations

import pytest

from orchestrator.targets.software.launch import run_job
from tests.orchestrator.targets.software import turns

pytestmark = [pytest.mark.software, pytest.mark.shares_cores]


def test_what_a_batch_of_frames_brings_about_leaves_in_the_turn_and_in_few_calls():
    *told, (arrived, _, _) = run_job("tests.orchestrator.targets.software.turns:burst")
    assert arrived == turns.FRAMES
    assert max(taken for taken, _, _ in told) >= 30  # of a batch of 32
    for taken, left, calls in told:
        assert left == taken, told
        assert calls <= 2 + taken // 16, told


def test_more_than_the_outboxes_hold_is_sent_when_it_is_due_at_once():
    told = run_job("tests.orchestrator.targets.software.turns:behind")
    assert told["due"] > 4 * told["room"]
    assert told["due"] - 3 <= told["sent"] <= told["due"]
    assert told["arrived"] == told["sent"]
    assert (told["unsent"], told["left"]) == (0, 0)
