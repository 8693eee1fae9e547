"""The shell of a compiled congestion point against its kernels, event by event."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from firmware.compiler.point_shell import PointShell, point_shell
from orchestrator.algorithm import Algorithm
from orchestrator.registry import Registry
from tests.firmware.compiler.point_bench import (
    ARRIVAL,
    DEPARTURE,
    WAIT,
    PointEvent,
    PointReference,
    bench_lines,
)

ALGORITHMS = {one.name: one for one in Registry.load().algorithms}
CASES = {
    "red": (("arrival",), {"low": "10KB", "high": "60KB", "max_probability": "0.5"}),
    "red departing": (
        ("departure",),
        {"mark": "departure", "low": "10KB", "high": "60KB", "max_probability": "0.5"},
    ),
    "codel": (("departure",), {"target": "50us", "interval": "30us"}),
    "codel marking": (("departure",), {"target": "50us", "interval": "30us", "ecn": True}),
    "qcn-cp": (("arrival", "departure", "timer"), {"sampling": "head", "sample_base": "5KB"}),
    "bcn-cp": (("arrival",), {}),
    "pie": (
        ("arrival", "departure", "timer"),
        {
            "target": "50us",
            "update_interval": "50us",
            "max_burst": "0s",
            "alpha": "100",
            "beta": "100",
            "ecn": True,
        },
    ),
    "af-qcn": (("arrival",), {"sample_base": "5KB", "set_point": "10KB"}),
    "scripted-cnm": (("arrival",), {"count": 5, "interval": "20us", "feedback_step": -3}),
}
EVENTS = 120
SEED = 77

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)


def _events(name: str) -> list[PointEvent]:
    rng = random.Random(name)
    found, now, octets = list[PointEvent](), 10**6, 0
    for _ in range(EVENTS):
        now += rng.choice((3, 12, 60)) * 10**6
        octets = min(max(octets + rng.choice((-1, 1, 1)) * 1500 * rng.randint(1, 9), 0), 148_500)
        kind = rng.choices((ARRIVAL, DEPARTURE, WAIT), (6, 3, 1))[0]
        found.append(
            PointEvent(
                kind,
                now,
                octets,
                octets // 1500,
                rng.choice((70, 1500)),
                max(now - octets * 16_000, 0),
                rng.choice((0, 1, 2, 2, 2, 3)),
                rng.randint(1, 5),
            )
        )
    return found


def _both(algorithm: Algorithm, shell: PointShell, settings: dict, folder: Path) -> tuple:
    record = algorithm.params.from_table(settings, bare=True).record()
    params = {name: int(record[name][0]) for name in record.dtype.names}
    state = {name: SEED for name in ("lfsr", "lfsr_alike") if name in shell.state}
    reference = PointReference(algorithm, shell)
    for group, values in (("params", params), ("state", state)):
        reference.cells |= {(group, key, 0): value for key, value in values.items()}
    events = _events(algorithm.name)
    return list(reference.lines(events)), bench_lines(shell, params, state, events, folder)


@pytest.mark.parametrize("name", CASES)
def test_shell_answers_as_the_kernels(name: str, tmp_path: Path) -> None:
    events, settings = CASES[name]
    algorithm = ALGORITHMS[name.split()[0]]
    expected, found = _both(algorithm, point_shell(algorithm, events), settings, tmp_path)
    assert found == expected
    said = {line.split()[0] for line in expected}
    marks = [line for line in expected if line[0] in "ad" and line[1:] != " 0 0 0"]
    assert "m" in said or marks  # the point was congested


FAULTS = {
    "a state that is not kept": ("qcn-cp", "s_countdown <= out_state_countdown;", ""),
    "a stale parameter": ("qcn-cp", "p_set_point <= n_set_point;", "p_set_point <= 30000;"),
    "the queue of another event": ("qcn-cp", "e_octets <= queue_octets;", ""),
    "the queue of a frame that left": ("pie", "e_entered <= left_entered;", ""),
    "a message about another frame": (
        "qcn-cp",
        "message_head <= kernel_answer == 2;",
        "message_head <= 0;",
    ),
    "a lost message": ("qcn-cp", ": kernel_answer == 1 || kernel_answer == 2;", ": 1'b0;"),
    "a feedback of 5 bits": ("qcn-cp", "message_feedback <= out", "message_feedback <= 31 & out"),
    "a delta without its sign": ("qcn-cp", "message_delta <= out", "message_delta <= 65535 & out"),
    "a lost verdict": ("qcn-cp", "verdict_valid <= event_is_arrival;", "verdict_valid <= 0;"),
    "a length of 10 bits": ("qcn-cp", "e_length <= ask_length;", "e_length <= ask_length[9:0];"),
    "a mark that is not read": ("red", "e_mark <= tos(ask_header);", "e_mark <= 8'd0;"),
    "a drop that is a forward": ("pie", "verdict_drop <= kernel_answer == 5;", ""),
    "a timer that is not kept": ("pie", "timer <= event_number == TIMER", "timer <= 1 ? NEVER : 0"),
    "a departure without its answer": (
        "codel",
        "left_verdict <= event_number == DEPARTURE;",
        "",
    ),
    "a drop at a departure that is a forward": ("codel", "verdict_drop <= kernel_answer == 5;", ""),
    "a departure's mark that is not read": (
        "red departing",
        "e_mark <= tos(left_header);",
        "e_mark <= 8'd0;",
    ),
    "a departure at another time": ("codel", "e_now <= left_time;", "e_now <= left_entered;"),
    "a departure's queue of 16 bits": (
        "red departing",
        "e_octets <= left_octets;",
        "e_octets <= left_octets[15:0];",
    ),
    "a time of entry of 40 bits": ("codel", "e_entered <= left_entered;", "e_entered <= now;"),
    "an array that is not written": ("af-qcn", "if (state_weight_write)", "if (0)"),
    "a source of 2 bits": ("af-qcn", "e_header[8*11 +: 8]}", "6'd0, e_header[8*11 +: 2]}"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    name, right, wrong = FAULTS[fault]
    events, settings = CASES[name]
    algorithm = ALGORITHMS[name.split()[0]]
    shell = point_shell(algorithm, events)
    (file, text), *others = shell.sources
    assert right in text
    broken = PointShell(
        shell.algorithm,
        ((file, text.replace(right, wrong)), *others),
        shell.params,
        shell.state,
        shell.columns,
        shell.clocks,
    )
    expected, found = _both(algorithm, broken, settings, tmp_path)
    assert found != expected
