"""A switch of two ports, made without a plan, whose functions are called one by one.

A port has two lanes, of even and of odd priorities, and a queue for each; 1 Gb/s, no delay, lines
of any room. Its algorithms note what they are handed and answer what they are told to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.algorithm import Algorithm
from orchestrator.assembly.world_builder import Sizes, WorldBuilder
from orchestrator.capability import Capability
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.actors import SAMPLER_ACTOR, WAKE_LINE, WAKE_PORT, WAKE_QUEUE
from orchestrator.engine.node.descriptor_pool import take, unused_descriptors
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import COPY, DATA, NEVER, NONE, SWITCH, VOQ, record
from orchestrator.engine.workload import HEADERS
from tests.orchestrator.worlds import Empty

RATE = 10**9
NS_OF_OCTET = 8000
"""ps at 1 Gb/s."""
PORTS, LANES = 2, 2
SOURCE = 3
"""Address of somebody behind port 0."""
POOL = 8
STATE = record(
    *("came", "left", "length", "bytes", "now", "said"),
    *("answer", "feedback", "offset", "searches", "mark"),
)
AT_REST = {"head": NONE, "tail": NONE, "input": NONE}
NO_ALGORITHM = {"congestion_point": NONE, "pause": NONE, "notification_point": NONE}
NO_TIMER = {"congestion_point_timer": NEVER, "pause_timer": NEVER, "watchdog_timer": NEVER}


def declared(kind, kernels):
    """What an algorithm declares so that its kernels may give any answer."""
    if kind != "congestion_point":
        return {}
    at_arrival = "arrival" in kernels
    return {
        "drops": tuple(event for event in ("arrival", "departure") if event in kernels),
        "trims": at_arrival,
        "changes_lane": at_arrival,
        "keeps_one_stamp": True,
        "needs": frozenset({Capability.STAMPS}),
    }


@compiled
def add_mark(frame, mark):
    """Mark a frame, in a kernel of any kind: those of a pause may not."""
    frame.mark = frame.mark | mark


def at_queue(state, params, queue, frame, now, message):
    """A frame comes to a queue."""
    state.came += 1
    state.length = frame.length
    state.bytes = queue.bytes
    state.now = now
    state.said = message.feedback + message.offset + message.delta + message.mark
    message.feedback = state.feedback
    message.offset = state.offset
    message.mark = state.searches
    add_mark(frame, state.mark)
    return state.answer


def from_queue(state, params, queue, frame, now, message):
    """A frame leaves it."""
    state.left += 1
    state.length = frame.length
    state.bytes = queue.bytes
    state.now = now
    state.said = message.feedback + message.offset + message.delta + message.mark
    message.feedback = state.feedback
    message.offset = state.offset
    message.mark = state.searches
    add_mark(frame, state.mark)
    return state.answer


def at_node(state, params, node, frame, now, message):
    """A data frame comes to where it is looked at, or a neighbour holds a queue."""
    state.came += 1
    state.length = frame.length
    state.now = now
    message.feedback = state.feedback
    add_mark(frame, state.mark)
    return state.answer


def late(state, params, port, frame, now, message):
    """A frame is sent: how long the line holds it."""
    state.came += 1
    state.length = frame.length
    state.now = now
    return state.answer


ALGORITHMS = {
    "point": (
        "congestion_point",
        {"arrival": at_queue, "departure": from_queue, "probe": at_queue},
    ),
    "pause": ("pause", {"enqueue": at_queue, "dequeue": from_queue}),
    "line": ("delay_line", {"delay": late}),
    "notice": ("notification_point", {"arrival": at_node}),
    "watch": ("watchdog", {"held": at_node, "timer": at_node}),
    "receive": ("receiver", {"arrived": at_node, "flow_begins": at_node}),
}


class Bench:
    """See the module. Rows of lanes and queues: twice the port and one more for odd priorities."""

    def __init__(self, wires: int = 0, stamps: int = 0, units: int = 0, ports: int = PORTS) -> None:
        """With `wires` frames have octets, with `stamps` room for those of so many hops; the first
        queue keeps so many `units`."""
        builder = WorldBuilder(seed=1)
        builder.lane_of = [0, 1] * 4
        self.rows = {
            name: builder.instance(
                name,
                Algorithm(name, kind, "", Empty, STATE, kernels, **declared(kind, kernels)),
                Empty(),
            )
            for name, (kind, kernels) in ALGORITHMS.items()
        }
        waits_for_nobody = {"receiver": NONE, "notification_point": NONE, "reacting_head": NONE}
        builder.add(builder.nodes, kind=SWITCH, ports=ports, obeys_pfc=255, **waits_for_nobody)
        for port in range(ports):
            nothing = {"control_head": NONE, "control_tail": NONE, "line_head": NONE}
            nothing |= {"line_tail": NONE, "input": NONE, "delay_line": NONE, "wire": NONE}
            place = {"address": 1 + port, "peer": port ^ 1, "first_lane": LANES * port}
            room = {"rate": RATE, "line_capacity": NEVER, "up": 1, "next_hop": NONE}
            builder.add(builder.ports, **nothing, **place, **room)
            for lane in range(LANES):
                queue = builder.add(
                    builder.queues,
                    **(AT_REST | NO_ALGORITHM | NO_TIMER),
                    port=port,
                    first_unit=0,
                    units=units * (port == lane == 0),
                    priorities=0x55 << lane,
                    capacity=10**6,
                    service_rate=RATE,
                    line_rate=RATE,
                    watchdog=NONE,
                )
                idle = {"ready_head": NONE, "ready_tail": NONE, "granted": NEVER}
                builder.add(builder.lanes, queue=queue, **idle)
        off = {"head": NONE, "tail": NONE, "limiter": NONE, "next_frame": NEVER, "order_head": NONE}
        builder.add(builder.flows, **off, stamps=stamps, headers=HEADERS)
        builder.add_voqs(np.zeros(1, VOQ))
        builder.add(builder.inputs, first_queue=LANES)  # of port 1, where a test makes it one
        builder.routes = np.full((1, SOURCE + 1), NONE, np.int64)
        builder.routes[0, SOURCE] = 0
        builder.behind = np.full((SOURCE + 1, 2), NONE, np.int64)
        builder.behind[:, 0] = range(SOURCE + 1)  # every address is a place of its own
        builder.ways.append((COPY, *range(ports)))
        self.built = builder.build(Sizes(spare_frames=POOL, wires=wires), addresses=SOURCE + 1)
        self.world = self.built.world

    def frame(self, **fields: int) -> int:
        """A descriptor of the pool, of a full frame if nothing else is said; its index."""
        w = self.world
        index = int(take(w))
        usual = {"kind": DATA, "length": 1500, "next": NONE, "flow": NONE, "port": 1}
        for name, value in (usual | fields).items():
            w.frames[index][name] = value
        return index

    @property
    def unused(self) -> int:
        """Descriptors that nobody has."""
        return unused_descriptors(self.world)

    def listed(self, head: int) -> list[int]:
        """The frames of a list."""
        found = []
        while head != NONE:
            found.append(int(head))
            head = int(self.world.frames[head].next)
        return found

    def wakes(self, actor: int) -> int:
        """When an actor does, in ps."""
        tree = self.world.tree
        return int(tree[len(tree) // 2 + actor, 0])

    def line(self, port: int) -> int:
        """When a port's delay line wakes."""
        return self.wakes(actor_of(self.world, WAKE_LINE, port))

    def queue(self, queue: int) -> int:
        """When a queue does."""
        return self.wakes(actor_of(self.world, WAKE_QUEUE, queue))

    def port(self, port: int) -> int:
        """When a port does."""
        return self.wakes(self._actor(port))

    def serve(self, port: int, now: int) -> None:
        """Let a port wake, and nobody else."""
        wake_alone(self.world, self._actor(port), now)

    def _actor(self, port: int) -> int:
        return actor_of(self.world, WAKE_PORT, port)

    def arrives(self, now: int, **fields: int) -> int:
        """A frame for SOURCE comes in through port 1; its index."""
        index = self.frame(source=SOURCE, destination=SOURCE, due=now, **fields)
        port = self.world.ports[0]
        port.line_head = port.line_tail = index
        port.line_bytes = self.world.frames[index].length
        self.pass_on(now)
        return index

    def pass_on(self, now: int) -> None:
        """Let the line of port 0 wake."""
        wake_alone(self.world, actor_of(self.world, WAKE_LINE, 0), now)

    def sample(self, now: int) -> None:
        """Let a row of samples be taken."""
        clock = self.world.clock[0]
        clock.row, clock.next_sample, clock.sample_interval = 0, now, NEVER
        wake_alone(self.world, SAMPLER_ACTOR, now)

    def say(self, **fields: int) -> None:
        """Put something into the message under construction."""
        spare = self.world.frames[len(self.world.frames) - 1]
        for name, value in fields.items():
            spare[name] = value

    def tell(self, name: str, **fields: int) -> None:
        """Set fields of an algorithm's state."""
        for field, value in fields.items():
            self.world.memory[self.built.state_at(name, field)] = value

    def told(self, name: str, *fields: str) -> Any:
        """Fields of an algorithm's state: one, or a list."""
        found = [int(self.world.memory[self.built.state_at(name, field)]) for field in fields]
        return found[0] if len(found) == 1 else found


def actor_of(world: World, kind: int, index: int) -> int:
    """Number of the actor of a kind for an entity, by the world's table."""
    return world.actors.tolist().index([kind, index])


def wake_alone(world: World, actor: int, now: int) -> None:
    """Let one actor wake, whoever else is due: they are due afterwards."""
    times = world.tree[len(world.tree) // 2 :, 0]
    due = [other for other in range(len(world.actors)) if other != actor and times[other] <= now]
    then = [int(times[other]) for other in due]
    for other in due:
        wake_at(world, other, NEVER)
    wake_at(world, actor, now)
    assert simulate(world, now + 1, 1) == 1
    for other, time in zip(due, then, strict=True):
        if times[other] == NEVER:
            wake_at(world, other, time)


def values(row: np.record, *names: str) -> list[int]:
    """Fields of a record."""
    return [int(row[name]) for name in names]
