"""Proof that a kernel's intermediate form computes what the kernel computes, for all inputs.

Both are executed on the same symbolic records, path by path: the kernel's syntax tree by the
executor of `tailback prove` (firmware.proof.symbolic_execution), the form by `FormExecutor`. On
each path the answer and every field have to be the same term, or terms that the solver proves
equal. Inputs are within their declared ranges, and no operation exceeds an int64, which `tailback
prove` shows separately. Kernels with loops or arrays are not attempted: they stay open.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from firmware.compiler.intermediate_form import (
    Constant,
    Field,
    If,
    KernelForm,
    Leave,
    Load,
    Loop,
    Node,
    Operation,
    Scope,
    Store,
    Value,
    Variable,
    all_nodes,
    used_fields,
)
from firmware.compiler.kernel_lowering import lower_algorithm
from firmware.compiler.width_analysis import WORD, FieldBounds, field_bounds
from firmware.proof.counterexample_replay import kernels_of, shapes_of
from firmware.proof.field_ranges import ENTITY, NOW, RECORDS
from firmware.proof.kernel_source import python_function, source_of
from firmware.proof.parameter_bounds import relations
from firmware.proof.path_enumeration import PathChoices, TooManyPaths, explore
from firmware.proof.smt_encoding import solve
from firmware.proof.symbolic_execution import ExecutionContext, SymbolicExecutor
from firmware.proof.symbolic_state import Record, State, Untranslated
from firmware.proof.term_graph import Term, Terms
from orchestrator.algorithm import Algorithm
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.records import FRAME

MOST_PATHS = 2_000
SECONDS = 5.0
"""Limit of a question to the solver."""
PROVED, OPEN = "proved", "open"
Key = tuple[str, str]


@dataclass(frozen=True)
class FormProof:
    """Result for one kernel; `reason` of one that is open."""

    event: str
    verdict: str
    reason: str
    paths: int


@dataclass
class FormExecutor:
    """Executor of a form on the terms and facts of a path of the kernel."""

    at: SymbolicExecutor
    bounds: FieldBounds
    variables: dict[Variable, Term] = field(default_factory=dict)
    store: dict[Key, Term] = field(default_factory=dict)

    def run(self, form: KernelForm) -> Term:
        """Execute the form; returns the answer."""
        self.variables[form.now] = self.at.terms.var("now", NOW.bounds)
        self._block(form.body)
        return self._number(form.answer)

    def _value(self, value: Value) -> Term:
        if isinstance(value, Constant):
            return self.at.terms.const(value.value)
        return self.variables[value]

    def _number(self, value: Value) -> Term:
        return self.at.number(self._value(value), ast.Pass())

    def _block(self, nodes: tuple[Node, ...]) -> int | None:
        for node in nodes:
            left = self._node(node)
            if left is not None:
                return left
        return None

    def _node(self, node: Node) -> int | None:
        if isinstance(node, Operation):
            self.variables[node.target] = self._operation(node)
        elif isinstance(node, Load):
            key = (node.field.record, node.field.name)
            begin = self.at.terms.var(str(node.field), self.bounds(node.field))
            self.variables[node.target] = self.store.get(key, begin)
        elif isinstance(node, Store):
            self.store[node.field.record, node.field.name] = self._number(node.value)
        elif isinstance(node, If):
            test = self.at.condition(self._value(node.test), ast.Pass())
            return self._block(node.body if self.at.decide(test) else node.orelse)
        elif isinstance(node, Scope):
            left = self._block(node.body)
            return None if left == node.label else left
        elif isinstance(node, Leave):
            return node.label
        else:
            raise AssertionError("a loop is not executed")
        return None

    def _operation(self, node: Operation) -> Term:
        make, values = self.at.terms.make, [self._value(one) for one in node.operands]
        if node.op == "copy":
            return values[0]
        if node.op in ("bitand", "bitor") and all(one.is_condition for one in values):
            return make("and" if node.op == "bitand" else "or", *values)
        numbers = [self._number(one) for one in node.operands]
        if node.op == "select":
            test = self.at.condition(values[0], ast.Pass())
            truth = self.at.state.known.decide(test)
            if truth is not None:
                return numbers[1] if truth else numbers[2]
            return make("ite", test, *numbers[1:])
        if node.op == "table":
            chosen = self.at.terms.const(node.table[-1])
            for number in range(len(node.table) - 2, -1, -1):
                here = make("eq", numbers[0], self.at.terms.const(number))
                chosen = make("ite", here, self.at.terms.const(node.table[number]), chosen)
            return chosen
        if node.op == "lfsr":
            return self.at.terms.call(python_function(lfsr_next), (numbers[0],), WORD)
        if node.op == "ne":
            return make("not", make("eq", *numbers))
        return make(node.op, *numbers)


def _records(algorithm: Algorithm, bounds: FieldBounds) -> dict[str, Record]:
    dtypes: dict[str, Any] = {
        "state": algorithm.state,
        "params": algorithm.params.dtype(),
        ENTITY[algorithm.kind]: RECORDS[ENTITY[algorithm.kind]][0],
        "frame": FRAME,
        "message": FRAME,
    }

    def record_of(record: str, dtype: Any) -> Record:
        return Record(record, record, shapes_of(dtype), lambda name: bounds(Field(record, name)))

    return {record: record_of(record, dtype) for record, dtype in dtypes.items()}


def reason_of_exclusion(form: KernelForm) -> str:
    """Why the proof of a form is not attempted; empty where it is."""
    if any(isinstance(node, Loop) for node in all_nodes(form.body)):
        return "it has a loop"
    return "it uses an array" if any(used.size for used in used_fields(form.body)) else ""


def prove_forms(algorithm: Algorithm) -> list[FormProof]:
    """Proofs of all kernels of an algorithm. Raises Untranslated where it does not compile."""
    return [prove_form(algorithm, form) for form in lower_algorithm(algorithm)]


def prove_form(algorithm: Algorithm, form: KernelForm) -> FormProof:
    """Prove that a form equals its kernel on every path."""
    excluded = reason_of_exclusion(form)
    if excluded:
        return FormProof(form.event, OPEN, excluded, 0)
    bounds = field_bounds(algorithm)
    records, terms = _records(algorithm, bounds), Terms()
    shared = ExecutionContext(terms, quiet=True, declared=frozenset(algorithm.bounds))
    source = source_of(python_function(kernels_of(algorithm)[form.event]))
    order = ("state", "params", ENTITY[algorithm.kind], "frame")
    open_questions: list[str] = []

    def walk(choices: PathChoices) -> None:
        state = State()
        relations(algorithm.params, records["params"], terms, state.known)
        given: list[Any] = [records[name] for name in order]
        given += [terms.var("now", NOW.bounds), records["message"]]
        names = dict(zip(source.parameters, given, strict=True))
        at = SymbolicExecutor(shared, state, choices, source, names)
        answer = at.number(at.run(), source.tree)
        executor = FormExecutor(at, bounds)
        pairs = {"answer": (answer, executor.run(form))}
        for record, name in {*at.state.store, *executor.store}:
            begin = terms.var(f"{record}.{name}", bounds(Field(record, name)))
            both = at.state.store.get((record, name), begin)
            pairs[f"{record}.{name}"] = both, executor.store.get((record, name), begin)
        for name, (one, other) in pairs.items():
            if open_questions or one is other:
                continue
            if not _never_differ(at, one, other):
                open_questions.append(f"{name} is not decided")

    try:
        paths = explore(walk, MOST_PATHS)
    except TooManyPaths:
        return FormProof(form.event, OPEN, f"it has more than {MOST_PATHS} paths", MOST_PATHS)
    except Untranslated as error:
        return FormProof(form.event, OPEN, str(error), 0)
    verdict = OPEN if open_questions else PROVED
    return FormProof(form.event, verdict, "; ".join(open_questions[:1]), paths)


def _never_differ(at: SymbolicExecutor, one: Term, other: Term) -> bool:
    apart = at.terms.make("not", at.terms.make("eq", one, other))
    if at.state.known.decide(apart) is False:
        return True
    return solve(at.state.known, [apart], SECONDS)[0] == "unsat"
