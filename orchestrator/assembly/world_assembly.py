"""Assembly of a plan's world, complete for the simulator or one thread's share of it.

Every world of a plan has the rows of all nodes, so that an index means the same everywhere; a
share differs in which flows are started and in that its ports lead to wires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orchestrator.assembly.descriptor_bound import descriptors, made_frames
from orchestrator.assembly.injector_rows import add_injectors
from orchestrator.assembly.lazy_eligibility import (
    deny_laziness,
    is_eager,
    mark_lazy_nics,
    mark_lazy_ports,
)
from orchestrator.assembly.memory_demand import (
    WORD,
    Room,
    check_certain,
    exhausted,
    frames_within,
    made_within,
)
from orchestrator.assembly.node_rows import add_nodes
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import Probe, probes
from orchestrator.assembly.timeline_commands import add_timeline, marks
from orchestrator.assembly.world_builder import Assembled, Sizes, WorldBuilder
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_layout import MOST_TAGS, TAG_OCTETS
from orchestrator.engine.node.actors import COMMANDS_ACTOR, SAMPLER_ACTOR, queue_actor
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import FIELDS, World
from orchestrator.engine.records import NEVER
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external_nodes import captured as captured_ports
from orchestrator.plan.frame_lengths import bridged_frames, frames_of


@dataclass
class Assembly:
    """A world, what its rows are called, and what its samples hold."""

    resolved: ResolvedPlan
    world: World
    indices: Indices
    probes: list[Probe]
    marks_ps: list[int]
    capture_ports: list[str]
    built: Assembled
    """Finds fields in the world's memory, and keeps what that points to."""
    room: Room

    @property
    def is_exhausted(self) -> bool:
        """True when more frames were under way than the available memory holds."""
        lost = bool(self.world.clock[0].no_descriptor != 0)
        return lost and self.room.frames < self.room.bound

    def refuse_exhausted(self) -> None:
        """Raises BadInput when more frames were under way than the available memory holds."""
        if self.is_exhausted:
            raise exhausted(self.resolved, self.room, int(self.world.clock[0].now))


def assemble(
    resolved: ResolvedPlan,
    owned: Sequence[str] | None = None,
    wires: Sequence[str] = (),
    hosts: Sequence[str] = (),
    spare: int = 0,
    slots: Sequence[int] = (),
    armed: int = 0,
    alone: bool = False,
    eager: bool | None = None,
    memory: int | None = None,
) -> Assembly:
    """The world of a plan, ready to run from time 0.

    `owned` are the nodes that this world drives (default: all, joined to each other); `wires` are
    the ports, as named in results, that lead to wire 0, 1, ...; the wires behind these lead to the
    programs of the nodes `hosts`. There is room for `spare` more commands, and one that can be
    replaced at each of the times `slots`; for `armed` more frames, which receivers hold. `alone`:
    no other process moves its frames, reads its registers or stops it, but for lines that lead to
    nodes which are not its own; a world of all nodes is. `eager`: it defers nothing; None: as the
    plan's option or the environment says (`is_eager`). `memory`: octets that are available, which
    limit the frames there is room for (`assembly.memory_demand`); None: no limit. Raises BadInput
    when the plan asks for what no world can do, or for more memory.
    """
    plan = resolved.plan
    builder = WorldBuilder(plan.seed)
    indices = Indices(plan)
    ordered = resolved.in_row_order()
    add_nodes(builder, ordered, indices, {port: wire for wire, port in enumerate(wires)})
    add_injectors(builder, ordered, indices)
    mine = set(plan.nodes if owned is None else owned)
    if is_eager(resolved) if eager is None else eager:
        deny_laziness(builder)
    elif owned is None or alone:
        driven = {indices.nodes[name] for name in mine}
        mark_lazy_ports(builder, ordered, indices, driven)
        mark_lazy_nics(builder, driven)
    times = marks(plan)
    pending = add_timeline(builder, ordered, indices, mine, times, slots)
    commands = len(builder.commands)
    for _ in range(spare):
        builder.add(builder.commands, at=NEVER)
    captured = [port for port in captured_ports(plan) if indices.ports[port].node in mine]
    rows = plan.duration // plan.sample_interval + len(times) + 2
    frames = descriptors(resolved, late=bool(wires))
    bound = armed + frames * (2 if spare else 1)  # a change may need more
    stamps = max((flow.get("stamps", 0) for flow in builder.flows), default=0)
    room = frames_within(bound, stamps, memory)
    sizes = Sizes(
        rows=rows,
        marks=len(times),
        spare_frames=room.frames,
        made=made_within(made_frames(resolved), memory),
        wires=len(wires) + len(hosts),
        capture_ports=[indices.port_rows[port] for port in captured],
        capture_frames=plan.capture.frames if captured else 0,
        capture_snap=plan.capture.snap if captured else 0,
        longest=max(
            [
                *frames_of(resolved).values(),
                *(octets + MOST_TAGS * TAG_OCTETS for octets in bridged_frames(plan).values()),
            ],
            default=0,
        ),
    )
    built = builder.build(sizes, indices.addresses)
    del builder  # a table for each row, of which a large plan has hundreds of thousands
    for command, (array, index, name) in pending.items():
        built.world.commands[command].offset = built.offset(array, index, name)
    wanted = probes(resolved, indices)
    certain = built.certain_octets + rows * (len(wanted) + 1) * WORD
    check_certain(resolved, certain, memory)
    offsets = [built.offset(probe.array, probe.index, probe.field) for probe in wanted]
    world = replace(
        built.world,
        probes=np.array(offsets, np.int64),
        rows=np.zeros((rows, len(offsets)), np.int64),
    )
    for number, name in enumerate(hosts):
        world.nodes[indices.nodes[name]].host_port = 1
        world.nodes[indices.nodes[name]].host_wire = len(wires) + number
    clock = world.clock[0]
    clock.commands = commands
    clock.sample_interval = plan.sample_interval
    wake_at(world, COMMANDS_ACTOR, 0)
    wake_at(world, SAMPLER_ACTOR, 0)
    own = {indices.nodes[name] for name in mine}
    granting: list[Any] = np.flatnonzero(world.queues["pause_timer"] == 0).tolist()
    for row in granting:
        if world.ports[world.queues[row].port].node in own:
            wake_at(world, queue_actor(world, row), 0)
    return Assembly(resolved, world, indices, wanted, times, captured, built, room)


