"""Schemes of congestion control that lack a part: marks, messages or stamps without a counterpart.

Congestion points emit messages, marks, stamps or fields of probes; a reaction point works with some
of these (`Signals`). A scheme is incomplete where a reaction point sent frames through switches and
was not sent what it works with, or where nothing works with what a congestion point emitted. Both
follow from the declarations of the algorithms on the path of a flow and from the counters of the
run. Paths through external nodes are left out: what a device emits is not known.

A network without any congestion point has no scheme that could lack a part: reaction points that
wait for messages there are idle, which is noted and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from orchestrator.capability import Capability
from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.plan.entity_names import Flow, is_ours, lanes
from orchestrator.plan.frame_lengths import flow_ports
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import Recording
from orchestrator.run.scheme_transports import acts_on_marks, listed, unused_credits

NO_MESSAGES = (
    "it works with messages, and no congestion point or notification point on the path of its "
    "flows sends any"
)


class Signals:
    """Declared effects of one algorithm in a plan on the control loop."""

    def __init__(self, use: Use) -> None:
        algorithm, params = use.algorithm, use.params
        self.name: str = algorithm.name
        self.marks: bool = params.marks()
        self.stamps = Capability.STAMPS in algorithm.needs or params.stamped_hops() > 0
        self.probes = "probe" in algorithm.kernels
        self.lossy = bool(algorithm.drops or algorithm.trims or algorithm.changes_lane)
        self.messages = not (self.marks or self.stamps or self.probes or self.lossy)
        """Of a congestion point: nothing else is left for it to do than to notify."""
        self.takes_messages = "feedback" in algorithm.kernels
        self.takes_acks: bool = algorithm.hears_acknowledgements
        self.ecn: bool = params.sends_ect()
        self.operating_queue = params.operating_queue


class Findings(NamedTuple):
    """Sentences about the schemes of a run."""

    incomplete: list[str]
    """Schemes that lack a part, with the counts that show it."""
    idle: list[str]
    """Reaction points in a network that has no congestion point."""


def find_incomplete_schemes(resolved: ResolvedPlan, recording: Recording) -> Findings:
    """Schemes that lack a part, and reaction points that nothing can reach."""
    if not len(recording.times_ps):
        return Findings([], [])
    check = _SchemeCheck(resolved, recording)
    groups: dict[tuple[str, str], list[str]] = {}
    for nic in check.flows:
        if nic in check.reactions and (cause := check.missing(nic)):
            groups.setdefault((check.reactions[nic].name, cause), []).append(nic)
    found = Findings([], [])
    for (name, cause), nics in groups.items():
        idle = cause == NO_MESSAGES and not check.points
        (found.idle if idle else found.incomplete).append(f"{name} at {listed(nics)}: {cause}")
    found.incomplete.extend(check.unanswered())
    sent = [flow for flows in check.flows.values() for flow in flows]
    found.incomplete.extend(unused_credits(resolved, sent, check.holders, check.of_queues))
    return found


class _SchemeCheck:
    """Congestion points, reaction points and counters of one run."""

    def __init__(self, resolved: ResolvedPlan, recording: Recording) -> None:
        self.resolved, self.plan = resolved, resolved.plan
        self.counts: dict[str, dict[str, int]] = {}
        self.longest: dict[str, int] = {}
        self.marked_early: dict[str, int] = {}
        early = len(recording.times_ps) * 9 // 10
        for row, column in enumerate(recording.columns):
            entity = self.counts.setdefault(column.entity, {})
            entity[column.quantity] = int(recording.values[-1, row])
            if column.quantity == "frames_marked":
                self.marked_early[column.entity] = int(recording.values[early, row])
            if column.quantity == "queue_bytes":
                self.longest[column.entity] = int(recording.values[:, row].max())
        uses = resolved.uses
        self.points = {at: Signals(use) for at, use in uses["congestion_point"].items()}
        self.reactions = {at: Signals(use) for at, use in uses["reaction_point"].items()}
        self.notifiers = {at: Signals(use) for at, use in uses["notification_point"].items()}

    @cached_property
    def flows(self) -> dict[str, list[Flow]]:
        """NIC -> its flows that sent frames."""
        found: dict[str, list[Flow]] = {}
        for flow in self.plan.flows():
            if self.count(flow.entity, "frames_sent") != 0:
                found.setdefault(flow.node, []).append(flow)
        return found

    @cached_property
    def _far_ends(self) -> tuple[dict[str, str], dict[str, str]]:
        """Port that sends -> node, and input, at the other end."""
        ways = self.plan.directions()
        return (
            {way.sender.entity: way.receiver.node for way in ways},
            {way.sender.entity: way.receiver.input for way in ways},
        )

    def holders(self, flow: Flow) -> set[str] | None:
        """Outputs and inputs of switches on the paths of a flow; None through an external node."""
        peers, inputs = self._far_ends
        found: set[str] = set()
        for port in flow_ports(self.plan.multipath_routes(), peers, flow):
            node = port.partition(".")[0]
            if not (is_ours(self.plan, node) and is_ours(self.plan, peers[port])):
                return None
            if isinstance(self.plan.nodes[node], Switch):
                found.add(port)
            if isinstance(self.plan.nodes[peers[port]], Switch):
                found.add(inputs[port])
        return found

    def count(self, entity: str, quantity: str) -> int | None:
        """The last value of a counter; None where the target did not sample it."""
        return self.counts.get(entity, {}).get(quantity)

    def of_queues(self, holder: str, quantity: str) -> int:
        """A counter of all lanes of a port."""
        return sum(self.count(holder + one.suffix, quantity) or 0 for one in lanes(self.plan))

    def received(self, nic: str) -> int | None:
        """Messages that reached the limiters of a NIC, or found none that was free."""
        limiters = self.plan.limiters().get(nic, [])
        counts = [self.count(one, "feedback_received") for one in limiters]
        if not counts or None in counts:
            return None
        others = (self.count(nic, "feedback_ignored"), self.count(nic, "feedback_unassigned"))
        return sum(one or 0 for one in (*counts, *others))

    def everywhere(self, effect: str) -> bool:
        """True if every output of a switch has a congestion point with that effect."""
        return all(
            getattr(self.points.get(port.entity), effect, False)
            for port in self.plan.ports()
            if isinstance(self.plan.nodes[port.node], Switch)
        )

    def missing(self, nic: str) -> str:
        """What a NIC's reaction point works with and was not sent; empty where nothing is."""
        rp = self.reactions[nic]
        if rp.stamps and not self.everywhere("stamps") and self.without(nic, "stamps"):
            return (
                "it works with stamps, and no congestion point on the path of its flows adds any; "
                "set one such as 'int' at the switches (congestion_point)"
            )
        if rp.takes_acks and rp.ecn and not self.everywhere("marks") and self.without(nic, "marks"):
            return (
                "it works with ECN marks, and no congestion point on the path of its flows marks "
                "frames; set one such as 'red' at the switches (congestion_point)"
            )
        if rp.takes_messages and not rp.takes_acks and self.received(nic) == 0:
            return self.without_messages(nic, rp)
        return ""

    def without(self, nic: str, effect: str) -> bool:
        """True if a flow of the NIC passes switches of which none has that effect."""
        for flow in self.flows[nic]:
            on_path = self.holders(flow)
            if on_path and not any(getattr(self.points.get(at), effect, False) for at in on_path):
                return True
        return False

    def without_messages(self, nic: str, rp: Signals) -> str:
        """Cause why a reaction point was sent no message; empty where there was none to send."""
        on_path: set[str] = set()
        for flow in self.flows[nic]:
            holders = self.holders(flow)
            if holders is None:
                return ""
            on_path |= holders
        if not any(
            self.counts.get(at + lane.suffix) for at in on_path for lane in lanes(self.plan)
        ):
            return ""  # no switch whose queues are sampled
        ends = {one for flow in self.flows[nic] for one in flow.members or (flow.destination,)}
        answering = [at for at in (*sorted(ends), *on_path) if at in self.notifiers]
        points = {at: self.points[at] for at in sorted(on_path) if at in self.points}
        if any(self.of_queues(at, "feedback_sent") for at in (*points, *answering)):
            return ""  # to other NICs: this one sent little
        if not any(point.messages for point in points.values()):
            if not answering and (
                total := sum(self.of_queues(at, "frames_marked") for at in points)
            ):
                return (
                    f"it was sent no message, though {total} frames were marked at "
                    f"{listed(list(points))}: nothing answers marks; set a notification_point at "
                    f"{listed(sorted(ends))}"
                )
            if not answering or not any(point.marks or point.probes for point in points.values()):
                return NO_MESSAGES
        if total := sum(
            self.marked_early.get(at + one.suffix, 0) for at in points for one in lanes(self.plan)
        ):
            return (
                f"it was sent no message, though {total} frames were marked at "
                f"{listed(list(points))}"
            )
        if full := [at for at, point in points.items() if self.is_congested(at, point)]:
            return f"it was sent no message, though the queue of {listed(full)} was congested"
        return ""

    def is_congested(self, holder: str, point: Signals) -> bool:
        """True if a queue dropped frames, or was longer than its congestion point aims at."""
        if self.of_queues(holder, "frames_dropped"):
            return True
        port = next((one for one in self.plan.directions() if one.sender.entity == holder), None)
        if port is None:
            return False
        aim = point.operating_queue(self.plan.links[port.link].rate)
        longest = max(self.longest.get(holder + one.suffix, 0) for one in lanes(self.plan))
        return aim is not None and longest > 2 * aim

    def unanswered(self) -> Iterator[str]:
        """Sentences on congestion points whose messages, marks or probes have no counterpart."""
        through: dict[str, set[str]] = {}
        marks_answered: set[str] = set()
        for nic, flows in self.flows.items() if self.points else ():
            if nic in self.reactions:
                continue
            for flow in flows:
                for at in self.holders(flow) or ():
                    through.setdefault(at, set()).add(nic)
                    if acts_on_marks(self.resolved, flow):
                        marks_answered.add(at)
        reached_any = {nic for nic in self.reactions if self.received(nic) != 0}
        for holder, point in self.points.items():
            senders = through.get(holder, set())
            if not senders or self.reached(holder, self.reactions):
                continue
            sent, marked = (
                self.of_queues(holder, one) for one in ("feedback_sent", "frames_marked")
            )
            nics = listed(sorted(senders))
            if sent and not reached_any:
                yield (
                    f"{point.name} at {holder}: {sent} messages were sent, and no NIC has a "
                    f"reaction point that acts on them; set one at {nics}"
                )
            elif marked and not reached_any and holder not in marks_answered:
                yield (
                    f"{point.name} at {holder}: {marked} frames were marked, and no NIC has a "
                    f"reaction point; set one at {nics}"
                )
            elif point.stamps:
                yield (
                    f"{point.name} at {holder}: no NIC has a reaction point that works with its "
                    f"stamps; set one such as 'hpcc' at {nics}"
                )
            elif point.probes and self.is_congested(holder, point):
                yield (
                    f"{point.name} at {holder}: its queue was congested, and no NIC has a reaction "
                    f"point that sends probes; set one such as 'fecn-rp' at {nics}"
                )
            elif point.marks and not (
                point.lossy or holder in marks_answered or not self.is_congested(holder, point)
            ):
                yield (
                    f"{point.name} at {holder}: its queue was congested, and no frame was marked: "
                    f"no flow is ECN-capable; set a reaction point at {nics} that is"
                )
        turned = [at for at in self.notifiers if self.count(at, "echoes_sent")]
        if turned and not any(point.probes for point in self.points.values()):
            yield (
                f"{self.notifiers[turned[0]].name} at {listed(turned)}: probes were turned round, "
                "and no congestion point writes a rate into them; set one such as 'fecn-cp' at the "
                "switches"
            )

    def reached(self, holder: str, nics: dict[str, Signals]) -> bool:
        """True if a flow of a NIC with a reaction point passes the holder, or may have."""
        for nic in nics:
            for flow in self.flows.get(nic, ()):
                on_path = self.holders(flow)
                if on_path is None or holder in on_path:
                    return True
        return False
