"""Constant bit rate: frames of one length at equal distances, on average exactly at the rate."""

from __future__ import annotations

from pydantic import Field

from orchestrator.algorithm import Algorithm, traffic
from orchestrator.node.link import BIT_PS
from orchestrator.node.records import record
from orchestrator.params import Params, Rate


class ConstantBitRate(Params):
    """Parameters of a constant-bit-rate source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source")


STATE = record("remainder")


def interval(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps from this frame to the next; the remainder of the division is carried on."""
    total = flow.length * BIT_PS + state.remainder
    state.remainder = total % params.rate
    return total // params.rate


CBR: Algorithm = traffic("cbr", "constant bit rate", ConstantBitRate, STATE, next=interval)
