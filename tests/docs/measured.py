"""What a run measured, by kind of entity, each held against the reference."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from orchestrator.plan import Plan, observers
from orchestrator.plan.metric_registry import ENTITIES, METRICS
from orchestrator.plan.observables import PLUGIN, Observed, plugin_of
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run


@dataclass(frozen=True)
class Measured:
    """The files of a run: result.json, and (entity, quantity, unit) of samples.parquet."""

    plan: Plan
    result: dict[str, Any]
    series: set[tuple[str, str, str]]

    @classmethod
    def of(cls, plan: Plan, target: str) -> Measured:
        """Run a plan and read what it wrote."""
        with tempfile.TemporaryDirectory() as folder:
            done = run(plan, target=target, out=Path(folder), report=False)
            assert done.folder is not None
            result = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
            names = ["entity", "quantity", "unit"]
            table = pq.read_table(done.folder / "samples.parquet", columns=names)
        rows = table.group_by(names).aggregate([]).to_pylist()
        return cls(plan, result, {(row["entity"], row["quantity"], row["unit"]) for row in rows})

    def shown(self, entity: str) -> list[Observed]:
        """What the algorithms of an entity show of themselves."""
        kinds = observers.observed_entities(self.plan)[entity]
        every = Registry.load().algorithms
        return [one for a in every if PLUGIN + a.name in kinds for one in a.columns]

    def brought(self, entity: str) -> set[str]:
        """The metrics of these."""
        kinds = observers.observed_entities(self.plan)[entity]
        plugins = [kind.removeprefix(PLUGIN) for kind in kinds if kind.startswith(PLUGIN)]
        return {m for one in self.shown(entity) for name in plugins for m in one.metrics(name)}

    def metrics(self) -> set[tuple[str, str]]:
        """(kind, metric) of all that is in result.json; each must be in the reference."""
        kinds, found = self.plan.entities(), set()
        for phase, entities in self.result["metrics"].items():
            for entity, metrics in entities.items():
                of = {kind for kind in kinds[entity] if kind in METRICS}
                for metric in metrics:
                    if plugin_of(metric):
                        assert metric in self.brought(entity), f"{phase}: {entity} has {metric}"
                        continue
                    having = {(kind, metric) for kind in of if metric in METRICS[kind]}
                    assert having, f"{phase}: {entity} ({of}) has {metric}"
                    found |= having
        return found

    def samples(self) -> set[tuple[str, str, str]]:
        """(kind, quantity, unit) of all that was sampled; each must be in the reference."""
        kinds, found = self.plan.entities(), set()
        for entity, quantity, unit in self.series:
            having = {
                (kind, quantity, unit)
                for kind in kinds[entity]
                for sampled in ENTITIES.get(kind, ())
                if (sampled.quantity, sampled.unit) == (quantity, unit)
            }
            known = {(one.field, one.unit) for one in self.shown(entity)}
            assert having or (quantity, unit) in known, f"{entity} has {quantity} in {unit}"
            found |= having
        return found
