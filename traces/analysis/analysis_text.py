"""Terminal tables of an analysis."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from orchestrator.terminal.format_output import quantity, table
from traces.analysis.analysis_result import Analysis, FlowSeen, InterfaceSeen, PauseSeen
from traces.analysis.dcbx import protocol_text
from traces.capture.capture_interface import READABLE_TYPES
from traces.capture.link_headers import is_readable
from traces.capture.time_order import WINDOW

MOST_ROWS = 40
"""Rows of a table; omitted rows are counted in a note, and all are in --json."""
MOST_INTERFACES = 200
"""Interfaces that are shown; a capture may have one in each of thousands of sections."""
TLVS = {
    "cn": "congestion notification",
    "pfc": "PFC",
    "ets": "ETS configuration",
    "ets_recommendation": "ETS recommendation",
    "applications": "application priorities",
    "cee_groups": "CEE priority groups",
    "cee_pfc": "CEE PFC",
    "cee_applications": "CEE application priorities",
}
FIGURES = ("frames", "rate", "lost", "duplicate", "reordered", "CE")


def show(analysis: Analysis, console: Console) -> None:
    """Print every interface, then what lies between them."""
    read = analysis.captures
    if read and not analysis.interfaces and not any(one.frames for one in read):
        console.print(Text("no interfaces, so no frames"))
    for line in order_lines(analysis):
        console.print(Text(line))
    for interface in analysis.interfaces[:MOST_INTERFACES]:
        console.print(Text(interface.name, "bold"))
        for line in _lines(interface):
            console.print(Text("  " + line))
        _flows(interface, console)
        _messages(interface, console)
        _pauses(interface.links, console)
        _probes(interface, console)
        _neighbours(interface, console)
        _stamps(interface, console)
    if (more := len(analysis.interfaces) - MOST_INTERFACES) > 0:
        console.print(Text(f"... and {more} more interfaces; --json has all of them"))
    _latency(analysis, console)
    _cascades(analysis, console)
    for count, what in (
        (analysis.more_flows, "frames of further flows"),
        (analysis.more_messages, "CNMs of further congestion points"),
        (analysis.more_pauses, "pause frames of further senders"),
        (analysis.more_probes, "probes of further flows"),
        (analysis.more_lldp, "LLDP frames of further stations"),
        (analysis.more_stamps, "stamps of further ports"),
    ):
        if count:
            console.print(Text(f"{count} {what} are counted without details"))
    for line in analysis.left_out():
        console.print(Text(line))


def order_lines(analysis: Analysis) -> list[str]:
    """Sentences about files whose frames are not in order of time."""
    lines = []
    for one in analysis.captures:
        if not one.backward:
            continue
        text = f"{one.file}: {one.backward} of {one.frames} frames are earlier than one before them"
        if one.unsorted == one.backward:
            text += "; order in time is that of the input (save it to a file to have it sorted)"
        elif one.unsorted:
            text += f"; sorted within {WINDOW} frames, of which {one.unsorted} were too late"
        else:
            text += "; sorted by time"
        lines.append(text)
    return lines


def _lines(interface: InterfaceSeen) -> list[str]:
    counts = ", ".join(f"{count} {kind}" for kind, count in interface.frames.items() if count)
    total = f"{quantity(interface.octets, 'B')} in {quantity(interface.seconds, 's')}"
    lines = [f"{counts or 'no frames'}; {total}"]
    if not is_readable(interface.linktype):
        lines.append(f"link type {interface.linktype}: only {READABLE_TYPES} are dissected")
    if interface.capture_drops is None:
        lines.append("the file does not state whether the capture lost frames")
    elif interface.capture_drops:
        lines.append(f"the capture lost {interface.capture_drops} frames: gaps may be its own")
    if interface.link_errors:
        errors = ", ".join(
            f"{count} {name.replace('_', ' ')}" for name, count in interface.link_errors.items()
        )
        lines.append(f"frames received with errors of the link: {errors}")
    if interface.untimed:
        lines.append(
            f"{interface.untimed} frames have a time beyond the year 2262: they count, without one"
        )
    if interface.cut:
        lines.append(
            f"{interface.cut} frames are cut (snap length): their octets count, and what was not "
            "captured of their headers is not read"
        )
    if interface.fcs_octets:
        text = f"frames end with {interface.fcs_octets} octets of FCS, which are not counted"
        if interface.fcs_unstated:
            text += "; the file does not state them, but they are the CRC of the first frames"
        lines.append(text)
    if interface.transmit_bps or interface.receive_bps:
        lines.append(
            f"link: sends at {quantity(interface.transmit_bps, 'bit/s')}, receives at "
            f"{quantity(interface.receive_bps, 'bit/s')}"
        )
    if interface.feedback:
        number = sum(interface.feedback.values())
        mean = sum(value * count for value, count in interface.feedback.items()) / number
        low, high = min(interface.feedback), max(interface.feedback)
        lines.append(f"feedback of {number} CNMs: {low} to {high}, mean {mean:.1f} (of 63)")
    if interface.pauses or interface.resumes:
        lines.append(f"PAUSE: {interface.pauses} to pause, {interface.resumes} to resume")
    if interface.ce:
        lines.append(f"ECN: {interface.ce} frames marked (CE)")
    if interface.jain is not None:
        fair = interface.fairness
        text = f"fairness (Jain): {interface.jain:.4f} of {fair.flows} data flows"
        text += f" ({', '.join(fair.kinds)}) in the busier direction"
        if fair.left_out:
            text += f"; {fair.left_out} others are not compared"
        lines.append(text)
    lines += _numbering_lines(interface)
    return lines


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _flow_count(count: int) -> str:
    return "one flow" if count == 1 else f"{count} flows"


def _numbering_lines(interface: InterfaceSeen) -> list[str]:
    """Sentences about flows whose packet numbers say something of the capture itself."""
    lines, flows = [], interface.conversations
    if restarts := sum(one.restarts for one in flows):
        lines.append(
            f"RoCE: numbering began anew {_times(restarts)}, as that of a new connection of a "
            "queue pair does: what was lost meanwhile is not known"
        )
    double = [one for one in flows if one.is_seen_twice]
    if double:
        lines.append(
            f"nearly every frame of {_flow_count(len(double))} is there twice, as by a mirror of "
            "two ports or directions: frames and rates are double"
        )
    elif interface.mirrored:
        lines.append(
            "nearly every packet is there twice, as by a mirror of two ports or directions: frames "
            "and rates are double, and copies count as reordered where they are late"
        )
    return lines


def _left_out(count: int, console: Console) -> None:
    if count > MOST_ROWS:
        console.print(Text(f"  and {count - MOST_ROWS} more: see --json"))


def _flows(interface: InterfaceSeen, console: Console) -> None:
    if interface.flows:
        own = [(one.source, one.flow, *_figures(one)) for one in interface.flows[:MOST_ROWS]]
        console.print(table(("source", "flow", *FIGURES), own))
        _left_out(len(interface.flows), console)
    if interface.conversations:
        others = [
            (*_sender_text(one), *_figures(one)) for one in interface.conversations[:MOST_ROWS]
        ]
        console.print(table(("from", "to", "what", *FIGURES), others))
        _left_out(len(interface.conversations), console)


def _figures(one: FlowSeen) -> tuple[object, ...]:
    counts = ("-" if n is None else n for n in (one.lost, one.duplicates, one.reordered))
    return (one.frames, quantity(one.throughput_bps, "bit/s"), *counts, one.ce)


def _sender_text(one: FlowSeen) -> tuple[str, str, str]:
    ends = (
        (one.from_address or one.source or "?", one.source_port),
        (one.to_address or one.destination or "?", one.destination_port),
    )
    before, after = (
        address if port is None else f"{address} port {port}" for address, port in ends
    )
    names = {6: "TCP", 17: "UDP"}
    what = one.kind if one.kind != "other" else ""
    if not what and one.protocol is not None:
        what = names.get(one.protocol, f"IP protocol {one.protocol}")
        if one.protocol in names and one.source_port is None:
            what += " without ports (later fragments, or cut)"
    if not what and one.ethertype == 0:
        what = "no EtherType"
    if not what:
        what = f"type {one.ethertype:#06x}" if one.ethertype >= 0 else "not dissected"
    if one.qp is not None:
        what += f" QP {one.qp:#x}"
    if one.vlan is not None:
        what += f", VLAN {one.vlan}"
    if one.tunnel is not None:
        what += f", in {one.tunnel}" + ("" if one.network is None else f" {one.network}")
    return before, after, what


def _messages(interface: InterfaceSeen, console: Console) -> None:
    if not interface.congestion_points:
        return
    rows = [
        (
            one.cpid,
            one.source,
            one.messages,
            f"{one.feedback_mean:.1f}",
            *(f"{one.offset_bytes[name]:.0f}" for name in ("min", "mean", "max")),
            *(f"{one.delta_bytes[name]:.0f}" for name in ("min", "mean", "max")),
        )
        for one in interface.congestion_points[:MOST_ROWS]
    ]
    columns = ("congestion point", "source", "CNMs", "feedback", "offset B", "mean", "max")
    console.print(table((*columns, "delta B", "mean", "max"), rows))
    _left_out(len(interface.congestion_points), console)


def _pauses(links: list[PauseSeen], console: Console) -> None:
    if not links:
        return
    rows = [
        (
            one.source,
            one.direction,
            "all" if one.priority is None else one.priority,
            one.frames,
            one.resumes,
            quantity(one.paused_s, "s"),
            "-" if one.duty is None else f"{one.duty:.1%}",
            "-" if one.spells is None else one.spells,
            quantity(one.longest_s, "s"),
            "-" if one.storms is None else one.storms,
            "-" if one.lapses is None else one.lapses,
            quantity(one.longest_lapse_s, "s"),
            "-" if one.lapsed_share is None else f"{one.lapsed_share:.2%}",
        )
        for one in links[:MOST_ROWS]
    ]
    columns = ("pause from", "way", "priority", "frames", "resumes", "paused", "duty")
    more = ("spells", "longest", "storms", "lapses", "longest", "share")
    console.print(table((*columns, *more), rows))
    _left_out(len(links), console)
    if any(one.paused_s is None for one in links):
        console.print(Text("  the link's rate is not known: give it with --rate for pause times"))


def _probes(interface: InterfaceSeen, console: Console) -> None:
    if not interface.probes:
        return
    rows = [
        (
            one.source,
            one.flow,
            one.way,
            one.probes,
            one.lost,
            one.reordered,
            *(quantity(one.rate_bps[name], "bit/s") for name in ("min", "mean", "max", "last")),
        )
        for one in interface.probes[:MOST_ROWS]
    ]
    columns = ("probes from", "flow", "way", "probes", "lost", "reordered", "rate", "mean", "max")
    console.print(table((*columns, "last"), rows))
    _left_out(len(interface.probes), console)


def _neighbours(interface: InterfaceSeen, console: Console) -> None:
    if not interface.neighbours:
        return
    shown = interface.neighbours[:MOST_ROWS]
    rows = [
        (one.source, one.frames, one.changes, TLVS[name], _tlv_text(says))
        for one in shown
        for name, says in one.says.items()
    ]
    rows += [
        (one.source, one.frames, one.changes, "note", note) for one in shown for note in one.notes
    ]
    rows += [
        (one.source, one.frames, one.changes, "-", "")
        for one in shown
        if not one.says and not one.notes
    ]
    console.print(table(("LLDP from", "frames", "changes", "DCBX", "says"), rows))
    _left_out(len(interface.neighbours), console)


def _stamps(interface: InterfaceSeen, console: Console) -> None:
    if not interface.stamps:
        return
    rows = [
        (
            one.port,
            one.way,
            one.stamps,
            "-".join(str(place) for place in sorted({*one.places})),
            *(f"{one.queued[name]:.0f}" for name in ("min", "mean", "max")),
            quantity(one.rate_bps, "bit/s"),
        )
        for one in interface.stamps[:MOST_ROWS]
    ]
    columns = ("stamps of", "way", "stamps", "place", "queued", "mean", "max", "rate")
    console.print(table(columns, rows))
    _left_out(len(interface.stamps), console)


def _tlv_text(says: dict[str, Any]) -> str:
    """A TLV's fields in a line."""
    words = []
    for name, value in says.items():
        if isinstance(value, list):
            value = " ".join(_item_text(one) for one in value) or "none"
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        words.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(words)


