"""Node API for drivers with a clock of their own: the part of the engine that they may use.

The oracle drives one node by a capture, the gateware target drives what is beside it, the golden
models of the benches drive a limiter. They see these names and the records; the rooms of the node
stay free to change. A world is stepped like this: look at `tree[1]` (time, actor) for what is due
next, `step` it, empty the outboxes, and hand `receive` what comes in, in a descriptor from `take`.

What lies behind each group says more: event_loop and world, pool and receive, nic and limiter,
port and link, control, capture, latency (orchestrator.engine.node).
"""

from __future__ import annotations

from orchestrator.engine.node.capture import keep
from orchestrator.engine.node.control import is_pause
from orchestrator.engine.node.event_loop import carry_out, simulate, step, take_row
from orchestrator.engine.node.latency import count_latency
from orchestrator.engine.node.limiter import (
    eligible_at,
    next_timer,
    settle,
    tokens_per_tick,
)
from orchestrator.engine.node.link import (
    BIT_PS,
    CLOCK_BITS,
    QUANTUM_PS,
    by_clock,
    quanta_time,
    wire_time,
)
from orchestrator.engine.node.nic import line_up, make_frame, may_send, schedule_flow
from orchestrator.engine.node.pool import give_back, take
from orchestrator.engine.node.port import serve
from orchestrator.engine.node.receive import receive
from orchestrator.engine.node.world import (
    WAKE_COMMANDS,
    WAKE_FLOW,
    WAKE_LINE,
    WAKE_QUEUE,
    WAKE_SAMPLER,
)

__all__ = [
    "BIT_PS",
    "CLOCK_BITS",
    "QUANTUM_PS",
    "WAKE_COMMANDS",
    "WAKE_FLOW",
    "WAKE_LINE",
    "WAKE_QUEUE",
    "WAKE_SAMPLER",
    "by_clock",
    "carry_out",
    "count_latency",
    "eligible_at",
    "give_back",
    "is_pause",
    "keep",
    "line_up",
    "make_frame",
    "may_send",
    "next_timer",
    "quanta_time",
    "receive",
    "schedule_flow",
    "serve",
    "settle",
    "simulate",
    "step",
    "take",
    "take_row",
    "tokens_per_tick",
    "wire_time",
]
