"""Invariants of every sound run at every instant, stated once.

An invariant is a relation between fields of one record (`orchestrator.engine.records`): of a queue,
a port, a limiter, a flow. `holds` is plain arithmetic, so it takes ints, int64 arrays (of a world
between two events, of a run's samples) or the terms of a solver.

- `broken_in_world(world)`: of a world between two events (`orchestrator.run.frame_audit`, `tailback
hunt`).
- `broken_in_samples(resolved, recording)`: of a run's samples; a run that breaks one is invalid.
- `INVARIANTS`: the list, for properties and proofs: `one.holds(*values of one.fields)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.engine.records import NONE
from orchestrator.plan.metric_registry import REMOVED
from orchestrator.plan.pfc_headroom import lossless_buffers

if TYPE_CHECKING:
    from orchestrator.engine.node.world_arrays import World
    from orchestrator.plan import ResolvedPlan
from orchestrator.recording import MissingColumn, Recording

ROUNDED = 1e-12
"""Upper bound of the relative error of a product of two floats."""
SHORTEST, LONGEST = 14, 1 << 14
"""Octets of any frame: an Ethernet header at least, and less than this."""


@dataclass(frozen=True)
class Invariant:
    """One relation between the fields of a record."""

    name: str
    of: str
    """Array of a world: queues, ports, limiters, flows."""
    text: str
    """Statement of the invariant, for messages."""
    fields: tuple[str, ...]
    holds: Callable[..., Any]
    """Takes the fields in their order."""


FRAMES = Invariant(
    "frames of a buffer",
    "queues",
    "frames that came = left + dropped + trimmed + moved + there",
    (
        "frames_in",
        "frames_out",
        "frames",
        "frames_dropped",
        *(one.record_field for one in REMOVED),
    ),
    lambda came, left, there, dropped, *removed: came == sum(removed, left + there + dropped),
)
LEAST_OCTETS = Invariant(
    "octets of a buffer, at least",
    "queues",
    f"every frame that is there has {SHORTEST} octets at least",
    ("bytes", "frames"),
    lambda octets, frames: octets >= SHORTEST * frames,
)
MOST_OCTETS = Invariant(
    "octets of a buffer, at most",
    "queues",
    f"no octets without a frame, which has fewer than {LONGEST}",
    ("bytes", "frames"),
    lambda octets, frames: octets <= LONGEST * frames,
)
HIGHEST = Invariant(
    "most octets of a buffer",
    "queues",
    "the most octets that ever were there are no fewer than those that are",
    ("bytes_max", "bytes"),
    lambda most, octets: most >= octets,
)
CAPACITY = Invariant(
    "capacity of a buffer",
    "queues",
    "no more octets than it has room for",
    ("bytes_max", "capacity"),
    lambda most, capacity: most <= capacity,
)
LOSSLESS = Invariant(
    "headroom",
    "queues",
    "a buffer that pauses its neighbour and has the computed headroom drops nothing",
    ("frames_dropped",),
    lambda dropped: dropped == 0,
)
TOKENS = Invariant(
    "tokens of a limiter",
    "limiters",
    "no more tokens than its bucket is deep",
    ("tokens", "depth"),
    lambda tokens, depth: tokens <= depth,
)
RATE = Invariant(
    "rate of a limiter",
    "limiters",
    "above 0",
    ("rate",),
    lambda rate: rate > 0,
)
LINK_RATE = Invariant(
    "highest rate of a limiter",
    "limiters",
    "not above that of its link",
    ("rate", "link_rate"),
    lambda rate, link: rate <= link,
)
LINE = Invariant(
    "octets of a delay line",
    "ports",
    "no more octets than it has room for",
    ("line_bytes", "line_capacity"),
    lambda octets, capacity: octets <= capacity,
)
EMPTY_LINE = Invariant(
    "octets of a delay line, at least",
    "ports",
    "not below 0",
    ("line_bytes",),
    lambda octets: octets >= 0,
)
RECEIVED = Invariant(
    "frames of a flow",
    "flows",
    "no more frames arrive than were sent",
    ("frames_received", "frames_sent"),
    lambda received, sent: received <= sent,
)
RECEIVED_OCTETS = Invariant(
    "octets of a flow",
    "flows",
    "every frame that arrived has its octets, and those were sent",
    ("bytes_received", "bytes_sent"),
    lambda received, sent: received <= sent,
)

INVARIANTS = (
    FRAMES,
    LEAST_OCTETS,
    MOST_OCTETS,
    HIGHEST,
    CAPACITY,
    LOSSLESS,
    TOKENS,
    RATE,
    LINK_RATE,
    LINE,
    EMPTY_LINE,
    RECEIVED,
    RECEIVED_OCTETS,
)
ACROSS_NODES = (RECEIVED, RECEIVED_OCTETS)
"""Invariants between fields that two nodes count; those of the others are of one node."""


@dataclass(frozen=True)
class Limits:
    """Limits of a plan's buffers: capacities over the whole run, and the lossless ones.

    Rows are those of a world's queues; names are those of results.
    """

    capacity: dict[str, int]
    """Buffer, with its lane -> its largest capacity during the run (octets)."""
    lossless: frozenset[str]

    @classmethod
    def of(cls, resolved: ResolvedPlan) -> Limits:
        """Limits of a plan, without buffers that grant reserved space beyond their capacity."""
        from orchestrator.plan.forwarding_hosts import buffer_of, forwarding_hosts
        from orchestrator.plan.lossless_lanes import (
            has_own_limit,
            input_room,
            is_lossless,
            is_unlimited,
            memory_octets,
        )
        from orchestrator.plan.plan_tables import Nic, Switch

        plan = resolved.plan
        lanes = plan.lanes()
        most: dict[str, int] = {}
        for port in plan.ports():
            node = plan.nodes[port.node]
            if isinstance(node, Nic) and port.node in forwarding_hosts(plan):
                most[port.entity] = buffer_of(node)
            if not isinstance(node, Switch):
                continue
            if node.inputs is None or node.reassembly is None:
                most[port.entity] = node.buffer_of(port.name)
            if node.inputs is not None:
                most[port.input] = node.inputs.buffer
        for action in resolved.actions:
            if action.kind == "queue" and "buffer" in action.values:
                for entity in action.entities:
                    if entity in most:
                        most[entity] = max(most[entity], action.values["buffer"])
        lossless = lossless_buffers(resolved)
        rooms = {entity + lane.suffix: octets for entity, octets in most.items() for lane in lanes}
        ports = Counter(port.node for port in plan.ports())
        for port in plan.ports():
            node = plan.nodes[port.node]
            if not isinstance(node, Switch) or node.inputs is None:
                continue
            for lane in lanes:
                if has_own_limit(plan, port.input, lane):
                    rooms[port.input + lane.suffix] = input_room(node.inputs, lane)
                elif is_unlimited(node, lane):
                    rooms[port.input + lane.suffix] += node.inputs.headroom or 0
                if is_unlimited(node, lane) and port.entity + lane.suffix in rooms:
                    memory = memory_octets(node.inputs, ports[port.node])
                    output = port.entity + lane.suffix
                    rooms[output] = max(memory, rooms[output])
        return cls(
            rooms,
            frozenset(
                entity + lane.suffix
                for entity in lossless
                for lane in lanes
                if is_lossless(plan, entity, lane)
            ),
        )


def broken_in_world(
    world: World, limits: Limits | None = None, names: list[str] | None = None
) -> list[str]:
    """A sentence for every invariant that a world breaks, and for what. Between two events only.

    `limits`, with the `names` of its queues row by row, adds capacities and losslessness.
    """
    found = []
    copies = int((world.injectors["duplicated"] + world.injectors["copies"]).sum())
    for one in INVARIANTS:
        if one is LOSSLESS or one is CAPACITY:
            continue
        rows = getattr(world, one.of)
        if one.of == "flows":  # rows after the plan's own are those of members of groups
            rows = rows[: int(world.address_flow.max(initial=NONE)) + 1]
        values = [np.asarray(rows[name]) for name in one.fields]
        if one in ACROSS_NODES:
            values[1] = values[1] + copies * _unit_of(one)
        found += _first_violation(one, values, one.of, None)
    if limits is not None and names is not None:
        for row, name in enumerate(names):
            queue = world.queues[row]
            found += _of_limits(limits, name, int(queue["bytes_max"]), int(queue["frames_dropped"]))
    return found


def broken_in_samples(resolved: ResolvedPlan, recording: Recording, late_ps: int = 0) -> list[str]:
    """A sentence for every invariant that a run's samples break, with the first such instant.

    Quantities without samples are not checked; `orchestrator.run.buffer_conservation` checks
    `FRAMES`. Raises MissingColumn for a queue whose length is sampled and its drops are not.

    `late_ps`: how late a node may be to take the sample of an instant, of a run in real time. A
    node counts on meanwhile: receivers are compared with what was sent by so much later, and links
    with what their rate allows by then.
    """
    limits, found = Limits.of(resolved), list[str]()
    copies, staged = _injected_copies(resolved), _staged_copies(resolved, recording)
    sampled = [one for one in INVARIANTS if FIELDS.issuperset(one.fields)]
    for entity, fields in _sampled(recording).items():
        for one in sampled:
            if all(name in fields for name in one.fields):
                values = [fields[name] for name in one.fields]
                if one in ACROSS_NODES:
                    more = copies.get(entity, 0) + staged
                    values[1] = values[1] + more * _unit_of(one)
                if one in ACROSS_NODES and late_ps:
                    values = _at_later_rows(values, recording.times_ps, late_ps)
                found += _first_violation(one, values, entity, recording)
        if "bytes_max" in fields and len(recording.times_ps):
            if "frames_dropped" not in fields:
                raise MissingColumn(entity, "frames_dropped")
            most, dropped = int(fields["bytes_max"][-1]), int(fields["frames_dropped"][-1])
            found += _of_limits(limits, entity, most, dropped)
    return found + list(_beyond_rates(resolved, recording, late_ps))


def _injected_copies(resolved: ResolvedPlan) -> dict[str, int]:
    """Flow -> the most copies of its frames that the timeline adds."""
    found: dict[str, int] = {}
    for action in resolved.actions:
        if action.verb == "duplicate":
            found[action.key] = found.get(action.key, 0) + action.values["packets"]
    return found


def _staged_copies(resolved: ResolvedPlan, recording: Recording) -> np.ndarray:
    """int64[rows]: copies of frames that the stages of all links have added by then. Any flow's
    frames may be among them."""
    total = np.zeros(len(recording.times_ps), np.int64)
    ways = {way.entity for way in resolved.plan.directions() if resolved.is_staged(way.link)}
    for index, column in enumerate(recording.columns):
        if column.quantity == "frames_duplicated" and column.entity in ways:
            total += recording.values[:, index]
    return total


def _unit_of(one: Invariant) -> int:
    """The most that one frame more is, in the unit of an invariant between nodes."""
    return LONGEST if one is RECEIVED_OCTETS else 1


def _at_later_rows(
    values: list[np.ndarray], times_ps: np.ndarray, late_ps: int
) -> list[np.ndarray]:
    """The first of some samples, and the others at the first row that is later by `late_ps`.

    Without the last rows, which none follows so much later.
    """
    later = np.searchsorted(times_ps, times_ps + late_ps)
    later = later[later < len(times_ps)]
    return [values[0][: len(later)], *(value[later] for value in values[1:])]


def _of_limits(limits: Limits, name: str, most: int, dropped: int) -> Iterator[str]:
    capacity = limits.capacity.get(name)
    if capacity is not None and not CAPACITY.holds(most, capacity):
        yield f"{name}: {CAPACITY.name}: {CAPACITY.text} (bytes_max {most}, capacity {capacity})"
    if name in limits.lossless and not LOSSLESS.holds(dropped):
        yield f"{name}: {LOSSLESS.name}: {LOSSLESS.text} (frames_dropped {dropped})"


def _first_violation(
    one: Invariant, values: list[np.ndarray], of: str, recording: Recording | None
) -> list[str]:
    """First row of a world, or first sample, that violates an invariant, with its values."""
    holds = np.asarray(one.holds(*values), bool)
    if holds.all():
        return []
    row = int(np.flatnonzero(~holds)[0])
    pairs = zip(one.fields, values, strict=True)
    said = ", ".join(f"{name} {int(value[row])}" for name, value in pairs)
    where = f"{of}[{row}]" if recording is None else f"{of} at {_at(recording, row)}"
    return [f"{where}: {one.name}: {one.text} ({said})"]


def _at(recording: Recording, row: int) -> str:
    return f"{recording.times_ps[row] / 1e12:g} s"


def _sampled(recording: Recording) -> dict[str, dict[str, np.ndarray]]:
    """Entity -> field of its record -> samples; a quantity that it does not have was always 0."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for row, column in enumerate(recording.columns):
        field = FIELD_OF.get(column.quantity)
        if field is not None:
            found.setdefault(column.entity, {})[field] = recording.values[:, row]
    return found


