"""Registry of frame types: those of the core and those of plugins."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.frame_type import FIRST_OF_PLUGINS, FrameType, table

_registered: dict[int, FrameType] = {each.kind: each for each in CORE}
_table = table(CORE)


def registered_types() -> list[FrameType]:
    """All of them, in the order in which what is received is held against them."""
    return list(_registered.values())


def type_table() -> np.recarray:
    """FRAME_TYPE[KINDS], for the codec: one table, which types that are brought later enter too."""
    return _table


def register_type(new: FrameType) -> None:
    """Add the type of a plugin. Raises ValueError when its kind or its name is another one's."""
    for each in _registered.values():
        if each == new:
            return
        if each.kind == new.kind or each.name == new.name:
            raise ValueError(
                f"frame type {new.name} (kind {new.kind}) is in the way of {each.name} "
                f"(kind {each.kind}): both need to be of their own"
            )
    if new.kind < FIRST_OF_PLUGINS:
        raise ValueError(
            f"frame type {new.name}: kind {new.kind} is kept for the core; those of plugins begin "
            f"with {FIRST_OF_PLUGINS}"
        )
    _registered[new.kind] = new
    _table[:] = table(registered_types())
