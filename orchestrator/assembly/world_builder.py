"""World builder: puts nodes, ports, queues, limiters and flows together into a world.

Rows are collected as dictionaries first; `build` lays them out in one memory. An index that a
method returns is the row's index in the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.algorithm import ENTITIES, Algorithm
from orchestrator.assembly.memory_offsets import WORD, Offsets
from orchestrator.assembly.message_dependencies import Gates, concatenated_gates
from orchestrator.engine import kernel_guards, records
from orchestrator.engine.answer_sets import answers_of
from orchestrator.engine.frames import telemetry_header, type_table
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.header_options import DEFAULT
from orchestrator.engine.jit import DISABLED, kernel_address, record_address
from orchestrator.engine.kernel_events import EVENTS, RP_NAMED
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.kernel_mistakes import KernelMistake
from orchestrator.engine.lfsr import drawn_below, seed_for
from orchestrator.engine.node.actors import ACTOR_KINDS, actor_table, first_actors
from orchestrator.engine.node.event_queue import tournament
from orchestrator.engine.node.latency_histogram import BINS
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE
from orchestrator.engine.reserved_memory import reserved
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.field_types import LONGEST_FRAME

Row = dict[str, int]
STATE_OF = "state of "
"""Prefix of the array of an instance's state in offsets; the instance's name follows."""
SLOT_OCTETS, CACHE_LINE = 2048, 64
"""Room for the octets of one frame, unless there are longer ones."""
RECORDS = frozenset({"clock", "nodes", "ports", "lanes", "queues", "inputs", "limiters", "flows"})
"""Tables at the beginning of the memory, whose rows are all in use; states of algorithms follow."""
PREFAULTED = 1 << 16
"""Descriptors (12 MB) whose memory a real-time run has before it begins."""
WIRE_BATCH = 256
"""Frames that one wire can hold between two flushes."""


def slot_octets(longest: int) -> int:
    """Room for the octets of one frame of up to so many."""
    return max(SLOT_OCTETS, -(-longest // CACHE_LINE) * CACHE_LINE)


@dataclass
class _Instance:
    name: str
    algorithm: Algorithm
    params: Params


@dataclass(frozen=True)
class SeededField:
    """A field whose value the seed of a run decides: where the register of a name begins."""

    array: str
    index: int
    field: str
    name: str
    below: int = 0
    """Modulus of its value; 0: none."""
    behind: int = 0
    """So many rows behind this one have a register each, NAME/1 and so on."""
    alike: bool = False
    """Those behind have the same one."""
    apart: bool = False
    """Whether it says nothing about those of other names (`engine.lfsr.drawn_below`)."""

    def values(self, seed: int) -> list[int]:
        """Of its row and those behind it."""
        if self.apart:
            return [drawn_below(seed, self.name, self.below)]
        value = seed_for(seed, self.name)
        first = value % self.below if self.below else value
        if self.alike:
            return [first] * (1 + self.behind)
        return [first, *(seed_for(seed, f"{self.name}/{row + 1}") for row in range(self.behind))]


@dataclass
class Sizes:
    """Space that a world needs besides its nodes."""

    rows: int = 1
    marks: int = 0
    spare_frames: int = 1024
    """Descriptors beyond those that the queues and host queues can hold."""
    made: int = 1024
    """Frames that wait in host queues without a descriptor."""
    wires: int = 0
    capture_ports: list[int] = field(default_factory=list)
    capture_frames: int = 0
    capture_snap: int = 0
    longest: int = 0
    """Octets of the longest frame."""


class WorldBuilder:
    """Collects rows; see the module."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.nodes: list[Row] = []
        self.ports: list[Row] = []
        self.lanes: list[Row] = []
        self.queues: list[Row] = []
        self.inputs: list[Row] = []
        self.voqs: list[np.ndarray] = []
        """VOQ[n] of each input, in the order of the inputs."""
        self.voq_count = 0
        self.limiters: list[Row] = []
        self.flows: list[Row] = []
        self.agenda: list[Row] = []
        self.schedulers: list[dict[str, Any]] = []
        self.commands: list[Row] = []
        self.injectors: list[Row] = []
        self.injections: list[Row] = []
        self.stages: list[Row] = []
        self.stages_of: dict[int, range] = {}
        """Port whose link has stages -> the rows of these, in the order in which frames pass."""
        self.instances: list[_Instance] = []
        self.routes = np.zeros((0, 0), np.int64)
        self.behind = np.zeros((0, 2), np.int64)
        """As a world has them (`orchestrator.assembly.route_tables`)."""
        self.ways: list[tuple[int, ...]] = []
        """Rule, then the ports."""
        self.address_flow: dict[int, int] = {}
        self.groups = 0
        self.headers = DEFAULT
        """Headers of its frames."""
        self.dscp_maps = np.zeros((1, 64), np.int64)
        """As a world has them (`orchestrator.assembly.dscp_classes`)."""
        self.lane_of = [0] * 8
        """Lane of every priority."""
        self.messages: list[np.ndarray] = []
        """MESSAGE[n] of each flow that has any, in the order of the flows."""
        self.gates: list[Gates] = []
        """Those that the messages name."""
        self.drawn: list[SeededField] = []
        """Fields that the seed decides besides the messages."""
        self.eager = False
        """True if the world has an event for each departure and each delivery of a frame."""

    def add(self, rows: list[Row], **values: int) -> int:
        """Append a row; fields that are not named are 0. Returns its index."""
        rows.append(values)
        return len(rows) - 1

    def add_voqs(self, voqs: np.ndarray) -> None:
        """Append the virtual output queues of an input."""
        self.voqs.append(voqs)
        self.voq_count += len(voqs)

    def instance(self, name: str, algorithm: Algorithm, params: Params) -> int:
        """Append an instance of an algorithm; `name` decides its random numbers."""
        self.instances.append(_Instance(name, algorithm, params))
        return len(self.instances) - 1

    def build(self, sizes: Sizes, addresses: int) -> Assembled:
        """Lay everything out. `addresses` is the number of address indices."""
        return _Layout(self, sizes, addresses).assembled


