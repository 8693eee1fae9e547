"""Loader of numba's cached code that skips the refresh which only a compilation needs.

Before numba 0.68 looks for kept code it brings its contexts up to date: it imports the
implementations of lists, dictionaries, dates, random numbers, and asks each of them for what it
knows. That takes longer than all that a plan loads. A compilation does it for itself where nothing
is kept, so here it is left out.
"""

from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache


class KeptCode(FunctionCache):
    """The cache of one function: numba's, but for what it refreshes."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kept result for a signature, or None."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def with_kept_code(dispatcher: Any) -> Any:
    """The dispatcher of a function, which looks for its machine code in the cache first."""
    dispatcher._cache = KeptCode(dispatcher.py_func)
    return dispatcher
