"""Loading of a plan named on the command line: a shipped name or a file, with settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.errors import BadInput
from orchestrator.plan import former_names
from orchestrator.plan.input_problems import near
from orchestrator.plan.plan import Plan
from orchestrator.registry import Registry
from orchestrator.terminal.exit_codes import say


def locate(name: str, shipped: Mapping[str, Path]) -> Path:
    """The file that PLAN means: a shipped plan's name comes first, then a file."""
    if name in shipped:
        return Path(shipped[name])
    if (current := former_names.PLANS.get(name)) in shipped and not Path(name).is_file():
        say(former_names.sentence("plan", name, str(current)))
        return Path(shipped[str(current)])
    if os.sep in name or name.endswith(".toml") or Path(name).is_file():
        return Path(name)
    raise BadInput(name, f"neither a file nor the name of a shipped plan; {near(name, shipped)}")


def load_plan(name: str, settings: Sequence[str]) -> Plan:
    """The plan `name` with "key=value" settings on top, its plugins found. Raises BadInput."""
    registry = Registry.load()
    plan = Plan.load(locate(name, registry.plans()), registry)
    if settings:
        plan = plan.with_settings(settings)
        plan.check(registry)
    for note in plan.former_names:
        say(note)
    return plan
