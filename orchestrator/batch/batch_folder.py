"""Folder of a batch: the plan, and a manifest with all seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.batch.experiment import SIMULATED
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.manifest import build_manifest
from orchestrator.run.run_folder import RunFolder, new_name
from orchestrator.run.source_digest import digest_of

NOTHING: Mapping[str, Any] = {}


@contextmanager
def batch_folder(
    plan: Plan,
    seeds: Sequence[int],
    out: Path,
    kind: str,
    target: str = SIMULATED,
    said: Mapping[str, Any] = NOTHING,
) -> Iterator[RunFolder]:
    """Open the folder of a batch below `out`, to be committed; `kind` is the suffix of its name.

    `said`: further entries of its manifest.
    """
    registry = Registry.load()
    with RunFolder.open(out, plan.name, new_name(kind)) as folder:
        folder.write_text("plan.toml", plan.check(registry).plan.to_toml())
        clock = "virtual" if target == SIMULATED else "CLOCK_MONOTONIC"
        manifest = build_manifest(plan.name, target, seeds[0], clock)
        more = {"seeds": list(seeds), "sources": digest_of(registry)}
        folder.write_json("manifest.json", {**manifest, **more, **said})
        yield folder
