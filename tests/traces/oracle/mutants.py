"""Devices that break one rule each: the shipped plugins with a piece of their text exchanged.

The oracle knows nothing of these texts; it has to name the rule from the captured frames alone.
"""

# ruff: noqa: E501 (the exchanged texts are lines of the plugins)
from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import plugins.codel
import plugins.packet_trimming
import plugins.pause
import plugins.pfc
import plugins.pfc_watchdog
import plugins.pie
import plugins.priority_demotion
import plugins.qcn_cp
import plugins.qcn_rp
import plugins.red_marking
from orchestrator.algorithm import ENTITIES, Algorithm
from orchestrator.engine.jit import kernel_address
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.plugin_catalog import Use

SOURCES: dict[str, tuple[ModuleType, str]] = {
    "congestion_point": (plugins.qcn_cp, "QCN_CP"),
    "reaction_point": (plugins.qcn_rp, "QCN_RP"),
    "pause": (plugins.pause, "PAUSE"),
    "pfc": (plugins.pfc, "PFC"),
    "red": (plugins.red_marking, "RED"),
    "trim": (plugins.packet_trimming, "TRIMMING"),
    "codel": (plugins.codel, "CODEL"),
    "pie": (plugins.pie, "PIE"),
    "priority-demotion": (plugins.priority_demotion, "ASIDE"),
    "watchdog": (plugins.pfc_watchdog, "PFC_WATCHDOG"),
}


@dataclass(frozen=True)
class Mutant:
    """A defect: which plugin, what is exchanged for what, and the rule that it breaks."""

    name: str
    rule: str
    kind: str
    old: str
    new: str
    settings: tuple[str, ...] = ()
    """Of the plan, so that the rule comes into play."""
    plan: str = "qcn"
    plugin: str = ""
    """Of SOURCES; empty: the only one of its kind."""
    clocked: bool = True
    """Whether its rule is named with a clocked device's tolerances too. A rate that is a little too low,
    or a tenth too high for one stage, hides in the tokens that they grant, and shows far behind the expiry
    that set it."""

    def algorithm(self, folder: Path) -> Algorithm:
        """The plugin's algorithm with the defect, compiled from a file of its own."""
        module, name = SOURCES[self.plugin or self.kind]
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.name}: found {text.count(self.old)} times"
        path = folder / f"mutant_{uuid.uuid4().hex}.py"
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        made = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = made  # its annotations are looked up there
        spec.loader.exec_module(made)
        found: Algorithm = getattr(made, name)
        return found

    def put_into(self, resolved: ResolvedPlan, folder: Path) -> ResolvedPlan:
        """The plan with the defective device in place of the right one, compiled here and now.

        Nothing of a defect stays in the user's cache, and what is as it was is not compiled again.
        """
        with _cached_in(folder / "numba"):
            defective = self.algorithm(folder).kernels
            right = getattr(*SOURCES[self.plugin or self.kind]).kernels
            kernels = {
                event: kernel if _made_of(kernel) != _made_of(right[event]) else right[event]
                for event, kernel in defective.items()
            }
            holders = resolved.uses[self.kind].items()
            for _, use in holders:
                records = use.algorithm.state, use.params.record().dtype, ENTITIES[self.kind]
                for event, kernel in kernels.items():
                    if kernel is not right[event]:
                        kernel_address(kernel, *records)
        used = {
            holder: Use(replace(use.algorithm, kernels=kernels), use.params, use.preset)
            for holder, use in holders
        }
        return replace(resolved, uses={**resolved.uses, self.kind: used})


