"""Runs on the machines of a testbed, by a controller that the test session starts."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import python_command
from orchestrator.errors import RunFailed

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from traces.pytest_plugin.run_outcome import Outcome

READY_S = 300.0
"""Time for the controller to report that it listens; long for a busy machine."""


class TestbedSession:
    """A controller that runs; see `testbed_session`."""

    def __init__(self, address: str, key: str, said: Path, runs: Path) -> None:
        self.address, self.key, self.said, self.runs = address, key, said, runs

    def run(self, plan: Plan) -> Outcome:
        """Run a plan across the machines. Raises RunFailed, with the cause, when it fails."""
        from orchestrator.testbed.controller import controller_client
        from orchestrator.testbed.curve_keys import default_folder
        from traces.pytest_plugin.run_outcome import Outcome

        answer = asyncio.run(
            controller_client.run(
                self.address,
                default_folder(),
                self.key,
                plan,
                False,
                self.runs,
                lambda news: None,
                lambda line: None,
            )
        )
        if answer.error is not None:
            raise RunFailed(answer.error)
        if answer.folder is None or (answer.result or {}).get("cause"):
            raise RunFailed(f"the run across machines failed: {(answer.result or {}).get('cause')}")
        return Outcome.read(Path(answer.folder))


@contextlib.contextmanager
def testbed_session(testbed: Path) -> Iterator[TestbedSession]:
    """Start `tailback controller TESTBED` with the user's keys; end it afterwards.

    Its run folders are kept in a folder of the session. Raises RunFailed, with its own words, when
    it does not come up.
    """
    from orchestrator.testbed.curve_keys import default_folder, own

    with tempfile.TemporaryDirectory(prefix="tailback-inloop-") as name:
        folder = Path(name)
        said = folder / "controller.log"
        command = python_command.module("orchestrator.cli", "controller", str(testbed))
        command += ["--listen", "tcp://127.0.0.1:*", "--out", str(folder / "runs")]
        with said.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=python_command.environment(),
            )
        try:
            key = own(default_folder()).public
            yield TestbedSession(_address(process, said), key, said, folder / "fetched")
        finally:
            process.terminate()
            process.wait()


def _address(process: subprocess.Popen[bytes], said: Path) -> str:
    """Address of the controller, from its first line of output."""
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        words = said.read_text(errors="replace")
        if " listens on " in words:
            return words.split(" listens on ")[1].split(",")[0].strip()
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RunFailed(f"the controller did not come up: {said.read_text(errors='replace').strip()}")
