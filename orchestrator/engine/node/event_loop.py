"""Event loop: the same step function for the simulator and for the real-time loop."""

from __future__ import annotations

from orchestrator.engine.events import CP_TIMER, PAUSE_TIMER
from orchestrator.engine.frames.blank import nothing_said
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node import kernels
from orchestrator.engine.node.agenda import expect_anything
from orchestrator.engine.node.arrive import arrive, hurry, settle_ports
from orchestrator.engine.node.buffer import notify_source, schedule_queue
from orchestrator.engine.node.control import send_pause
from orchestrator.engine.node.crossbar import grant
from orchestrator.engine.node.lane import forget_longest_holds, recall_longest_holds
from orchestrator.engine.node.late import catch_up, catch_up_all
from orchestrator.engine.node.late_nic import carry_on_all, touch, touch_node, touched
from orchestrator.engine.node.limiter import begin, end
from orchestrator.engine.node.message_flows import start_source
from orchestrator.engine.node.nic import schedule_flow, wake_flow
from orchestrator.engine.node.order import wake_order
from orchestrator.engine.node.port import serve
from orchestrator.engine.node.receive import wake_input
from orchestrator.engine.node.receiver import wake_end
from orchestrator.engine.node.transfer import schedule_input, settle
from orchestrator.engine.node.transport import withdraw
from orchestrator.engine.node.turns import schedule_apart
from orchestrator.engine.node.wake import COMMANDS_ACTOR, SAMPLER_ACTOR, wake_at
from orchestrator.engine.node.watchdog import wake_watchdog
from orchestrator.engine.node.world import (
    WAKE_COMMANDS,
    WAKE_FLOW,
    WAKE_INPUT,
    WAKE_LINE,
    WAKE_NODE,
    WAKE_PORT,
    WAKE_QUEUE,
)
from orchestrator.engine.records import (
    CNM,
    HURRY,
    MARK,
    NEVER,
    NONE,
    PAUSE,
    SERVE,
    SOONEST,
    START_FLOW,
    STOP_FLOW,
    SWITCH,
)


@compiled
def take_row(w, now):  # type: ignore[no-untyped-def]
    """Write down every sampled quantity."""
    clock = w.clock[0]
    row = clock.row
    if row < w.row_times.size:
        settle_ports(w, now)
        if row > 0 and w.row_times[row - 1] == now:
            recall_longest_holds(w)
        for column in range(w.probes.size):
            w.rows[row, column] = w.memory[w.probes[column]]
        forget_longest_holds(w)
        w.row_times[row] = now  # then it is whole: another process may be looking for this time
        clock.row += 1


@compiled
def sample(w, now):  # type: ignore[no-untyped-def]
    """Take the row that is due and wait for the next one."""
    clock = w.clock[0]
    take_row(w, clock.next_sample)
    clock.next_sample += clock.sample_interval
    wake_at(w, SAMPLER_ACTOR, clock.next_sample)


@compiled
def switch(w, command, now):  # type: ignore[no-untyped-def]
    """Switch a flow on or off."""
    flow = w.flows[command.offset]
    if command.action == START_FLOW:
        if flow.on == 0:
            flow.on = 1
            start_source(w, command.offset, command.at)
            begin(w, command.offset, now)
            schedule_flow(w, command.offset, now)
        return
    if flow.on != 0:
        withdraw(w, command.offset, now)
        flow.on = 0
        flow.next_frame = NEVER
        end(w, command.offset, now)
    schedule_flow(w, command.offset, now)


@compiled
def carry_out(w, now):  # type: ignore[no-untyped-def]
    """Carry out the command that is due and wait for the next one."""
    clock = w.clock[0]
    command = w.commands[clock.command]
    if command.action == MARK:
        take_row(w, command.at)
        if w.marks[0] < w.latency_marks.shape[0]:
            mark = w.marks[0]
            for group in range(w.latency.shape[0]):
                for place in range(w.latency.shape[1]):
                    w.latency_marks[mark, group, place] = w.latency[group, place]
            w.marks[0] = mark + 1
    elif command.action in (START_FLOW, STOP_FLOW):
        flow = w.flows[command.offset]
        touch_node(w, flow.node, now, now - 1)
        switch(w, command, now)
        touched(w, flow.port)
    elif command.action == SERVE:
        catch_up_all(w, now - 1)
        touch(w, command.offset, now, now - 1)
        serve(w, command.offset, now)
        touched(w, command.offset)
    elif command.action == HURRY:
        hurry(w, command.offset, now)
    else:
        settle_ports(w, now)
        w.memory[command.offset] = command.value
        expect_anything(w)
        for queue_index in range(w.queues.size):
            grant(w, queue_index, now)  # a larger buffer has room for frames that were refused
            if w.queues[queue_index].crossbar != 0:
                schedule_apart(w, w.queues[queue_index].port)
    clock.command += 1
    if clock.command < clock.commands:
        wake_at(w, COMMANDS_ACTOR, max(w.commands[clock.command].at, now))
    else:
        wake_at(w, COMMANDS_ACTOR, NEVER)


