"""Arrays that make up a set of nodes: the state that every node function takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from orchestrator.engine import records
from orchestrator.engine.frames.frame_type import FRAME_TYPE, TypeRow
from orchestrator.engine.index_types import (
    AgendaIndex,
    FlowIndex,
    FrameIndex,
    GateIndex,
    InputIndex,
    InstanceIndex,
    LaneIndex,
    LimiterIndex,
    MessageIndex,
    NodeIndex,
    PortIndex,
    QueueIndex,
    Rows,
    VoqIndex,
)
from orchestrator.engine.lazy_imports import import_attribute
from orchestrator.engine.records import (
    Agenda,
    Clock,
    Command,
    Flow,
    Frame,
    Gate,
    Injection,
    Injector,
    Input,
    Instance,
    Lane,
    Limiter,
    Made,
    Message,
    Node,
    Port,
    Queue,
    Scheduler,
    Stage,
    Voq,
)


@dataclass(frozen=True, eq=False)
class World:
    """Nodes that one loop drives: all of a plan in the simulator, one thread's share elsewhere.

    The record arrays from `clock` to `stages` are views of `memory` (see
    `orchestrator.engine.records`). `tree` is the tournament of wake times
    (`engine.node.wake`); `actors` has a row (what, index) per actor. Compiled functions get
    a world by reference (`orchestrator.engine.node.world_numba_type`): the arrays must stay as they
    are.
    """

    compiled_as: ClassVar[str] = "orchestrator.engine.node.world_numba_type:WORLD"
    """Module that defines the numba type of a world."""

    memory: np.ndarray  # int64[m]
    clock: Rows[int, Clock]  # CLOCK[1]
    nodes: Rows[NodeIndex, Node]  # NODE[n]
    ports: Rows[PortIndex, Port]  # PORT[n]
    lanes: Rows[LaneIndex, Lane]  # LANE[ports * clock.lanes]
    queues: Rows[QueueIndex, Queue]  # QUEUE[n]
    inputs: Rows[InputIndex, Input]  # INPUT[n]
    limiters: Rows[LimiterIndex, Limiter]  # LIMITER[n]
    flows: Rows[FlowIndex, Flow]  # FLOW[n]
    agenda: Rows[AgendaIndex, Agenda]  # AGENDA[n]: of each late port of a NIC, then of its flows
    schedulers: Rows[int, Scheduler]  # SCHEDULER[n]: of ports whose lanes do not take turns
    commands: Rows[int, Command]  # COMMAND[n], in time order
    injectors: Rows[int, Injector]  # INJECTOR[n]: of ports that the timeline injects faults at
    injections: Rows[int, Injection]  # INJECTION[n]: their steps, injector by injector
    stages: Rows[int, Stage]  # STAGE[n]: of links that have several, injector by injector
    instances: Rows[InstanceIndex, Instance]  # INSTANCE[n]
    voqs: Rows[VoqIndex, Voq]  # VOQ[n]
    units: np.ndarray  # int64[n, 2]: the frame that lies in a unit or NONE; the next unit of it
    lane_of: np.ndarray  # int64[8]: lane of a priority
    tally: np.ndarray  # int64[addresses]: scratch, all 0
    frames: Rows[
        FrameIndex, Frame
    ]  # FRAME[pool size]; the last one is the message under construction
    free: Rows[int, FrameIndex]  # int64[pool size]: stack of unused descriptors, clock.free of them
    made: Rows[int, Made]  # MADE[n]: frames that wait in host queues of sources
    tree: np.ndarray  # int64[2 * leaves, 2]
    actors: np.ndarray  # int64[n, 2]
    routes: np.ndarray  # int64[nodes, places]: port, NONE: no way, WAYS - n: ways[n], HERE: behind
    behind: np.ndarray  # int64[addresses, 2]: its place; the port that leads to it from there
    ways: np.ndarray  # int64[n, 2 + m]: SPREAD_FLOWS, SPREAD_FRAMES or COPY; how many; the ports
    address_flow: Rows[
        int, FlowIndex
    ]  # int64[addresses]: flow whose frames carry it as source, or NONE
    probes: np.ndarray  # int64[m]: offsets into the memory that are sampled
    row_times: np.ndarray  # int64[rows]
    rows: np.ndarray  # int64[rows, m]
    latency: np.ndarray  # int64[groups, bins]
    latency_marks: np.ndarray  # int64[marks, groups, bins]
    marks: np.ndarray  # int64[1]: how many marks were taken
    octets: np.ndarray  # uint8[pool size, slot]: what travels; shape (1, slot) when simulated
    outbox: np.ndarray  # int64[wires, n]: frames to be put on a wire
    outbox_count: np.ndarray  # int64[wires]
    captured: Rows[PortIndex, int]  # int64[ports]: capture slot of a port or NONE
    capture_count: np.ndarray  # int64[slots, 2]: frames kept, frames dropped
    capture_times: np.ndarray  # int64[slots, n]
    capture_lengths: np.ndarray  # int64[slots, n]; outgoing frames as ~length
    capture_octets: np.ndarray  # uint8[slots, n, snap]
    stamps: np.ndarray  # int64[pool size + flows, n]: of a frame, a flow; (1, n) in plans without
    messages: Rows[MessageIndex, Message]  # MESSAGE[n], of every flow in the order of their start
    types: Rows[int, TypeRow]  # FRAME_TYPE[n] by kind
    gates: Rows[GateIndex, Gate]  # GATE[n]
    gated: Rows[int, Any]  # int64[n]: messages that wait, gate by gate
    dscp_maps: np.ndarray  # int64[n, 64]: row 0 priority -> DSCP, further ones DSCP -> priority

    @cached_property
    def table(self) -> np.ndarray:
        """int64[fields, 4]: address and shape of every array, as compiled functions find them."""
        table = np.ones((len(FIELDS), 4), np.int64)
        for row, name in enumerate(FIELDS):
            array = getattr(self, name)
            assert array.flags.c_contiguous
            assert array.shape[-1] == COLUMNS.get(name, array.shape[-1]), name
            table[row, : 1 + array.ndim] = (array.ctypes.data, *array.shape)
        return table

    @property
    def address(self) -> int:
        """Address of the table."""
        address: int = self.table.ctypes.data
        return address

    @property
    def _numba_type_(self) -> Any:
        return import_attribute(self.compiled_as)


FIELDS = {
    "memory": (np.dtype(np.int64), 1),
    "clock": (records.CLOCK, 1),
    "nodes": (records.NODE, 1),
    "ports": (records.PORT, 1),
    "lanes": (records.LANE, 1),
    "queues": (records.QUEUE, 1),
    "inputs": (records.INPUT, 1),
    "limiters": (records.LIMITER, 1),
    "flows": (records.FLOW, 1),
    "agenda": (records.AGENDA, 1),
    "schedulers": (records.SCHEDULER, 1),
    "commands": (records.COMMAND, 1),
    "injectors": (records.INJECTOR, 1),
    "injections": (records.INJECTION, 1),
    "stages": (records.STAGE, 1),
    "instances": (records.INSTANCE, 1),
    "voqs": (records.VOQ, 1),
    "units": (np.dtype(np.int64), 2),
    "lane_of": (np.dtype(np.int64), 1),
    "tally": (np.dtype(np.int64), 1),
    "frames": (records.FRAME, 1),
    "free": (np.dtype(np.int64), 1),
    "made": (records.MADE, 1),
    "tree": (np.dtype(np.int64), 2),
    "actors": (np.dtype(np.int64), 2),
    "routes": (np.dtype(np.int64), 2),
    "behind": (np.dtype(np.int64), 2),
    "ways": (np.dtype(np.int64), 2),
    "address_flow": (np.dtype(np.int64), 1),
    "probes": (np.dtype(np.int64), 1),
    "row_times": (np.dtype(np.int64), 1),
    "rows": (np.dtype(np.int64), 2),
    "latency": (np.dtype(np.int64), 2),
    "latency_marks": (np.dtype(np.int64), 3),
    "marks": (np.dtype(np.int64), 1),
    "octets": (np.dtype(np.uint8), 2),
    "outbox": (np.dtype(np.int64), 2),
    "outbox_count": (np.dtype(np.int64), 1),
    "captured": (np.dtype(np.int64), 1),
    "capture_count": (np.dtype(np.int64), 2),
    "capture_times": (np.dtype(np.int64), 2),
    "capture_lengths": (np.dtype(np.int64), 2),
    "capture_octets": (np.dtype(np.uint8), 3),
    "stamps": (np.dtype(np.int64), 2),
    "messages": (records.MESSAGE, 1),
    "types": (FRAME_TYPE, 1),
    "gates": (records.GATE, 1),
    "gated": (np.dtype(np.int64), 1),
    "dscp_maps": (np.dtype(np.int64), 2),
}
"""Element type and dimensions of every array."""

COLUMNS = {"tree": 2, "actors": 2, "behind": 2, "units": 2, "capture_count": 2}
"""Arrays whose last axis is always that long: compiled functions count on it."""

LATENCY_STEPS = 32
"""Bins per factor of two: a bin is at most 3.1 % wide."""
LATENCY_OCTAVES = 40
