"""Faults of the QCN congestion point, as variants of the reference."""

from __future__ import annotations

from orchestrator.algorithm import Kernel
from orchestrator.engine.jit import compiled
from orchestrator.engine.lfsr import jittered
from traces.oracle.reference_model import Variant


def _zero_delta(kernel: Kernel) -> Kernel:
    """q_old is the queue just measured."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        state.old = queue.bytes
        return inner(state, params, queue, frame, now, message)

    return counted


def _old_of_messages(kernel: Kernel) -> Kernel:
    """q_old stays at a sample without message."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        old = state.old
        answer = inner(state, params, queue, frame, now, message)
        if answer == 0:
            state.old = old
        return answer

    return counted


def _old_of_frames(kernel: Kernel) -> Kernel:
    """q_old follows every frame."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        answer = inner(state, params, queue, frame, now, message)
        state.old = queue.bytes
        return answer

    return counted


def _sends_zero(kernel: Kernel) -> Kernel:
    """A sample without congestion sends too."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        countdown, started = state.countdown, state.started
        answer = inner(state, params, queue, frame, now, message)
        if answer == 0 and started != 0 and state.countdown > countdown:
            return 1
        return answer

    return counted


def _silent_below(kernel: Kernel) -> Kernel:
    """Nothing is sent below the set point."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        answer = inner(state, params, queue, frame, now, message)
        if answer != 0 and message.offset <= 0:
            return 0
        return answer

    return counted


def _same_interval(kernel: Kernel) -> Kernel:
    """The first interval of Table 1 always."""
    inner = compiled(kernel)

    def counted(state, params, queue, frame, now, message):
        countdown, started = state.countdown, state.started
        answer = inner(state, params, queue, frame, now, message)
        if started != 0 and state.countdown > countdown:
            state.countdown = params.sample_base
            if params.jitter != 0:
                state.countdown = jittered(params.sample_base, state.lfsr)
        return answer

    return counted


CP = "congestion_point"
SAMPLER = ("countdown", "started")


def _cp(rule: str, what: str, **more: object) -> Variant:
    """A variant of the congestion point."""
    return Variant(rule, what, CP, **more)  # type: ignore[arg-type]


CONGESTION: tuple[Variant, ...] = (
    _cp("cp.jitter", "sample intervals are not spread", changes={"jitter": False}),
    _cp(
        "cp.interval",
        "the interval does not depend on the feedback",
        wraps={"arrival": _same_interval},
        needs=(*SAMPLER, "lfsr"),
    ),
    _cp("cp.interval", "frames that find no room are counted", changes={"counts": "arriving"}),
    _cp("cp.interval", "only frames that find room are counted", changes={"counts": "enqueued"}),
    *(
        _cp(
            "cp.interval",
            f"the interval is {over}/{under} of what it should be",
            scale={"sample_base": (over, under)},
        )
        for over, under in ((1, 2), (2, 1), (1, 10), (10, 1))
    ),
    *(
        _cp(
            "cp.culprit",
            f"the source notified is that of sampling by {way}",
            changes={"sampling": way},
        )
        for way in ("arrival", "head", "departure")
    ),
    _cp(
        "cp.delta",
        "q_old is the queue just measured",
        wraps={"arrival": _zero_delta},
        needs=("old",),
    ),
    _cp(
        "cp.delta",
        "q_old is taken only when a message is sent",
        wraps={"arrival": _old_of_messages},
        needs=("old",),
    ),
    _cp(
        "cp.delta",
        "q_old is taken at every frame",
        wraps={"arrival": _old_of_frames},
        needs=("old",),
    ),
    _cp(
        "cp.send",
        "messages are sent for feedback 0 too",
        wraps={"arrival": _sends_zero},
        needs=SAMPLER,
    ),
    _cp(
        "cp.send",
        "no message is sent while the queue is below the set point",
        wraps={"arrival": _silent_below},
    ),
    *(_cp("cp.feedback", f"the weight is {w}", changes={"weight": w}) for w in (0, 1, 2, 3, 4, 8)),
    *(
        _cp(
            "cp.offset",
            f"the set point is {over}/{under} of what it should be",
            scale={"set_point": (over, under)},
        )
        for over, under in ((1, 2), (2, 1))
    ),
)
