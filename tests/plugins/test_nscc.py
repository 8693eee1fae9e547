"""NSCC against the formulas of its reference (htsim, UecSrc), reckoned in floating point here."""

from __future__ import annotations

import pytest

from orchestrator.engine.records import ACK, NONE
from plugins.nscc import NSCC, Nscc
from plugins.path_entropy import MARKED, TRIMMED, WORST
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver
from traffic.go_back_n import NEGATIVE

US = 10**6
LINK = 10**11
BASE, TARGET = 12 * US, 9 * US
BDP = 150_000
"""Octets of 100 Gb/s in 12 us: of the network for which the reference has its constants."""
FRAME = 4_000


class Sender:
    """A flow whose segments come back one by one, each so much later than the empty round trip."""

    def __init__(self, **params: object) -> None:
        usual = {"base_rtt": BASE, "target": TARGET, "segment": FRAME}
        self.rp = Driver(NSCC, Nscc(**(usual | params)), link_rate=LINK)
        self.rp.come("start")
        self.now = 100 * US
        self.segment = 0
        self.rp.state["until"] = 1 << 60  # no quick adapt, until a test asks for it
        self.rp.state["adjusted"] = self.now

    def window(self, octets: int) -> None:
        self.rp.set(window=octets)

    def says(self, name: str) -> int:
        return int(self.rp.state[name][0])

    def leaves(self) -> int:
        """Its entropy."""
        self.rp.come("sent", self.now, sequence=self.segment, inner=NONE)
        self.segment += 1
        return int(self.rp.frame["inner"][0])

    def comes(self, delay: int, *, marked: bool = False, of: int = 0, after: int = 0) -> int:
        """An answer; the window then."""
        self.now += after
        marks = FRAME if marked else 0
        self.rp.set(rtt=BASE + delay, acked=FRAME, marked=marks, flight=10 * FRAME)
        self.rp.come("acked", self.now, kind=ACK, feedback=0, offset=of)
        return int(self.rp.window)

    def loses(self, count: int = 1) -> int:
        self.rp.set(lost=count, flight=10 * FRAME)
        self.rp.come("lost", self.now, kind=ACK)
        return int(self.rp.window)


def test_a_flow_begins_with_its_largest_window() -> None:
    assert Sender().rp.window == BDP * 3 // 2
    assert Sender(base_rtt=24 * US).rp.window == BDP * 3


def test_below_the_target_it_grows_by_what_is_missing() -> None:
    """Nothing before a round trip is over; then 4 segments (target - delay) / 12 us of it."""
    sender = Sender()
    sender.window(100_000)
    for _ in range(5):
        assert sender.comes(6 * US) == 100_000
    grown = 6 * FRAME * 4 * FRAME * (TARGET - 6 * US) / (12 * US) / 100_000
    eta = 0.15 * FRAME
    assert sender.comes(6 * US, after=12 * US) == pytest.approx(100_000 + grown + eta, abs=2)


def test_above_the_target_and_unmarked_it_grows_by_the_fair_share() -> None:
    """After nine segments even within a round trip, and without eta then."""
    sender = Sender()
    sender.window(100_000)
    for _ in range(8):
        assert sender.comes(20 * US) == 100_000
    assert sender.comes(20 * US) == pytest.approx(100_000 + 9 * FRAME * 5 * FRAME / 100_000, abs=2)
    assert Sender(fair=0).comes(20 * US) == BDP * 3 // 2


def test_marked_below_the_target_nothing_changes_but_the_path() -> None:
    sender = Sender()
    sender.window(100_000)
    for _ in range(5):
        assert sender.comes(6 * US, marked=True) == 100_000
    assert sender.says("grown") == 0


def test_marked_above_the_target_it_shrinks_by_the_smoothed_delay_once_per_round_trip() -> None:
    sender = Sender()
    sender.window(100_000)
    assert sender.comes(30 * US, marked=True) == 100_000, "smoothed, the delay is still short"
    sender.rp.state["delay"] = 15 * US
    smoothed = 15 + (30 - 15) / 80
    cut = 0.8 * (smoothed - 9) / smoothed
    assert sender.comes(30 * US, marked=True) == pytest.approx(100_000 * (1 - cut), rel=1e-3)
    before = int(sender.rp.window)
    assert sender.comes(30 * US, marked=True) == before
    sender.rp.state["delay"] = 900 * US
    sender.rp.state["adjusted"] = sender.now + 13 * US  # eta is not what is looked at
    assert sender.comes(900 * US, marked=True, after=13 * US) == before - before // 2


