"""Sample columns: one per sampled quantity, each a field of the memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.algorithm import Algorithm
from orchestrator.assembly.injector_rows import injector_rows, stage_rows
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import STATE_OF
from orchestrator.errors import BadInput
from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.plan.endpoint_metrics import (
    ACKNOWLEDGED,
    CREDITS,
    FEEDBACK,
    NOTIFIES,
    RECEIVED,
    RESENT,
    SOURCE,
)
from orchestrator.plan.entity_names import is_ours, stage_holder
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.link_metrics import INJECTED, STAGED
from orchestrator.plan.lossless_lanes import is_lossless
from orchestrator.plan.metric import MARKS, WATCHDOG, Sampled
from orchestrator.plan.metric_registry import ENTITIES, conditions_of, samples_of
from orchestrator.plan.plugin_catalog import OUTPUT_PLUGINS, Use
from orchestrator.plan.queue_metrics import ROUTES
from orchestrator.plan.row_order import in_row_order
from orchestrator.plan.timeline_actions import injections_at
from orchestrator.recording import ACTIVE, RTT, Column

# Sample rows: one for each instant.
#
# A mark that lies on the sampling grid gives two rows of one time: what was there when the grid's
# turn came, and what was there after all that the instant brought. The later one stays.


def rows_at_distinct_times(
    times: np.ndarray, values: np.ndarray, *, in_place: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`times` int64[n] and `values` int64[n, m] without the rows that another one of their time
    follows.

    `in_place`: `values` may be written to, and what is given lies in it. Of hundreds of megabytes
    a second copy is then not made; where rows do not lie one behind the other it is made all the
    same.
    """
    keep = np.ones(len(times), bool)
    keep[:-1] = times[1:] != times[:-1]
    rows = np.flatnonzero(keep)
    if not (in_place and values.flags.c_contiguous and values.flags.writeable):
        return times[rows], values.take(rows, axis=0)
    _close_gaps(values, rows)
    return times[rows], values[: len(rows)]


def _close_gaps(values: np.ndarray, rows: np.ndarray) -> None:
    """Move the rows of these numbers, which grow, to the front: whole stretches at a time.

    They are moved as one dimension: numpy would copy overlapping tables, but not lists.
    """
    flat, width = values.reshape(-1), values.shape[1]
    to = 0
    for stretch in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        length = len(stretch) * width
        if length and int(stretch[0]) * width != to:
            begin = int(stretch[0]) * width
            flat[to : to + length] = flat[begin : begin + length]
        to += length


@dataclass(frozen=True, slots=True)
class Probe:
    """A column and where its values lie. `owner` is the node whose world has them."""

    column: Column
    owner: str
    array: str
    index: int
    field: str


def begins_with(algorithm: Algorithm) -> str:
    """The quantity that is 0 until gauges of an algorithm's state have a value; empty: none is.

    The state of a reaction point is of a flow: nothing is known of it before there is one, nor
    before the first acknowledgement where the algorithm works with these.
    """
    if algorithm.kind != "reaction_point":
        return ""
    return RTT if algorithm.hears_acknowledgements else ACTIVE


