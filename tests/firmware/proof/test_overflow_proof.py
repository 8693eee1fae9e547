"""No overflow: what is proved, and faults in kernels that are refuted by the real kernel."""

from __future__ import annotations

import types

import numpy as np
import pytest
from pydantic import Field

from firmware.proof.counterexample_replay import fault_of, field_out_of_range, overflow_of
from firmware.proof.overflow_proof import OPEN, PROVED, REFUTED, prove_no_overflow
from firmware.proof.reachability import fault_of_calls
from orchestrator.algorithm import congestion_point
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.registry import Registry
from plugins.bcn import BCN_CP, BCN_RP
from plugins.csig import CSIG
from plugins.lossy_link import LOSSY
from plugins.pause import PAUSE
from plugins.priority_demotion import ASIDE
from plugins.red_marking import RED
from plugins.scripted_cnm import CRAFTED_CP
from plugins.swift import SWIFT
from tests.firmware.proof.planted import KERNELS, NOT_PROVED, UNREACHED, with_fault
from traffic.selective_repeat import SELECTIVE
from traffic.tcp import TCP

pytest.importorskip("z3")


@pytest.mark.parametrize(
    "algorithm",
    [ASIDE, BCN_CP, BCN_RP, CRAFTED_CP, CSIG, LOSSY, PAUSE, RED, SELECTIVE, TCP],
    ids=lambda a: a.name,
)
def test_no_operation_runs_over_an_int64(algorithm):
    proof = prove_no_overflow(algorithm, 10)
    assert proof.verdict == PROVED, proof.findings


class Counts(Params):
    line: Size = Field(20_000, ge=0, description="nothing limits it from above")


def arrival(state, params, queue, frame, now, message):
    state.seen += 1
    message.offset = queue.bytes * params.line
    return 0


def unknown(state, params, queue, frame, now, message):
    return max([queue.bytes])


def test_a_plugin_of_someone_elses_is_refuted_by_its_own_kernel():
    theirs = congestion_point("theirs", "for a test", Counts, record("seen"), arrival=arrival)
    proof = prove_no_overflow(theirs, 10)
    assert proof.verdict == REFUTED
    finding = proof.findings[0]
    assert finding.what == "runs over an int64"
    assert overflow_of(theirs, "arrival", finding.values)
    assert proof.taken["seen"].endswith("1 to 1 more with every event")


def grows(state, params, queue, frame, now, message):
    state.seen = min(state.seen + 1, 3)
    message.offset = queue.bytes // (3 - state.seen)
    return 0


def test_a_counterexample_says_by_which_events_a_new_state_comes_to_it():
    theirs = congestion_point("theirs", "for a test", Counts, record("seen"), arrival=grows)
    (finding,) = prove_no_overflow(theirs, 10).findings
    assert finding.what == "divides by 0"
    assert finding.values["state.seen"] in (2, 3)
    assert finding.reached == "arrival, arrival, arrival"


def by_rate(state, params, queue, frame, now, message):
    if params.line > 7:
        message.offset = queue.bytes // (queue.frames - 5)
    message.delta = 10**12 // queue.line_rate
    return 0


def test_a_counterexample_has_fields_of_which_0_is_none_of_their_values():
    """Else every kernel that divides by a rate would be refuted by each counterexample."""
    theirs = congestion_point("theirs", "for a test", Counts, record("seen"), arrival=by_rate)
    (finding,) = prove_no_overflow(theirs, 10).findings
    assert finding.values["queue.line_rate"] == 1000
    assert finding.values["queue.frames"] == 5
    assert overflow_of(theirs, "arrival", {**finding.values, "queue.frames": 6}) == ""


def _minus(state, params, queue, frame, now, message):
    return 7 // (-queue.frames + 5)


def _inverted(state, params, queue, frame, now, message):
    return 7 // (~queue.frames + 6)


def _chosen(state, params, queue, frame, now, message):
    return 7 // (2, 1, 3, 0)[min(max(queue.frames - 2, 0), 3)] if queue.frames < 6 else 0


def _between(state, params, queue, frame, now, message):
    return 7 // (0 if 4 < queue.frames <= 5 else 1)


def _unequal(state, params, queue, frame, now, message):
    return 0 if queue.frames != 5 else 7 // (queue.frames - 5)


@pytest.mark.parametrize("kernel", [_minus, _inverted, _chosen, _between, _unequal])
def test_an_expression_is_translated_as_python_computes_it(kernel):
    """Each kernel divides by 0 at five frames alone."""
    theirs = congestion_point("theirs", "for a test", Counts, record("seen"), arrival=kernel)
    (finding,) = prove_no_overflow(theirs, 10).findings
    assert (finding.verdict, finding.values["queue.frames"]) == (REFUTED, 5)


