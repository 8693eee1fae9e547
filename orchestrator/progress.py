"""Progress of a run: reported by targets, drawn by the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

TOLERANCE = 1e-6
"""A sum of shares may come out above 1 by so much."""


@dataclass(frozen=True)
class Progress:
    """One report. `done` runs from 0 to 1 within `stage`; a new stage starts at 0 again."""

    stage: str
    """Activity, as a participle: "compiling", "simulating", "writing"."""
    done: float
    detail: str = ""
    """One short phrase for the reader: "first run, about 8 s", "t = 3.2 s of 12 s"."""


def moment(now_s: float, duration_s: float) -> str:
    """Progress of a run, to a hundredth of its duration: "t = 0.0114 s of 0.04 s"."""
    digits = max(1, 2 - math.floor(math.log10(duration_s))) if duration_s < 1 else 1
    return f"t = {now_s:.{digits}f} s of {duration_s:g} s"


Report = Callable[[Progress], None]
"""Callback that `run(..., progress=)` takes. Called from the thread that runs; keep it short."""


def lack_of(news: object) -> str | None:
    """What a plugin's report is that cannot be shown, and what is expected; None: it is sound."""
    if not isinstance(news, Progress):
        return f"{news!r:.80}; report Progress(stage, done)"
    if not isinstance(news.stage, str) or not isinstance(news.detail, str):
        return f"{news!r:.80}; its stage and detail are texts"
    done = news.done
    if isinstance(done, bool) or not isinstance(done, Real) or not 0 <= done <= 1 + TOLERANCE:
        return f"done = {done!r:.20} of {news.stage!r:.40}; 0 to 1 are accepted"
    return None


def silent(progress: Progress) -> None:
    """Take a report and show nothing."""
