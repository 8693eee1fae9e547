"""Delay lines: propagation delay of a frame after its last bit, fixed or with jitter.

Without one a link takes exactly its `delay`. The test bed of NetFPGA-QCN had a jitter component
beside its delay lines (NetFPGA-QCN, section 6); order is kept in every case.
"""

from __future__ import annotations

from pydantic import Field

from tailback.plugin import (
    AS_VERILOG_TOO,
    Algorithm,
    Duration,
    Params,
    delay_line,
    lfsr_next,
    record,
)

UNIFORM_BITS = 16


class FixedDelay(Params):
    """A fixed delay has no parameters of its own: the link's `delay` is it."""

    def most_added(self) -> int:
        """Nothing."""
        return 0


class JitteredDelay(Params):
    """Parameters of the jittered delay."""

    jitter: Duration = Field(
        1_000_000, ge=0, le=10**12, description="added, uniform from 0 to this"
    )

    def most_added(self) -> int:
        """Order is kept, and no frame waits longer than one that left just before it."""
        return self.jitter


FIXED_STATE = record("unused")
JITTERED_STATE = record("lfsr")


def fixed(state, params, port, frame, now, message):
    """The link's delay (ps)."""
    return port.delay


def jittered(state, params, port, frame, now, message):
    """The link's delay plus floor(jitter * r / 2^16) ps, r the upper half of a draw."""
    state.lfsr = lfsr_next(state.lfsr)
    return port.delay + ((params.jitter * (state.lfsr >> UNIFORM_BITS)) >> UNIFORM_BITS)


FIXED: Algorithm = delay_line(
    "fixed-delay",
    "exactly the link's delay",
    FixedDelay,
    FIXED_STATE,
    forms=AS_VERILOG_TOO,
    delay=fixed,
)
JITTERED: Algorithm = delay_line(
    "jittered-delay",
    "the link's delay plus a uniform jitter, order kept",
    JitteredDelay,
    JITTERED_STATE,
    delay=jittered,
)
