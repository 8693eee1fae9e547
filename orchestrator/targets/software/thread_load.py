"""Estimate of the core share that each data path thread needs for a plan, by a device profile.

Frames are counted as they would be with every flow on: a flow sends what its source says, or what
its link carries where the source does not say; a port that gets more than it serves cuts all
alike; controlled flows (by a reaction point, a transport, PAUSE) send no more than gets
through. A core needs 1 / (frames it forwards in a second) for a frame taken in and one sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from orchestrator.plan import Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.shortest_paths import path
from orchestrator.profile.profile_model import Profile
from orchestrator.targets.software.thread_assignment import shares

ACKNOWLEDGEMENT = 70
"""Octets of the answer to each segment of a transport, which goes all the way back."""


@dataclass
class Stream:
    """All flows that take one way with frames of one size."""

    ports: list[Port]
    frame: int
    offered: float
    """bit/s of all of them together."""
    known: bool
    """Whether their source says so."""
    controlled: bool
    answered: bool
    carried: list[float] = field(default_factory=list)
    """bit/s behind each port."""


@dataclass(frozen=True)
class Load:
    """Of the threads of a run: the share of a core that each needs, above 1: more than one."""

    groups: list[list[str]]
    shares: list[float]
    frames_per_s: float
    """Sent by all nodes together, at pace 1."""
    known: bool
    """Whether every source says at which rate it sends."""

    @property
    def most(self) -> float:
        """Of the busiest thread."""
        return max(self.shares, default=0.0)


def cores_of(plan: Plan, cores: int, asked: int | None = None) -> int:
    """Number of cores that the data path spins on: programs have one for themselves."""
    spinning = max(cores - 1, 1) if plan.programs else cores
    return min(spinning, asked or spinning)


def load_of(
    resolved: ResolvedPlan,
    profile: Profile,
    pace: float = 1.0,
    cores: int | None = None,
    *,
    at_best: bool = False,
) -> Load:
    """Load of a plan on the profile's machine at a pace; `cores` that the data path may spin on.

    `at_best`: by the best that was measured of what a core forwards, not by the usual.
    """
    plan = resolved.plan
    groups = shares(plan, cores_of(plan, profile.machine.cores, cores))
    streams = streams_of(resolved)
    spread(plan, streams)
    cost = _costs(profile, at_best)
    needs: dict[str, float] = defaultdict(float)
    frames_per_s = 0.0
    for stream in streams:
        each = float(np.interp(stream.frame, *cost))
        answer = float(np.interp(ACKNOWLEDGEMENT, *cost)) if stream.answered else 0.0
        for port, rate in zip(stream.ports, stream.carried, strict=True):
            frames = rate / 8 / stream.frame
            back = stream.carried[-1] / 8 / stream.frame if stream.answered else 0.0
            for node in (port.node, port.peer):
                needs[node] += (frames * each + back * answer) / 2
            frames_per_s += frames + back
    found = [pace * sum(needs[node] for node in group) for group in groups]
    return Load(groups, found, frames_per_s, all(stream.known for stream in streams))


def _costs(profile: Profile, at_best: bool) -> tuple[list[float], list[float]]:
    """Sizes in octets, and seconds of a core for a frame that is forwarded."""
    rows = sorted(profile.forwarding, key=lambda one: one.frame_octets)
    rates = [one.most_frames_per_s if at_best else one.frames_per_s for one in rows]
    return [float(one.frame_octets) for one in rows], [1 / rate for rate in rates]


def streams_of(resolved: ResolvedPlan) -> list[Stream]:
    """The ways that frames take, with what is offered to each."""
    plan = resolved.plan
    table = plan.routes()
    known = {port.entity: port for port in plan.ports()}
    paused = bool(resolved.uses.get("pause"))
    found: dict[tuple[str, str, str], Stream] = {}
    for flow in plan.flows():
        entry = plan.traffic[flow.entry]
        use = resolved.use("traffic", flow.entry)
        said = getattr(use.params, "rate", None) if use is not None else None
        rate = said if isinstance(said, int) else None
        for member in plan.groups.get(flow.destination, [flow.destination]):
            key = (flow.entry, flow.node, member)
            if key not in found:
                ports = path(plan, table, known, flow.node, member)
                if isinstance(ports, str):
                    continue
                held = resolved.use("reaction_point", flow.node) is not None
                answered = entry.transport is not None
                controlled = held or answered or paused
                found[key] = Stream(ports, entry.frame, 0.0, rate is not None, controlled, answered)
            line = plan.links[found[key].ports[0].link].rate
            found[key].offered += line if rate is None else rate
    return list(found.values())


def spread(plan: Plan, streams: Sequence[Stream]) -> None:
    """Fill `carried`: every port cuts what comes beyond its rate, all streams by the same share."""
    for stream in streams:
        stream.carried = [stream.offered] * len(stream.ports)
    room: dict[str, float] = {}
    for _ in range(max((len(stream.ports) for stream in streams), default=0)):
        asked: dict[str, float] = defaultdict(float)
        for stream in streams:
            for place, port in enumerate(stream.ports):
                asked[port.entity] += stream.carried[place - 1] if place else stream.offered
                room.setdefault(port.entity, float(_serves(plan, port)))
        for stream in streams:
            carried = stream.offered
            for place, port in enumerate(stream.ports):
                carried *= min(1.0, room[port.entity] / max(asked[port.entity], 1.0))
                stream.carried[place] = carried
    for stream in streams:
        if stream.controlled:
            stream.carried = [stream.carried[-1]] * len(stream.ports)


def _serves(plan: Plan, port: Port) -> int:
    """bit/s that a port sends at most."""
    line = plan.links[port.link].rate
    node = plan.nodes[port.node]
    if not isinstance(node, Switch):
        return line
    return min(node.service_of(port.name, line), line)
