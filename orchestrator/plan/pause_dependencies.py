"""Pause dependencies of a network: which links wait for each other by PAUSE, PFC or credits.

A link that is held waits for the buffer that holds it, and that buffer for the links by which its
frames leave. The links (in each lane) and these waits are a graph, the cyclic buffer dependency of
the literature: where it has no ring, no traffic of the plan can bring about a deadlock; where it
has one, some traffic may. Looked at are the routes of every flow (all of them where a switch
spreads frames or flows), its lane and those that congestion points send it on in, and the buffers
that pause their neighbours:

- of an input, which holds the link that leads there until its frames have left by theirs;
- before an output, which holds all links that lead to its switch, whatever frames are in it.

Only links between switches are looked at: a NIC waits for no link, and no link waits for a NIC.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.plan.entity_names import Direction, has_remapping
from orchestrator.plan.lossless_lanes import is_lossless, obeys_pfc
from orchestrator.plan.plan_tables import Nic, Switch
from orchestrator.plan.shortest_paths import Hops, Tree, distances, tree

if TYPE_CHECKING:
    from orchestrator.plan.plan import ResolvedPlan
    from orchestrator.plan.plugin_catalog import Use

ANY_RATE = 10**9
"""bit/s: above which mark a pause stops its neighbours does not depend on it."""
Outs = Callable[[str], Iterable[str]]
"""Switch -> names of the ports by which frames of one kind leave it."""
Starts = dict[tuple[str, str], str]
"""(switch, lane) where frames of one kind enter the network -> whose they are, for people."""


@dataclass(frozen=True)
class Wait:
    """One link waits for another: the buffer that makes it wait, its plugin, some traffic."""

    buffer: str
    plugin: str
    traffic: str


@dataclass
class Network:
    """Graph of waits between links. Links are named as in results, with their lane: s1>s2/p3."""

    waits: dict[tuple[str, str], Wait] = field(default_factory=dict)
    """(held link, link that it waits for) -> why."""
    pausing: int = 0
    """Number of buffers that pause their neighbours."""
    switch_links: int = 0
    """Number of directions of links between switches that carry frames, in each lane."""
    ended_by: dict[str, str] = field(default_factory=dict)
    """Link whose sender has a watchdog that ends a hold -> the plugin's name."""
    unknown: tuple[str, ...] = ()
    """Facts that a plan leaves open, and the assumption made."""


def network(resolved: ResolvedPlan, *, any_traffic: bool = False) -> Network:
    """The waits of a plan; with `any_traffic` every NIC sends to every node in every lane."""
    return _Walk(resolved).network(any_traffic)


