"""Analysis of captures without a plan: flows, losses, latency, feedback, pauses and cascades."""

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
