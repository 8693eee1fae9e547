"""HPCC after silences: what stamps count modulo 2^32 goes round while a flow has nothing to say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.hpcc import BITS
from tests.orchestrator.worlds import MS, US, recorded
from tests.plugins.test_hpcc import LINK, Sender, T, hop

S = 1000 * MS
SHARE = 0.5


@settings(max_examples=300, deadline=None)
@given(silence=st.integers(T, 3000 * S), rate=st.sampled_from([10**9, LINK, 10**11, 4 * 10**11]))
def test_a_hop_at_half_its_rate_is_taken_for_that_after_any_silence(
    silence: int, rate: int
) -> None:
    sender = Sender()
    for at in (0, T, 2 * T, 2 * T + silence, 3 * T + silence):
        sender.ack(hop(int(at * SHARE * rate / 8e12), at, rate=rate), now=at)
        u = int(sender.rp.state["u"][0]) / (1 << BITS)
        if at >= T:
            assert u == pytest.approx(SHARE, rel=5e-3), f"after {silence / S} s at {rate} bit/s"


@pytest.mark.parametrize("every_s", [0.1, 2.1, 2.2, 4.2, 4.29, 4.3, 4.35, 8.6, 34.4])
def test_a_message_after_a_silence_takes_what_the_first_one_takes(every_s: float) -> None:
    """20 KB beside 0.5 Gb/s through a port of 1 Gb/s: about 500 us, whatever the time before."""
    link = {"rate": 10**9, "delay": 2 * US}
    table = {
        "name": "silence",
        "duration": int((every_s + 0.1) * S),
        "sample_interval": S // 10,
        "nodes": {
            "h1": {
                "kind": "nic",
                "reaction_point": {"plugin": "hpcc", "base_rtt": "30us"},
                "limiter": {"depth": "3KB", "period": "1us"},
            },
            "h2": {"kind": "nic"},
            "s": {"kind": "switch", "buffer": "2MB", "congestion_point": {"plugin": "int"}},
            "d": {"kind": "sink"},
        },
        "links": {
            "a": link | {"ends": ["h1", "s"]},
            "b": link | {"ends": ["h2", "s"]},
            "c": link | {"ends": ["s", "d"]},
        },
        "traffic": {
            "q": {
                "plugin": "messages",
                "from": "h1",
                "to": "d",
                "size": "20KB",
                "interval": int(every_s * S),
                "start": MS,
                "count": 2,
                "transport": {"plugin": "go-back-n"},
            },
            "bg": {"plugin": "cbr", "from": "h2", "to": "d", "rate": 5 * 10**8, "frame": 9000},
        },
    }
    messages = recorded(table).messages
    assert messages is not None
    first, second = messages.fct_s()
    assert 350e-6 < first < 600e-6
    assert second == pytest.approx(first, rel=0.25)
