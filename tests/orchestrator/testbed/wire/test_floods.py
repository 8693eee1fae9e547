"""What an authorised key can do to whoever serves: nothing that lasts."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
import zmq

from orchestrator.testbed.wire import connection_gate, envelope
from orchestrator.testbed.wire.envelope import Request, Unacceptable, pack
from orchestrator.testbed.wire.rpc_server import Handler, Reply, RequestDispatcher
from tests.orchestrator.testbed.wire.test_refusals import PATIENCE_S, Bench, Nothing


def raw(bench: Bench) -> zmq.Socket[bytes]:
    """A connection of the friend's without anything that counts or waits."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.curve_serverkey = bench.own.public.encode()
    socket.curve_publickey = bench.friend.public.encode()
    socket.curve_secretkey = bench.friend.secret
    socket.linger = 0
    socket.connect(bench.server.endpoint)
    return socket


def asked(number: int, kind: str = "do") -> bytes:
    return pack(Request(session="f" * 16, id=number, kind=kind, body={}))


async def test_timers_and_signals_get_their_turn_during_a_flood(tmp_path: Path):
    """The look at leases is a timer, and SIGTERM is a callback of the loop."""
    async with Bench(tmp_path) as bench:
        answered, most = [0], 5000

        async def flood() -> list[zmq.Frame]:
            answered[0] += 1
            if answered[0] > most:
                raise zmq.ZMQError(zmq.ETERM)
            return [zmq.Frame(b"somebody"), FromFriend(asked(answered[0]))]

        class FromFriend(zmq.Frame):
            def get(self, name: Any) -> str:
                return bench.friend.public

        bench.server._receive = flood  # type: ignore[method-assign]
        bench.server._send = lambda frames: None  # type: ignore[method-assign]
        for task in bench.server._tasks:
            task.cancel()
        bench.server.start()
        await asyncio.sleep(0.01)
        assert 0 < answered[0] < most, "the flood went on without a turn for anybody else"


async def test_a_desk_that_breaks_does_not_deafen_the_server(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        real = bench.server._desk.respond
        left = [3]

        def break_first(peer: str, frames: Any) -> Any:
            left[0] -= 1
            if left[0] >= 0:
                raise RuntimeError("a bug")
            return real(peer, frames)

        bench.server._desk.respond = break_first  # type: ignore[method-assign]
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        assert await bench.received("a message was dropped: RuntimeError")
        asker.close()


def test_a_refusal_or_an_answer_of_any_length_is_answered():
    def refuse(peer: str, request: Request, body: Nothing) -> Reply:
        raise Unacceptable("no", "n" * 100_000)

    def fail(peer: str, request: Request, body: Nothing) -> Reply:
        raise OSError("o" * 100_000)

    def tell(peer: str, request: Request, body: Nothing) -> Reply:
        return {"told": "t" * (envelope.LONGEST + 1)}, None

    def tell_rubbish(peer: str, request: Request, body: Nothing) -> Reply:
        return {"told": object()}, None

    handlers = {"a": refuse, "b": fail, "c": tell, "d": tell_rubbish}
    desk = RequestDispatcher({kind: Handler(Nothing, call) for kind, call in handlers.items()})
    for number, kind in enumerate(handlers, 1):
        answer = desk.respond("me", [asked(number, kind)])
        assert answer is not None
        told = envelope.unpack(answer[0], envelope.Answer)
        assert told.refused, kind
        assert len(told.refused) <= 1000


async def test_a_message_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of parts of 1 MB each the gate passes on no more than one message may have."""
    monkeypatch.setattr(connection_gate, "STALLED_S", 1.0)
    async with Bench(tmp_path) as bench:
        gate = bench.server._gate
        flood = raw(bench)
        part = bytes(2**20)
        await asyncio.to_thread(flood.send_multipart, [part] * 100)
        most, end = 0, time.monotonic() + PATIENCE_S
        while not any("longer than one may be" in line for line in bench.said):
            most = max([most, *(one.sent - one.received for one in [*gate._connections.values()])])
            assert time.monotonic() < end, bench.said
            await asyncio.sleep(0.01)
        assert envelope.LONGEST < most <= envelope.LONGEST + 4 * connection_gate.COPIED
        flood.close()
        asker = bench.asker(bench.friend)
        body, _ = await asker.ask("do", within_s=PATIENCE_S)
        assert body
        asker.close()


async def test_messages_that_end_are_taken_for_ever(tmp_path: Path):
    """More than one message may have, in all; with parts that are dropped among them."""
    async with Bench(tmp_path) as bench:
        peer = raw(bench)
        peer.rcvtimeo = int(PATIENCE_S * 1000)
        part = bytes(2**20)
        for _ in range(6):
            await asyncio.to_thread(peer.send_multipart, [part] * 4)
            answer = await asyncio.to_thread(peer.recv)
            assert b"one frame" in answer
        (one,) = bench.server._gate._connections.values()
        assert one.sent > envelope.LONGEST
        end = time.monotonic() + PATIENCE_S
        while one.sent != one.received:  # each octet is counted
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        peer.close()
