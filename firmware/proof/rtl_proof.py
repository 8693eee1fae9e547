"""Proof of a module's claim; Icarus Verilog confirms every counterexample."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firmware.proof.btor2 import Absent, transition_system
from firmware.proof.function_definitions import EvaluatedModel, with_definitions
from firmware.proof.module_claims import Claim, Find, Question
from firmware.proof.overflow_proof import OPEN, PROVED, REFUTED, Finding, Proof
from firmware.proof.symbolic_bench import (
    Stimulus,
    differences,
    stimulus_of_model,
    with_final_registers,
)
from firmware.proof.time_limit import ProofTimeout, time_limit
from firmware.proof.uninterpreted_functions import Definition
from firmware.proof.z3_solver import check_sat, separate_context, z3
from orchestrator.errors import Refused


@dataclass
class Answer:
    """Answer to one question."""

    verdict: str
    question: Question
    model: Any = None
    empty: bool = False
    """True if the assumptions of the question are contradictory."""


def prove_module(
    claim: Claim,
    find: Find,
    timeout_s: float,
    tell: Callable[[str], None] = lambda text: None,
    texts: Mapping[str, str] | None = None,
) -> tuple[Proof, list[Stimulus]]:
    """Prove a module's claim within a time limit, which excludes yosys; returns the proof and its
    counterexamples.

    `texts` replaces Verilog files, by name.
    """
    begun = time.process_time()
    proof = Proof(claim.module, "module", PROVED, claim.what)
    proof.taken = {"inputs": claim.inputs, "how": claim.by}
    stimuli: list[Stimulus] = []
    spent = 0.0
    for size in claim.sizes:
        system = transition_system(claim.module, size, texts)
        asked = time.process_time()
        try:
            with time_limit(timeout_s - spent), separate_context(timeout_s):
                for question in _with_lemmas(claim.questions(system, find)):
                    tell(f"{claim.module}: {question.name}")
                    proof.solved += 1
                    answer = decide_question(question, timeout_s)
                    if answer.verdict != PROVED:
                        finding, stimulus = _finding(claim, size, answer, texts)
                        proof.findings.append(finding)
                        if stimulus is not None and finding.verdict == REFUTED:
                            stimuli.append(stimulus)
        except ProofTimeout:
            proof.findings.append(Finding(OPEN, "", claim.module, "not all is asked in its time"))
        except Absent as error:
            what = f"the claim speaks of {error}, which the module has not"
            proof.findings.append(Finding(OPEN, "", claim.module, what))
        spent += time.process_time() - asked
        if proof.findings:
            break  # the other sizes would repeat it
    verdicts = {one.verdict for one in proof.findings}
    proof.verdict = REFUTED if REFUTED in verdicts else OPEN if verdicts else PROVED
    proof.seconds = time.process_time() - begun
    return proof, stimuli


def _with_lemmas(questions: Iterator[Question]) -> Iterator[Question]:
    """Each question, followed by the lemmas of its cut points."""
    for question in questions:
        yield question
        yield from _with_lemmas(iter(question.bench.lemmas))


def decide_question(question: Question, timeout_s: float) -> Answer:
    """Decide whether all conditions of a question hold.

    A counterexample is evaluated again with the definitions of uninterpreted functions; if that
    does not confirm it, the solver is asked once more, with the definitions. A counterexample that
    is visible at the outputs is preferred to one within a block.
    """
    named = bool(question.bench.cuts) or question.bench.system.by_name
    wrong = _violation(question)
    said, model = _solve(wrong, named, timeout_s)
    if said == "sat" and named:
        for conditions in (_outside_violation(question), wrong):
            found = _confirmed_model(conditions, question, timeout_s)
            if found is not None:
                return Answer(REFUTED, question, found)
        said, model = _solve([with_definitions(one) for one in wrong], False, timeout_s)
    if said == "unsat":
        empty = _solve(wrong[:-1], named, timeout_s)[0] == "unsat"
        return Answer(OPEN if empty else PROVED, question, empty=empty)
    if said != "sat":
        return Answer(OPEN, question)
    return Answer(REFUTED, question, EvaluatedModel(model, _definitions(question)))


def _violation(question: Question) -> list[Any]:
    """Assumptions, and the negation of the wanted conditions."""
    z, bench = z3(), question.bench
    wanted = [*_inside(question), *bench.found, *question.goals]
    return [*question.facts, *bench.assumed, z.Not(z.And(*wanted))]


def _outside_violation(question: Question) -> list[Any]:
    """The same, with the conditions of cut points assumed."""
    z, bench = z3(), question.bench
    wrong = z.Not(z.And(*bench.found, *question.goals))
    return [*question.facts, *bench.assumed, *_inside(question), wrong]


def _inside(question: Question) -> list[Any]:
    return [is_so for is_so, _ in question.bench.inside]


def _confirmed_model(
    conditions: list[Any], question: Question, timeout_s: float
) -> EvaluatedModel | None:
    """Counterexample with uninterpreted functions, if their definitions confirm it."""
    said, model = _solve(conditions, True, timeout_s)
    if said != "sat":
        return None
    found = EvaluatedModel(model, _definitions(question))
    return found if z3().is_true(found.of(z3().And(*conditions))) else None


def _definitions(question: Question) -> list[Definition]:
    return [*question.bench.definitions, *question.definitions]


def _solve(conditions: list[Any], named: bool, timeout_s: float) -> tuple[str, Any]:
    z = z3()
    solver = z.SolverFor("QF_AUFBV" if named else "QF_ABV")
    solver.add(*conditions)
    said = check_sat(solver, timeout_s)
    return said, solver.model() if said == "sat" else None


def _finding(
    claim: Claim, size: Mapping[str, int], answer: Answer, texts: Mapping[str, str] | None
) -> tuple[Finding, Stimulus | None]:
    name = answer.question.name
    if answer.empty:
        return Finding(OPEN, name, claim.module, "nothing fulfils what it takes for granted"), None
    if answer.verdict == OPEN:
        return Finding(OPEN, name, claim.module, "the solver has no answer in its time"), None
    bench = answer.question.bench
    stimulus = stimulus_of_model(bench, answer.model, claim.module, dict(size))
    values = {
        f"{n} in clock {c}": v
        for c, clock in enumerate(stimulus.clocks)
        for n, v in clock.items()
        if v
    }
    wanted = [*_inside(answer.question), *bench.found]
    kept = all(z3().is_true(answer.model.of(one)) for one in wanted)
    if kept:  # the claim fails for registers, not for an expected output
        stimulus = with_final_registers(stimulus, bench, answer.model)
    try:
        said = differences(stimulus, texts)
    except Refused as error:
        return Finding(OPEN, name, claim.module, f"not confirmed: {error}", values), stimulus
    if bool(said) is stimulus.wrong:
        return Finding(
            OPEN, name, claim.module, "not confirmed by Icarus Verilog", values
        ), stimulus
    what = "is not kept by a clock" if kept else said[0]
    return Finding(REFUTED, name, claim.module, what, values), stimulus
