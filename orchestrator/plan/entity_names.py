"""Names of the entities of a plan: ports, link directions, limiters, flows, and their kinds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from orchestrator.plan.forwarding_hosts import carries
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import External, Nic, Node, Sink, Switch


@dataclass(frozen=True)
class Port:
    """One end of a link. `entity` is its full name, `name` how its own node calls it."""

    node: str
    name: str
    link: str
    peer: str
    forward: bool
    """It is ends[0] of its link: it sends along `delay`, the other end along `delay_back`."""

    @property
    def entity(self) -> str:
        """Name as in results: switch.sink."""
        return f"{self.node}.{self.name}"

    @property
    def input(self) -> str:
        """Name of its input side, where its switch has inputs: switch.nic/in."""
        return f"{self.entity}/in"


@dataclass(frozen=True)
class Direction:
    """One way of a link, from the port that sends to the port that receives."""

    entity: str
    """Name as in results: nic1>switch, or up1:nic1>switch where links are parallel."""
    link: str
    sender: Port
    receiver: Port

    def stage(self, index: int) -> str:
        """Name of a stage of the link this way, from 0, as in results: nic1>switch/stage1."""
        return f"{self.entity}/stage{index + 1}"


def stage_holder(link: str, index: int) -> str:
    """Key of `ResolvedPlan.uses` for a stage of a link, from 0: the link itself for the first."""
    return f"{link}/stage{index + 1}" if index else link


def flow_scheduler_holder(node: str) -> str:
    """Key of `ResolvedPlan.uses` for the scheduler of a NIC's flows: the NIC itself is that of the
    scheduler of its lanes."""
    return f"{node}/flows"


def link_of(holder: str) -> str:
    """The link, or link direction, of a stage: of names as `stage_holder` and `Direction.stage`
    make them."""
    return holder.partition("/")[0]


def stage_index(name: str) -> int:
    """The number of a stage, from 0, of a name that `stage_holder` or `Direction.stage` makes."""
    return int(name.partition("/stage")[2] or 1) - 1


@dataclass(frozen=True)
class Flow:
    """One generator of a traffic entry."""

    entity: str
    entry: str
    index: int
    node: str
    destination: str
    members: tuple[str, ...] = ()
    """The nodes of the group that it is sent to; none: `destination` is a node."""

    def at(self, member: str) -> str:
        """Name of what one member of the group receives: gen1.0@sink."""
        return f"{self.entity}@{member}"


@dataclass(frozen=True)
class Lane:
    """Priorities that share a queue and are paused together, on every port."""

    suffix: str
    """Suffix of its queues and links behind the port's name: /p3; empty for a sole lane."""
    priorities: tuple[int, ...]


@memoized
def lanes(plan: PlanModel) -> list[Lane]:
    """One lane, or one for each priority in use; the first one takes all that are not.

    Where some are lossy that is the first lossy one: PFC names the priorities that it holds alone.
    """
    first = {entry.priority for entry in plan.traffic.values()}
    first |= {entry.acknowledged_in() for entry in plan.traffic.values()}
    if plan.priorities == "shared" or not {*first, *plan.more_priorities}:
        return [Lane("", tuple(range(8)))]
    if plan.headers.priority == "dscp":
        first |= _classes(plan, first)
    used = sorted({*first, *plan.more_priorities})
    rest = tuple(priority for priority in range(8) if priority not in used)
    held = {priority for node in plan.nodes.values() for priority in _held_priorities(node)}
    takes_rest = next((priority for priority in used if priority not in held), used[0])
    return [Lane(f"/p{p}", (p, *(rest if p == takes_rest else ()))) for p in used]


def own_priorities(plan: PlanModel) -> set[int]:
    """Priorities with a lane of their own; none where all share one."""
    return {lane.priorities[0] for lane in lanes(plan) if lane.suffix}


def _classes(plan: PlanModel, priorities: set[int]) -> set[int]:
    """Priorities that frames of hosts have at switches, by their DSCP."""
    code_points = {plan.headers.code_points()[priority] for priority in priorities}
    switches = [node for node in plan.nodes.values() if isinstance(node, Switch)]
    maps = [plan.headers.classes(switch) for switch in switches]
    return {classes[dscp] for classes in maps for dscp in code_points}


def has_remapping(plan: PlanModel) -> bool:
    """True if a switch gives frames another priority, by their DSCP, than their host did: a PFC of
    one priority may then not hold the lane that the frames come from."""
    if plan.headers.priority != "dscp":
        return False
    code_points = plan.headers.code_points()
    used = {entry.priority for entry in plan.traffic.values()} | set(plan.more_priorities)
    used |= {entry.acknowledged_in() for entry in plan.traffic.values()}
    switches = [node for node in plan.nodes.values() if isinstance(node, Switch)]
    maps = [plan.headers.classes(switch) for switch in switches]
    return any(classes[code_points[p]] != p for classes in maps for p in used)


