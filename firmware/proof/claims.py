"""Claims about modules: properties from any reachable state, for any input, in any clock.

A claim follows a module over the clocks that it takes and says what comes out, by its kernel or the
function that it is documented to be. Together the questions of a claim cover every clock: what a
reset does, what idleness does, what an event does from any state that the others leave.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.bench import Bench
from firmware.proof.btor import System
from orchestrator.algorithm import Algorithm

Find = Callable[[str, str], Algorithm]


@dataclass
class Question:
    """What has to be so of a bench; `facts` say what is assumed."""

    name: str
    bench: Bench
    facts: list[Any] = field(default_factory=list)
    goals: list[Any] = field(default_factory=list)
    """More that has to be so, besides what the bench expects."""
    definitions: list[tuple[Any, Any]] = field(default_factory=list)
    """Variables of the facts that stand for something, and for what."""


@dataclass(frozen=True)
class Claim:
    """Of one module: what is proved, for which inputs, and how."""

    module: str
    sizes: tuple[Mapping[str, int], ...]
    """The parameters with which it is proved, each by itself."""
    what: str
    inputs: str
    questions: Callable[[System, Find], Iterator[Question]]
    by: str = "directly"


CLAIMS: list[Claim] = []


def claim(
    module: str,
    what: str,
    inputs: str = "all",
    by: str = "directly",
    sizes: tuple[Mapping[str, int], ...] = ({},),
) -> Callable[
    [Callable[[System, Find], Iterator[Question]]], Callable[[System, Find], Iterator[Question]]
]:
    """Enter a claim; the function gives its questions."""

    def enter(questions: Callable[[System, Find], Iterator[Question]]) -> Any:
        CLAIMS.append(Claim(module, sizes, what, inputs, questions, by))
        return questions

    return enter


def all_claims() -> list[Claim]:
    """Every claim, by module."""
    for room in ("arithmetic", "points", "qcn", "streams"):  # each enters its own
        importlib.import_module(f"firmware.proof.claims_{room}")
    return sorted(CLAIMS, key=lambda one: one.module)


def wide(vector: Any, width: int = 64) -> Any:
    """An unsigned vector as a wider one."""
    from firmware.proof.solver import z3

    return z3().ZeroExt(width - vector.size(), vector)


def narrow(vector: Any, width: int) -> Any:
    """Its lower bits."""
    from firmware.proof.solver import z3

    return z3().Extract(width - 1, 0, vector)
