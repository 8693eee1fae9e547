"""Integer square root, equal on every target."""

from __future__ import annotations

from orchestrator.engine.jit import compiled


@compiled
def square_root(value):  # type: ignore[no-untyped-def]
    """The whole part of the square root of a number below 2^62, by Newton's method from above."""
    if value < 2:
        return value
    guess = 1
    while guess * guess < value and guess < 1 << 31:
        guess *= 2
    after = (guess + value // guess) // 2
    while after < guess:
        guess = after
        after = (guess + value // guess) // 2
    return guess
