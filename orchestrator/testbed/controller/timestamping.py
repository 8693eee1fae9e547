"""Timestamp sources and launch times of each machine of a distributed run.

The inventory asks, the agent's offer says what its NICs have: what they lack is refused before
anything is leased, and `auto` falls back to the kernel's times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from orchestrator.engine.datapath.emulation_clock import NS_PER_US
from orchestrator.engine.datapath.launch_time import LEAD_NS
from orchestrator.errors import Refused
from orchestrator.live.datapath_options import NIC_STAMPS, STAMPS_AUTO
from orchestrator.plan import ResolvedPlan
from orchestrator.testbed.agent.agent_messages import Nic, Offer
from orchestrator.testbed.controller.deployment import Share
from orchestrator.testbed.inventory import MachineEntry

NEEDED = ("receive by hardware", "transmit by hardware", "hardware clock")
"""Of `Nic.timestamping`."""


@dataclass(frozen=True)
class TimestampPlan:
    """Timestamp set-up of one machine; `why`: the reason for kernel timestamps where `auto` was
    requested."""

    stamps: Literal["software", "hardware"] | None = None
    launch: bool = False
    nics: list[str] = field(default_factory=list)
    why: str | None = None

    @property
    def lease_fields(self) -> dict[str, list[str]]:
        """For the lease: which NICs are to take times, which to launch frames."""
        return {
            "stamps": self.nics if self.stamps == NIC_STAMPS else [],
            "launches": self.nics if self.launch else [],
        }


def plan_timestamps(
    share: Share, entry: MachineEntry, offer: Offer, resolved: ResolvedPlan, speed: int
) -> TimestampPlan:
    """Timestamp set-up of a machine's nodes, at `speed` ps of the run per us. Raises Refused, by
    name, for capabilities that its NICs or links lack."""
    nics = list(dict.fromkeys(share.ports.values()))
    if entry.launch:
        _check_lines(share, resolved, LEAD_NS * speed // NS_PER_US)
    launch = entry.launch and bool(nics)
    if entry.stamps not in (NIC_STAMPS, STAMPS_AUTO):
        return TimestampPlan(entry.stamps, launch, nics)  # type: ignore[arg-type]
    lack = _lack({nic.name: nic for nic in offer.nics}, nics)
    if lack is None:
        return TimestampPlan("hardware", launch, nics)
    if entry.stamps == NIC_STAMPS:
        remedy = f'Accepted there: stamps = "software", or "auto", in machines.{share.machine}.'
        raise Refused(f"agent {share.machine}", lack, remedy)
    return TimestampPlan("software", launch, nics, lack)


def _lack(known: dict[str, Nic], nics: list[str]) -> str | None:
    """Capabilities that the NICs lack for hardware timestamps; None: none."""
    if not nics:
        return "no node's link leads over a NIC here"
    for name in nics:
        nic = known[name]
        lacks = [what for what in NEEDED if what not in nic.timestamping]
        lacks += ["PTP clock"] if nic.ptp_clock is None else []
        if lacks:
            return f"NIC {name} ({nic.driver or 'driver unknown'}) has no {', no '.join(lacks)}"
    return None


def launched_links(share: Share, resolved: ResolvedPlan) -> list[str]:
    """The links whose frames a machine's NICs launch, where they do."""
    return [port.link for port in resolved.plan.ports() if port.entity in share.ports]


def _check_lines(share: Share, resolved: ResolvedPlan, lead: int) -> None:
    """Raises Refused for links whose frames cannot be handed over `lead` ps ahead of their
    times."""
    plan = resolved.plan
    changed = [action.key for action in resolved.actions if action.verb == "set"]
    for name in launched_links(share, resolved):
        link = plan.links[name]
        least = link.delay if link.delay_back is None else min(link.delay, link.delay_back)
        if not resolved.is_fixed(name):
            lines = ", ".join(use.algorithm.name for use in resolved.stages(name))
            lack = f"link {name} has the delay line {lines}: launches want a fixed one"
        elif any(key.startswith(f"links.{name}.delay") for key in changed):
            lack = f"the delay of link {name} changes, and that of launched frames cannot"
        elif least < lead:
            lack = (
                f"link {name} has a delay of {least / 1e6:g} us, and frames are handed to a NIC "
                f"{lead / 1e6:g} us before they are launched"
            )
        else:
            continue
        remedy = f"Take launch out of machines.{share.machine}, or change the link."
        raise Refused(f"agent {share.machine}", lack, remedy)
