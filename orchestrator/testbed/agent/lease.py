"""Lease of an agent: its NICs, its worker, its expiry."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import Refused
from orchestrator.targets.software.worker_stages import COLLECT, COLLECTED, ENDED, READY, RUNNING
from orchestrator.testbed.agent import ethtool, probe_frames
from orchestrator.testbed.agent.agent_messages import (
    Announce,
    Arrived,
    Deploy,
    Event,
    Fault,
    Hold,
    Lease,
    ProbeReceived,
    Start,
)
from orchestrator.testbed.agent.lease_journal import Journal, started
from orchestrator.testbed.agent.nic_claims import Claim, check
from orchestrator.testbed.agent.node_worker import NodeWorker
from orchestrator.testbed.agent.worker_supervisor import PlanWorker
from orchestrator.testbed.curve_keys import Caller
from orchestrator.testbed.wire.chunked_transfer import Listed, listed
from orchestrator.testbed.wire.envelope import Unacceptable

EVENTS = 1000
"""That are remembered per lease."""
ACTIVE_SHARE = 0.8
"""The part of a lease's time after which silence ends it: tearing down takes the rest, so that
nothing is left when the lease is over."""
RESULT_FILES = {"numbers": "part.npz", "words": "part.json"}
"""Names on the list of results, and the files behind them."""


class ActiveLease:
    """Lease in force. Make it, use it, `close` it: no resource is left then."""

    def __init__(
        self, asked: Lease, owner: Caller, machine: str, journal: Journal, hands: Executor
    ) -> None:
        self.asked, self.owner, self._machine, self._journal = asked, owner, machine, journal
        self.until_s = 0.0
        self.renew()
        self.events: list[Event] = []
        self.hosting: NodeWorker | PlanWorker | None = None
        self.files: list[Listed] = []
        self.interfaces: dict[str, dict[str, int]] = {}
        self.on_fault: Callable[[Fault], None] = lambda fault: None
        self.doomed = False
        """Whether its run is going to end this agent."""
        self._said_stage = ""
        self._timers: list[asyncio.TimerHandle] = []
        self._before: dict[str, dict[str, int]] = {}
        self._claims: list[Claim] = []
        self._ear: object = None
        self._hands = hands
        self.failure, self.code = "", 0
        for nic in asked.nics:
            check(nic)
        journal.note(asked.lease, nics={})
        self._prepared = not asked.nics
        if asked.nics:
            hands.submit(self._prepare)
        self.say(f"leased to {asked.controller}: {', '.join(asked.nics) or 'no NIC'}")

    def _prepare(self) -> None:
        """Claim the NICs and set them up. Every setting takes the kernel tens of milliseconds, and
        the agent has other leases to look after: so it is done aside, one lease at a time."""
        try:
            for nic in self.asked.nics:
                stamps, launches = nic in self.asked.stamps, nic in self.asked.launches
                self._claims.append(Claim.make(nic, stamps, launches))
            before = {claim.name: claim.before for claim in self._claims}
            self._journal.note(self.asked.lease, nics=before)
            for claim in self._claims:
                claim.prepare()
            self._prepared = True
        except Unacceptable as no:
            self.failure = no.sentence
            if no.code in ("stamps", "launch"):
                self.code = Refused.exit_code
        except OSError as error:
            self.failure = f"NICs cannot be set up: {error.strerror}"

    @property
    def state(self) -> str:
        """State of the lease; see messages.Pulse."""
        if self.failure:
            return "failed"
        if self.hosting is None:
            return "leased" if self._prepared else "leasing"
        stage = self.hosting.stage
        return stage if stage in (READY, RUNNING, ENDED, COLLECTED, "failed") else "deploying"

    def renew(self) -> None:
        """Restart the expiry timer."""
        self.until_s = time.monotonic() + self.patience_s

    @property
    def patience_s(self) -> float:
        """Time for which the lease lives without a message of its controller (s)."""
        return ACTIVE_SHARE * self.asked.ttl_ms / 1000

    def say(self, sentence: str) -> None:
        """Record an event."""
        number = self.events[-1].number + 1 if self.events else 1
        self.events.append(Event(number=number, at_ns=time.monotonic_ns(), text=sentence[:500]))
        del self.events[:-EVENTS]

    def probe(self, nonce: str) -> int:
        """Send probes out of every NIC, and receive those of other machines from now on."""
        self.listen()
        for claim in self._claims:
            with suppress(OSError):  # a NIC that is down sends nothing, and the far end says so
                octets = probe_frames.probe(nonce, self._machine, claim.name)
                self._ear.sendto(octets, (claim.name, 0))  # type: ignore[attr-defined]
        return len(self._claims)

    def listen(self) -> None:
        """Open the probe socket."""
        if self._ear is None and self._claims:
            try:
                self._ear = probe_frames.open_on([claim.name for claim in self._claims])
            except PermissionError:
                raise Unacceptable(
                    "privilege", "packet sockets need net_raw; start the agent as root"
                ) from None

    def probes_received(self, nonce: str) -> list[ProbeReceived]:
        """Probes received."""
        self.listen()
        if self._ear is None:
            return []
        found = probe_frames.received_probes(self._ear, nonce)  # type: ignore[arg-type]
        return [
            ProbeReceived(nic=nic, machine=machine, sender=sender) for nic, machine, sender in found
        ]

    def announce(self, wanted: Announce) -> int:
        """Send probes of devices out of NICs of this lease; how many left. Raises Unacceptable."""
        mine = {claim.name for claim in self._claims}
        if strange := sorted({one.nic for one in wanted.frames} - mine):
            raise Unacceptable("nic", f"not of this lease: {strange[0]}")
        self.listen()
        if self._ear is None:
            return 0
        return probe_frames.send_device_probes(self._ear, wanted.nonce, wanted.frames)  # type: ignore[arg-type]

    def announced(self, nonce: str) -> list[Arrived]:
        """Device probes received."""
        self.listen()
        if self._ear is None:
            return []
        return probe_frames.received_device_probes(self._ear, nonce)  # type: ignore[arg-type]

    def deploy(self, wanted: Deploy) -> NodeWorker:
        """Start the worker. Raises Unacceptable."""
        if not self._prepared:
            raise Unacceptable("leasing", "the NICs of this lease are not set up yet")
        if self.hosting is not None:
            raise Unacceptable("deployed", "this lease hosts nodes already")
        unknown = set(wanted.ports.values()) - {claim.name for claim in self._claims}
        if unknown:
            some = ", ".join(sorted(unknown)[:3])
            rest = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            raise Unacceptable("nic", f"not of this lease: {some}{rest}")
        self._close_probe_socket()
        hosting = NodeWorker(wanted, self._journal.spool(self.asked.lease), self._stage)
        self.hosting, process = hosting, hosting.process
        self._journal.note(self.asked.lease, worker=[process, started(process)])
        return hosting

    def hold(self, wanted: Hold) -> None:
        """Start the process that runs a whole plan. Raises Unacceptable."""
        if self.hosting is not None or self.asked.nics:
            raise Unacceptable("deployed", "a lease that holds a plan has no NICs, and one plan")
        self.hosting = PlanWorker(wanted, self._journal.spool(self.asked.lease), self._stage)
        process = self.hosting.process
        self._journal.note(self.asked.lease, worker=[process, started(process)])

    @property
    def holds_all(self) -> bool:
        """Return whether the lease runs a whole plan."""
        return isinstance(self.hosting, PlanWorker) and self.state != "failed"

    def start(self, wanted: Start) -> None:
        """Send the worker the start time, and set the timers of faults."""
        if self.hosting is None or self.hosting.stage != READY:
            raise Unacceptable("not-ready", f"nothing is ready to start (it is {self.state})")
        late_ns = time.monotonic_ns() - wanted.at_ns
        if late_ns >= 0:
            raise Unacceptable(
                "late", f"the instant of the start was {late_ns / 1e6:.1f} ms ago when it came"
            )
        nics = [claim.name for claim in self._claims]
        self._before = ethtool.counters(nics)
        self.doomed = any(fault.verb == "kill_agent" for fault in wanted.faults)
        loop = asyncio.get_running_loop()
        for fault in wanted.faults:
            due_s = (wanted.at_ns + fault.after_ns) / 1e9 - time.monotonic()
            self._timers.append(loop.call_later(due_s, self._do, fault))
        self.hosting.order((wanted.at_ns, wanted.rate_ppb))

    def running(self) -> NodeWorker | PlanWorker:
        """The worker while it drives its nodes. Raises Unacceptable before and after."""
        if self.hosting is None or self.hosting.stage != RUNNING:
            raise Unacceptable("not-running", f"no run goes on (it is {self.state})")
        return self.hosting

    def _do(self, fault: Fault) -> None:
        self.say(f"timeline: {fault.verb} {fault.nic or ''}".rstrip())
        if fault.verb == "cut_link" and fault.nic in [claim.name for claim in self._claims]:
            ethtool.set_up(fault.nic or "", False)
        else:
            self.on_fault(fault)

    def collect(self) -> None:
        """Have the results written; they are on the list when the state is collected."""
        if self.hosting is None or self.hosting.stage not in (ENDED, COLLECTED):
            raise Unacceptable("not-ended", f"there is nothing to collect (it is {self.state})")
        if self.hosting.stage == ENDED and not self.interfaces:
            now = ethtool.counters([claim.name for claim in self._claims])
            self.interfaces = {
                nic: {key: row[key] - self._before.get(nic, row)[key] for key in row}
                for nic, row in now.items()
            }
            self.hosting.order((COLLECT,))

    def path(self, name: str) -> Path:
        """The file behind a name of the list. Raises Unacceptable for any other name."""
        if name not in [file.name for file in self.files]:
            raise Unacceptable("no-file", f"{name} is not on the list of results")
        return self._journal.spool(self.asked.lease) / RESULT_FILES[name]

    def _stage(self) -> None:
        assert self.hosting is not None
        if self.hosting.stage == COLLECTED and not self.files:
            spool = self._journal.spool(self.asked.lease)
            try:
                self.files = [listed(name, spool / path) for name, path in RESULT_FILES.items()]
            except OSError as error:
                self.hosting.stage, self.hosting.cause = "failed", f"results: {error.strerror}"
        stage = self.hosting.stage
        if stage != self._said_stage:
            self._said_stage = stage
            self.say(self.hosting.cause if stage == "failed" else stage)

    def _close_probe_socket(self) -> None:
        if self._ear is not None:
            self._ear.close()  # type: ignore[attr-defined]
            self._ear = None

    def close(self) -> None:
        """Tear everything down."""
        for timer in self._timers:
            timer.cancel()
        if self.hosting is not None:
            self.hosting.close()
        self._close_probe_socket()
        if self.asked.nics:
            self._hands.submit(self._give_back)
        else:
            self._journal.forget(self.asked.lease)

    def _give_back(self) -> None:
        """Put the NICs back; aside, as they were set up."""
        for claim in self._claims:
            claim.release()
        self._claims.clear()
        self._journal.forget(self.asked.lease)
