"""Coverage waivers: comments in the Verilog that say why no run reaches a point.

`// never else: REASON` follows the code of a line or precedes the line. It names Verilator's kind
of the point (`points.KINDS`), then `(COLUMN)` where a line has several, then `on NAME` where it
applies to one algorithm's instances only.
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
    """Reason of a waiver for a point in instances of an algorithm; None without a waiver."""
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
    """A line, and the comment lines right above it."""
    first = number - 1
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    return lines[first:number]
