"""Verilog module of an algorithm, and the mapping of its ports to numbers of the kernels.

The kernels are what the module is held to (`tailback hunt --against FILE.py`): what an event's
kernel reads is put on the input ports, what it returns and writes is awaited at the output ports.
A number has a name: "params.F", "state.F", "frame.F", "message.F", the entity's own ("queue.F",
"limiter.F", ...), "now" in ps, and "result" for what a kernel returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.engine.records import FLOW, FRAME, LIMITER, NODE, PORT, QUEUE, SCHEDULER

ENTITY_NAMES: Mapping[str, tuple[str, np.dtype]] = {
    "congestion_point": ("queue", QUEUE),
    "notification_point": ("node", NODE),
    "reaction_point": ("limiter", LIMITER),
    "pause": ("queue", QUEUE),
    "delay_line": ("port", PORT),
    "traffic": ("flow", FLOW),
    "transport": ("flow", FLOW),
    "receiver": ("node", NODE),
    "watchdog": ("queue", QUEUE),
    "scheduler": ("scheduler", SCHEDULER),
    "buffer_management": ("queue", QUEUE),
}
"""Kind of an algorithm -> what the record that it works on is called, and its fields."""
PortMapping = str | int | Callable[[Any], int]
"""The name of a number, a constant, or what a function makes of the parameters' model."""


@dataclass(frozen=True)
class Rtl:
    """A module that does what kernels do."""

    top: str
    files: tuple[str, ...]
    """Verilog, each beside the file that the kernels are in, or by its path from there."""
    events: Mapping[str, Mapping[str, str | int]]
    """Kernel -> input ports in the clock of its event; these are 0 in all other clocks."""
    outputs: Mapping[str, str]
    """Output port -> the number that it has to show. Those of the message count where the kernel
    returns something."""
    inputs: Mapping[str, PortMapping] = field(default_factory=dict)
    """Input ports that hold a number all the while: of parameters, a seed, of the entity."""
    clock: str = "clk"
    reset: Mapping[str, int] = field(default_factory=lambda: {"rst": 1})
    """Ports with which a run begins, and with what; afterwards each has the opposite bit."""
    after: int = 1
    """Clocks from an event to what it comes to, at least; 0: in the same clock."""
    ready: str = ""
    """Output that is 1 where the next event can be taken, and so the last one is over."""
    valid: str = ""
    """Output that is 1 for one clock where, and only where, the kernel returns something."""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Between what numbers lie for which the module is made, both included, where that is less than
    the port holds; of a number that the module is not given, between what it is drawn at all."""
    documented: Mapping[str, Callable[[int], int]] = field(default_factory=dict)
    """Documented differences: output port -> the module's value instead of a number."""
    most_clocks: int = 1_000
    """In so many an event is over."""


SEQUENCES = 200
"""Default number of sequences."""


@dataclass(frozen=True)
class RtlOptions:
    """Options of random event sequences on kernels and module: number, time, folder of findings."""

    source: Path
    """The file of the algorithm."""
    out: Path
    sequences: int = SEQUENCES
    minutes: float | None = None
    seed: int = 1
    simulator: str | None = None


@dataclass(frozen=True)
class RtlDifference:
    """An undocumented difference, with the shortest sequence that shows it."""

    what: str
    text: str
    events: int
    file: Path
    """A test of pytest."""
    vcd: Path


@dataclass
class RtlHunted:
    """Result of one algorithm."""

    algorithm: str
    module: str
    simulator: str
    sequences: int = 0
    events: int = 0
    unfit: int = 0
    """Sequences that were drawn and had a number that the module has no room for."""
    replayed: int = 0
    seconds: float = 0.0
    found: list[RtlDifference] = field(default_factory=list)

    def as_table(self) -> dict[str, Any]:
        """For `--json`."""
        found = [{**vars(one), "file": str(one.file), "vcd": str(one.vcd)} for one in self.found]
        return {**vars(self), "seconds": round(self.seconds, 1), "found": found}


def problems(kind: str, rtl: Rtl, state: np.dtype, params: np.dtype, kernels: Any) -> Iterator[str]:
    """Names in it that the algorithm does not have."""
    entity, dtype = ENTITY_NAMES[kind]
    fields = {"params": params, "state": state, entity: dtype, "frame": FRAME, "message": FRAME}

    def is_field(name: str) -> bool:
        record, _, one = name.partition(".")
        names = fields[record].names or () if record in fields else ()
        return name in ("now", "result") or (one in names and not fields[record][one].shape)

    for event in rtl.events:
        if event not in kernels:
            yield f"its module has an event {event!r}, and it has no such kernel"
    held = [one for one in rtl.inputs.values() if isinstance(one, str)]
    of_events = [
        one for ports in rtl.events.values() for one in ports.values() if isinstance(one, str)
    ]
    for name in [*held, *of_events, *rtl.outputs.values(), *rtl.ranges]:
        if not is_field(name):
            yield f"its module is to have {name!r}, which is no number of it"
    for name in [*held, *of_events]:
        if name == "result" or name.startswith("message."):
            yield f"its module is given {name!r}, which a kernel is not"
    for port in rtl.documented:
        if port not in rtl.outputs:
            yield f"its module parts from the kernels at {port!r}, which is none of its outputs"
    if not rtl.events or not (rtl.outputs or rtl.valid):
        yield "its module has no event, or shows nothing of what one comes to"
