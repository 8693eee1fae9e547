"""The order of what a timeline asks for at one instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.assembly import Assembly


def marks_last(gate: Assembly) -> None:
    """Of commands of one instant those come first that change anything: registers are read for a
    mark one after the other, which takes some tens of microseconds."""
    from orchestrator.node.records import MARK

    commands = gate.world.commands
    at, marks = commands["at"].copy(), commands["action"] == MARK
    commands[:] = commands[sorted(range(len(at)), key=lambda row: (at[row], marks[row]))]
