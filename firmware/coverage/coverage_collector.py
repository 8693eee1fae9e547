"""Coverage collector: runs plans on counting models and adds up the points reached."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from firmware.coverage.verilator_counters import KINDS, CoveragePoint, PointCount, read_counters
from firmware.verilog_modules import files
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import silent
from orchestrator.target import Target

MODULES_BY_ALGORITHM: dict[tuple[str, str], tuple[str, ...]] = {
    ("congestion_point", "qcn-cp"): ("qcn_cp", "occupancy_sampler"),
    ("reaction_point", "qcn-rp"): ("qcn_rp",),
    ("pause", "pause"): ("pause_control",),
    ("traffic", "cbr"): ("flow_sources",),
}
"""Modules in `qcn_nic` and `qcn_switch` of each algorithm (kind, name)."""

NOT_IN_MODELS: dict[tuple[str, str], str] = {
    ("delay_line", "fixed-delay"): "links of Verilated nodes delay in the loop that clocks them "
    "(firmware/verilated/fabric.cpp); delay_line.v is behind a port of a card, and its bench "
    "holds it",
}
"""Algorithms whose module is in no Verilated node, with the part that does their work there."""


def algorithm_of_instance(instance: str, modules: dict[str, str]) -> tuple[str, str] | None:
    """Algorithm of an instance: that of its module, or of an enclosing one.

    `modules` has the module of each instance that has counters.
    """
    whose = {module: key for key, names in MODULES_BY_ALGORITHM.items() for module in names}
    parts = instance.split(".")
    for end in range(len(parts), 0, -1):
        module = modules.get(".".join(parts[:end]))
        if module in whose:
            return whose[module]
    return None


# Coverage waivers: comments in the Verilog that say why no run reaches a point.
#
# `// never else: REASON` follows the code of a line or precedes the line. It names Verilator's kind
# of the point (`points.KINDS`), then `(COLUMN)` where a line has several, then `on NAME` where it
# applies to one algorithm's instances only.

WAIVER = re.compile(
    r"//.*?never (?P<kind>[a-z_]+)(?: \((?P<column>\d+)\))?(?: on (?P<algorithm>[\w-]+))?"
    r": (?P<reason>.+)$"
)


@cache
def module_text(module: str) -> tuple[str, ...]:
    """The lines of a module's file."""
    (path,) = [path for path in files() if path.stem == module]
    return tuple(path.read_text("utf-8").splitlines())


def waiver_reason(point: CoveragePoint, algorithm: str) -> str | None:
    """Reason of a waiver for a point in instances of an algorithm; None without a waiver."""
    for line in _line_with_comments(module_text(point.module), point.line):
        found = WAIVER.search(line)
        if (
            found is not None
            and found["kind"] == point.kind
            and found["column"] in (None, str(point.column))
            and found["algorithm"] in (None, algorithm)
        ):
            return found["reason"].strip()
    return None


def _line_with_comments(lines: tuple[str, ...], number: int) -> tuple[str, ...]:
    """A line, and the comment lines right above it."""
    first = number - 1
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    return lines[first:number]


Key = tuple[str, str]
"""An algorithm's kind and name."""


class RtlCoverage:
    """Coverage of all runs so far: see `orchestrator.target.CoverageRecorder`."""

    def __init__(self, made: Callable[[Path], Target]) -> None:
        """`made`: the target, with a folder into which the models of a run write their counters."""
        self._made = made
        self._counts: dict[Key | None, dict[CoveragePoint, int]] = {None: {}}
        self._counts |= {key: {} for key in MODULES_BY_ALGORITHM}

    def run(self, resolved: ResolvedPlan) -> int:
        """Run a plan on counting models; returns the number of points that no earlier plan
        reached."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            recording = self._made(folder).run(resolved, silent)
            models = (recording.fidelity or {})["models"]
            files = sorted(folder.glob("*.dat"))
            if len(files) != len(models):
                raise RunFailed(f"{len(files)} of {len(models)} models have counted their lines")
            return sum(self.add(read_counters(file)) for file in files)

    def add(self, points: Iterable[PointCount]) -> int:
        """Add the counts of one model; returns the number of points reached for the first time."""
        every = list(points)
        modules = {one.instance: one.point.module for one in every}
        new = 0
        for one in every:
            counts = self._counts[algorithm_of_instance(one.instance, modules)]
            before = counts.get(one.point, 0)
            counts[one.point] = before + one.count
            new += before == 0 and one.count > 0
        return new

    def reached(self) -> dict[str, Any]:
        """Coverage report by algorithm and by module."""
        tables = [
            {"kind": kind, "name": name} | _table(self._counts[kind, name], name, modules)
            for (kind, name), modules in MODULES_BY_ALGORITHM.items()
        ]
        kernels = {
            key: sum(one[key] for one in tables) for key in ("branches", "reached", "excused")
        }
        elsewhere = [
            {"kind": kind, "name": name, "reason": why}
            for (kind, name), why in NOT_IN_MODELS.items()
        ]
        return {
            "kernels": kernels,
            "node": _table(self._counts[None]),
            "algorithms": tables,
            "not_run": elsewhere,
        }


def _table(
    counts: dict[CoveragePoint, int], algorithm: str = "", needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Coverage of one algorithm; a module of `needed` that no model had counts as one branch."""
    absent = [name for name in needed if all(point.module != name for point in counts)]
    never = {point: why for point in counts if (why := waiver_reason(point, algorithm)) is not None}
    reached = {point for point, count in counts.items() if count}
    wanted = {point for point in counts if point not in never or point in reached}
    modules = sorted({point.module for point in counts})
    return {
        "branches": len(wanted) + len(absent),
        "reached": len(reached),
        "excused": len(counts) - len(wanted),
        "modules": [
            {
                "name": name,
                "branches": sum(point.module == name for point in wanted),
                "reached": sum(point.module == name for point in reached),
            }
            for name in modules
        ],
        "missing": [
            *(f"{name}.v: no plan had a model with it" for name in absent),
            *(describe_point(point) for point in sorted(wanted - reached)),
        ],
        "never": [
            f"{describe_point(point)}: {never[point]}" for point in sorted(set(never) - reached)
        ],
        "contradicted": [describe_point(point) for point in sorted(set(never) & reached)],
    }


def describe_point(point: CoveragePoint) -> str:
    """``qcn_rp.v:502:17 `default: state <= CLEAR;` never this case``."""
    text = module_text(point.module)[point.line - 1].strip()
    return f"{point.module}.v:{point.line}:{point.column} `{text}` never {KINDS[point.kind]}"
