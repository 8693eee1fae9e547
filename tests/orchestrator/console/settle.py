"""When a console that is driven by a test has done all that a key press has led to.

Textual's own pilot watches how much of the processor the process gets: on a busy machine that says
nothing, and on an idle one it costs 20 ms each time. Here the event loop itself is asked: nothing
is ready to be carried out and nothing waits to be painted. What comes by a thread or by a timer is
not waited for.
"""

from __future__ import annotations

import asyncio
import time

from textual._context import active_app

ROUNDS = 3
"""Turns of the loop in which nothing was to be done but this."""
LONGEST_S = 60.0


async def settled(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Stands for `textual._wait.wait_for_idle`; its times mean nothing here."""
    loop = asyncio.get_running_loop()
    app = active_app.get()
    end = time.monotonic() + LONGEST_S
    quiet = 0
    while quiet < ROUNDS:
        await asyncio.sleep(0)
        quiet = 0 if loop._ready else quiet + 1  # type: ignore[attr-defined]
        if quiet == ROUNDS and app.screen_stack and not app._batch_count:
            screen = app.screen
            unpainted = (
                screen._layout_required or screen._repaint_required or screen._scroll_required
            )
            if unpainted or screen._dirty_widgets or screen._callbacks:
                screen._on_timer_update()  # what its timer would do a sixtieth of a second later
                quiet = 0
        assert time.monotonic() < end, "the console never comes to rest"
