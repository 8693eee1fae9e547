"""Reference page of metrics and samples: names, units, meanings, entities."""

from __future__ import annotations

from orchestrator.metrics_export.metric_families import SAMPLED, observed_family, result_families
from orchestrator.metrics_export.process_families import PROCESS_FAMILIES
from orchestrator.pages.commands_page import OWN_ROOTS
from orchestrator.pages.markdown import code, plain, table
from orchestrator.plan.metric_registry import DEFINITIONS, ENTITIES
from orchestrator.plan.observables import STATISTICS
from orchestrator.registry import Registry

INTRODUCTION = """# Metrics and samples

`result.json` has `metrics`: phase → entity → metric → number, in SI units, and `units`: metric →
unit. The phase `run` is the whole run; the others are those of the plan. `[[expect]]` bounds any
of these numbers. null stands where a definition gives no number: nothing was sampled, received or
active.

How a metric comes about is said in `basis`:

- `counter`: how far a counter moved from the first sample at or after the phase's start to the
  first at or after its end, over the time between these samples where it is a rate;
- `gauge`: a statistic of the samples within the phase, one every `sample_interval`;
- `histogram`: of the frames delivered within the phase, counted in bins;
- `messages`: of the messages that began within the phase;
- `captures`: of the frames that our ports captured within the phase; null where a capture was full
  before its end;
- `run`: in the phase `run` only.

`samples.parquet` is tidy: one row per sample, with the columns `time_ps` (int64), `node`, `entity`,
`quantity`, `value` (int64) and `unit`. All series have the same instants: every multiple of
`sample_interval`, and every boundary of a phase. A gauge is the value at the instant, a counter has
counted since the run began. The file's metadata says which series is which (key `tailback`).

What an algorithm shows of its state is sampled where it is ([below](#algorithms)), and its metrics
are called after its plugin: `codel.sojourn_s.mean`. They can be expected and drawn like any other.

Samples and metrics have names for Prometheus as well, in its base units: those of
[`--metrics`](../prometheus.md). A column of these tables has them.

A plugin may declare metrics of its own, which are expected and drawn like these
([`tailback_metric_types`](../hooks.md#tailback_metric_types)).
"""

KINDS = {
    "port": (
        "Output ports of switches",
        "The queue before an output port, and the port: `switch.sink`, the switch and its "
        'neighbour (the link where two links are parallel). With `priorities = "separate"` one for '
        "each lane: `switch.sink/p3`.",
    ),
    "input": (
        "Input buffers of switches",
        "Of a port of a switch with `inputs`: `switch.nic/in`, `switch.nic/in/p3`.",
    ),
    "link": (
        "Directions of links",
        "From the port that sends to the one that receives: `nic>switch`, or `up1:nic>switch` "
        "where links are parallel.",
    ),
    "lane": (
        "Lanes of links",
        'With `priorities = "separate"`, where there are several: `nic>switch/p3`.',
    ),
    "stage": (
        "Stages of links",
        "Of a link whose `delay_line` is a list, from the first on: `nic>switch/stage1`.",
    ),
    "limiter": ("Limiters", "Of a NIC with a reaction point: `nic.rp0`, `nic.rp1`."),
    "flow": ("Flows", "Of a traffic entry: `gen.0`, `gen.1`; `gen` where it has only one."),
    "multicast": ("Flows to a group, where they are sent", "`gen`, `gen.0`."),
    "copy": ("Flows to a group, at one of its members", "`gen.0@sink`."),
    "entry": ("Traffic entries", "All flows of a table `[traffic.gen]`: `gen`."),
    "traffic": ("All traffic", "The entity `traffic`."),
    "messages": (
        "Messages",
        "Of a traffic entry whose flows carry messages, and of `traffic`. Small messages have up "
        "to 100 KB, medium ones up to 10 MB, large ones more.",
    ),
    "nic": ("NICs", "The node, with the metrics of its notification point."),
    "sink": ("Sinks", "The node, where it has a notification point."),
    "switch": ("Switches", "The node, where it has `reassembly`."),
    "external": (
        "External nodes",
        "Devices under test ([DUT](../dut.md)), measured by captures at tailback's ports that face "
        "them: `sw`.",
    ),
    "external port": (
        "Ports of external nodes",
        "Frames out of the device, captured at tailback's port that is cabled to it: `sw.sink`.",
    ),
    "network": ("The network", "The entity `network`."),
}


OF_ALGORITHMS = f"""## Algorithms

Fields of the state of an algorithm, sampled of what it is at: the queue of a congestion point or a
pause, the limiter of a reaction point, the node of a notification point, the flow of a source or a
transport. A unit of 2^-20 or 10^-12 is the step of a ratio in fixed point. Metrics are in SI units:
of a gauge {", ".join(f"`.{part}`" for part in STATISTICS)} behind the name, of a counter what it
grew by.
"""

OF_PROCESSES = """## Processes

What `--metrics` exports beside the network ([Prometheus](../prometheus.md)): states and numbers of
processes, which `result.json` has in other tables or not at all.
"""


def page() -> str:
    """The whole page."""
    parts, results = [INTRODUCTION], result_families()
    for kind, (title, what) in KINDS.items():
        parts.append(f"## {title}\n\n{what}\n")
        rows = [
            (
                code(one.name),
                one.unit.symbol,
                one.basis,
                plain(one.meaning),
                code(results[kind, one.name].exported),
            )
            for one in DEFINITIONS[kind].values()
        ]
        parts.append(table(("metric", "unit", "basis", "meaning", "Prometheus"), rows))
        samples = [
            (
                code(s.quantity),
                s.unit,
                s.kind,
                plain(s.meaning),
                code(SAMPLED[kind, s.quantity].exported),
            )
            for s in ENTITIES.get(kind, ())
        ]
        if samples:
            parts.append(table(("sample", "unit", "kind", "meaning", "Prometheus"), samples))
    return "\n".join([*parts, OF_ALGORITHMS, _of_algorithms(), OF_PROCESSES, *_of_processes()])


def _of_processes() -> list[str]:
    """Metric families of runs, controllers, agents and storms, a table for each."""
    parts = []
    for subject, families in PROCESS_FAMILIES.items():
        rows = [
            (code(f.exported), f.kind, ", ".join(map(code, f.labels)), plain(f.meaning))
            for f in families
        ]
        parts.append(f"### Of a {subject}\n\n" if subject != "agent" else "### Of an agent\n\n")
        parts.append(table(("metric", "type", "labels", "meaning"), rows))
    return parts


def _of_algorithms() -> str:
    """Columns and metrics of the shipped algorithms' state."""
    every = Registry.load().algorithms
    rows = [
        (
            code(algorithm.name),
            code(one.field),
            one.unit,
            one.kind,
            code(one.metric(algorithm.name)) if one.measured else "none",
            plain(one.meaning),
            code(observed_family(algorithm.name, one).exported),
        )
        for algorithm in every
        if f"{algorithm.params.__module__}.".startswith(OWN_ROOTS)
        for one in algorithm.columns
    ]
    columns = ("plugin", "sample", "unit", "kind", "metrics", "meaning", "Prometheus")
    return table(columns, rows)
