"""What a capture of ours says by itself: kinds of frames, feedback, pauses, flows and losses."""

from traces.analysis.analyze import Analysis, analyze
from traces.analysis.text import show

__all__ = ["Analysis", "analyze", "show"]
