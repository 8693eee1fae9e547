"""Resolution of a plan's plugins, from which targets are built besides the plan's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names
from orchestrator.plan.canonical_form import canonical
from orchestrator.plan.entity_names import flow_scheduler_holder, own_priorities, stage_holder
from orchestrator.plan.header_table import CNP_DSCP, header_use_problems
from orchestrator.plan.injections import check_problems, copied_datagrams, duplicate_problems
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.lossless_lanes import lossless_problems
from orchestrator.plan.memory_checks import memory_problems
from orchestrator.plan.observers import observation_problems
from orchestrator.plan.offered import frame_problems
from orchestrator.plan.plan_checks import by_node
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Switch
from orchestrator.plan.plugin_catalog import FLOW_SCHEDULER, Catalog, Use, look_up, tables
from orchestrator.plan.queue_pairs import queue_pair_problems
from orchestrator.plan.scheduler_checks import scheduler_problems
from orchestrator.plan.target_options import KEY, TargetOptions, check_tables
from orchestrator.plan.timeline_actions import Action, Uses, actions_of
from orchestrator.plan.timeouts import timeout_problems

KINDS = (
    "congestion_point",
    "reaction_point",
    "pause",
    "delay_line",
    "traffic",
    "notification_point",
    "transport",
    "receiver",
    "watchdog",
    "scheduler",
    "buffer_management",
)


@dataclass(frozen=True)
class Resolution:
    """Components of `ResolvedPlan`: the plan's data with every default, uses, actions."""

    data: dict[str, Any]
    uses: Uses
    actions: tuple[Action, ...]
    options: TargetOptions


def resolve(plan: PlanModel, catalog: Catalog, *, source: str, bare: bool) -> Resolution:
    """Finds and validates every plugin of a plan. Raises BadInput with every problem."""
    found, problems = look_up_all(plan.model_dump(by_alias=True), catalog, bare=bare)
    uses: Uses = {kind: {} for kind in KINDS}
    for path, (kind, use) in found.items():
        for holder in _holders(plan, path, kind):
            uses[kind][holder] = use
    actions, of_timeline = actions_of(plan, uses, bare=bare)
    problems += of_timeline
    problems += duplicate_problems(plan, uses)
    problems += check_problems(plan, uses)
    problems += copied_datagrams(plan, uses)
    problems += _without_sockets(plan, uses["traffic"])
    problems += _carried(plan, uses["traffic"])
    problems += _dropping(uses["congestion_point"])
    problems += _changing_lanes(plan, uses["congestion_point"])
    problems += _queued_cnps(plan, uses["notification_point"])
    problems += scheduler_problems(plan, found, uses)
    problems += _granting(plan, uses["pause"])
    problems += memory_problems(plan, uses)
    problems += header_use_problems(plan.headers, plan.groups, uses)
    problems += queue_pair_problems(plan, uses)
    problems += lossless_problems(plan, uses["pause"])
    problems += observation_problems(plan, [use.algorithm for _, use in found.values()])
    problems += _uncontrolled(plan, uses)
    problems += _without_credit(plan, uses)
    models = getattr(catalog, "target_options", dict[str, type[TargetOptions]]())
    options, of_options = check_tables(models, plan.targets, plan.target, bare=bare)
    problems += of_options
    problems += timeout_problems(plan, uses["transport"], list(actions))
    if not problems:
        problems += frame_problems(plan, uses["traffic"], actions)
    if problems:
        raise BadInput(source, problems)
    data = canonical(plan)
    for path, (_, use) in found.items():
        _put(data, path, use)
    for step, action in zip(data["timeline"], actions, strict=True):
        if action.to is not None:
            step["to"] = action.to
        if action.verb == "set":
            step["set"] = action.key
    data.pop(KEY, None)
    if table := options.to_table():
        data[KEY] = {plan.target: table}
    ordered = tuple(sorted(actions, key=lambda action: action.at))
    return Resolution(data, uses, ordered, options)


def look_up_all(
    data: dict[str, Any], catalog: Catalog, *, bare: bool
) -> tuple[dict[str, tuple[str, Use]], list[Problem]]:
    """Key path -> (kind, use) of every plugin's table that is right, and all problems."""
    found: dict[str, tuple[str, Use]] = {}
    problems: list[Problem] = []
    for kind, path, table in tables(data):
        try:
            found[path] = (kind, look_up(catalog, kind, path, table, bare=bare))
        except BadInput as error:
            problems += error.problems
    return found, problems