# Reusable world: laid out once, then run with several seeds.
#
# To lay a small plan out costs as much as to simulate a tenth of it. What a run has written is put
# back instead, and what the seed decides (`orchestrator.assembly.world_builder.SeededField`) is
# drawn anew.

OVERWRITTEN = frozenset({"rows", "row_times"})
"""Every row is written whole before it counts, and none beyond is read."""
POOLS = frozenset({"frames", "free", "made"})
"""Used from the beginning (`engine.node.descriptor_pool`); most of a large one is never written."""


class ReusableWorld:
    """The worlds of one plan with several seeds, one after another in the same arrays.

    The plans that it is handed differ in their seeds alone (`ResolvedPlan.with_seed`). What was
    recorded of a world is good until the next one is asked for.
    """

    def __init__(self) -> None:
        self._laid: Assembly | None = None
        self._before: dict[str, np.ndarray | None] = {}
        """Array -> what was in it before anything ran; None: zeros."""

    def world(self, resolved: ResolvedPlan, memory: int | None = None) -> Assembly:
        """The world of a plan, ready to run from time 0. Raises BadInput as `assemble` does."""
        laid = self._laid
        if laid is None or laid.resolved.uses is not resolved.uses:  # the seed drew pairs of ends
            self._laid = laid = assemble(resolved, memory=memory)
            self._before = {} if len(laid.world.messages) else _copies(laid)
            return laid
        if not self._before:  # the seed decides which messages there are
            return assemble(resolved, memory=memory)
        _empty_pools(laid.world)
        for name, values in self._before.items():
            getattr(laid.world, name)[...] = 0 if values is None else values
        laid.built.sow(resolved.plan.seed)
        return replace(laid, resolved=resolved)


def _empty_pools(world: World) -> None:
    """Put back the rows of the pools that were ever used: no other was written."""
    clock = world.clock[0]
    for array in (world.frames, world.free):
        array[: clock.frames_used] = np.zeros(1, array.dtype)
    world.frames[-1] = empty_descriptors(1)[0]
    world.made[: clock.made_used] = np.zeros(1, world.made.dtype)


def _copies(laid: Assembly) -> dict[str, np.ndarray | None]:
    """Copies of all arrays that a run may write, except pools and views of the memory."""
    names = FIELDS.keys() - OVERWRITTEN - POOLS
    arrays = {name: getattr(laid.world, name) for name in FIELDS if name in names}
    whole = laid.world.memory
    return {
        name: array.copy() if array.view(np.uint8).any() else None
        for name, array in arrays.items()
        if name == "memory" or not np.shares_memory(array, whole)
    }
