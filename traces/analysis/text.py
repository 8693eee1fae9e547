"""An analysis as tables for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from orchestrator.cli.show import quantity, table
from traces.analysis.analyze import Analysis, InterfaceSeen


def show(analysis: Analysis, console: Console) -> None:
    """Print every interface."""
    for interface in analysis.interfaces:
        console.print(Text(interface.name, "bold"))
        for line in _lines(interface):
            console.print(Text("  " + line))
        if interface.flows:
            rows = [
                (
                    flow.source,
                    flow.flow,
                    flow.frames,
                    quantity(flow.throughput_bps, "bit/s"),
                    flow.lost,
                    flow.duplicates,
                    flow.reordered,
                )
                for flow in interface.flows
            ]
            columns = ("source", "flow", "frames", "rate", "lost", "duplicate", "reordered")
            console.print(table(columns, rows))


def _lines(interface: InterfaceSeen) -> list[str]:
    counts = ", ".join(f"{count} {kind}" for kind, count in interface.frames.items() if count)
    total = f"{quantity(interface.octets, 'B')} in {quantity(interface.seconds, 's')}"
    lines = [f"{counts or 'no frames'}; {total}"]
    if interface.capture_drops is None:
        lines.append("the file does not say whether the capture lost frames")
    elif interface.capture_drops:
        lines.append(f"the capture lost {interface.capture_drops} frames: gaps may be its own")
    if interface.feedback:
        number = sum(interface.feedback.values())
        mean = sum(value * count for value, count in interface.feedback.items()) / number
        low, high = min(interface.feedback), max(interface.feedback)
        lines.append(f"feedback of {number} CNMs: {low} to {high}, mean {mean:.1f} (of 63)")
    if interface.pauses or interface.resumes:
        lines.append(f"PAUSE: {interface.pauses} to pause, {interface.resumes} to resume")
    return lines