def probes(resolved: ResolvedPlan, indices: Indices) -> list[Probe]:
    """All columns of a plan, in the order of the plan.

    Raises BadInput where an algorithm calls one as another series of its place is called.
    """
    plan = resolved.plan
    written = indices if in_row_order(plan) is plan else Indices(plan, as_written=True)
    found: list[Probe] = []

    def add(
        quantities: tuple[Sampled, ...],
        node: str,
        entity: str,
        array: str,
        index: int,
        owner: str | None = None,
    ) -> None:
        for sampled in quantities:
            column = Column(node, entity, sampled.quantity, sampled.unit, sampled.kind)
            found.append(Probe(column, owner or node, array, index, sampled.record_field))

    def observe(kind: str, holder: str, node: str, entity: str, instance: str) -> None:
        """Probes of the observables of an algorithm's state, which has the instance's name."""
        use = resolved.use(kind, holder)
        if use is None:
            return
        algorithm, state = use.algorithm, STATE_OF + instance
        for one in algorithm.columns:
            known = one.known or (begins_with(algorithm) if one.kind == "gauge" else "")
            column = Column(
                node, entity, one.field, one.unit, one.kind, one.metric(algorithm.name), known
            )
            found.append(Probe(column, node, state, 0, one.field))
        shown = {one.field for one in algorithm.columns}
        for field in sorted({one.known for one in algorithm.columns if one.known} - shown):
            found.append(Probe(Column(node, entity, field, "1", "gauge"), node, state, 0, field))

    for holder, names in written.buffers.items():
        at_switch, at_input = indices.port_of[holder].node, holder in indices.inputs
        if not is_ours(plan, at_switch):
            continue
        point = resolved.use("congestion_point", holder)
        watched = resolved.use("watchdog", holder) is not None
        for name, lane in zip(names, indices.lanes, strict=True):
            row = indices.queues[name]
            place = "input" if at_input else "port"
            for when in ("", *conditions_of(place)):
                if _is_sampled(when, point, watched=watched, at_input=at_input):
                    add(samples_of(place, when), at_switch, name, "queues", row)
            for kind in OUTPUT_PLUGINS:
                if kind != "pause" or is_lossless(plan, holder, lane):
                    observe(kind, holder, at_switch, name, f"{name}/{kind}")
    several = len(indices.lanes) > 1
    injectors, injected = injector_rows(resolved), injections_at(resolved.actions)
    stages_of = stage_rows(resolved, indices)
    for entity, way in written.directions.items():
        if not is_ours(plan, way.sender.node):
            continue
        row = indices.port_rows[way.sender.entity]
        add(samples_of("link"), way.sender.node, entity, "ports", row)
        if entity in injected:
            added = samples_of("link", INJECTED)
            add(added, way.sender.node, entity, "injectors", injectors[entity])
        if resolved.is_staged(way.link):
            added = samples_of("link", STAGED)
            add(added, way.sender.node, entity, "injectors", injectors[entity])
        for number, lane in enumerate(indices.lanes if several else ()):
            lane_row = row * len(indices.lanes) + number
            add(ENTITIES["lane"], way.sender.node, entity + lane.suffix, "lanes", lane_row)
        if not isinstance(plan.links[way.link].delay_line, tuple):
            observe("delay_line", way.link, way.sender.node, entity, entity)
            continue
        for index, row in enumerate(stages_of[entity]):
            stage, holder = way.stage(index), stage_holder(way.link, index)
            add(ENTITIES["stage"], way.sender.node, stage, "stages", row)
            observe("delay_line", holder, way.sender.node, stage, stage if index else entity)
    for nic, limiters in plan.limiters().items():
        point = resolved.use("reaction_point", nic)
        for limiter in limiters:
            row = indices.limiters[limiter]
            add(samples_of("limiter"), nic, limiter, "limiters", row)
            observe("reaction_point", nic, nic, limiter, limiter)
            add(samples_of("limiter", FEEDBACK), nic, limiter, "limiters", row)
            if point is not None and point.algorithm.hears_acknowledgements:
                add(samples_of("limiter", ACKNOWLEDGED), nic, limiter, "limiters", row)
        add(samples_of("nic"), nic, nic, "nodes", indices.nodes[nic])
    for holder in written.nodes:
        row = indices.nodes[holder]
        if resolved.use("notification_point", holder):
            add(samples_of("nic", NOTIFIES), holder, holder, "nodes", row)
            observe("notification_point", holder, holder, holder, f"{holder}/notification_point")
        if resolved.use("receiver", holder):
            add(samples_of("nic", CREDITS), holder, holder, "nodes", row)
            observe("receiver", holder, holder, holder, f"{holder}/receiver")
    for flow in plan.flows():
        row = indices.flows[flow.entity]
        add(samples_of("flow", SOURCE), flow.node, flow.entity, "flows", row)
        observe("traffic", flow.entry, flow.node, flow.entity, flow.entity)
        observe("transport", flow.entry, flow.node, flow.entity, f"{flow.entity}/transport")
        carrier = resolved.use("transport", flow.entry)
        for when in () if carrier is None else (RESENT, *carrier.algorithm.counts):
            add(samples_of("flow", when), flow.node, flow.entity, "flows", row)
        if not flow.members:
            to = flow.destination
            add(samples_of("flow", RECEIVED), flow.node, flow.entity, "flows", row, to)
        for member in flow.members:
            copy = indices.flows[flow.at(member)]
            add(samples_of("flow", RECEIVED), flow.node, flow.at(member), "flows", copy, member)
    for name, placed in plan.nodes.items():
        restores = isinstance(placed, Switch) and placed.reassembly is not None
        if restores and is_ours(plan, name):
            add(samples_of("switch"), name, name, "nodes", indices.nodes[name])
        routes = isinstance(placed, Switch) and placed.forwards_by == "ip"
        if routes and is_ours(plan, name):
            add(samples_of("switch", ROUTES), name, name, "nodes", indices.nodes[name])
    _refuse_repeated(plan.source, found)
    return found


def _is_sampled(when: str, point: Use | None, *, watched: bool, at_input: bool) -> bool:
    """True if a queue with this congestion point has samples of this condition."""
    if when == MARKS:
        return point is not None and (not at_input or point.params.marks())
    if when in ("", WATCHDOG):
        return watched or not when
    drops = when == "drops" and watched  # a watchdog drops as well
    return drops or (point is not None and bool(getattr(point.algorithm, when)))


def _refuse_repeated(source: str, found: list[Probe]) -> None:
    """One series would be read for the other."""
    seen = set[tuple[str, str]]()
    for column in (probe.column for probe in found):
        if (column.entity, column.quantity) in seen:
            text = f"two series of {column.entity} are called {column.quantity!r}"
            raise BadInput(source, [Clash(column.entity, column.quantity, text)])
        seen.add((column.entity, column.quantity))