@contextlib.contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Have what is compiled kept in a folder of its own."""
    before = os.environ["NUMBA_CACHE_DIR"]
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        os.environ["NUMBA_CACHE_DIR"] = before


def _made_of(function: Any) -> list[Any]:
    """The code of a function and of those of its module that it calls, with their constants."""
    function = getattr(function, "py_func", function)
    code = function.__code__
    parts = [code.co_code, code.co_consts, code.co_names]
    for name in code.co_names:
        value = function.__globals__.get(name)
        plain = getattr(value, "py_func", value)
        if getattr(plain, "__module__", None) == function.__module__ and callable(plain):
            parts += _made_of(plain)
        elif isinstance(value, int | tuple):
            parts.append(value)
    return parts


CP, RP, STOP = "congestion_point", "reaction_point", "pause"
DELTA = "    delta = queue.bytes - state.old\n"
MUTANTS = (
    Mutant("feedback one too many", "cp.quantise", CP, "* 63 // limit\n", "* 63 // limit + 1\n"),
    Mutant(
        "twice the scale", "cp.quantise", CP, "(2 * params.weight + 1)", "(4 * params.weight + 2)"
    ),
    Mutant("offset's sign", "cp.offset", CP, "message.offset = offset", "message.offset = -offset"),
    Mutant(
        "value clipped at half",
        "cp.quantise",
        CP,
        "    message.feedback = feedback\n",
        "    message.feedback = min(feedback, 31)\n",
    ),
    Mutant(
        "value not clipped",
        "cp.quantise",
        CP,
        "    message.feedback = feedback\n",
        "    message.feedback = (max(offset + params.weight * delta, 0) * 63 // limit) & 63\n",
    ),
    Mutant("weight ignored", "cp.feedback", CP, "offset + params.weight * delta", "offset"),
    Mutant(
        "q_old taken before delta", "cp.delta", CP, DELTA, "    state.old = queue.bytes\n" + DELTA
    ),
    Mutant(
        "q_old one sample late",
        "cp.delta",
        CP,
        "    state.old = queue.bytes\n",
        "    state.old = (state.old + queue.bytes) // 2\n",
    ),
    Mutant(
        "interval not jittered",
        "cp.jitter",
        CP,
        "    if params.jitter != 0:\n        state.lfsr",
        "    if False:\n        state.lfsr",
    ),
    Mutant(
        "interval without table 1",
        "cp.interval",
        CP,
        "SAMPLE_INTERVALS[feedback >> 3]",
        "SAMPLE_INTERVALS[0]",
    ),
    Mutant(
        "interval of table 1 reversed",
        "cp.interval",
        CP,
        "SAMPLE_INTERVALS[feedback >> 3]",
        "SAMPLE_INTERVALS[7 - (feedback >> 3)]",
    ),
    Mutant(
        "silent below 8",
        "cp.send",
        CP,
        "if feedback > 0 else FORWARD\n",
        "if feedback > 8 else FORWARD\n",
    ),
    Mutant(
        "speaks at 0",
        "cp.send",
        CP,
        "return NOTIFIED[params.sampling] if feedback > 0 else FORWARD\n",
        "return NOTIFIED[params.sampling]\n",
    ),
    Mutant(
        "head is told", "cp.culprit", CP, "NOTIFIED = (NOTIFY_ARRIVING,", "NOTIFIED = (NOTIFY_HEAD,"
    ),
    Mutant(
        "target after decrease",
        "rp.target",
        RP,
        "        limiter.target = limiter.rate\n        state.countdown = params.byte_reset\n    state.byte_stage = 0\n",
        "        limiter.target = limiter.rate - limiter.rate * feedback // 128\n"
        "        state.countdown = params.byte_reset\n    state.byte_stage = 0\n",
    ),
    Mutant(
        "timer not restarted",
        "rp.timer-restart",
        RP,
        "    limiter.timer = now + params.time_reset\n",
        "    if limiter.timer >= NEVER:\n        limiter.timer = now + params.time_reset\n",
    ),
    Mutant(
        "byte counter not restarted",
        "rp.byte-restart",
        RP,
        "        limiter.target = limiter.rate\n        state.countdown = params.byte_reset\n",
        "        limiter.target = limiter.rate\n",
    ),
    Mutant(
        "cut half", "rp.decrease", RP, "params.gd_num * feedback,", "params.gd_num * feedback // 2,"
    ),
    Mutant(
        "stages kept",
        "rp.stages",
        RP,
        "        state.countdown = params.byte_reset\n    state.byte_stage = 0\n    state.timer_stage = 0\n    cut",
        "        state.countdown = params.byte_reset\n    cut",
    ),
    Mutant(
        "first cycle like others",
        "rp.first-cycle",
        RP,
        "    if state.byte_stage != 0 or params",
        "    if state.byte_stage >= 0 or params",
    ),
    Mutant(
        "intervals not jittered",
        "rp.jitter",
        RP,
        "    if params.jitter != 0:\n        state.lfsr",
        "    if False:\n        state.lfsr",
    ),
    Mutant(
        "timer never halved",
        "rp.timer",
        RP,
        "limiter.timer = now + _reload(state, params, params.time_reset, state.timer_stage)",
        "limiter.timer = now + _reload(state, params, params.time_reset, 0)",
        ("nodes.nic.reaction_point.time_reset=1ms",),
    ),
    Mutant(
        "bytes never halved",
        "rp.byte-counter",
        RP,
        "_reload(state, params, params.byte_reset, state.byte_stage)",
        "_reload(state, params, params.byte_reset, 0)",
    ),
    Mutant(
        "byte counter twice as long",
        "rp.byte-counter",
        RP,
        "_reload(state, params, params.byte_reset, state.byte_stage)",
        "_reload(state, params, 2 * params.byte_reset, state.byte_stage)",
    ),
    Mutant(
        "no active increase",
        "rp.active",
        RP,
        "        step = params.ai_rate\n",
        "        step = 0\n",
        ("nodes.nic.reaction_point.ai_rate=20Mb/s",),
    ),
    Mutant(
        "no hyper-active increase",
        "rp.hyper-active",
        RP,
        "step = params.hai_rate * min(least - params.threshold, MOST_STAGES)",
        "step = params.ai_rate",
        ("nodes.nic.reaction_point.time_reset=1ms", "nodes.nic.reaction_point.hai_rate=50Mb/s"),
    ),
    Mutant(
        "no more hyper-active the further",
        "rp.hyper-active",
        RP,
        "step = params.hai_rate * min(least - params.threshold, MOST_STAGES)",
        "step = params.hai_rate",
        ("nodes.nic.reaction_point.time_reset=1ms", "nodes.nic.reaction_point.hai_rate=50Mb/s"),
        clocked=False,
    ),
    Mutant(
        "half as much again in active increase",
        "rp.active",
        RP,
        "        step = params.ai_rate\n",
        "        step = params.ai_rate * 3 // 2\n",
        ("nodes.nic.reaction_point.ai_rate=20Mb/s",),
        clocked=False,
    ),
    Mutant(
        "a tenth too fast in stage 3",
        "rp.recovery",
        RP,
        "    cap = limiter.link_rate if params.cap_target != 0 else TARGET_LIMIT\n",
        "    if state.byte_stage == 3:\n        limiter.rate += limiter.rate // 10\n"
        "    cap = limiter.link_rate if params.cap_target != 0 else TARGET_LIMIT\n",
        clocked=False,
    ),
    Mutant(
        "jumps to the target",
        "rp.recovery",
        RP,
        "(limiter.target + limiter.rate) // 2",
        "limiter.target",
    ),
    Mutant(
        "least rate not kept",
        "rp.min-rate",
        RP,
        "max(cut, least, min(params.min_rate, limiter.link_rate))",
        "max(cut, least)",
        ("nodes.nic.reaction_point.min_rate=400Mb/s",),
    ),
    Mutant(
        "target never divided",
        "rp.first-expiry",
        RP,
        "limiter.target > 10 * limiter.rate",
        "limiter.target > 10000 * limiter.rate",
        (
            "nodes.switch.service_rate=20Mb/s",
            "nodes.nic.reaction_point.byte_reset=15MB",
            "nodes.nic.reaction_point.time_reset=60ms",
        ),
    ),
    Mutant(
        "quanta halved",
        "pause.quanta",
        STOP,
        "    state.stopped = 1\n    message.feedback = params.quanta\n",
        "    state.stopped = 1\n    message.feedback = params.quanta // 2\n",
        plan="pause",
    ),
    Mutant(
        "not said again",
        "pause.refresh",
        STOP,
        "    message.feedback = params.quanta\n    queue.pause_timer = now + quanta_time(params.quanta, queue.pause_rate) // 2\n    return SEND\n\n\ndef on_enqueue",
        "    return 0\n\n\ndef on_enqueue",
        plan="pause",
    ),
    Mutant(
        "never let go",
        "pause.go",
        STOP,
        "    if state.stopped == 0 or queue.bytes >= params.low:\n        return NOTHING\n",
        "    if state.stopped == 0 or queue.bytes >= params.low:\n        return 0\n"
        "    state.stopped = 0\n    queue.pause_timer = NEVER\n    return 0\n",
        plan="pause",
    ),
    Mutant(
        "stopped too late",
        "pause.stop",
        STOP,
        "queue.bytes <= params.high",
        "queue.bytes <= params.high + 3000",
        plan="pause",
    ),
    Mutant(
        "priorities above 3 forgotten",
        "pause.class",
        STOP,
        'def on_enqueue(state, params, queue, frame, now, message):\n    """A frame went in."""\n',
        "def on_enqueue(state, params, queue, frame, now, message):\n"
        "    message.mark = queue.priorities & 15\n",
        plan="pfc",
        plugin="pfc",
    ),
)
