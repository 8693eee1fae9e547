"""Lossless and lossy lanes of a switch: the priorities that its pauses hold, and the others.

`pause_priorities` of a switch, or of its inputs, names the priorities that its pause holds, as the
PFC enable vector of IEEE 802.1Qbb does. Lanes of all others are lossy: no buffer of theirs pauses
a neighbour, and what finds one full is dropped. At inputs `lossy_buffer` is their limit.
`obeys_pfc` of a switch or NIC is the other direction: the priorities that PFC from a neighbour
stops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan.entity_names import Lane, lanes, own_priorities
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Inputs, Node, Sink, Switch
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.units import format_size


def is_lossless(plan: PlanModel, holder: str, lane: Lane) -> bool:
    """True if the pause of a port's queue (s.a) or input (s.a/in), where it has one, holds a lane
    of it."""
    node = plan.nodes[holder.partition(".")[0]]
    if not isinstance(node, Switch):
        return True  # a host that forwards has no pause
    named = node.inputs if holder.endswith("/in") else node
    return named is None or named.holds(lane.priorities[0])


def input_room(inputs: Inputs, lane: Lane) -> int:
    """Octets that one lane of an input takes."""
    if inputs.lossy_buffer is None or inputs.holds(lane.priorities[0]):
        return inputs.buffer
    return inputs.lossy_buffer


def obeys_pfc(node: Node, priority: int) -> bool:
    """True if PFC that a node receives for a priority stops the lane of that."""
    if isinstance(node, Sink) or node.obeys_pfc is None:
        return True
    return priority in node.obeys_pfc


def has_own_limit(plan: PlanModel, holder: str, lane: Lane) -> bool:
    """True if a lane of an input (s.a/in) takes `lossy_buffer` octets, and not `buffer`, or one of
    an output (s.a) as many as the switch has memory."""
    node = plan.nodes[holder.partition(".")[0]]
    if not isinstance(node, Switch) or node.inputs is None:
        return False
    if not holder.endswith("/in"):
        return is_unlimited(node, lane)
    return node.inputs.lossy_buffer is not None and not node.inputs.holds(lane.priorities[0])


def is_unlimited(node: Switch, lane: Lane) -> bool:
    """True if no output of a switch limits a lane: its inputs pause it and have headroom for it."""
    inputs = node.inputs
    return inputs is not None and inputs.headroom is not None and inputs.holds(lane.priorities[0])


def memory_octets(inputs: Inputs, ports: int) -> int:
    """Octets of shared memory of a switch with so many ports, headroom included; 0: it has none."""
    if inputs.shared_memory is None:
        return 0
    return inputs.shared_memory + ports * (inputs.headroom or 0)


def lossless_problems(plan: PlanModel, pauses: Mapping[str, Use]) -> Iterator[Problem]:
    """Problems of `pause_priorities`, `obeys_pfc` and `lossy_buffer`; `pauses`: uses by port or
    input."""
    for name, node in plan.nodes.items():
        if isinstance(node, Sink):
            continue
        yield from _without_lane(plan, f"nodes.{name}.obeys_pfc", node.obeys_pfc or [])
        if not isinstance(node, Switch):
            continue
        mine = {holder: use for holder, use in pauses.items() if holder.partition(".")[0] == name}
        of_inputs = {use.algorithm.name: use for at, use in mine.items() if at.endswith("/in")}
        others = {use.algorithm.name: use for at, use in mine.items() if not at.endswith("/in")}
        yield from _named(plan, f"nodes.{name}", node.pause_priorities, others)
        if node.inputs is not None:
            where = f"nodes.{name}.inputs"
            yield from _named(plan, where, node.inputs.pause_priorities, of_inputs)
            yield from _lossy_buffer(plan, where, node.inputs)


def _named(
    plan: PlanModel, where: str, named: list[int] | None, uses: Mapping[str, Any]
) -> Iterator[Problem]:
    """Priorities need a lane of their own, and a pause that can hold one lane and not another."""
    if named is None:
        return
    where += ".pause_priorities"
    if not uses:
        yield Clash(where, named, "no pause is there that could hold them; 'pause' is expected")
    for called, use in uses.items():
        if not getattr(use.algorithm, "own_lane", False):
            text = (
                f"'{called}' holds all priorities; a pause of one each is expected, such as 'pfc'"
            )
            yield Clash(where, named, text)
        elif getattr(use.algorithm, "grants", False):
            text = f"'{called}' grants credit for all priorities; 'pfc' is expected"
            yield Clash(where, named, text)
    yield from _without_lane(plan, where, named)


def _without_lane(plan: PlanModel, where: str, named: list[int]) -> Iterator[Problem]:
    """Priorities that share their lane with others, which a key cannot name alone."""
    own = own_priorities(plan)
    for priority in named:
        if priority not in own:
            text = (
                f"priority {priority} has no lane of its own; traffic of it with priorities = "
                f'"separate" is expected, or more_priorities = [{priority}]'
            )
            yield Clash(where, priority, text)


def _lossy_buffer(plan: PlanModel, where: str, inputs: Inputs) -> Iterator[Problem]:
    """A limit of lossy lanes needs one, and takes the longest frame."""
    if inputs.lossy_buffer is None:
        return
    where += ".lossy_buffer"
    if all(inputs.holds(lane.priorities[0]) for lane in lanes(plan)):
        text = "no lane is lossy; 'pause_priorities' is expected to name fewer priorities"
        yield Clash(where, format_size(inputs.lossy_buffer), text)
    longest = max((entry.frame for entry in plan.traffic.values()), default=0)
    if inputs.lossy_buffer < longest:
        accepted = f"at least the longest frame, {format_size(longest)}, is expected"
        yield Problem(where, format_size(inputs.lossy_buffer), accepted)
