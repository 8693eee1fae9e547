"""A limiter: the token bucket that a reaction point steers.

Every `period` the bucket gets rate * period tokens, up to its depth; a frame may start while the
tokens are above zero and takes its whole length, so that they may go below (NetFPGA-QCN, section
3.2: depth 3 KB, tokens every 16 us; a frame in flight may overdraw). Tokens are counted in
10^-12 bit, the product of bit/s and ps: nothing is rounded. Every limiter refills in a phase of its
own: with a common one the frames of all limiters would arrive together, always in the same order,
and the first of them would be favoured.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message
from orchestrator.engine.index_types import FlowIndex, FrameIndex, LimiterIndex, range
from orchestrator.engine.jit import compiled, inlined, zero_words
from orchestrator.engine.kernel_events import (
    RP_ACKED,
    RP_BOUND,
    RP_ENDED,
    RP_FEEDBACK,
    RP_LOST,
    RP_NAMED,
    RP_SENT,
    RP_START,
    RP_STARTED,
    RP_TIMER,
)
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.probe_handling import send_probe
from orchestrator.engine.node.telemetry_stamping import expose_stamps
from orchestrator.engine.node.transmitter import BIT_PS
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import FRAMES, NEVER, NONE, PROBE, SOONEST, Frame, Limiter


@inlined
def tokens_per_tick(limiter: Limiter) -> int:
    """Tokens of one refill: the rate, cut down to the granularity, times the period.

    A plan has the product of link rate and period within the depth of the bucket, and so within an
    int64; a kernel may set a rate above that of the link.
    """
    if limiter.gain_rate != limiter.rate:
        limiter.gain_rate = limiter.rate
        limiter.gain = limiter.rate * limiter.period
        if limiter.rate > limiter.link_rate:
            limiter.gain = min(limiter.rate, NEVER // limiter.period) * limiter.period
        if limiter.granularity > 1:
            limiter.gain -= limiter.rate % limiter.granularity * limiter.period
    return limiter.gain


@inlined
def is_more(ticks: int, gain: int, room: int) -> bool:
    """True if `ticks` refills of `gain` are more than `room`; all are above 0.

    They are multiplied where that stays within an int64: `gain` is below 2^31 times one more than
    its upper part, so the product is below 2^31 (2^30 + ticks), which is below 2^63.
    """
    if ticks < 1 << 31 and (gain >> 31) * ticks < 1 << 30:
        return ticks * gain > room
    return ticks > room // gain


@inlined
def refill_tokens(limiter: Limiter, now: int) -> None:
    """Put in the refills since the last one that was counted, at the rate that held meanwhile."""
    if now - limiter.tick < limiter.period:
        return
    ticks = (now - limiter.tick) // limiter.period
    limiter.tick += ticks * limiter.period
    room = limiter.depth - limiter.tokens
    gain = tokens_per_tick(limiter)
    if gain >= room or (ticks > 1 and gain > 0 and is_more(ticks, gain, room)):
        limiter.tokens = limiter.depth
    else:
        limiter.tokens += ticks * gain


@inlined
def eligible_at(limiter: Limiter, now: int) -> int:
    """Start time of the next frame (ps): now, the tick that lifts the tokens above 0, or NEVER."""
    refill_tokens(limiter, now)
    if limiter.tokens > 0:
        return now
    gain = tokens_per_tick(limiter)
    if gain <= 0:
        return NEVER
    return limiter.tick + (-limiter.tokens // gain + 1) * limiter.period


@inlined
def next_timer(limiter: Limiter) -> int:
    """Time of the next timer of a reaction point (ps), a named one or not."""
    return min(limiter.timer, limiter.soonest)


@compiled
def reset_flow_state(w: World, limiter: Limiter) -> None:
    """Nothing is left of the flow before: the reaction point's state is 0, but for its random
    numbers, which go on."""
    limiter.window = 0
    limiter.rtt = 0
    limiter.soonest = NEVER
    for place in range(limiter.named):
        limiter.timers[place] = NEVER
    i = w.instances[limiter.algorithm]
    before = i.words if i.kept == NONE else i.kept
    zero_words(i.state, 0, before)
    zero_words(i.state, before + 1, i.words - before - 1)


@compiled
def notify_reaction_point(w: World, limiter_index: LimiterIndex, event: int, now: int) -> None:
    """Tell the reaction point of something that has no frame."""
    limiter = w.limiters[limiter_index]
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, PROBE)
    if kernel_calls.call_time_kernel(w, limiter.algorithm, event, limiter, spare, now, spare) != 0:
        send_probe(w, limiter_index, now)


@compiled
def bind_limiter(w: World, flow_index: FlowIndex, now: int) -> LimiterIndex:
    """Give the flow a free limiter of its node; returns its index, NONE when all are taken."""
    flow = w.flows[flow_index]
    node = w.nodes[flow.node]
    for index in range(node.first_limiter, node.first_limiter + node.limiters):
        limiter = w.limiters[index]
        if limiter.flow == NONE:
            limiter.flow = flow_index
            limiter.backlog = flow.bytes
            limiter.tokens = 0
            limiter.tick = now - (now - limiter.phase) % limiter.period
            flow.limiter = index
            if flow.shared != 0:  # its frames go aside, into a queue of its own
                flow.shared = 0
                node.host_bytes -= flow.bytes
            reset_flow_state(w, limiter)
            notify_reaction_point(w, index, RP_BOUND, now)
            return index
    return NONE


@compiled
def flow_has_ended(w: World, limiter: Limiter) -> bool:
    """True if the flow was limited from its start, is off and has sent all that it had."""
    if limiter.flow == NONE:
        return False
    flow = w.flows[limiter.flow]
    return flow.limited != 0 and flow.on == 0 and flow.head == NONE


@compiled
def find_named_timer(limiter: Limiter) -> None:
    """A kernel may have set named timers: find the earliest."""
    limiter.soonest = NEVER
    for place in range(limiter.named):
        limiter.soonest = min(limiter.soonest, limiter.timers[place])


@inlined
def release_if_inactive(w: World, limiter: Limiter) -> None:
    """Free a limiter whose reaction point has ended, or whose flow has and which no timer ends.

    Every call of a kernel ends here.
    """
    if limiter.named != 0:
        find_named_timer(limiter)
    if next_timer(limiter) == NEVER and flow_has_ended(w, limiter):
        limiter.active = 0
    if limiter.active == 0 and limiter.flow != NONE:
        flow = w.flows[limiter.flow]
        node = w.nodes[limiter.node]
        flow.limiter = NONE
        if node.host_capacity > 0 and flow.mode == FRAMES:
            flow.shared = 1
            node.host_bytes += flow.bytes
        limiter.flow = NONE
        limiter.timer = NEVER
        limiter.soonest = NEVER


@inlined
def on_frame_sent(w: World, limiter_index: LimiterIndex, frame: Frame, now: int) -> None:
    """A frame starts: take its tokens and tell the reaction point that it was sent."""
    limiter = w.limiters[limiter_index]
    refill_tokens(limiter, now)
    limiter.tokens -= frame.length * BIT_PS
    spare = w.frames[w.frames.size - 1]
    spare.feedback = 0  # all that a probe says; `clear_message` would cost time for every frame
    if (
        kernel_calls.call_frame_kernel(w, limiter.algorithm, RP_SENT, limiter, frame, now, spare)
        != 0
    ):
        send_probe(w, limiter_index, now)
    if limiter.backlog == 0 and w.flows[limiter.flow].on == 0:
        notify_reaction_point(w, limiter_index, RP_ENDED, now)
    release_if_inactive(w, limiter)


@compiled
def on_congestion_message(w: World, limiter_index: LimiterIndex, frame: Frame, now: int) -> None:
    """A congestion notification message for this limiter arrived."""
    limiter = w.limiters[limiter_index]
    refill_tokens(limiter, now)
    limiter.feedback_received += 1
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, PROBE)
    if (
        kernel_calls.call_frame_kernel(
            w, limiter.algorithm, RP_FEEDBACK, limiter, frame, now, spare
        )
        != 0
    ):
        send_probe(w, limiter_index, now)
    release_if_inactive(w, limiter)


@compiled
def expire(w: World, limiter_index: LimiterIndex, now: int) -> None:
    """The reaction point's timer is due, or named ones are."""
    limiter = w.limiters[limiter_index]
    refill_tokens(limiter, now)
    if flow_has_ended(w, limiter):
        limiter.active = 0  # the limiter is another's to have
    elif limiter.timer <= now:
        limiter.timer = NEVER
        notify_reaction_point(w, limiter_index, RP_TIMER, now)
    if limiter.named != 0:
        expire_named(w, limiter_index, now)
    limiter.timer = max(limiter.timer, now + SOONEST)
    release_if_inactive(w, limiter)


