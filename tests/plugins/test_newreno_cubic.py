"""NewReno and CUBIC, beside the RFCs' formulas and the TCP model that has them built in."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import ACK, DATA, NEVER
from orchestrator.plan import Plan
from plugins.cubic import CUBIC, Cubic
from plugins.newreno import ENDLESS, NEWRENO, NewReno
from tests.orchestrator.worlds import MS, recorded
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

FRAME = 1500
S = 1000 * MS
TRIP = 100 * MS
BOTH = [(NEWRENO, NewReno, 0.5), (CUBIC, Cubic, 0.7)]


class Sender:
    """The kernels with a window's worth under way, acknowledged frame by frame."""

    def __init__(self, algorithm: Algorithm, params: Any) -> None:
        self.rp = Driver(algorithm, params, link_rate=10**9)
        self.rp.come("start")
        self.now = S

    def trip(self, **more: int) -> None:
        """A round trip: each frame of the window is acknowledged, and one takes its place."""
        frames = self.rp.window // FRAME
        for place in range(frames):
            self.now += TRIP // frames
            window = self.rp.window // FRAME * FRAME
            self.rp.set(acked=FRAME, acked_total=self.rp.acked_total + FRAME, rtt=TRIP, **more)
            self.rp.set(flight=window - FRAME)
            self.rp.come("acked", self.now, kind=ACK, created=self.now - TRIP)
            del place

    def lose(self, made: int, kind: int = ACK, **more: int) -> None:
        """One frame of a full window is lost."""
        self.rp.set(lost=1, lost_made=made, flight=self.rp.window // FRAME * FRAME - FRAME, **more)
        self.rp.come("lost", self.now, kind=kind)


@pytest.mark.parametrize(("algorithm", "params", "left"), BOTH)
def test_slow_start_doubles_then_a_loss_cuts_once_for_all_that_was_sent_before(
    algorithm: Algorithm, params: Any, left: float
) -> None:
    sender = Sender(algorithm, params(initial_window=4))
    assert (sender.rp.window, sender.rp.active, sender.rp.rate) == (4 * FRAME, 1, 10**9)
    for doubled in (8, 16, 32):
        sender.trip()
        assert sender.rp.window == doubled * FRAME
    cut_at = sender.now
    sender.lose(made=cut_at - TRIP)
    assert sender.rp.window == int(32 * left * FRAME)
    window = sender.rp.window
    sender.now += 10 * MS
    sender.lose(made=cut_at - 1)
    assert sender.rp.window == window, "known already"
    sender.rp.set(acked=FRAME)
    sender.rp.come("acked", sender.now, kind=ACK, created=cut_at - 1)
    assert sender.rp.window == window, "what left before the cut does not make it grow"
    sender.lose(made=cut_at)
    assert sender.rp.window == int(window // FRAME * FRAME * left), "a loss of what was sent later"


@pytest.mark.parametrize(("algorithm", "params", "left"), BOTH)
def test_a_timeout_leaves_one_segment_and_slow_start_goes_up_to_the_threshold(
    algorithm: Algorithm, params: Any, left: float
) -> None:
    sender = Sender(algorithm, params(initial_window=40))
    sender.lose(made=sender.now - TRIP, kind=DATA)
    assert sender.rp.window == FRAME
    threshold = int(sender.rp.state["threshold"][0])
    assert threshold == int(40 * left * FRAME)
    sender.now += TRIP
    for _ in range(5):
        sender.trip()
    assert sender.rp.window >= threshold
    grown = sender.rp.window
    sender.trip()
    assert sender.rp.window <= grown + 2 * FRAME


@pytest.mark.parametrize(("algorithm", "params", "left"), BOTH)
def test_marks_count_as_losses_where_they_are_asked_for(
    algorithm: Algorithm, params: Any, left: float
) -> None:
    assert not params().sends_ect()
    assert params(ecn=True).sends_ect()
    for ecn in (False, True):
        sender = Sender(algorithm, params(initial_window=20, ecn=ecn))
        sender.rp.set(acked=FRAME, marked=FRAME, flight=19 * FRAME)
        sender.rp.come("acked", sender.now, kind=ACK, created=sender.now - TRIP)
        assert sender.rp.window == (int(20 * left) if ecn else 21) * FRAME
        cut = sender.rp.window
        sender.rp.come("acked", sender.now + 1, kind=ACK, created=sender.now - 1)
        assert (sender.rp.window == cut) == ecn


@pytest.mark.parametrize(("algorithm", "params", "left"), BOTH)
def test_a_window_that_is_not_used_does_not_grow_and_an_idle_one_shrinks(
    algorithm: Algorithm, params: Any, left: float
) -> None:
    del left
    sender = Sender(algorithm, params(initial_window=4, idle=S))
    for _ in range(4):
        sender.trip()
    window = sender.rp.window
    sender.rp.set(acked=FRAME, flight=0)
    sender.rp.come("acked", sender.now, kind=ACK, created=sender.now - TRIP)
    assert sender.rp.window == window
    assert sender.rp.entity["timers"][0][0] == sender.now + S
    sender.rp.come("sent", sender.now + 1)
    assert sender.rp.entity["timers"][0][0] == NEVER
    sender.rp.come("idle", sender.now + S)
    assert sender.rp.window == 4 * FRAME


def test_newreno_grows_by_a_segment_per_window_once_it_was_cut() -> None:
    sender = Sender(NEWRENO, NewReno(initial_window=40))
    assert sender.rp.state["threshold"][0] == ENDLESS
    sender.lose(made=sender.now - TRIP)
    sender.now += TRIP
    for trips in range(1, 10):
        sender.trip()
        assert abs(sender.rp.window - (20 + trips) * FRAME) <= FRAME


@pytest.mark.parametrize("segments", [100, 400, 1000])
def test_the_window_of_cubic_follows_the_curve_of_rfc_9438(segments: int) -> None:
    """W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(0.3 W_max / 0.4); or what Reno would have: 9/17 of
    a segment per round trip, and a whole one from where it was before the cut."""
    sender = Sender(CUBIC, Cubic(initial_window=segments))
    sender.lose(made=sender.now - TRIP)
    assert sender.rp.window == int(0.7 * segments) * FRAME
    k = (0.3 * segments / 0.4) ** (1 / 3)
    sender.now += TRIP
    began = sender.now + TRIP // int(0.7 * segments)  # the first acknowledgement after the cut
    worst, reno = 0.0, float(int(0.7 * segments))
    while (t := (sender.now - began) / S) < 2 * k:
        sender.trip()
        reno += 1 if reno >= segments else 9 / 17
        wanted = max(0.4 * ((sender.now - began) / S - k) ** 3 + segments, reno)
        worst = max(worst, abs(sender.rp.window / FRAME - wanted))
        if t < k:
            assert sender.rp.window <= (segments + 1) * FRAME
    assert worst < 1.5, "segments; of hundreds"
    assert sender.rp.window > 1.25 * segments * FRAME, "beyond the flat top it searches for more"


def test_cubic_is_at_least_what_reno_would_be() -> None:
    """With few segments or short trips the curve is too flat: 9/17 of a segment per trip."""
    sender = Sender(CUBIC, Cubic(initial_window=20))
    sender.lose(made=sender.now - TRIP)
    sender.now += TRIP
    cut = sender.rp.window
    for _ in range(8):
        sender.trip()
    assert sender.rp.window / FRAME >= cut / FRAME + 8 * 9 / 17 - 1


def test_cubic_whose_windows_fall_leaves_room() -> None:
    for fast, most in ((True, 0.85), (False, 1.0)):
        sender = Sender(CUBIC, Cubic(initial_window=100, fast_convergence=fast))
        sender.lose(made=sender.now - TRIP)
        sender.now += TRIP
        window = sender.rp.window
        sender.lose(made=sender.now)
        assert int(sender.rp.state["most"][0]) == pytest.approx(most * window, abs=1)


def through(transport: dict[str, Any], point: dict[str, Any] | None) -> Any:
    """20 s of one flow into a port of 50 Mb/s behind 20 ms of round trip and 60 KB of buffer."""
    nic: dict[str, Any] = {"kind": "nic"}
    if point is not None:
        nic["reaction_point"] = point
    link = {"rate": 10**9, "delay": 5 * MS}
    return recorded(
        {
            "name": "beside-tcp",
            "duration": 30 * S,
            "sample_interval": 10 * MS,
            "nodes": {
                "nic": nic,
                "switch": {"kind": "switch", "buffer": 60_000},
                "sink": {"kind": "sink"},
            },
            "links": {
                "up": {"ends": ["nic", "switch"], **link},
                "down": {"ends": ["switch", "sink"], **link, "rate": 5 * 10**7},
            },
            "traffic": {
                "t": {"plugin": "bulk", "from": "nic", "to": "sink", "transport": transport}
            },
        }
    )


@pytest.mark.parametrize("congestion", ["newreno", "cubic"])
def test_beside_the_tcp_model_throughput_and_queue_are_the_same(congestion: str) -> None:
    """The model that has its control built in, every segment acknowledged, and the two parts."""
    tcp = {"plugin": "tcp", "congestion_control": congestion, "delayed_ack": 0}
    parts = ({"plugin": "selective"}, {"plugin": congestion})
    found = []
    for recording in (
        through(tcp, None),
        through(parts[0], parts[1]),
    ):
        late = recording.times_ps >= 10 * S
        octets = recording.column("t", "bytes_received")[late]
        queue = recording.column("switch.sink", "queue_bytes")[late]
        found.append((octets[-1] - octets[0], queue.mean()))
    (model, model_queue), (mine, my_queue) = found
    assert mine == pytest.approx(model, rel=0.05)
    assert my_queue == pytest.approx(model_queue, rel=0.35)


@pytest.mark.parametrize("module", ["plugins.cubic", "plugins.newreno"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0


LIMITED = """
name = "one-loss"
duration = "1s"
sample_interval = "1ms"

[nodes.h]
kind = "nic"
reaction_point = { plugin = "PLUGIN" }

[nodes.d]
kind = "sink"

[links.up]
ends = ["h", "d"]
rate = "RATE"
delay = "10ms"

[traffic.t]
from = "h"
to = "d"
frame = "1500B"
plugin = "bulk"
transport = { plugin = "selective" }

[[timeline]]
at = "800ms"
drop = "t"
packet = 1
"""


@pytest.mark.parametrize(("algorithm", "params", "left"), BOTH)
@pytest.mark.parametrize("rate", [10**8, 10**9])
def test_a_loss_cuts_what_was_under_way_where_the_window_does_not_limit_it(
    algorithm: Algorithm, params: Any, left: float, rate: int
) -> None:
    """Either the link, at 0.1 Gb/s, or the transport, at 1 Gb/s, lets no more under way."""
    del params
    text = LIMITED.replace("PLUGIN", algorithm.name).replace("RATE", f"{rate}b/s")
    done = recorded(Plan.load(text).to_table())
    window = done.column("h.rp0", "window_bytes")
    octets = done.column("t", "bytes_received")
    before, after = window[799], window[799:].min()
    round_trip = int(done.column("h.rp0", "rtt_ps")[799])
    under_way = (octets[799] - octets[700]) / (99 * MS) * round_trip
    assert before == pytest.approx(2 * under_way, rel=0.02)
    assert after == pytest.approx(left * under_way, rel=0.02)
