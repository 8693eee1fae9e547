"""Claims about modules: properties from any reachable state, for any input, in any clock.

A claim drives a module over the clocks of an event and states its outputs by the kernel or the
function that documents it. Together the questions of a claim cover every clock: reset, idle clocks,
and an event from any state that the others leave.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.btor2 import System
from firmware.proof.symbolic_bench import SymbolicBench
from orchestrator.algorithm import Algorithm

Find = Callable[[str, str], Algorithm]


@dataclass
class Question:
    """Question: conditions on a bench that must hold under the assumed `facts`."""

    name: str
    bench: SymbolicBench
    facts: list[Any] = field(default_factory=list)
    goals: list[Any] = field(default_factory=list)
    """Further conditions, besides the expectations of the bench."""
    definitions: list[tuple[Any, Any]] = field(default_factory=list)
    """Variables of the facts, each with the term that it replaces."""


@dataclass(frozen=True)
class Claim:
    """Claim about one module: its statement, inputs and method."""

    module: str
    sizes: tuple[Mapping[str, int], ...]
    """Parameter sets, each proved separately."""
    what: str
    inputs: str
    questions: Callable[[System, Find], Iterator[Question]]
    by: str = "directly"


CLAIMS: list[Claim] = []


def register_claim(
    module: str,
    what: str,
    inputs: str = "all",
    by: str = "directly",
    sizes: tuple[Mapping[str, int], ...] = ({},),
) -> Callable[
    [Callable[[System, Find], Iterator[Question]]], Callable[[System, Find], Iterator[Question]]
]:
    """Decorator that registers a claim; the function yields its questions."""

    def enter(questions: Callable[[System, Find], Iterator[Question]]) -> Any:
        CLAIMS.append(Claim(module, sizes, what, inputs, questions, by))
        return questions

    return enter


def all_claims() -> list[Claim]:
    """Every claim, by module."""
    for room in ("arithmetic", "points", "qcn", "streams"):  # each module registers its own claims
        importlib.import_module(f"firmware.proof.claims_{room}")
    return sorted(CLAIMS, key=lambda one: one.module)


def wide(vector: Any, width: int = 64) -> Any:
    """Zero-extended vector."""
    from firmware.proof.z3_solver import z3

    return z3().ZeroExt(width - vector.size(), vector)


def narrow(vector: Any, width: int) -> Any:
    """Lower bits of a vector."""
    from firmware.proof.z3_solver import z3

    return z3().Extract(width - 1, 0, vector)