def test_the_smoothed_delay_takes_no_notice_of_one_bad_path() -> None:
    sender = Sender()
    for _ in range(400):
        sender.comes(40 * US)
    assert sender.says("delay") == pytest.approx(BASE / 4, rel=0.02)


def test_after_a_window_of_no_delay_it_grows_fast() -> None:
    sender = Sender()
    sender.window(5 * FRAME)
    for _ in range(5):
        assert sender.comes(0) == 5 * FRAME
    assert sender.comes(0) == 5 * FRAME + FRAME // 4
    assert sender.comes(0) == 5 * FRAME + 2 * (FRAME // 4)
    assert sender.comes(2 * US) == 5 * FRAME + 2 * (FRAME // 4), "and no more with some delay"


def test_quick_adapt_takes_what_got_through_and_is_deaf_to_the_rest() -> None:
    sender = Sender()
    sender.rp.state["until"] = 0
    sender.comes(40 * US, marked=True)  # begins a round trip to be looked at
    for _ in range(2):
        sender.comes(40 * US, marked=True)
    window = sender.comes(40 * US, marked=True, after=BASE + TARGET + 1)
    assert window == 3 * FRAME, "what was answered since"
    for _ in range(9):
        assert sender.comes(90 * US, marked=True) == 3 * FRAME, "ten segments were under way"
    sender.rp.state["delay"] = 90 * US
    sender.rp.state["until"] = 1 << 60
    assert sender.comes(90 * US, marked=True) < 3 * FRAME


def test_quick_adapt_leaves_who_gets_enough() -> None:
    for quick, answers in ((True, 8), (False, 2)):
        sender = Sender(quick=quick, gamma=0)
        sender.rp.state["until"] = 0
        sender.comes(40 * US, marked=True)
        for _ in range(answers):  # an eighth of the largest window is 7 segments
            sender.comes(40 * US, marked=True)
        assert sender.comes(40 * US, marked=True, after=BASE + TARGET + 1) > 50 * FRAME


def test_a_loss_takes_its_octets_and_calls_quick_adapt() -> None:
    sender = Sender()
    sender.window(100_000)
    assert sender.loses(2) == 100_000 - 2 * FRAME
    sender.rp.state["until"] = 1
    sender.rp.state["achieved"] = 2 * FRAME
    assert sender.loses() == 2 * FRAME
    assert Sender(quick=False).loses(100) == FRAME, "never less than a segment"


def test_values_take_turns_in_an_order_of_each_round() -> None:
    sender = Sender(entropy_bits=4)
    rounds = [[sender.leaves() for _ in range(16)] for _ in range(4)]
    assert all(sorted(values) == list(range(16)) for values in rounds)
    assert len({tuple(values) for values in rounds}) > 1
    assert Sender(entropy_bits=0).leaves() == NONE


@pytest.mark.parametrize(("penalty", "trimmed"), [(MARKED, False), (TRIMMED, True)])
def test_a_value_that_met_congestion_is_left_out(penalty: int, trimmed: bool) -> None:
    sender = Sender(entropy_bits=4)
    first = sender.leaves()
    if trimmed:
        sender.rp.come("acked", sender.now, kind=ACK, feedback=NEGATIVE, offset=0)
    else:
        sender.comes(2 * US, marked=True, of=0)
    values = [sender.leaves() for _ in range(16 * 8)]
    # each time that its turn comes it is left out once
    seen = values.count(first)
    assert seen == pytest.approx(8 - penalty, abs=1)
    assert first not in values[:16]
    assert first in values[-32:]


def test_one_segment_is_the_turn_of_one_value_that_is_left_out() -> None:
    """All are: the first one of the round has that behind it, the others wait for their turns."""
    sender = Sender(entropy_bits=4)
    sender.rp.state["skip"][0, :16] = 1
    sender.leaves()
    assert sender.rp.state["skip"][0, :16].sum() == 15


def test_no_value_is_left_out_for_longer_than_that() -> None:
    sender = Sender(entropy_bits=4)
    first = sender.leaves()
    for _ in range(50):
        sender.rp.come("acked", sender.now, kind=ACK, feedback=NEGATIVE, offset=0)
    assert sender.rp.state["skip"][0, first] == WORST
    values = [sender.leaves() for _ in range(16 * (WORST + 2))]
    assert values.count(first) in (1, 2, 3)


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.nscc") > 0
