"""RPC server: ROUTER socket, checks before a handler sees a request, answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio

from orchestrator.testbed.curve_keys import RUN, Caller, Pair
from orchestrator.testbed.wire import envelope, socket_monitor
from orchestrator.testbed.wire.connection_gate import ConnectionGate, wire_octets
from orchestrator.testbed.wire.disconnect_revoked import ConnectionTable
from orchestrator.testbed.wire.envelope import Answer, Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.log_limit import LogLimit
from orchestrator.testbed.wire.zap_authenticator import LOOK_S, AuthorisedKeys, ZapAuthenticator

SESSIONS = 64
"""Sessions of a key that are remembered; the one that was silent for longest goes first. No key can
have another's forgotten."""
ANSWERS = 256
"""Answers per session."""

Frames = list[bytes]


class CallerSession:
    """Session of one calling process."""

    def __init__(self) -> None:
        self.answers: OrderedDict[int, Frames] = OrderedDict()
        self.forgotten = 0
        """The highest id whose answer is no longer kept."""


class AnswerCache:
    """Answers by key of the peer, session and id.

    A session belongs to the key that it was first seen with: no other key can use it.
    """

    def __init__(self) -> None:
        self._peers: dict[str, OrderedDict[str, CallerSession]] = {}

    def answer(self, peer: str, session: str, number: int, make: Callable[[], Frames]) -> Frames:
        """The answer to a request, made once. Raises Unacceptable for one from long ago."""
        sessions = self._peers.setdefault(peer, OrderedDict())
        known = sessions.setdefault(session, CallerSession())
        sessions.move_to_end(session)
        if number in known.answers:
            return known.answers[number]
        if number <= known.forgotten:
            raise Unacceptable("replayed", f"request {number} was answered long ago")
        made = known.answers[number] = make()
        while len(known.answers) > ANSWERS:
            oldest, _ = known.answers.popitem(last=False)
            known.forgotten = max(known.forgotten, oldest)
        while len(sessions) > SESSIONS:
            sessions.popitem(last=False)
        return made


QUEUED = 1000
"""Messages that may wait for a peer that does not read; the next ones are dropped, and asked for
again by a client that misses them."""
MOST_FRAMES = 3
"""Of a message that are looked at: the sender's, a request's one, and one that is too many."""
WAITING = 16
"""Requests of a peer that may wait here; further ones wait at the peer. Each may have 8 MB."""
Reply = tuple[dict[str, Any], bytes | None]


@dataclass(frozen=True)
class Handler:
    """Handler of one kind of request. `reads`: it changes nothing, and may be repeated."""

    model: type[WireMessage]
    call: Callable[[Caller, Request, Any], Reply]
    reads: bool = False
    role: str = RUN
    """What the caller's key must be allowed."""


