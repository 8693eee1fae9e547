"""Distributed run: lease, probe, deploy, start, watch, collect, release."""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.engine.datapath.emulation_clock import NS_PER_US, REAL_TIME
from orchestrator.engine.frames.header_options import DEFAULT
from orchestrator.errors import Refused
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software.dut.address_resolution import is_router
from orchestrator.targets.software.dut.dut_setup import behind, longest_of
from orchestrator.targets.software.dut.rx_sockets import addressed_to
from orchestrator.targets.software.worker_stages import COLLECTED, ENDED, READY
from orchestrator.testbed.agent.agent_messages import (
    Announce,
    Announced,
    Deploy,
    Fault,
    HeartbeatReply,
    OfLease,
    Probe,
    Start,
)
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.controller.cable_probes import DeviceProber, all_arrived, cable_faults
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.controller.deployment import Share, shares
from orchestrator.testbed.controller.node_placement import Mapping, map_plan
from orchestrator.testbed.controller.run_lifecycle import (
    LEASING_S,
    LOOK_S,
    LeasedRun,
    RunEnded,
    gather_all,
)
from orchestrator.testbed.controller.timestamping import TimestampPlan, plan_timestamps
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.clock_offset import Estimate

LEAD_S, LONGEST_LEAD_S = 0.5, 30.0
"""From the agreement on the start to the start: at least, and at most. Where machines are busy it
is as long as the last burst of exchanges took: the order to start takes a fraction of that."""
START_RETRY_S = 0.1
"""The order to start is of no use any more after the start: it is repeated sooner than others."""
BURST = 12
"""Exchanges of clocks with each machine before and after the run."""
PROBE_S = 1.5
PREPARING_S = 600.0
"""Several agents of one busy machine may all have to compile."""
COLLECTING_S = 120.0
GRACE_S = 60.0
"""Beyond the plan's duration, before a run that does not end is given up. A clock that is held
back on a busy machine makes a run longer: `SLOWEST` times as long is still waited for. (A data path
that has died is known at once.)"""
SLOWEST = 500


