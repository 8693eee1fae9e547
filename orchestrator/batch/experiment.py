"""Experiment: a resolved plan without its seed, and its points, one per seed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from orchestrator.batch.kernel_edit import KernelEdit
from orchestrator.registry import Registry
from orchestrator.run.source_digest import digest_of

if TYPE_CHECKING:
    from orchestrator.plan import Plan

NOT_RUN = ("seed", "title", "paper", "expect", "capture", "figure")
"""Keys of a resolved plan without effect on a run: its seed, texts, expectations, outputs."""
SIMULATED = "simulated"


@dataclass(frozen=True)
class Experiment:
    """Plan to be run with one seed or many, made by `of`; equal digests mean equal results."""

    name: str
    """Name of the plan."""
    target: str
    table: dict[str, Any] = field(repr=False)
    digest: str
    sources: str = ""
    """Digest of the sources that make its results, to detect outdated ones."""
    kernel: KernelEdit | None = None
    """Change of a kernel with which it is run."""
    cpu_s: float | None = None
    """CPU time (s) after which a point is given up, as one that ends its worker is; None: a point
    may take any time, and must not end its worker."""

    def with_kernel(self, kernel: KernelEdit) -> Experiment:
        """The same with a kernel changed: another experiment."""
        digest = hashlib.sha256(f"{self.digest} {kernel.digest}".encode()).hexdigest()
        return replace(self, kernel=kernel, digest=digest)

    @classmethod
    def of(cls, plan: Plan, target: str | None = None, **how: Any) -> Experiment:
        """A plan, checked, on its target or another one. Raises BadInput, Refused.

        `how`: further options of the target (its pace, its cores). With a `controller` the target
        runs on its machines, and only lacks common to all machines are refused here.
        """
        from orchestrator.capability import Capability
        from orchestrator.run.execute_run import (
            prepare,
            refuse_missing_capabilities,
            refuse_unsupported,
        )
        from orchestrator.run.plan_files import plan_files

        registry = Registry.load()
        placed = plan
        if target is not None and target != plan.target:
            placed = plan.with_settings([f"target={target}"], said="")
        resolved, place, _ = prepare(registry, placed)
        if how.get("controller") is None:
            refuse_unsupported(place, resolved)
        elif Capability.HELD in place.capabilities:
            refuse_missing_capabilities(place, resolved)
        table = {k: v for k, v in resolved.plan.to_table().items() if k not in NOT_RUN}
        said = {key: value for key, value in how.items() if value is not None}
        sources = digest_of(registry)
        parts = [table, repr(resolved.actions), said, plan_files(resolved), sources]
        digest = hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()
        return cls(resolved.plan.name, resolved.plan.target, table, digest, sources)


@dataclass(frozen=True)
class Point:
    """One run of a subject."""

    subject: Experiment
    seed: int

    @property
    def digest(self) -> str:
        """Key of its result in the store."""
        return hashlib.sha256(f"{self.subject.digest} {self.seed}".encode()).hexdigest()[:32]

    def __str__(self) -> str:
        return f"{self.subject.name} on {self.subject.target}, seed {self.seed}"
