"""The QCN kernels beside the oracle that was written from the pseudo code: equal at every step.

Every preset, jitter off and on. With jitter on, the oracle draws from its own copy of the random
source, so that kernels and oracle agree to the bit there too.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.records import NEVER
from plugins.qcn_cp import QCN_CP
from tests.plugins.qcn_pairs import CpPair, Feedback, RpPair, Send, Wait

PRESETS = ["ieee", "netfpga", "pseudocode", "ibm-10g", "ibm-100g"]
LINK_RATES = [10**9, 10**10, 10**11]
MS = 10**9

examples = settings(max_examples=150, deadline=None)


lengths = st.integers(60, 9000)
rp_events = st.lists(
    st.one_of(
        st.builds(Feedback, st.integers(0, 63)),
        st.builds(Send, st.integers(1, 250), lengths, st.sampled_from([0, 1500])),
        st.builds(Wait, st.integers(0, 120 * MS)),
    ),
    max_size=60,
)


@examples
@given(
    st.sampled_from(PRESETS), st.sampled_from(LINK_RATES), st.booleans(), st.booleans(), rp_events
)
def test_reaction_point_follows_the_pseudo_code(
    preset: str, link_rate: int, jitter: bool, extra: bool, events: list[Feedback | Send | Wait]
) -> None:
    pair = RpPair(preset, link_rate, jitter, extra_fast_recovery=extra)
    for event in events:
        event.apply(pair)


def long_life(rng: random.Random, steps: int) -> Iterable[Feedback | Send | Wait]:
    """Calm and congested spells, so that every stage of the reaction point comes up."""
    congested = True
    for _ in range(steps):
        if rng.random() < 0.02:
            congested = not congested
        draw = rng.random()
        if congested and draw < 0.9:
            yield Feedback(rng.randrange(64))
        elif draw < 0.95:
            yield Send(rng.randrange(1, 120), rng.choice([64, 1500, 9000]), rng.choice([0, 1500]))
        else:
            yield Wait(rng.randrange(30 * MS))


def test_without_extra_fast_recovery_every_message_sets_the_target() -> None:
    for extra, factors in ((True, 0), (False, 1)):
        pair = RpPair("ieee", 10**9, jitter=False, extra_fast_recovery=extra)
        pair.feedback(32)  # activates: the target is the link's rate either way
        pair.feedback(32)
        assert int(pair.limiter["target"][0]) == 10**9 * 3**factors // 4**factors


@pytest.mark.parametrize("jitter", [False, True], ids=["exact", "jittered"])
@pytest.mark.parametrize("preset", PRESETS)
def test_reaction_point_follows_the_pseudo_code_through_a_long_life(
    preset: str, jitter: bool
) -> None:
    pair = RpPair(preset, 10**10, jitter)
    for event in long_life(random.Random(preset), 2000):
        event.apply(pair)
    assert pair.seen == {
        "fast recovery",
        "active increase",
        "hyper-active increase",
        "released",
        "minimum rate",
        "target cut",
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_a_limiter_whose_source_has_stopped_is_released_by_its_timer(preset: str) -> None:
    pair = RpPair(preset, 10**9, jitter=True)
    Feedback(63).apply(pair)
    Send(3, 1500, 0).apply(pair)
    assert pair.limiter["active"][0] == 1
    Wait(60_000 * MS).apply(pair)
    assert pair.limiter["active"][0] == 0
    assert pair.limiter["timer"][0] == NEVER


def test_a_limiter_at_the_links_rate_is_kept_while_frames_wait() -> None:
    pair = RpPair("ieee", 10**9, jitter=True)
    Feedback(63).apply(pair)
    Send(3, 1500, 1500).apply(pair)
    Wait(60_000 * MS).apply(pair)
    assert (pair.limiter["active"][0], pair.limiter["rate"][0]) == (1, 10**9)
    Send(1, 1500, 0).apply(pair)
    assert pair.limiter["active"][0] == 0


def test_a_message_that_cuts_nothing_does_not_keep_a_limiter() -> None:
    pair = RpPair("ieee", 10**9, jitter=True, min_decrease_factor=1)
    Feedback(63).apply(pair)
    assert pair.limiter["active"][0] == 0
    assert pair.limiter["timer"][0] == NEVER


def test_the_octets_that_bring_the_links_rate_back_release_the_limiter() -> None:
    pair = RpPair("ieee", 10**9, jitter=False, ai_rate="1Gb/s", threshold=1)
    Feedback(63).apply(pair)
    Send(101 + 51, 1500, 0).apply(pair)  # the second expiry is active increase
    assert pair.limiter["active"][0] == 0


queue_walk = st.lists(st.tuples(st.integers(1, 40), lengths, st.integers(0, 150_000)), max_size=60)


@examples
@given(
    st.sampled_from(PRESETS),
    st.integers(0, 8),
    st.integers(1000, 300_000),
    st.booleans(),
    queue_walk,
)
def test_congestion_point_follows_the_pseudo_code(
    preset: str, weight: int, sample_base: int, jitter: bool, walk: list[tuple[int, int, int]]
) -> None:
    pair = CpPair(jitter, preset=preset, weight=weight, sample_base=sample_base)
    for frames, length, queue_bytes in walk:
        for _ in range(frames):
            pair.arrive(length, queue_bytes)


@pytest.mark.parametrize("jitter", [False, True], ids=["exact", "jittered"])
@pytest.mark.parametrize("preset", PRESETS)
def test_congestion_point_follows_the_pseudo_code_through_a_long_life(
    preset: str, jitter: bool
) -> None:
    pair = CpPair(jitter, preset=preset)
    rng = random.Random(preset)
    queue_bytes = 0
    for _ in range(20_000):
        queue_bytes = min(max(queue_bytes + rng.randrange(-20_000, 20_000), 0), 400_000)
        pair.arrive(rng.choice([64, 1500, 9000]), queue_bytes)
    assert pair.rows == set(range(8))


def test_a_message_without_feedback_does_not_activate_a_limiter() -> None:
    pair = RpPair("pseudocode", 10**9, jitter=False)
    pair.feedback(0)
    assert pair.limiter["active"][0] == 0


def test_the_target_of_the_pseudo_code_passes_the_link_rate() -> None:
    pair = RpPair("pseudocode", 10**9, jitter=False)
    pair.feedback(1)
    Send(2000, 1500, 1500).apply(pair)
    assert pair.limiter["target"][0] > 10**9
    assert pair.limiter["rate"][0] == 10**9


def test_the_byte_counter_expires_one_octet_after_its_interval() -> None:
    pair = RpPair("pseudocode", 10**9, jitter=False)
    for _ in range(2):  # of an activation, then of a message after an expiry
        pair.feedback(1)
        Send(100, 1500, 1500).apply(pair)
        assert pair.driver.state["byte_stage"][0] == 0
        pair.send(1, 1500)
        assert pair.driver.state["byte_stage"][0] == 1


def test_a_target_of_exactly_ten_times_the_rate_is_kept() -> None:
    pair = RpPair("pseudocode", 10**9, jitter=False, min_rate="100Mb/s")
    for _ in range(5):
        pair.feedback(63)
    assert pair.limiter["rate"][0] * 10 == pair.limiter["target"][0]
    pair.wait(15 * MS)
    assert pair.limiter["target"][0] == 10**9


@pytest.mark.parametrize(("counts", "sampled"), [("enqueued", 0), ("arriving", 1)])
def test_a_frame_that_finds_no_room_counts_where_arrivals_do(counts: str, sampled: int) -> None:
    driver = CpPair.driver
    table = {"jitter": False, "counts": counts, "sample_base": 1000}
    driver.reset(QCN_CP.params.from_table(table, bare=True), 1)
    driver.entity["bytes"], driver.entity["capacity"] = 149_000, 150_000
    driver.frame["length"] = 1001
    assert driver.call("arrival", 0) == sampled
    driver.entity["capacity"] = 150_001
    assert driver.call("arrival", 0) == 1
