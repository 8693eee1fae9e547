"""Selection of timestamp sources by the capabilities of a run's ports.

Called in the worker, which has made the ports: they are asked themselves what they can do.
"""

from __future__ import annotations

from orchestrator.errors import Refused
from orchestrator.live.datapath_options import NIC_STAMPS, STAMPS_AUTO
from orchestrator.targets.software import etf_qdisc, nic_capabilities
from orchestrator.targets.software.backend_selection import BackendChoice
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines

NICS = (
    "NICs of a testbed ([machines.NAME] with {key} in the inventory, `tailback doctor` on its "
    "machines tells which can)"
)


def resolve_timestamps(carried: BackendChoice, machines: Machines) -> BackendChoice:
    """Choice with the timestamps that its ports support. Raises Refused for hardware timestamps, or
    launch times, that they lack."""
    if carried.stamps not in (NIC_STAMPS, STAMPS_AUTO) and not carried.launch:
        return carried
    if carried.stamps in (NIC_STAMPS, STAMPS_AUTO):
        lack = lack_of_times(machines)
        if carried.stamps == NIC_STAMPS:
            raise Refused(
                WHO,
                f"hardware times (--stamps hardware): {lack}",
                "Accepted here: --stamps software, or auto. Hardware times are for "
                + NICS.format(key='stamps = "hardware"')
                + ".",
            )
        carried = carried.with_words(why=lack)
    if carried.launch:
        raise Refused(
            WHO,
            f"launch times (--launch): {lack_of_launches(machines)}",
            "Accepted here: without --launch. Launch times are for "
            + NICS.format(key="launch = true")
            + ".",
        )
    return carried


def lack_of_times(machines: Machines) -> str:
    """Why the veth pairs of these machines tell no hardware times, naming the first port."""
    name, port = first_port(machines)
    with machines.inside(name):
        lacks = nic_capabilities.lacking(port)
    return f"{port} of {name}, a veth, has no {', no '.join(lacks or ['NIC behind it'])}"


def lack_of_launches(machines: Machines) -> str:
    """Why they launch no frames; the kernel is asked for the queue that does."""
    name, port = first_port(machines)
    with machines.inside(name):
        lack = etf_qdisc.lack(FIRST_INTERFACE)
    return f"{port} of {name}, a veth, has no launch times: {lack or 'its driver has no clock'}"


def first_port(machines: Machines) -> tuple[str, str]:
    """A machine with a port, and the port's name."""
    name = next(name for name, machine in machines.machines.items() if machine.peers)
    return name, "p0"