FIELD_OF = {
    "queue_bytes": "bytes",
    "queue_max_bytes": "bytes_max",
    "queue_frames": "frames",
    "frames_dropped": "frames_dropped",
    "current_rate": "rate",
    "frames_sent": "frames_sent",
    "bytes_sent": "bytes_sent",
    "frames_received": "frames_received",
    "bytes_received": "bytes_received",
}
"""Sampled quantity -> the field that it is (`orchestrator.plan.metric_registry`)."""
FIELDS = frozenset(FIELD_OF.values()) - {"frames_dropped"}
"""Fields of the invariants of samples; of drops only the last sample is checked."""


def _beyond_rates(resolved: ResolvedPlan, recording: Recording, late_ps: int = 0) -> Iterator[str]:
    """Links that sent more in the run than their highest rate allows, plus one frame.

    `late_ps`: how late a sample may have been taken.
    """
    highest = {way.entity: resolved.plan.links[way.link].rate for way in resolved.plan.directions()}
    for action in resolved.actions:
        if action.kind == "link" and "rate" in action.values:
            for entity in action.entities:
                highest[entity] = max(highest[entity], action.values["rate"])
    times = recording.times_ps.astype(float) + late_ps
    allowed: dict[int, np.ndarray] = {}
    for row, column in enumerate(recording.columns):
        if column.quantity != "bytes_out" or column.entity not in highest:
            continue
        sent, rate = recording.values[:, row], highest[column.entity]
        # products exceed an int64: floats select the rows, Python integers decide
        if rate not in allowed:
            allowed[rate] = times * (rate * (1 - ROUNDED))
        near = np.flatnonzero((sent - LONGEST) * 8e12 > allowed[rate])
        for at in near.tolist():
            if (int(sent[at]) - LONGEST) * 8 * 10**12 > (
                int(recording.times_ps[at]) + late_ps
            ) * rate:
                yield (
                    f"{column.entity} at {_at(recording, at)}: rate of a link: no more octets than "
                    f"its rate allows, and one frame (bytes_out {sent[at]}, rate {rate})"
                )
                break
