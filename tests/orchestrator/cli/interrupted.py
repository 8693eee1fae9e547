"""Ctrl-C while a command carries out points."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

WITHIN_S = 200


def interrupted(command: list[str], store: Path, cwd: Path) -> tuple[int, str, list[int]]:
    """Interrupt a command once three points are in its store: exit code, stderr, its workers."""
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + WITHIN_S
        while not (store.exists() and store.read_bytes().count(b"\n") > 2):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    return process.returncode, said, [int(pid) for pid in children.split()]
