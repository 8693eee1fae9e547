"""Subjects of proofs: every algorithm with kernels, every module of firmware/rtl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmware.proof.overflow_proof import OPEN, Finding, Proof
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput, Problem
from orchestrator.registry import Registry

NO_CLAIM = "no claim is stated of it yet; its bench compares it with its kernel at random"


@dataclass(frozen=True)
class ProofSubject:
    """Subject of a proof: an algorithm, or a module where `kind` is `module`."""

    kind: str
    name: str


def proof_subjects(registry: Registry) -> list[ProofSubject]:
    """All subjects, algorithms first."""
    found = [
        ProofSubject(one.kind, one.name) for one in registry.algorithms if one.kernels or one.timers
    ]
    return found + [ProofSubject("module", file.stem) for file in sorted(RTL.glob("*.v"))]


def select_subjects(registry: Registry, names: list[str]) -> list[ProofSubject]:
    """Select subjects by name; all without names. Raises BadInput for an unknown one."""
    every = proof_subjects(registry)
    known = {one.name for one in every}
    unknown = [name for name in names if name not in known]
    if unknown:
        accepted = (
            "an algorithm with kernels (`tailback plugins`) or a module of `tailback gateware list`"
        )
        raise BadInput("prove", [Problem("name", name, accepted) for name in unknown])
    return [one for one in every if not names or one.name in names]


def prove_subject(
    subject: ProofSubject, timeout_s: float, registry: Registry, tell: Callable[[str], None]
) -> tuple[Proof, list[object]]:
    """Prove the claims about a subject; returns also the counterexamples of a module."""
    from firmware.proof.module_claims import all_claims
    from firmware.proof.overflow_proof import prove_no_overflow
    from firmware.proof.rtl_proof import prove_module

    if subject.kind != "module":
        return prove_no_overflow(algorithm_of_subject(registry, subject), timeout_s, tell), []
    for claim in all_claims():
        if claim.module == subject.name:
            proof, stimuli = prove_module(claim, registry.find, timeout_s, tell)
            return proof, list(stimuli)
    nothing = Proof(subject.name, "module", OPEN, "nothing yet")
    nothing.findings.append(Finding(OPEN, "", f"firmware/rtl/{subject.name}.v", NO_CLAIM))
    return nothing, []


def algorithm_of_subject(registry: Registry, subject: ProofSubject) -> Algorithm:
    return registry.find(subject.kind, subject.name)
