"""Entry points of the analysis of one or several captures."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from traces.analysis.collect import Collected, Settings
from traces.analysis.found import Analysis
from traces.analysis.summary import summarise


@dataclass(frozen=True)
class Findings:
    """The summary, and the tables behind it for figures and files."""

    analysis: Analysis
    collected: Collected
    spells: np.ndarray


def look(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Findings:
    """Read captures once, together. Raises BadInput when one cannot be opened or is none."""
    collected = Collected(paths, settings or Settings())
    analysis, spells = summarise(collected)
    return Findings(analysis, collected, spells)


def analyze(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Analysis:
    """The summary of captures. Raises BadInput when one cannot be opened or is none."""
    return look(*paths, settings=settings).analysis