@compiled
def expire_named(w: World, limiter_index: LimiterIndex, now: int) -> None:
    """Call the kernels of the named timers that are due, each once, in the order of their names.

    They may set each other: none of them is due again before time has gone on.
    """
    limiter = w.limiters[limiter_index]
    for place in range(limiter.named):
        if limiter.timers[place] <= now and limiter.active != 0:
            limiter.timers[place] = NEVER
            notify_reaction_point(w, limiter_index, RP_NAMED + place, now)
    for place in range(limiter.named):
        limiter.timers[place] = max(limiter.timers[place], now + SOONEST)


@compiled
def on_acknowledgement(
    w: World, flow_index: FlowIndex, index: FrameIndex, acked: int, marked: int, now: int
) -> None:
    """An acknowledgement, `index`, came for a flow that had `acked` octets, `marked` of them."""
    flow = w.flows[flow_index]
    if flow.limiter == NONE:
        return
    limiter = w.limiters[flow.limiter]
    frame = w.frames[index]
    refill_tokens(limiter, now)
    limiter.rtt = max(now - frame.created, 1)
    limiter.flight = flow.flight
    limiter.acked = flow.acked - acked
    limiter.marked = flow.marked - marked
    limiter.acked_total = flow.acked
    expose_stamps(w, limiter, index)
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, PROBE)
    if (
        kernel_calls.call_frame_kernel(w, limiter.algorithm, RP_ACKED, limiter, frame, now, spare)
        != 0
    ):
        send_probe(w, flow.limiter, now)
    limiter.stamps = 0
    release_if_inactive(w, limiter)


