"""The suite on the simulator: a switch of the plan stands in for the device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.plan import Plan
from traces.pytest_plugin.dut_description import DEVICE
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab


class StandIn(Lab):
    """Runs plans of the suite with a simulated switch of some settings in place of the device."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__("simulated")
        self._settings = settings

    def run(
        self,
        plan: Plan | Path | str,
        *settings: str,
        beside: Sequence[str] = (),
        real_time: Sequence[str] = (),
        pace: float | None = None,
        again: bool = False,
    ) -> Outcome:
        """As `Lab.run`."""
        loaded = self._loaded(plan, list(settings))
        table = loaded.to_table()
        table["nodes"][DEVICE] |= {"as": "switch"} | self._settings
        return super().run(loaded.with_data(table), again=again)


class Figures:
    """In place of the fixture `figure`: keeps what is measured, and judges nothing."""

    def __init__(self) -> None:
        self.kept: dict[str, bool] = {}
        self.why: dict[str, str] = {}

    def __call__(self, name: str, **values: Any) -> None:
        """A figure, by its name."""
        self.kept[name] = abs(values["seen"] - values["expected"]) <= values["tolerance"]
        self.why[name] = values["why"]

    @property
    def missed(self) -> set[str]:
        """Names of the figures that are not within their tolerance."""
        return {name for name, kept in self.kept.items() if not kept}