class DistributedRun(LeasedRun):
    """See the module."""

    def __init__(
        self,
        number: str,
        resolved: ResolvedPlan,
        bed: Testbed,
        peers: dict[str, Peer],
        pace: float = 1.0,
    ) -> None:
        super().__init__(number, resolved, peers, bed.name)
        self.bed = bed
        self.speed = round(pace * REAL_TIME)
        """Leases, deadlines and the start are in real time."""
        self.mapping: Mapping | None = None
        self.shares: list[Share] = []
        self.timing: dict[str, TimestampPlan] = {}
        self.epoch_ns = 0
        self.begun: dict[str, Estimate] = {}
        """Those that the start was translated by."""
        self.interfaces: dict[str, dict[str, dict[str, int]]] = {}

    async def _body(self, folder: Path) -> None:
        self._say("mapping")
        up = [name for name, peer in self.peers.items() if peer.state == "up"]
        self.mapping = self._map(up)
        offers = {name: peer.offer for name in up if (peer := self.peers[name]).offer is not None}
        self.shares = shares(self.resolved.plan, self.mapping, offers)
        self._check_offers()
        self.timing = {
            one.machine: plan_timestamps(
                *(one, self.bed.machines[one.machine], offers[one.machine]),
                *(self.resolved, self.speed),
            )
            for one in self.shares
        }
        self._say("leasing")
        await gather_all(
            self._take(
                one.machine, self._nics(one.machine), **self.timing[one.machine].lease_fields
            )
            for one in self.shares
        )
        await self._until("leased", LEASING_S)
        self._say("probing")
        await self._probe()
        await self._probe_devices()
        self._say("deploying")
        await self._deploy()
        await self._until(READY, PREPARING_S)
        self._say("starting")
        await self._start()
        self._say("running")
        await self._until(ENDED, SLOWEST * self._lasts_ns() / 1e9 + GRACE_S)
        self._say("collecting")
        await self._burst()
        await gather_all(
            self._ask(machine, "collect", OfLease(lease=lease))
            for machine, lease in self.leases.items()
        )
        await self._until(COLLECTED, COLLECTING_S)
        for machine in self.leases:
            pulse = self.peers[machine].pulse
            assert pulse is not None
            self.interfaces[machine] = pulse.interfaces
            await self._fetch_all(machine, folder)

    def _map(self, up: list[str]) -> Mapping:
        """Raises Refused for a plan that does not fit the testbed, Ended where it is only that
        agents do not answer."""
        try:
            return map_plan(self.resolved.plan, self.bed, up)
        except Refused as lack:
            map_plan(self.resolved.plan, self.bed, list(self.bed.machines))
            raise RunEnded(str(lack)) from None

    def _check_offers(self) -> None:
        """Raises Refused for a machine that cannot do what its nodes need."""
        longest = max((entry.frame for entry in self.resolved.plan.traffic.values()), default=64)
        plan = self.resolved.plan
        rates = {port.entity: plan.links[port.link].rate for port in plan.ports()}
        for share in self.shares:
            offer = self.peers[share.machine].offer
            assert offer is not None
            who = f"agent {share.machine}"
            nics = {nic.name: nic for nic in offer.nics}
            if share.ports and not offer.may.get("packet sockets"):
                raise Refused(who, "may not open packet sockets", "Start it as root.")
            for port, name in share.ports.items():
                nic = nics.get(name)
                if nic is None:
                    known = ", ".join(nics) or "none"
                    raise Refused(who, f"has no NIC {name} (it has: {known})", "See testbed.toml.")
                if nic.speed_mbps is not None and nic.speed_mbps * 10**6 < rates[port]:
                    raise Refused(
                        who,
                        f"NIC {name} is a {nic.speed_mbps} Mb/s link, and {port} is to send at "
                        f"{rates[port] / 1e6:g} Mb/s",
                        "Use a faster NIC, or a slower link in the plan.",
                    )
                if nic.mtu is not None and longest - 14 > nic.mtu:
                    raise Refused(
                        who,
                        f"NIC {name} has an MTU of {nic.mtu}, and frames of {longest} octets need "
                        f"{longest - 14}",
                        f"`ip link set {name} mtu {longest - 14}` on it.",
                    )

    def _nics(self, machine: str) -> list[str]:
        """The NICs that the plan needs, and all that the testbed has cables for: a probe that goes
        the wrong way arrives there."""
        assert self.mapping is not None
        offer = self.peers[machine].offer
        there = [nic.name for nic in offer.nics] if offer else []
        ends = [end for cable in self.bed.cables.values() for end in cable.split()]
        known = [end for ports in self.bed.external_ports.values() for end in ports.values()]
        ends += [(one.partition(":")[0], one.partition(":")[2]) for one in known if ":" in one]
        spare = [nic for where, nic in ends if where == machine and nic in there]
        return list(dict.fromkeys([*self.mapping.nics(machine), *spare]))

    async def _probe(self) -> None:
        assert self.mapping is not None
        used = self.mapping.cables.values()
        cables = {name: self.bed.cables[name].split() for name in used}
        if not cables:
            return
        nonce = secrets.token_hex(8)
        await self._received_probes(nonce)  # from here on every machine receives probes
        end = time.monotonic() + PROBE_S
        probes: dict[str, list[tuple[str, str, str]]] = {}
        while True:
            await gather_all(
                self._ask(machine, "probe", Probe(lease=lease, nonce=nonce))
                for machine, lease in self.leases.items()
            )
            for machine, rows in (await self._received_probes(nonce)).items():
                probes[machine] = sorted({*probes.get(machine, []), *rows})
            if all_arrived(cables, probes) or time.monotonic() > end:
                break
            await asyncio.sleep(LOOK_S)
        if wrong := cable_faults(cables, probes):
            raise RunEnded("; ".join(wrong))

    async def _probe_devices(self) -> None:
        """Raises Refused, naming every cable to a device that is not as the plan has it."""
        assert self.mapping is not None
        found = self.mapping.devices
        if found and self.resolved.plan.headers.options().tags != DEFAULT.tags:
            raise Refused(
                "controller",
                "machines of a testbed probe devices by frames of VLAN 1 alone",
                "Remedy: headers with that tag, or the device's ports on one machine (--external).",
            )
        if routers := [one for one in found if is_router(self.resolved.plan, one.device)]:
            raise Refused(
                "controller",
                f"{routers[0].device} is a router, and machines of a testbed resolve no next hop",
                "Remedy: the router's ports on one machine (--external).",
            )
        if found:
            ask = {m: partial(self._ask_of, m, lease) for m, lease in self.leases.items()}
            await DeviceProber(found, behind(self.resolved.plan, found), ask).check(
                longest_of(self.resolved, found)
            )

    async def _ask_of(
        self, machine: str, lease: str, kind: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        model = Announce if kind == "announce" else Announced
        answer, _ = await self._ask(machine, kind, model(lease=lease, **body))
        return answer

    async def _received_probes(self, nonce: str) -> dict[str, list[tuple[str, str, str]]]:
        async def probe_machine(machine: str, lease: str) -> tuple[str, list[tuple[str, str, str]]]:
            body, _ = await self._ask(machine, "probes", Probe(lease=lease, nonce=nonce))
            rows = body.get("probes", [])
            return machine, [(row["nic"], row["machine"], row["sender"]) for row in rows]

        return dict(await gather_all(probe_machine(*item) for item in self.leases.items()))

    async def _deploy(self) -> None:
        text = self.resolved.plan.to_toml()
        holders: dict[str, list[int]] = {}
        for share in self.shares:
            pace = share.pace.model_copy(update={"holder": holders.get(share.kernel)})
            asked = Deploy(
                lease=self.leases[share.machine],
                plan=text,
                nodes=share.nodes,
                ports=share.ports,
                hears=self._receive_addresses(share),
                threads=share.threads,
                pace=pace,
                ps_per_us=self.speed,
                stamps=self.timing[share.machine].stamps,
                launch=self.timing[share.machine].launch,
                why=self.timing[share.machine].why,
            )
            body, _ = await self._ask(share.machine, "deploy", asked)
            holders.setdefault(share.kernel, [int(word) for word in body["pace"]])

    def _receive_addresses(self, share: Share) -> dict[str, list[list[int]]]:
        """Receive addresses of a machine's nodes that are cabled to DUTs."""
        assert self.mapping is not None
        plan = self.resolved.plan
        near = {cable.ours.partition(".")[0] for cable in self.mapping.devices}
        addressed = {node: addressed_to(plan, node) for node in share.nodes if node in near}
        return {
            node: [[low, high] for low, high in ranges]
            for node, ranges in addressed.items()
            if ranges is not None
        }

    async def _burst(self) -> None:
        """A few exchanges in quick succession with every machine: the tightest of them counts."""
        for _ in range(BURST):
            await gather_all(self.peers[machine].beat(within_s=5.0) for machine in self.leases)
        for machine in self.leases:
            until = self.start_ns + self._lasts_ns()
            estimate = self.peers[machine].comparison.estimate(until)
            if estimate is None:
                raise RunEnded(f"agent {machine}: its clock could not be read")
            self.estimates[machine] = estimate

    async def _start(self) -> None:
        began = time.monotonic()
        await self._burst()
        lead_s = min(max(LEAD_S, time.monotonic() - began), LONGEST_LEAD_S)
        self.begun = dict(self.estimates)
        self.start_ns = time.monotonic_ns() + int(lead_s * 1e9)
        self.epoch_ns = time.time_ns() - time.monotonic_ns() + self.start_ns

        async def start_share(share: Share) -> None:
            estimate = self.estimates[share.machine]
            asked = Start(
                lease=self.leases[share.machine],
                at_ns=estimate.theirs(self.start_ns),
                rate_ppb=-estimate.drift_ppb,
                faults=self._faults(share.machine),
            )
            asker = self.peers[share.machine].asker
            await asker.ask("start", asked, within_s=30.0, retry_s=START_RETRY_S)

        await gather_all(start_share(share) for share in self.shares)

    def retiming(self, machine: str) -> ClockCorrection:
        """Correction of a machine's capture times to our clock, after the run."""
        begun, known = self.begun[machine], self.estimates[machine]
        return ClockCorrection.of(begun, known, self.start_ns, self.speed)

    def _failure(self, machine: str, pulse: HeartbeatReply) -> Exception:
        """A NIC that was found not to have what the inventory asks for: the run is refused."""
        if self.stage == "leasing" and pulse.code == Refused.exit_code:
            remedy = f"Take stamps or launch out of machines.{machine} in the inventory."
            return Refused(f"agent {machine}", pulse.cause, remedy)
        return super()._failure(machine, pulse)

    def _lasts_ns(self) -> int:
        """Duration by our clock (ns), when the run's clock is never held back."""
        return self.resolved.plan.duration * NS_PER_US // self.speed

    @property
    def pace(self) -> float:
        """Seconds of the run per second."""
        return self.speed / REAL_TIME

    def _faults(self, machine: str) -> list[Fault]:
        """The failures of the timeline that this machine's agent is to bring about."""
        assert self.mapping is not None
        found = []
        plan = self.resolved.plan
        for action in self.resolved.actions:
            if action.kind != "fault":
                continue
            after_ns = action.at * NS_PER_US // self.speed
            if action.verb == "cut_link":
                port = next(
                    way.sender.entity
                    for way in plan.directions()
                    if way.link == action.key and way.sender.forward
                )
                where, nic = self.mapping.ports.get(port, ("", ""))
                if where == machine:
                    found.append(Fault(after_ns=after_ns, verb="cut_link", nic=nic))
            elif self.mapping.machines[action.key] == machine:
                delay = action.values.get("delay", 0) // 10**9
                verb: Any = action.verb
                found.append(Fault(after_ns=after_ns, verb=verb, delay_ms=delay))
        return found
