"""What a hunt through an algorithm's own gateware is asked, and what it says.

Who can run Verilog answers the hook `tailback_hunt_rtl`; the core knows no gateware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput
from orchestrator.progress import Report
from orchestrator.registry import Registry

SEQUENCES = 200
"""Where nobody says how many."""


@dataclass(frozen=True)
class RtlOptions:
    """How long random sequences of events are run on kernels and module, and where findings go."""

    source: Path
    """The file of the algorithm."""
    out: Path
    sequences: int = SEQUENCES
    minutes: float | None = None
    seed: int = 1
    simulator: str | None = None


@dataclass(frozen=True)
class RtlFound:
    """A difference that nobody documented, by the shortest sequence that was come by."""

    what: str
    text: str
    events: int
    file: Path
    """A test of pytest."""
    vcd: Path


@dataclass
class RtlHunted:
    """What came of one algorithm."""

    algorithm: str
    module: str
    simulator: str
    sequences: int = 0
    events: int = 0
    unfit: int = 0
    """Sequences that were drawn and had a number that the module has no room for."""
    replayed: int = 0
    seconds: float = 0.0
    found: list[RtlFound] = field(default_factory=list)

    def as_table(self) -> dict[str, Any]:
        """For `--json`."""
        found = [{**vars(one), "file": str(one.file), "vcd": str(one.vcd)} for one in self.found]
        return {**vars(self), "seconds": round(self.seconds, 1), "found": found}


def with_rtl(wanted: Sequence[Algorithm], insist: bool) -> list[Algorithm]:
    """The algorithms that name gateware of their own. Raises BadInput where there has to be one."""
    named = [one for one in wanted if one.rtl is not None]
    if insist and not named:
        names = ", ".join(one.name for one in wanted) or "without --against there is none"
        text = f"no algorithm names a module of its own ({names}); rtl= of the algorithm does"
        raise BadInput("tailback hunt --rtl", text)
    return named


def hunt_rtl(algorithm: Algorithm, options: RtlOptions, progress: Report) -> RtlHunted:
    """Hold an algorithm's module to its kernels. Raises BadInput and Refused."""
    answers = Registry.load().insist(
        "tailback_hunt_rtl", algorithm=algorithm, options=options, progress=progress
    )
    if not answers:
        raise BadInput("tailback hunt --rtl", "no plugin of this installation runs Verilog")
    hunted: RtlHunted = answers[0]
    return hunted
