"""Faults of a reaction point on a received message: wrappers of its kernel `feedback`."""

from __future__ import annotations

from orchestrator.algorithm import Kernel
from orchestrator.engine.jit import compiled
from traces.oracle.reference_model import Wrap


def target_after(kernel: Kernel) -> Kernel:
    """The target takes the rate from after the cut."""
    inner = compiled(kernel)

    def feedback(state, params, limiter, frame, now, message):
        sets = limiter.active != 0 and state.byte_stage != 0
        inner(state, params, limiter, frame, now, message)
        if sets:
            limiter.target = limiter.rate
        return 0

    return feedback


def fields_unchanged(*names: str) -> Wrap:
    """Fields of the limiter stay what they were where it is active."""
    target, timer = "target" in names, "timer" in names

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def feedback(state, params, limiter, frame, now, message):
            active, before = limiter.active, (limiter.target, limiter.timer)
            inner(state, params, limiter, frame, now, message)
            if active == 0:
                return 0
            if target:
                limiter.target = before[0]
            if timer:
                limiter.timer = before[1]
            return 0

        return feedback

    return wrap


def stages_unchanged(*names: str) -> Wrap:
    """Stages stay what they were, where the limiter was not active too."""
    byte_stage, timer_stage = "byte_stage" in names, "timer_stage" in names

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def feedback(state, params, limiter, frame, now, message):
            stages = state.byte_stage, state.timer_stage
            inner(state, params, limiter, frame, now, message)
            if byte_stage:
                state.byte_stage = stages[0]
            if timer_stage:
                state.timer_stage = stages[1]
            return 0

        return feedback

    return wrap


def always_restarts(kernel: Kernel) -> Kernel:
    """Target and byte counter are set while the byte stage is 0, too."""
    inner = compiled(kernel)

    def feedback(state, params, limiter, frame, now, message):
        active, rate = limiter.active, limiter.rate
        inner(state, params, limiter, frame, now, message)
        if active != 0:
            limiter.target = rate
            state.countdown = params.byte_reset
        return 0

    return feedback


def target_always(kernel: Kernel) -> Kernel:
    """The target takes the rate while the byte stage is 0, too."""
    inner = compiled(kernel)

    def feedback(state, params, limiter, frame, now, message):
        active, rate = limiter.active, limiter.rate
        inner(state, params, limiter, frame, now, message)
        if active != 0:
            limiter.target = rate
        return 0

    return feedback


def bytes_run_on(kernel: Kernel) -> Kernel:
    """The byte counter is not restarted."""
    inner = compiled(kernel)

    def feedback(state, params, limiter, frame, now, message):
        active, countdown = limiter.active, state.countdown
        inner(state, params, limiter, frame, now, message)
        if active != 0:
            state.countdown = countdown
        return 0

    return feedback


def off_by(shift: int) -> Wrap:
    """The feedback is read wrong by so much."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def feedback(state, params, limiter, frame, now, message):
            value = frame.feedback
            frame.feedback = value + shift
            inner(state, params, limiter, frame, now, message)
            frame.feedback = value
            return 0

        return feedback

    return wrap


def feedback_ignored(kernel: Kernel) -> Kernel:
    """The message is ignored."""

    def feedback(state, params, limiter, frame, now, message):
        return 0

    return feedback


def only_above_set_point(kernel: Kernel) -> Kernel:
    """An inactive limiter ignores messages below the set point (QCN 2.2, L19)."""
    inner = compiled(kernel)

    def feedback(state, params, limiter, frame, now, message):
        if limiter.active == 0 and frame.offset <= 0:
            return 0
        return inner(state, params, limiter, frame, now, message)

    return feedback
