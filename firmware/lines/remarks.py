"""Coverage waivers: comments in the Verilog that say why no run reaches a point.

`// never else: REASON` stands behind the code of a line or above it, with what Verilator calls the
point (`points.KINDS`), and with `(COLUMN)` behind that where a line has several. `on NAME` in
between, an algorithm's: in its instances alone.
"""

from __future__ import annotations

import re
from functools import cache

from firmware.lines.points import Point
from firmware.modules import files

REMARK = re.compile(
    r"//.*?never (?P<kind>[a-z_]+)(?: \((?P<column>\d+)\))?(?: on (?P<algorithm>[\w-]+))?"
    r": (?P<reason>.+)$"
)


@cache
def text_of(module: str) -> tuple[str, ...]:
    """The lines of a module's file."""
    (path,) = [path for path in files() if path.stem == module]
    return tuple(path.read_text("utf-8").splitlines())


def reason(point: Point, algorithm: str) -> str | None:
    """Why a point is not reached in instances of an algorithm, where somebody has said so."""
    for line in _beside(text_of(point.module), point.line):
        found = REMARK.search(line)
        if (
            found is not None
            and found["kind"] == point.kind
            and found["column"] in (None, str(point.column))
            and found["algorithm"] in (None, algorithm)
        ):
            return found["reason"].strip()
    return None


def _beside(lines: tuple[str, ...], number: int) -> tuple[str, ...]:
    """A line, and remarks right above it."""
    first = number - 1
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    return lines[first:number]
