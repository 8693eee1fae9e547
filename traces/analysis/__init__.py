"""What captures say by themselves: flows, losses, latency, feedback, pauses and their cascades."""

from traces.analysis.analyze import Findings, analyze, look
from traces.analysis.collect import Settings
from traces.analysis.found import Analysis, FlowSeen, InterfaceSeen
from traces.analysis.text import show

__all__ = [
    "Analysis",
    "Findings",
    "FlowSeen",
    "InterfaceSeen",
    "Settings",
    "analyze",
    "look",
    "show",
]
