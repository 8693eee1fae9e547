"""Row index: the rows of nodes, ports, queues and other named entities of a plan."""

from __future__ import annotations

from orchestrator.engine.frames.address_index import GROUP
from orchestrator.plan import Flow, Plan, Port, Switch
from orchestrator.plan.forwarding_hosts import forwarding_hosts
from orchestrator.plan.row_order import in_row_order


class Indices:
    """Rows by name: nodes, ports, queues of all lanes, inputs, limiters, flows; address indices.

    `queues` are those of the outputs (switch.sink), of hosts that forward as well, then the
    buffers of the inputs (switch.nic/in), lane by lane (switch.sink/p3); `buffers` names them for
    every holder. All are in row order (`orchestrator.plan.row_order`); `as_written`: in that of the
    plan's tables, in which results name them, and without a meaning as rows.
    Addresses: one per flow first (its own source MAC), then one per node, then one per port.
    """

    def __init__(self, plan: Plan, *, as_written: bool = False) -> None:
        plan = plan if as_written else in_row_order(plan)
        self.nodes = {name: row for row, name in enumerate(plan.nodes)}
        order = sorted(plan.ports(), key=lambda port: self.nodes[port.node])  # a node's in one row
        self.ports = {port.entity: port for port in order}
        self.ports_of: dict[str, list[Port]] = {}
        for port in order:
            self.ports_of.setdefault(port.node, []).append(port)
        self.port_rows = {entity: row for row, entity in enumerate(self.ports)}
        at_switch = [e for e, p in self.ports.items() if isinstance(plan.nodes[p.node], Switch)]
        at_host = [e for e, p in self.ports.items() if p.node in forwarding_hosts(plan)]
        with_inputs = [port.input for e in at_switch if _has_inputs(plan, port := self.ports[e])]
        self.lanes = plan.lanes()
        holders = [*at_switch, *at_host, *with_inputs]
        self.buffers = {e: [e + lane.suffix for lane in self.lanes] for e in holders}
        self.queues = {
            e: row for row, e in enumerate(e for es in self.buffers.values() for e in es)
        }
        self.inputs = {entity: row for row, entity in enumerate(with_inputs)}
        self.port_of = {e: port for port in order for e in (port.entity, port.input)}
        every = [name for mine in plan.limiters().values() for name in mine]
        self.limiters = {name: row for row, name in enumerate(every)}
        flows = plan.flows()
        copies = [flow.at(member) for flow in flows for member in flow.members]
        named = [*(flow.entity for flow in flows), *copies]
        self.flows = {name: row for row, name in enumerate(named)}
        """Multicast: what each member receives has a row behind those of the flows."""
        self.groups = {entry: row for row, entry in enumerate(plan.traffic)}
        self.directions = {way.entity: way for way in plan.directions()}
        self.first_node_address = len(flows)
        self.first_port_address = self.first_node_address + len(self.nodes)
        first = self.first_port_address + len(self.ports)
        trees = dict.fromkeys(tree_of(flow) for flow in flows if flow.members)
        self.trees = {key: GROUP | (first + row) for row, key in enumerate(trees)}
        """Address index of every multicast tree."""
        self.addresses = first + len(self.trees)

    def node_address(self, name: str) -> int:
        """Address index of a node."""
        return self.first_node_address + self.nodes[name]

    def port_address(self, entity: str) -> int:
        """Address index of a port."""
        return self.first_port_address + self.port_rows[entity]

    def sender(self, direction: str) -> int:
        """Row of the port that sends in a link direction."""
        return self.port_rows[self.directions[direction].sender.entity]


def tree_of(flow: Flow) -> tuple[str, str]:
    """Key of a multicast tree: the traffic entry's node and the group.

    Entries that send from one node over different links have a tree each.
    """
    return f"{flow.entry}/{flow.node}", flow.destination


def _has_inputs(plan: Plan, port: Port) -> bool:
    node = plan.nodes[port.node]
    return isinstance(node, Switch) and node.inputs is not None


def is_end(plan: Plan, node: str) -> bool:
    """True if frames can be addressed to this node."""
    return not isinstance(plan.nodes[node], Switch)
