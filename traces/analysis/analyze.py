"""Entry points of the analysis of one or several captures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from traces.analysis.analysis_result import Analysis
from traces.analysis.analysis_summary import summarise
from traces.analysis.clock_offsets import corrections
from traces.analysis.collector import CapturePass, Settings


@dataclass(frozen=True)
class Findings:
    """The summary, and the tables behind it for figures and files."""

    analysis: Analysis
    collected: CapturePass
    spells: np.ndarray


def read_captures(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Findings:
    """Read captures together: once, and again with files sorted whose frames are not in order of
    time, and again with clocks corrected that certainly differ.

    Raises BadInput when one cannot be opened or is none.
    """
    chosen = settings or Settings()
    collected = CapturePass(paths, chosen)
    backward = [collected.backward(index) for index in range(len(paths))]
    unordered = {index for index, count in enumerate(backward) if count and is_file(paths[index])}
    if unordered:
        collected = CapturePass(paths, chosen, unordered)
    clocks = collected.clocks.pairs()
    wrong = corrections(clocks)
    if wrong and all(is_file(path) for path in paths):
        collected = CapturePass(paths, chosen, unordered, wrong)
    analysis, spells = summarise(collected, backward, clocks)
    return Findings(analysis, collected, spells)


def is_file(path: str | os.PathLike[str]) -> bool:
    """True if a path can be read a second time."""
    return Path(path).is_file()


def analyze(*paths: str | os.PathLike[str], settings: Settings | None = None) -> Analysis:
    """The summary of captures. Raises BadInput when one cannot be opened or is none."""
    return read_captures(*paths, settings=settings).analysis
