"""A kernel's or helper's result as bit vectors, which a module is compared with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.counterexample_replay import kernels_of, shapes_of
from firmware.proof.field_ranges import ENTITY, RECORDS
from firmware.proof.interval_analysis import PathFacts
from firmware.proof.kernel_source import python_function, source_of
from firmware.proof.parameter_bounds import record_of
from firmware.proof.path_enumeration import PathChoices, explore
from firmware.proof.smt_encoding import BitVectorEncoding
from firmware.proof.symbolic_execution import ExecutionContext, SymbolicExecutor
from firmware.proof.symbolic_state import Record, State
from firmware.proof.term_graph import INT64_RANGE, Interval, Term, Terms
from firmware.proof.uninterpreted_functions import CALLS, Definition, Opaque
from firmware.proof.z3_solver import z3
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import FRAME

Given = tuple[Any, Interval]
"""A vector, and its bounds."""
Prepare = Callable[[Terms, Term], dict[int, Any]]
PathValues = tuple[list[Term], dict[str, Term]]


@dataclass
class KernelVectors:
    """Vectors by name; `facts` define quotients; `left` are conditions of an int64 overflow."""

    values: dict[str, Any]
    facts: list[Any]
    left: list[Any]
    definitions: list[Definition] = field(default_factory=list)
    """Definitions of the vectors that replace quotients."""


def function_of(
    function: Callable[..., Any],
    given: list[Given],
    prepare: Prepare | None = None,
    by_name: bool = False,
) -> KernelVectors:
    """Result of a Python function on vectors: `result`. Loops and helpers are executed completely.

    `prepare` may define vectors for terms of the last argument. `by_name`: products, quotients and
    the calls of firmware.proof.uninterpreted_functions stay uninterpreted.
    """
    terms = Terms()
    source = source_of(python_function(function))
    names = [terms.var(f"given{place}", bounds) for place, (_, bounds) in enumerate(given)]

    def call(at: SymbolicExecutor) -> dict[str, Term]:
        return {"result": at.number(at.run(), ast.Pass())}

    def begin(shared: ExecutionContext, state: State, choices: PathChoices) -> SymbolicExecutor:
        return SymbolicExecutor(
            shared, state, choices, source, dict(zip(source.parameters, names, strict=True))
        )

    vectors = {id(name): vector for name, (vector, _) in zip(names, given, strict=True)}
    vectors |= prepare(terms, names[-1]) if prepare else {}
    return _computed(terms, begin, call, vectors, by_name)


def kernel_of(
    algorithm: Algorithm,
    event: str,
    given: Mapping[str, Given | int],
    wanted: list[str],
    prepare: Prepare | None = None,
    prepared: str = "",
    by_name: bool = False,
) -> KernelVectors:
    """Final fields ("state.old") and return value ("result") of a kernel, for given inputs.

    `prepare` as of `function_of`, of the field `prepared`; `by_name` as there.
    """
    terms = Terms()
    source = source_of(python_function(kernels_of(algorithm)[event]))
    entity = ENTITY[algorithm.kind]
    dtypes = {
        "state": algorithm.state,
        entity: RECORDS[entity][0],
        "frame": FRAME,
        "message": FRAME,
    }
    records = {
        name: Record(name, name, shapes_of(dtype), lambda _: INT64_RANGE)
        for name, dtype in dtypes.items()
    }
    records["params"] = record_of(algorithm.params)
    terms_of: dict[str, Term] = {}
    vectors: dict[int, Any] = {}
    for name, value in given.items():
        if isinstance(value, int):
            terms_of[name] = terms.const(value)
        else:
            terms_of[name] = terms.var(name, value[1])
            vectors[id(terms_of[name])] = value[0]
    vectors |= prepare(terms, terms_of[prepared]) if prepare else {}

    def begin(shared: ExecutionContext, state: State, choices: PathChoices) -> SymbolicExecutor:
        for name, term in terms_of.items():
            record, _, part = name.partition(".")
            if part:
                state.store[record, part] = term
        now = terms_of.get("now", terms.const(0))
        order = [records[n] for n in ("state", "params", entity, "frame")]
        names = dict(zip(source.parameters, [*order, now, records["message"]], strict=True))
        return SymbolicExecutor(shared, state, choices, source, names)

    def call(at: SymbolicExecutor) -> dict[str, Term]:
        found = {"result": at.number(at.run(), ast.Pass())}
        for name in wanted:
            record, _, part = name.partition(".")
            if (record, part) in at.state.store:
                found[name] = at.state.store[record, part]
        return found

    return _computed(terms, begin, call, vectors, by_name)


def _computed(
    terms: Terms,
    begin: Callable[[ExecutionContext, State, PathChoices], SymbolicExecutor],
    call: Callable[[SymbolicExecutor], dict[str, Term]],
    vectors: Mapping[int, Any],
    by_name: bool,
) -> KernelVectors:
    z, ways = z3(), list[PathValues]()
    shared = ExecutionContext(terms, exact=True, named=frozenset(CALLS) if by_name else frozenset())
    known: list[PathFacts] = []

    def walk(choices: PathChoices) -> None:
        at = begin(shared, State(), choices)
        found = call(at)
        ways.append((list(at.state.known.assumed), found))
        known.append(at.state.known)

    explore(walk)
    bits = Opaque(terms) if by_name else BitVectorEncoding(64)
    for line, vector in vectors.items():
        bits._made[line] = vector
    values: dict[str, Any] = {}
    for place in range(len(ways) - 1, -1, -1):
        conditions, found = ways[place]
        bits.known = known[place]
        taken = z.And(*(bits.condition(one) for one in conditions))
        for name, term in found.items():
            vector = bits.number(term)
            values[name] = z.If(taken, vector, values[name]) if name in values else vector
    definitions = bits.definitions if isinstance(bits, Opaque) else []
    return KernelVectors(values, bits.facts, list(shared.obligations.values()), definitions)
