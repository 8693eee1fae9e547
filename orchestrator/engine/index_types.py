"""Types of row numbers and of the arrays that they count, for mypy alone; int64, an int to mypy.

A row number of one array does not fit another: mypy refuses a port's for a queue. An offset added
to a row number gives another one of the same array, the difference of two is an offset. To compiled
functions a row number is an int64, and `range` is Python's: nothing here is called in a run.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, NewType, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Generic, Self, overload


class Index(int):
    """Row number of an array of a world, with the arithmetic that mypy knows of it."""

    if TYPE_CHECKING:

        def __add__(self, offset: int, /) -> Self: ...
        def __radd__(self, offset: int, /) -> Self: ...
        @overload
        def __sub__(self, other: Self, /) -> int: ...  # type: ignore[overload-overlap]
        @overload
        def __sub__(self, offset: int, /) -> Self: ...
        def __sub__(self, other: Any, /) -> Any: ...


ActorIndex = NewType("ActorIndex", Index)
AgendaIndex = NewType("AgendaIndex", Index)
FlowIndex = NewType("FlowIndex", Index)
FrameIndex = NewType("FrameIndex", Index)
GateIndex = NewType("GateIndex", Index)
InputIndex = NewType("InputIndex", Index)
InstanceIndex = NewType("InstanceIndex", Index)
LaneIndex = NewType("LaneIndex", Index)
LimiterIndex = NewType("LimiterIndex", Index)
MessageIndex = NewType("MessageIndex", Index)
NodeIndex = NewType("NodeIndex", Index)
PortIndex = NewType("PortIndex", Index)
QueueIndex = NewType("QueueIndex", Index)
VoqIndex = NewType("VoqIndex", Index)

Number = TypeVar("Number", bound=int)
Element = TypeVar("Element")

if TYPE_CHECKING:

    class OtherArray:
        """Element that a row number of another array selects: it has no field."""

    class Rows(np.ndarray[Any, np.dtype[Any]], Generic[Number, Element]):
        """An array of a world whose rows are numbered by `Number`; what they are is `Element`."""

        @property
        def size(self) -> Number: ...
        @overload  # type: ignore[override]
        def __getitem__(self, row: Number, /) -> Element: ...  # type: ignore[overload-overlap]
        @overload
        def __getitem__(self, row: Index, /) -> OtherArray: ...  # type: ignore[overload-overlap]
        @overload
        def __getitem__(self, row: int | np.integer[Any], /) -> Any: ...
        @overload
        def __getitem__(self, rows: object, /) -> np.ndarray: ...
        def __getitem__(self, row: Any, /) -> Any: ...

    def int64(value: Any, /) -> int: ...
    @overload
    def range(stop: Number, /) -> Iterable[Number]: ...
    @overload
    def range(start: Number, stop: Number, step: int = 1, /) -> Iterable[Number]: ...
    def range(*limits: Any) -> Any: ...
else:
    int64, range, Rows = np.int64, builtins.range, Any
