"""Sync of what an event reads or changes, before `step` dispatches it; rescheduling after it.

An entity that is *lazy* is brought up to the present on demand, and not by one event per frame:

- a port of a switch, whose frames leave by the clock alone (`lazy_egress`);
- an output behind inputs, which frames also reach without an event (`lazy_egress`, and
  `crossbar_transfer` for their order), and which wakes while a queue
  waits for its grant (`crossbar_grants`);
- an input that pauses no neighbour, for the ends of its transfers (`crossbar_transfer`);
- a port of a NIC with its flows and limiters (`lazy_nic`, with the wakes in `local_timers`);
- the arrival of a frame that is only counted (`early_delivery`), and lines with patience
  (`link_delivery`).

Rule: an event syncs an entity before it reads or changes it, and reschedules it afterwards. Sync
carries out all that would have happened before this event. Of equal times the lower actor number is
first (`engine.node.actors`), so at the very time of an event that is what has a lower actor number
than the actor that is awake; a departure or a transfer of a higher one is left for later.

These modules (with `local_timers`) keep the rule among themselves. The rest of the engine syncs
and reschedules at these places alone, which a test of the tree counts:

- `step` calls `sync` before it dispatches the event of a timer or a command, and `reschedule` after
  it; ports and inputs wake by `wake_port` and `wake_input`;
- a data frame and a control frame are bound for a port that is known only when they are routed:
  `enqueue` and `push_control` call `sync_egress` for it, and `admit` syncs the input that a frame
  comes in by (`sync_input`). What a frame that is not data acts on, `receive` syncs
  (`link_delivery`);
- `serve` ends with `schedule_port`, for eager and lazy ports alike (`lazy_egress`);
- rows of samples, and the end of a run, call `sync_counters` and `sync_until` for the whole world.

Which entities are lazy is decided at assembly alone: `orchestrator.assembly.lazy_eligibility`.
"""

from __future__ import annotations

from typing import Any

from orchestrator.engine.index_types import InputIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import (
    WAKE_COMMANDS,
    WAKE_NODE,
    WAKE_QUEUE,
)
from orchestrator.engine.node.crossbar_transfer import schedule_input, sync_input
from orchestrator.engine.node.delay_line import schedule_line
from orchestrator.engine.node.lane_flow_control import count_pause
from orchestrator.engine.node.lazy_egress import (
    forward_lazily_until,
    schedule_port_outlined,
    sync_all_egress,
    sync_egress,
)
from orchestrator.engine.node.lazy_nic import (
    reschedule_port,
    run_all_local_timers,
    sync_addressed_port,
    sync_node_ports,
    sync_port,
)
from orchestrator.engine.node.link_delivery import deliver_due_frames
from orchestrator.engine.node.local_timers import reset_next_arrival
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.receive_path import end_input_transfers
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    LAZINESS_DISABLED,
    LAZY,
    NONE,
    SERVE,
    SET,
    START_FLOW,
    STOP_FLOW,
    SWITCH,
)

EVERY_PORT = NONE - 1
"""In place of the port to reschedule: a value was set that any of them may depend on."""


@compiled
def sync_counters(w: World, now: int) -> None:
    """Bring the counts up to `now`: what late ports and NICs have sent, frames due in lines that
    have patience, time under PAUSE. The last comes behind all the others: a frame of a line that
    has patience may be a PAUSE, and acts at the instant it was due."""
    sync_all_egress(w, now - 1)
    run_all_local_timers(w, now - 1)
    for port_index in range(w.ports.size):
        if w.ports[port_index].patience > 0:
            deliver_due_frames(w, port_index, now - 1)
    for port_index in range(w.ports.size):
        count_pause(w, port_index, now)


@compiled
def disable_laziness(w: World, port_index: PortIndex, now: int) -> None:
    """From now on a port sends each frame when it can, and its line hands it over when it is due.

    What was due before is handed over now, and the line wakes for the first of the others.
    """
    port = w.ports[port_index]
    if port.entries != 0:
        return  # it minds whatever is changed as it is
    disable_lazy_port(w, port_index, now)
    deliver_due_frames(w, port_index, now - 1)
    port.patience = 0
    port.ahead = 0
    schedule_line(w, port_index)


@compiled
def sync_until(w: World, until: int) -> None:
    """Bring all that is late up to `until` (ps, exclusive)."""
    sync_all_egress(w, until - 1)
    run_all_local_timers(w, until - 1)