@dataclass
class Assembled:
    """A world and what is needed to find things in it."""

    world: World
    offsets: Offsets
    """(array, index, field) -> offset in the memory, for probes and commands."""
    pointed_at: list[Any]
    """Arrays that the world has the addresses of: they have to live as long as it does."""
    drawn: Sequence[SeededField]
    certain_octets: int
    """Memory that the world takes whatever happens in a run, without samples."""

    def sow(self, seed: int) -> None:
        """Give all that a seed decides its value, but the messages, which came laid out."""
        kernel_guards.forget_fault()
        for one in self.drawn:
            first = self.offsets[one.array, one.index, one.field]
            values, step = one.values(seed), self.offsets.step(one.array)
            self.world.memory[first : first + step * len(values) : step] = values

    def offset(self, array: str, index: int, name: str) -> int:
        """Offset of one field. Raises KeyError."""
        return self.offsets[array, index, name]

    def state_at(self, instance: str, field: str) -> int:
        """Offset of a field of an instance's state, by the instance's name; NONE: it has none."""
        return self.offsets.get((STATE_OF + instance, 0, field), NONE)


class _Layout:
    def __init__(self, builder: WorldBuilder, sizes: Sizes, addresses: int) -> None:
        self.offsets = Offsets()
        self.arrays: dict[str, np.ndarray] = {}
        tables: list[tuple[str, np.dtype, list[Row]]] = [
            ("clock", records.CLOCK, [{}]),
            ("nodes", records.NODE, builder.nodes),
            ("ports", records.PORT, builder.ports),
            ("lanes", records.LANE, builder.lanes),
            ("queues", records.QUEUE, builder.queues),
            ("inputs", records.INPUT, builder.inputs),
            ("limiters", records.LIMITER, builder.limiters),
            ("flows", records.FLOW, builder.flows),
            ("agenda", records.AGENDA, builder.agenda),
            ("schedulers", records.SCHEDULER, builder.schedulers),
            ("commands", records.COMMAND, builder.commands),
            ("injectors", records.INJECTOR, builder.injectors),
            ("injections", records.INJECTION, builder.injections),
            ("stages", records.STAGE, builder.stages),
        ]
        for number, instance in enumerate(builder.instances):
            states = 1 + (len(builder.flows) if instance.algorithm.has_flow_states else 0)
            tables.append((f"state{number}", instance.algorithm.state, [{}] * states))
            tables.append((f"params{number}", _params_dtype(instance.params), [{}]))
        self._lay_out(tables)
        for number, instance in enumerate(builder.instances):
            self.offsets.call(f"state{number}", STATE_OF + instance.name)
        keep: list[Any] = []
        instances = np.zeros(max(len(builder.instances), 1), records.INSTANCE)
        for number, instance in enumerate(builder.instances):
            keep.append(self._start_instance(builder, number, instance, instances))
        world = self._world(builder, sizes, addresses, instances)
        self.assembled = Assembled(world, self.offsets, keep, builder.drawn, _certain(world))
        self.assembled.sow(builder.seed)

    def _lay_out(self, tables: list[tuple[str, np.dtype, list[Row]]]) -> None:
        sizes = {name: dtype.itemsize // WORD for name, dtype, _ in tables}
        words = sum(max(len(rows), 1) * sizes[name] for name, _, rows in tables)
        full = [len(rows) * dtype.itemsize for name, dtype, rows in tables if name in RECORDS]
        self.memory = reserved(words, np.int64, dense=sum(full))
        at = 0
        for name, dtype, rows in tables:
            count = max(len(rows), 1)  # an empty table keeps one unused row: numba needs an array
            array = self.memory[at : at + count * sizes[name]].view(dtype)
            for key in dict.fromkeys(key for row in rows for key in row):
                array[key][: len(rows)] = [row.get(key, 0) for row in rows]
            self.offsets.add(name, dtype, at, len(rows))
            self.arrays[name] = array[: len(rows)].view(np.recarray)
            at += count * sizes[name]

    def _start_instance(
        self, builder: WorldBuilder, number: int, instance: _Instance, table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        state, params = self.arrays[f"state{number}"], self.arrays[f"params{number}"]
        values = instance.params.record()
        if values.dtype.names:
            params.view(np.ndarray)[0] = values[0]
        names, flows = instance.algorithm.state.names or (), len(state) - 1
        array, alike = f"state{number}", instance.algorithm.name
        if "lfsr" in names:
            builder.drawn.append(SeededField(array, 0, "lfsr", instance.name, behind=flows))
        if "lfsr_alike" in names:
            one = SeededField(array, 0, "lfsr_alike", alike, behind=flows, alike=True)
            builder.drawn.append(one)
        algorithm = instance.algorithm
        called = {
            EVENTS[algorithm.kind][event]: (event, kernel)
            for event, kernel in algorithm.kernels.items()
        }
        for place, (event, kernel) in enumerate(algorithm.timers.items()):
            called[RP_NAMED + place] = event, kernel
        entity = ENTITIES[algorithm.kind]
        for place, (event, kernel) in called.items():
            limits = algorithm.limits(event)
            if not kernel_guards.is_guarded(kernel.__module__):  # a rule that is broken on purpose
                limits = Limits(answers_of(algorithm.kind, event))
            whose = algorithm.origin or "a plugin of this process"
            label = f"{whose}: {algorithm.kind} {algorithm.name!r}, kernel {event!r}"
            kernel_guards.add_label(kernel, label, limits)
            try:
                address = kernel_address(kernel, state.dtype, params.dtype, entity, limits)
            except KernelMistake as mistake:
                raise BadInput(label, str(mistake)) from mistake
            table[number]["kernels"][place] = address
        plain = state.view(np.ndarray)  # slices of it are made in a third of the time
        # compiled code finds the states of flows behind the first one, plain Python by their places
        found = range(len(plain) if DISABLED else 1)
        first, *_ = [record_address(plain[flow : flow + 1]) for flow in found]
        stride = state.dtype.itemsize if algorithm.per_flow else 0
        table[number]["state"], table[number]["params"] = first, record_address(params)
        table[number]["stride"] = stride
        table[number]["words"] = state.dtype.itemsize // WORD
        fields: Mapping[str, tuple[Any, ...]] = state.dtype.fields or {}
        table[number]["kept"] = fields["lfsr"][1] // WORD if "lfsr" in fields else NONE
        return state, params

    def _world(
        self, builder: WorldBuilder, sizes: Sizes, addresses: int, instances: np.ndarray
    ) -> World:
        ports = len(builder.ports)
        rows = {array: len(self.arrays[array]) for _, array in ACTOR_KINDS}
        actors = actor_table(rows)
        pool = sizes.spare_frames + 1
        address_flow = np.full(addresses, NONE, np.int64)
        for address, flow in builder.address_flow.items():
            address_flow[address] = flow
        captured = np.full(max(ports, 1), NONE, np.int64)
        for slot, port in enumerate(sizes.capture_ports):
            captured[port] = slot
        slots = max(len(sizes.capture_ports), 1)
        wired = sizes.wires > 0
        messages = _concatenated(builder.messages, records.MESSAGE)
        gates, gated = concatenated_gates(messages, builder.gates)
        arrays = dict[str, Any](
            memory=self.memory,
            clock=self.arrays["clock"],
            nodes=self.arrays["nodes"],
            ports=self.arrays["ports"],
            lanes=self.arrays["lanes"],
            queues=self.arrays["queues"],
            inputs=self.arrays["inputs"],
            limiters=self.arrays["limiters"],
            flows=self.arrays["flows"],
            agenda=self.arrays["agenda"],
            schedulers=self.arrays["schedulers"],
            commands=self.arrays["commands"],
            injectors=self.arrays["injectors"],
            injections=self.arrays["injections"],
            stages=self.arrays["stages"],
            instances=instances.view(np.recarray),
            voqs=_concatenated(builder.voqs),
            units=_units(builder.queues),
            lane_of=np.array(builder.lane_of, np.int64),
            tally=np.zeros(addresses, np.int64),
            frames=_descriptors(pool, wired),
            free=reserved(pool - 1, np.int64),
            made=reserved(max(sizes.made, 1), records.MADE).view(np.recarray),
            tree=tournament(len(actors)),
            actors=actors,
            routes=builder.routes,
            behind=builder.behind,
            ways=_port_sets(builder.ways),
            address_flow=address_flow,
            probes=np.zeros(0, np.int64),
            row_times=np.zeros(sizes.rows, np.int64),
            rows=np.zeros((sizes.rows, 0), np.int64),
            latency=np.zeros((max(builder.groups, 1), BINS), np.int64),
            latency_marks=np.zeros((sizes.marks, max(builder.groups, 1), BINS), np.int64),
            marks=np.zeros(1, np.int64),
            octets=reserved(
                (pool, slot_octets(sizes.longest)) if wired else (1, LONGEST_FRAME), np.uint8
            ),
            outbox=np.zeros((max(sizes.wires, 1), WIRE_BATCH), np.int64),
            outbox_count=np.zeros(max(sizes.wires, 1), np.int64),
            captured=captured,
            capture_count=np.zeros((slots, 2), np.int64),
            capture_times=np.zeros((slots, sizes.capture_frames), np.int64),
            capture_lengths=np.zeros((slots, sizes.capture_frames), np.int64),
            capture_octets=np.zeros(
                (slots, sizes.capture_frames, max(sizes.capture_snap, 1)), np.uint8
            ),
            stamps=_stamps(builder.flows, pool),
            messages=messages,
            gates=gates,
            gated=gated,
            types=type_table(builder.headers),
            dscp_maps=builder.dscp_maps,
        )
        world = World(**arrays)
        world.clock[0].unmade = NONE
        for name, number in first_actors(actors).items():
            world.clock[0][name] = number
        world.clock[0].lanes = 1 + max(builder.lane_of)
        chosen = len(builder.schedulers) > 0  # of flows, where there is one lane
        world.clock[0].direct = int(world.clock[0].lanes == 1 and not (builder.eager or chosen))
        world.clock[0].late = int(world.ports["late"].any() or world.queues["calm"].any())
        world.clock[0].late_nics = int(len(builder.agenda) > 0)
        return world


def _descriptors(pool: int, realtime: bool) -> np.ndarray:
    """FRAME[pool]: none of them was ever used but the last one, the message under construction.

    `realtime`: a loop that keeps to a clock must not wait for the system to provide pages, so the
    first `PREFAULTED` descriptors have theirs.
    """
    dense = 0 if realtime else pool * records.FRAME.itemsize
    frames = reserved(pool, records.FRAME, dense).view(np.recarray)
    if realtime:
        frames[:PREFAULTED] = np.zeros(1, records.FRAME)
    frames[-1] = empty_descriptors(1)[0]
    return frames


def _certain(world: World) -> int:
    """Octets of the arrays that are written when they are laid out."""
    tables = RECORDS | {"tree", "actors", "routes", "behind", "units", "messages", "instances"}
    return sum(getattr(world, name).nbytes for name in tables)


def _port_sets(rows: list[tuple[int, ...]]) -> np.ndarray:
    """The ways as an array: what to do, how many ports, the ports."""
    ways = np.full((max(len(rows), 1), 1 + max(map(len, rows), default=1)), NONE, np.int64)
    for row, (what, *ports) in enumerate(rows):
        ways[row, : 2 + len(ports)] = (what, len(ports), *ports)
    return ways


def _stamps(flows: list[Row], pool: int) -> np.ndarray:
    """Rows for the stamps of every frame, then of every flow, as many as any flow has room for; one
    row where none has."""
    most = max((flow.get("stamps", 0) for flow in flows), default=0)
    words = telemetry_header.FIRST + telemetry_header.WORDS * most
    return reserved((pool + len(flows) if most else 1, words), np.int64)


def _concatenated(blocks: list[np.ndarray], dtype: np.dtype = records.VOQ) -> np.ndarray:
    """All virtual output queues or messages, in an array that has at least a row behind it."""
    spare = np.zeros(1, dtype)
    return np.concatenate([*blocks, spare])[:-1].view(np.recarray)


def _units(queues: list[Row]) -> np.ndarray:
    """The units of all buffers, free, each followed by the next one of its buffer."""
    count = sum(queue.get("units", 0) for queue in queues)
    units = np.full((max(count, 1), 2), NONE, np.int64)
    units[:, 1] = np.arange(1, len(units) + 1)
    for queue in queues:
        if queue.get("units", 0):
            units[queue["first_unit"] + queue["units"] - 1, 1] = NONE
    return units


def _params_dtype(params: Params) -> np.dtype:
    """The record of the parameters; one unused field where an algorithm has none."""
    dtype = params.dtype()
    return dtype if dtype.names else records.record("none")
