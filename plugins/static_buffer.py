"""Static buffer management: each buffer may hold its `buffer`, whatever the others hold.

It does what shared memory without buffer management does, and gives the same results to the byte.
With `headroom` and `dynamic-pfc` at inputs it is a fixed XOFF threshold, the key `buffer`.
"""

from __future__ import annotations

from tailback.plugin import Algorithm, Params, buffer_management, record


class StaticBuffer(Params):
    """It has no parameters: `buffer` of the switch, the port or the inputs is the limit."""

    def least_limit(self, capacity: int) -> int:
        """All of it."""
        return capacity


def on_limit(state, params, queue, frame, now, message):
    """The capacity of the buffer."""
    return queue.capacity


STATIC: Algorithm = buffer_management(
    "static",
    "lets each buffer hold its `buffer`, whatever the others hold",
    StaticBuffer,
    record("unused"),
    limit=on_limit,
)
