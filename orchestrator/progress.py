"""How far a run is: what targets report and what the command line draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report. `done` runs from 0 to 1 within `stage`; a new stage starts at 0 again."""

    stage: str
    """What is being done, as a participle: "compiling", "simulating", "writing"."""
    done: float
    detail: str = ""
    """One short phrase for the reader: "first run, about 8 s", "t = 3.2 s of 12 s"."""


Report = Callable[[Progress], None]
"""What `run(..., progress=)` takes. Called from the thread that runs; keep it short."""


def silent(progress: Progress) -> None:
    """Take a report and show nothing."""