def _filled(state, params, queue, frame, now, message):
    for place in range(queue.frames % 64):
        state.cells[place] = place + 5
    return 7 // (state.cells[0] - 5)


def _counted(state, params, queue, frame, now, message):
    seen = 0
    for place in range(queue.frames % 64):
        if place % 2:
            continue
        seen += 1
    return 7 // (seen - 5)


@pytest.mark.parametrize("kernel", [_filled, _counted])
def test_what_rounds_of_a_loop_leave_may_be_0(kernel):
    """Each kernel can divide by 0 behind a loop that is not unrolled."""
    state = np.dtype([("cells", np.int64, 64)])
    theirs = congestion_point("theirs", "for a test", Counts, state, arrival=kernel)
    proof = prove_no_overflow(theirs, 10)
    assert any(one.what == "divides by 0" for one in proof.findings), proof.verdict


def _nowhere(state, params, queue, frame, now, message):
    return 7 // (0 if 4 < queue.frames < 5 else 1)


def _same_cell(state, params, queue, frame, now, message):
    state.cells[queue.frames % 64] = now
    return 7 // (state.cells[0] - state.cells[0] + 1)


@pytest.mark.parametrize("kernel", [_nowhere, _same_cell])
def test_a_divisor_that_is_never_0_is_proved(kernel):
    state = np.dtype([("cells", np.int64, 64)])
    theirs = congestion_point("theirs", "for a test", Counts, state, arrival=kernel)
    assert prove_no_overflow(theirs, 10).verdict == PROVED


def test_a_field_that_is_left_outside_is_seen_in_a_run():
    theirs = congestion_point(
        "theirs", "for a test", Counts, record("seen"), bounds={"seen": (0, 5)}, arrival=arrival
    )
    assert "state.seen is left at 6" in field_out_of_range(theirs, "arrival", {"state.seen": 5})
    assert field_out_of_range(theirs, "arrival", {"state.seen": 4}) == ""


def test_what_is_not_translated_is_named_by_its_place():
    theirs = congestion_point("theirs", "for a test", Counts, record("seen"), arrival=unknown)
    proof = prove_no_overflow(theirs, 10)
    assert proof.verdict == OPEN
    place = f"{unknown.__code__.co_filename.split('/')[-1]}:{unknown.__code__.co_firstlineno + 1}"
    assert place in proof.findings[0].place


def test_declared_bounds_are_held():
    theirs = congestion_point(
        "theirs", "for a test", Counts, record("seen"), bounds={"seen": (0, 5)}, arrival=arrival
    )
    found = prove_no_overflow(theirs, 10).findings
    assert any("state.seen is left outside" in one.what for one in found)


@pytest.mark.parametrize("fault", KERNELS, ids=lambda fault: f"{fault.algorithm}-{fault.number}")
def test_a_fault_in_a_kernel_is_refuted_by_running_it(fault):
    """From a new state on; or, where no run is known to lead to it, shown in a state within the
    bounds."""
    algorithm = with_fault(Registry.load(), fault)
    proof = prove_no_overflow(algorithm, 60)
    refuted = [one for one in proof.findings if one.verdict == REFUTED]
    assert all(fault_of_calls(algorithm, one.calls) for one in refuted)
    if (fault.algorithm, fault.number) in UNREACHED:
        refuted = [one for one in proof.findings if fault_of(algorithm, one.event, one.values)]
    assert refuted, (fault, proof.findings)
    assert proof.verdict != PROVED
    assert isinstance(algorithm.kernels, dict | types.MappingProxyType)


@pytest.mark.parametrize("fault", NOT_PROVED, ids=lambda fault: f"{fault.algorithm}-{fault.number}")
def test_a_fault_that_no_call_is_found_for_is_open_at_least(fault):
    proof = prove_no_overflow(with_fault(Registry.load(), fault), 20)
    assert proof.verdict != PROVED


def test_swifts_thresholds_may_be_next_to_each_other():
    """So near that their roots are the same with 20 bits: a plan may have them."""
    near = {"params.fs_min_cwnd_num": 999_999, "params.fs_min_cwnd_den": 10_000}
    near |= {
        "params.fs_max_cwnd_num": 100,
        "params.fs_max_cwnd_den": 1,
        "params.segment": 1500,
        "limiter.window": 1500,
    }
    near |= {"limiter.rtt": 10**6, "params.ai_num": 1, "params.ai_den": 1, "params.beta_num": 1}
    near |= {"params.beta_den": 1, "params.base_target": 10**6, "params.flow_scaling_range": 10**6}
    assert overflow_of(SWIFT, "acked", near) == ""
    (fault,) = (one for one in NOT_PROVED if one.algorithm == "swift")
    assert overflow_of(with_fault(Registry.load(), fault), "acked", near) == "divides by 0"
