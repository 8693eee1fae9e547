"""Commands that start tailback's Python processes, which load no code from the working folder.

`python -m` and `python -c` put the working folder first on the import path: a `queue.py` that lies
there would run in place of the standard library's, with all that the process may do. So every such
command has `-P`, and is made here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import orchestrator

ROOT = Path(orchestrator.__file__).resolve().parents[1]
"""Folder that tailback's packages are imported from."""


def module(name: str, *words: str) -> list[str]:
    """The command that runs a module; start it with `environment()`, so that it is found."""
    return [sys.executable, "-P", "-m", name, *words]


def code(text: str, *words: str) -> list[str]:
    """The command that runs a few lines."""
    return [sys.executable, "-P", "-c", text, *words]


def alone(path: Path, *words: str) -> list[str]:
    """The command that runs a file that needs the standard library and nothing else."""
    return [sys.executable, "-I", "-S", str(path), *words]


def environment(**more: str) -> dict[str, str]:
    """This process's, with our packages on the path.

    An empty entry of PYTHONPATH (as in `PYTHONPATH=$PYTHONPATH:/opt`) means the working folder,
    which is never intended: it is left out.
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = dict.fromkeys([str(ROOT), *filter(None, given)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}