class RequestDispatcher:
    """From a message to its answer, without a socket. Keeps what was answered."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers
        self._memory = AnswerCache()
        self.refused = 0
        self.caller: Callable[[str], Caller | None] = lambda key: Caller.of(key, key, RUN)
        """Who has a key; the server of this desk asks the authorised ones."""
        self.broken: Callable[[str, Exception], None] = lambda kind, error: None
        """Called when a handler raised what it should not: the disk, the kernel, or a bug."""

    def respond(self, peer: str, frames: Frames) -> Frames | None:
        """The answer to the frames of one message; None when the sender could not read an answer.

        `peer` is the authorised key that the message came with.
        """
        session, number = "0" * 8, 0
        try:
            if len(frames) != 1:
                counted = "several" if len(frames) > 1 else "none"
                raise Unacceptable("frames", f"a request has one frame, not {counted}")
            request: Request = envelope.unpack(frames[0], Request)
            session, number = request.session, request.id
            handler = self._handlers.get(request.kind)
            if handler is None:
                raise Unacceptable("kind", f"there is no request {request.kind}")
            caller = self.caller(peer)
            if caller is None:
                raise Unacceptable("revoked", "this key is let in no more")
            if not caller.may(handler.role):
                raise Unacceptable(
                    "role",
                    f"the key {caller.name} may {caller.role}; {request.kind} takes one that may "
                    f"{handler.role}",
                )
            if handler.reads:
                return self._answer(handler, caller, request)
            return self._memory.answer(
                peer, session, number, lambda: self._answer(handler, caller, request)
            )
        except Unacceptable as no:
            self.refused += 1
            answer = Answer(session=session, id=number, refused=no.sentence, code=no.code)
            return [envelope.pack(answer)]

    def _answer(self, handler: Handler, peer: Caller, request: Request) -> Frames:
        number, session = request.id, request.session
        try:
            body = envelope.body_of(handler.model, request.body)
            content, payload = handler.call(peer, request, body)
            first = envelope.pack(Answer(session=session, id=number, body=content))
            if len(first) > envelope.LONGEST:
                raise Unacceptable("too-long", "the answer is longer than a message may be")
        except Unacceptable as no:
            answer = Answer(session=session, id=number, refused=no.sentence, code=no.code)
            return [envelope.pack(answer)]
        except Exception as error:  # a server outlives any request
            self.broken(request.kind, error)
            words = envelope.clipped(f"{request.kind} failed: {type(error).__name__}: {error}")
            answer = Answer(session=session, id=number, refused=words, code="failed")
            return [envelope.pack(answer)]
        return [first] if payload is None else [first, payload]


class RpcServer:
    """A bound socket with its gate and its watch. `log` takes a sentence per rejected peer.

    `listening` is the descriptor of a socket that listens already, maybe in another network
    namespace; it is not bound again.
    """

    def __init__(
        self,
        endpoint: str,
        pair: Pair,
        folder: Path,
        desk: RequestDispatcher,
        log: Callable[[str], None],
        listening: int | None = None,
    ) -> None:
        most = envelope.LONGEST + 4096
        self._gate = ConnectionGate(endpoint, most, self._denied, listening)
        self.endpoint = self._gate.endpoint
        self._context = zmq.asyncio.Context()
        self._desk, self._log = desk, LogLimit(log)
        self._loop = asyncio.get_running_loop()
        shadow: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(self._context.underlying)
        self._book, self._lines = AuthorisedKeys(folder, self._say), ConnectionTable()
        self._authenticator = ZapAuthenticator(
            shadow, folder, self._denied, self._gate.judged_source, self._say
        )
        desk.caller = self._book.caller
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.curve_server = True
        self._socket.curve_publickey = pair.public.encode("ascii")
        self._socket.curve_secretkey = pair.secret
        self._socket.linger = 0
        self._socket.maxmsgsize = most
        self._socket.sndhwm, self._socket.rcvhwm = QUEUED, WAITING
        self._socket.handshake_ivl = socket_monitor.HANDSHAKE_MS
        self._monitor = self._socket.get_monitor_socket(socket_monitor.EVENTS)
        self._tasks: list[asyncio.Task[None]] = []
        self._delays: dict[str, float] = {}
        self._gate.protect(self._socket.setsockopt)
        self._socket.bind(self._gate.inner)
        self._gate.start()

    def delay(self, peer: str, seconds: float) -> None:
        """Hold every answer to a key back: what the timeline's delay_control sets."""
        self._delays[peer] = seconds

    def start(self) -> None:
        """Begin to answer, in the running loop."""
        serving = (self._serve(), self._watch(), self._hang_up())
        self._tasks = [asyncio.create_task(task) for task in serving]

    async def _serve(self) -> None:
        while True:
            whole, delay_s = None, 0.0
            try:
                frames = await self._receive()
                peer = str(frames[-1].get("User-Id"))
                delay_s = self._delays.get(peer, 0.0)
                whole = self._answered(peer, frames)
            except zmq.ZMQError:
                raise  # the socket is no more
            except Exception as error:  # one message must not stop the server
                self._log(f"a message was dropped: {type(error).__name__}: {error}")
            if whole is not None and delay_s > 0:
                self._loop.call_later(delay_s, self._send, whole)
            elif whole is not None:
                self._send(whole)
            # While messages wait, receiving does not: timers and signals get their turn here.
            await asyncio.sleep(0)

    async def _receive(self) -> list[zmq.Frame]:
        """The frames of one message; those that no request has are dropped as they come."""
        frames: list[zmq.Frame] = []
        octets = 0
        while True:
            frame: zmq.Frame = await self._socket.recv(copy=False)
            octets += wire_octets(len(frame.buffer)) if frames else 0  # the first is ZeroMQ's own
            if len(frames) < MOST_FRAMES:
                frames.append(frame)
            if not frame.more:
                self._gate.received(self._lines.note(frame), octets)
                return frames

    def _answered(self, peer: str, frames: list[zmq.Frame]) -> Frames | None:
        answer = self._desk.respond(peer, [bytes(frame.buffer) for frame in frames[1:]])
        return None if answer is None else [bytes(frames[0].buffer), *answer]

    def _send(self, frames: Frames) -> None:
        if not self._socket.closed:
            with contextlib.suppress(zmq.Again):  # a peer that is gone asks again, or never
                self._socket.send_multipart(frames, zmq.DONTWAIT)

    async def _watch(self) -> None:
        while True:
            said = socket_monitor.server_event(
                socket_monitor.read(await self._monitor.recv_multipart())
            )
            if said.text:
                self._log(said.text)

    async def _hang_up(self) -> None:
        """Close connections whose keys were revoked."""
        while True:
            await asyncio.sleep(LOOK_S)
            for public in self._lines.disconnect(lambda key: self._book.caller(key) is not None):
                self._log(f"key rejected: {public} was revoked, a connection was closed")

    def _denied(self, address: str, reason: str) -> None:
        self._say(f"key rejected: {address}: {reason}")

    def _say(self, sentence: str) -> None:
        """Log a sentence of another thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._log, sentence)

    def close(self) -> None:
        """Stop: no request is answered any more."""
        for task in self._tasks:
            task.cancel()
        self._socket.disable_monitor()
        self._socket.close(0)
        self._monitor.close(0)
        self._authenticator.close()
        self._context.term()
        self._gate.close()
