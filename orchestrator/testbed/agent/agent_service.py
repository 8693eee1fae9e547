"""Request handlers of an agent: leases, nodes, results. Without a socket or an event loop."""

from __future__ import annotations

import os
import platform
import secrets
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from orchestrator import __version__
from orchestrator.run import machine_info
from orchestrator.testbed.agent import agent_messages, clock_sync_status, nic_claims
from orchestrator.testbed.agent.lease import ActiveLease
from orchestrator.testbed.agent.lease_journal import Journal
from orchestrator.testbed.agent.pci_cards import cards
from orchestrator.testbed.curve_keys import ADMINISTER, WATCH, Caller
from orchestrator.testbed.wire.chunked_transfer import cut
from orchestrator.testbed.wire.envelope import Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.rpc_server import Handler, Reply

Done: Reply = ({}, None)
LEASES, LEASES_OF_ONE, WORKERS = 32, 8, 16
"""In force at once: of all keys, of one, and data-path processes. One for each processor is plenty;
beyond that a faulty or hostile controller would only exhaust the machine."""


class Agent:
    """Agent of one machine. `name` is the machine's name in its offer; `kept` the names of its
    capabilities."""

    def __init__(self, name: str, state: Path, kept: list[str], say: Callable[[str], None]) -> None:
        self.name, self._kept, self._say = name, kept, say
        self.boot = secrets.token_hex(8)
        self._journal = Journal(state)
        self.left_over = self._journal.recover()
        for sentence in self.left_over:
            say(f"left over by a predecessor: {sentence}")
        self.holds: dict[str, str] = {}
        """Targets in its offer; set before the first request."""
        self.leases: dict[str, ActiveLease] = {}
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="nics")
        self._gone: dict[str, str] = {}
        self.delay: Callable[[str, float], None] = lambda owner, seconds: None
        """What delay_control does to one key's answers; the server of this agent sets it."""

    def handlers(self) -> dict[str, Handler]:
        """Handler of each kind of request."""
        return {
            "hello": Handler(agent_messages.Hello, self._hello, reads=True, role=WATCH),
            "force": Handler(agent_messages.Force, self._force, role=ADMINISTER),
            "beat": Handler(agent_messages.Heartbeat, self._beat, reads=True),
            "lease": Handler(agent_messages.Lease, self._lease),
            "probe": Handler(agent_messages.Probe, self._probe),
            "probes": Handler(agent_messages.Probe, self._probes_received),
            "announce": Handler(agent_messages.Announce, self._announce),
            "announced": Handler(agent_messages.Announced, self._announced),
            "deploy": Handler(agent_messages.Deploy, self._deploy),
            "hold": Handler(agent_messages.Hold, self._hold),
            "start": Handler(agent_messages.Start, self._start),
            "change": Handler(agent_messages.Change, self._change),
            "halt": Handler(agent_messages.OfLease, self._halt),
            "collect": Handler(agent_messages.OfLease, self._collect),
            "fetch": Handler(agent_messages.Fetch, self._fetch, reads=True),
            "release": Handler(agent_messages.OfLease, self._release),
        }

    def offer(self) -> agent_messages.Offer:
        """Resources and permissions of this machine."""
        held = {nic: lease for lease, mine in self.leases.items() for nic in mine.asked.nics}
        found = [n.model_copy(update={"lease": held.get(n.name)}) for n in nic_claims.survey()]
        return agent_messages.Offer(
            machine=self.name,
            version=__version__,
            boot=self.boot,
            kernel=machine_info.read_text("/proc/sys/kernel/random/boot_id") or platform.node(),
            time_namespace=link("/proc/self/ns/time"),
            system=f"{platform.system()} {platform.release()}",
            processor=machine_info.processor(),
            cores=machine_info.cores() or 1,
            memory_bytes=machine_info.memory_bytes(),
            nics=found,
            cards=cards(),
            may={
                "packet sockets": "net_raw" in self._kept,
                "settings of NICs": "net_admin" in self._kept,
                "priority": "sys_nice" in self._kept,
            },
            privileges=self._kept,
            clock=clock_sync_status.read(),
            holds=self.holds,
            left_over=self.left_over,
        )

    def expire(self, now_s: float) -> None:
        """End the leases that were not renewed in time."""
        for lease, held in list(self.leases.items()):
            if held.until_s < now_s:
                self._say(
                    f"lease {lease}: {held.asked.controller} was silent for "
                    f"{held.patience_s:g} s; torn down"
                )
                self._end(lease, "expired: its controller was silent for too long")

    def close(self) -> None:
        """End everything."""
        for lease in list(self.leases):
            self._end(lease, "the agent ended")
        self._hands.shutdown(wait=True)
        self._journal.close()

    def _hello(self, peer: Caller, request: Request, body: WireMessage) -> Reply:
        return self.offer().model_dump(), None

    def _beat(self, peer: Caller, request: Request, body: agent_messages.Heartbeat) -> Reply:
        received = time.monotonic_ns()
        details: dict[str, Any] = {}
        rows: tuple[agent_messages.Rows, bytes] | None = None
        if body.lease is not None:
            held = self._find(peer, body.lease, renew=True)
            details = {
                "state": held.state,
                "events": [e for e in held.events if e.number > body.events_after][-50:],
                "files": held.files,
                "interfaces": held.interfaces,
                "cause": held.failure,
                "code": held.code,
            }
            if held.hosting is not None:
                details |= {
                    "stage": held.hosting.stage,
                    "detail": held.hosting.detail,
                    "done": held.hosting.done,
                    "code": held.code or held.hosting.code,
                    "cause": held.failure or held.hosting.cause,
                    "changes": list(held.hosting.changes),
                }
                if body.rows_after is not None:
                    rows = held.hosting.rows(body.rows_after)
        pulse = agent_messages.HeartbeatReply(
            received_ns=received,
            answered_ns=time.monotonic_ns(),
            boot=self.boot,
            leases=len(self.leases),
            rows=rows[0] if rows else None,
            **details,
        )
        return pulse.model_dump(), rows[1] if rows else None

    def _lease(self, peer: Caller, request: Request, body: agent_messages.Lease) -> Reply:
        if body.lease in self.leases or body.lease in self._gone:
            raise Unacceptable("lease", "a lease of that name was there before")
        if len(self.leases) >= LEASES:
            raise Unacceptable("busy", f"{LEASES} leases are in force here, more are not given")
        if sum(held.owner == peer for held in self.leases.values()) >= LEASES_OF_ONE:
            raise Unacceptable("busy", f"a key has {LEASES_OF_ONE} leases here, more are not given")
        for lease, held in self.leases.items():
            if held.owner != peer and held.doomed:
                raise Unacceptable(
                    "doomed", f"the run of lease {lease} ends this agent before long (kill_agent)"
                )
            if taken := sorted(set(held.asked.nics) & set(body.nics)):
                raise Unacceptable(
                    "nic-held",
                    f"NIC {taken[0]} is held by controller {held.asked.controller} (lease {lease})",
                )
        held = self.leases[body.lease] = ActiveLease(
            body, peer, self.name, self._journal, self._hands
        )
        held.on_fault = lambda fault: self._fault(peer, fault)
        self._say(f"lease {body.lease}: {', '.join(body.nics) or 'no NIC'} to {body.controller}")
        return Done

    def _fault(self, owner: str, fault: agent_messages.Fault) -> None:
        if fault.verb == "kill_agent":
            os.kill(os.getpid(), signal.SIGKILL)
        self.delay(owner, fault.delay_ms / 1000)

    def _probe(self, peer: Caller, request: Request, body: agent_messages.Probe) -> Reply:
        return {"sent": self._find(peer, body.lease).probe(body.nonce)}, None

    def _probes_received(self, peer: Caller, request: Request, body: agent_messages.Probe) -> Reply:
        found = self._find(peer, body.lease).probes_received(body.nonce)
        return {"probes": [probe.model_dump() for probe in found]}, None

    def _announce(self, peer: Caller, request: Request, body: agent_messages.Announce) -> Reply:
        return {"sent": self._find(peer, body.lease).announce(body)}, None

    def _announced(self, peer: Caller, request: Request, body: agent_messages.Announced) -> Reply:
        found = self._find(peer, body.lease).announced(body.nonce)
        return {"arrived": [one.model_dump() for one in found]}, None

    def _deploy(self, peer: Caller, request: Request, body: agent_messages.Deploy) -> Reply:
        held = self._find(peer, body.lease)
        if sum(mine.hosting is not None for mine in self.leases.values()) >= WORKERS:
            raise Unacceptable("busy", f"{WORKERS} data paths run here, more are not started")
        hosting = held.deploy(body)
        return {"pace": [os.getpid(), hosting.pace]}, None

    def _hold(self, peer: Caller, request: Request, body: agent_messages.Hold) -> Reply:
        held = self._find(peer, body.lease)
        if lack := self.holds.get(body.target, f"target {body.target}: there is none of that name"):
            raise Unacceptable("target", lack)
        for lease, other in self.leases.items():
            if other is not held and other.holds_all:
                raise Unacceptable(
                    "busy",
                    f"it runs a plan of controller {other.asked.controller} already (lease "
                    f"{lease}), and one at a time",
                )
        held.hold(body)
        return Done

    def _start(self, peer: Caller, request: Request, body: agent_messages.Start) -> Reply:
        held = self._find(peer, body.lease)
        others = [lease for lease, mine in self.leases.items() if mine.owner != peer]
        if others and any(fault.verb == "kill_agent" for fault in body.faults):
            raise Unacceptable(
                "others", f"kill_agent would end lease {others[0]}, which is another controller's"
            )
        held.start(body)
        return Done

    def _change(self, peer: Caller, request: Request, body: agent_messages.Change) -> Reply:
        self._find(peer, body.lease).running().change(body)
        return Done

    def _halt(self, peer: Caller, request: Request, body: agent_messages.OfLease) -> Reply:
        self._find(peer, body.lease).running().halt()
        return Done

    def _collect(self, peer: Caller, request: Request, body: agent_messages.OfLease) -> Reply:
        self._find(peer, body.lease).collect()
        return Done

    def _fetch(self, peer: Caller, request: Request, body: agent_messages.Fetch) -> Reply:
        chunk, octets = cut(self._find(peer, body.lease).path(body.name), body.offset)
        return chunk.model_dump(), octets

    def _release(self, peer: Caller, request: Request, body: agent_messages.OfLease) -> Reply:
        if body.lease in self.leases:
            self._find(peer, body.lease)
            self._end(body.lease, "released")
            self._say(f"lease {body.lease}: released")
        else:
            self._remember(body.lease, "released before it was taken")
        return Done

    def _force(self, peer: Caller, request: Request, body: agent_messages.Force) -> Reply:
        """End leases that are another's, by the lease, its controller, its key's name or a NIC."""
        wanted = [
            lease
            for lease, held in self.leases.items()
            if body.name in (lease, held.asked.controller, held.owner.name, *held.asked.nics)
        ]
        if not wanted:
            raise Unacceptable("no-lease", f"nothing here is held by, or called, {body.name}")
        for lease in wanted:
            self._say(f"lease {lease}: released by force, by {peer.name}")
            self._end(lease, f"released by force, by {peer.name}")
        return {"released": wanted}, None

    def _find(self, peer: str, lease: str, renew: bool = False) -> ActiveLease:
        held = self.leases.get(lease)
        if held is None:
            why = self._gone.get(lease, "there is none of that name")
            raise Unacceptable("no-lease", f"no lease {lease}: {why}")
        if held.owner != peer:
            raise Unacceptable("not-yours", f"lease {lease} is another controller's")
        if renew:
            held.renew()
        return held

    def _end(self, lease: str, why: str) -> None:
        held = self.leases.pop(lease)
        self._remember(lease, why)
        held.close()
        if not any(mine.owner == held.owner for mine in self.leases.values()):
            self.delay(held.owner, 0.0)

    def _remember(self, lease: str, why: str) -> None:
        self._gone[lease] = why
        while len(self._gone) > 1000:
            self._gone.pop(next(iter(self._gone)))


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
