"""Answers that a kernel may return, by the constants that its intermediate form copies to them."""

from __future__ import annotations

from collections.abc import Mapping

from firmware.compiler.intermediate_form import (
    COMPARISONS,
    Constant,
    KernelForm,
    Load,
    Operation,
    Store,
    Value,
    Variable,
    all_nodes,
)

Values = frozenset[int] | None
"""None: not bounded to a few constants."""


def answer_values(form: KernelForm, params: Mapping[str, frozenset[int]]) -> Values:
    """All numbers that a kernel may return, for the parameters' values; None: not known.

    The control flow is ignored, so that the set may have more than what a call returns.
    """
    return _Answers(_definitions(form), params).of(form.answer, frozenset())


def stored_values(form: KernelForm, field: str, params: Mapping[str, frozenset[int]]) -> Values:
    """All numbers that a kernel may store to a field ("message.kind"); None: not known."""
    answers, found = _Answers(_definitions(form), params), frozenset[int]()
    for node in all_nodes(form.body):
        if isinstance(node, Store) and str(node.field) == field:
            one = answers.of(node.value, frozenset())
            if one is None:
                return None
            found |= one
    return found


def compared_with_zero(form: KernelForm, field: str) -> bool:
    """True if a kernel does nothing with a field but compare it with 0."""
    loaded = {
        node.target
        for node in all_nodes(form.body)
        if isinstance(node, Load) and str(node.field) == field
    }
    for node in all_nodes(form.body):  # an If asks whether it is not 0
        used: tuple[Value, ...] = ()
        if isinstance(node, Operation):
            zero = Constant(0) in node.operands and node.op in ("eq", "ne")
            used = () if zero else node.operands
        elif isinstance(node, Store):
            used = (node.value,)
        if loaded & {one for one in used if isinstance(one, Variable)}:
            return False
    return True


def _definitions(form: KernelForm) -> dict[Variable, list[Operation | Load]]:
    defined: dict[Variable, list[Operation | Load]] = {}
    for node in all_nodes(form.body):
        if isinstance(node, Operation | Load):
            defined.setdefault(node.target, []).append(node)
    return defined


class _Answers:
    def __init__(
        self,
        defined: Mapping[Variable, list[Operation | Load]],
        params: Mapping[str, frozenset[int]],
    ) -> None:
        self.defined, self.params = defined, params

    def of(self, value: Value, above: frozenset[Variable]) -> Values:
        if isinstance(value, Constant):
            return frozenset((value.value,))
        if value in above:
            return frozenset()  # a copy of itself adds nothing
        found = frozenset[int]()
        for node in self.defined.get(value, ()):
            one = self._result(node, above | {value})
            if one is None:
                return None
            found |= one
        return found

    def _result(self, node: Operation | Load, above: frozenset[Variable]) -> Values:
        if isinstance(node, Load):
            return self.params.get(node.field.name) if node.field.record == "params" else None
        if node.op in COMPARISONS:
            return frozenset((0, 1))
        if node.op == "copy":
            return self.of(node.operands[0], above)
        if node.op == "select":
            one, other = (self.of(value, above) for value in node.operands[1:])
            return None if one is None or other is None else one | other
        if node.op == "table":
            places = self.of(node.operands[0], above)
            inside = places is not None and all(0 <= one < len(node.table) for one in places)
            chosen = places if inside and places is not None else range(len(node.table))
            return frozenset(node.table[place] for place in chosen)
        return None
