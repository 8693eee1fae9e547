"""Every fault of the list is refuted by a test that it fails and the shipped kernel passes."""

from __future__ import annotations

import pytest

from firmware.proof.overflow_proof import OPEN
from tests.firmware.proof.outcomes import outcome_of
from tests.firmware.proof.planted import Fault
from tests.firmware.proof.seeded import SEEDED, SURVIVORS

pytest.importorskip("z3")
FAULTS = [fault for _, fault in SEEDED]
FAST = {"dcqcn-rp", "swift", "jittered-delay", "hpcc", "timely"}
"""A second or less each, but for those of LONG."""
LONG = {"dcqcn-rp-103"}


def key(fault: Fault) -> tuple[str, str, int]:
    return fault.algorithm, fault.file, fault.number


def name(fault: Fault) -> str:
    return f"{fault.algorithm}-{fault.number}"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            one,
            id=name(one),
            marks=[] if one.algorithm in FAST and name(one) not in LONG else [pytest.mark.slow],
        )
        for one in FAULTS
        if key(one) not in SURVIVORS
    ],
)
def test_a_fault_is_refuted_by_a_test_that_the_shipped_kernel_passes(fault: Fault) -> None:
    """Or shown by a call in a state that no calls were found to lead to."""
    outcome = outcome_of(fault)
    assert outcome.is_refuted or (outcome.verdict == OPEN and outcome.is_shown), outcome


def test_the_list_is_kept_whole() -> None:
    assert len(FAULTS) == len({key(one) for one in FAULTS}) >= 60
    assert {key(one) for one in FAULTS} >= set(SURVIVORS)
    assert len(FAULTS) - len(SURVIVORS) >= 30
