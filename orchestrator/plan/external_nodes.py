"""External nodes (DUT): ports that face them, and limits of a plan's statements on them.

Such a device is a switch as far as routes go. Its inside is not observable: it has no samples,
nothing in it changes by the timeline, and its cables are what they are. What our own ports see of
it is captured, and becomes its metrics.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.errors import Problem
from orchestrator.plan import entity_names
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import External, Switch
from orchestrator.plan.units import format_duration

OURS = frozenset({"kind", "as_", "forwarding", "forwards_by", "target"})
"""Keys of an external node that have a meaning without `as`: how frames find their way."""
FIXED = "fixed-delay"
INSTEAD = (
    "latency_s.p99, frames.dropped, frames.drop_ratio, frames.reordered, throughput_bps, "
    "feedback.sent and pause.count can be asked"
)
"""Advice: observable entities in place of those inside."""


@memoized
def externals(plan: PlanModel) -> dict[str, External]:
    """The external nodes by name, in the order of the plan."""
    return {name: node for name, node in plan.nodes.items() if isinstance(node, External)}


@memoized
def facing(plan: PlanModel) -> dict[str, dict[str, str]]:
    """External node -> its port, as named in results -> our port at the other end of the cable."""
    found: dict[str, dict[str, str]] = {name: {} for name in externals(plan)}
    for way in entity_names.directions(plan):
        if way.sender.node in found:
            found[way.sender.node][way.sender.entity] = way.receiver.entity
    return found


def captured(plan: PlanModel) -> list[str]:
    """The ports whose frames are kept: those that the plan names, then those that face devices."""
    seen = [ours for ports in facing(plan).values() for ours in ports.values()]
    return list(dict.fromkeys([*plan.capture.ports, *seen]))


def external_problems(plan: PlanModel) -> Iterator[Problem]:
    """Statements of a plan about external nodes that no run can satisfy."""
    mine = externals(plan)
    if not mine:
        return
    for name, node in mine.items():
        yield from _settings(plan, name, node)
    for name, link in plan.links.items():
        ends = [end for end in link.ends if end in mine]
        if len(ends) == 2:
            text = "no capture covers a cable between two external nodes; make them one, or put an "
            yield Clash(f"links.{name}.ends", None, text + "emulated node between them")
        elif ends:
            yield from _cable(plan, name, ends[0])
    yield from _steps(plan)
    for index, port in enumerate(plan.capture.ports):
        if (node_name := port.partition(".")[0]) in mine:
            ours = facing(plan)[node_name].get(port)
            text = f"{node_name} is external and captures nothing; {ours or 'our end'} is captured"
            yield Clash(f"capture.ports[{index}]", port, f"{text} without being named")


def _settings(plan: PlanModel, name: str, node: External) -> Iterator[Problem]:
    where = f"nodes.{name}"
    if not any(name in link.ends for link in plan.links.values()):
        yield Clash(
            where, None, "an external node is known by its cables; links to it are expected"
        )
    if node.target is not None:
        text = "an external node lives on no target; leave 'target' out"
        yield Clash(f"{where}.target", node.target, text)
    if node.mac_learning is not None:
        text = "a device forwards as it does; our own switches can have this key"
        yield Clash(f"{where}.mac_learning", None, text)
    if node.as_ is not None:
        return
    for key, field in Switch.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if key not in OURS and getattr(node, key) != default:
            text = f'says what {name} is supposed to do; that goes with as = "switch"'
            yield Clash(f"{where}.{key}", None, text)


def _cable(plan: PlanModel, name: str, device: str) -> Iterator[Problem]:
    """The emulated end delays what it sends; frames that the device sends are not delayed."""
    link = plan.links[name]
    back = link.delay if link.delay_back is None else link.delay_back
    first = link.ends[0] == device
    key, delay = ("delay", link.delay) if first else ("delay_back", back)
    if delay:
        text = (
            f"frames that {device} sends are not delayed; 0 is expected (and any value of "
            f"'{'delay_back' if first else 'delay'}', towards it)"
        )
        yield Problem(f"links.{name}.{key}", format_duration(delay), text)
    if any(stage.plugin != FIXED for stage in link.stages):
        text = f"frames to and from {device} take a cable; leave 'delay_line' out"
        yield Clash(f"links.{name}.delay_line", link.stages[0].plugin, text)


def _steps(plan: PlanModel) -> Iterator[Problem]:
    """Nothing changes inside a device, nor on its cables."""
    mine = externals(plan)
    cables = {name for name, link in plan.links.items() if mine.keys() & set(link.ends)}
    for index, step in enumerate(plan.timeline):
        where = f"timeline[{index}].{step.verb}"
        said = str(getattr(step, step.verb))
        section, _, rest = said.partition(".")
        named = rest.partition(".")[0]
        if step.set is not None and section == "nodes" and named in mine:
            yield Clash(where, said, f"{named} is external: nothing in it changes by a timeline")
        elif step.set is not None and section == "links" and named in cables:
            yield Clash(where, said, f"{named} is a cable of an external node, and stays as it is")
        elif step.verb in ("cut", "mend", "cut_link") and said in cables:
            yield Clash(where, said, f"{said} is a cable of an external node; pull it by hand")
        elif step.verb in ("pause", "resume") and section in mine:
            yield Clash(where, said, f"{section} is external; send it PAUSE from an emulated port")
        elif step.verb in ("kill_agent", "delay_control") and said in mine:
            yield Clash(where, said, f"{said} is external: no agent hosts it")


def not_seen(plan: PlanModel, entity: str) -> str | None:
    """Error text for an entity inside an external node, which is not observable; None: others."""
    node, arrow, there = entity.partition("/")[0].rpartition(":")[2].partition(">")
    if not arrow:
        node, _, there = node.partition(".")
    if node not in externals(plan):
        return None
    qualified = f"{node}.{there}" if there else node
    return f"{node} is external, its inside is not observable; of {qualified} {INSTEAD}"
