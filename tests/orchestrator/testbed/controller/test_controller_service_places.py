"""Which machine holds a plan: one that can and has nothing to do; and who lacks what."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import Refused, RunFailed
from orchestrator.testbed.controller.controller_service import NO_MACHINE, MachinePool

ABLE, LACKS = {"gateware": ""}, {"gateware": "target gateware: g++ is missing. Install g++"}


def peer(holds: dict[str, str] | None, state: str = "up") -> Any:
    """A machine; None: nothing is known of it."""
    offer = None if holds is None else SimpleNamespace(holds=holds)
    return SimpleNamespace(state=state, why="", offer=offer)


def test_one_plan_at_a_time_on_each_that_can() -> None:
    places = MachinePool(
        {"a": peer(LACKS), "b": peer(ABLE), "c": peer(ABLE, "gone"), "d": peer(ABLE)}
    )
    assert places.able("gateware") == ["b", "d"]
    assert [places.take("gateware"), places.take("gateware")] == ["b", "d"]
    assert places.all_taken("gateware")
    assert places.take("gateware") == NO_MACHINE
    places.give_back("b")
    assert not places.all_taken("gateware")
    assert places.take("gateware") == "b"


def test_where_nobody_can_nobody_is_waited_for() -> None:
    places = MachinePool({"a": peer(LACKS)})
    assert not places.all_taken("gateware")
    assert places.take("gateware") == NO_MACHINE
    places.give_back(NO_MACHINE)
    assert not places.all_taken("gateware")


def test_who_has_died_is_not_waited_for() -> None:
    machines = {"a": peer(ABLE), "b": peer(ABLE)}
    places = MachinePool(machines)
    assert places.take("gateware") == "a"
    machines["b"].state = "gone"
    assert places.all_taken("gateware"), "a is"
    machines["a"].state = "gone"
    assert not places.all_taken("gateware")


def test_where_all_say_why_they_cannot_it_is_refused_with_what_would_mend_it() -> None:
    lack = MachinePool({"a": peer(LACKS), "b": peer({})}).lack("gateware")
    assert isinstance(lack, Refused)
    assert "agent a: target gateware: g++ is missing. Install g++" in str(lack)
    assert "agent b: target gateware: there is none of that name" in str(lack)


@pytest.mark.parametrize("silent", [peer(ABLE, "gone"), peer(None, "connecting")])
def test_one_that_does_not_answer_may_be_able_to(silent: Any) -> None:
    lack = MachinePool({"a": peer(LACKS), "b": silent}).lack("gateware")
    assert isinstance(lack, RunFailed)
    assert "agent b does not answer" in str(lack)
    assert "agent a: target gateware: g++ is missing" in str(lack)
