"""A build that failed or was cut short is never taken for done by the next one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LOG_END = 5000
"""Characters of a build's log that are shown when it fails."""


@contextmanager
def built_whole(folder: Path, title: str) -> Iterator[Path]:
    """Around a build in `folder`: gives the file for its log; fails with its end when it raises.

    `make` takes a file that is there for made, also the empty one of a rule that failed or was
    killed; the next build would then stumble elsewhere and hide the cause. So a build goes on from
    what is there only where the mark says that it was whole, and the mark is away while it lasts.
    """
    mark, log = folder / "whole", folder.with_suffix(".build.log")
    if folder.exists() and not mark.exists():
        shutil.rmtree(folder)
    mark.unlink(missing_ok=True)
    try:
        yield log
    except (RuntimeError, SystemExit) as error:  # what a runner of cocotb raises
        said = log.read_text(errors="replace") if log.exists() else str(error)
        pytest.fail(f"{title} was not built:\n{said[-LOG_END:]}", pytrace=False)
    mark.touch()
