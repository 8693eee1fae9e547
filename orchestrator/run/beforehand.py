"""Process that compiles the simulator's engine into the cache and ends (`beside.py`).

It ends sooner when whoever started it is gone: its stdin is then closed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading


def main() -> None:
    """Compile what `Simulated` calls, unless somebody does already: then wait for that."""
    gc.disable()  # next to all that is made is in use up to the end
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started this, and ends it
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.engine.node.world import World
    from orchestrator.run.compiling import one_at_a_time

    with one_at_a_time():
        simulate.entry((World.compiled_as, "int64", "int64"))
    os._exit(0)  # the rest would be to free, one by one, all that was made: half a second


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
