"""All algorithms of docs/write-an-algorithm.md are proved, and faults in them are refuted."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from firmware.proof.overflow_proof import OPEN, PROVED, REFUTED, Proof, prove_no_overflow
from firmware.proof.reachability import fault_of_calls
from orchestrator.algorithm import Algorithm, congestion_point, reaction_point
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params

pytest.importorskip("z3")
PAGE = Path(__file__).parents[3] / "docs" / "write-an-algorithm.md"
MODULES = [
    one
    for one in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    if "def tailback_algorithms" in one
]
NAMES = (
    *("red-line", "stair-mark", "stair-echo", "stair-rp", "late", "halves", "says", "fullest"),
    *("least", "fading"),
)


def algorithms(text: str, folder: Path) -> dict[str, Algorithm]:
    """Algorithms of a module of the page, from a file: the prover reads their text."""
    path = folder / f"page_module_{abs(hash(text))}.py"
    path.write_text(text, encoding="utf-8")
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    try:
        exec(compile(text, path, "exec"), vars(module))
        return {one.name: one for one in module.tailback_algorithms()}
    finally:
        del sys.modules[path.stem]


def test_the_page_has_these() -> None:
    listed = re.findall(r'"([\w-]+)",\s', "\n".join(MODULES))
    assert {name for name in NAMES if name in listed or name in "".join(MODULES)} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_of_the_page_is_proved(name: str, tmp_path: Path) -> None:
    every: dict[str, Algorithm] = {}
    for text in MODULES:
        every |= algorithms(text, tmp_path)
    assert set(every) == set(NAMES)
    proof = prove_no_overflow(every[name], 120)
    assert proof.verdict == PROVED, proof.findings


FAULTS = [
    ("halves", "limiter.window // 2", "limiter.window // (limiter.marked - 5)"),
    ("halves", "state.grown += limiter.acked", "state.grown += limiter.acked << 40"),
    ("fullest", "// (2 * state.longest)", "// (state.longest - params.line - 1)"),
    ("fullest", "limiter.window = 10 * params.frame", "limiter.window = params.frame << 40"),
    ("stair-rp", "limiter.rate * frame.feedback // 8", "(limiter.rate << frame.feedback)"),
    ("stair-mark", "// params.full", "// (params.full - queue.bytes)"),
    ("least", "// node.receiver_rate", "// (node.receiver_rate >> 40)"),
    ("fading", "(params.jitter *", "(params.jitter * params.jitter *"),
]


LONG = ("least", "// node.receiver_rate", "// (node.receiver_rate - 1000)")
"""One rate of all: half a minute of a core."""


@pytest.mark.parametrize(
    ("name", "was", "becomes"),
    [*FAULTS, pytest.param(*LONG, marks=pytest.mark.slow)],
    ids=lambda one: one,
)
def test_a_fault_is_refuted_by_calls_from_a_new_state(
    name: str, was: str, becomes: str, tmp_path: Path
) -> None:
    (text,) = [one for one in MODULES if was in one and f'"{name}"' in one]
    algorithm = algorithms(text.replace(was, becomes), tmp_path)[name]
    refuted = [one for one in prove_no_overflow(algorithm, 120).findings if one.verdict == REFUTED]
    assert refuted
    for one in refuted:
        assert one.reached
        assert fault_of_calls(algorithm, one.calls)
        assert fault_of_calls(algorithms(text, tmp_path)[name], one.calls) == ""


class Nothing(Params):
    pass


def begin(state, params, limiter, frame, now, message):
    limiter.window = 1 << 20
    return 0


def begin_large(state, params, limiter, frame, now, message):
    limiter.window = 1 << 34
    return 0


def acked(state, params, limiter, frame, now, message):
    message.sequence = (limiter.window << 30) >> 40
    limiter.window = min(limiter.window + 1, 1 << 20)
    return 0


def unbounded(state, params, limiter, frame, now, message):
    message.sequence = (limiter.window << 30) >> 40
    limiter.window = min(limiter.window + 1, 1 << 40)
    return 0


def proof_of(start, acked) -> Proof:
    theirs = reaction_point(
        "theirs", "for a test", Nothing, record("unused"), start=start, acked=acked
    )
    return prove_no_overflow(theirs, 20)


def test_a_windows_bounds_are_those_that_its_kernels_keep() -> None:
    """A window of 2^40 octets, which its range has, would run over."""
    proof = proof_of(begin, acked)
    assert proof.verdict == PROVED, proof.findings
    assert proof.taken["limiter.window"] == f"0 to {1 << 20}"


def test_a_window_that_a_kernel_sets_too_large_is_refuted() -> None:
    (finding,) = proof_of(begin_large, acked).findings
    assert (finding.verdict, finding.reached) == (REFUTED, "start, acked")


def test_a_window_that_no_calls_of_a_few_thousand_reach_is_open() -> None:
    (finding,) = proof_of(begin, unbounded).findings
    assert finding.verdict == OPEN
    assert "no calls were found to lead to" in finding.what
    assert finding.values["limiter.window"] > 1 << 20


def odd(state, params, queue, frame, now, message):
    state.seen += 2 if state.seen < 100 else 0
    message.offset = 1 // (state.seen - 51)
    return 0


def even(state, params, queue, frame, now, message):
    state.seen += 2 if state.seen < 100 else 0
    message.offset = 1 // (state.seen - 52)
    return 0


@pytest.mark.parametrize(
    ("arrival", "verdict", "reached"), [(odd, OPEN, ""), (even, REFUTED, "26 x arrival")]
)
def test_a_state_within_bounds_that_no_run_reaches_refutes_nothing(
    arrival, verdict: str, reached: str
) -> None:
    theirs = congestion_point("theirs", "for a test", Nothing, record("seen"), arrival=arrival)
    (finding,) = prove_no_overflow(theirs, 20).findings
    assert (finding.verdict, finding.reached) == (verdict, reached)
