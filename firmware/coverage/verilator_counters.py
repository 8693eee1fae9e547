"""Verilator's counters of one run: a point for each block of statements and branch direction.

A file has a line per point; octets 1 and 2 separate its fields (`verilated_cov.cpp`). A condition
without an `else` has a point for it as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firmware.verilog_modules import RTL
from orchestrator.errors import RunFailed

LINE = re.compile(r"C '(?P<fields>.*)' (?P<count>\d+)")
KINDS = {
    "block": "what begins here",
    "case": "this case",
    "if": "true",
    "elsif": "true",
    "else": "false",
    "cond_then": "true",
    "cond_else": "false",
}
"""Verilator's kinds of points, and their texts in reports."""


COMPILED = "kernel_"
"""How names of modules begin that were compiled from a kernel for one model."""


@dataclass(frozen=True, order=True)
class CoveragePoint:
    """Coverage point at a position of a module's file."""

    module: str
    line: int
    column: int
    kind: str
    """Key of KINDS."""


@dataclass(frozen=True)
class PointCount:
    """Count of a point within one instance of its module."""

    point: CoveragePoint
    instance: str
    """Path from the top: `TOP.qcn_nic.limiters.reaction_points`."""
    count: int


def read_counters(path: Path) -> Iterator[PointCount]:
    """Read all counters of a file, but for those of modules that were compiled from kernels: their
    lines are in no file of ours. Raises RunFailed for a missing one, or one of other Verilog."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise RunFailed(f"{path.name}: no lines were counted: {error.strerror}") from None
    found = [LINE.fullmatch(line) for line in lines]
    points = [_parse_counter(path, one["fields"], int(one["count"])) for one in found if one]
    if not points:
        raise RunFailed(f"{path.name}: it has no counters of lines")
    yield from (point for point in points if point is not None)


def _parse_counter(path: Path, text: str, count: int) -> PointCount | None:
    fields = dict(field.split("\x02", 1) for field in text.split("\x01") if "\x02" in field)
    source = Path(fields["f"])
    # A kept model is found by the contents of its Verilog: it may be of another clone.
    room, _, within = source.as_posix().rpartition("/".join(("", *RTL.parts[-2:], "")))
    if not room and source.name.startswith(COMPILED):
        return None
    if not room or not (RTL / within).is_file() or fields["o"] not in KINDS:
        raise RunFailed(f"{path.name}: {source} {fields['o']} is no place in our Verilog")
    point = CoveragePoint(source.stem, int(fields["l"]), int(fields["n"]), fields["o"])
    return PointCount(point, fields["h"], count)
