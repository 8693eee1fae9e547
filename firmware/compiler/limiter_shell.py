"""Shell around a compiled reaction point: N limiters on one module, in Verilog.

The module `kernel_limiter` of nic_limiters.v is generated for each algorithm. It keeps the state of
every limiter, finds timers that are due, and takes one event at a time through the compiled module
(`start`, `done`). A changed rate goes to the token buckets before the next event.
"""

from __future__ import annotations

from firmware.compiler.compiled_module import CompiledModule
from firmware.compiler.intermediate_form import Field
from firmware.compiler.limiter_template import SHELL
from firmware.compiler.point_shell import (
    NO_EVENT,
    PointShell,
    field_names,
    made_shell,
    wired,
)
from firmware.compiler.verilog_module import EVENT_BITS, NOW_BITS
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import NEVER, SOONEST

EVENTS = ("feedback", "sent", "timer")
LIMITER_INPUTS = {
    "active": "{1'b0, active}",
    "rate": "rate",
    "target": "target",
    "timer": "timer",
    "link_rate": "{1'b0, link_rate}",
    "backlog": "{1'b0, !empty}",
}
"""`backlog` is 0 or 1: kernels may only compare it with 0."""
FRAME_INPUTS = {"feedback": "{1'b0, e_feedback}", "length": "{1'b0, e_length}"}
INPUTS = {"limiter": set(LIMITER_INPUTS), "frame": set(FRAME_INPUTS), "message": set[str]()}
OUTPUTS = {"limiter": {"active", "rate", "target", "timer"}}
KEPT = ("lfsr", "lfsr_alike")
"""Fields of the state that are not 0 when a limiter gets a flow (`reset_flow_state`)."""


def limiter_shell(algorithm: Algorithm) -> PointShell:
    """The shell of a reaction point. Raises Untranslated."""
    events = tuple(event for event in EVENTS if event in algorithm.kernels)
    return made_shell(algorithm, events, "kernel_limiter.v", shell_text)


def _input(field: Field, bits: int) -> str:
    """Expression for an input port of the compiled module."""
    return LIMITER_INPUTS[field.name] if field.record == "limiter" else FRAME_INPUTS[field.name]


def shell_text(module: CompiledModule) -> str:
    """Verilog of `kernel_limiter` around a compiled module."""
    lines = wired(module, _input, "m_{}[word_limiter]", ", m_{} [0:N-1]")
    state = field_names(module, "state")
    fetched = [
        f"s_{name} <= {'' if name in KEPT else 'binds ? 0 : '}m_{name}[index];" for name in state
    ]
    outputs = [field.name for field in module.outputs if field.record == "state"]
    keep = [f"m_{name}[index] <= out_state_{name};" for name in outputs]
    stored = {str(field) for field in module.outputs}
    keep += [
        f"m_{name}[index] <= s_{name};" for name in state if f"state.{name}" not in stored
    ]  # one that is only read is 0 from a flow's begin on, as well
    after = {
        name: f"out_limiter_{name}" if f"limiter.{name}" in stored else name
        for name in ("active", "rate", "target", "timer")
    }
    return SHELL.format(
        name=module.name,
        declared="\n    ".join(lines.declared),
        ports="".join(f", {port}" for port in lines.ports),
        keep="\n                ".join(keep),
        fetched="\n                ".join(fetched),
        writes="\n            ".join(lines.writes),
        accepted="\n                ".join(lines.accepted),
        shown="\n            ".join(lines.shown),
        never=NEVER,
        soonest=SOONEST,
        event_bits=EVENT_BITS,
        now_bits=NOW_BITS,
        feedback=module.events.get("feedback", NO_EVENT),
        sent=module.events.get("sent", NO_EVENT),
        timer_event=module.events.get("timer", NO_EVENT),
        has_sent=int("sent" in module.events),
        has_timer=int("timer" in module.events),
        **after,
    )
