"""Event loop: the same step function for the simulator and for the real-time loop."""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message
from orchestrator.engine.index_types import ActorIndex, NodeIndex, QueueIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_events import CP_TIMER, PAUSE_TIMER
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.actors import (
    COMMANDS_ACTOR,
    SAMPLER_ACTOR,
    WAKE_COMMANDS,
    WAKE_FLOW,
    WAKE_INPUT,
    WAKE_LINE,
    WAKE_NODE,
    WAKE_PORT,
    WAKE_QUEUE,
)
from orchestrator.engine.node.buffer import notify_chosen_source, schedule_queue
from orchestrator.engine.node.control_frames import send_pause
from orchestrator.engine.node.credit_receiver import wake_receiver
from orchestrator.engine.node.crossbar_grants import grant
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.event_sync import (
    disable_laziness,
    reschedule,
    sync,
    sync_counters,
    sync_until,
    wake_input,
    wake_port,
)
from orchestrator.engine.node.lane_flow_control import forget_longest_holds, recall_longest_holds
from orchestrator.engine.node.link_delivery import deliver_from_line
from orchestrator.engine.node.message_progress import start_source
from orchestrator.engine.node.nic_transmit import schedule_flow, wake_flow
from orchestrator.engine.node.pause_watchdog import wake_watchdog
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.rate_limiter import begin_limiter, end_limiter
from orchestrator.engine.node.resequencer import wake_resequencer
from orchestrator.engine.node.transport_calls import withdraw_request
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    CNM,
    DISABLE_LAZINESS,
    MARK,
    NEVER,
    NONE,
    PAUSE,
    SERVE,
    SOONEST,
    START_FLOW,
    STOP_FLOW,
    SWITCH,
    Command,
)


@compiled
def take_row(w: World, now: int) -> None:
    """Write down every sampled quantity."""
    clock = w.clock[0]
    row = clock.row
    if row < w.row_times.size:
        sync_counters(w, now)
        if row > 0 and w.row_times[row - 1] == now:
            recall_longest_holds(w)
        for column in range(w.probes.size):
            w.rows[row, column] = w.memory[w.probes[column]]
        forget_longest_holds(w)
        w.row_times[row] = now  # then it is whole: another process may be looking for this time
        clock.row += 1


@compiled
def sample(w: World, now: int) -> None:
    """Take the row that is due and wait for the next one."""
    clock = w.clock[0]
    take_row(w, clock.next_sample)
    clock.next_sample += clock.sample_interval
    wake_at(w, SAMPLER_ACTOR, clock.next_sample)


@compiled
def switch_flow(w: World, command: Command, now: int) -> None:
    """Switch a flow on or off."""
    flow = w.flows[command.offset]
    if command.action == START_FLOW:
        if flow.on == 0:
            flow.on = 1
            start_source(w, command.offset, command.at)
            begin_limiter(w, command.offset, now)
            schedule_flow(w, command.offset, now)
        return
    if flow.on != 0:
        withdraw_request(w, command.offset, now)
        flow.on = 0
        flow.next_frame = NEVER
        end_limiter(w, command.offset, now)
    schedule_flow(w, command.offset, now)


@compiled
def run_command(w: World, now: int) -> None:
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
        switch_flow(w, command, now)
    elif command.action == SERVE:
        serve(w, command.offset, now)
    elif command.action == DISABLE_LAZINESS:
        disable_laziness(w, command.offset, now)
    else:
        w.memory[command.offset] = command.value
        for queue_index in range(w.queues.size):
            grant(w, queue_index, now)  # a larger buffer has room for frames that were refused
    clock.command += 1
    if clock.command < clock.commands:
        wake_at(w, COMMANDS_ACTOR, max(w.commands[clock.command].at, now))
    else:
        wake_at(w, COMMANDS_ACTOR, NEVER)


@compiled
def wake_queue(w: World, queue_index: QueueIndex, now: int) -> None:
    """The timer of the congestion point, of the pause or of the watchdog is due."""
    queue = w.queues[queue_index]
    spare = w.frames[w.frames.size - 1]
    if queue.congestion_point_timer <= now:
        queue.congestion_point_timer = NEVER
        clear_message(spare, CNM)
        notified = kernel_calls.call_time_kernel(
            w, queue.congestion_point, CP_TIMER, queue, spare, now, spare
        )
        queue.congestion_point_timer = max(queue.congestion_point_timer, now + SOONEST)
        if notified != 0 and queue.frames > 0:
            notify_chosen_source(
                w, queue_index, notified, NONE, NONE if queue.input != NONE else queue.head, now
            )
    if queue.pause_timer <= now:
        queue.pause_timer = NEVER
        clear_message(spare, PAUSE)
        if (
            kernel_calls.call_time_kernel(w, queue.pause, PAUSE_TIMER, queue, spare, now, spare)
            != 0
        ):
            send_pause(w, queue_index, now)
        queue.pause_timer = max(queue.pause_timer, now + SOONEST)
    if queue.watchdog_timer <= now:
        wake_watchdog(w, queue_index, now)
    schedule_queue(w, queue_index)


@compiled
def wake_node_timer(w: World, node_index: NodeIndex, now: int) -> None:
    """Something at a node is due: at a switch its resequencer, elsewhere a CNM or its receiver."""
    if w.nodes[node_index].kind == SWITCH:
        wake_resequencer(w, node_index, now)
    else:
        wake_receiver(w, node_index, now)


@inlined
def step(w: World, actor: ActorIndex, now: int) -> None:
    """Wake one actor. Frames for a wire are left in the outbox.

    A line and a flow that wake are not lazy; what a frame of the line acts on `receive` syncs.
    """
    what = w.actors[actor, 0]
    index = w.actors[actor, 1]
    if what == WAKE_LINE:
        deliver_from_line(w, index, now)
    elif what == WAKE_FLOW:
        if wake_flow(w, index, now):
            serve(w, w.flows[index].port, now)
    elif what == WAKE_PORT:
        wake_port(w, index, now)
    elif what == WAKE_INPUT:
        wake_input(w, index, now)
    else:
        synced = sync(w, what, index, now)
        if what == WAKE_QUEUE:
            wake_queue(w, index, now)
        elif what == WAKE_NODE:
            wake_node_timer(w, index, now)
        elif what == WAKE_COMMANDS:
            run_command(w, now)
        else:
            sample(w, now)
        reschedule(w, what, index, synced)


@compiled
def simulate_lazily(w: World, until: int, events: int) -> int:
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
def simulate(w: World, until: int, events: int) -> int:
    """Carry out events in time order, up to `until` (ps, exclusive) or `events` of them.

    Returns how many there were, with those that needed no wake (`engine.node.event_sync`); the
    last one may take some of these along beyond `events`, which are then not counted here. Time
    jumps from event to event, and never back.
    """
    done = simulate_lazily(w, until, events)
    if done < events:
        sync_until(w, until)
    return done
