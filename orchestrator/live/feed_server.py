"""Feed server of a session: a thread with one socket, to which watchers connect.

The thread waits for no watcher, and nothing in the run waits for the thread: it is woken when there
is news, and polls the memory of samples of a target that does not wake it. A slow watcher gets
larger batches; when it takes nothing for 1 s, the rows of that time are dropped for this watcher,
and counted.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import zmq

from orchestrator.deferred_signals import deferred_signals
from orchestrator.live import feed_codec, feed_messages, session_registry
from orchestrator.live.live_session import Session
from orchestrator.live.waker import Waker

POLL_S = 0.03
"""Poll interval of the samples while there is a watcher, and of a watcher that lags."""
HEARTBEAT_S = 1.0
SILENT_S = 10.0
"""A watcher that sends nothing for so long is removed."""
PATIENCE_S = 1.0
BATCH_OCTETS = 1 << 20
"""Largest batch of samples."""
WAITING = 16
"""Messages that may lie in a watcher's queue."""
GOODBYE_MS = 500
MOST_WATCHERS = 32
MOST_FRAMES = 3
"""Frames of a request that are read: one too many is refused, further ones are dropped."""
LONGEST_REQUEST = 65_536
"""Octets of a frame of a watcher's request."""


@dataclass
class Watcher:
    """One connection and what it has been sent."""

    identity: bytes
    seen_s: float
    """Time of the last request (monotonic s)."""
    row: int = 0
    events: int = 0
    lines: int = 0
    plan: int = -1
    dropped: int = 0
    moved: float = 0.0
    """Time of the last message that it took (monotonic s)."""
    judged: bool = False
    state: feed_messages.RunState | None = None
    state_sent_s: float = 0.0


class FeedServer(threading.Thread):
    """Feed server thread. Start it, and `close` it when the run is over.

    `secure` is called with the context and the socket before it is bound, to set keys.
    """

    def __init__(
        self, session: Session, address: str, secure: Callable[[Any, Any], None] | None = None
    ) -> None:
        super().__init__(name="feed", daemon=True)
        self.session = session
        self.watchers: dict[bytes, Watcher] = {}
        self._answers: queue.SimpleQueue[tuple[bytes, feed_messages.Reply]] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.SNDHWM, WAITING)
        self._socket.setsockopt(zmq.LINGER, GOODBYE_MS)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LONGEST_REQUEST)
        if secure is not None:
            secure(self._context, self._socket)
        try:
            self._socket.bind(address)
            self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
            self._bell = Waker(self._socket)
        except (zmq.ZMQError, OSError):
            self._context.destroy(linger=0)
            raise
        session.ring = self._bell.ring

    def close(self) -> None:
        """Send the final messages to all watchers, then end."""
        with deferred_signals():
            self._ending.set()
            self._bell.ring()
            self.join()
            self.session.ring = lambda: None
            self._bell.close()

    def discard(self) -> None:
        """Free the socket of a server that was not started."""
        self.session.ring = lambda: None
        self._bell.close()
        self._context.destroy(linger=0)

    def run(self) -> None:
        """Serve until closed."""
        try:
            behind = False
            while not self._ending.is_set():
                looking = behind or not self.session.rings
                wait = (POLL_S if looking else HEARTBEAT_S) if self.watchers else None
                if self._bell.wait(wait):
                    self._receive()
                self.drop_revoked()
                behind = self._send_all_news()
            self._receive()
            end = time.monotonic() + PATIENCE_S
            while self._send_all_news() and time.monotonic() < end:
                time.sleep(POLL_S)
        finally:
            self._context.destroy(linger=GOODBYE_MS)

    def _receive(self) -> None:
        while self._socket.poll(0):
            parts = self._socket.recv_multipart(copy=False)
            self.received(parts)
            identity, *frames = (part.bytes for part in parts[:MOST_FRAMES])
            try:
                request = feed_codec.decode_request(frames)
            except feed_codec.MalformedMessage as error:
                text = str(error)[:1000]
                refused = feed_messages.Answer(
                    run=self.session.run, request="", done=False, text=text
                )
                self._send(identity, refused)
                continue
            if (refusal := self.refusal(parts[-1], request)) is not None:
                self.watchers.pop(identity, None)
                number = getattr(request, "request", "")
                refused = feed_messages.Answer(
                    run=self.session.run, request=number, done=False, text=refusal
                )
                self._send(identity, refused)
            elif request.run in ("", self.session.run):
                self._handle_request(identity, request)

    def received(self, parts: list[zmq.Frame]) -> None:
        """Called with the frames of each message of a watcher."""

    def refusal(self, frame: zmq.Frame, request: feed_messages.Request) -> str | None:
        """Reason to refuse a peer's request; None: allowed. On one machine the socket's folder
        admits its owner alone, whose requests are all allowed."""
        return None

    def drop_revoked(self) -> None:
        """Remove watchers with a revoked key: none here. Called with all news and every second."""

    def _handle_request(self, identity: bytes, request: feed_messages.Request) -> None:
        now = time.monotonic()
        if isinstance(request, feed_messages.Leave):
            self.watchers.pop(identity, None)
        elif isinstance(request, feed_messages.Watch):
            if identity not in self.watchers and len(self.watchers) < MOST_WATCHERS:
                self.watchers[identity] = Watcher(
                    identity,
                    now,
                    row=min(request.from_row, self.session.rows.count()),
                    events=request.events,
                    lines=request.lines,
                    moved=now,
                )
                self.session.watched.set()
                self.session.woken()
            if identity in self.watchers:
                self.watchers[identity].seen_s = now
        else:
            self.session.ask(request, lambda answer: self._answer(identity, answer))

    def _answer(self, identity: bytes, answer: feed_messages.Reply) -> None:
        """Called from any thread."""
        self._answers.put((identity, answer))
        self._bell.ring()

    def _send_all_news(self) -> bool:
        """Send all news; True while a watcher lags."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._send(*self._answers.get_nowait())
        now = time.monotonic()
        for watcher in list(self.watchers.values()):
            if now - watcher.seen_s > SILENT_S:
                del self.watchers[watcher.identity]
        behind = [self._send_news(watcher, now) for watcher in list(self.watchers.values())]
        return any(behind)

    def _send_news(self, watcher: Watcher, now: float) -> bool:
        """Send one watcher its news; True when it lags."""
        for message in self._news(watcher, now):
            if not self._send(watcher.identity, message):
                if now - watcher.moved > PATIENCE_S:
                    count = self.session.rows.count()
                    watcher.dropped += count - watcher.row
                    watcher.row, watcher.moved = count, now
                return watcher.identity in self.watchers
            self._mark_sent(watcher, message, now)
        return watcher.row < self.session.rows.count()

    def _news(self, watcher: Watcher, now: float) -> Iterator[feed_messages.Message]:
        session = self.session
        if watcher.plan != session.plan_number:
            yield session.described()
        state = session.state(len(self.watchers))
        before = watcher.state
        changed = before is None or before.model_copy(update={"now_ps": state.now_ps}) != state
        if (
            changed
            or now - watcher.state_sent_s > HEARTBEAT_S
            or session.stage not in feed_messages.LIVE
        ):
            yield state
        yield from session.events[watcher.events :]
        yield from session.lines[watcher.lines :]
        if (samples := self._samples(watcher)) is not None:
            yield samples
        if session.verdict is not None and not watcher.judged:
            yield session.verdict

    def _samples(self, watcher: Watcher) -> feed_messages.Samples | None:
        session = self.session
        first = watcher.row
        most = max(BATCH_OCTETS // (8 * (len(session.columns) + 1)), 1)
        last = min(session.rows.count(), first + most)
        if last <= first:
            return None
        times, values = session.rows.read(first, last)
        return feed_messages.Samples(
            run=session.run, first=first, dropped=watcher.dropped, times_ps=times, values=values
        )

    def _mark_sent(self, watcher: Watcher, message: feed_messages.Message, now: float) -> None:
        watcher.moved = now
        if isinstance(message, feed_messages.RunDescription):
            watcher.plan = self.session.plan_number
        elif isinstance(message, feed_messages.RunState):
            watcher.state, watcher.state_sent_s = message, now
        elif isinstance(message, feed_messages.RunEvent):
            watcher.events = message.number + 1
        elif isinstance(message, feed_messages.LogLine):
            watcher.lines = message.number + 1
        elif isinstance(message, feed_messages.Samples):
            watcher.row = message.first + len(message.times_ps)
        elif isinstance(message, feed_messages.Judgement):
            watcher.judged = True

    def _send(self, identity: bytes, message: feed_messages.Message) -> bool:
        """Send without waiting; False when the watcher's queue is full, or the watcher is gone."""
        try:
            self._socket.send_multipart(
                [identity, *feed_codec.encode_message(message)], zmq.NOBLOCK
            )
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self.watchers.pop(identity, None)
            return False
        return True


