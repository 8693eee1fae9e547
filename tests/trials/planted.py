"""Faults for chaos and endurance to find: tailback's own text with a piece of it exchanged.

Each is in every process that a trial starts, and in no file: see tests/planting.py.
"""

# ruff: noqa: E501 (the exchanged texts are lines of the sources)
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "TAILBACK_PLANTED"
HOSTED = "orchestrator.testbed.agent.worker_supervisor"
HOSTING = "orchestrator.testbed.agent.node_worker"
MERGE = "orchestrator.testbed.controller.merge_recordings"
PART_READ = "        return cls(machine, arrays, record, nics, clock, nodes)"
SPAWNED = '__import__("os").posix_spawn("/bin/sleep", ["sleep", "1000"], {}, setsid=True)'


@dataclass(frozen=True)
class Fault:
    """What is exchanged for what, in which module; the kinds by which it may be found."""

    kinds: frozenset[str]
    changes: tuple[tuple[str, str, str], ...]
    runs: int = 1
    """Runs after which endurance finds it."""


def fault(kinds: str, *changes: tuple[str, str, str], runs: int = 1) -> Fault:
    """A fault: its kinds, separated by spaces, and (module, text, other text) each."""
    return Fault(frozenset(kinds.split()), changes, runs)


PLANTED: dict[str, Fault] = {
    "a row of results is dropped": fault(
        "row",
        (
            MERGE,
            PART_READ,
            '        for name in ("times", "values"):\n'
            "            arrays[name] = np.delete(arrays[name], len(arrays[name]) // 2, axis=0)\n"
            + PART_READ,
        ),
    ),
    "a descriptor leaks": fault(
        "descriptor",
        (
            HOSTING,
            "        self.pace = self._pace(wanted)\n",
            '        os.open("/dev/null", os.O_RDONLY)\n        self.pace = self._pace(wanted)\n',
        ),
    ),
    "a helper holds a namespace": fault(
        "process namespace",
        (
            "orchestrator.targets.software.hosted_nodes_job",
            "    spec = Spec(**record)\n",
            f"    spec = Spec(**record)\n    {SPAWNED}\n",
        ),
    ),
    "a stray file": fault(
        "file",
        (
            HOSTING,
            "        spool.mkdir(parents=True, exist_ok=True, mode=0o700)\n",
            "        spool.mkdir(parents=True, exist_ok=True, mode=0o700)\n"
            '        (spool.parents[1] / f"stray-{spool.name}").touch()\n',
        ),
    ),
    "an owner is not checked": fault(
        "owner",
        ("orchestrator.testbed.agent.agent_service", "if held.owner != peer:", "if False:"),
    ),
    "a NIC is not restored": fault(
        "nic",
        ("orchestrator.testbed.agent.nic_claims", "        restore(self.name, self.before)\n", ""),
    ),
    "a retry is done twice": fault(
        "retry",
        ("orchestrator.testbed.wire.rpc_server", "if number in known.answers:", "if False:"),
    ),
    "losses of wires are not counted": fault(
        "loss",
        (MERGE, "        crossings=crossings,\n", ""),
        (
            MERGE,
            '    lost["between"] = max(lost["between"], sum(one.lost for one in crossings))\n',
            '    lost["between"] = 0\n',
        ),
    ),
    "a checksum is ignored": fault(
        "checksum",
        (
            "orchestrator.testbed.wire.chunked_transfer",
            "if zlib.crc32(octets) != chunk.crc32:",
            "if False:",
        ),
    ),
    "a data path outlives its lease": fault(
        "workers process",
        (
            HOSTED,
            "            self._end()\n            self._worker.pipe.close()\n",
            "",
        ),
        (
            "orchestrator.targets.software.worker_main",
            "    os._exit(0)  # the job's threads",
            "    signal.pause()  # the job's threads",
        ),
    ),
    "results stay with an agent": fault(
        "files file",
        (
            "orchestrator.testbed.agent.lease_journal",
            "        shutil.rmtree(self.spool(lease), ignore_errors=True)\n        self._leases.pop",
            "        self._leases.pop",
        ),
    ),
}


def environment(changes: Sequence[tuple[str, str, str]], folder: Path) -> dict[str, str]:
    """What has every Python process import tailback with a fault in it; `folder` gets a file."""
    source = Path(__file__).parents[1] / "planting.py"
    folder.joinpath("sitecustomize.py").write_text(
        "import importlib.util, json, os\n"
        f"spec = importlib.util.spec_from_file_location('planting', {str(source)!r})\n"
        "made = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(made)\n"
        f"made.plant_all(json.loads(os.environ[{VARIABLE!r}]))\n"
    )
    before = os.environ.get("PYTHONPATH")
    paths = [str(folder), *([before] if before else [])]
    return {"PYTHONPATH": os.pathsep.join(paths), VARIABLE: json.dumps(changes)}
