"""Entry points of the analysis of one or several captures."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from traces.analysis.analysis_result import Analysis
from traces.analysis.analysis_summary import summarise
from traces.analysis.collector import CapturePass, Settings


@dataclass(frozen=True)
class Findings:
    """The summary, and the tables behind it for figures and files."""

    analysis: Analysis
    collected: CapturePass
    spells: np.ndarray


def read_captures(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Findings:
    """Read captures once, together. Raises BadInput when one cannot be opened or is none."""
    collected = CapturePass(paths, settings or Settings())
    analysis, spells = summarise(collected)
    return Findings(analysis, collected, spells)


def analyze(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Analysis:
    """The summary of captures. Raises BadInput when one cannot be opened or is none."""
    return read_captures(*paths, settings=settings).analysis