@compiled
def wake_queue(w, queue_index, now):  # type: ignore[no-untyped-def]
    """The timer of the congestion point, of the pause or of the watchdog is due."""
    queue = w.queues[queue_index]
    catch_up(w, queue.port, now)
    if queue.input != NONE:
        settle(w, queue.input, now)
    spare = w.frames[w.frames.size - 1]
    if queue.congestion_point_timer <= now:
        queue.congestion_point_timer = NEVER
        nothing_said(spare, CNM)
        notified = kernels.on_time(w, queue.congestion_point, CP_TIMER, queue, spare, now, spare)
        queue.congestion_point_timer = max(queue.congestion_point_timer, now + SOONEST)
        if notified != 0 and queue.frames > 0:
            notify_source(
                w, queue_index, notified, NONE, NONE if queue.input != NONE else queue.head, now
            )
    if queue.pause_timer <= now:
        queue.pause_timer = NEVER
        nothing_said(spare, PAUSE)
        if kernels.on_time(w, queue.pause, PAUSE_TIMER, queue, spare, now, spare) != 0:
            send_pause(w, queue_index, now)
        queue.pause_timer = max(queue.pause_timer, now + SOONEST)
    if queue.watchdog_timer <= now:
        wake_watchdog(w, queue_index, now)
    schedule_queue(w, queue_index)
    if queue.input != NONE:
        schedule_input(w, queue.input)


@inlined
def step(w, actor, now):  # type: ignore[no-untyped-def]
    """Wake one actor. Frames for a wire are left in the outbox."""
    what = w.actors[actor, 0]
    index = w.actors[actor, 1]
    if what == WAKE_LINE:
        arrive(w, index, now)
    elif what == WAKE_PORT:
        catch_up(w, index, now)
        serve(w, index, now)
    elif what == WAKE_FLOW:
        if wake_flow(w, index, now):
            serve(w, w.flows[index].port, now)
    elif what == WAKE_QUEUE:
        wake_queue(w, index, now)
    elif what == WAKE_INPUT:
        wake_input(w, index, now)
    elif what == WAKE_NODE:
        if w.nodes[index].kind == SWITCH:
            wake_order(w, index, now)
        else:
            wake_end(w, index, now)
    elif what == WAKE_COMMANDS:
        carry_out(w, now)
    else:
        sample(w, now)


@compiled
def go_on(w, until, events):  # type: ignore[no-untyped-def]
    """`simulate`, but for what is late, which stays so."""
    clock = w.clock[0]
    done, unseen = 0, clock.unseen
    while done + clock.unseen - unseen < events and w.tree[1, 0] < until:
        clock.now = max(clock.now, w.tree[1, 0])
        clock.actor = w.tree[1, 1]
        step(w, clock.actor, clock.now)
        done += 1
    clock.events += done
    return min(done + clock.unseen - unseen, events)


@compiled
def catch_up_with(w, until):  # type: ignore[no-untyped-def]
    """Bring all that is late up to `until` (ps, exclusive)."""
    catch_up_all(w, until - 1)
    carry_on_all(w, until - 1)


@compiled
def simulate(w, until, events):  # type: ignore[no-untyped-def]
    """Carry out events in time order, up to `until` (ps, exclusive) or `events` of them.

    Returns how many there were, with those that needed no wake (`engine.node.late_nic`); the
    last one may take some of these along beyond `events`, which are then not counted here. Time
    jumps from event to event, and never back.
    """
    done = go_on(w, until, events)
    if done < events:
        catch_up_with(w, until)
    return done
