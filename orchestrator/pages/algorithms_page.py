"""Reference page of algorithms: each shipped plugin's purpose, parameters and presets."""

from __future__ import annotations

from orchestrator.algorithm import ENTITIES, PER_FLOW, Algorithm
from orchestrator.engine import records
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.kernel_contracts import CONTRACTS
from orchestrator.pages.commands_page import OWN_ROOTS
from orchestrator.pages.markdown import code, plain, table
from orchestrator.pages.source_docs import attribute_docs, record_fields
from orchestrator.plan.former_names import REMOVED_IN, former_of
from orchestrator.registry import Registry
from orchestrator.target import fitting

INTRODUCTION = """# Algorithms

A plan names an algorithm by its `plugin`, may name a `preset` of it, and gives any of its
parameters as further keys. What a preset does not name keeps its default. [Schemes](../schemes.md)
and [Traffic](../traffic.md) have how to use them; `tailback plugins` lists all that are installed,
those of other packages too.

<!-- goes into pathology-headroom-overrun -->
```toml
[nodes.rack.ports.d1]
congestion_point = { plugin = "qcn-cp", preset = "netfpga", weight = 3 }
```
"""

KINDS = {
    "congestion_point": "Watches a queue: notifies sources, marks, drops, trims or stamps frames.",
    "receiver": "Paces the sources of what is delivered to a node, by credits.",
    "notification_point": "Sees data frames that are delivered, or enter a queue, and answers.",
    "reaction_point": "Sets the rate or the window of a NIC's limiter.",
    "watchdog": "Detects a queue that PAUSE or PFC holds for too long, and releases it.",
    "scheduler": "Chooses the lane (priority) that a port sends from, or the flow of a NIC by its "
    "class.",
    "buffer_management": "Limits what buffers of a switch hold of the memory that its ports share.",
    "pause": "Stops the neighbour of a port while a buffer is full.",
    "delay_line": "Holds frames on a link.",
    "traffic": "Makes the frames of flows, or their messages.",
    "transport": "Carries messages in segments and resends lost ones.",
}

KERNELS = """## Kernels

A kernel is a Python function `kernel(state, params, entity, frame, now, message)` in the subset
that numba compiles. `state` and `params` are records of the algorithm's own fields, `entity` is the
record that its kind works on, `frame` and `message` are `FRAME` records, `now` is in ps. All fields
are int64. The answer is an int, by the names below; they and the views of `message` are exported by
[`tailback.plugin`](api.md). A target calls a kernel only for the events that an algorithm has.

A state field is an int64 or an array of int64. A field `lfsr` is seeded from the plan, differently
for each instance; a field `lfsr_alike` has the same seed in all instances of the algorithm.

A notification travels as `message.kind` says. On every target a message carries what its octets
carry: `offset` and `delta` of a CNM are whole multiples of 64 octets, and a field for which the
frame type has no octets is 0.
"""
RECORDS = {
    "FRAME": "frame",
    "QUEUE": "queue",
    "LIMITER": "limiter",
    "NODE": "node",
    "PORT": "port",
    "FLOW": "flow",
    "SCHEDULER": "scheduler",
}
"""Record -> parameter of kernels that is one."""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, _kernels(), _records()]
    ours = [
        a for a in Registry.load().algorithms if f"{a.params.__module__}.".startswith(OWN_ROOTS)
    ]
    for kind in EVENTS:
        parts.append(f"## `{kind}`\n\n{KINDS[kind]}\n")
        parts += [_section(algorithm) for algorithm in ours if algorithm.kind == kind]
    return "\n".join(parts)


def _kernels() -> str:
    """Section of kinds: entity, kernels, answers and what a kernel may set."""
    parts = [KERNELS]
    names = {id(getattr(records, name)): name for name in RECORDS}
    for kind, contracts in CONTRACTS.items():
        entity = names[id(ENTITIES[kind])]
        per_flow = " With `per_flow` it has a state for each flow." if kind in PER_FLOW else ""
        parts.append(f"### Kernels of a `{kind}`\n\nThe entity is a `{entity}` record.{per_flow}\n")
        rows = [
            (code(event), plain(contract.called), contract.answers, contract.sets)
            for event, contract in contracts.items()
        ]
        parts.append(table(("kernel", "called when", "answers", "may set"), rows))
    return "\n".join(parts)


def _records() -> str:
    """Section of records: each field with its meaning."""
    parts = ["## Records\n\nTimes are in ps, lengths in octets, rates in bit/s.\n"]
    for name, parameter in RECORDS.items():
        fields = record_fields(records, name).items()
        rows = [(code(field), plain(_sentence(text))) for field, text in fields]
        about = attribute_docs(records).get(name, "")
        parts.append(f"### `{name}`\n\nIn kernels: `{parameter}`. {plain(about)}\n")
        parts.append(table(("field", "meaning"), rows))
    return "\n".join(parts)


def _sentence(text: str) -> str:
    """Comment of a field, without the marks of one that the next field continues."""
    return text.removesuffix("...").removesuffix(",").strip()


def _section(algorithm: Algorithm) -> str:
    targets = ", ".join(fitting(algorithm, Registry.load().targets))
    before = "".join(f" Formerly {code(name)}, until {REMOVED_IN}." for name in algorithm.former)
    summary = f"{plain(algorithm.summary)}. Targets: {targets}.{before}\n"
    lines = [f"### `{algorithm.name}`\n", summary]
    fields = algorithm.params.describe()
    if fields:
        rows = [
            (
                code(field.name),
                field.unit,
                "must be given" if field.default_text is None else code(field.default_text),
                field.bounds,
                plain(field.help),
            )
            for field in fields
        ]
        lines.append(table(("parameter", "unit", "default", "accepted", "meaning"), rows))
    renamed = [(code(old), code(new)) for old, new in former_of(algorithm.params).items()]
    if renamed:
        lines.append(table(("former name, until " + REMOVED_IN, "now"), renamed))
    presets = [
        (code(name), ", ".join(code(f"{key} = {_value(value)}") for key, value in values.items()))
        for name, values in algorithm.params.presets.items()
    ]
    if presets:
        lines.append(table(("preset", "sets"), presets))
    return "\n".join(lines)


def _value(value: object) -> str:
    """Text of a value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else f'"{value}"'
