"""Runner of plans on one target, with the machines that testbed.toml names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.testbed.inventory import Testbed
from traces.pytest_plugin.capabilities import (
    CARD,
    DEVICE,
    GATEWARE,
    REAL_TIME,
    SIMULATED,
    SOFTWARE,
    lack,
)
from traces.pytest_plugin.dut_description import Device
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.testbed_session import TestbedSession


class Lab:
    """Runs plans on a target. `last` is the run that was made last.

    `across`: machines to run the target software on; `cards`: a testbed whose cards the target
    gateware runs on; `device`: one of others that is under test on the target software.
    """

    def __init__(
        self,
        target: str,
        across: TestbedSession | None = None,
        cards: Testbed | None = None,
        device: Device | None = None,
    ) -> None:
        self.target, self.across, self.cards, self.device = target, across, cards, device
        self.column = CARD if cards is not None else DEVICE if device is not None else target
        """Column of the figures."""
        self._last: Outcome | None = None
        self._kept: dict[tuple[str, ...], Outcome] = {}

    def lacks(self, capability: str) -> str | None:
        """Reason why a capability is not available, with the remedy; else None."""
        machines = self.across is not None
        if (text := lack(capability, self.column, machines=machines)) is not None:
            return text
        return self.unusable()

    def unusable(self) -> str | None:
        """Reason why the target cannot be used on this machine, with the remedy; else None."""
        from orchestrator.registry import Registry

        if self.across is not None or self.cards is not None:
            return None
        refusal = Registry.load().target(self.target).probe()
        return None if refusal is None else str(refusal)

    @property
    def last(self) -> Outcome:
        """The run that was made last. Raises BadInput when there was none."""
        if self._last is None:
            raise BadInput("testbed", "nothing was run yet; call testbed.run(PLAN) first")
        return self._last

    def run(
        self,
        plan: Plan | Path | str,
        *settings: str,
        beside: Sequence[str] = (),
        real_time: Sequence[str] = (),
        pace: float | None = None,
        again: bool = False,
    ) -> Outcome:
        """Run a plan: itself, its file, or a shipped one's name; `settings` are "key=value".

        `beside` names nodes that are not under test: gateware leaves them to the simulator.
        `real_time` are settings where time is real: a longer run, say, which a stall of the machine
        spoils less; where time is virtual it would only cost more of it. `pace`: seconds of the run
        per second, where a target can be slowed down: nodes in software on this machine. What was
        run already in this session is not run another time, unless `again`. Raises BadInput,
        Refused (naming what the target lacks) or RunFailed.
        """
        changes = list(settings)
        if self.column == GATEWARE:
            changes += [f"nodes.{name}.target={SIMULATED}" for name in beside]
        if self.column in REAL_TIME:
            changes += real_time
        loaded = self._loaded(plan, changes)
        if self.column != SOFTWARE or self.across is not None:
            pace = None
        key = (loaded.to_toml(), str(pace))
        if again or key not in self._kept:
            self._kept[key] = self._execute(loaded, pace)
        self._last = self._kept[key]
        return self._last

    @staticmethod
    def _loaded(plan: Plan | Path | str, changes: list[str]) -> Plan:
        if isinstance(plan, Plan):
            return plan.with_settings(changes) if changes else plan
        from orchestrator.terminal.plan_loading import load_plan

        return load_plan(str(plan), changes)

    def _execute(self, plan: Plan, pace: float | None) -> Outcome:
        if self.across is not None:
            return self.across.run(plan.with_settings([f"target={SOFTWARE}"]))
        from orchestrator.run.execute_run import run

        bed, cores = self.cards, None
        if self.device is not None:
            bed, cores = Testbed().with_cables(self.device.cables), self.device.cores
        finished = run(plan, target=self.target, out=None, pace=pace, cores=cores, testbed=bed)
        return Outcome.of(finished)
