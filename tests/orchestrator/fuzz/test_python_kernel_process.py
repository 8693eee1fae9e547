"""Every branch of every shipped kernel is reached by a plan of the corpus, or never can be."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.fuzz.branch_coverage import Branch, branch_text
from orchestrator.fuzz.condition_coverage import LOOP, MARK, conditions, marked
from orchestrator.fuzz.fuzz_loop import REACHING
from orchestrator.fuzz.kernel_sources import functions_of
from orchestrator.fuzz.plan_corpus import as_numbers, plans_in
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.registry import Registry
from tests.orchestrator.fuzz.real_frames import (
    SAMPLE,
    Seen,
    function_of,
    functions_in,
    reached_on_real_frames,
)

ROOT = Path(__file__).parents[3]
PLANS = Path(__file__).parent / "corpus" / REACHING
SHIPPED = ("plugins", "traffic")
UNREACHED = frozenset(
    line
    for line in (Path(__file__).parent / "unreached_branches.txt").read_text("utf-8").splitlines()
    if line
)
"""Branches that no plan of the corpus reaches yet, without their places."""
PLACE = re.compile(r":\d+:\d+(?= )")
REACHED = 1176
BY_CHANCE = frozenset(
    {
        "traffic/credit_transport.py is_requested: `known` never true",
        "traffic/credit_transport.py time_out: `is_requested(state)` never true",
    }
)
"""A timeout while a request waits for credit: on real frames the times seldom fall so."""
LEAST_SAMPLED = 921
"""Branches that the sample for real frames reaches on `simulated`."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_branches_of_shipped_kernels_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new branch of a kernel turns this red until a plan reaches it or a remark says why not."""
    monkeypatch.chdir(ROOT)
    sampled, strange = set[Branch](), set[str]()
    with PythonKernels() as plain:
        for path, plan in plans_in(PLANS):
            assert plain.run(as_numbers(plan)) != "", f"{path.name} is no plan any more"
            own = functions_in(plan)
            marks = plain.marks
            strange |= {
                branch_text(marks, b) for b in plain.last if function_of(marks, b) not in own
            }
            if path.stem in SAMPLE:
                sampled |= plain.last
        share, marks = plain.kernels, plain.marks
    assert {PLACE.sub("", branch_text(marks, one)) for one in share.missing} == UNREACHED
    assert [branch_text(marks, one) for one in share.contradicted] == []
    assert strange == set(), "a plan reaches what its algorithms do not have"
    assert {path.parent.name for path, _, _ in share.reached} == set(SHIPPED)
    assert share.count - len(share.missing) == REACHED, "docs/hunt.md says how many"
    assert len(sampled) >= LEAST_SAMPLED


def test_the_sample_has_every_algorithm_that_the_corpus_has() -> None:
    plans = {path.stem: plan for path, plan in plans_in(PLANS)}
    assert len(set(SAMPLE)) == len(SAMPLE)
    assert set(SAMPLE) <= set(plans)
    every, some = (
        set().union(*(functions_in(plans[name]) for name in names)) for names in (plans, SAMPLE)
    )
    assert some == every


@pytest.mark.trials
@pytest.mark.software
@pytest.mark.timeout(1800)
def test_branches_of_every_algorithm_are_reached_on_real_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a sample of the plans, all that they reach on `simulated`."""
    monkeypatch.chdir(ROOT)
    seen = reached_on_real_frames([plan for path, plan in plans_in(PLANS) if path.stem in SAMPLE])
    assert sound(seen) == seen
    assert {PLACE.sub("", one) for one in seen.wanted - seen.reached} <= BY_CHANCE
    assert len(seen.wanted) >= LEAST_SAMPLED
    assert seen.missing, "the sample does not reach what other plans are for"


@pytest.mark.trials
@pytest.mark.software
@pytest.mark.timeout(7200)
def test_all_branches_of_shipped_kernels_are_reached_on_real_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By all plans; one whose branches are not all reached at once is run again."""
    monkeypatch.chdir(ROOT)
    seen = reached_on_real_frames([plan for _, plan in plans_in(PLANS)])
    assert sound(seen) == seen
    missing = {PLACE.sub("", one) for one in seen.missing}
    assert missing - BY_CHANCE == UNREACHED
    assert len(seen.reached) + len(missing & BY_CHANCE) == REACHED, "docs/hunt.md says how many"


def sound(seen: Seen) -> Seen:
    """As it is where nothing failed."""
    return replace(seen, found=[], refused={}, strange=set(), contradicted=set())


TEXT = """
def on_sent(state, params, limiter, frame, now, message):
    if state.a == 1 and (limiter.b or not now):
        return 1
    # never true: nobody does
    if frame is None:
        return 2
    for one in range(state.rounds):  # never true (`one > 7`): not so many
        while one > 7 or state.go:
            state.go = 0
    return 3 if message else (state.x or 4)
"""


def test_every_test_operand_and_loop_is_a_condition() -> None:
    found = conditions(TEXT)
    assert sorted(one.text for one in found) == [
        "for one in range(state.rounds)", "frame is None", "limiter.b", "message", "now",
        "one > 7", "state.a == 1", "state.go", "state.x",
    ]  # fmt: skip
    assert {one.function for one in found} == {"on_sent"}
    excused = {one.text: one.excused for one in found if one.excused}
    assert excused == {"frame is None": ((True, "nobody does"),)}


class State:
    """Some fields."""

    def __init__(self, **fields: int) -> None:
        self.__dict__ |= fields


@pytest.mark.parametrize(
    ("a", "b", "now", "rounds", "message", "answer"),
    [(1, 1, 5, 0, 0, 1), (1, 0, 0, 0, 0, 1), (1, 0, 5, 2, 1, 3), (0, 1, 0, 1, 0, 4)],
)
def test_marked_code_does_the_same_and_notes_how_conditions_came_out(
    a: int, b: int, now: int, rounds: int, message: int, answer: int
) -> None:
    seen: set[tuple[int, bool]] = set()

    def mark(number: int, value: object) -> object:
        seen.add((number, bool(value)))
        return value

    def loop(number: int, values: range) -> object:
        for value in values:
            seen.add((number, True))
            yield value
        seen.add((number, False))

    for text, names in ((ast.parse(TEXT), {}), (marked(TEXT, 10), {MARK: mark, LOOP: loop})):
        scope = dict(names)
        exec(compile(text, "kernel", "exec"), scope)
        state = State(a=a, rounds=rounds, go=1, x=0)
        got = scope["on_sent"](state, None, State(b=b), 1, now, message)
        assert got == answer
    texts = {number: one.text for number, one in enumerate(conditions(TEXT), 10)}
    outcomes = {(texts[number], how) for number, how in seen}
    assert ("state.a == 1", a == 1) in outcomes
    assert (("limiter.b", bool(b)) in outcomes) == (a == 1)
    assert (("now", bool(now)) in outcomes) == (a == 1 and b == 0)
    if answer != 1:
        assert ("for one in range(state.rounds)", False) in outcomes
        assert (("state.go", True) in outcomes) == (rounds > 0)


def test_kernels_are_those_of_algorithms_and_what_they_call() -> None:
    cubic = next(one for one in Registry.load().algorithms if one.name == "cubic")
    found = {(path.name, name) for path, name in functions_of(cubic)}
    assert ("cubic.py", "on_acked") in found
    assert ("cubic.py", "_follow_reno") in found
    assert ("newreno.py", "grow_to_threshold") in found
    assert not any(name in ("lfsr_next", "square_root", "Field") for _, name in found)
