"""Proofs of the core's invariants by induction over one step of a limiter.

An invariant is stated once (`orchestrator.run.world_invariants`) and used here as a condition of
the
solver. A step is a function of the engine that changes one record and calls no kernel; all of its
paths are executed as a kernel's are, so that its arithmetic is checked for int64 overflow as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firmware.proof.counterexample_replay import shapes_of
from firmware.proof.field_ranges import LIMITERS, MOST_FRAME, MOST_RATE, NOW
from firmware.proof.kernel_source import python_function, source_of
from firmware.proof.overflow_proof import OPEN, PROVED, Finding, Proof
from firmware.proof.path_enumeration import PathChoices, explore
from firmware.proof.smt_encoding import IntegerEncoding, solve
from firmware.proof.symbolic_execution import ExecutionContext, SymbolicExecutor
from firmware.proof.symbolic_state import Obligation, Record, State
from firmware.proof.term_graph import Interval, Term, Terms
from firmware.proof.z3_solver import check_sat, separate_context, z3
from orchestrator.engine.records import LIMITER
from orchestrator.run.world_invariants import Invariant

BIT_PS = 8 * 10**12
"""Tokens of an octet: 10^-12 bit each."""
TOKEN_RANGES: Mapping[str, Interval] = {
    "depth": (64 * BIT_PS, 10**5 * BIT_PS),
    "tokens": (-MOST_FRAME * BIT_PS, 10**5 * BIT_PS),
    "period": (10**5, 10**10),
    "rate": (0, MOST_RATE),
    "granularity": (0, 10**12),
}
"""Of a limiter's bucket: what a plan may say (plan.fields.Depth, Period, Granularity); a frame in
flight may overdraw it by its length."""


@dataclass(frozen=True)
class _Walk:
    """Context that all paths of a step share."""

    terms: Terms
    limiter: Record
    shared: ExecutionContext


def prove_step(one: Invariant, step: Callable[..., Any], timeout_s: float) -> Proof:
    """Prove that `step(limiter, now)` keeps an invariant of limiters, without int64 overflow.

    Assumes the condition that `orchestrator.assembly` enforces: a period of the link's rate adds no
    more tokens than the depth of the bucket.
    """
    with separate_context(timeout_s):
        return _prove_step(one, step, timeout_s)


def _prove_step(one: Invariant, step: Callable[..., Any], timeout_s: float) -> Proof:
    begun = time.process_time()
    name = getattr(python_function(step), "__name__", "")
    proof = Proof(name, "invariant", PROVED, one.text)
    terms = Terms()
    ranges = {field: r.bounds for field, r in LIMITERS.items()} | dict(TOKEN_RANGES)
    walk = _Walk(
        terms,
        Record("limiter", "limiter", shapes_of(LIMITER), ranges.__getitem__),
        ExecutionContext(terms),
    )

    def path(choices: PathChoices) -> None:
        state = State()
        begin = {field: terms.var(f"limiter.{field}", ranges[field]) for field in LIMITERS}
        for smaller, larger in _taken(terms, begin):
            state.known.assume(terms.make("le", smaller, larger))
        source = source_of(python_function(step))
        given = [walk.limiter, terms.var("now", NOW.bounds)]
        names = dict(zip(source.parameters, given, strict=True))
        SymbolicExecutor(walk.shared, state, choices, source, names).run()
        if proof.findings:  # one is enough
            return
        proof.solved += 1
        answer = _left(one, state, begin, timeout_s)
        if answer != "unsat":
            proof.findings.append(Finding(OPEN, name, one.name, f"the solver says {answer}"))

    proof.paths = explore(path)
    for obligation in [] if proof.findings else walk.shared.obligations.values():
        proof.solved += 1
        if not _holds(obligation, timeout_s):
            place = f"{obligation.file}:{obligation.line}"
            proof.findings.append(Finding(OPEN, name, place, obligation.what))
    proof.verdict = OPEN if proof.findings else PROVED
    proof.seconds = time.process_time() - begun
    return proof


def _taken(terms: Terms, begin: Mapping[str, Term]) -> list[tuple[Term, Term]]:
    in_period = terms.make("mul", begin["link_rate"], begin["period"])
    gain = terms.make("mul", begin["gain_rate"], begin["period"])
    return [
        (in_period, begin["depth"]),
        (begin["rate"], begin["link_rate"]),
        (begin["gain_rate"], begin["link_rate"]),
        (begin["gain"], gain),
        (terms.const(0), begin["gain"]),
        (begin["tick"], terms.var("now", NOW.bounds)),
    ]


def _left(one: Invariant, state: State, begin: Mapping[str, Term], timeout_s: float) -> str:
    """Return whether a path can begin with the invariant and end without it."""
    z = z3()
    whole = IntegerEncoding(state.known)
    ends = [state.store.get(("limiter", field), begin[field]) for field in one.fields]
    before = one.holds(*(whole.number(begin[field]) for field in one.fields))
    after = one.holds(*(whole.number(term) for term in ends))
    conditions = [whole.condition(term) for term in state.known.assumed]
    solver = z.SimpleSolver()
    solver.add(*conditions, before, z.Not(after), *whole.facts)
    return check_sat(solver, timeout_s)


def _holds(one: Obligation, timeout_s: float) -> bool:
    low, high = (Term("const", value=bound) for bound in one.bounds)
    wanted = Term("or", (Term("lt", (one.term, low)), Term("lt", (high, one.term))))
    if one.excluded is not None:
        wanted = Term("or", (wanted, Term("eq", (one.term, Term("const", value=one.excluded)))))
    return solve(one.known, [wanted], timeout_s)[0] == "unsat"
