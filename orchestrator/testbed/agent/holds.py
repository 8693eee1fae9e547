"""Targets on which this machine can run a whole plan, queried in a process of its own.

An agent has privileges and loads no foreign code, so a child process loads the plugins. Run as
`python -m orchestrator.testbed.agent.holds` it prints what it found as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable

from orchestrator import interpreter
from orchestrator.testbed.wire.envelope import clipped

PATIENCE_S = 60.0
"""A plugin that takes longer to load is not waited for."""


def holds() -> dict[str, str]:
    """Target -> nothing, or why no plan can be run on it here, with what would mend that."""
    from orchestrator.capability import Capability
    from orchestrator.registry import Registry

    targets = [t for t in Registry.load().targets if Capability.HELD in t.capabilities]
    return {target.name: clipped(str(target.probe() or "")) for target in targets}


async def looked_up(say: Callable[[str], None]) -> dict[str, str]:
    """Result of `holds` from a new process; empty, with a sentence to `say`, where that fails."""
    process = await asyncio.create_subprocess_exec(
        *interpreter.module(__name__),
        env=interpreter.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        told, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        found = json.loads(told)
        return {str(name): str(lack) for name, lack in found.items()}
    except (TimeoutError, ValueError, AttributeError):
        say("what plans it can hold is not known: the plugins here do not load")
        return {}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    print(json.dumps(holds()))
