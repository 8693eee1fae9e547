"""Named tuples passed to compiled functions as one pointer.

A rig is some thirty arrays and four batches of ten more, each of seven words or nine. Handing that
over by value copies four kilobytes at every call, which is more than most of what is called does.
`by_reference` writes it down once, in the frame of the function that calls it, and what it answers
has the same fields, loaded when they are asked for. It is good until that function returns.
Uncompiled it is the tuple itself.
"""

from __future__ import annotations

from typing import Any

from orchestrator.engine.jit import DISABLED
from orchestrator.engine.lazy_imports import LazyIntrinsic


def _itself(value: Any) -> Any:
    return value


by_reference: Any = (
    _itself
    if DISABLED
    else LazyIntrinsic("orchestrator.engine.intrinsics.named_tuple_type:by_reference")
)
"""(named tuple) -> what has its fields, handed on by a pointer."""