@compiled
def on_loss(w: World, flow_index: FlowIndex, losses: int, frame: Frame, now: int) -> None:
    """The transport of a flow, which had found `losses`, has found more: by an acknowledgement,
    `frame`, or by its timer."""
    flow = w.flows[flow_index]
    if flow.limiter == NONE:
        return
    limiter = w.limiters[flow.limiter]
    refill_tokens(limiter, now)
    limiter.flight = flow.flight
    limiter.lost = flow.losses - losses
    limiter.lost_made = flow.lost_made
    limiter.flight_before = flow.flight_before
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, PROBE)
    if (
        kernel_calls.call_frame_kernel(w, limiter.algorithm, RP_LOST, limiter, frame, now, spare)
        != 0
    ):
        send_probe(w, flow.limiter, now)
    release_if_inactive(w, limiter)


@compiled
def end_limiter(w: World, flow_index: FlowIndex, now: int) -> None:
    """A flow is switched off: its limiter is let go where nothing else would do that later.

    It has ended when what it had waiting has left as well (`on_frame_sent`).
    """
    flow = w.flows[flow_index]
    if flow.limiter == NONE:
        return
    limiter = w.limiters[flow.limiter]
    refill_tokens(limiter, now)
    if flow.head == NONE:
        notify_reaction_point(w, flow.limiter, RP_ENDED, now)
    release_if_inactive(w, limiter)


@compiled
def begin_limiter(w: World, flow_index: FlowIndex, now: int) -> None:
    """A flow begins: tell the reaction point.

    One that is limited from its start is given a limiter, if it has not kept the one it had before.
    Without a free one it is sent unlimited, and counted as a message without a limiter is.
    """
    flow = w.flows[flow_index]
    if flow.limited != 0 and flow.limiter == NONE:
        if bind_limiter(w, flow_index, now) == NONE:
            w.nodes[flow.node].feedback_unassigned += 1
            return
        notify_reaction_point(w, flow.limiter, RP_START, now)
    if flow.limiter != NONE:
        limiter = w.limiters[flow.limiter]
        refill_tokens(limiter, now)
        notify_reaction_point(w, flow.limiter, RP_STARTED, now)
        release_if_inactive(w, limiter)
