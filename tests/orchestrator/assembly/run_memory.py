"""Memory that a run adds to a process that has loaded the engine before.

    python -m tests.orchestrator.assembly.run_memory PARTS < PLAN.json

Prints JSON: the growth of the most memory that was resident (octets), the descriptors that were
used, and the data frames that were delivered.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.parallel.partitioning import split
from orchestrator.targets.simulated import Simulated

STATUS = Path("/proc/self/status")
RESET_HIGHEST = "5"
"""Of /proc/self/clear_refs: VmHWM begins again at what is resident now (proc_pid_clear_refs(5))."""


def resident(name: str) -> int:
    """VmRSS or VmHWM of this process, in octets."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def run(table: dict[str, Any], parts: int) -> dict[str, int]:
    """Simulate a plan on one core, or cut into parts."""
    resolved = Plan(**table).check(Registry.load())
    if parts == 1:
        recording = Simulated().run(resolved, silent)
        return {"frames": recording.data_frames}
    several = ParallelRun(resolved, split(resolved, parts))
    several.run(lambda _: None)
    worlds = [assembly.world for assembly in several.assemblies]
    return {"frames": sum(int(world.clock[0].delivered) for world in worlds)}


def main() -> None:
    """Load or compile all that the plan needs with a tenth of it, then measure."""
    table, parts = json.load(sys.stdin), int(sys.argv[1])
    run(table | {"duration": table["duration"] // 10}, parts)
    Path("/proc/self/clear_refs").write_text(RESET_HIGHEST)
    before = resident("VmRSS")
    found = run(table, parts)
    print(json.dumps(found | {"octets": resident("VmHWM") - before}))


if __name__ == "__main__":
    main()