def _item_text(item: Any) -> str:
    """An entry of a list in a TLV: a number, or an application's priority."""
    if not isinstance(item, dict):
        return str(item)
    priorities = " ".join(str(one) for one in item["priorities"])
    return f"({item['selector']} {protocol_text(item)}: {priorities})"


def clock_lines(analysis: Analysis) -> list[str]:
    """Sentences about the clocks of captures that hold the same frames."""
    lines = []
    for one in analysis.clocks:
        text = f"clocks of {one.first} and {one.second}: "
        if one.verdict in ("agree", "differ") and one.offset_s is not None:
            offset = quantity(abs(one.offset_s), "s")
            within = quantity(one.uncertainty_s, "s")
            text += f"the second is {'behind' if one.offset_s < 0 else 'ahead'} by {offset}"
            text += f" (within {within})"
            if one.drift_ppm:
                verb = "loses" if one.drift_ppm < 0 else "gains"
                text += f" and {verb} {abs(one.drift_ppm):.3g} ppm"
            if one.verdict == "agree":
                text += ", which no frame contradicts being 0: not corrected"
            else:
                text += "; " + ("times are corrected" if one.corrected else "not corrected")
        elif one.verdict == "unverified":
            text += (
                "frames went one way only, so that they cannot be compared: latency and its "
                "direction hold if the clocks are synchronised"
            )
        else:
            cause = "by the TTL of frames" if one.verdict == "contradict" else "or frames took"
            text += (
                f"they differ, {cause}, at least {quantity(one.least_s, 's')}; frames went one way "
                "only, so that latency is not known"
            )
        lines.append(text)
    return lines


