"""Figures of an analysis: one per interface, one of latencies, one of pauses and their causes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.analysis import pause_cascade
from traces.analysis.analysis_result import FlowSeen, InterfaceSeen
from traces.analysis.analyze import Findings
from traces.analysis.flow_labels import mac_text, point_names
from traces.analysis.hops_and_cascades import capture_points_of
from traces.analysis.latency_matching import lower_edges
from traces.analysis.pause_spells import PLAIN
from traces.capture import NO_TIME
from traces.figures.figure_style import BLUE, FAINT, INK, SERIES, VERMILLION, stacked, styled
from traces.figures.lean_matplotlib import Axes, Figure
from traces.figures.queue_figure import legend

NS = 1e9
MOST_LINES = len(SERIES)
MOST_BINS = 256
MOST_DOTS = 20_000
"""Messages that are drawn one by one; of more, every so manieth."""
MOST_SPELLS = 5_000
MOST_ARROWS = 200


def start_ns(found: Findings) -> int:
    """Time of the earliest frame: where the figures' time begins."""
    points = found.collected.flows.points
    timed = points["first_ns"][points["timed"] > 0]
    return int(timed.min()) if len(timed) else 0


def label(flow: FlowSeen) -> str:
    """A flow in few words."""
    if flow.flow is not None:
        return f"flow {flow.flow} of …{flow.source[-5:]}"
    name = f"{flow.from_address or flow.source or '?'}"
    return name if flow.qp is None else f"{name} QP {flow.qp:#x}"


LABEL_FIELDS = {
    "vlan": "VLAN {}",
    "priority": "priority {}",
    "to_address": "to {}",
    "destination": "to {}",
    "source_port": "from port {}",
    "destination_port": "to port {}",
    "kind": "{}",
}
"""Fields that distinguish flows of one name, and their texts."""


def labels(flows: Sequence[FlowSeen]) -> list[str]:
    """Names of flows that stand side by side: to those of one name the first thing is added in
    which they differ, until no two are the same or nothing is left."""
    names = [label(flow) for flow in flows]
    for field, words in LABEL_FIELDS.items():
        values = [getattr(flow, field) for flow in flows]
        for name in {name for name in names if names.count(name) > 1}:
            alike = [place for place, other in enumerate(names) if other == name]
            if len({values[place] for place in alike}) > 1:
                for place in alike:
                    if values[place] not in (None, ""):
                        names[place] += f" {words.format(values[place])}"
    return names


def interface_figure(found: Findings, index: int) -> Figure:
    """Rates, fairness, marks, feedback and pauses of one interface, as far as there are any."""
    interface = found.analysis.interfaces[index]
    flows = interface.flows or interface.conversations
    panels = [("rates", 1.9)]
    if len(flows) > 1:
        panels.append(("fairness", 1.0))
    if interface.ce:
        panels.append(("marks", 1.0))
    if interface.congestion_points:
        panels += [("feedback", 1.3), ("queue", 1.6)]
    spells = [one for one in interface.links if one.spells]
    if interface.probes:
        panels.append(("probes", 1.6))
    if spells:
        panels.append(("pauses", 0.5 + 0.18 * min(len(spells), 12)))
    with styled():
        figure, axes = stacked([height for _, height in panels], title=interface.name)
        for (name, _), panel in zip(panels, axes, strict=True):
            if name == "rates":
                _rates(panel, found, flows)
            elif name == "fairness":
                _fairness(panel, found, flows)
            elif name == "marks":
                _marks(panel, found, flows)
            elif name in ("feedback", "queue"):
                _messages(panel, found, interface, name)
            elif name == "probes":
                _probes(panel, found, interface)
            else:
                _pauses(panel, found, {one.link for one in spells})
        for panel in axes:
            legend(panel)
    return figure