def _holders(plan: PlanModel, path: str, kind: str) -> list[str]:
    section, name, *rest = path.split(".")
    node = plan.nodes[name] if section == "nodes" else None
    if section == "links":
        return [stage_holder(name, index_of(path))]
    if not isinstance(node, Switch):
        return [flow_scheduler_holder(name) if rest == [FLOW_SCHEDULER] else name]
    ports = by_node(plan).get(name, [])
    if rest[0] == "inputs":
        return [port.input for port in ports]
    if rest[0] == "ports":
        return [f"{name}.{rest[1]}"]
    own = {port for port in node.ports if getattr(node.ports[port], kind) is not None}
    return [port.entity for port in ports if port.name not in own]


def index_of(path: str) -> int:
    """The index at the end of a key path, links.up.delay_line[1]; 0 where it has none."""
    return int(path.partition("[")[2].rstrip("]") or 0)


def _without_sockets(plan: PlanModel, uses: dict[str, Use]) -> list[Problem]:
    """Frames of programs go both ways between NICs, and a program needs an entry that has some."""
    problems: list[Problem] = []
    ends: set[tuple[str, str]] = set()
    for name, use in uses.items():
        if getattr(use.algorithm, "programs", False):
            ends |= set(plan.traffic[name].pairs)
    for source, target in sorted(ends):
        if (target, source) not in ends:
            text = f"what programs on {source} send is answered; 'bidirectional = true' is expected"
            problems.append(Clash(f"nodes.{source}", None, text))
    served = {end for pair in ends for end in pair}
    for name, program in plan.programs.items():
        if program.node not in served:
            text = f"no traffic of plugin 'sockets' begins or ends at {program.node}"
            problems.append(Clash(f"programs.{name}.node", program.node, text))
    return problems


def _carried(plan: PlanModel, uses: dict[str, Use]) -> list[Problem]:
    """Messages and what programs send go to one node, and transports need messages.

    What a transport or a program sends is not numbered frame by frame: no switch can restore the
    order of it.
    """
    problems: list[Problem] = []
    restoring = [name for name, node in plan.nodes.items() if getattr(node, "reassembly", None)]
    for name, use in uses.items():
        entry, called = plan.traffic[name], use.algorithm.name
        messages = getattr(use.algorithm, "messages", None) is not None
        programs = getattr(use.algorithm, "programs", False)
        if entry.transport is not None and not messages:
            text = f"'{called}' has no messages that a transport could carry"
            problems.append(Clash(f"traffic.{name}.transport", None, text))
        groups = [target for _, target in entry.pairs if target in plan.groups]
        if groups and (messages or programs):
            text = f"what '{called}' sends goes to one node, not to a group"
            problems.append(Clash(f"traffic.{name}.to", groups[0], text))
        if restoring and (programs or entry.transport is not None):
            text = f"traffic.{name} has sequence numbers that no switch knows; leave it out"
            problems.append(Clash(f"nodes.{restoring[0]}.reassembly", None, text))
    return problems


def _dropping(uses: dict[str, Use]) -> list[Problem]:
    """Refuses drops at the departure from an input: the frame is then in transfer to its output.

    Nor can anything go past the crossbar: frames are trimmed at outputs, and change lanes there. A
    stamp says what the port is like that a frame leaves by.
    """
    problems: list[Problem] = []
    for holder, use in uses.items():
        late = "departure" in getattr(use.algorithm, "drops", ())
        trims = getattr(use.algorithm, "trims", False)
        changes = getattr(use.algorithm, "changes_lane", False)
        stamps = "stamps" in getattr(use.algorithm, "needs", ())
        if holder.endswith("/in") and (late or trims or changes or stamps):
            node = holder.partition(".")[0]
            does = "trims frames" if trims else "sends frames on in another lane"
            does = "stamps frames as they leave" if stamps else does
            does = "drops frames as they leave" if late else does
            text = f"'{use.algorithm.name}' {does}; it belongs at an output"
            problem = Clash(f"nodes.{node}.inputs.congestion_point", use.algorithm.name, text)
            if problem not in problems:
                problems.append(problem)
    return problems


