"""Audit of a whole world: every frame is in exactly one list, every count adds up.

The audit reads records only and calls no node logic. Invariants of single records are stated in
`orchestrator.run.world_invariants`; this module checks the lists of frames. An unsound world raises
AssertionError (not under `python -O`): the audit is for properties and `tailback hunt`.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from orchestrator.engine.node.actors import WAKE_FLOW, WAKE_INPUT, WAKE_LINE, WAKE_PORT
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ACK,
    CNM,
    CNP,
    CREDIT,
    DATA,
    ECHO,
    FRAMES,
    GRANT,
    LAZINESS_DISABLED,
    LAZY,
    MESSAGES,
    NEVER,
    NONE,
    PAUSE,
    PFC,
    PROBE,
    REQUEST,
    RETURNED,
    SACK,
    TRANSPORT,
    TRIMMED,
)
from orchestrator.run.world_invariants import broken_in_world


class Audit:
    """The lists of a world as Python lists. Construction checks that no frame is in two of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        clock = world.clock[0]
        frames, rows = world.frames[: clock.frames_used], world.made[: clock.made_used]
        self.next = frames["next"].tolist()
        self.length = frames["length"].tolist()
        self.kind = frames["kind"].tolist()
        self.due = frames["due"].tolist()
        self.lines = [self._walk(port.line_head, port.line_tail) for port in world.ports]
        self.control = [self._walk(port.control_head, port.control_tail) for port in world.ports]
        self.queues = [
            self._walk(queue.head, queue.tail, int(queue.frames)) if queue.input == NONE else []
            for queue in world.queues
        ]
        self.voqs = [self._walk(voq.head, voq.tail) for voq in world.voqs]
        self.flying = [
            self._walk(row.fly_head, row.fly_tail) for row in [*world.inputs, *world.queues]
        ]
        self.reacting = [self._walk(node.reacting_head, node.reacting_tail) for node in world.nodes]
        described = [flow.mode != FRAMES for flow in world.flows]
        self.hosts = [
            self._walk(flow.head if own else NONE, flow.tail)
            for flow, own in zip(world.flows, described, strict=True)
        ]
        self.next_made = rows["next"].tolist()
        self.made = [
            self._walk(NONE if own else flow.head, flow.tail, following=self.next_made)
            for flow, own in zip(world.flows, described, strict=True)
        ]
        self.early = [self._walk(flow.order_head) for flow in world.flows]
        self.awaited: dict[int, list[int]] = {}
        """Input -> times at which its frames reach lazy outputs and leave at once, which needs a
        wake-up."""
        self.free = world.free[: clock.free].tolist()
        lists = [*self.lines, *self.control, *self.queues, *self.hosts, *self.voqs]
        lists += [*self.flying, *self.reacting, *self.early]
        held = [index for frames in lists for index in frames]
        self.inside = self._inside()
        self.rooms = self._rooms(held)
        held += list(self.rooms)
        everything = sorted(held + self.free)
        assert everything == list(range(len(frames))), "a descriptor is lost or doubled"
        self.held = held
        unmade = self._walk(clock.unmade, following=self.next_made)
        waiting = sorted(row for rows in [*self.made, unmade] for row in rows)
        assert waiting == list(range(len(rows))), "a frame that waits is lost or doubled"

    def _rooms(self, held: list[int]) -> dict[int, int]:
        """Multicast frames that reserve the buffer space of their copies -> the buffer."""
        frames = self.world.frames
        rooms_of = [i for i in held if i in self.inside and frames[i].held != NONE]
        copies = [i for i in rooms_of if frames[i].original != NONE]
        rooms: dict[int, int] = {}
        for index in copies:
            frame = self.world.frames[index]
            assert rooms.setdefault(int(frame.original), int(frame.held)) == frame.held
        for index in rooms:
            count = sum(self.world.frames[copy].original == index for copy in copies)
            assert self.world.frames[index].copies == count
        return rooms

    def _inside(self) -> set[int]:
        """The frames of switches with inputs, from the virtual output queue to the output."""
        w = self.world
        lists = [*self.voqs, *self.flying]
        lists += [q for q, row in zip(self.queues, w.queues, strict=True) if row.crossbar]
        early = [index for frames in self.early for index in frames]
        at_inputs = [
            i for i in early if w.lanes[w.ports[w.frames[i].port].first_lane].queue != NONE
        ]
        lists.append([i for i in at_inputs if w.queues[self.output_of(i)].crossbar])
        return {index for frames in lists for index in frames}

    def _walk(
        self,
        head: int,
        tail: int | None = None,
        count: int | None = None,
        following: list[int] | None = None,
    ) -> list[int]:
        """The frames of a list, which ends with NONE or after `count` of them."""
        after = self.next if following is None else following
        found: list[int] = []
        index = int(head)
        while (index != NONE) if count is None else (len(found) < count):
            assert len(found) < len(after), "a list that goes round"
            found.append(index)
            index = after[index]
        assert not found or tail is None or found[-1] == tail
        return found

    def octets(self, frames: list[int]) -> int:
        """Sum of the frames' lengths."""
        return sum(self.length[index] for index in frames)

    def check(self) -> None:
        """Assert everything below, and the invariants."""
        assert not (violations := broken_in_world(self.world)), violations
        self.check_totals()
        self.check_queues()
        self.check_order()
        self.check_lines()
        self.check_flows()
        self.check_wakes()
        self.check_inputs()

    def check_totals(self) -> None:
        """Frames made = frames ended + frames held, whatever kind they are of."""
        w = self.world
        if w.clock[0].no_descriptor != 0:  # messages without a frame were counted as sent
            return
        made = w.flows["sequence"].sum() + w.queues["feedback_sent"].sum()
        made += w.queues["pause_sent"].sum() + w.nodes["copied"].sum()
        made += w.nodes["feedback_sent"].sum() + w.limiters["probes_sent"].sum()
        ended = w.clock[0].delivered + w.queues["frames_dropped"].sum()
        ended += w.queues["frames_dropped_early"].sum()
        ended += w.flows["headers_received"].sum()  # of trimmed frames, which may be lost, too
        ended += w.ports["frames_lost"].sum() + w.ports["pause_received"].sum()
        ended += w.limiters["feedback_received"].sum() + w.nodes["unroutable"].sum()
        ended += w.nodes["ttl_expired"].sum()
        ended += w.nodes["feedback_ignored"].sum() + w.nodes["feedback_unassigned"].sum()
        # acknowledgements and credits are not counted (a receiver may send these for datagrams that
        # were trimmed, too); flows that begin without a limiter count as messages
        carried = (w.flows["mode"] == TRANSPORT) | (w.nodes["credits_sent"].sum() > 0)
        unlimited = w.flows["limited"] * w.nodes["feedback_unassigned"].sum() > 0
        if not np.any(carried | unlimited):
            waiting = sum(map(len, self.made))
            assert made == ended + waiting + len(self.held) - len(self.rooms)
        # a frame without IP (a CNM, say) has no route through a node that forwards by IP
        assert w.nodes["unroutable"][w.nodes["routed"] == 0].sum() == 0
        assert w.clock[0].delivered == w.flows["frames_received"].sum()

    def check_queues(self) -> None:
        """Per queue: its frames match its counters, and are of kinds that queues may hold."""
        w = self.world
        held: dict[int, list[int]] = defaultdict(list)
        for i in self.inside:
            if w.frames[i].original == NONE:
                held[int(w.frames[i].held)].append(i)
        for i, buffer in self.rooms.items():
            held[int(buffer)].append(i)
        for row in np.flatnonzero(w.queues["input"] != NONE).tolist():
            self.queues[row] = held[row]
        coming: dict[int, list[int]] = defaultdict(list)
        if w.queues["crossbar"].any():
            for i in [i for some in self.flying for i in some]:
                coming[self.output_of(i)].append(i)
        for row, (queue, frames) in enumerate(zip(w.queues, self.queues, strict=True)):
            due = coming[row] if queue.crossbar else []
            assert queue.reserved == self.octets(due)
            assert len(frames) == queue.frames
            if queue.units:
                self.check_units(queue, frames)
            assert queue.bytes == self.octets(frames)
            assert {self.kind[index] for index in frames} <= {DATA, ACK, SACK}
        for port, frames in zip(w.ports, self.control, strict=True):
            kinds = [self.kind[index] for index in frames]
            pauses = [kind in (PAUSE, PFC, GRANT) for kind in kinds]
            assert pauses == sorted(pauses, reverse=True), "PAUSE, PFC and grants go first"
            of_receivers = {TRIMMED, CREDIT, REQUEST}
            assert (
                set(kinds)
                <= {CNM, PAUSE, PFC, GRANT, ACK, SACK, PROBE, ECHO, RETURNED, CNP} | of_receivers
            )
            assert port.free_at >= 0

    def output_of(self, index: int) -> int:
        """The queue that a frame between input and output goes to."""
        w = self.world
        frame = w.frames[index]
        lane = w.ports[frame.port].first_lane + w.lane_of[frame.priority]
        return int(w.lanes[lane].queue)

    def check_units(self, queue: np.record, frames: list[int]) -> None:
        """Every frame of a buffer occupies as many cells as it needs; the others are free."""
        w = self.world
        mine = w.units[queue.first_unit : queue.first_unit + queue.units]
        for index in frames:
            unit, place = 0, int(w.frames[index].unit)
            while place != NONE:
                assert w.units[place, 0] == index
                unit, place = unit + 1, int(w.units[place, 1])
            assert unit == -(-self.length[index] // 256) == np.count_nonzero(mine[:, 0] == index)
        free, place = 0, int(queue.free_unit)
        while place != NONE:
            assert w.units[place, 0] == NONE
            free, place = free + 1, int(w.units[place, 1])
        assert free == np.count_nonzero(mine[:, 0] == NONE)
        assert set(mine[:, 0].tolist()) - {NONE} == set(frames)

    def check_order(self) -> None:
        """Frames that wait for an earlier one of their flow: in sequence, counted at their node."""
        w = self.world
        held = [0] * len(w.nodes)
        for flow, frames in zip(w.flows, self.early, strict=True):
            sequences = [int(w.frames[index].sequence) for index in frames]
            assert sequences == sorted(set(sequences))
            assert not sequences or sequences[0] > flow.order_next
            for index in frames:
                held[w.ports[w.frames[index].port].node] += self.length[index]
        assert held == w.nodes["order_bytes"].tolist()
        assert np.all(w.nodes["order_bytes"] <= w.nodes["order_capacity"])

    def check_lines(self) -> None:
        """Per delay line: in order, as many octets as counted, no frame overdue."""
        w = self.world
        now = w.clock[0].now
        for port, frames in zip(w.ports, self.lines, strict=True):
            dues = [self.due[index] for index in frames]
            assert dues == sorted(dues)
            assert all(due + port.patience >= now for due in dues)
            assert port.line_bytes == self.octets(frames)

    def check_flows(self) -> None:
        """Per flow and limiter: counts, backlogs and their assignment."""
        w = self.world
        copies = (w.injectors["copies"] + w.injectors["duplicated"]).sum()
        for row, (flow, frames, made) in enumerate(
            zip(w.flows, self.hosts, self.made, strict=True)
        ):
            assert flow.sequence == flow.frames_sent + len(frames) + len(made)
            waiting = self.octets(frames) + int(w.made["length"][made].sum())
            assert flow.bytes == waiting <= flow.capacity
            if row > w.address_flow.max():  # rows after the plan's own are members of groups
                assert flow.frames_received <= w.flows["frames_sent"].max() + copies
            if flow.limiter != NONE:
                limiter = w.limiters[flow.limiter]
                assert limiter.flow == row
                assert limiter.node == flow.node
                assert limiter.backlog == flow.bytes
        for row, limiter in enumerate(w.limiters):
            if limiter.flow == NONE:
                assert limiter.active == 0
                assert limiter.timer == NEVER
            else:
                assert w.flows[limiter.flow].limiter == row
        flagged = np.flatnonzero(w.flows["ready"] == 1)
        lanes = w.flows["lane"][flagged]
        for row, lane in enumerate(w.lanes):
            ready, index = [], int(lane.ready_head)
            while index != NONE:
                ready.append(index)
                index = int(w.flows[index].ready_next)
            marked = flagged[lanes == row].tolist()
            assert sorted(ready) == marked

    def flying_to(self, queue: int) -> list[int]:
        """Frames in transit to a lazy output."""
        return self.flying[len(self.world.inputs) + queue]

    def needs_wakeup(self, port: np.record, lane: np.record) -> bool:
        """Return whether a lazy output must wake for its next departure, because an input waits for
        its buffer space. For a frame that leaves on arrival, the frame's input wakes instead."""
        queue, coming = self.world.queues[lane.queue], self.flying_to(int(lane.queue))
        if queue.request_head == NONE and port.late != LAZINESS_DISABLED:
            return False
        if port.control_head != NONE or queue.frames > 0 or not coming:
            return bool(queue.frames > 0)
        free = max(port.free_at, port.paused_until, lane.paused_until, port.next_service)
        side, due = int(self.world.frames[coming[0]].side), self.due[coming[0]]
        if free <= due:
            self.awaited.setdefault(side, []).append(due)
        return bool(free > due)

    def check_inputs(self) -> None:
        """Inputs wake for ends of transfers and arrivals at outputs, where these have an effect."""
        w = self.world
        wake = self.wake()
        for row, side in enumerate(w.inputs):
            buffer = w.queues[side.first_queue]
            wakeups = [self.due[index] for index in self.flying[row][:1]] + self.awaited.get(
                row, []
            )
            if side.moving_head != NONE and buffer.calm <= buffer.pausing:
                wakeups.append(self.due[side.moving_head] - side.latency)
            assert wake[WAKE_INPUT, row] <= min(wakeups, default=NEVER)

    def wake(self) -> dict[tuple[int, int], int]:
        """Wake-up time of each actor, by its kind and row."""
        leaves = self.world.tree[len(self.world.tree) // 2 :]
        return {
            (int(what), int(index)): int(leaves[actor, 0])
            for actor, (what, index) in enumerate(self.world.actors)
        }

    def check_wakes(self) -> None:
        """The event queue's head is the earliest; every actor with work has a wake-up."""
        w = self.world
        leaves = w.tree[len(w.tree) // 2 :]
        assert w.tree[1, 0] == leaves[:, 0].min() >= w.clock[0].now
        wake = self.wake()
        for row, port in enumerate(w.ports):
            if port.entries:
                self.check_agenda(row, wake)
        for row, port in enumerate(w.ports):
            head = self.lines[row][:1]
            due = self.due[head[0]] + port.patience if head else NEVER
            if head or not port.entries:  # a lazy NIC's may wake for a possible arrival
                assert wake[WAKE_LINE, row] == due
            held = port.paused_until == NEVER  # held by the timeline: only PAUSE and PFC leave
            pauses = [self.kind[index] in (PAUSE, PFC, GRANT) for index in self.control[row][:1]]
            waits = any(pauses) if held else port.control_head != NONE
            for lane in w.lanes[port.first_lane : port.first_lane + w.clock[0].lanes]:
                used_up = lane.granted != NEVER and lane.granted_used >= lane.granted
                assert used_up == (lane.paused_until == NEVER), "without credit nothing goes"
                holds = lane.queue != NONE and w.queues[lane.queue].frames > 0
                if held:
                    continue
                if not port.late:
                    waits |= not used_up and (lane.ready_head != NONE or holds)
                elif port.late != LAZY:  # which wakes for control frames only
                    waits |= self.needs_wakeup(port, lane)
            assert (wake[WAKE_PORT, row] != NEVER) == bool(waits)
        for row, flow in enumerate(w.flows):
            room = flow.bytes + flow.length <= flow.capacity
            if flow.on and room:
                if flow.mode != MESSAGES:  # which wake when there is a message
                    assert wake[WAKE_FLOW, row] <= flow.next_frame
                if flow.mode == FRAMES:  # messages end, and transports wait for acknowledgements
                    assert flow.next_frame != NEVER

    def check_agenda(self, row: int, wake: dict[tuple[int, int], int]) -> None:
        """A lazy NIC's port and its flows wake by their local timers, and its line in time.

        Adds their wake-up times to `wake`.
        """
        w = self.world
        port = w.ports[row]
        for entry in w.agenda[port.agenda : port.agenda + port.entries]:
            place = (WAKE_PORT, row) if entry.flow == NONE else (WAKE_FLOW, int(entry.flow))
            assert wake[place] == NEVER, "what is late wakes by its line alone"
            wake[place] = int(entry.wake)
        free = max(port.free_at, port.paused_until, w.lanes[port.first_lane].paused_until)
        free = max(int(free), int(w.clock[0].now))
        flows = [one for one in w.flows if one.entry and one.port == row]
        longest = max((int(w.made[i].length) for one in self.made for i in one), default=0)
        octets = max(longest, *(int(flow.length) for flow in flows)) + int(port.overhead)
        wire = -(-octets * 8 * 10**12 // int(port.rate))
        wire += wire * int(port.drift) >> 30  # engine.node.link.by_clock
        wire += int(port.delay)
        for flow in [] if self.lines[row] else flows:
            begins = int(flow.next_frame) if flow.head == NONE else free
            if flow.limiter == NONE and begins != NEVER:  # so the port sends by then
                due = max(free, begins) + wire
                assert wake[WAKE_LINE, row] <= due, "a frame comes before its line wakes"


def audit(world: World) -> None:
    """Check a world between two events; see `Audit.check`."""
    assert np.all(world.memory >= -(1 << 62))
    Audit(world).check()
