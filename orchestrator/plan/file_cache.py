"""Cache of what is read from a file, until the file changes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def cached_per_file(
    read: Callable[Concatenate[str, Rest], Result],
) -> Callable[Concatenate[str, Rest], Result]:
    """Decorate a function of a path, and of other hashable arguments, all by position: it runs once
    for each state of the file (inode, size, time of the last change).

    Results are kept for good: kernels that run may hold the address of one.
    """
    kept: dict[Any, Result] = {}

    @functools.wraps(read)
    def cached(path: str, *args: Rest.args, **more: Rest.kwargs) -> Result:
        try:
            status = os.stat(path)
        except OSError:
            return read(path, *args, **more)  # which says why it cannot be read
        key = (path, args, status.st_ino, status.st_size, status.st_mtime_ns)
        if key not in kept:
            kept[key] = read(path, *args, **more)
        return kept[key]

    return cached
