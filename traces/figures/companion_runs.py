"""Companion runs: newest runs of other plans, for figures that several runs make up."""

from __future__ import annotations

import shlex

from orchestrator.errors import BadInput
from orchestrator.plan.drawable_metrics import OF
from orchestrator.terminal.run_lookup import runs_in
from traces.run_reader import Run, load


class CompanionRuns:
    """The newest runs of other plans in the folder where those of this plan lie, read once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: dict[str, Run | None] = {run.result.plan: run}
        self._damaged: dict[str, str] = {}

    def of(self, plan: str) -> Run | None:
        """The newest run of that plan: on the same target if there is one, else on any."""
        if plan not in self._found:
            self._found[plan] = self._newest(plan)
        return self._found[plan]

    def split(self, text: str) -> tuple[Run | None, str]:
        """The run and the entity that `NAME` or `NAME of PLAN` means."""
        name, _, plan = text.partition(OF)
        return (self.of(plan) if plan else self._run), name

    @property
    def missing(self) -> list[str]:
        """Sentences about the requested plans of which there is no run."""
        target = self._run.result.target
        also = "" if target == "simulated" else f" --target {shlex.quote(target)}"
        absent = [plan for plan, run in self._found.items() if run is None]
        if not absent:
            return []
        commands = [f"`tailback run {plan}{also}`" for plan in absent if plan not in self._damaged]
        found = [f"A run of {plan} cannot be read: {why}." for plan, why in self._damaged.items()]
        if commands:
            found.append(
                f"Not drawn: {_and(absent)}, of which there is no run in this folder; "
                f"{_and(commands)}, and then `tailback report` of this run, draws it."
            )
        return found

    @property
    def foreign(self) -> list[str]:
        """Sentences about drawn runs that were on another target than this one."""
        mine = self._run.result.target
        return [
            f"{plan} was run on {run.result.target}, this plan on {mine}."
            for plan, run in self._found.items()
            if run is not None and run.result.target != mine
        ]

    def _newest(self, plan: str) -> Run | None:
        if self._run.folder is None:
            return None
        runs = runs_in(self._run.folder.absolute().parent.parent / plan)
        same: Run | None = None
        for folder in reversed(runs):
            try:
                found = load(folder)
            except BadInput as error:
                self._damaged[plan] = str(error.problems[0]) if error.problems else str(error)
                continue
            self._damaged.pop(plan, None)
            if found.result.target == self._run.result.target:
                return found
            same = same or found
        return same


def _and(words: list[str]) -> str:
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
