"""HPCC's reaction point against algorithm 1 of its paper, reckoned in floating point here."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.frames.telemetry_header import FIRST, ROOM, STAMPED, WORDS, write_stamp
from plugins.hpcc import HPCC, Hpcc
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6
LINK = 10**10
T = 13 * US
BDP = LINK * 13e-6 / 8
FRAME = 1500
Hop = tuple[int, int, int, int, int]


class Sender:
    """The kernels, and what the paper's pseudo code makes of the same acknowledgements."""

    def __init__(self, **params: object) -> None:
        self.params = Hpcc(**params)
        self.rp = Driver(HPCC, self.params, link_rate=LINK)
        self.row = np.zeros(FIRST + 16 * WORDS, np.int64)
        self.total = 0
        self.rp.come("start")

    def ack(self, *hops: Hop, flight: int = 10 * FRAME, now: int = 0) -> int:
        """(queue, octets sent, time in ps, rate, port) of every hop; the window then."""
        self.row[:FIRST] = 0
        self.row[ROOM] = 5
        for hop in hops:
            write_stamp(self.row, *hop)
        self.total += FRAME
        self.rp.set(stamps=self.row.ctypes.data, hops=int(self.row[STAMPED]))
        self.rp.set(acked=FRAME, acked_total=self.total, flight=flight)
        self.rp.come("acked", now)
        return int(self.rp.window)


def hop(sent: int, at: int, queue: int = 0, rate: int = LINK, port: int = 40) -> Hop:
    return queue, sent, at, rate, port


def test_a_flow_begins_with_a_product_of_rate_and_round_trip() -> None:
    sender = Sender()
    assert sender.rp.window == pytest.approx(BDP, abs=1)
    assert sender.rp.rate == pytest.approx(LINK, rel=1e-3)
    before = sender.rp.window
    assert sender.ack(hop(0, 0)) == before, "the first acknowledgement is only remembered"


def test_the_window_is_what_algorithm_1_says() -> None:
    """Half of T at 1.1 of the rate; of the two queues the smaller one counts."""
    sender = Sender()
    sender.ack(hop(0, 0, queue=4_000))
    half = 6_500_000
    sent = int(1.1 * BDP / 2)
    got = sender.ack(hop(sent, half, queue=int(BDP) // 2))
    u = 0.5 * 1 + 0.5 * (1.1 + 4_000 / BDP)
    assert got == pytest.approx(BDP / (u / 0.95) + 80, rel=2e-3)
    assert sender.rp.rate == pytest.approx(got * 8 / 13e-6, rel=1e-3), "paced at W / T"


def test_the_fullest_hop_counts_with_its_own_rate() -> None:
    sender = Sender()
    sender.ack(hop(0, 0, port=1), hop(0, 0, rate=LINK // 10, port=2), hop(0, 0, port=3))
    octets = int(BDP) // 10
    got = sender.ack(
        hop(octets, T, port=1),
        hop(octets * 12 // 10, T, rate=LINK // 10, port=2),
        hop(octets, T, port=3),
    )
    assert got == pytest.approx(BDP / (1.2 / 0.95) + 80, rel=3e-3)


def test_it_reacts_to_every_acknowledgement_and_takes_over_once_per_round_trip() -> None:
    sender = Sender(w_ai=0)
    sender.ack(hop(0, 0), flight=4 * FRAME)
    rate, at, sent = 1.9, 0, 0
    windows = []
    for _ in range(5):
        at, sent = at + T, sent + int(rate * BDP)
        windows.append(sender.ack(hop(sent, at), flight=4 * FRAME))
    once = BDP * 0.95 / 1.9
    assert windows[:4] == pytest.approx([once] * 4, rel=2e-3), "of the same Wc: no overreaction"
    assert windows[4] == pytest.approx(once, rel=2e-3)
    assert sender.ack(hop(sent + int(rate * BDP), at + T)) == pytest.approx(once / 2, rel=5e-3)


def test_below_eta_it_grows_by_w_ai_for_max_stage_rounds_and_then_measures() -> None:
    sender = Sender(w_ai=100, max_stage=2)
    sender.ack(hop(0, 0), flight=0)
    at, sent = T, int(1.9 * BDP)
    start = sender.ack(hop(sent, at), flight=0)
    found = []
    for _ in range(3):
        at, sent = at + T, sent + int(0.6 * BDP)
        found.append(sender.ack(hop(sent, at), flight=0))
    assert found[:2] == [start + 100, start + 200]
    assert found[2] == pytest.approx((start + 200) * 0.95 / 0.6 + 100, rel=3e-3)


def test_another_way_is_only_remembered() -> None:
    sender = Sender()
    sender.ack(hop(0, 0))
    window = sender.rp.window
    assert sender.ack(hop(10**6, T, port=41)) == window
    assert sender.ack(hop(10**6, T, port=41), hop(0, T, port=42)) == window
    assert sender.ack(hop(10**6 + 2 * int(BDP), 2 * T, port=41), hop(0, 2 * T, port=42)) < window


def test_counters_that_begin_again_change_nothing() -> None:
    most = 1 << 32
    one, other = Sender(), Sender()
    for sender, begin in ((one, 5), (other, most - 1000)):
        sender.ack(hop(begin, (most - 2_000) * 1000 if sender is other else 0))
    first = one.ack(hop(5 + 20_000, T))
    assert other.ack(hop(most - 1000 + 20_000, (most - 2_000) * 1000 + T)) == first


def test_the_published_code_never_falls_below_its_rate() -> None:
    sender = Sender(form="rate", least_rate=10**9, max_stage=0)
    paper = Sender()
    for each in (sender, paper):
        each.ack(hop(0, 0), flight=0)
        at = sent = 0
        for _ in range(30):
            at, sent = at + T, sent + int(BDP)
            each.ack(hop(sent, at, queue=10 * int(BDP)), flight=0)
            each.ack(hop(sent, at, queue=10 * int(BDP)), flight=0)
    assert sender.rp.rate == pytest.approx(10**9, rel=1e-3)
    assert sender.rp.window == pytest.approx(BDP / 10 + FRAME, abs=2), "one frame may overdraw it"
    assert paper.rp.rate < 10**8


def test_without_stamps_nothing_changes() -> None:
    sender = Sender()
    window = sender.rp.window
    for _ in range(3):
        assert sender.ack() == window


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.hpcc") > 0
