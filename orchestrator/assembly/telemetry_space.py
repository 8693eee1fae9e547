"""Space for telemetry stamps in the frames of each flow, and a check against its paths."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.algorithm import Algorithm
from orchestrator.capability import Capability
from orchestrator.engine.frames.telemetry_header import HEAD_OCTETS, MOST_STAMPS, STAMP_OCTETS
from orchestrator.engine.workload import HEADERS
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.shortest_paths import path


def headers(hops: int, octets: int = HEADERS) -> int:
    """Octets of a frame that are no part of a message, with room for the stamps of `hops` behind
    `octets` of other headers."""
    return octets + (HEAD_OCTETS + STAMP_OCTETS * hops if hops else 0)


def room(resolved: ResolvedPlan, entry: str) -> int:
    """Hops whose stamps the segments of a traffic entry have room for.

    That is the most that a reaction point of its sources asks for, and 0 without a transport that
    leaves control to these. Raises BadInput where more ports than that stamp on a way of it, or
    where ports that let a frame keep one stamp are among others, or meet room for several.
    """
    carrier = resolved.use("transport", entry)
    if carrier is None or not carrier.algorithm.leaves_control:
        return 0
    sources = sorted({source for source, _ in resolved.plan.traffic[entry].pairs})
    points = {source: resolved.use("reaction_point", source) for source in sources}
    asked = {source: use.params.stamped_hops() for source, use in points.items() if use is not None}
    most = max(asked.values(), default=0)
    if most == 0:
        return 0
    source = next(name for name, hops in asked.items() if hops == most)
    where = f"nodes.{source}.reaction_point"
    if most > MOST_STAMPS:
        accepted = f"room for the stamps of at most {MOST_STAMPS} hops"
        raise BadInput(resolved.plan.source, [Problem(where, most, accepted)])
    for way, uses in _stamped_paths(resolved, entry):
        if wrong := _shortage(most, way, [use.algorithm for use in uses]):
            raise BadInput(resolved.plan.source, [Problem(where, most, wrong)])
    return most


def _shortage(most: int, way: str, points: list[Algorithm]) -> str:
    """Accepted value if the room for so many stamps is too small for a path; "" if it is enough.

    `points` are the congestion points that stamp on it.
    """
    alone = [point.name for point in points if point.keeps_one_stamp]
    if not alone:
        needed = f"room for the stamps of {len(points)} hops, which are on the way {way}"
        return needed if len(points) > most else ""
    if most > 1:
        return f"room for 1 stamp: {alone[0]} has frames keep a single one on the way {way}"
    others = [point.name for point in points if not point.keeps_one_stamp]
    return f"either {alone[0]} or {others[0]} at all ports of the way {way}" if others else ""


def _stamped_paths(resolved: ResolvedPlan, entry: str) -> Iterator[tuple[str, list[Use]]]:
    """The ways of an entry, by their ends, and the congestion points that stamp on each."""
    plan = resolved.plan
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    for source, destination in dict.fromkeys(plan.traffic[entry].pairs):
        way = path(plan, table, known, source, destination)
        if isinstance(way, str):
            continue
        uses = [resolved.use("congestion_point", port.entity) for port in way]
        stamping = [u for u in uses if u is not None and Capability.STAMPS in u.algorithm.needs]
        yield f"{source}>{destination}", stamping
