"""Shell around a compiled congestion point: state, parameters, events and answers, in Verilog.

The module `kernel_point` of switch_port.v is generated for each algorithm: registers hold the state
and the parameters, one event at a time goes through the compiled module (`start`, `done`), and the
answer becomes the verdict on a frame that waits in arrival_gate.v or departure_gate.v, a message,
or nothing. Frames that left the queue come first, in order; then a timer that is due; then the
frame at the gate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from firmware.compiler.clock_bounds import Clocks
from firmware.compiler.compiled_module import CompiledModule
from firmware.compiler.intermediate_form import Field, stored_fields
from firmware.compiler.kernel_lowering import lower_kernel
from firmware.compiler.point_template import SHELL
from firmware.compiler.verilog_module import EVENT_BITS, NOW_BITS, compile_module
from orchestrator.algorithm import Algorithm
from orchestrator.engine.kernel_answers import DROP, NOTIFY_ARRIVING, NOTIFY_HEAD
from orchestrator.engine.records import CNM, NEVER, SOONEST

STATE_WORD = 1 << 15
"""Bit of `word_index` that selects a field of the state."""
HOLD_CLOCKS = 8
"""Clocks of a frame in departure_gate.v besides those of kernels."""
DROP_CLOCKS = 191
"""Clocks in which a dropped frame of 1526 octets is taken out, a word of 64 bits in each."""
NO_EVENT = (1 << EVENT_BITS) - 1
FRAME_INPUTS = {
    "length": "e_length",
    "mark": "e_mark",
    "priority": "e_header[8*14+5 +: 3]",
    "source": "{e_header[8*9 +: 8], e_header[8*10 +: 8], e_header[8*11 +: 8]}",
    "entered": "e_entered",
}
QUEUE_INPUTS = {
    "bytes": "e_octets",
    "frames": "e_frames",
    "capacity": "capacity",
    "line_rate": "line_rate",
    "service_rate": "service_rate",
    "pausing": "pausing",
    "congestion_point_timer": "e_timer",
}
MESSAGE_INPUTS = {"kind": CNM, "feedback": 0, "offset": 0, "delta": 0, "mark": 0}
"""Fields of the message under construction when a kernel begins (`clear_message`)."""
OUTPUTS = {
    "frame": {"mark"},
    "queue": {"congestion_point_timer"},
    "message": {"feedback", "offset", "delta", "mark"},
}
"""Fields that a kernel may write, apart from its state."""
INPUTS = {"frame": set(FRAME_INPUTS), "queue": set(QUEUE_INPUTS), "message": set(MESSAGE_INPUTS)}


@dataclass(frozen=True)
class PointShell:
    """Verilog of a compiled congestion or reaction point; places of its words in the window."""

    algorithm: str
    sources: tuple[tuple[str, str], ...]
    """Files: name, text."""
    params: tuple[str, ...]
    state: tuple[str, ...]
    columns: tuple[str, ...]
    """Fields of the state that are sampled."""
    clocks: Mapping[str, Clocks]
    gates: bool = False
    """Frames that leave the queue wait for its answer."""
    drops_leaving: bool = False

    @property
    def hold_clocks(self) -> int:
        """Clocks that a frame may wait for its answer as it leaves, behind another event or a
        dropped frame. The events have bounds (firmware.target.compiled_points)."""
        most = {event: clocks.most or 0 for event, clocks in self.clocks.items()}
        own = most.pop("departure", 0)
        before = max(most.values(), default=0) + DROP_CLOCKS * self.drops_leaving
        return own + before + HOLD_CLOCKS if self.gates else 0

    @property
    def digest(self) -> int:
        """31 bits of the digest of its Verilog, which CAPS of its window shows."""
        text = "".join(name + text for name, text in self.sources)
        return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) >> 1


_SHELLS: dict[tuple[object, ...], PointShell] = {}


def point_shell(algorithm: Algorithm, events: tuple[str, ...]) -> PointShell:
    """The shell of a congestion point with the kernels of some events. Raises Untranslated."""
    shell = made_shell(algorithm, events, "kernel_point.v", shell_text)
    if "departure" not in events:
        return shell
    stored = {str(field) for field in stored_fields(lower_kernel(algorithm, "departure").body)}
    drops = "departure" in algorithm.drops
    return replace(shell, gates=drops or "frame.mark" in stored, drops_leaving=drops)


def made_shell(
    algorithm: Algorithm,
    events: tuple[str, ...],
    file: str,
    text: Callable[[CompiledModule], str],
) -> PointShell:
    """A shell, compiled once in a process; `text` makes that of `file`. Raises Untranslated."""
    key = algorithm.name, algorithm.params, events, *(algorithm.kernels[e] for e in events)
    if key not in _SHELLS:
        module = compile_module(algorithm, events)
        params, state = field_names(module, "params"), field_names(module, "state")
        sampled = [name for c in algorithm.columns for name in (c.field, c.known) if name]
        columns = tuple(name for name in dict.fromkeys(sampled) if name in state)
        sources = ((file, text(module)), (f"{module.name}.v", module.verilog))
        _SHELLS[key] = PointShell(algorithm.name, sources, params, state, columns, module.clocks)
    return _SHELLS[key]


def field_names(module: CompiledModule, record: str) -> tuple[str, ...]:
    """Names of the single fields of a record that a module reads."""
    return tuple(one.name for one in module.inputs if one.record == record)


@dataclass(frozen=True)
class Wiring:
    """Lines of a shell that follow from the ports of its compiled module."""

    declared: list[str]
    ports: list[str]
    writes: list[str]
    """Of the window, by the place of a word: parameters, then the state."""
    accepted: list[str]
    shown: list[str]


def wired(
    module: CompiledModule, given: Callable[[Field, int], str], kept: str, memory: str = ""
) -> Wiring:
    """The wiring of a module's ports. `given` is the expression for an input of so many bits that
    is neither parameter nor state; `kept` where the state named {} is kept between events, and
    `memory` what is declared for that beside its register."""
    lines = Wiring([], [], [], [], [])
    params, state = field_names(module, "params"), field_names(module, "state")
    for field, bits in module.inputs.items():
        port, name = f"in_{field.record}_{field.name}", field.name
        lines.ports.append(f".{port}({port})")
        if field.record == "params":
            value = f"p_{name}"
            lines.declared.append(f"reg signed [{bits - 1}:0] {value}, n_{name};")
            lines.writes.append(f"16'd{params.index(name)}: n_{name} <= word;")
            lines.accepted.append(f"{value} <= n_{name};")
        elif field.record == "state":
            value, place = f"s_{name}", STATE_WORD | state.index(name)
            held = kept.format(name)
            lines.declared.append(f"reg signed [{bits - 1}:0] {value}{memory.format(name)};")
            lines.writes.append(f"16'd{place}: {held} <= word;")
            lines.shown.append(f"16'd{place}: state_word = {held};")
        else:
            value = given(field, bits)
        lines.declared.append(f"wire signed [{bits - 1}:0] {port} = {value};")
    for field, bits in module.outputs.items():
        port = f"out_{field.record}_{field.name}"
        lines.declared.append(f"wire signed [{bits - 1}:0] {port};")
        lines.ports.append(f".{port}({port})")
    return lines


def _input(field: Field, bits: int) -> str:
    """Expression for an input port of the compiled module."""
    if field.record == "message":
        return f"{bits}'d{MESSAGE_INPUTS[field.name]}"
    return FRAME_INPUTS[field.name] if field.record == "frame" else QUEUE_INPUTS[field.name]


def shell_text(module: CompiledModule) -> str:
    """Verilog of `kernel_point` around a compiled module."""
    lines = wired(module, _input, "s_{}")
    for array in module.arrays:
        _array(module, array, lines.declared, lines.ports)
    keep = [f"s_{f.name} <= out_state_{f.name};" for f in module.outputs if f.record == "state"]
    outputs = {str(field) for field in module.outputs}
    mark = "out_frame_mark" if "frame.mark" in outputs else "e_mark"
    timed = "queue.congestion_point_timer" in outputs
    said = {
        name: f"out_message_{name}" if f"message.{name}" in outputs else "0"
        for name in ("feedback", "offset", "delta")
    }
    return SHELL.format(
        name=module.name,
        declared="\n    ".join(lines.declared),
        ports="".join(f", {port}" for port in lines.ports),
        keep="\n                ".join(keep),
        writes="\n            ".join(lines.writes),
        accepted="\n            ".join(lines.accepted),
        shown="\n            ".join(lines.shown),
        mark=mark,
        timer="out_queue_congestion_point_timer" if timed else "e_timer",
        never=NEVER,
        soonest=SOONEST,
        event_bits=EVENT_BITS,
        now_bits=NOW_BITS,
        arrival=module.events.get("arrival", NO_EVENT),
        departure=module.events.get("departure", NO_EVENT),
        timer_event=module.events.get("timer", NO_EVENT),
        has_arrival=int("arrival" in module.events),
        has_departure=int("departure" in module.events),
        has_timer=int("timer" in module.events),
        drop=DROP,
        this=NOTIFY_ARRIVING,
        head=NOTIFY_HEAD,
        **said,
    )


def _array(module: CompiledModule, array: Field, declared: list[str], ports: list[str]) -> None:
    """Memory of an array of the state, empty when the model begins."""
    name, bits = f"{array.record}_{array.name}", max((array.size - 1).bit_length(), 1)
    declared += [
        f"reg signed [63:0] {name}_memory [0:{array.size - 1}];",
        f"reg signed [63:0] {name}_read_data;",
        f"wire [{bits - 1}:0] {name}_address;",
        f"integer {name}_cell;",
        f"initial for ({name}_cell = 0; {name}_cell < {array.size}; "
        f"{name}_cell = {name}_cell + 1) {name}_memory[{name}_cell] = 64'd0;",
    ]
    ports += [f".{name}_{one}({name}_{one})" for one in ("address", "read_data")]
    store = ""
    if f"{name}_write_data" in module.verilog:
        declared += [f"wire {name}_write;", f"wire signed [63:0] {name}_write_data;"]
        ports += [f".{name}_{one}({name}_{one})" for one in ("write", "write_data")]
        store = f" if ({name}_write) {name}_memory[{name}_address] <= {name}_write_data;"
    declared.append(
        f"always @(posedge clk) begin {name}_read_data <= {name}_memory[{name}_address];{store} end"
    )
