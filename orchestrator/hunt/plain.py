"""A process in which kernels are plain Python: what a plan measures there, what it reaches.

Started as `python -m orchestrator.hunt.plain DESCRIPTOR [FILE.py]` with NUMBA_DISABLE_JIT=1. It is
sent plans' tables and answers with a digest of their samples and the number of branches that no
plan before had reached; sent None, it answers with what is still not reached, and ends.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.recording import Recording


def digest(recording: Recording) -> str:
    """Of all samples of a run, and their times."""
    import hashlib

    found = hashlib.sha256(np.ascontiguousarray(recording.times_ps).tobytes())
    found.update(np.ascontiguousarray(recording.values).tobytes())
    return found.hexdigest()


class Bench:
    """Runs plans under coverage, one after another."""

    def __init__(self) -> None:
        import coverage

        from orchestrator.hunt import kernels
        from orchestrator.registry import Registry

        algorithms = Registry.load().algorithms
        self._names = kernels.kernel_names(algorithms)
        self._files = kernels.files(algorithms)
        include = [str(path) for path in self._files]
        self._coverage = coverage.Coverage(branch=True, data_file=None, include=include)
        self._known: set[tuple[str, tuple[int, int]]] = set()

    def run(self, table: dict[str, Any]) -> tuple[str, int]:
        """(digest of what it measured, new branches); "" for one that did not come to its end."""
        from orchestrator.hunt.looking import NoPlan, check_plan
        from orchestrator.progress import silent
        from orchestrator.registry import Registry

        try:
            resolved = check_plan(table)
        except NoPlan:
            return "", 0
        self._coverage.start()
        try:
            recording = Registry.load().target("simulated").run(resolved, silent)
        finally:
            self._coverage.stop()
        return digest(recording), self._new()

    def _new(self) -> int:
        data = self._coverage.get_data()
        reached = {(name, arc) for name in data.measured_files() for arc in data.arcs(name) or ()}
        new = reached - self._known
        self._known = reached
        return len(new)

    def left(self) -> dict[str, Any]:
        """Branches of compiled functions: how many there are, and those that were not reached."""
        from orchestrator.hunt import kernels

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "coverage.json"
            with contextlib.redirect_stdout(sys.stderr):
                self._coverage.json_report(outfile=str(path))
            found = json.loads(path.read_text("utf-8"))["files"]
        by_path = {Path(name).resolve(): one for name, one in found.items()}
        missing, count = [], 0
        for path in self._files:
            mine = kernels.lines(path, self._names.get(path, ()))
            one = by_path.get(path.resolve(), {"executed_branches": [], "missing_branches": []})
            every = [*one["executed_branches"], *one["missing_branches"]]
            count += sum(start in mine for start, _ in every)
            for start, end in one["missing_branches"]:
                if start in mine:
                    place = "the end" if end < 0 else f"line {end}"
                    missing.append(
                        f"{path.parent.name}/{path.name}:{start} to {place}, {mine[start]}"
                    )
        return {"branches": count, "missing": missing}


def main(descriptor: int, against: str | None) -> None:
    """Answer until there are no more plans."""
    from orchestrator.hunt.against import bring

    pipe = Connection(descriptor)
    if against is not None:
        bring(Path(against))
    bench = Bench()
    with contextlib.suppress(EOFError, ConnectionError):  # the parent ended meanwhile
        while (table := pipe.recv()) is not None:
            try:
                pipe.send(bench.run(table))
            except Exception as error:
                pipe.send((f"{type(error).__name__}: {error}", -1))
        pipe.send(bench.left())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
