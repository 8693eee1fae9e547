"""Client of a run's feed: a thread that keeps the connection and collects messages.

    client = Client(note.address, note.run)
    client.start()
    client.ask(SetValue(key="nodes.switch.service_rate", to="0.4Gb/s"))
    for message in client.take(): ...
    client.close()

While the run sends nothing, `silent_s` grows and the client retries the connection; it requests
missed rows again.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import zmq

from orchestrator.deferred_signals import deferred_signals
from orchestrator.live import feed_codec, feed_messages
from orchestrator.live.waker import Waker

HEARTBEAT_S = 1.0
FULL_S = 0.1
"""Interval of checks whether the caller has taken samples, while the buffer is full."""
MOST_OCTETS = 16 << 20
"""Buffered samples; above it the client reads nothing until the caller takes messages."""
UNREAD = 16
"""Messages queued in the socket; the run holds back, or drops, further ones."""
RETRY_S = 2.0
"""Retry interval of a request without an answer: its number makes a retry safe."""
TRIES = 5


class FeedClient(threading.Thread):
    """Feed client. `prepare` is called with the socket before it connects, to set keys."""

    def __init__(
        self, address: str, run: str = "", prepare: Callable[[Any], None] | None = None
    ) -> None:
        super().__init__(name="watcher", daemon=True)
        self.address, self.run_name = address, run
        self.not_understood = 0
        self.dropped = 0
        self._prepare = prepare
        self._lock = threading.Lock()
        self._messages: collections.deque[Any] = collections.deque()
        self._requests: collections.deque[feed_messages.Request] = collections.deque()
        self._open: dict[str, tuple[feed_messages.Request, float, int]] = {}
        self._octets = 0
        """Octets of the samples among the messages."""
        self._row = self._events = self._lines = 0
        self._answered_s = time.monotonic()
        self._ending = threading.Event()
        self._bell: Waker | None = None
        """None while there is no connection."""

    @property
    def silent_s(self) -> float:
        """Time since the last message (s)."""
        return time.monotonic() - self._answered_s

    def ask(self, request: feed_messages.Request) -> str:
        """Send a request; returns its number, which its answer carries."""
        number = request.request or uuid.uuid4().hex
        self._requests.append(request.model_copy(update={"run": self.run_name, "request": number}))
        self._ring()
        return number

    def take(self) -> list[Any]:
        """Messages received since the last call, in order."""
        with self._lock:
            found = list(self._messages)
            self._messages.clear()
            self._octets = 0
        return found

    def close(self) -> None:
        """Unsubscribe and end the thread."""
        with deferred_signals():
            self._ending.set()
            self._ring()
            if self.ident is not None:
                self.join()

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.ring()

    def run(self) -> None:
        """Keep up the connection until closed."""
        context = zmq.Context()
        socket = context.socket(zmq.DEALER)
        try:
            socket.setsockopt(zmq.LINGER, 200)
            socket.setsockopt(zmq.RCVHWM, UNREAD)
            socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
            if self._prepare is not None:
                self._prepare(socket)
            socket.connect(self.address)
            self._bell = Waker(socket)
            said = -HEARTBEAT_S
            while not self._ending.is_set():
                now = time.monotonic()
                if now - said >= HEARTBEAT_S:
                    self._send(socket, self._watch())
                    said = now
                self._send_requests(socket, now)
                if self._octets > MOST_OCTETS:
                    self._answered_s = now  # the client itself pauses
                    self._ending.wait(FULL_S)
                elif self._bell.wait(max(said + HEARTBEAT_S - now, 0)):
                    self._receive(socket)
            self._send(socket, feed_messages.Leave(run=self.run_name))
        finally:
            if self._bell is not None:
                self._bell.close()
            context.destroy(linger=200)

    def _watch(self) -> feed_messages.Watch:
        return feed_messages.Watch(
            run=self.run_name, from_row=self._row, events=self._events, lines=self._lines
        )

    def _send(self, socket: Any, request: feed_messages.Request) -> None:
        with contextlib.suppress(zmq.Again):  # no peer: a retry follows
            socket.send_multipart(feed_codec.encode_message(request), zmq.NOBLOCK)

    def _send_requests(self, socket: Any, now: float) -> None:
        while self._requests:
            request = self._requests.popleft()
            self._open[request.request] = (request, now, 1)
            self._send(socket, request)
        for number, (request, sent, tries) in list(self._open.items()):
            if now - sent < RETRY_S:
                continue
            if tries < TRIES:
                self._open[number] = (request, now, tries + 1)
                self._send(socket, request)
            else:
                self._collect(
                    feed_messages.Answer(request=number, done=False, text="the run does not answer")
                )

    def _receive(self, socket: Any) -> None:
        while self._octets <= MOST_OCTETS and socket.poll(0):
            try:
                message = feed_codec.decode_message(socket.recv_multipart())
            except feed_codec.MalformedMessage:
                self.not_understood += 1
                continue
            self._answered_s = time.monotonic()
            if message.run not in ("", self.run_name) and self.run_name:
                continue
            self._collect(message)

    def _collect(self, message: Any) -> None:
        if isinstance(message, feed_messages.Samples):
            self._row = message.first + len(message.times_ps)
            self.dropped = message.dropped
        elif isinstance(message, feed_messages.RunEvent):
            if message.number < self._events:
                return
            self._events = message.number + 1
        elif isinstance(message, feed_messages.LogLine):
            if message.number < self._lines:
                return
            self._lines = message.number + 1
        elif (
            isinstance(message, feed_messages.Reply)
            and self._open.pop(message.request, None) is None
        ):
            return  # its request was answered already
        with self._lock:
            self._messages.append(message)
            if isinstance(message, feed_messages.Samples):
                self._octets += message.values.nbytes