class _Walk:
    """Follows the frames of a plan through its switches, destination by destination."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        plan = resolved.plan
        self._resolved, self._plan = resolved, plan
        self._current_columns = distances(plan)
        self._switches = set(self._current_columns.switches)
        self._by_port = {way.sender.entity: way for way in plan.directions()}
        self._lanes = [lane.suffix for lane in plan.lanes()]
        self._lane_named = {lane.suffix: lane for lane in plan.lanes()}
        self._lane_of = {p: lane.suffix for lane in plan.lanes() for p in lane.priorities}
        self._hops: dict[str, Hops] = {}
        self._moves = {port: self._moved_to(port) for port in self._by_port}
        self._pauses: dict[str, Use] = resolved.uses.get("pause", {})
        self._carried: dict[tuple[str, str], str] = {}
        """(entity of a direction between switches, lane) that carries frames -> whose, first."""
        self._turns: dict[tuple[str, str, str, str], str] = {}
        """(direction, lane, next direction, its lane) -> whose frames, first."""
        self._seen: set[tuple[object, ...]] = set()

    def network(self, any_traffic: bool) -> Network:
        """Everything."""
        found = Network(pausing=len(self._pauses), unknown=tuple(self._unknown()))
        if not self._pauses:
            return found
        for outs, starts in self._kinds(any_traffic):
            self._follow(outs, starts)
        found.switch_links = len(self._carried)
        self._behind_inputs(found)
        self._before_outputs(found)
        for way in self._by_port.values():
            use = self._resolved.uses.get("watchdog", {}).get(way.sender.entity)
            if use is not None and getattr(use.params, "action", "") != "alert":
                found.ended_by |= {way.entity + lane: use.algorithm.name for lane in self._lanes}
        return found

    def _moved_to(self, port: str) -> tuple[str, ...]:
        """Lanes that the congestion point of an output, or a DSCP map, has frames go on in."""
        if has_remapping(self._plan):
            return tuple(self._lanes)
        use = self._resolved.uses["congestion_point"].get(port)
        if use is None or not getattr(use.algorithm, "changes_lane", False):
            return ()
        if self._is_changed(port):
            return tuple(self._lanes)
        return tuple(self._lane_of[p] for p in use.params.goes_on_in()) or tuple(self._lanes)

    def _is_changed(self, port: str) -> bool:
        return any(
            action.kind == "congestion_point" and port in action.entities
            for action in self._resolved.actions
        )

    def _unknown(self) -> Iterable[str]:
        """Waits that the plan leaves open, once for each plugin."""
        for name, of in self._holders(
            port for port, use in self._pauses.items() if not _waits_for_its_buffer(use)
        ).items():
            yield (
                f"when '{name}' lets a neighbour go is its own affair ({of}): it is taken to "
                "wait until its buffer has sent its frames"
            )
        moving = [port for port, lanes in self._moves.items() if lanes and self._is_changed(port)]
        for port in moving:
            yield f"the timeline changes the congestion point of {port}: any lane may follow it"

    def _holders(self, ports: Iterable[str]) -> dict[str, str]:
        named = defaultdict[str, list[str]](list)
        for port in ports:
            named[self._pauses[port].algorithm.name].append(port)
        return {
            name: f"at {of[0]}" + (f" and {len(of) - 1} more" if len(of) > 1 else "")
            for name, of in named.items()
        }

    def _kinds(self, any_traffic: bool) -> Iterable[tuple[Outs, Starts]]:
        """Frames that take the same ways from wherever they are: those for one place."""
        starts: dict[str | int, Starts] = defaultdict(dict)
        one_of: dict[str | int, str] = {}
        apart = {name for node in self._switches for name in self._forwarding(node)}
        for source, link, destination, lane, whose in self._sent(any_traffic):
            place = self._current_columns.place_of.get(destination)
            key = destination if destination in apart or place is None else place
            one_of.setdefault(key, destination)
            for entered in self._entered(source, link, destination):
                starts[key].setdefault((entered, lane), whose)
        for key, these in starts.items():
            yield self._towards(one_of[key]), these
        for flow in self._plan.flows():
            if flow.members and not any_traffic:
                entry = self._plan.traffic[flow.entry]
                lane = self._lane_of[entry.priority]
                for root in self._entered(flow.node, entry.via, flow.members[0]):
                    ports, _ = tree(self._plan, root, flow.members)
                    yield _of_tree(ports), {(root, lane): flow.entity}

    def _sent(self, any_traffic: bool) -> Iterable[tuple[str, str | None, str, str, str]]:
        """(source, link it sends on or None, destination, lane, whose) of what is sent."""
        plan = self._plan
        if not any_traffic:
            for flow in plan.flows():
                if not flow.members:
                    entry = plan.traffic[flow.entry]
                    lane = self._lane_of[entry.priority]
                    yield flow.node, entry.via, flow.destination, lane, flow.entity
            return
        nics = [name for name, node in plan.nodes.items() if isinstance(node, Nic)]
        entrances: dict[str, tuple[str, str]] = {}  # NICs of one switch enter where any does
        for nic in nics:
            for port in self._current_columns.by_node[nic]:
                entrances.setdefault(port.peer, (port.link, nic))
        senders = dict(entrances[peer] for peer in entrances if peer in self._switches)
        one_of: dict[object, str] = {}
        apart = {name for node in self._switches for name in self._forwarding(node)}
        for name, place in self._current_columns.place_of.items():
            one_of.setdefault(name if name in apart else place, name)
        for destination in one_of.values():
            for link, source in senders.items():
                for lane in self._lanes:
                    yield source, link, destination, lane, f"any ({source} to {destination})"

    def _forwarding(self, node: str) -> Iterable[str]:
        switch = self._plan.nodes[node]
        return switch.forwarding if isinstance(switch, Switch) else ()

    def _entered(self, source: str, link: str | None, destination: str) -> list[str]:
        """The switch, if it is one, that a NIC sends frames to."""
        ports = self._current_columns.by_node[source]
        if link is None:
            names = self._hops_of(source).towards(destination)[:1]
            ports = [port for port in ports if port.name in names]
        else:
            ports = [port for port in ports if port.link == link]
        return [port.peer for port in ports if port.peer in self._switches]

    def _hops_of(self, node: str) -> Hops:
        if node not in self._hops:
            self._hops[node] = Hops(self._plan, self._current_columns, node)
        return self._hops[node]

    def _towards(self, destination: str) -> Outs:
        def outs(node: str) -> list[str]:
            hops = self._hops_of(node)
            ports = hops.towards(destination)
            return ports if hops.spreads else ports[:1]

        return outs

    def _follow(self, outs: Outs, starts: Starts) -> None:
        """Carry frames of one kind from where they enter to where they leave."""
        came: dict[tuple[str, str], set[tuple[str, str]]] = {start: set() for start in starts}
        whose = dict(starts)
        ways: dict[str, list[Direction]] = {}
        waiting = list(starts)
        while waiting:
            here, lane = at = waiting.pop()
            if here not in ways:
                ports = (self._by_port[f"{here}.{name}"] for name in outs(here))
                ways[here] = [way for way in ports if way.receiver.node in self._switches]
            for way in ways[here]:
                for after in self._lanes_behind(way, lane):
                    there = (way.receiver.node, after)
                    if there not in came:
                        came[there] = set()
                        whose[there] = whose[at]
                        waiting.append(there)
                    came[there].add((way.entity, after))
                    self._carried.setdefault((way.entity, after), whose[at])
        for (here, lane), links in came.items():
            if links and ways[here]:
                self._turn(frozenset(links), ways[here], lane, whose[here, lane])

    def _lanes_behind(self, way: Direction, lane: str) -> tuple[str, ...]:
        """Lanes that frames of one may be in behind a port, and wait in there."""
        return tuple(dict.fromkeys((lane, *self._moves[way.sender.entity])))

    def _turn(
        self, links: frozenset[tuple[str, str]], ways: list[Direction], lane: str, whose: str
    ) -> None:
        key = (links, lane, *(way.entity for way in ways))
        if key in self._seen:
            return
        self._seen.add(key)
        for way in ways:
            for after in self._lanes_behind(way, lane):
                for before in links:
                    self._turns.setdefault((*before, way.entity, after), whose)

    def _behind_inputs(self, found: Network) -> None:
        """A link whose receiver's input pauses waits for the links that its frames leave by."""
        ways = {way.entity: way for way in self._by_port.values()}
        lanes = defaultdict[str, list[str]](list)
        for link, lane in self._carried:
            lanes[link].append(lane)
        for (link, lane, after, lane_after), whose in self._turns.items():
            use = self._pause_of(ways[link].receiver.input, lane)
            if use is None:
                continue
            buffer = ways[link].receiver.input + lane
            held = self._obeyed(ways[link], [lane]) if _own_lane(use) else lanes[link]
            for one in held:
                pair = (link + one, after + lane_after)
                found.waits.setdefault(pair, Wait(buffer, use.algorithm.name, whose))

    def _pause_of(self, holder: str, lane: str) -> Use | None:
        """The pause of a port's queue or input, if it holds the lane with this suffix."""
        use = self._pauses.get(holder)
        held = use is not None and is_lossless(self._plan, holder, self._lane_named[lane])
        return use if held else None

    def _obeyed(self, way: Direction, lanes: list[str]) -> list[str]:
        """Those of some lanes that the sender of a direction stops by PFC."""
        node = self._plan.nodes[way.sender.node]
        named = self._lane_named
        return [one for one in lanes if any(obeys_pfc(node, p) for p in named[one].priorities)]

    def _before_outputs(self, found: Network) -> None:
        """A queue that pauses holds every link to its switch but that from where it sends to."""
        arriving = defaultdict[str, list[tuple[Direction, str]]](list)
        ways = {way.entity: way for way in self._by_port.values()}
        for link, lane in self._carried:
            arriving[ways[link].receiver.node].append((ways[link], lane))
        for (link, lane), whose in self._carried.items():
            sender = ways[link].sender
            use = self._pause_of(sender.entity, lane)
            if use is None:
                continue
            for before, held in arriving[sender.node]:
                if before.receiver == sender or (_own_lane(use) and held != lane):
                    continue
                if _own_lane(use) and not self._obeyed(before, [held]):
                    continue
                wait = Wait(sender.entity + lane, use.algorithm.name, whose)
                found.waits.setdefault((before.entity + held, link + lane), wait)


def _of_tree(ports: Tree) -> Outs:
    return lambda node: ports.get(node, ())


def _waits_for_its_buffer(use: Use) -> bool:
    """True if a pause is known to hold its neighbours for as long as its buffer is full."""
    stops_above_a_mark = use.params.operating_queue(ANY_RATE) is not None
    return bool(getattr(use.algorithm, "grants", False)) or stops_above_a_mark


def _own_lane(use: Use) -> bool:
    """True if a pause holds the lane of its buffer alone."""
    return bool(getattr(use.algorithm, "own_lane", False))
