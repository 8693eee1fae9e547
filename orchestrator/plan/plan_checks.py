"""Checks across tables of a plan: names that must exist, paths that must arrive, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, pairwise

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import entity_names
from orchestrator.plan.changeable_keys import SETTINGS, NotChangeable, locate, setting
from orchestrator.plan.expectation_checks import expectation_problems, phase_problems
from orchestrator.plan.external_nodes import external_problems, facing
from orchestrator.plan.figure_checks import figure_problems
from orchestrator.plan.forwarding_hosts import forwarding_problems
from orchestrator.plan.header_table import header_problems
from orchestrator.plan.injections import injection_problems
from orchestrator.plan.input_problems import Clash, unknown
from orchestrator.plan.mutant_match import mutant_problems
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import External, Nic, Switch, Traffic
from orchestrator.plan.program_checks import program_problems
from orchestrator.plan.shortest_paths import RoutingLoop, endless_loop, path, routes
from orchestrator.plan.size_limits import size_problems
from orchestrator.plan.units import format_duration, format_size

MOST = 30
"""Problems that are listed of one plan; a plan with more has one cause, not a hundred."""


def problems(plan: PlanModel, *, bare: bool) -> list[Problem]:
    """Every mistake in how the tables of a plan go together."""
    found = [*size_problems(plan), *islice(_links(plan), MOST)]
    if found:
        # Everything below walks over the links, or would be slow in an oversized plan.
        asked = dict(enumerate(expect.phase for expect in plan.expect))
        return found + list(islice(phase_problems(asked, plan.phases), MOST))
    checks = (
        _unique(plan),
        _headers(plan),
        _switches(plan),
        forwarding_problems(plan),
        _traffic(plan),
        _times(plan),
        _timeline(plan, bare),
        _captures(plan),
        external_problems(plan),
        expectation_problems(plan, bare=bare),
        mutant_problems(plan),
        program_problems(plan),
        figure_problems(plan),
    )
    found = [problem for check in checks for problem in islice(check, MOST)]
    return found or list(islice(_check_paths(plan), MOST))


def _links(plan: PlanModel) -> Iterator[Problem]:
    for name, link in plan.links.items():
        for end, node in enumerate(link.ends):
            if node not in plan.nodes:
                yield unknown(f"links.{name}.ends[{end}]", "node", node, plan.nodes)
        if link.ends[0] == link.ends[1]:
            yield Clash(f"links.{name}.ends", link.ends, "a link joins two different nodes")


def _unique(plan: PlanModel) -> Iterator[Problem]:
    """No two things may have one name in results; one flow may be called as its entry."""
    every = [port.entity for port in entity_names.ports(plan)]
    every += [way.entity for way in entity_names.directions(plan)]
    every += [limiter for mine in entity_names.limiters(plan).values() for limiter in mine]
    every += [flow.entity for flow in entity_names.flows(plan) if flow.entity not in plan.traffic]
    every += [*plan.traffic, *plan.nodes, *plan.groups, "traffic", "network"]
    for name, count in Counter(every).items():
        if count > 1:
            text = f"{count} things of this plan would be called {name!r} in results; rename one"
            yield Clash(name, name, text)
    if plan.more_priorities and plan.priorities == "shared":
        text = 'all priorities share a lane; priorities = "separate" is expected'
        yield Clash("more_priorities", plan.more_priorities, text)
    if "run" in plan.phases:
        yield Clash("phases.run", None, "'run' is the whole run; call the phase something else")


def _headers(plan: PlanModel) -> Iterator[Problem]:
    switches = {name: node for name, node in plan.nodes.items() if isinstance(node, Switch)}
    frames = {
        name: (entry.frame, max(entry.priority, entry.acknowledged_in()))
        for name, entry in plan.traffic.items()
    }
    yield from header_problems(plan.headers, switches, frames)


def _switches(plan: PlanModel) -> Iterator[Problem]:
    mine: dict[str, list[str]] = {name: [] for name in plan.nodes}
    for port in entity_names.ports(plan):
        mine[port.node].append(port.name)
    ends = dict.fromkeys(n for n, node in plan.nodes.items() if not isinstance(node, Switch))
    for name, node in plan.nodes.items():
        if not isinstance(node, Switch):
            continue
        yield from _crossbar(plan, name, node)
        yield from _learning(plan, name, node)
        for port_name in node.ports:
            if port_name not in mine[name]:
                yield unknown(f"nodes.{name}.ports.{port_name}", "port", port_name, mine[name])
        for destination, port_name in node.forwarding.items():
            where = f"nodes.{name}.forwarding.{destination}"
            if destination not in ends:
                yield unknown(where, "NIC or sink", destination, ends)
            if port_name not in mine[name]:
                yield unknown(where, "port", port_name, mine[name])


def _learning(plan: PlanModel, name: str, node: Switch) -> Iterator[Problem]:
    """Frames of other devices come from external nodes, and no router learns."""
    if node.mac_learning is None or isinstance(node, External):
        return
    where = f"nodes.{name}.mac_learning"
    ports = [port for mine in facing(plan).values() for port in mine.values()]
    beside = [port for port in ports if port.partition(".")[0] == name]
    if len(beside) < 2:
        text = f"links of {name} to at least 2 nodes of kind 'external' are expected"
        yield Clash(where, ", ".join(beside) or "none", text)
    if node.forwards_by != "mac":
        yield Clash(where, node.forwards_by, "a router forwards by IP; leave 'forwards_by' out")


def _crossbar(plan: PlanModel, name: str, node: Switch) -> Iterator[Problem]:
    """A frame that no output has room for would wait at its input for ever."""
    if node.inputs is None:
        return
    longest = max((entry.frame for entry in plan.traffic.values()), default=0)
    places = {
        f"nodes.{name}.buffer": node.buffer,
        f"nodes.{name}.inputs.buffer": node.inputs.buffer,
    }
    for port, table in node.ports.items():
        if table.buffer is not None:
            places[f"nodes.{name}.ports.{port}.buffer"] = table.buffer
    for where, octets in places.items():
        if octets < longest:
            accepted = f"at least the longest frame, {format_size(longest)}, is expected"
            yield Problem(where, format_size(octets), accepted)
    tables = [node.congestion_point, *(table.congestion_point for table in node.ports.values())]
    by_units = [
        t for t in tables if t and "occupancy" in str((t.model_extra or {}).get("sampling"))
    ]
    if node.inputs.hold_until_departure and by_units:
        text = "with 'hold_until_departure' only inputs can be sampled by occupancy"
        yield Clash(f"nodes.{name}.congestion_point.sampling", None, text)


def _traffic(plan: PlanModel) -> Iterator[Problem]:
    nics = dict.fromkeys(name for name, node in plan.nodes.items() if isinstance(node, Nic))
    ends = dict.fromkeys(n for n, node in plan.nodes.items() if not isinstance(node, Switch))
    targets = dict.fromkeys([*ends, *plan.groups])
    for name, members in plan.groups.items():
        yield from _refuse_unknown(f"groups.{name}", "NIC or sink", members, ends)
        for member, count in Counter(members).items():
            if count > 1:
                yield Clash(f"groups.{name}", member, f"{member[:80]} is listed {count} times")
    for name, entry in plan.traffic.items():
        yield from _refuse_unknown(f"traffic.{name}.from", "NIC", entry.from_, nics)
        yield from _refuse_unknown(f"traffic.{name}.to", "NIC, sink or group", entry.to, targets)
        listed = entry.pairing == "listed"
        if listed and isinstance(entry.from_, list) and isinstance(entry.to, list):
            here, there = len(entry.from_), len(entry.to)
            if here != there:
                text = f"'from' and 'to' have {here} and {there} elements; as many are expected"
                yield Clash(f"traffic.{name}", None, text)
        if entry.via is not None and len({source for source, _ in entry.pairs}) > 1:
            yield Clash(f"traffic.{name}.via", entry.via, "'via' needs a single NIC in 'from'")
        for source, destination in entry.pairs:
            if source == destination or source in plan.groups.get(destination, ()):
                yield Clash(f"traffic.{name}.to", destination, "a flow leads to another node")
        if entry.bidirectional:
            back = [entry.to] if isinstance(entry.to, str) else entry.to
            mute = [one for one in back if one in targets and one not in nics]
            if mute:
                text = f"flows go back from 'to', and {mute[0]} sends nothing; NICs are expected"
                yield Clash(f"traffic.{name}.bidirectional", True, text)
        if not entry.pairs:
            text = "no pair of different ends is left; give 'from' and 'to' more of them"
            yield Clash(f"traffic.{name}.pairing", entry.pairing, text)
        if entry.ack_priority is not None and entry.transport is None:
            text = "without a transport nothing is acknowledged; a transport is expected"
            yield Clash(f"traffic.{name}.ack_priority", entry.ack_priority, text)
        if entry.cdf is not None and not _check_distribution(entry.cdf):
            text = "sizes and shares that rise from point to point, the last share 1, are expected"
            yield Clash(f"traffic.{name}.cdf", None, text)


def _check_distribution(points: list[tuple[int, float]]) -> bool:
    """True if points are a distribution: sizes grow, shares do not fall and end at 1."""
    steps = list(pairwise(points))
    rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in steps)
    return bool(points) and rising and points[-1][1] == 1


def _refuse_unknown(
    where: str, what: str, named: str | list[str], known: Collection[str]
) -> Iterator[Problem]:
    """Those of one name or of a list of names that are not known."""
    for index, name in enumerate(named if isinstance(named, list) else [named]):
        if name not in known:
            yield unknown(
                f"{where}[{index}]" if isinstance(named, list) else where, what, name, known
            )


def _check_paths(plan: PlanModel) -> Iterator[Problem]:
    """Frames arrive, and what the switches on their way send back arrives too."""
    table = routes(plan)
    known = {port.entity: port for port in entity_names.ports(plan)}
    seen: dict[tuple[str, str], str | None] = {}
    sent_on = {name for node in plan.nodes.values() for name in getattr(node, "forwarding", ())}

    def fault(start: str, destination: str) -> str | None:
        if (start, destination) not in seen:
            way = path(plan, table, known, start, destination)
            loops = isinstance(way, RoutingLoop) and not endless_loop(plan, start, destination)
            seen[start, destination] = way if isinstance(way, str) and not loops else None
            if not isinstance(way, str):  # then so does what is sent from anywhere on it
                seen.update(((port.peer, destination), None) for port in way)
        return seen[start, destination]

    for name, entry in plan.traffic.items():
        members = {one for _, to in entry.pairs for one in plan.groups.get(to, ())}
        for source, destination in dict.fromkeys(_single(plan, entry)):
            start = source
            if entry.via is not None:
                mine = {port.link: port.peer for port in known.values() if port.node == start}
                if entry.via not in mine:
                    yield unknown(f"traffic.{name}.via", f"link of {start}", entry.via, mine)
                    continue
                start = mine[entry.via]
            way = path(plan, table, known, start, destination)
            if destination in sent_on and (loop := endless_loop(plan, start, destination)):
                yield Problem(f"traffic.{name}.to", destination, _endless(destination, loop))
                continue
            if isinstance(way, RoutingLoop):
                way = way.ports  # frames go round until their TTL ends
            if isinstance(way, str):
                yield Problem(f"traffic.{name}.to", destination, f"{way}; join them by links")
                continue
            if destination in members and (host := _host_on(plan, way)):
                text = f"{host} forwards no multicast frames; join them by switches"
                yield Problem(f"traffic.{name}.to", destination, text)
                continue
            fault(destination, source)  # its way mostly is that of the others
            back = (fault(port.peer, source) for port in way)
            if sentence := next((text for text in back if text), None):
                accepted = f"no feedback gets back: {sentence}"
                yield Problem(f"traffic.{name}.from", source, accepted)


def _endless(destination: str, loop: list[str]) -> str:
    """What is accepted instead of a loop without an IP router, for a problem."""
    return (
        f"forwarding leads frames for {destination} round {' > '.join([*loop, loop[0]])}, and no "
        "node there takes one off their TTL, so they would go round without end; "
        f'nodes.{loop[0]}.forwards_by = "ip", or a path that ends, is expected'
    )


def _host_on(plan: PlanModel, way: list[entity_names.Port]) -> str | None:
    """The first host that has to forward frames on a path."""
    hosts = (p.peer for p in way[:-1] if not isinstance(plan.nodes[p.peer], Switch))
    return next(hosts, None)


def _single(plan: PlanModel, entry: Traffic) -> Iterator[tuple[str, str]]:
    """(from, to) of every pair of ends, with each member of a group for itself."""
    for source, destination in entry.pairs:
        for member in plan.groups.get(destination, [destination]):
            yield source, member


def _times(plan: PlanModel) -> Iterator[Problem]:
    last = f"the run lasts {format_duration(plan.duration)}; an earlier time is expected"
    for name, phase in plan.phases.items():
        if phase.to > plan.duration:
            yield Problem(f"phases.{name}.to", format_duration(phase.to), last)
    for name, entry in plan.traffic.items():
        if entry.start > plan.duration:
            yield Problem(f"traffic.{name}.start", format_duration(entry.start), last)
        if entry.stop is not None and entry.stop > plan.duration:
            yield Problem(f"traffic.{name}.stop", format_duration(entry.stop), last)
        if entry.stop is not None and entry.stop < entry.start:
            yield Clash(f"traffic.{name}.stop", entry.stop, "'stop' must not lie before 'start'")


def _timeline(plan: PlanModel, bare: bool) -> Iterator[Problem]:
    ports, ways = by_node(plan), by_link(plan)
    ends = {port.entity: port for port in entity_names.ports(plan)}
    known = dict.fromkeys([*plan.traffic, *(flow.entity for flow in entity_names.flows(plan))])
    for index, step in enumerate(plan.timeline):
        where = f"timeline[{index}]"
        if step.at > plan.duration:
            lasts = format_duration(plan.duration)
            accepted = f"the run lasts {lasts}; an earlier time is expected"
            yield Problem(f"{where}.at", format_duration(step.at), accepted)
        if step.set is not None:
            try:
                place = locate(plan, step.set, ports, ways)
                if place.kind in ("queue", "link"):
                    setting(step.set.rpartition(".")[2], step.to, f"{where}.to", bare=bare)
            except NotChangeable as error:
                yield Problem(f"{where}.set", step.set[:80], str(error))
            except BadInput as error:
                yield from error.problems
        yield from _exists(f"{where}.start", "traffic or flow", step.start, known)
        yield from _exists(f"{where}.stop", "traffic or flow", step.stop, known)
        yield from _exists(f"{where}.cut", "link", step.cut, plan.links)
        yield from _exists(f"{where}.mend", "link", step.mend, plan.links)
        yield from _exists(f"{where}.pause", "port", step.pause, ends)
        yield from _exists(f"{where}.resume", "port", step.resume, ends)
        yield from _exists(f"{where}.kill_agent", "node", step.kill_agent, plan.nodes)
        yield from _exists(f"{where}.cut_link", "link", step.cut_link, plan.links)
        yield from _exists(f"{where}.delay_control", "node", step.delay_control, plan.nodes)
        yield from injection_problems(plan, step, where)


def _exists(where: str, what: str, name: str | None, known: Iterable[str]) -> Iterator[Problem]:
    if name is not None and name not in known:
        yield unknown(where, what, name, known)


def _captures(plan: PlanModel) -> Iterator[Problem]:
    known = {port.entity: port for port in entity_names.ports(plan)}
    for index, (port, count) in enumerate(Counter(plan.capture.ports).items()):
        if port not in known:
            yield unknown(f"capture.ports[{index}]", "port", port, known)
        if count > 1:
            yield Clash(f"capture.ports[{index}]", port, f"{port[:80]} is listed {count} times")


@memoized
def by_node(plan: PlanModel) -> dict[str, list[entity_names.Port]]:
    """The ports of every node that has any."""
    table: dict[str, list[entity_names.Port]] = {}
    for port in entity_names.ports(plan):
        table.setdefault(port.node, []).append(port)
    return table


@memoized
def by_link(plan: PlanModel) -> dict[str, list[entity_names.Direction]]:
    """Both directions of every link, ends[0] -> ends[1] first."""
    table: dict[str, list[entity_names.Direction]] = {}
    for way in entity_names.directions(plan):
        table.setdefault(way.link, []).append(way)
    return table


def is_setting(key: str) -> bool:
    """True if a changeable key is a setting of a queue or link rather than of a plugin."""
    parts = key.split(".")
    return parts[0] in ("nodes", "links") and parts[-1] in SETTINGS and len(parts) in (3, 5)
