"""Targets on which this machine can run a whole plan, queried in a process of its own.

An agent has privileges and loads no foreign code, so a child process loads the plugins. Run as
`python -m orchestrator.testbed.agent.target_offers` it prints what it found as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable

from orchestrator import python_command
from orchestrator.testbed.wire.envelope import clipped

PATIENCE_S = 60.0
"""A plugin that takes longer to load is not waited for."""


def runnable_targets() -> dict[str, str]:
    """Target -> nothing, or why no plan can be run on it here, with what would mend that."""
    from orchestrator.capability import Capability
    from orchestrator.registry import Registry

    targets = [t for t in Registry.load().targets if Capability.HELD in t.capabilities]
    return {target.name: clipped(str(target.probe() or "")) for target in targets}


async def query_runnable_targets(say: Callable[[str], None]) -> dict[str, str]:
    """Result of `runnable_targets` from a new process; empty, with a sentence to `say`, where that
    fails."""
    process = await asyncio.create_subprocess_exec(
        *python_command.module(__name__),
        env=python_command.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        found = json.loads(output)
        return {str(name): str(lack) for name, lack in found.items()}
    except (TimeoutError, ValueError, AttributeError):
        say("what plans it can hold is not known: the plugins here do not load")
        return {}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    print(json.dumps(runnable_targets()))