def _latency(analysis: Analysis, console: Console) -> None:
    for line in clock_lines(analysis):
        console.print(Text(line))
    if analysis.without_latency:
        flows = ", ".join(f"{count} {name}" for name, count in analysis.without_latency.items())
        text = f"flows at several points without latency: {flows}; only frames of tailback and of "
        console.print(Text(text + "RoCE are found again at the next point, by their numbers"))
    if not analysis.latency:
        return
    rows = [
        (
            one.before,
            one.after,
            one.source,
            "-" if one.flow is None else one.flow,
            one.frames,
            *(
                quantity(one.latency_s.get(name), "s")
                for name in ("min", "mean", "p50", "p99", "max")
            ),
        )
        for one in analysis.latency[:MOST_ROWS]
    ]
    columns = ("from", "to", "source", "flow", "frames", "min", "mean", "p50", "p99", "max")
    console.print(table(columns, rows, title="latency"))
    _left_out(len(analysis.latency), console)


def _cascades(analysis: Analysis, console: Console) -> None:
    if analysis.cascades_note:
        console.print(Text(f"cascades of pauses: {analysis.cascades_note}"))
    if not analysis.cascades:
        return
    counts: dict[tuple[str, int, int], int] = {}
    for step in analysis.cascades:
        key = (step.node, step.cause_link, step.effect_link)
        counts[key] = counts.get(key, 0) + 1
    sources = {
        one.link: f"{interface.name} ({one.source})"
        for interface in analysis.interfaces
        for one in interface.links
    }
    rows = [
        (node, sources[cause], sources[effect], count)
        for (node, cause, effect), count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    columns = ("at", "paused by", "and so paused on", "times")
    console.print(table(columns, rows[:MOST_ROWS], title="cascades of pauses"))
    _left_out(len(rows), console)
