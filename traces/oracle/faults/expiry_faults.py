"""Faults of a reaction point when it sends or its timer expires: wrappers of kernels."""

from __future__ import annotations

from orchestrator.algorithm import Kernel
from orchestrator.engine.jit import compiled
from traces.oracle.reference_model import Wrap


def never_released(kernel: Kernel) -> Kernel:
    """Behaves as if frames always waited behind the limiter."""
    inner = compiled(kernel)

    def sent(state, params, limiter, frame, now, message):
        backlog = limiter.backlog
        limiter.backlog = max(backlog, 1)
        inner(state, params, limiter, frame, now, message)
        limiter.backlog = backlog
        return 0

    return sent


def released_early(kernel: Kernel) -> Kernel:
    """Behaves as if no frame waited behind the limiter."""
    inner = compiled(kernel)

    def sent(state, params, limiter, frame, now, message):
        backlog = limiter.backlog
        limiter.backlog = 0
        inner(state, params, limiter, frame, now, message)
        limiter.backlog = backlog
        return 0

    return sent


def bytes_halved_from(shift: int) -> Wrap:
    """Half intervals begin so many stages behind the threshold; 1000: never."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def sent(state, params, limiter, frame, now, message):
            stage = state.byte_stage
            inner(state, params, limiter, frame, now, message)
            risen = state.byte_stage > stage
            if risen and params.threshold <= state.byte_stage < params.threshold + shift:
                state.countdown *= 2
            return 0

        return sent

    return wrap


def bytes_scaled(over: int, under: int) -> Wrap:
    """Intervals after an expiry are over/under of what they should be."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def sent(state, params, limiter, frame, now, message):
            stage = state.byte_stage
            inner(state, params, limiter, frame, now, message)
            if state.byte_stage > stage:
                state.countdown = state.countdown * over // under
            return 0

        return sent

    return wrap


def timer_scaled(over: int, under: int) -> Wrap:
    """Timer intervals after an expiry are over/under of what they should be."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def timer(state, params, limiter, frame, now, message):
            inner(state, params, limiter, frame, now, message)
            if limiter.active != 0:
                limiter.timer = now + (limiter.timer - now) * over // under
            return 0

        return timer

    return wrap


def timer_halved_from(shift: int) -> Wrap:
    """Half timer intervals begin so many stages late; 1000: never."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def timer(state, params, limiter, frame, now, message):
            inner(state, params, limiter, frame, now, message)
            if params.threshold <= state.timer_stage < params.threshold + shift:
                limiter.timer = now + 2 * (limiter.timer - now)
            return 0

        return timer

    return wrap


def scaled_recovery(over: int, under: int) -> Wrap:
    """An expiry takes the rate over/under of the way to the target."""

    def wrap(kernel: Kernel) -> Kernel:
        inner = compiled(kernel)

        def expiry(state, params, limiter, frame, now, message):
            stages = state.byte_stage + state.timer_stage
            rate = limiter.rate
            inner(state, params, limiter, frame, now, message)
            if limiter.active != 0 and state.byte_stage + state.timer_stage > stages:
                way = (limiter.target - rate) * over // under
                limiter.rate = min(rate + way, limiter.link_rate)
            return 0

        return expiry

    return wrap


def never_divided(kernel: Kernel) -> Kernel:
    """At the first expiry the target is not divided by 8."""
    inner = compiled(kernel)

    def expiry(state, params, limiter, frame, now, message):
        rate, target = limiter.rate, limiter.target
        stages = state.byte_stage + state.timer_stage
        inner(state, params, limiter, frame, now, message)
        risen = state.byte_stage + state.timer_stage > stages
        if risen and limiter.active != 0 and target > 10 * rate and limiter.target == target // 8:
            limiter.target = target
            limiter.rate = min((target + rate) // 2, limiter.link_rate)
        return 0

    return expiry


def always_divided(kernel: Kernel) -> Kernel:
    """At the first expiry the target is always divided by 8."""
    inner = compiled(kernel)

    def expiry(state, params, limiter, frame, now, message):
        rate, target = limiter.rate, limiter.target
        stages = state.byte_stage + state.timer_stage
        inner(state, params, limiter, frame, now, message)
        first = state.byte_stage == 1 or state.timer_stage == 1
        if state.byte_stage + state.timer_stage > stages and limiter.active != 0 and first:
            limiter.target = target // 8
            limiter.rate = min((limiter.target + rate) // 2, limiter.link_rate)
        return 0

    return expiry
