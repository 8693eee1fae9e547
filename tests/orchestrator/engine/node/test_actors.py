"""Numbers of actors: the functions that make them agree with the table of a world."""

from __future__ import annotations

import pytest

from orchestrator.engine.node import actors
from orchestrator.engine.node.actors import (
    ACTOR_KINDS,
    COMMANDS_ACTOR,
    SAMPLER_ACTOR,
    WAKE_COMMANDS,
    WAKE_FLOW,
    WAKE_INPUT,
    WAKE_LINE,
    WAKE_NODE,
    WAKE_PORT,
    WAKE_QUEUE,
    WAKE_SAMPLER,
    actor_table,
)
from tests.orchestrator.engine.node.bench import Bench

NUMBERS = {
    WAKE_LINE: actors.line_actor,
    WAKE_QUEUE: actors.queue_actor,
    WAKE_PORT: actors.port_actor,
    WAKE_FLOW: actors.flow_actor,
    WAKE_INPUT: actors.input_actor,
    WAKE_NODE: actors.node_actor,
}


def test_each_kind_is_numbered_after_the_one_before() -> None:
    table = actor_table({"clock": 1, "ports": 2, "queues": 3, "flows": 1, "inputs": 2, "nodes": 1})
    assert table.tolist() == [
        [WAKE_COMMANDS, 0],
        [WAKE_SAMPLER, 0],
        *([WAKE_LINE, port] for port in range(2)),
        *([WAKE_QUEUE, queue] for queue in range(3)),
        *([WAKE_PORT, port] for port in range(2)),
        [WAKE_FLOW, 0],
        *([WAKE_INPUT, row] for row in range(2)),
        [WAKE_NODE, 0],
    ]
    assert (COMMANDS_ACTOR, SAMPLER_ACTOR) == (0, 1)


@pytest.mark.parametrize(("kind", "array"), ACTOR_KINDS[2:])
def test_the_number_of_an_actor_is_its_row_in_the_table(kind: int, array: str) -> None:
    world = Bench().world
    rows = len(getattr(world, array))
    assert rows > 0
    for index in range(rows):
        assert world.actors[NUMBERS[kind](world, index)].tolist() == [kind, index]


def test_of_two_actors_the_lower_number_goes_first() -> None:
    assert [actors.goes_first(actor, 5) for actor in (4, 5, 6)] == [True, False, False]