def _held_priorities(node: Node) -> list[int]:
    """Priorities that a node names as those which its pauses hold."""
    if not isinstance(node, Switch):
        return []
    of_inputs = node.inputs.pause_priorities if node.inputs is not None else None
    return [*(node.pause_priorities or []), *(of_inputs or [])]


@memoized
def directions(plan: PlanModel) -> list[Direction]:
    """Every direction of every link, in the order of the plan, ends[0] -> ends[1] first."""
    pairs = Counter(frozenset(link.ends) for link in plan.links.values())
    found = []
    for name, link in plan.links.items():
        parallel = pairs[frozenset(link.ends)] > 1
        first, second = link.ends
        here = Port(first, name if parallel else second, name, second, True)
        there = Port(second, name if parallel else first, name, first, False)
        prefix = f"{name}:" if parallel else ""
        found.append(Direction(f"{prefix}{first}>{second}", name, here, there))
        found.append(Direction(f"{prefix}{second}>{first}", name, there, here))
    return found


def ports(plan: PlanModel) -> list[Port]:
    """Every port, in the order of the links."""
    return [direction.sender for direction in directions(plan)]


@memoized
def flows(plan: PlanModel) -> list[Flow]:
    """Every flow, in the order of the plan: gen1.0, gen1.1 ...; gen1 when it is alone."""
    found = []
    for name, entry in plan.traffic.items():
        ends = [pair for pair in entry.pairs for _ in range(entry.flows)]
        for index, (source, destination) in enumerate(ends):
            entity = name if len(ends) == 1 else f"{name}.{index}"
            members = tuple(plan.groups.get(destination, ()))
            found.append(Flow(entity, name, index, source, destination, members))
    return found


def limiters(plan: PlanModel) -> dict[str, list[str]]:
    """NIC -> its limiters; a NIC without a reaction point has none."""
    return {
        name: [f"{name}.rp{index}" for index in range(node.reaction_points)]
        for name, node in plan.nodes.items()
        if isinstance(node, Nic) and node.reaction_point is not None
    }


def is_ours(plan: PlanModel, node: str) -> bool:
    """True if a node is one that a target runs: what it does is sampled."""
    return not isinstance(plan.nodes.get(node), External)


def entities(plan: PlanModel) -> dict[str, frozenset[str]]:
    """Everything that can have metrics -> its kinds, those of orchestrator.plan.metric_registry.

    A port can be captured (kind "end"); of a switch its queues have metrics. Of an external node
    and its ports, and of nothing else there, what our own ports see of them has.
    """
    named: list[tuple[str, str]] = []
    suffixes = [lane.suffix for lane in lanes(plan)]
    for port in ports(plan):
        node = plan.nodes.get(port.node)
        if isinstance(node, External):
            named.append((port.entity, "external port"))
            continue
        named.append((port.entity, "end"))
        if carries(plan, port.node):
            named += [(port.entity + suffix, "port") for suffix in suffixes]
        if isinstance(node, Switch):
            named += [(port.input + suffix, "input") for suffix in suffixes if node.inputs]
    ours = [way for way in directions(plan) if is_ours(plan, way.sender.node)]
    if any(suffixes):
        named += [(way.entity + suffix, "lane") for way in ours for suffix in suffixes]
    named += [(direction.entity, "link") for direction in ours]
    for way in ours:
        if isinstance(plan.links[way.link].delay_line, tuple):
            count = len(plan.links[way.link].stages)
            named += [(way.stage(index), "stage") for index in range(count)]
    named += [(limiter, "limiter") for mine in limiters(plan).values() for limiter in mine]
    named += [(name, "nic") for name, node in plan.nodes.items() if isinstance(node, Nic)]
    named += [(name, "sink") for name, node in plan.nodes.items() if isinstance(node, Sink)]
    named += [(name, "entry") for name in plan.traffic]
    for flow in flows(plan):
        named.append((flow.entity, "multicast" if flow.members else "flow"))
        named += [(flow.at(member), "copy") for member in flow.members]
    for name, node in plan.nodes.items():
        if isinstance(node, Switch):
            named.append((name, "external" if isinstance(node, External) else "switch"))
    named += [("traffic", "traffic"), ("network", "network")]
    named.append(("traffic", "traffic"))
    named += [(name, "messages") for name in (*plan.traffic, "traffic")]
    kinds: dict[str, frozenset[str]] = {}
    for name, kind in named:
        kinds[name] = kinds.get(name, frozenset()) | {kind}
    return kinds
