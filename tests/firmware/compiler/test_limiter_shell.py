"""The shell of a compiled reaction point against its kernels, event by event."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import Field

from firmware.compiler.limiter_shell import limiter_shell
from firmware.compiler.point_shell import PointShell
from orchestrator.algorithm import Algorithm, reaction_point
from orchestrator.engine.kernel_answers import NOTHING
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from tests.firmware.compiler.limiter_bench import (
    LIMITERS,
    MESSAGE,
    SENT,
    WAIT,
    LimiterEvent,
    LimiterReference,
    limiter_lines,
)

ALGORITHMS = {one.name: one for one in Registry.load().algorithms}


class Divisor(Params):
    """Parameters of the reaction point below."""

    by: int = Field(1, ge=1, le=100, description="added to the divisor by each message")


def on_feedback(state, params, limiter, frame, now, message):
    """A message: the n-th of a flow leaves a share of 1 / (1 + n by) of the link's rate."""
    state.messages += 1
    limiter.active = 1
    limiter.rate = max(limiter.link_rate // (1 + state.messages * params.by), 1000)
    limiter.timer = now + 10**9 // (1 + frame.feedback)
    return NOTHING


def on_sent(state, params, limiter, frame, now, message):
    """A frame left: with nothing behind it the limiter is free."""
    if limiter.backlog == 0:
        limiter.active = 0
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """The timer is due once, and doubles the rate."""
    limiter.rate = min(2 * limiter.rate, limiter.link_rate)
    return NOTHING


DIVIDING = reaction_point(
    "dividing-rp",
    "divides the link's rate by the messages of a flow",
    Divisor,
    record("messages"),
    bounds={"messages": (0, 10**6)},
    feedback=on_feedback,
    sent=on_sent,
    timer=on_timer,
)
ALGORITHMS[DIVIDING.name] = DIVIDING
CASES = {
    "dividing-rp": {},
    "qcn-rp": {"time_reset": "0.2ms", "byte_reset": "10KB", "ai_rate": "50Mb/s"},
    "dcqcn-rp": {},
    "bcn-rp": {},
}
EVENTS = 150

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)


def _both(
    algorithm: Algorithm, shell: PointShell, settings: dict[str, str], folder: Path
) -> tuple[list[str], list[str]]:
    record = algorithm.params.from_table(settings, bare=True).record()
    params = {name: int(record[name][0]) for name in record.dtype.names or ()}
    seeds = [7, 77, 777]
    cells = {("params", name, 0): value for name, value in params.items()}
    reference = LimiterReference(algorithm, shell, cells, seeds)
    rng, now = random.Random(algorithm.name), 10**6
    events, expected = list[tuple[LimiterEvent, bool]](), list[str]()
    while len(events) < EVENTS:
        now += rng.choice((5, 20, 90)) * 10**6
        kind = rng.choices((MESSAGE, SENT, WAIT), (2, 6, 1))[0]
        values = rng.randint(0, 63), rng.choice((70, 1500)), rng.random() < 0.3
        event = LimiterEvent(kind, now, rng.randrange(LIMITERS), *values)
        due = any(row["timer"] <= now for row in reference.rows)
        if not reference.reaches(event) or (due and kind != WAIT):
            event = replace(event, kind=WAIT)  # a timer may give the limiter back
        events.append((event, reference.binds(event)))
        expected += reference.lines(event)
    found = limiter_lines(shell, params, seeds, events, folder)
    return expected + reference.final(), found


@pytest.mark.parametrize("name", CASES)
def test_shell_does_as_the_kernels(name: str, tmp_path: Path) -> None:
    algorithm = ALGORITHMS[name]
    expected, found = _both(algorithm, limiter_shell(algorithm), CASES[name], tmp_path)
    assert sorted(found) == sorted(expected)  # timers of one instant come in the order of a scan
    assert [one for one in found if one[0] == "s"] == [one for one in expected if one[0] == "s"]
    assert sum(line.startswith("u") for line in expected) >= 10
    assert {line.split()[1] for line in expected if line[0] == "w"} == {"0", "1", "2"}


DIVIDING_FAULTS = {
    "a state that outlives its flow": ("binds ? 0 : m_messages", "m_messages"),
    "a timer that is not cleared": ("timer <= is_timer ? NEVER : ", "timer <= "),
}
FAULTS = {
    "a state of another limiter": ("m_countdown[index] <= out", "m_countdown[0] <= out"),
    "a stale parameter": ("p_byte_reset <= n_byte_reset;", "p_byte_reset <= 150000;"),
    "a lost rate": ("rate_of[index] <= rate_after;", ""),
    "a lost hand-over": ("update_valid <= active_after", "update_valid <= 0 && active_after"),
    "a timer of another time": ("e_now <= timer_of[scan];", "e_now <= now;"),
    "a feedback of 5 bits": ("e_feedback <= event_feedback;", "e_feedback <= event_feedback[4:0];"),
    "a length of 10 bits": ("e_length <= event_length;", "e_length <= event_length[9:0];"),
    "a backlog that is not seen": ("{1'b0, !empty}", "2'd1"),
    "a target of 31 bits": ("write_target <= target_after;", "write_target <= target_after[28:0];"),
    "an event for a kernel of another": ("event_sent ? SENT : FEEDBACK", "FEEDBACK"),
}


@pytest.mark.parametrize("fault", [*FAULTS, *DIVIDING_FAULTS])
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    right, wrong = (FAULTS | DIVIDING_FAULTS)[fault]
    algorithm = ALGORITHMS["qcn-rp" if fault in FAULTS else "dividing-rp"]
    shell = limiter_shell(algorithm)
    (file, text), *others = shell.sources
    assert right in text
    broken = replace(shell, sources=((file, text.replace(right, wrong)), *others))
    expected, found = _both(algorithm, broken, CASES[algorithm.name], tmp_path)
    assert sorted(found) != sorted(expected)
