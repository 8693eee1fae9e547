"""Clocks of NICs and phases of sources, each drawn from the plan's seed by the name of its owner.

Equal sources on equal links keep the distances that they begin with for ever. At a queue that is
full the same one of them then finds room each time, which no network does: its clocks differ, and
nothing begins at the same instant (phase effects: Floyd and Jacobson, 1991).
"""

from __future__ import annotations

from orchestrator.assembly.world_builder import SeededField
from orchestrator.engine.lfsr import drawn_below
from orchestrator.engine.node.transmitter import BIT_PS, CLOCK_BITS
from orchestrator.plan import External, Nic, Node, Plan, ResolvedPlan, Switch
from orchestrator.plan.entity_names import Flow
from orchestrator.plan.plugin_catalog import Use

PPM = 10**6
IN_ENGINE = frozenset({"simulated", "software"})
"""Targets whose switches are the engine's. Those in gateware, and devices of others, drop what
comes to a full queue."""


def draws_for_room(plan: Plan, node: Node) -> bool:
    """True if a switch, or a host that forwards, draws which of the frames that arrive together a
    full queue takes."""
    if plan.phase == "aligned" or not isinstance(node, Switch | Nic) or isinstance(node, External):
        return False
    return (node.target or plan.target) in IN_ENGINE


def drift(plan: Plan, array: str, row: int, node: str) -> list[SeededField]:
    """Drift of the clock of a NIC for a row of a port or flow of it; none for other nodes."""
    if plan.clock_ppm == 0 or not isinstance(plan.nodes[node], Nic):
        return []
    most = (plan.clock_ppm << CLOCK_BITS) // PPM
    return [SeededField(array, row, "drift", f"{node}/clock", below=most + 1, apart=True)]


def interval(plan: Plan, flow: Flow, use: Use, rate: int) -> int:
    """ps that the phases of a flow are drawn from: of one of its frames on its link of `rate`
    (bit/s) or, where its source has a lower rate, from one frame to the next."""
    own = getattr(use.params, "rate", rate)
    return max(plan.traffic[flow.entry].frame * BIT_PS // min(rate, own), 1)


def phase(resolved: ResolvedPlan, flow: Flow, use: Use, rate: int) -> int:
    """ps by which the messages of a flow begin later than their schedule has them."""
    plan = resolved.plan
    if plan.phase == "aligned":
        return 0
    return drawn_below(plan.seed, f"{flow.entity}/phase", interval(plan, flow, use, rate))


def drawn_phase(
    resolved: ResolvedPlan, row: int, flow: Flow, use: Use, rate: int
) -> list[SeededField]:
    """The same for a source that makes frames, as what each seed draws anew."""
    plan = resolved.plan
    if plan.phase == "aligned":
        return []
    below = interval(plan, flow, use, rate)
    return [SeededField("flows", row, "phase", f"{flow.entity}/phase", below=below, apart=True)]
