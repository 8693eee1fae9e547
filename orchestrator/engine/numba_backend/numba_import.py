"""Import of numba without what it would load, or obey, besides: the first import of it."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def block_imports(name: str) -> Iterator[None]:
    """Within this block only modules that are imported already can be imported."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


NUMBA_SETTINGS = ".numba_config.yaml"


@contextlib.contextmanager
def without_settings_file() -> Iterator[None]:
    """Within this block numba takes no settings from a file of the working folder, whose author may
    be someone else: without a parser of YAML numba only warns of the file."""
    if not os.path.isfile(NUMBA_SETTINGS):
        yield
        return
    parser = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del sys.modules["yaml"]
        if parser is not None:
            sys.modules["yaml"] = parser


# numba imports coverage, where it is installed, to tell it of compiled lines: a sixth of what
# importing numba takes, and of use only under coverage, which then is there already. SciPy is
# imported to ask for its version.
with block_imports("coverage"), block_imports("scipy"), without_settings_file():
    import numba
# Nor is there linear algebra in what is compiled here, for which numba would import SciPy's when it
# compiles or loads the first function.
with block_imports("scipy"), block_imports("scipy.linalg"):
    import numba.np.arraymath

__all__ = ["block_imports", "numba"]
