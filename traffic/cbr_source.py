"""Constant bit rate: frames of one length at equal intervals, on average exactly at the rate."""

from __future__ import annotations

from pydantic import Field

from tailback.plugin import AS_VERILOG_TOO, BIT_PS, Algorithm, Params, Rate, Sender, record, traffic


class ConstantBitRate(Params):
    """Parameters of a constant-bit-rate source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source")

    def frames_offered(self, sender: Sender) -> int | None:
        """At `rate`, each flow."""
        return sender.flows * sender.frames_at(self.rate)


STATE = record("length", "rate", "whole", "rest", "carry")
"""The division of the last interval, kept while length and rate stay: `whole` and `rest`; `carry`
is what is left over from all intervals so far."""


def interval(state, params, flow, frame, now, message):
    """ps from this frame to the next; the remainder of the division is carried on."""
    if flow.length != state.length or params.rate != state.rate:
        state.length = flow.length
        state.rate = params.rate
        state.whole = flow.length * BIT_PS // params.rate
        state.rest = flow.length * BIT_PS % params.rate
        state.carry %= params.rate
    state.carry += state.rest
    if state.carry >= params.rate:
        state.carry = min(state.carry - params.rate, params.rate)
        return state.whole + 1
    return state.whole


CBR: Algorithm = traffic(
    "cbr", "constant bit rate", ConstantBitRate, STATE, forms=AS_VERILOG_TOO, next=interval
)