@compiled
def disable_lazy_port(w: World, port_index: PortIndex, now: int) -> None:
    """From now on a port wakes for each frame, and its queue's algorithms see all that leave; so do
    those of the buffer behind it, where it has an input."""
    sync_egress(w, port_index, now)
    port = w.ports[port_index]
    for lane_index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        queue_index = w.lanes[lane_index].queue
        if queue_index != NONE:
            w.queues[queue_index].deaf = 0
    if port.late != 0:
        port.late = 0 if port.late == LAZY else LAZINESS_DISABLED
        schedule_port_outlined(w, port_index)
    if port.input != NONE:
        sync_input(w, port.input, now)
        w.queues[w.inputs[port.input].first_queue].calm = 0
        schedule_input(w, port.input)


@compiled
def deliver_to_lazy_outputs(w: World, input_index: InputIndex, now: int) -> None:
    """Late outputs that await a frame of an input: it is there, and leaves."""
    side = w.inputs[input_index]
    queue_index = side.awaits_head
    side.awaits_head = NONE
    while queue_index != NONE:
        queue = w.queues[queue_index]
        queue_index = queue.awaits_next
        queue.awaited = NONE
        forward_lazily_until(w, queue.port, now, w.clock[0].actor + 1)
        serve(w, queue.port, now)


@compiled
def sync_command(w: World, now: int) -> PortIndex:
    """Sync what the command that is due acts on. Returns as `sync` does.

    A row of samples syncs its own counters (`take_row`), at the command's time.
    """
    command = w.commands[w.clock[0].command]
    if command.action in (START_FLOW, STOP_FLOW):
        flow = w.flows[command.offset]
        sync_node_ports(w, flow.node, now, now - 1)
        return flow.port + 0
    if command.action == SERVE:
        sync_all_egress(w, now - 1)
        sync_port(w, command.offset, now, now - 1)
        return command.offset + 0
    if command.action == SET:
        sync_counters(w, now)
        return EVERY_PORT
    return NONE


@compiled
def sync(w: World, kind: int, index: Any, now: int) -> PortIndex:
    """Sync what a queue, a node or the commands act on when they wake.

    Returns the port of a NIC to reschedule, EVERY_PORT or NONE. Frames that arrive are synced where
    they are received, ports and inputs where they wake.
    """
    if kind == WAKE_COMMANDS:
        return sync_command(w, now)
    if kind == WAKE_QUEUE:
        queue = w.queues[index]
        sync_egress(w, queue.port, now)
        if queue.input != NONE:
            sync_input(w, queue.input, now)
        return NONE
    if kind != WAKE_NODE:
        return NONE
    node = w.nodes[index]
    if node.kind == SWITCH or node.reacting_head == NONE:
        return NONE
    if w.frames[node.reacting_head].due > now:
        return NONE
    return sync_addressed_port(w, index, node.reacting_head, now, now)


@compiled
def reschedule_synced(w: World, port_index: PortIndex) -> None:
    """Reschedule a port of a NIC, or EVERY_PORT."""
    if port_index != EVERY_PORT:
        reschedule_port(w, port_index)
        return
    reset_next_arrival(w)
    for queue_index in range(w.queues.size):
        if w.queues[queue_index].crossbar != 0:
            schedule_port_outlined(w, w.queues[queue_index].port)


@inlined
def reschedule(w: World, kind: int, index: Any, synced: PortIndex) -> None:
    """The event was dispatched: `synced` is what `sync` returned for it."""
    if kind == WAKE_QUEUE:
        if w.queues[index].input != NONE:
            schedule_input(w, w.queues[index].input)
    elif synced != NONE:
        reschedule_synced(w, synced)


@inlined
def wake_port(w: World, port_index: PortIndex, now: int) -> None:
    """A port may send: it is synced and served."""
    sync_egress(w, port_index, now)
    serve(w, port_index, now)


@inlined
def wake_input(w: World, input_index: InputIndex, now: int) -> None:
    """A transfer of an input ends, or a frame of it reaches its output, or both."""
    end_input_transfers(w, input_index, now)
    if w.inputs[input_index].awaits_head != NONE:
        deliver_to_lazy_outputs(w, input_index, now)
    schedule_input(w, input_index)
