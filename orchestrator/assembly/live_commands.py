"""Commands for a running world: the writes of a timeline step, and a check of free space."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.assembly.descriptor_bound import descriptors
from orchestrator.assembly.queue_rows import units_of
from orchestrator.assembly.timeline_commands import commands_of
from orchestrator.assembly.world_assembly import Assembly
from orchestrator.engine.node.actors import COMMANDS_ACTOR
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DISABLE_LAZINESS
from orchestrator.errors import BadInput
from orchestrator.plan import Action, ResolvedPlan


@dataclass(frozen=True)
class Command:
    """A row of a world's commands but for its time."""

    action: int
    offset: int
    value: int


def commands_for(assembly: Assembly, mine: set[str], action: Action) -> list[Command]:
    """Commands of a step, whose time is set, for this world, which drives the nodes `mine`."""
    plan = assembly.resolved.plan
    rows = commands_of(assembly.world, assembly.indices, mine, plan, action)
    found = []
    for _, what, offset, value, place in rows:
        if place is not None:
            offset = assembly.built.offset(*place)
        found.append(Command(what, offset, value))
    return found + _disable_laziness(assembly, action)


def _disable_laziness(assembly: Assembly, action: Action) -> list[Command]:
    """Commands that end lazy and early delivery on the ports that a step changes, so that links,
    congestion points and the observers of an input's buffer see each event in time."""
    if action.kind == "link":
        ports = [assembly.indices.sender(entity) for entity in action.entities]
    elif action.kind in ("congestion_point", "pause"):
        rows, port_of = assembly.indices.port_rows, assembly.indices.port_of
        ports = [rows[port_of[entity].entity] for entity in action.entities]
    else:
        return []
    return [Command(DISABLE_LAZINESS, port, 0) for port in ports]


def check_room(assembly: Assembly, resolved: ResolvedPlan, action: Action) -> None:
    """Raises BadInput when a step of `resolved` needs more memory than the world was given."""
    wired = assembly.world.octets.shape[0] > 1
    need = descriptors(resolved, late=wired)
    if need > assembly.room.bound:
        raise BadInput(
            action.key,
            f"this run has room for {assembly.room.bound} frames at once, and {action.to} may "
            f"need {need}; a smaller value is expected, or a run that begins with it",
        )
    if action.kind not in ("congestion_point", "queue"):
        return
    for entity in action.entities:
        need = units_of(resolved, entity, assembly.indices.port_of[entity])
        for own in assembly.indices.buffers[entity]:
            if need > assembly.world.queues[assembly.indices.queues[own]].units:
                raise BadInput(
                    action.key,
                    f"{entity} did not begin with the units that {action.to} needs; "
                    "a run that begins with it can do it",
                )


def insert(world: World, at: int, commands: list[Command]) -> bool:
    """Have commands carried out at `at` (ps), behind all that are due by then.

    Only for a world whose loop stands still. False: too many wait to be carried out.
    """
    clock, table = world.clock[0], world.commands
    pending = table[clock.command : clock.commands].copy()
    place = int((pending["at"] <= at).sum())
    total = len(pending) + len(commands)
    if total > len(table):
        return False
    table[:place] = pending[:place]
    table[place + len(commands) : total] = pending[place:]
    for row, command in enumerate(commands, place):
        table[row] = (at, command.action, command.offset, command.value)
    clock.command, clock.commands = 0, total
    wake_at(world, COMMANDS_ACTOR, int(table["at"][0]))
    return True
