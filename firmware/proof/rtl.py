"""Holds a module to its claim; Icarus Verilog confirms what is found against it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firmware.proof.bench import Stimulus, differences, in_numbers
from firmware.proof.btor import Absent, transition_system
from firmware.proof.claims import Claim, Find, Question
from firmware.proof.overflow import OPEN, PROVED, REFUTED, Finding, Proof
from firmware.proof.smt import answer_within, z3
from orchestrator.errors import Refused


@dataclass
class Answer:
    """Of one question."""

    verdict: str
    question: Question
    model: Any = None


def prove_module(
    claim: Claim,
    find: Find,
    timeout_s: float,
    tell: Callable[[str], None] = lambda text: None,
    texts: Mapping[str, str] | None = None,
) -> tuple[Proof, list[Stimulus]]:
    """Hold a module to its claim; the counterexamples, where it is refuted.

    `texts` takes the place of our Verilog, by the name of a file.
    """
    begun = time.process_time()
    proof = Proof(claim.module, "module", PROVED, claim.what)
    proof.taken = {"inputs": claim.inputs, "how": claim.by}
    stimuli: list[Stimulus] = []
    system = transition_system(claim.module, claim.parameters, texts)
    try:
        for question in claim.questions(system, find):
            tell(f"{claim.module}: {question.name}")
            proof.solved += 1
            answer = ask(question, timeout_s)
            if answer.verdict != PROVED:
                finding, stimulus = _finding(claim, answer, texts)
                proof.findings.append(finding)
                stimuli += [stimulus] if stimulus is not None else []
    except AssertionError as error:
        proof.findings.append(
            Finding(REFUTED, "", claim.module, f"does not follow its clocks: {error}")
        )
    except Absent as error:
        what = f"the claim speaks of {error}, which the module has not"
        proof.findings.append(Finding(OPEN, "", claim.module, what))
    verdicts = {one.verdict for one in proof.findings}
    proof.verdict = REFUTED if REFUTED in verdicts else OPEN if verdicts else PROVED
    proof.seconds = time.process_time() - begun
    return proof, stimuli


def ask(question: Question, timeout_s: float) -> Answer:
    """Whether all that a question wants is so."""
    z = z3()
    solver = z.SolverFor("QF_ABV")
    solver.add(*question.facts, *question.bench.assumed)
    solver.add(z.Not(z.And(*question.bench.found, *question.goals)))
    said = answer_within(solver, timeout_s)
    if said == "sat":
        return Answer(REFUTED, question, solver.model())
    return Answer(PROVED if said == "unsat" else OPEN, question)


def _finding(
    claim: Claim, answer: Answer, texts: Mapping[str, str] | None
) -> tuple[Finding, Stimulus | None]:
    name = answer.question.name
    if answer.verdict == OPEN:
        return Finding(OPEN, name, claim.module, "the solver has no answer in its time"), None
    bench = answer.question.bench
    stimulus = in_numbers(bench, answer.model, claim.module, dict(claim.parameters))
    values = {
        f"{n} in clock {c}": v
        for c, clock in enumerate(stimulus.clocks)
        for n, v in clock.items()
        if v
    }
    if not stimulus.expected:
        return Finding(REFUTED, name, claim.module, "is not kept by a clock", values), stimulus
    try:
        said = differences(stimulus, texts)
    except Refused as error:
        return Finding(OPEN, name, claim.module, f"not confirmed: {error}", values), stimulus
    if not said:
        return Finding(
            OPEN, name, claim.module, "not confirmed by Icarus Verilog", values
        ), stimulus
    return Finding(REFUTED, name, claim.module, said[0], values), stimulus
