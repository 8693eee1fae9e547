"""An interface that frames of the plan do not fit through is named, where frames were lost."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.mtu_check import narrow, with_narrow
from tests.orchestrator.targets.software import short_plans

LOCAL = {
    "nic.switch": ("nic", 0),
    "switch.nic": ("switch", 0),
    "switch.sink": ("switch", 1),
    "sink.switch": ("sink/nics", 0),
}
"""The sink's NIC is an agent's."""


class Machines:
    """Interfaces by their MTU; 1482 is what frames of 1500 octets with a tag need."""

    def __init__(self, **mtus: list[int]) -> None:
        self.known: dict[str, list[int]] = {"nic": [1482], "switch": [1482, 1482], "sink/nics": []}
        self.known |= mtus

    def mtus(self, name: str) -> list[int]:
        return self.known[name]


@pytest.mark.parametrize(
    ("mtus", "named"),
    [
        ({}, []),
        ({"nic": [1481]}, [("p0 of nic (nic.switch)", 1481, 1500, "nic>switch")]),
        ({"switch": [1482, 100]}, [("p1 of switch (switch.sink)", 100, 1500, "switch>sink")]),
        ({"switch": [600, 9000]}, [("p0 of switch (switch.nic)", 600, 1500, "nic>switch")]),
        (
            {"nic": [68]},  # messages do not come through, either
            [
                ("p0 of nic (nic.switch)", 68, 1500, "nic>switch"),
                ("p0 of nic (nic.switch)", 68, 110, "switch>nic"),
            ],
        ),
    ],
)
def test_each_interface_is_held_against_what_the_plan_sends_through_it(
    mtus: dict[str, list[int]], named: list[tuple[str, int, int, str]]
) -> None:
    resolved = Plan.load(short_plans.QCN).check(Registry.load())
    machines: Any = Machines(**mtus)
    assert narrow(resolved, machines, LOCAL) == [
        f"interface {where} has an MTU of {mtu}, and the plan's frames of {octets} octets on {way} "
        f"need {octets - 14}"
        for where, mtu, octets, way in named
    ]


def test_it_is_a_reason_where_the_run_was_not_faithful():
    good: dict[str, Any] = {"verdict": "valid", "reasons": [], "advised_pace": None}
    bad: dict[str, Any] = {"verdict": "invalid", "reasons": ["lost"], "advised_pace": 0.01}
    assert with_narrow(good, ["narrow"]) == good
    assert with_narrow(bad, []) == bad
    assert with_narrow(bad, ["narrow"]) == {
        "verdict": "invalid",
        "reasons": ["lost", "narrow"],
        "advised_pace": None,
    }
