"""Where the oracle departs from the letter of the pseudo code, and who can notice.

The slips of L97 (an inactive limiter goes on counting) and of L101-L108 (the timer's stage is
forgotten on release) are mended by L18-L26 and L44-L45 as soon as the limiter is active again: an
active limiter behaves by the letter. That leaves L19, which no oracle can follow (see there).
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.pseudocode_rp import ACTIVE, RateLimiter, RpParameters

C = 10**9

events = st.lists(
    st.one_of(
        st.tuples(st.just("feedback"), st.integers(0, 63)),
        st.tuples(st.just("transmit"), st.integers(60, 400_000)),
        st.tuples(st.just("last frame"), st.integers(60, 400_000)),
        st.tuples(st.just("timer"), st.integers(0, 10**10)),
    ),
    max_size=80,
)


def apply(limiter: RateLimiter, event: str, value: int) -> None:
    """One event; frames are long, so that byte expiries are common."""
    if event == "feedback":
        limiter.feedback(value)
    elif event == "timer":
        limiter.now += value
        limiter.timer_expired()
    else:
        limiter.qlen = 0 if event == "last frame" else 1500
        limiter.transmit(value)


@settings(max_examples=300, deadline=None)
@given(events)
def test_an_active_limiter_cannot_tell_the_letter_from_the_correction(
    sequence: list[tuple[str, int]],
) -> None:
    corrected = RateLimiter(RpParameters(C=C))
    literal = RateLimiter(RpParameters(C=C, literal=True))
    for event, value in sequence:
        apply(corrected, event, value)
        apply(literal, event, value)
        assert corrected.state == literal.state
        assert corrected.crate == literal.crate
        if corrected.state == ACTIVE:
            seen = ("trate", "tx_bcount", "si_count", "timer_scount", "timer")
            for name in seen:
                assert getattr(corrected, name) == getattr(literal, name), name