@contextlib.contextmanager
def serve_session(session: Session) -> Iterator[str | None]:
    """Serve a session on this machine as long as the block lasts, and note where.

    Gives the address; None without a private folder: then the run cannot be watched (the caller
    reports `places.lack`).
    """
    path = session_registry.sessions_folder()
    session_registry.running_sessions()  # removes the notes of dead processes
    address = None if path is None else session_registry.address_in(path, session.run)
    if path is None or address is None:
        yield None
        return
    with contextlib.ExitStack() as stack:
        feed = None
        try:
            feed = FeedServer(session, address)
            note = session_registry.SessionNote(
                run=session.run,
                plan=session.resolved.plan.name,
                target=session.target,
                process=os.getpid(),
                address=feed.address,
                started=session_registry.now(),
            )
            stack.enter_context(session_registry.registered(path, note))
            with deferred_signals():
                feed.start()
        except BaseException as error:
            if feed is not None:
                (feed.discard if feed.ident is None else feed.close)()
            if not isinstance(error, OSError | RuntimeError | zmq.ZMQError):
                raise
            reason = getattr(error, "strerror", None) or str(error)  # full, read-only, no thread
            warn(f"this run cannot be watched: {path}: {reason}")
            yield None
            return
        session.abort = _interrupt
        try:
            yield feed.address
        except BaseException as error:
            session.failed(error)
            raise
        finally:
            feed.close()


def warn(sentence: str) -> None:
    """Say on stderr what a run goes on without."""
    with contextlib.suppress(OSError, AttributeError):  # stderr may be closed
        print(f"tailback: {sentence}", file=sys.stderr)


def _interrupt() -> None:
    """Interrupt the main thread as Ctrl-C does, so that it closes what is open."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)
