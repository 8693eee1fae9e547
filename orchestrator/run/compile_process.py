"""Process that compiles the simulator's engine into the cache and ends (`beside.py`).

It ends early when its parent is gone: its stdin is then closed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Compile the engine of `Simulated`, or wait for another process that does."""
    gc.disable()  # nearly all objects stay in use up to the end
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.engine.node.world_arrays import World
    from orchestrator.run.engine_compile import compile_lock

    with compile_lock():
        engine: Any = simulate
        engine.entry((World.compiled_as, "int64", "int64"))
    os._exit(0)  # a normal exit would free all objects one by one: 0.5 s


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
