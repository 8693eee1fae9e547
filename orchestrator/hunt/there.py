"""Coverage checks that run a plan on another target.

Where the target runs kernels, an uncompiled worker of it notes their branches (`branches.Plain`);
where it has something else in their place, the target notes that itself (`Target.noting`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Problem, Refused, TailbackError
from orchestrator.hunt.branches import Plain
from orchestrator.hunt.looking import Finding, NoPlan, Table, check_plan
from orchestrator.hunt.reached import Branch, not_run
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.target import Noting


class There(Protocol):
    """A check (`looking.Check`) that knows what was reached on its target."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Run the plan there."""

    def reach(self, table: Table) -> Finding | None:
        """The same of a plan's table, whose numbers are base units."""

    def reached(self) -> dict[str, Any]:
        """Reached and missing branches, for `--json`."""


def noting_on(
    target: str, against: Path | None, like: Callable[[], frozenset[Branch]]
) -> AbstractContextManager[There]:
    """The check for a target, in a `with` block; `like`: what the last plan reached on `simulated`.

    Raises BadInput for a target of which no branches can be noted, Refused for one that cannot be
    used here.
    """
    there = Registry.load().target(target)
    if (lack := there.probe()) is not None:
        raise lack
    if (noting := there.noting()) is not None:
        return nullcontext(Noted(target, noting))
    if not {Capability.KERNELS, Capability.PACE} <= there.capabilities:
        text = "one that runs kernels at a pace, or that notes branches itself, is expected"
        raise BadInput("tailback hunt --branches", [Problem("--target", target, text)])
    return Plain(against, target, like)


class Noted:
    """A target that notes for itself what its runs reach."""

    def __init__(self, target: str, noting: Noting) -> None:
        self._target, self._noting = target, noting
        self.refused: dict[str, str] = {}
        """The plans that the target refused, and why."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Run the plan there, where it can be run."""
        return self.reach(resolved.plan.model_dump(by_alias=True, exclude_unset=True))

    def reach(self, table: Table) -> Finding | None:
        """The same of a plan's table."""
        try:
            self._noting.run(check_plan(table, self._target))
        except (NoPlan, BadInput, Refused) as error:
            self.refused[table["name"]] = " ".join(str(error).split())
        except TailbackError as error:
            return Finding(f"fails: {self._target}", f"{type(error).__name__}: {error}")
        return None

    def reached(self) -> dict[str, Any]:
        """Coverage that the target recorded, algorithms that it does not run, refused plans."""
        table = self._noting.reached()
        capabilities = Registry.load().target(self._target).capabilities
        others = not_run(Registry.load().algorithms, capabilities)
        refused = [{"plan": name, "reason": why} for name, why in self.refused.items()]
        return table | {"not_run": [*table["not_run"], *others], "refused": refused}
