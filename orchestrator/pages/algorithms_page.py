"""Reference page of algorithms: each shipped plugin's purpose, parameters and presets."""

from __future__ import annotations

from orchestrator.algorithm import Algorithm
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.pages.commands_page import OWN_ROOTS
from orchestrator.pages.markdown import code, plain, table
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
    "congestion_point": "Watches a queue of a switch and tells sources to slow down.",
    "receiver": "Paces the sources of what is delivered to a node, by credits.",
    "notification_point": "Sees data frames that are delivered, or enter a queue, and answers.",
    "reaction_point": "Sets the rate of a NIC's limiter from what it is told.",
    "watchdog": "Sees when a queue is held by PAUSE or PFC for too long, and ends that.",
    "pause": "Stops the neighbour of a port while a buffer is full.",
    "delay_line": "Holds frames on a link.",
    "traffic": "Makes the frames of flows, or their messages.",
    "transport": "Carries messages in segments and resends what was lost.",
}


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    ours = [
        a for a in Registry.load().algorithms if f"{a.params.__module__}.".startswith(OWN_ROOTS)
    ]
    for kind in EVENTS:
        parts.append(f"## `{kind}`\n\n{KINDS[kind]}\n")
        parts += [_section(algorithm) for algorithm in ours if algorithm.kind == kind]
    return "\n".join(parts)


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
