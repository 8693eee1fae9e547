"""Connection of a controller to one machine: offer, clock, heartbeat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import zmq.asyncio
from pydantic import ValidationError

from orchestrator import __version__
from orchestrator.run import machine_info as here
from orchestrator.testbed.agent import clock_sync_status
from orchestrator.testbed.agent.agent_messages import Heartbeat, HeartbeatReply, Hello, Offer
from orchestrator.testbed.curve_keys import Pair
from orchestrator.testbed.inventory import MachineEntry
from orchestrator.testbed.wire.clock_offset import Comparison, Exchange
from orchestrator.testbed.wire.envelope import sentence
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from orchestrator.testbed.wire.socket_monitor import State

BEAT_S = 0.25
CUT_S = 0.5
"""A connection that the other end closed and that stays down for so long: its process has ended.
(One that the network lost does not close; silence tells of it.)"""
SILENT_S, MISSED = 3.0, 3
"""An agent that says nothing for so long, and left so many questions in a row unanswered for a
second each, is gone, whatever its connection does. (Time alone would blame the agent when it is
this process that had no turn.)"""
RECONNECT_S = 2.0
"""After which a rejected key is tried again."""


class Faulty(Exception):
    """An agent's answer is not what an agent of this version answers."""


class Peer:
    """See the module. `state`: connecting, up, rejected or gone; `why` says more."""

    def __init__(
        self, context: zmq.asyncio.Context, name: str, entry: MachineEntry, pair: Pair
    ) -> None:
        self.name = name
        self.asker = RpcClient(context, f"agent {name}", entry.address, entry.key, pair)
        self.offer: Offer | None = None
        self.comparison = Comparison()
        self.state, self.why = "connecting", ""
        self.fault = ""
        """What it sent that no agent sends, until it sends what one does."""
        self.lease: str | None = None
        self.pulse: HeartbeatReply | None = None
        self.rows_after: int | None = None
        self.on_rows: Callable[[Any, bytes], None] = lambda head, octets: None
        self.on_event: Callable[[int, str], None] = lambda at_ns, text: None
        self.on_news: Callable[[], None] = lambda: None
        self._events = 0
        self._answered_s, self._missed = time.monotonic(), 0
        self.asker.on_change = self._changed
        self._task = asyncio.create_task(self._live())

    def hold(self, lease: str | None) -> None:
        """From now on, keep this lease alive."""
        self.lease, self.pulse, self._events, self.rows_after = lease, None, 0, None

    def _changed(self) -> None:
        """Something became of the connection: what that means is known when it has lasted, and not
        only when a question that is under way has been given up."""
        lasting = 0.0 if self.asker.state is State.REJECTED else CUT_S + 0.01
        asyncio.get_running_loop().call_later(lasting, self._look)

    def _look(self) -> None:
        before = self.state
        if not self._task.done():
            self._judge()
        if self.state != before:
            self.on_news()

    async def _live(self) -> None:
        while True:
            began = time.monotonic()
            before = self.pulse
            try:
                await self._once()
            except Unanswered:
                self._missed += 1
            except Faulty as fault:
                self._distrust(str(fault))
            except Exception as error:  # whatever an agent sends, the others' heartbeats go on
                self._distrust(f"what it sent cannot be used ({type(error).__name__}: {error})")
            self._look()
            if self.pulse != before:
                self.on_news()
            await asyncio.sleep(max(BEAT_S - (time.monotonic() - began), 0.02))

    async def _once(self) -> None:
        if self.asker.state is State.REJECTED:
            if time.monotonic() - self.asker.changed_s > RECONNECT_S:
                self.asker.reconnect()
            return
        asked: str | None = None
        try:
            if self.offer is None:
                body, _ = await self.asker.ask("hello", Hello(), within_s=1.0)
                offer: Offer = _checked(Offer, body)
                if offer.version != __version__:
                    raise Faulty(
                        f"it runs tailback {offer.version}, this is {__version__}; install the "
                        "same on both machines"
                    )
                self.offer = offer
                self._compare()
            asked = self.lease
            await self.beat(within_s=1.0)
        except Refusal as no:
            if no.code == "key":
                return
            self._answered_s, self._missed = time.monotonic(), 0
            if no.code in ("revoked", "role"):
                raise Faulty(no.sentence) from None
            if no.code in ("no-lease", "not-yours"):
                if asked == self.lease:  # else it is about one that was given back meanwhile
                    self.lost(no.sentence)
            else:
                self.why = no.sentence

    async def beat(self, within_s: float) -> None:
        """Send one heartbeat: an exchange of clocks, and the news of the lease."""
        lease = self.lease
        asked = Heartbeat(lease=lease, events_after=self._events, rows_after=self.rows_after)
        sent = time.monotonic_ns()
        body, payload = await self.asker.ask("beat", asked, within_s=within_s)
        back = time.monotonic_ns()
        pulse: HeartbeatReply = _checked(HeartbeatReply, body)
        self._answered_s, self._missed, self.fault = time.monotonic(), 0, ""
        if self.offer is not None and pulse.boot != self.offer.boot:
            self.offer, self.comparison = None, Comparison()
            if self.lease is not None:
                self.lost("it was started anew, and what it had held is gone")
            return
        self.comparison.add(Exchange.of(sent, pulse.received_ns, pulse.answered_ns, back))
        if lease != self.lease or lease is None:
            return
        self.pulse = pulse
        for event in pulse.events:
            if event.number > self._events:
                self._events = event.number
                self.on_event(event.at_ns, event.text)
        rows, after = pulse.rows, self.rows_after
        if rows is not None and payload is not None and after is not None:
            if rows.first != after + 1:
                return  # the answer to an earlier question
            if len(payload) != rows.octets:
                said = f"{len(payload)} octets for samples of {rows.octets}"
                raise Faulty(f"what it sent cannot be used ({said})")
            self.rows_after = after + rows.count
            self.on_rows(rows, payload)

    def lost(self, why: str) -> None:
        """The lease is no more."""
        self.pulse = HeartbeatReply(
            received_ns=0, answered_ns=0, boot="", leases=0, state="failed", cause=why
        )

    def _distrust(self, why: str) -> None:
        """Mark the agent as faulty: it sent an answer that no agent of this version sends."""
        self.offer, self.fault = None, why
        self._answered_s, self._missed = time.monotonic(), 0
        if self.lease is not None:
            self.lost(why)

    def _judge(self) -> None:
        now = time.monotonic()
        silent = now - self._answered_s
        mute = silent > SILENT_S and self._missed >= MISSED
        cut = self.asker.state is State.NONE and now - self.asker.changed_s > CUT_S
        if self.asker.state is State.REJECTED:
            self.state, self.why = "rejected", self.asker.said
        elif self.fault and not cut:
            self.state, self.why = "rejected", self.fault
        elif self.offer is not None and not mute and not cut:
            self.state, self.why = "up", ""
        elif self.offer is not None or self.state == "gone":
            self.state = "gone"
            self.why = "its connection was closed" if cut else f"silent for {silent:.1f} s"
        else:
            self.state, self.why = "connecting", f"no answer from {self.asker.endpoint}"
        if self.state == "gone" and self.lease is None:
            self.offer = None  # it may come back as another one

    def _compare(self) -> None:
        assert self.offer is not None
        mine = here.read_text("/proc/sys/kernel/random/boot_id")
        offer = self.offer
        self.comparison = Comparison(
            same=offer.kernel == mine and offer.time_namespace == _time_namespace()
        )
        ours, theirs = clock_sync_status.read(), offer.clock
        if ours.get("by") == theirs.get("by") == "PTP":
            offset = ours["real_less_monotonic_ns"] - theirs["real_less_monotonic_ns"]
            error = int(ours["error_ns"]) + int(theirs["error_ns"])
            self.comparison.disciplined = (offset, error)

    def close(self) -> None:
        """Leave it alone."""
        self._task.cancel()
        self.asker.close()


def _checked(model: Any, body: dict[str, Any]) -> Any:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise Faulty(f"its answer is not understood ({sentence(error)})") from None


def _time_namespace() -> str:
    from orchestrator.testbed.agent.agent_service import link

    return link("/proc/self/ns/time")
