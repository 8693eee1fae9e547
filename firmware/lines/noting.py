"""Coverage collector: runs plans on counting models and adds up the points reached."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from firmware.lines.parts import ELSEWHERE, MODULES, algorithm_of
from firmware.lines.points import KINDS, Counted, Point, counted
from firmware.lines.remarks import reason, text_of
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import silent
from orchestrator.target import Target

Key = tuple[str, str]
"""An algorithm's kind and name."""


class Lines:
    """Coverage of all runs so far: see `orchestrator.target.Noting`."""

    def __init__(self, made: Callable[[Path], Target]) -> None:
        """`made`: the target, with a folder into which the models of a run write their counters."""
        self._made = made
        self._counts: dict[Key | None, dict[Point, int]] = {None: {}}
        self._counts |= {key: {} for key in MODULES}

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
            return sum(self.add(counted(file)) for file in files)

    def add(self, points: Iterable[Counted]) -> int:
        """Add the counts of one model; returns the number of points reached for the first time."""
        every = list(points)
        modules = {one.instance: one.point.module for one in every}
        new = 0
        for one in every:
            counts = self._counts[algorithm_of(one.instance, modules)]
            before = counts.get(one.point, 0)
            counts[one.point] = before + one.count
            new += before == 0 and one.count > 0
        return new

    def reached(self) -> dict[str, Any]:
        """Coverage report by algorithm and by module."""
        tables = [
            {"kind": kind, "name": name} | _table(self._counts[kind, name], name, modules)
            for (kind, name), modules in MODULES.items()
        ]
        kernels = {
            key: sum(one[key] for one in tables) for key in ("branches", "reached", "excused")
        }
        elsewhere = [
            {"kind": kind, "name": name, "reason": why} for (kind, name), why in ELSEWHERE.items()
        ]
        return {
            "kernels": kernels,
            "node": _table(self._counts[None]),
            "algorithms": tables,
            "not_run": elsewhere,
        }


def _table(
    counts: dict[Point, int], algorithm: str = "", needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Coverage of one algorithm; a module of `needed` that no model had counts as one branch."""
    absent = [name for name in needed if all(point.module != name for point in counts)]
    never = {point: why for point in counts if (why := reason(point, algorithm)) is not None}
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
            *(told(point) for point in sorted(wanted - reached)),
        ],
        "never": [f"{told(point)}: {never[point]}" for point in sorted(set(never) - reached)],
        "contradicted": [told(point) for point in sorted(set(never) & reached)],
    }


def told(point: Point) -> str:
    """``qcn_rp.v:502:17 `default: state <= CLEAR;` never this case``."""
    text = text_of(point.module)[point.line - 1].strip()
    return f"{point.module}.v:{point.line}:{point.column} `{text}` never {KINDS[point.kind]}"
