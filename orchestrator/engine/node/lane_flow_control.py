"""Flow control of lanes: lane of a frame, hold by PAUSE and PFC, credits of the link partner."""

from __future__ import annotations

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.transmitter import quanta_time
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, Frame, Lane, Port


@inlined
def lane_index(w: World, port_index: PortIndex, frame: Frame) -> int:
    """The lane of a port that a data frame is in, by its priority."""
    return w.ports[port_index].first_lane + w.lane_of[frame.priority & 7]


@inlined
def count_hold(held: Port | Lane, since: int, until: int) -> None:
    """Add a time [since, until) in which a port or a lane was held; none where that is empty.

    What begins where the last one ended goes on with it.
    """
    if until > since:
        if since > held.hold_ended:
            held.hold_began = since
        held.hold_ended = until
        held.paused_ps += until - since
        held.longest_hold_ps = max(held.longest_hold_ps, until - held.hold_began)


@compiled
def forget_longest_holds(w: World) -> None:
    """Begin the search for the longest hold anew: a row of samples has what was found."""
    for port_index in range(w.ports.size):
        port = w.ports[port_index]
        port.sampled_hold_ps, port.longest_hold_ps = port.longest_hold_ps, 0
    for lane_row in range(w.lanes.size):
        lane = w.lanes[lane_row]
        lane.sampled_hold_ps, lane.longest_hold_ps = lane.longest_hold_ps, 0


@compiled
def recall_longest_holds(w: World) -> None:
    """Take back `forget_longest_holds`: another row is due at the time of the last one."""
    for port_index in range(w.ports.size):
        port = w.ports[port_index]
        port.longest_hold_ps = max(port.sampled_hold_ps, port.longest_hold_ps)
    for lane_row in range(w.lanes.size):
        lane = w.lanes[lane_row]
        lane.longest_hold_ps = max(lane.sampled_hold_ps, lane.longest_hold_ps)


@compiled
def count_pause(w: World, port_index: PortIndex, now: int) -> None:
    """Add the time that the port and its lanes were held since this was last done.

    Must precede every change of a `paused_until`, and time must not go back: whoever calls this
    for `now` has first applied all that came to the port before.
    """
    port = w.ports[port_index]
    longest = port.paused_until
    for lane_row in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        lane = w.lanes[lane_row]
        until = max(port.paused_until, lane.paused_until)
        count_hold(lane, port.pause_counted, min(now, until))
        longest = max(longest, until)
    count_hold(port, port.pause_counted, min(now, longest))
    port.pause_counted = now


@compiled
def apply_pause(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """802.3x: stop for the quanta given, from now; 0 ends the pause (802.3 annex 31B)."""
    port = w.ports[port_index]
    count_pause(w, port_index, now)
    port.paused_until = now + quanta_time(w.frames[index].feedback, port.rate)
    port.pause_received += 1
    give_back(w, index)


@compiled
def apply_pfc(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """802.1Qbb: stop the lanes of the priorities that the frame names, each for its quanta.

    A lane of several priorities stops for the longest of them. Priorities that the node does not
    obey PFC for go on.
    """
    port = w.ports[port_index]
    vector = w.frames[index].mark & w.nodes[port.node].obeys_pfc
    count_pause(w, port_index, now)
    for lane in range(w.clock[0].lanes):
        named = 0
        quanta = 0
        for priority in range(8):
            if w.lane_of[priority] == lane and (vector >> priority) & 1 == 1:
                named = 1
                quanta = max(quanta, quanta_of(w.frames[index], priority))
        if named == 1:
            w.lanes[port.first_lane + lane].paused_until = now + quanta_time(quanta, port.rate)
    port.pause_received += 1
    give_back(w, index)


@inlined
def use_credit(w: World, port_index: PortIndex, lane: Lane, octets: int, now: int) -> None:
    """Data was sent on account of what the far end granted; used up, the lane waits for more.

    The last frame may go beyond by its length: the granting node keeps room for that.
    """
    lane.granted_used += octets
    if lane.granted_used >= lane.granted:
        count_pause(w, port_index, now)
        lane.paused_until = NEVER


@compiled
def apply_grant(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """The far end has room for so many octets in all of the priorities that the frame names.

    A lane that waits for none takes no notice. What was granted is never taken back.
    """
    port = w.ports[port_index]
    frame = w.frames[index]
    count_pause(w, port_index, now)
    for priority in range(8):
        lane = w.lanes[port.first_lane + w.lane_of[priority]]
        if (frame.mark >> priority) & 1 == 1 and lane.granted < frame.sequence:
            lane.granted = frame.sequence
            if lane.granted_used < lane.granted:
                lane.paused_until = now
    port.pause_received += 1
    give_back(w, index)
