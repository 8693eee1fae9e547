"""Plans: what a run consists of, as TOML and as Python, checked before anything starts."""

from orchestrator.plan.actions import Action
from orchestrator.plan.catalog import Catalog, Use
from orchestrator.plan.entries import (
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
from orchestrator.plan.names import Direction, Flow, Port
from orchestrator.plan.plan import Plan, ResolvedPlan
from orchestrator.plan.schedule import Capture, Expect, Phase, Step

__all__ = [
    "Action",
    "Capture",
    "Catalog",
    "Direction",
    "Expect",
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
