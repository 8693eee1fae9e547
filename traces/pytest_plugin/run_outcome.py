"""Outcome of a run: result, samples, captured frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import near
from orchestrator.recording import Column
from traces.pytest_plugin.decoded_frames import Frames

if TYPE_CHECKING:
    from orchestrator.run.execute_run import RunResult

NS = 1000
OUT = 2
"""Direction of a frame that left, in a capture file."""


@dataclass
class Outcome:
    """One run. `result` is what result.json holds; `folder` is None when none was kept."""

    target: str
    result: dict[str, Any]
    times_ps: np.ndarray
    columns: list[Column]
    values: np.ndarray
    folder: Path | None
    _captures: Callable[[], dict[str, Frames]]

    @classmethod
    def of(cls, done: RunResult) -> Outcome:
        """A run of this process."""
        recording = done.recording

        def captures() -> dict[str, Frames]:
            return {
                f"{one.node}.{one.port}": Frames.of(
                    one.times_ps, one.outgoing, one.lengths, one.octets
                )
                for one in recording.captures
            }

        return cls(
            recording.target,
            done.result,
            recording.times_ps,
            recording.columns,
            recording.values,
            done.folder,
            captures,
        )

    @classmethod
    def read(cls, folder: Path) -> Outcome:
        """A run that was made elsewhere, by its folder. Raises BadInput when it is damaged."""
        import json

        from traces.run_queries import epoch_of
        from traces.run_reader import load

        run = load(folder)
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        epoch_ns = epoch_of(folder)

        def captures() -> dict[str, Frames]:
            from traces.pcapng import read

            found = {}
            for path in sorted((folder / "captures").glob("*.pcapng")):
                seen = read(path)
                node, _, port = seen.interfaces[0].name.partition("-")
                times = (seen.times_ns - epoch_ns) * NS
                name = path.stem.replace("-", ".", 1) if not port else f"{node}.{port}"
                found[name] = Frames.of(times, seen.direction == OUT, seen.lengths, seen.octets)
            return found

        return cls(
            result["target"], result, run.times_ps, run.columns, run.values, folder, captures
        )

    @cached_property
    def captures(self) -> dict[str, Frames]:
        """Frames by port, "node.port": those that the plan captures."""
        return self._captures()

    def capture(self, port: str) -> Frames:
        """Frames of a port. Raises BadInput, with the ports there are."""
        if port not in self.captures:
            remedy = near(port, self.captures)
            raise BadInput("capture", f"the plan captures no port {port!r}; {remedy}")
        return self.captures[port]

    def sampled(self, entity: str, quantity: str) -> np.ndarray:
        """Samples of a quantity, int64[n], at `times_ps`. Raises BadInput, with what there is."""
        names = [(column.entity, column.quantity) for column in self.columns]
        if (entity, quantity) in names:
            return np.asarray(self.values[:, names.index((entity, quantity))])
        if entity not in {name for name, _ in names}:
            raise BadInput("node", f"there is no {entity!r}; {near(entity, {n for n, _ in names})}")
        known = [quantity for name, quantity in names if name == entity]
        raise BadInput("node", f"{entity} has no sampled {quantity!r}; {near(quantity, known)}")

    @property
    def late_ps(self) -> int:
        """Largest lateness of a departure, as the run measured it (ps); 0: virtual time."""
        lateness = self.result["fidelity"].get("lateness_s") or {}
        return int(lateness.get("max", 0.0) * 1e12)


class Node:
    """Samples and metrics of one node in a run."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        self.name, self.outcome = name, outcome

    def entities(self) -> list[str]:
        """Entities of the node: its ports, limiters, flows."""
        return list(dict.fromkeys(c.entity for c in self.outcome.columns if c.node == self.name))

    def sampled(self, entity: str, quantity: str) -> np.ndarray:
        """Samples of one of them, int64[n]. Raises BadInput when it is none of this node's."""
        if entity not in self.entities():
            raise BadInput(
                f"node {self.name}", f"it has no {entity!r}; {near(entity, self.entities())}"
            )
        return self.outcome.sampled(entity, quantity)

    def metric(self, entity: str, name: str, phase: str = "run") -> float | None:
        """A metric of the result, in SI units; None when the run did not yield it."""
        found = self.outcome.result["metrics"].get(phase, {}).get(entity, {})
        value: float | None = found.get(name)
        return value
