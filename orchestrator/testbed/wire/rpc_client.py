"""RPC client: DEALER socket, request ids, retries, connection state."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Any

import zmq
import zmq.asyncio

from orchestrator.errors import BadInput
from orchestrator.testbed.curve_keys import Pair
from orchestrator.testbed.wire import envelope, socket_monitor
from orchestrator.testbed.wire.envelope import Answer, Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.socket_monitor import State

RETRY_S = 0.5
"""After which a request without an answer is sent again, under the same id."""
TRIES_OF_KEYS = 2
"""Handshakes that must fail before it is called a matter of keys: a peer may also have died."""


class Refusal(Exception):
    """The other end does not do what it was asked for; its own words."""

    def __init__(self, who: str, code: str, sentence: str) -> None:
        self.who, self.code, self.sentence = who, code, sentence
        super().__init__(f"{who}: {sentence}")


class Unanswered(Exception):
    """No answer came in time."""

    def __init__(self, who: str, why: str, rejected: bool = False) -> None:
        self.who, self.why, self.rejected = who, why, rejected
        super().__init__(f"{who}: {why}")


class RpcClient:
    """A connection to one server. `who` is what messages call it."""

    def __init__(
        self, context: zmq.asyncio.Context, who: str, endpoint: str, public: str, pair: Pair
    ) -> None:
        self.who, self.endpoint = who, endpoint
        self._context, self._public, self._pair = context, public, pair
        self.state, self.said = State.NONE, ""
        self.changed_s = time.monotonic()
        self.on_change: Callable[[], None] = lambda: None
        self._failed = 0
        self._session, self._number = secrets.token_hex(8), 0
        self._waiting: dict[int, asyncio.Future[tuple[Answer, bytes | None]]] = {}
        self._octets: dict[int, bytes] = {}
        """Of those that wait for an answer."""
        self._open()

    def _open(self) -> None:
        socket = self._socket = self._context.socket(zmq.DEALER)
        socket.curve_serverkey = self._public.encode("ascii")
        socket.curve_publickey = self._pair.public.encode("ascii")
        socket.curve_secretkey = self._pair.secret
        socket.linger = 0
        socket.immediate = True  # nothing waits for a peer that is gone: its successor would get it
        socket.reconnect_ivl, socket.reconnect_ivl_max = 100, 500
        socket.handshake_ivl = socket_monitor.HANDSHAKE_MS
        socket.maxmsgsize = envelope.LONGEST + 4096
        self._monitor = socket.get_monitor_socket(socket_monitor.EVENTS)
        try:
            socket.connect(self.endpoint)
        except zmq.ZMQError as error:
            self._shut()
            raise BadInput(
                self.who, f"{self.endpoint}: {error}; tcp://ADDRESS:PORT is expected"
            ) from None
        self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._watch())]

    async def ask(
        self,
        kind: str,
        body: WireMessage | dict[str, Any] | None = None,
        within_s: float = 5.0,
        retry_s: float = RETRY_S,
    ) -> tuple[dict[str, Any], bytes | None]:
        """Ask until there is an answer, every `retry_s` seconds. Raises Refusal, or Unanswered
        after `within_s`.

        A peer that turns our key away is not asked any longer.
        """
        self._number += 1
        number = self._number
        data = body.model_dump() if isinstance(body, WireMessage) else body or {}
        octets = envelope.pack(Request(session=self._session, id=number, kind=kind, body=data))
        end = time.monotonic() + within_s
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._octets[number] = octets
        try:
            while (left := end - time.monotonic()) > 0:
                if self.state is State.REJECTED:
                    break
                self._send(octets)
                done, _ = await asyncio.wait([future], timeout=min(left, retry_s))
                if done:
                    return self._result(*future.result())
        finally:
            self._waiting.pop(number, None)
            self._octets.pop(number, None)
            future.cancel()
        if self.state is State.REJECTED:
            raise Unanswered(self.who, f"{self.endpoint}: {self.said}", rejected=True)
        what = "no answer" if self.state is State.UP else "no peer"
        raise Unanswered(self.who, f"{what} at {self.endpoint} within {within_s:g} s")

    def _send(self, octets: bytes) -> None:
        """Send now or not at all: what there is no connection for is sent when there is one."""
        sent: Any = self._socket.send(octets, zmq.DONTWAIT)  # a future, which holds the refusal
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _result(self, answer: Answer, payload: bytes | None) -> tuple[dict[str, Any], bytes | None]:
        if answer.refused is not None:
            raise Refusal(self.who, answer.code, answer.refused)
        return answer.body, payload

    async def _receive(self) -> None:
        while True:
            frames = await self._socket.recv_multipart()
            try:
                answer: Answer = envelope.unpack(frames[0], Answer)
            except Unacceptable as no:
                self._on_connection_event(State.UP, f"an answer that is none: {no.sentence}")
                continue
            future = self._waiting.get(answer.id)
            if answer.id == 0 and answer.refused:  # it could not even read the id
                future = next(iter(self._waiting.values()), None)
            if future is not None and not future.done():
                future.set_result((answer, frames[1] if len(frames) > 1 else None))

    async def _watch(self) -> None:
        while True:
            said = socket_monitor.client_event(
                socket_monitor.read(await self._monitor.recv_multipart())
            )
            if said.state is State.REJECTED:
                self._failed += 1
                if self._failed < TRIES_OF_KEYS and "let our key in" not in said.text:
                    continue
            elif said.state is State.UP:
                self._failed = 0
            if said.state is State.NONE and self.state is State.REJECTED:
                continue
            if said.state is not None:
                self._on_connection_event(said.state, said.text)

    def _on_connection_event(self, state: State, text: str) -> None:
        self.said = text or self.said
        if state is not self.state:
            self.state, self.changed_s = state, time.monotonic()
            if state is State.UP:
                for octets in self._octets.values():
                    self._send(octets)
        if state is State.REJECTED:
            for number, future in self._waiting.items():
                if not future.done():
                    refused = Answer(session=self._session, id=number, refused=text, code="key")
                    future.set_result((refused, None))
        self.on_change()

    def reconnect(self) -> None:
        """Connect anew: after a rejected key ZeroMQ does not retry by itself."""
        self._shut()
        self.state, self._failed = State.NONE, 0
        self._open()

    def _shut(self) -> None:
        for task in getattr(self, "_tasks", []):
            task.cancel()
        self._socket.disable_monitor()
        self._socket.close(0)
        self._monitor.close(0)

    def close(self) -> None:
        """Ask nothing any more."""
        self._shut()
        for future in self._waiting.values():
            future.cancel()
