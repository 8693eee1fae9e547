"""Analysis of captures without a plan: flows, losses, latency, feedback, pauses and cascades."""

from traces.analysis.analysis_result import Analysis, FlowSeen, InterfaceSeen
from traces.analysis.analysis_text import show
from traces.analysis.analyze import Findings, analyze, read_captures
from traces.analysis.collector import Settings

__all__ = [
    "Analysis",
    "Findings",
    "FlowSeen",
    "InterfaceSeen",
    "Settings",
    "analyze",
    "read_captures",
    "show",
]
