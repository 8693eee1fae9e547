"""Loading of a plan named on the command line: a shipped name or a file, with settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator import ownership, program_permission
from orchestrator.errors import BadInput
from orchestrator.plan import former_names
from orchestrator.plan.input_problems import near
from orchestrator.plan.plan import Plan
from orchestrator.registry import Registry
from orchestrator.terminal.escape_control import plain
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


def _ask_about_programs(plan: Plan, path: Path) -> None:
    """Ask once whether a plan that other users could change may start its commands; without a
    terminal it may not."""
    exposed = ownership.exposure(path)
    if exposed is None or program_permission.chosen() is not None:
        return
    commands = "; ".join(" ".join(one.command)[:200] for one in plan.programs.values())
    why = f"{exposed[0]}: {exposed[1]}"
    say(f"plan {plan.name} starts commands as you ({plain(commands)[:1000]}); {why}")
    allowed = False
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        print("Start them? [y/N] ", end="", file=sys.stderr, flush=True)
        allowed = sys.stdin.readline().strip().lower() in ("y", "yes")
    program_permission.choose(allowed)


def load_plan(name: str, settings: Sequence[str]) -> Plan:
    """The plan `name` with "key=value" settings on top, its plugins found. Raises BadInput."""
    registry = Registry.load()
    path = locate(name, registry.plans())
    plan = Plan.load(path, registry)
    if plan.programs and path not in map(Path, registry.plans().values()):
        _ask_about_programs(plan, path)
    if settings:
        plan = plan.with_settings(settings)
        plan.check(registry)
    for note in plan.former_names:
        say(note)
    return plan
