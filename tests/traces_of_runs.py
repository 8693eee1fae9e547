"""What a run could leave behind on a machine, and how to look for it.

Other runs may be going on beside the tests, so everything is told apart by a mark in the
environment that all processes of one run inherit. A network namespace needs a holder: a process
in it, a descriptor, or a mount; the first two belong to marked processes, and mounts are compared.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from tests.orchestrator.targets.software.processes import MARK, gone, holders, marked
from tests.patience import PATIENCE_S

TAILBACK = [sys.executable, "-m", "orchestrator.cli"]
PARTIAL = ".partial"


def interfaces() -> set[str]:
    """Names of the interfaces in this namespace."""
    return set(os.listdir("/sys/class/net"))


def namespace_mounts() -> set[str]:
    """Namespaces that a mount keeps alive without a process."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    named = Path("/var/run/netns")
    names = {str(path) for path in named.iterdir()} if named.exists() else set()
    return {line for line in lines if " nsfs " in line} | names


def partial_folders(base: Path) -> list[str]:
    """Half-written run folders anywhere below `base`."""
    # glob.glob passes over folders that vanish while it looks; Path.rglob raises
    return glob.glob(f"{base}/**/.*{PARTIAL}", recursive=True, include_hidden=True)


class Run:
    """One `tailback` process with a mark of its own; use it in a `with` block."""

    def __init__(
        self, *arguments: object, before: list[str] | None = None, **environment: str
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.host = interfaces(), namespace_mounts()
        self.process = subprocess.Popen(
            [*(before or []), *TAILBACK, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment, MARK: self.mark},
            start_new_session=True,  # a process group for Ctrl-C
        )
        self.received: list[str] = []
        self.networks: set[str] = set()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        for process in marked(self.mark):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.kill()
        self.process.communicate()

    def wait_for(self, stage: str) -> bool:
        """Read its messages up to the stage; False when it ended before."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.received.append(line)
            if line.startswith(stage):
                self._note_networks()
                return True
        return False

    def _note_networks(self) -> None:
        """Note the namespaces that its processes are in or hold, other than this one's."""
        for process in marked(self.mark):
            folder = Path("/proc") / str(process)
            try:
                links = [folder / "ns" / "net", *(folder / "fd").iterdir()]
                self.networks |= {t for link in links if (t := os.readlink(link))[:4] == "net:"}
            except OSError:
                continue  # it ended meanwhile
        self.networks.discard(os.readlink("/proc/self/ns/net"))

    def worker(self) -> int | None:
        """The process that holds the emulated machines."""
        for process in marked(self.mark):
            try:
                command = (Path("/proc") / str(process) / "cmdline").read_bytes()
            except OSError:
                continue
            if b"orchestrator.targets.software.worker_main" in command:
                return process
        return None

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """As a terminal does: to the whole process group."""
        os.killpg(self.process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, output, everything it said."""
        output, rest = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, "".join(self.received) + rest

    def left(self, base: Path) -> list[str]:
        """What is still there after the end, in `base` and on this machine."""
        end = time.monotonic() + PATIENCE_S
        while (found := partial_folders(base)) and time.monotonic() < end:
            time.sleep(0.05)
        if not gone(self.mark, PATIENCE_S):
            found += [f"process {process}" for process in marked(self.mark)]
        found += holders(sorted(self.networks), self.mark)
        found += sorted(interfaces() - self.host[0]) + sorted(namespace_mounts() - self.host[1])
        return found
