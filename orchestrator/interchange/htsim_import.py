"""Plans from htsim's fat trees and connection matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.interchange.htsim_files import (
    GIGABIT,
    NS,
    FatTree,
    read_fat_tree,
    read_matrix,
)
from orchestrator.interchange.imported_plan import (
    CLOCKS,
    FlowRow,
    Imported,
    with_duration,
    with_flows,
)
from orchestrator.interchange.source_text import SourceText
from orchestrator.plan.units import format_duration, format_rate, format_size

FRAME = 1500
DRAIN = 10**10
"""ps behind the last start ..."""
DRAIN_FACTOR = 20
"""... and so many times the time of the largest flow on the link of a host."""
LONGEST = 3600 * 10**12


def import_htsim(name: str, topology: Path, matrix: Path, flow_file: str) -> Imported:
    """The plan `name` of these files, whose flows stand in `flow_file`. Raises BadInput."""
    tree = read_fat_tree(SourceText.read(topology))
    listed = read_matrix(SourceText.read(matrix))
    if listed.nodes > tree.hosts:
        text = f"has {listed.nodes} nodes, and {topology} {tree.hosts}; no more are expected"
        raise BadInput(str(matrix), text)
    if not listed.flows:
        raise BadInput(str(matrix), "has no connection that begins at a time; one is expected")
    made = Imported("htsim", [topology.name, matrix.name], {"name": name, **CLOCKS})
    made.data["nodes"] = _nodes(tree)
    made.data["links"] = {f"l{n}": link for n, link in enumerate(_links(tree))}
    made.rows = [
        FlowRow(f"h{flow.source}", f"h{flow.destination}", flow.size, flow.start, 0, "flows")
        for flow in listed.flows
    ]
    transport = {"plugin": "selective"}
    with_flows(made, flow_file, {"frame": f"{FRAME}B", "transport": transport})
    rate = tree.tiers[0].get("downlink_speed_gbps") * GIGABIT
    largest = max(flow.size for flow in listed.flows)
    last = max(flow.start for flow in listed.flows)
    duration = last + DRAIN + DRAIN_FACTOR * largest * 8 * 10**12 // rate
    with_duration(made.data, min(duration, LONGEST))
    switches = len(made.data["nodes"]) - tree.hosts
    made.taken.insert(
        0,
        f"a fat tree of {len(tree.tiers)} tiers: {tree.hosts} hosts, {switches} switches, "
        f"{len(made.data['links'])} links, with ECMP by flow",
    )
    made.taken.append("latencies of switches, as part of the delays of links towards them")
    made.not_taken += _lacks(tree)
    for count, what in (
        (listed.triggered, "connections that begin on a trigger"),
        (listed.triggers, "triggers"),
        (listed.failures, "failures of switches and links"),
        (listed.priorities, "priorities of connections, which htsim's schedulers use"),
    ):
        if count:
            made.not_taken.append(f"{count} {what}")
    return made


def _lacks(tree: FatTree) -> Iterator[str]:
    yield (
        "the protocol, which is a program of htsim's and stands in neither file: flows have a "
        "transport with selective acknowledgements and no congestion control; add a "
        "reaction_point to the hosts, and what it needs to the switches"
    )
    if not any(tier.get("queue_down") or tier.get("queue_up") for tier in tree.tiers):
        yield "sizes of queues, which stand on htsim's command line: those of a plan's switch"
    yield f"the size of packets, likewise: frames have {FRAME} octets; and the end of the run"


def _queue(tree: FatTree, tier: int, key: str) -> int:
    """Octets of a queue; 0 where the file does not say."""
    return tree.tiers[tier].get(key)


def _nodes(tree: FatTree) -> dict[str, Any]:
    """Hosts h0.., switches tor0.., agg0.., core0..; the queue towards hosts is the switch's own,
    that upwards the port's."""
    nodes: dict[str, Any] = {f"h{host}": {"kind": "nic"} for host in range(tree.hosts)}
    counts = (
        ("tor", tree.tors_per_pod * tree.pods),
        ("agg", tree.aggs_per_pod * tree.pods),
        ("core", tree.cores),
    )
    for tier, (word, count) in enumerate(counts):
        for number in range(count):
            table: dict[str, Any] = {"kind": "switch", "spread": "flows"}
            if octets := _queue(tree, tier, "queue_down"):
                table["buffer"] = format_size(octets)
            nodes[f"{word}{number}"] = table
    for number, (_, low, high, tier, bundle) in enumerate(_pairs(tree)):
        if tier and (octets := _queue(tree, tier - 1, "queue_up")):
            port = high if bundle == 1 else f"l{number}"
            nodes[low].setdefault("ports", {})[port] = {"buffer": format_size(octets)}
    return nodes


def _pairs(tree: FatTree) -> Iterator[tuple[int, str, str, int, int]]:
    """(number in its bundle, lower end, upper end, tier of the upper one, links of the bundle)."""
    radix = tree.tiers[0].get("radix_down")
    for host in range(tree.hosts):
        yield 0, f"h{host}", f"tor{host // radix}", 0, 1
    bundle = tree.tiers[1].get("bundle")
    for tor in range(tree.tors_per_pod * tree.pods):
        # in two tiers every switch of the upper one is above all of the lower one
        pods = [tor // tree.tors_per_pod] if len(tree.tiers) == 3 else range(tree.pods)
        for pod in pods:
            for agg in range(pod * tree.aggs_per_pod, (pod + 1) * tree.aggs_per_pod):
                for copy in range(bundle):
                    yield copy, f"tor{tor}", f"agg{agg}", 1, bundle
    if len(tree.tiers) == 2:
        return
    bundle = tree.tiers[2].get("bundle")
    for agg in range(tree.aggs_per_pod * tree.pods):
        for core in range(agg % tree.aggs_per_pod, tree.cores, tree.aggs_per_pod):
            for copy in range(bundle):
                yield copy, f"agg{agg}", f"core{core}", 2, bundle


def _links(tree: FatTree) -> Iterator[dict[str, Any]]:
    for _, low, high, tier, _ in _pairs(tree):
        settings = tree.tiers[tier]
        wire = settings.get("downlink_latency_ns") * NS
        up = wire + settings.get("switch_latency_ns") * NS
        down = wire + (tree.tiers[tier - 1].get("switch_latency_ns") * NS if tier else 0)
        link: dict[str, Any] = {
            "ends": [low, high],
            "rate": format_rate(settings.get("downlink_speed_gbps") * GIGABIT),
            "delay": format_duration(up),
        }
        if down != up:
            link["delay_back"] = format_duration(down)
        yield link
