"""Faults of the QCN reaction point, as variants of the reference."""

from __future__ import annotations

from traces.oracle.faults.expiry_faults import (
    always_divided,
    bytes_halved_from,
    bytes_scaled,
    never_divided,
    never_released,
    released_early,
    scaled_recovery,
    timer_halved_from,
    timer_scaled,
)
from traces.oracle.faults.feedback_faults import (
    always_restarts,
    bytes_run_on,
    feedback_ignored,
    fields_unchanged,
    off_by,
    only_above_set_point,
    stages_unchanged,
    target_after,
    target_always,
)
from traces.oracle.reference_model import Variant, Wrap

RP = "reaction_point"
STAGES = ("byte_stage", "timer_stage")
"""Of the state of QCN and its likes."""


def _rp(rule: str, what: str, **more: object) -> Variant:
    """A variant of the reaction point."""
    return Variant(rule, what, RP, **more)  # type: ignore[arg-type]


def _both(wrap: Wrap) -> dict[str, Wrap]:
    """One wrapper around both kernels that handle expiries."""
    return {"sent": wrap, "timer": wrap}


REACTION: tuple[Variant, ...] = (
    _rp(
        "rp.jitter", "intervals of byte counter and timer are not spread", changes={"jitter": False}
    ),
    _rp(
        "rp.target",
        "the target takes the rate from after the cut",
        wraps={"feedback": target_after},
        needs=STAGES,
    ),
    _rp(
        "rp.target", "the target stays what it was", wraps={"feedback": fields_unchanged("target")}
    ),
    _rp(
        "rp.first-cycle",
        "the target takes the rate also while the byte stage is 0",
        wraps={"feedback": target_always},
    ),
    _rp(
        "rp.first-cycle",
        "target and byte counter are set also while the byte stage is 0",
        wraps={"feedback": always_restarts},
        needs=("countdown",),
    ),
    _rp(
        "rp.timer-restart",
        "feedback does not restart the timer",
        wraps={"feedback": fields_unchanged("timer")},
    ),
    _rp(
        "rp.byte-restart",
        "feedback does not restart the byte counter",
        wraps={"feedback": bytes_run_on},
        needs=("countdown",),
    ),
    _rp(
        "rp.stages",
        "both stages survive feedback",
        wraps={"feedback": stages_unchanged("byte_stage", "timer_stage")},
        needs=STAGES,
    ),
    _rp(
        "rp.stages",
        "the timer's stage survives feedback",
        wraps={"feedback": stages_unchanged("timer_stage")},
        needs=STAGES,
    ),
    _rp(
        "rp.stages",
        "the byte stage survives feedback",
        wraps={"feedback": stages_unchanged("byte_stage")},
        needs=STAGES,
    ),
    _rp(
        "rp.activate",
        "an inactive limiter ignores messages below the set point",
        wraps={"feedback": only_above_set_point},
    ),
    *(
        _rp(
            "rp.decrease",
            f"the cut is {over}/{under} of what it should be",
            scale={"gd": (over, under)},
        )
        for over, under in ((1, 2), (2, 1), (1, 4), (4, 1))
    ),
    *(
        _rp(
            "rp.decrease",
            f"feedback is taken to be {shift:+d} of what it is",
            wraps={"feedback": off_by(shift)},
        )
        for shift in (1, -1)
    ),
    _rp("rp.decrease", "messages are not heeded", wraps={"feedback": feedback_ignored}),
    _rp("rp.min-rate", "the rate falls below the least one", changes={"min_rate": 1}),
    _rp("rp.min-rate", "the least rate is twice what it should be", scale={"min_rate": (2, 1)}),
    _rp(
        "rp.min-rate", "the least rate is ten times what it should be", scale={"min_rate": (10, 1)}
    ),
    *(
        _rp(
            "rp.active",
            f"R_AI is {over}/{under} of what it should be",
            scale={"ai_rate": (over, under)},
        )
        for over, under in ((0, 1), (2, 1), (1, 2), (10, 1))
    ),
    *(
        _rp(
            "rp.hyper-active",
            f"R_HAI is {over}/{under} of what it should be",
            scale={"hai_rate": (over, under)},
        )
        for over, under in ((0, 1), (2, 1), (1, 2), (1, 10))
    ),
    _rp(
        "rp.first-expiry",
        "the target is never divided by 8",
        wraps=_both(never_divided),
        needs=STAGES,
    ),
    _rp(
        "rp.first-expiry",
        "the target is always divided by 8",
        wraps=_both(always_divided),
        needs=STAGES,
    ),
    *(
        _rp(
            "rp.recovery",
            f"an expiry takes the rate {over}/{under} of the way to the target",
            wraps=_both(scaled_recovery(over, under)),
            needs=STAGES,
        )
        for over, under in ((1, 1), (1, 4), (3, 4), (0, 1))
    ),
    _rp(
        "rp.byte-counter",
        "its intervals are never halved",
        wraps={"sent": bytes_halved_from(1000)},
        needs=("countdown", *STAGES),
    ),
    _rp(
        "rp.byte-counter",
        "its intervals are halved one stage late",
        wraps={"sent": bytes_halved_from(1)},
        needs=("countdown", *STAGES),
    ),
    _rp(
        "rp.timer",
        "its intervals are never halved",
        wraps={"timer": timer_halved_from(1000)},
        needs=STAGES,
    ),
    _rp(
        "rp.timer",
        "its intervals are halved one stage late",
        wraps={"timer": timer_halved_from(1)},
        needs=STAGES,
    ),
    *(
        _rp(
            rule,
            f"its interval is {over}/{under} of what it should be",
            scale={name: (over, under)},
        )
        for rule, name in (("rp.byte-counter", "byte_reset"), ("rp.timer", "time_reset"))
        for over, under in ((2, 1), (1, 2), (1, 10), (10, 1))
    ),
    *(
        _rp(
            "rp.byte-counter",
            f"an interval after an expiry is {over}/{under} of what it should be",
            wraps={"sent": bytes_scaled(over, under)},
            needs=("countdown", *STAGES),
        )
        for over, under in ((2, 1), (1, 2))
    ),
    *(
        _rp(
            "rp.timer",
            f"an interval after an expiry is {over}/{under} of what it should be",
            wraps={"timer": timer_scaled(over, under)},
        )
        for over, under in ((2, 1), (1, 2))
    ),
    _rp("rp.active", "the threshold is one stage late", scale={"threshold": (6, 5)}),
    _rp("rp.active", "the threshold is one stage early", scale={"threshold": (4, 5)}),
    _rp("rp.cap", "the target is not capped at the link's rate", changes={"cap_target": False}),
    _rp("rp.cap", "the target is capped at the link's rate", changes={"cap_target": True}),
    _rp(
        "rp.release",
        "a limiter is never released",
        wraps={"sent": never_released, "timer": never_released},
    ),
    _rp(
        "rp.release",
        "a limiter is released while frames wait behind it",
        wraps={"sent": released_early},
    ),
)
