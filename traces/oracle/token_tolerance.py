"""Token tolerance: bounds on a followed device's tokens relative to the reference's limiters.

A device acts up to `window` ps later than the reference on a new rate: a refill meanwhile may have
been at the old one. It takes a frame's tokens up to that long before the frame is on the wire, or
behind that: of a bucket that is nearly full a refill in between adds to the one and runs over the
other. So many tokens are granted, each once, and never more than there is room for.

All of it is compiled.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled
from orchestrator.engine.node_api import (
    append_ready_flow,
    refill_tokens,
    schedule_flow,
    tokens_per_tick,
)
from orchestrator.engine.records import NONE

GAIN, MORE, LESS, BOUND, SPARE = range(5)
"""Of a limiter: a refill as of now (NONE: it has no flow), how many tokens more or less than the
reference's the device may have, since when it has its flow, and how many more the device may have
when it took its next frame before the last refill."""


def new_slack(limiters: int) -> np.ndarray:
    """int64[limiters, 5]: no limiter has a flow."""
    slack = np.zeros((limiters, 5), np.int64)
    slack[:, GAIN] = NONE
    return slack


@compiled
def note_rates(w, slack, window, now):
    """Note which limiters have another rate, since the last look."""
    for index in range(slack.shape[0]):
        limiter = w.limiters[index]
        if limiter.flow == NONE:
            slack[index, GAIN] = NONE
            continue
        gain = tokens_per_tick(limiter)
        before = slack[index, GAIN]
        if gain == before:
            continue
        slack[index, GAIN] = gain
        refills = ((now - limiter.phase) % limiter.period + window) // limiter.period
        if before == NONE:  # the device empties its bucket as late as that
            slack[index, MORE] = slack[index, SPARE] = 0
            slack[index, LESS] = refills * gain
            slack[index, BOUND] = now
        elif gain < before:
            slack[index, MORE] += refills * (before - gain)
        else:
            slack[index, LESS] += refills * (gain - before)


@compiled
def refill(w, slack, now):
    """Put in the refills that are due. A device has no more than its bucket holds, and one that had
    fewer tokens gets what runs over from the reference's."""
    for index in range(slack.shape[0]):
        limiter = w.limiters[index]
        if limiter.flow == NONE:
            continue
        while limiter.period > 0 and now - limiter.tick >= limiter.period:
            before = limiter.tokens
            refill_tokens(limiter, limiter.tick + limiter.period)
            over = before + tokens_per_tick(limiter) - limiter.tokens
            more = min(slack[index, MORE], limiter.depth - before)
            slack[index, SPARE] = more + over
            slack[index, MORE] = min(more, limiter.depth - limiter.tokens)
            slack[index, LESS] = max(slack[index, LESS] - over, 0)


@compiled
def grant_refills(slack, index, limiter, window, now):
    """A frame of a limiter starts: the device may have taken its tokens before the last refill, or
    behind the next one."""
    if now - limiter.tick <= window:
        slack[index, MORE] = max(slack[index, MORE], slack[index, SPARE])
    slack[index, SPARE] = 0
    if limiter.tick + limiter.period - now <= window:
        over = limiter.tokens + tokens_per_tick(limiter) - limiter.depth
        slack[index, LESS] += max(over, 0)


@compiled
def start_on_device_tokens(w, slack, lined, flow_index, now):
    """Start a flow for which the device's tokens may have sufficed."""
    flow = w.flows[flow_index]
    if flow.ready != 0 or flow.head == NONE or flow.limiter == NONE:
        return
    limiter = w.limiters[flow.limiter]
    refill_tokens(limiter, now)
    lacks = 1 - limiter.tokens
    if lacks <= slack[flow.limiter, MORE]:
        limiter.tokens += lacks
        slack[flow.limiter, MORE] -= lacks
        slack[flow.limiter, LESS] += lacks
        append_ready_flow(w, flow_index)
        lined[flow_index] = now
        schedule_flow(w, flow_index, now)


@compiled
def earliest_departure(w, slack, flow_index, early, now):
    """Earliest start of a frame, where the device's tokens may have been fewer (ps)."""
    flow = w.flows[flow_index]
    if flow.limiter == NONE:
        return early
    limiter = w.limiters[flow.limiter]
    refill_tokens(limiter, now)
    over = max(limiter.tokens - tokens_per_tick(limiter), 0)
    if over > slack[flow.limiter, LESS] or limiter.tick <= early:
        return early
    limiter.tokens -= over
    slack[flow.limiter, LESS] -= over
    slack[flow.limiter, MORE] += over
    return limiter.tick


@compiled
def may_lack_tokens(w, slack, flow_index, now):
    """True if the device's tokens of a flow that is ready may not have sufficed so far."""
    index = w.flows[flow_index].limiter
    if index == NONE:
        return False
    refill_tokens(w.limiters[index], now)
    return w.limiters[index].tokens <= slack[index, LESS]
