"""Messages judged one by one, when the device has dice of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from tests.traces.oracle.mutants import MUTANTS, Mutant
from tests.traces.oracle.test_mutants import captured, resolved_plan
from traces.oracle.conformance_judge import DICE, Settings, judge

UNKNOWN_SEED = Settings(seed_known=False)
BY_THEMSELVES = {
    "feedback one too many",
    "offset's sign",
    "weight ignored",
    "q_old taken before delta",
    "interval not jittered",
    "interval without table 1",
}


def test_another_seed_is_no_departure_then(tmp_path: Path) -> None:
    device, plan = resolved_plan("qcn", ("seed=99",)), resolved_plan("qcn")
    paths = captured(device, tmp_path)
    assert not judge(paths, plan).conforming
    found = judge(paths, plan, UNKNOWN_SEED)
    assert found.conforming
    nic, switch = found.nodes
    assert "seed" in nic.undecided[0]
    assert switch.frames > 100
    assert "seed" in switch.undecided[-1]


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("inputs", (), "only queues before outputs are judged without a seed"),
        (
            "qcn",
            (
                "nodes.switch.congestion_point.sampling=occupancy-random",
                "duration=30ms",
                "timeline=[]",
            ),
            "which frame's arrival made the sample is not in its messages",
        ),
    ],
)
def test_what_cannot_be_decided_without_the_seed_is_said(
    name: str, settings: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    resolved = resolved_plan(name, settings)
    paths = captured(resolved, tmp_path)
    with pytest.raises(BadInput) as refused:  # no node is left that can be judged
        judge(paths, resolved, UNKNOWN_SEED)
    assert "nothing can be judged" in str(refused.value)
    assert why in str(refused.value)
    assert DICE in str(refused.value)
    assert judge(paths, resolved).conforming  # with the seed there is nothing to find


@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in MUTANTS if mutant.name in BY_THEMSELVES],
    ids=lambda mutant: mutant.name.replace(" ", "-"),
)
def test_a_defect_shows_without_the_seed(mutant: Mutant, tmp_path: Path) -> None:
    right = resolved_plan(mutant.plan, mutant.settings)
    other = resolved_plan(mutant.plan, (*mutant.settings, "seed=99"))
    found = judge(captured(mutant.put_into(other, tmp_path), tmp_path), right, UNKNOWN_SEED)
    assert [finding.rule for finding in found.findings] == [mutant.rule]
    assert found.as_json()["first"]["rule"] == mutant.rule
