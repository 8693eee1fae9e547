"""Calls of the algorithms' kernels on their instances.

Where an algorithm has a state per flow, a frame's kernels get that of the frame's flow; state 0 is
that of frames without one, and of timers.
"""

from __future__ import annotations

from orchestrator.engine.jit import call_kernel, compiled, inlined


@inlined
def on_frame(w, instance, entity, frame, now, message):  # type: ignore[no-untyped-def]
    """Call the instance's `on_frame` kernel; 0 when it has none."""
    i = w.instances[instance]
    if i.on_frame == 0:
        return 0
    state = i.state + i.stride * (frame.flow + 1)
    return call_kernel(i.on_frame, state, i.params, entity, frame, now, message)


@inlined
def on_departure(w, instance, entity, frame, now, message):  # type: ignore[no-untyped-def]
    """Call the instance's `on_departure` kernel; 0 when it has none."""
    i = w.instances[instance]
    if i.on_departure == 0:
        return 0
    state = i.state + i.stride * (frame.flow + 1)
    return call_kernel(i.on_departure, state, i.params, entity, frame, now, message)


@inlined
def on_timer(w, instance, entity, frame, now, message):  # type: ignore[no-untyped-def]
    """Call the instance's `on_timer` kernel; 0 when it has none."""
    i = w.instances[instance]
    if i.on_timer == 0:
        return 0
    return call_kernel(i.on_timer, i.state, i.params, entity, frame, now, message)


@compiled
def on_special(w, instance, entity, frame, now, message):  # type: ignore[no-untyped-def]
    """Call the instance's `on_special` kernel; 0 when it has none."""
    i = w.instances[instance]
    if i.on_special == 0:
        return 0
    state = i.state + i.stride * (frame.flow + 1)
    return call_kernel(i.on_special, state, i.params, entity, frame, now, message)