def _changing_lanes(plan: PlanModel, uses: dict[str, Use]) -> list[Problem]:
    """Frames go on in a lane that there is."""
    problems: list[Problem] = []
    own = own_priorities(plan)
    for holder, use in uses.items():
        for priority in use.params.goes_on_in():
            node = holder.partition(".")[0]
            text = (
                f"'{use.algorithm.name}' sends frames on in priority {priority}, which has no lane "
                f'of its own; priorities = "separate" and more_priorities = [{priority}] are '
                "expected"
            )
            problem = Clash(f"nodes.{node}.congestion_point", priority, text)
            if priority not in own and problem not in problems:
                problems.append(problem)
    return problems


def _queued_cnps(plan: PlanModel, uses: dict[str, Use]) -> list[Problem]:
    """CNPs that switches queue have a lane of their own for the priority that is named."""
    own = own_priorities(plan)
    if plan.headers.cnps != "queued" or not own:
        return []
    named = {priority for use in uses.values() for priority in use.params.goes_on_in()}
    if plan.headers.priority == "dscp":
        named = {plan.headers.classes()[CNP_DSCP]} if uses else set()
    return [
        Clash(
            "headers.cnps",
            "queued",
            f"CNPs have priority {priority}, which has no lane of its own; more_priorities = "
            f"[{priority}] is expected",
        )
        for priority in sorted(named - own)
    ]


def _granting(plan: PlanModel, uses: dict[str, Use]) -> list[Problem]:
    """Credits are for a buffer that one neighbour alone fills, and that has some to grant."""
    problems: dict[str, Problem] = {}
    for holder, use in uses.items():
        if not getattr(use.algorithm, "grants", False):
            continue
        name, called = holder.partition(".")[0], use.algorithm.name
        node = plan.nodes[name]
        assert isinstance(node, Switch)
        inputs, least = node.inputs, use.params.least_buffer()
        if inputs is None or not holder.endswith("/in"):
            text = f"'{called}' belongs at inputs: several neighbours fill an output"
            problems[name] = Clash(f"nodes.{name}.pause", called, text)
        elif inputs.shared_memory is not None:
            text = f"'{called}' grants room that no other port uses; leave 'shared_memory' out"
            problems[name] = Clash(f"nodes.{name}.inputs.pause", called, text)
        elif inputs.buffer < least:
            text = f"'{called}' needs at least {least} octets to grant any"
            problems[name] = Clash(f"nodes.{name}.inputs.buffer", inputs.buffer, text)
    return list(problems.values())


def _uncontrolled(plan: PlanModel, uses: Uses) -> list[Problem]:
    """A reaction point that uses acknowledgements needs them from every flow of its NIC."""
    problems: list[Problem] = []
    for name, entry in plan.traffic.items():
        carrier = uses["transport"].get(name)
        if carrier is not None and getattr(carrier.algorithm, "leaves_control", False):
            continue
        for source in sorted({source for source, _ in entry.pairs}):
            point = uses["reaction_point"].get(source)
            if point is None or not getattr(point.algorithm, "hears_acknowledgements", False):
                continue
            called = None if carrier is None else carrier.algorithm.name
            text = (
                f"'{point.algorithm.name}' at {source} works with acknowledgements; a transport "
                "that leaves control to it, such as 'go-back-n', is expected"
            )
            problems.append(Clash(f"traffic.{name}.transport", called, text))
            break
    return problems


def _without_credit(plan: PlanModel, uses: Uses) -> list[Problem]:
    """A transport that waits for credits would wait for ever if no receiver gives any."""
    problems: list[Problem] = []
    for name, entry in plan.traffic.items():
        carrier = uses["transport"].get(name)
        if carrier is None or not getattr(carrier.algorithm, "waits_for_credit", False):
            continue
        for target in sorted({target for _, target in entry.pairs}):
            if target in uses["receiver"]:
                continue
            called = carrier.algorithm.name
            text = f"'{called}' waits for credits; a receiver at nodes.{target} is expected"
            problems.append(Clash(f"traffic.{name}.transport", called, text))
    return problems


def _put(data: dict[str, Any], path: str, use: Use) -> None:
    table = use.to_table()
    *parents, last = path.partition("[")[0].split(".")
    for parent in parents:
        data = data[parent]
    if path.endswith("]"):
        data[last][index_of(path)] = table
        return
    if parents == ["traffic"]:
        former = former_names.former_of(type(use.params))
        table = {key: value for key, value in data[last].items() if key not in former} | table
    data[last] = table
