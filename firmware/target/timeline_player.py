"""Player of a plan's timeline on gateware: changes, marks and samples in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from orchestrator.assembly import Assembly

STEPS, SAMPLES = "steps", "samples"


class Registers(Protocol):
    """Registers of all nodes: latch counters, read into the rows of the world, write from them."""

    def hold(self) -> None: ...

    def read(self) -> None: ...

    def apply(self) -> None: ...


def play_timeline(gate: Assembly, nodes: Registers, wait: Callable[[int, str], None]) -> None:
    """Play all commands and samples of the plan in time order, as the engine does.

    `wait` is called before each with its time (ps) and kind, and returns at that time.
    """
    from orchestrator.engine.node_api import COMMANDS_ACTOR, step, take_row
    from orchestrator.engine.records import MARK, SERVE

    _marks_last(gate)
    world, plan = gate.world, gate.resolved.plan
    sample = 0
    held = -1  # the instant that the counters are latched at
    marks = {int(c.at) for c in world.commands[: int(world.clock[0].commands)] if c.action == MARK}
    while True:
        clock = world.clock[0]
        left = clock.command < clock.commands
        command = int(world.commands[clock.command].at) if left else plan.duration + 1
        now = min(command, sample)
        if now > plan.duration:
            return
        wait(now, STEPS if command <= sample else SAMPLES)
        if now != held and (now == sample or now in marks):
            nodes.hold()  # before what changes at this instant is set
            held = now
        if command > sample:
            nodes.read()
            take_row(world, now)
            sample += plan.sample_interval
        elif world.commands[clock.command].action == MARK:
            nodes.read()
            step(world, COMMANDS_ACTOR, now)
        elif world.commands[clock.command].action == SERVE:
            clock.command += 1  # gateware schedules its own departures
        else:
            step(world, COMMANDS_ACTOR, now)
            nodes.apply()


def _marks_last(gate: Assembly) -> None:
    """Order commands of one instant with changes first: reading the registers for a mark takes some
    tens of microseconds. The counters are still those of the instant: they were latched before."""
    from orchestrator.engine.records import MARK

    commands = gate.world.commands
    at, marks = commands["at"].copy(), commands["action"] == MARK
    commands[:] = commands[sorted(range(len(at)), key=lambda row: (at[row], marks[row]))]
