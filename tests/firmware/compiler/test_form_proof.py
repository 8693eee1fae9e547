"""Proofs that intermediate forms equal their kernels; planted faults are not proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from firmware.compiler import form_proof
from firmware.compiler.form_proof import OPEN, PROVED, prove_form
from firmware.compiler.intermediate_form import (
    Constant,
    If,
    Leave,
    Load,
    Node,
    Operation,
    Scope,
    Store,
)
from firmware.compiler.kernel_lowering import lower_algorithm, lower_kernel
from firmware.proof.counterexample_replay import kernels_of
from orchestrator.registry import Registry

pytest.importorskip("z3", reason="z3 is missing: pip install 'tailback-testbed[prove]'")
ALGORITHMS = {one.name: one for one in Registry.load().algorithms if kernels_of(one)}
LONG = {("qcn-rp", "sent"), ("qcn-rp", "timer")}
LONG |= {("csig", "departure"), ("dcqcn-rp", "feedback")}
"""Kernels that take longer than 5 s: the first two are proved, the others stay open."""
REASONS = {"it has a loop", "it uses an array"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_kernels_without_loops_and_arrays_are_proved(name: str) -> None:
    for form in lower_algorithm(ALGORITHMS[name]):
        if (name, form.event) not in LONG:
            proof = prove_form(ALGORITHMS[name], form)
            assert proof.verdict == PROVED or proof.reason in REASONS, proof
            assert (proof.paths > 0) == (proof.verdict == PROVED)


def test_as_many_kernels_are_candidates_as_the_page_says() -> None:
    reasons = list[str]()
    for algorithm in ALGORITHMS.values():
        for form in lower_algorithm(algorithm):
            reasons.append(form_proof.reason_of_exclusion(form))
    assert len(reasons) == 121
    assert reasons.count("it has a loop") == 30
    assert reasons.count("it uses an array") == 11


def _changed(nodes: tuple[Node, ...], change: Callable[[Node], Node | None]) -> tuple[Node, ...]:
    """Nodes after a change of each; None drops it."""
    made: list[Node] = []
    for node in nodes:
        if isinstance(node, If):
            body, orelse = _changed(node.body, change), _changed(node.orelse, change)
            node = replace(node, body=body, orelse=orelse)
        elif isinstance(node, Scope):
            node = replace(node, body=_changed(node.body, change))
        changed = change(node)
        made += [] if changed is None else [changed]
    return tuple(made)


def _operation(op: str, becomes: str) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        fits = isinstance(node, Operation) and node.op == op
        return replace(node, op=becomes) if fits else node

    return change


def _exchanged(op: str) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        fits = isinstance(node, Operation) and node.op == op
        return replace(node, operands=node.operands[::-1]) if fits else node

    return change


def _constant(value: int, becomes: int) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        if not isinstance(node, Operation):
            return node
        operands = (Constant(becomes) if o == Constant(value) else o for o in node.operands)
        return replace(node, operands=tuple(operands))

    return change


def _without_store(name: str) -> Callable[[Node], Node | None]:
    return lambda node: None if isinstance(node, Store) and node.field.name == name else node


def _other_field(name: str, becomes: str) -> Callable[[Node], Node]:
    def change(node: Node) -> Node:
        fits = isinstance(node, Load | Store) and node.field.name == name
        return replace(node, field=replace(node.field, name=becomes)) if fits else node

    return change


def _branches_exchanged(node: Node) -> Node:
    return replace(node, body=node.orelse, orelse=node.body) if isinstance(node, If) else node


FAULTS: dict[str, tuple[str, str, Callable[[Node], Node | None]]] = {
    "less or equal is less than": ("red", "arrival", _operation("le", "lt")),
    "a minimum is a maximum": ("bcn-rp", "timer", _operation("min", "max")),
    "a sum is a difference": ("bcn-rp", "timer", _operation("add", "sub")),
    "a quotient is a remainder": ("bcn-rp", "feedback", _operation("div", "mod")),
    "operands of a difference are exchanged": ("bcn-cp", "arrival", _exchanged("sub")),
    "operands of a quotient are exchanged": ("bcn-rp", "feedback", _exchanged("div")),
    "a constant is another": ("red", "arrival", _constant(12, 13)),
    "a store is lost": ("go-back-n", "arrived", _without_store("expected")),
    "a field is another one": ("pfc-watchdog", "timer", _other_field("since", "sent")),
    "branches are exchanged": ("pfc", "dequeue", _branches_exchanged),
    "a draw is left out": ("lossy-delay", "delay", _operation("lfsr", "copy")),
    "a scope is not left": (
        "p4qcn-cp",
        "arrival",
        lambda node: None if isinstance(node, Leave) else node,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_a_form_is_not_proved(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_proof, "SECONDS", 0.5)
    name, event, change = FAULTS[fault]
    form = lower_kernel(ALGORITHMS[name], event)
    planted = replace(form, body=_changed(form.body, change))
    assert planted != form
    assert prove_form(ALGORITHMS[name], form).verdict == PROVED
    assert prove_form(ALGORITHMS[name], planted).verdict == OPEN
