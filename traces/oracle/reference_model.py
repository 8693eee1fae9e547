"""Reference model of one node: its world by the plan, with the registered algorithms.

A `Variant` is a reference that keeps one rule less, or has other parameters: what a device does
that breaks the rule. Which of them explains a capture tells which rule was broken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from orchestrator.algorithm import Kernel
from orchestrator.assembly import Assembly, assemble
from orchestrator.errors import BadInput
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.row_order import in_row_order

Wrap = Callable[[Kernel], Kernel]


@functools.cache
def wrapped(wrap: Wrap, kernel: Kernel) -> Kernel:
    """A kernel with something around it; always the same one, so that it is compiled once."""
    return wrap(kernel)


@dataclass(frozen=True)
class Variant:
    """One way of departing from a rule: other parameters, or kernels with something around them."""

    rule: str
    what: str
    """Behaviour of such a device, as a sentence."""
    kind: str = ""
    """Of the algorithm: congestion_point, reaction_point, pause."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    wraps: Mapping[str, Wrap] = field(default_factory=dict)
    """By kernel."""
    scale: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Parameters that are multiplied, by (numerator, denominator)."""
    needs: tuple[str, ...] = ()
    """Fields of the algorithm's state that the kernels touch."""

    def of(self, use: Use) -> Use | None:
        """The algorithm as this variant has it; None where it cannot be applied."""
        names = type(use.params).model_fields
        if not set(self.changes) | set(self.scale) <= set(names):
            return None
        values = dict(self.changes)
        for name, (over, under) in self.scale.items():
            value = getattr(use.params, name)
            exact = value * Fraction(over, under)
            values[name] = exact if isinstance(value, Fraction) else int(exact)
        if values and all(getattr(use.params, name) == value for name, value in values.items()):
            return None
        kernels = dict(use.algorithm.kernels)
        state = use.algorithm.state.names or ()
        if not set(self.wraps) <= set(kernels) or not set(self.needs) <= set(state):
            return None
        kernels |= {event: wrapped(wrap, kernels[event]) for event, wrap in self.wraps.items()}
        try:
            params = use.params
            for name, value in values.items():
                params = params.changed(name, value, bare=True)
        except (BadInput, ValueError):
            return None
        return Use(replace(use.algorithm, kernels=kernels), params, use.preset)


def build(resolved: ResolvedPlan, node: str, variants: Sequence[Variant] = ()) -> Assembly | None:
    """The world of a node, ready for time 0, its ports leading to wires 0, 1, ... in row order.

    None when a variant has nothing to change there.
    """
    uses = dict(resolved.uses)
    mine = _holders(resolved, node)
    for variant in variants:
        here = uses[variant.kind]
        changed = {holder: variant.of(use) for holder, use in here.items() if holder in mine}
        if all(use is None for use in changed.values()):
            return None
        uses[variant.kind] = here | {holder: use for holder, use in changed.items() if use}
    bare = resolved.plan.model_dump(by_alias=True, exclude={"capture"})
    return assemble(
        replace(resolved, uses=uses, plan=resolved.plan.with_data(bare)),
        [node],
        ports_of(resolved, node),
    )


def _holders(resolved: ResolvedPlan, node: str) -> set[str]:
    """Entities of a node that algorithms can belong to."""
    ports = [port for port in resolved.plan.ports() if port.node == node]
    return {node, *(port.entity for port in ports), *(port.input for port in ports)}


def ports_of(resolved: ResolvedPlan, node: str) -> list[str]:
    """A node's ports, in the order of their rows."""
    return [port.entity for port in in_row_order(resolved.plan).ports() if port.node == node]


def rows_of(assembly: Assembly, ports: list[str]) -> np.ndarray:
    """The rows of ports."""
    return np.array([assembly.indices.port_rows[port] for port in ports], np.int64)
