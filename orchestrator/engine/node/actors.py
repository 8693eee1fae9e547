"""Actors: kinds, order, and number of each.

An actor is what an event wakes. The numbers of one kind follow those of the kind before it, in the
order of `ACTOR_KINDS`, and of equal times the lower number is first (`engine.node.event_queue`).
So that order is a part of every result: it is stated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.engine.index_types import (
    ActorIndex,
    FlowIndex,
    InputIndex,
    NodeIndex,
    PortIndex,
    QueueIndex,
)
from orchestrator.engine.jit import inlined
from orchestrator.engine.node.world_arrays import World

(
    WAKE_COMMANDS,
    WAKE_SAMPLER,
    WAKE_LINE,
    WAKE_QUEUE,
    WAKE_PORT,
    WAKE_FLOW,
    WAKE_INPUT,
    WAKE_NODE,
) = range(8)
"""Kinds of actors; the row of `actors` gives the entity."""

ACTOR_KINDS = (
    (WAKE_COMMANDS, "clock"),
    (WAKE_SAMPLER, "clock"),
    (WAKE_LINE, "ports"),
    (WAKE_QUEUE, "queues"),
    (WAKE_PORT, "ports"),
    (WAKE_FLOW, "flows"),
    (WAKE_INPUT, "inputs"),
    (WAKE_NODE, "nodes"),
)
"""Each kind and the array of the world that has an actor of that kind for each row, in order."""

COMMANDS_ACTOR: Any = 0
SAMPLER_ACTOR: Any = 1
FIRST_ACTORS = {
    "first_queue": WAKE_QUEUE,
    "first_port": WAKE_PORT,
    "first_flow": WAKE_FLOW,
    "first_input": WAKE_INPUT,
    "first_node": WAKE_NODE,
}
"""Field of the clock that has the number of the first actor of a kind."""


def actor_table(rows: Mapping[str, int]) -> np.ndarray:
    """int64[actors, 2]: kind and entity of each actor, by the number of rows of each array."""
    table = [(kind, index) for kind, array in ACTOR_KINDS for index in range(rows[array])]
    return np.array(table, np.int64)


def first_actors(actors: np.ndarray) -> dict[str, int]:
    """Values of `FIRST_ACTORS` for a table of actors."""
    return {name: int((actors[:, 0] < kind).sum()) for name, kind in FIRST_ACTORS.items()}


@inlined
def line_actor(w: World, port_index: PortIndex) -> ActorIndex:
    """Actor number of a port's delay line: after the commands and the sampler."""
    return SAMPLER_ACTOR + 1 + port_index


@inlined
def queue_actor(w: World, queue_index: QueueIndex) -> ActorIndex:
    """Actor number of a queue: after the lines."""
    return w.clock[0].first_queue + queue_index


@inlined
def port_actor(w: World, port_index: PortIndex) -> ActorIndex:
    """Actor number of a port: after the queues."""
    return w.clock[0].first_port + port_index


@inlined
def flow_actor(w: World, flow_index: FlowIndex) -> ActorIndex:
    """Actor number of a flow: after the ports."""
    return w.clock[0].first_flow + flow_index


@inlined
def input_actor(w: World, input_index: InputIndex) -> ActorIndex:
    """Actor number of an input: after the flows."""
    return w.clock[0].first_input + input_index


@inlined
def node_actor(w: World, node_index: NodeIndex) -> ActorIndex:
    """Actor number of a node: after the inputs."""
    return w.clock[0].first_node + node_index


@inlined
def goes_first(actor: ActorIndex, awake: ActorIndex) -> bool:
    """True if, of two actors that are due at one time, `actor` comes before `awake`."""
    return actor < awake
