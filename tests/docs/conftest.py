"""What working through pages needs once: compiled code, a copy, so that none is added to ours."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.orchestrator.worlds import line_of_three, recorded


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of numba's cache that holds the compiled engine."""
    recorded(line_of_three())
    copy = tmp_path_factory.mktemp("numba") / "cache"
    return Path(shutil.copytree(os.environ["NUMBA_CACHE_DIR"], copy))
