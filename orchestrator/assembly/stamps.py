"""Room for stamps: which flows' frames have any, and whether it is enough for their ways."""

from __future__ import annotations

from orchestrator.capability import Capability
from orchestrator.engine.frames.stamps import HEAD_OCTETS, MOST_STAMPS, STAMP_OCTETS
from orchestrator.engine.workload import HEADERS
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.routes import path


def headers(hops: int) -> int:
    """Octets of a frame that are no part of a message, with room for the stamps of `hops`."""
    return HEADERS + (HEAD_OCTETS + STAMP_OCTETS * hops if hops else 0)


def room(resolved: ResolvedPlan, entry: str) -> int:
    """Hops whose stamps the segments of a traffic entry have room for.

    That is the most that a reaction point of its sources asks for, and 0 without a transport that
    leaves control to these. Raises BadInput where more ports than that stamp on a way of it.
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
    stamped, way = _longest(resolved, entry)
    if stamped > most:
        accepted = f"room for the stamps of {stamped} hops, which are on the way {way}"
        raise BadInput(resolved.plan.source, [Problem(where, most, accepted)])
    return most


def _longest(resolved: ResolvedPlan, entry: str) -> tuple[int, str]:
    """The most ports that stamp on a way of an entry, and that way's ends."""
    plan = resolved.plan
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    found = (0, "")
    for source, destination in dict.fromkeys(plan.traffic[entry].pairs):
        way = path(plan, table, known, source, destination)
        if isinstance(way, str):
            continue
        uses = [resolved.use("congestion_point", port.entity) for port in way]
        stamps = sum(u is not None and Capability.STAMPS in u.algorithm.needs for u in uses)
        found = max(found, (stamps, f"{source}>{destination}"))
    return found
