"""Reusable world: laid out once, then run with several seeds.

To lay a small plan out costs as much as to simulate a tenth of it. What a run has written is put
back instead, and what the seed decides (`orchestrator.assembly.builder.Drawn`) is drawn anew.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator.assembly.assembly import Assembly, assemble
from orchestrator.engine.node.world import FIELDS
from orchestrator.plan import ResolvedPlan

OVERWRITTEN = frozenset({"rows", "row_times"})
"""Every row is written whole before it counts, and none beyond is read."""


class Again:
    """The worlds of one plan with several seeds, one after another in the same arrays.

    The plans that it is handed differ in their seeds alone (`ResolvedPlan.with_seed`). What was
    recorded of a world is good until the next one is asked for.
    """

    def __init__(self) -> None:
        self._laid: Assembly | None = None
        self._before: dict[str, np.ndarray | None] = {}
        """Array -> what was in it before anything ran; None: zeros."""

    def world(self, resolved: ResolvedPlan) -> Assembly:
        """The world of a plan, ready to run from time 0. Raises BadInput as `assemble` does."""
        laid = self._laid
        if laid is None or laid.resolved.uses is not resolved.uses:  # the seed drew pairs of ends
            self._laid = laid = assemble(resolved)
            self._before = {} if len(laid.world.messages) else _copies(laid)
            return laid
        if not self._before:  # the seed decides which messages there are
            return assemble(resolved)
        for name, values in self._before.items():
            getattr(laid.world, name)[...] = 0 if values is None else values
        laid.built.sow(resolved.plan.seed)
        return replace(laid, resolved=resolved)


def _copies(laid: Assembly) -> dict[str, np.ndarray | None]:
    """Copies of all arrays that a run may write, except views of the memory."""
    arrays = {name: getattr(laid.world, name) for name in FIELDS if name not in OVERWRITTEN}
    whole = laid.world.memory
    return {
        name: array.copy() if array.view(np.uint8).any() else None
        for name, array in arrays.items()
        if name == "memory" or not np.shares_memory(array, whole)
    }