def _bins(found: Findings, flows: list[FlowSeen], layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Middles of the bins in s, and the flows' sums per second [flows, bins].

    Neighbours are put together until at most MOST_BINS are left; the first and the last, which the
    capture covers only in part, are left out where there are enough others.
    """
    series = found.collected.flows.series
    starts, values = series.used()
    some = values[layer][[flow.row for flow in flows]]
    if len(starts) > 8:
        starts, some = starts[1:-1], some[:, 1:-1]
    group = -(-len(starts) // MOST_BINS)
    whole = len(starts) // group * group
    sums = some[:, :whole].reshape(len(flows), -1, group).sum(axis=2)
    width = series.width_ns * group
    middle = (starts[:whole:group] + width // 2 - start_ns(found)) / NS
    return middle, sums / (width / NS)


def _rates(panel: Axes, found: Findings, flows: list[FlowSeen]) -> None:
    panel.set_ylabel("rate (Mb/s)")
    if not flows:
        return
    middle, octets = _bins(found, flows, 0)
    rates = octets * 8 / 1e6
    if len(flows) <= MOST_LINES:
        for number, name in enumerate(labels(flows)):
            panel.plot(middle, rates[number], color=SERIES[number], label=name, lw=0.9)
    else:
        low, high = rates.min(axis=0), rates.max(axis=0)
        panel.fill_between(
            middle, low, high, color=BLUE, alpha=0.3, lw=0, label=f"all {len(flows)} flows"
        )
        panel.plot(middle, np.median(rates, axis=0), color=INK, lw=0.9, label="median")
    panel.set_ylim(0, float(rates.max(initial=0)) * 1.08 or 1)


def _fairness(panel: Axes, found: Findings, flows: list[FlowSeen]) -> None:
    middle, octets = _bins(found, flows, 0)
    sums = octets.sum(axis=0)
    squares = (octets**2).sum(axis=0) * len(flows)
    busy = squares > 0
    panel.plot(middle[busy], sums[busy] ** 2 / squares[busy], color=BLUE, lw=0.9)
    panel.set_ylim(0, 1.05)
    panel.set_ylabel("Jain's index")


def _marks(panel: Axes, found: Findings, flows: list[FlowSeen]) -> None:
    middle, marks = _bins(found, flows, 1)
    panel.plot(middle, marks.sum(axis=0), color=VERMILLION, lw=0.9)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("CE marks (1/s)")


def _messages(panel: Axes, found: Findings, interface: InterfaceSeen, what: str) -> None:
    kept = found.collected.messages.stored_messages()
    kept = kept[kept["time_ns"] != NO_TIME]
    for number, point in enumerate(interface.congestion_points[:MOST_LINES]):
        mine = kept[kept["congestion_point"] == point.index]
        mine = mine[:: max(len(mine) // MOST_DOTS, 1)]
        times = (mine["time_ns"] - start_ns(found)) / NS
        colour = SERIES[number]
        if what == "feedback":
            panel.plot(times, mine["feedback"], ".", ms=2, color=colour, label=point.cpid)
        else:
            panel.plot(times, mine["offset_bytes"] / 1000, ".", ms=2, color=colour, label="offset")
            panel.plot(times, mine["delta_bytes"] / 1000, ".", ms=2, color=FAINT, label="delta")
    panel.set_ylabel("feedback (of 63)" if what == "feedback" else "queue (KB)")


def _probes(panel: Axes, found: Findings, interface: InterfaceSeen) -> None:
    """The rates that probes carried, forward and back, a colour per flow."""
    kept = found.collected.probes.stored_probes()
    kept = kept[kept["time_ns"] != NO_TIME]
    for number, one in enumerate(interface.probes[:MOST_LINES]):
        mine = kept[kept["probed"] == one.index]
        mine = mine[:: max(len(mine) // MOST_DOTS, 1)]
        times = (mine["time_ns"] - start_ns(found)) / NS
        name = f"flow {one.flow} of …{one.source[-5:]}, {one.way}"
        panel.plot(times, mine["rate_bps"] / 1e6, ".", ms=2, color=SERIES[number], label=name)
    panel.set_ylabel("probed rate (Mb/s)")


def _pauses(panel: Axes, found: Findings, links: set[int]) -> None:
    """Spells as bars, a line for each sender and priority."""
    spells, start = found.spells, start_ns(found)
    keys = sorted(
        {(one["link"], one["priority"]) for one in spells if int(one["link"]) in links},
        key=lambda key: (int(key[0]), int(key[1])),
    )[:12]
    for height, (link, priority) in enumerate(keys):
        mine = spells[(spells["link"] == link) & (spells["priority"] == priority)][:MOST_SPELLS]
        begins = (mine["begin_ns"] - start) / NS
        lengths = (mine["end_ns"] - mine["begin_ns"]) / NS
        bars = list(zip(begins.tolist(), lengths.tolist(), strict=True))
        panel.broken_barh(bars, (height - 0.35, 0.7), color=VERMILLION, lw=0.5)
    names = [
        f"…{mac_text(found.collected.pausing.links[int(link)].source)[-5:]}"
        + ("" if priority == PLAIN else f" p{priority}")
        for link, priority in keys
    ]
    panel.set_yticks(range(len(names)), names, size=7.5)
    panel.set_ylim(-0.6, len(names) - 0.4)
    panel.set_title("paused by", loc="left", size=8.5)


def latency_figure(found: Findings) -> Figure:
    """Distribution of each flow's latency between two points."""
    matcher = found.collected.matcher
    edges = lower_edges() / NS
    rows = [r for r in np.flatnonzero(matcher.hops["frames"]) if r < len(matcher.histogram)]
    with styled():
        figure, (panel,) = stacked([2.6], title="latency between points")
        for number, (row, hop) in enumerate(zip(rows, found.analysis.latency, strict=False)):
            if number == MOST_LINES:
                break
            counts = matcher.histogram[row]
            used = np.flatnonzero(counts)
            inside = slice(used[0], used[-1] + 2)
            passed = np.concatenate([[0], np.cumsum(counts[inside])])[:-1] / counts.sum()
            name = f"{hop.before} to {hop.after}" + ("" if hop.flow is None else f", {hop.flow}")
            panel.step(edges[inside] * 1e6, passed, where="post", color=SERIES[number], label=name)
        panel.set_xlabel("latency (µs)")
        panel.set_ylabel("share of frames")
        panel.set_ylim(0, 1.05)
        legend(panel)
    return figure


def cascade_figure(found: Findings) -> Figure:
    """All spells over time, a line per link from the roots down, and an arrow for every cause."""
    spells, start = found.spells, start_ns(found)
    collected, names = found.collected, point_names(found.collected)
    links = collected.pausing.links
    places = capture_points_of(collected, names)
    causes = [(step.cause, step.effect) for step in found.analysis.cascades]
    same = pause_cascade.both_ends_of_link(spells, places, [link.source for link in links])
    levels = pause_cascade.depth(causes, same)
    rank: dict[int, int] = {}
    for row, level in levels.items():
        link = int(spells["link"][row])
        rank[link] = min(rank.get(link, level), level)
    order = sorted(rank, key=lambda link: (rank[link], link))
    height = {link: len(order) - 1 - index for index, link in enumerate(order)}
    with styled():
        figure, (panel,) = stacked(
            [0.4 + 0.4 * len(order)], title="cascades of pauses: arrows go from cause to effect"
        )
        for link in order:
            mine = spells[spells["link"] == link][:MOST_SPELLS]
            bars = [
                ((begin - start) / NS, (end - begin) / NS)
                for begin, end in zip(
                    mine["begin_ns"].tolist(), mine["end_ns"].tolist(), strict=True
                )
            ]
            panel.broken_barh(bars, (height[link] - 0.3, 0.6), color=SERIES[rank[link] % 8], lw=0.4)
        for cause, effect in causes[:MOST_ARROWS]:
            at = (int(spells["begin_ns"][effect]) - start) / NS
            ends = [height[int(spells["link"][row])] for row in (cause, effect)]
            panel.annotate(
                "",
                xy=(at, ends[1]),
                xytext=(at, ends[0]),
                arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.7},
            )
        for link in order:
            text = f"{names[links[link].point]} {_direction(links[link].direction)}"
            panel.text(
                0.005, height[link] + 0.42, text, size=7.5, transform=panel.get_yaxis_transform()
            )
        panel.set_yticks([])
        panel.set_ylim(-0.5, len(order) - 0.2)
    return figure


def _direction(direction: int) -> str:
    return {pause_cascade.OUT: "sends", pause_cascade.IN: "is paused"}.get(direction, "")
