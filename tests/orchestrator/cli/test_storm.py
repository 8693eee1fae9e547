"""`tailback storm` as it prints a report that is made up, and its options on the page."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cli import storm as module
from orchestrator.cli.storm import CODES, _show
from orchestrator.terminal import exit_codes
from tests.orchestrator.cli.command_page import check_commands


def observer(**changes: Any) -> dict[str, Any]:
    found = {
        "frames": 12,
        "held_s": 0.5,
        "worst_margin_s": 0.001,
        "lapses": 0,
        "longest_lapse_s": 0.0,
        "lapsed_share": 0.0125,
    }
    return found | changes


def port(**changes: Any) -> dict[str, Any]:
    found = {
        "interface": "eth2",
        "rate_bps": 10**10,
        "hold_s": 0.003,
        "margin_s": 0.002,
        "refused": 0,
        "own": observer(),
        "kernel": observer(frames=11, lapses=3),
        "far_end": None,
    }
    return found | changes


def lines(capsys: pytest.CaptureFixture[str], *ports: dict[str, Any], **changes: Any) -> list[str]:
    report = {
        "ports": list(ports),
        "lateness_s": {"p50": 1e-6, "p99_9": 2e-6},
        "cpu_s": 0.25,
        "ran_s": 10.0,
        "scheduled": "SCHED_FIFO",
        "taken_s": {"stolen": 0.5},
        "verdict": "gapless",
        "why": [],
    }
    _show(report | changes)
    printed = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    return [line.replace("µs", "us") for line in printed if line.strip("─━-═ ")]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


def test_every_observer_of_every_port_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    far = port(interface="eth3", far_end=observer(lapsed_share=None), refused=4)
    found = lines(capsys, port(), far)
    times = "500 ms 1 ms"
    assert found == [
        "port by frames held least margin lapses longest share",
        f"eth2 the sender's clock 12 {times} 0 0 s 1.250%",
        f"eth2 the kernel, leaving 11 {times} 3 0 s 1.250%",
        f"eth3 the sender's clock 12 {times} 0 0 s 1.250%",
        f"eth3 the kernel, leaving 11 {times} 3 0 s 1.250%",
        f"eth3 the kernel, at the far end 12 {times} 0 0 s -",
        "eth2: 10 Gb/s, a frame holds for 3 ms, the next leaves 2 ms before that",
        "eth3: 10 Gb/s, a frame holds for 3 ms, the next leaves 2 ms before that, 4 frames refused "
        "by the kernel",
        "lateness p50 1 us, p99.9 2 us",
        "core 2.5% used, SCHED_FIFO; the hypervisor took 500 ms",
        "verdict gapless",
    ]


def test_reasons_stand_below_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys, port(), verdict="lapsed", why=["eth2: 3 lapses", "another"], taken_s={})
    assert found[-3:] == ["verdict lapsed", "eth2: 3 lapses", "another"]
    assert found[-4].endswith("the hypervisor took -")


def test_verdicts_have_the_codes_of_the_help() -> None:
    assert CODES == {"gapless": 0, "lapsed": 1, "unproven": 3}
    assert exit_codes.BAD_INPUT not in CODES.values()
    assert check_commands(module) == ["storm"]
