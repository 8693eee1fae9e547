"""Guarded interfaces of this machine for one run: claimed, set up, restored in any case.

A process of its own claims them (`orchestrator.testbed.nic_guard_process`): it ends when the run
has, or is gone, however that came about, and puts everything back first.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator import python_command
from orchestrator.errors import Refused

ENDING_S = 10.0


@contextmanager
def guarded_nics(interfaces: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Interface -> what it was set to. Raises Refused: no such, in use, or held by another."""
    process = subprocess.Popen(
        python_command.module(
            "orchestrator.testbed.nic_guard_process", str(os.getpid()), *interfaces
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the run, which ends it in good order
        env=python_command.environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        answer = json.loads(process.stdout.readline() or '{"refused": "the keeper ended"}')
        if "refused" in answer:
            raise Refused("target software", answer["refused"], answer.get("remedy", ""))
        yield answer["set"]
    finally:
        process.stdin.close()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
