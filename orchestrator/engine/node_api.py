"""Node API for drivers with a clock of their own: the part of the engine that they may use.

The oracle drives one node by a capture, the gateware target drives what is beside it, the golden
models of the benches drive a limiter. They see these names and the records; the rooms of the node
stay free to change. A world is stepped like this: look at `tree[1]` (time, actor) for what is due
next, `step` it, empty the outboxes, and hand `receive` what comes in, in a descriptor from `take`.

What lies behind each group says more: event_loop and world, pool and receive, nic and limiter,
port and link, control, capture, latency (orchestrator.engine.node).
"""

from __future__ import annotations

from orchestrator.engine.node.actors import (
    COMMANDS_ACTOR,
    WAKE_COMMANDS,
    WAKE_FLOW,
    WAKE_LINE,
    WAKE_QUEUE,
    WAKE_SAMPLER,
)
from orchestrator.engine.node.departure_time import is_pause
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.event_loop import simulate, step, take_row
from orchestrator.engine.node.frame_capture import store_frame, write_hop_addresses
from orchestrator.engine.node.latency_histogram import count_latency
from orchestrator.engine.node.link_delivery import receive
from orchestrator.engine.node.nic_transmit import (
    append_ready_flow,
    make_frame,
    may_send,
    move_to_front,
    schedule_flow,
)
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.rate_limiter import (
    eligible_at,
    next_timer,
    refill_tokens,
    tokens_per_tick,
)
from orchestrator.engine.node.receive_path import frame_has_dscp
from orchestrator.engine.node.transmitter import (
    BIT_PS,
    CLOCK_BITS,
    QUANTUM_PS,
    by_clock,
    quanta_time,
    wire_time,
)

__all__ = [
    "BIT_PS",
    "CLOCK_BITS",
    "COMMANDS_ACTOR",
    "QUANTUM_PS",
    "WAKE_COMMANDS",
    "WAKE_FLOW",
    "WAKE_LINE",
    "WAKE_QUEUE",
    "WAKE_SAMPLER",
    "append_ready_flow",
    "by_clock",
    "count_latency",
    "eligible_at",
    "frame_has_dscp",
    "give_back",
    "is_pause",
    "make_frame",
    "may_send",
    "move_to_front",
    "next_timer",
    "quanta_time",
    "receive",
    "refill_tokens",
    "schedule_flow",
    "serve",
    "simulate",
    "step",
    "store_frame",
    "take",
    "take_row",
    "tokens_per_tick",
    "wire_time",
    "write_hop_addresses",
]
