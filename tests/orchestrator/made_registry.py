"""A registry of the test's own, in place of what is installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import Field

from orchestrator import algorithm
from orchestrator.capability import Capability
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.registry import Registry
from orchestrator.targets.simulated_options import SimulatedOptions

QUICKSTART = """name = "quickstart"
title = "A first run"
duration = "2s"
"""


class CpParams(Params):
    """Parameters of the test's congestion point."""

    presets = {"small": {"set_point": "1KB"}}  # noqa: RUF012  (as plugins write it)
    set_point: Size = Field(26_000, gt=0, description="queue length aimed at")
    weight: int = Field(ge=0, description="weight of the growth")


def a_registry(plans: Path) -> SimpleNamespace:
    """One congestion point, one target, one plan, one broken plugin."""
    (plans / "quickstart.toml").write_text(QUICKSTART)
    cp = algorithm.congestion_point("test-cp", "a test's own", CpParams, np.dtype([("x", "i8")]))
    target = SimpleNamespace(
        name="simulated",
        summary="discrete events",
        probe=lambda: None,
        further=list,
        capabilities=frozenset({Capability.KERNELS}),
    )
    return SimpleNamespace(
        algorithms=[cp],
        targets=[target],
        target_options={"simulated": SimulatedOptions},
        problems=["broken 1.0: ImportError: no module named x"],
        plans=lambda: {"quickstart": plans / "quickstart.toml"},
        manager=SimpleNamespace(list_name_plugin=list),
    )


@pytest.fixture
def registry(tmp_path, monkeypatch) -> SimpleNamespace:
    """The registry that every command sees."""
    plans = tmp_path / "plans"
    plans.mkdir()
    found = a_registry(plans)
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: found))
    return found
