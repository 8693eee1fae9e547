"""DCTCP: alpha by its equation, one cut per window, growth; two sources with the paper's alpha."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.records import ACK, PROBE
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from plugins.dctcp import ALPHA_BITS, ALPHA_UNIT, DCTCP, Dctcp
from tests.orchestrator.worlds import MS, run_until
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

FRAME = 1500


class Sender:
    """The kernels with a window's worth under way, acknowledged frame by frame."""

    def __init__(self, **params: object) -> None:
        self.rp = Driver(DCTCP, Dctcp(**params), link_rate=10**9)
        self.rp.come("start")

    def ack(self, marked: bool) -> None:
        """One frame is acknowledged; as much as the window lets is under way again."""
        rp = self.rp
        flight = rp.window // FRAME * FRAME - FRAME
        rp.set(acked=FRAME, marked=FRAME * marked, acked_total=rp.acked_total + FRAME)
        rp.set(flight=flight)
        rp.come("acked", kind=ACK)

    @property
    def alpha(self) -> float:
        return float(self.rp.state["alpha"][0]) / ALPHA_UNIT


def test_a_flow_starts_with_its_first_window_and_doubles_it_until_it_is_cut() -> None:
    sender = Sender(initial_window=4)
    assert (sender.rp.window, sender.rp.rate, sender.rp.active) == (4 * FRAME, 10**9, 1)
    for _ in range(4):
        sender.ack(marked=False)
    assert sender.rp.window == 8 * FRAME
    sender.ack(marked=True)
    cut = 8 * FRAME * sender.rp.state["alpha"][0] >> (ALPHA_BITS + 1)
    assert sender.rp.window == 8 * FRAME - cut
    cut_to = sender.rp.window
    for _ in range(8):
        sender.ack(marked=False)
    assert cut_to < sender.rp.window <= cut_to + 2 * FRAME, "a segment per round trip from then on"


def test_alpha_is_the_weighted_share_of_marks_of_each_window() -> None:
    sender = Sender(initial_window=16)
    alpha = 1.0
    sender.ack(marked=False)  # the first observation ends with the first acknowledgement
    alpha -= alpha / 16
    assert sender.alpha == pytest.approx(alpha, abs=1e-5)
    for _ in range(40):
        end, marks, seen = int(sender.rp.state["end"][0]), 0, 0
        while sender.rp.acked_total < end:
            marked = seen % 4 == 3
            sender.ack(marked)
            marks, seen = marks + marked, seen + 1
        alpha = alpha * 15 / 16 + marks / seen / 16
        assert sender.alpha == pytest.approx(alpha, abs=1e-4)
    assert 0.1 < alpha < 0.4


def test_marks_cut_once_per_window_and_never_below_the_least() -> None:
    sender = Sender(initial_window=20, least_window=3)
    sender.ack(marked=True)
    once = sender.rp.window
    assert once < 20 * FRAME
    for _ in range(18):
        sender.ack(marked=True)
        assert sender.rp.window == once
    for _ in range(200):
        sender.ack(marked=True)
    assert sender.rp.window == 3 * FRAME


def test_a_loss_halves_and_a_timeout_leaves_one_segment() -> None:
    sender = Sender(initial_window=20)
    sender.rp.come("lost", kind=ACK)
    assert sender.rp.window == 10 * FRAME
    sender.rp.come("lost", kind=PROBE)
    assert sender.rp.window == FRAME


def test_a_window_that_is_not_used_does_not_grow() -> None:
    sender = Sender(initial_window=20)
    sender.rp.set(acked=FRAME, acked_total=FRAME, flight=5 * FRAME)
    sender.rp.come("acked", kind=ACK)
    assert sender.rp.window == 20 * FRAME


def paper_alpha(window: float) -> float:
    """Equation 6: alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2, solved."""
    wanted = (2 * window + 1) / (window + 1) ** 2
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 * (1 - middle / 4) < wanted else (low, middle)
    return low


def shipped(**changes: str) -> Assembly:
    """The world of the plan `dctcp`, its links as steady as those of the analysis."""
    changes |= {f"links__up{n}__delay_line__jitter": "0s" for n in (1, 2)}
    registry = Registry.load()
    plan = Plan.load(registry.plans()["dctcp"], registry)
    settings = [f"{key.replace('__', '.')}={value}" for key, value in changes.items()]
    return assemble(plan.with_settings(settings).check(registry))


def sampled(assembly: Assembly) -> tuple[list[float], list[int]]:
    """1000 times alpha of the first source, and the queue before the sink, from 100 ms on."""
    state = next(pair[0][0] for pair in assembly.built.pointed_at if "alpha" in pair[0].dtype.names)
    alphas, queues = [], []
    for step in range(1000):
        run_until(assembly, 100 * MS + step * MS // 5)
        alphas.append(int(state["alpha"]) / ALPHA_UNIT)
        queues.append(int(assembly.world.queues["bytes"].max()))
    return alphas, queues


IN_FLIGHT = (100_000_000 + 2 * 12_000_000 + 2 * 560_000) / 8_000 / FRAME
"""Frames at 1 Gb/s in a round trip without a queue: C times RTT."""


def test_one_source_at_k_has_the_alpha_of_equation_6() -> None:
    """The analysis has all sources cut at once: one does."""
    bucket = {"nodes__h1__limiter__depth": "4KB"}
    plan = {"links__up1__rate": "2Gb/s", "traffic__t__from": "h1"} | bucket
    alphas, _ = sampled(shipped(**plan))
    assert np.mean(alphas) == pytest.approx(paper_alpha(IN_FLIGHT + 20), rel=0.2)


def test_the_queue_of_two_swings_as_equations_10_and_12_say() -> None:
    _, queues = sampled(shipped())
    least = 20 + 2 - np.sqrt(2 * 2 * (IN_FLIGHT + 20)) / 2
    assert max(queues) / FRAME == pytest.approx(20 + 2, abs=1)
    assert min(queues) / FRAME == pytest.approx(least, abs=2)


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.dctcp") > 0
