"""Plans: what a run consists of, as TOML and as Python, checked before anything starts.

A plan is a TOML file: `name`, `duration` and the tables [nodes.N], [links.N], [traffic.N],
[phases.N], [groups], [programs.N], [capture], and the lists [[timeline]] and [[expect]]; `entries`,
`schedule` and `model` have their keys, and `tailback plans --schema` a JSON Schema for editors.
What is said more than once is written once:

Names in braces (`ranges`), wherever a name stands: [nodes."h{1..8}"] makes eight nodes, "s{a,b}"
two, "{leaf}h{1..4}" four for each word of `lists.leaf = ["x", "y{1..2}"]`. In the table, {} is the
value of the first range, {2} of the second, {leaf} of the list, {+1} the next value. Named tables
and steps that begin with one named list and stand together are made word by word: network after
network. A name in a step or an expectation stands for one each: of = "nic{1..8}", phase =
"{low,high}".

Templates (`templates`): [templates.X] is laid under every table with `like = "X"`: tables within go
together, own keys win; a template may be like another.

A base (`layers`): `base = "p4qcn-fig14"` (a shipped plan, or one beside this file) or a file's
path. The plan's own entries go over those of the same name; an expectation over the one with its
metric, thing, phase and `relative_to`; steps come behind. The base's templates can be used, and
changed; so can its lists. `without = ["expect", "nodes.h{3..4}"]` takes out. `scale = 100` (or
"1/10") multiplies each rate in the base and divides each time: texts with the unit of one, in every
table but for titles, notes, commands and names of algorithms and presets. What a preset says, and
sizes, counts and ratios, are not scaled; what the plan itself says is taken as it stands.

A run folder keeps the whole, as `tailback plans NAME --resolved` prints it. How much may be made is
bounded before it is (`budget`).

What stands in `__all__` is imported when it is first asked for: a caller that needs the error
messages alone, as every start of the command does, does not wait for all models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.lazy_exports import from_modules

if TYPE_CHECKING:
    from orchestrator.plan.entity_names import Direction, Flow, Port
    from orchestrator.plan.plan import Plan, ResolvedPlan
    from orchestrator.plan.plan_tables import (
        External,
        Inputs,
        Limiter,
        Link,
        Nic,
        Node,
        PluginTable,
        PortTable,
        Reassembly,
        Sink,
        Switch,
        Traffic,
    )
    from orchestrator.plan.plugin_catalog import Catalog, Use
    from orchestrator.plan.timeline_actions import Action
    from orchestrator.plan.timeline_tables import Capture, Expect, Phase, Step

_MODULES = {
    "timeline_actions": ("Action",),
    "plugin_catalog": ("Catalog", "Use"),
    "plan_tables": (
        "External",
        "Inputs",
        "Limiter",
        "Link",
        "Nic",
        "Node",
        "PluginTable",
        "PortTable",
        "Reassembly",
        "Sink",
        "Switch",
        "Traffic",
    ),
    "entity_names": ("Direction", "Flow", "Port"),
    "plan": ("Plan", "ResolvedPlan"),
    "timeline_tables": ("Capture", "Expect", "Phase", "Step"),
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Action",
    "Capture",
    "Catalog",
    "Direction",
    "Expect",
    "External",
    "Flow",
    "Inputs",
    "Limiter",
    "Link",
    "Nic",
    "Node",
    "Phase",
    "Plan",
    "PluginTable",
    "Port",
    "PortTable",
    "Reassembly",
    "ResolvedPlan",
    "Sink",
    "Step",
    "Switch",
    "Traffic",
    "Use",
]


if not TYPE_CHECKING:
    __getattr__ = from_modules(__name__, _EXPORTS)
