"""Plan with the delays of a real-time machine: its device profile applied to every link.

Each link gets the delay line `host-jitter`. A run's data path drives the nodes in two threads; a
link takes as long as both of its ends do, at the load that they would have.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan
from orchestrator.plan.units import format_duration, format_size
from orchestrator.profile.profile_model import Profile
from orchestrator.registry import Registry
from orchestrator.targets.software.capacity_advice import nearest
from orchestrator.targets.software.thread_io import LEAST_HORIZON_PS
from orchestrator.targets.software.thread_load import load_of
from orchestrator.targets.software.timing_demand import demand_of

PLUGIN, ORDINARY = "host-jitter", "fixed-delay"


def emulate_machine(
    plan: Plan, profile: Profile, file: Path, pace: float = 1.0, cores: int | None = None
) -> Plan:
    """The plan with the machine's times on every link. Raises BadInput for a plan whose links have
    delay lines of their own, or that has programs, which cannot be simulated."""
    resolved = plan.check(Registry.load())
    own = [
        Problem(
            f"links.{name}.delay_line.plugin",
            ", ".join(stage.plugin for stage in link.stages),
            f"a link as a machine serves it has {ORDINARY}: leave out --as, or this delay line",
        )
        for name, link in plan.links.items()
        if any(stage.plugin != ORDINARY for stage in link.stages)
    ]
    if own:
        raise BadInput(plan.source, own)
    load = load_of(resolved, profile, pace, cores)
    thread = {node: number for number, group in enumerate(load.groups) for node in group}
    most = max(demand_of(resolved).horizon_ps, LEAST_HORIZON_PS)
    data = resolved.plan.to_table()
    worst_ns = max(one.link_quantiles_ns[-1] for one in profile.departures)
    for name, link in resolved.plan.links.items():
        near, far = (thread[end] for end in link.ends)
        table = data["links"][name]
        table["delay_line"] = {
            "plugin": PLUGIN,
            "profile": str(file.resolve()),
            "load_index": nearest(profile, max(load.shares[near], load.shares[far])),
            "thread": near,
            "peer_thread": far,
            "max_shift": format_duration(most),
            "pace": pace,
        }
        # what is late is not in the data path's line: it must not fill the simulated one
        late_ps = most + int(worst_ns * 1000 * pace)
        table["buffer"] = format_size(link.buffer + link.rate * late_ps // (8 * 10**12) + 1)
    return plan.with_data(data)
