"""Live feed of a distributed run over CURVE, with the messages of a local run's feed.

Samples are fetched from the agents only while a console watches; their rows come in contiguous, so
a machine that lags holds the others' rows back and nothing is made up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zmq

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.assembly.timeline_commands import marks
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.live.feed_messages import Leave, Machine, Request, Watch
from orchestrator.live.feed_server import LONGEST_REQUEST, FeedServer
from orchestrator.live.live_session import Session
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import Rows
from orchestrator.testbed.controller.coordinated_changes import ACCEPTS, ChangeCoordinator
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.run_lifecycle import TTL_MS
from orchestrator.testbed.wire.connection_gate import ConnectionGate, wire_octets
from orchestrator.testbed.wire.disconnect_revoked import ConnectionTable
from orchestrator.testbed.wire.zap_authenticator import AuthorisedKeys, ZapAuthenticator

STAGES = {"running": "running", "writing": "writing", "drawing": "writing"}


class MergedRows:
    """Samples of several machines: row k is there when every machine's part of it has come."""

    def __init__(self, rows: int, columns: int, machines: list[str]) -> None:
        self._times = np.zeros(rows, np.int64)
        self._values = np.zeros((rows, columns), np.int64)
        self._counts = dict.fromkeys(machines, 0)

    def add(self, machine: str, header: Rows, octets: bytes) -> None:
        """Take in what an agent sent; what does not fit the plan is left out."""
        rows, columns = self._values.shape
        if len(octets) != header.octets:
            return
        words = np.frombuffer(octets, "<i8")
        each = header.count * header.columns
        last = header.first + header.count
        fits = header.columns == columns and 0 <= header.first <= last <= rows
        if not fits or len(words) != header.count + each * len(header.owned):
            return
        self._times[header.first : last] = words[: header.count]
        for place, owned in enumerate(header.owned):
            if owned and not 0 <= min(owned) <= max(owned) < columns:
                return
            start = header.count + place * each
            block = words[start : start + each].reshape(header.count, columns)
            self._values[header.first : last, owned] = block[:, owned]
        self._counts[machine] = last

    def count(self) -> int:
        """Number of rows that all machines have sent."""
        return min(self._counts.values(), default=0)

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Copies."""
        return self._times[first:last].copy(), self._values[first:last].copy()


class KeyedFeed(FeedServer):
    """Feed for watchers whose keys are authorised here."""

    def __init__(
        self, session: Session, address: str, folder: Path, on_denied: Callable[[str, str], None]
    ) -> None:
        pair = curve_keys.own(folder)
        self._book, self._lines = AuthorisedKeys(folder), ConnectionTable()
        self._on_denied = on_denied
        self._gate = gate = ConnectionGate(address, LONGEST_REQUEST, on_denied)

        def secure(context: zmq.Context[Any], socket: zmq.Socket[Any]) -> None:
            gate.protect(socket.setsockopt)
            socket.curve_server = True
            socket.curve_publickey = pair.public.encode("ascii")
            socket.curve_secretkey = pair.secret
            shadow: zmq.Context[Any] = zmq.Context.shadow(context.underlying)
            ZapAuthenticator(shadow, folder, on_denied, gate.judged_source)

        super().__init__(session, gate.inner, secure)
        self.address = gate.endpoint

    def run(self) -> None:
        """Serve until closed."""
        self._gate.start()
        try:
            super().run()
        finally:
            self._gate.close()

    def received(self, parts: list[zmq.Frame]) -> None:
        """Count a complete message for the gate."""
        octets = sum(wire_octets(len(part.buffer)) for part in parts[1:])
        self._gate.received(self._lines.note(parts[-1]), octets)

    def refusal(self, frame: zmq.Frame, request: Request) -> str | None:
        """A revoked key gets nothing more; to change or end a run takes one that may run."""
        caller = self._book.caller(str(frame.get("User-Id")))
        if caller is None:
            return "this key is let in no more"
        if isinstance(request, Watch | Leave) or caller.may(curve_keys.RUN):
            return None
        return f"the key {caller.name} may {caller.role}; orders take one that may {curve_keys.RUN}"

    def drop_revoked(self) -> None:
        """A watcher whose key was revoked is sent nothing more."""
        for public in self._lines.disconnect(lambda key: self._book.caller(key) is not None):
            self._on_denied("a watcher", f"its key {public} was revoked, the connection was closed")


class Watched:
    """Run with its feed: events of the run are published, requests to the feed reach the run."""

    def __init__(
        self, run: DistributedRun, address: str, folder: Path, on_denied: Callable[[str, str], None]
    ) -> None:
        self.run = run
        pace = None if run.speed == REAL_TIME else run.pace
        self.session = Session(run.resolved, "software", pace)
        self.session.run = run.number
        self.orders = ChangeCoordinator(run, self.session)
        self.feed = KeyedFeed(self.session, address, folder, on_denied)
        self.address = self.feed.address
        self._rows: MergedRows | None = None
        self._events = 0
        self.feed.start()

    def news(self) -> None:
        """Something changed: tell it. Called from the controller's loop, several times a second."""
        run, session = self.run, self.session
        if run.mapping is not None:
            session.machines = [self._machine(name) for name in run.mapping.used()]
        session.detail = f"{run.stage}: {run.detail}" if run.detail else run.stage
        if run.stage == "running":
            self._begin()
            for machine in run.leases:
                peer = run.peers[machine]
                if peer.rows_after is None and session.watched.is_set():
                    peer.on_rows = self._taker(machine)
                    peer.rows_after = -1
            if self._rows is not None and (count := self._rows.count()):
                session.now_ps = int(self._rows.read(count - 1, count)[0][0])
        events = run.events
        for time_ps, machine, text in events[self._events :]:
            session.happened(time_ps, "machine", machine, {"text": text})
        self._events = len(events)

    def _begin(self) -> None:
        if self._rows is not None:
            return
        plan, resolved = self.run.resolved.plan, self.run.resolved
        columns = [probe.column for probe in probes(resolved, Indices(plan))]
        most = plan.duration // plan.sample_interval + len(marks(plan)) + 2
        self._rows = MergedRows(most, len(columns), list(self.run.leases))
        self.session.begin(columns, self._rows, ACCEPTS)

    def _taker(self, machine: str) -> Callable[[Rows, bytes], None]:
        assert self._rows is not None
        rows = self._rows
        return lambda header, octets: rows.add(machine, header, octets)

    def _machine(self, name: str) -> Machine:
        assert self.run.mapping is not None
        peer, estimate = self.run.peers[name], self.run.estimates.get(name)
        part, run_pace = peer.pulse.state if peer.pulse else "", self.run.pace
        return Machine(
            name=name,
            nodes=self.run.mapping.nodes(name),
            target="software",
            state=f"{peer.state} {part}".strip(),
            lease_s=TTL_MS / 1000 if peer.lease else None,
            clock_error_s=estimate.error_ns * run_pace / 1e9 if estimate else None,
        )

    def over(self, result: dict[str, Any] | None, folder: str | None, why: str | None) -> None:
        """The run has ended: tell how, and close."""
        if result is not None:
            self.session.judged(result, folder)
        else:
            self.session.reason = why
            self.session.over("aborted" if self.session.aborted else "failed")
        self.feed.close()
