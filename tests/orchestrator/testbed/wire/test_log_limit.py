"""Sentences about strangers are counted when they are too many."""

from __future__ import annotations

from orchestrator.testbed.wire.log_limit import LONGEST, MOST, WINDOW_S, LogLimit


def test_a_thousand_knocks_are_a_few_lines_and_a_number():
    said: list[str] = []
    now = [0.0]
    sparing = LogLimit(said.append, lambda: now[0])
    for number in range(1000):
        sparing(f"key rejected: {number}")
    assert len(said) == MOST
    now[0] = WINDOW_S
    sparing("key rejected: later")
    assert said[MOST:] == [f"{1000 - MOST} more of the kind in 60 s", "key rejected: later"]
    now[0] = 3 * WINDOW_S
    sparing.turn()
    assert len(said) == MOST + 2, "nothing was kept back since"


def test_one_line_is_not_a_megabyte():
    said: list[str] = []
    LogLimit(said.append)("x" * 10**6)
    assert len(said[0]) == LONGEST
