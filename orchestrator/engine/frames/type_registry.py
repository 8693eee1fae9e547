"""Registry of frame types: those of the core and those of plugins."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.frame_type import (
    FIRST_OF_PLUGINS,
    LAST_OF_PLUGINS,
    FrameType,
    table,
)
from orchestrator.engine.frames.header_options import DEFAULT, HeaderOptions, shapes, types_with
from orchestrator.engine.frames.roce_frame_types import ROCE_TYPES

_registered: dict[int, FrameType] = {each.kind: each for each in CORE}
_table = table(CORE)
_captured: list[np.recarray] = []


def registered_types() -> list[FrameType]:
    """All of them, in the order in which what is received is held against them."""
    return list(_registered.values())


def type_table(options: HeaderOptions = DEFAULT) -> np.recarray:
    """FRAME_TYPE[KINDS], for the codec: one table of the default headers, which types that are
    brought later enter too; a new one of others, with the types that there are and, where flows are
    RoCEv2 queue pairs, the layouts of these."""
    if options == DEFAULT:
        return _table
    layouts = ROCE_TYPES if options.roce else ()
    return table(types_with([*layouts, *registered_types()], options))


def captured_tables() -> np.recarray:
    """FRAME_TYPE[shapes, KINDS]: the table of each of `header_options.shapes`, for frames whose
    headers are not known before (`captured_codec`)."""
    if not _captured:
        _captured.append(np.stack([type_table(each) for each in shapes()]).view(np.recarray))
    return _captured[0]


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
    if not FIRST_OF_PLUGINS <= new.kind <= LAST_OF_PLUGINS:
        raise ValueError(
            f"frame type {new.name}: kind {new.kind} is kept for the core; those of plugins begin "
            f"with {FIRST_OF_PLUGINS} and end with {LAST_OF_PLUGINS}"
        )
    _registered[new.kind] = new
    _table[:] = table(registered_types())
    _captured.clear()
