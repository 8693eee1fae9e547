"""What `tailback run --target software` looks like from outside: a folder that is watched over,
and a worker; this one spins on nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator import python_command

OTHER = """
import os, subprocess, sys
from pathlib import Path
from orchestrator.run.run_folder import RunFolder
with RunFolder.open(Path(sys.argv[1]), "demo") as folder:
    worker = subprocess.Popen([sys.executable, "-c",
        "print(flush=True); import time; time.sleep(600)",
        "orchestrator.targets.software.worker_main", "9", str(os.getpid())], stdout=subprocess.PIPE)
    try:
        worker.stdout.readline()  # until then the system may not know its command line
        print(folder.final, flush=True)
        sys.stdin.read()
    finally:
        worker.kill()
        worker.wait()
"""


@contextmanager
def going_on(out: Path) -> Iterator[tuple[int, Path]]:
    """The process and the folder of a run that goes on until the block is left."""
    process = subprocess.Popen(
        python_command.code(OTHER, str(out)),
        env=python_command.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.pid, Path(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait()
