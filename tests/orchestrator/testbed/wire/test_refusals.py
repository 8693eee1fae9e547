"""Who is turned away, over real sockets: and that both ends say so in time.

Times are printed, not asserted tightly: what is asserted is that each end says "key rejected" by
itself, before anything times out.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
import zmq
import zmq.asyncio

from orchestrator.testbed import curve_keys
from orchestrator.testbed.wire.envelope import Request, WireMessage, pack
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from orchestrator.testbed.wire.rpc_server import Handler, Reply, RequestDispatcher, RpcServer
from orchestrator.testbed.wire.socket_monitor import State
from orchestrator.testbed.wire.zap_authenticator import LOOK_S

PATIENCE_S = 60.0
"""Longer than any of it takes; a busy machine takes its time."""


class Nothing(WireMessage):
    """A request without anything in it."""


class Bench:
    """A server whose handler counts, and whoever wants to get at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = curve_keys.make(folder / "server", "server")
        self.friend = curve_keys.make(folder / "friend", "friend")
        self.stranger = curve_keys.make(folder / "stranger", "stranger")
        curve_keys.authorise(folder / "server", str(folder / "friend" / curve_keys.PUBLIC))
        self.done = 0
        self.said: list[str] = []
        self.server = RpcServer(
            "tcp://127.0.0.1:*",
            self.own,
            folder / "server",
            RequestDispatcher(
                {
                    "look": Handler(Nothing, self._do, role=curve_keys.WATCH),
                    "do": Handler(Nothing, self._do),
                    "undo": Handler(Nothing, self._do, role=curve_keys.ADMINISTER),
                }
            ),
            self.said.append,
        )
        self.server.start()
        self.context = zmq.asyncio.Context()

    def _do(self, peer: curve_keys.Caller, request: Request, body: Nothing) -> Reply:
        self.done += 1
        return {"peer": peer.name}, None

    def asker(self, pair: curve_keys.Pair, public: str | None = None) -> RpcClient:
        return RpcClient(
            self.context, "server", self.server.endpoint, public or self.own.public, pair
        )

    async def received(self, *words: str) -> str:
        """Wait until the server has said one of them."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if found := [line for line in self.said if any(one in line for one in words)]:
                return found[0]
            await asyncio.sleep(0.01)
        raise AssertionError(f"{words!r} was not said: {self.said}")

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.server.close()
        self.context.destroy(0)


async def test_an_authorised_key_gets_an_answer(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        body, _ = await asker.ask("do", within_s=PATIENCE_S)
        assert body == {"peer": "friend"}, "the handler knows whose key it was"
        with pytest.raises(Refusal, match="no request redo"):
            await asker.ask("redo", within_s=PATIENCE_S)
        asker.close()
        assert bench.said == []


async def test_a_key_counts_as_soon_as_it_is_authorised(tmp_path: Path):
    """Also where the server has just read its keys for another one's request."""
    async with Bench(tmp_path) as bench:
        friend = bench.asker(bench.friend)
        for number in range(5):
            pair = curve_keys.make(tmp_path / f"new{number}", f"new{number}")
            public = str(tmp_path / f"new{number}" / curve_keys.PUBLIC)
            await asyncio.sleep(LOOK_S)
            await friend.ask("do", within_s=PATIENCE_S)
            curve_keys.authorise(tmp_path / "server", public)
            late = bench.asker(pair)
            body, _ = await late.ask("do", within_s=PATIENCE_S)
            assert body == {"peer": f"new{number}"}
            late.close()
        friend.close()


async def rejected(bench: Bench, asker: RpcClient) -> None:
    began = time.monotonic()
    with pytest.raises((Unanswered, Refusal), match="key rejected"):
        await asker.ask("do", within_s=PATIENCE_S)
    here = time.monotonic() - began
    await bench.received("key rejected")
    print(f"said here after {here:.3f} s, there after {time.monotonic() - began:.3f} s")
    asker.close()
    assert bench.done == 0


async def test_an_unlisted_key_is_rejected_and_both_ends_say_so(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        await rejected(bench, bench.asker(bench.stranger))
        assert bench.stranger.public in await bench.received("not among the authorised")


async def test_a_revoked_key_is_rejected_without_a_restart(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        first = bench.asker(bench.friend)
        await first.ask("do", within_s=PATIENCE_S)
        first.close()
        bench.done = 0
        curve_keys.revoke(tmp_path / "server", "friend")
        await rejected(bench, bench.asker(bench.friend))


async def test_a_connection_that_is_open_is_closed_when_its_key_is_revoked(tmp_path: Path):
    """Also one that asks nothing: and whoever comes back is told why."""
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        curve_keys.revoke(tmp_path / "server", "friend")
        await bench.received(f"{bench.friend.public} was revoked, a connection was closed")
        end = time.monotonic() + PATIENCE_S
        while asker.state is not State.REJECTED and time.monotonic() < end:
            await asyncio.sleep(0.01)
        assert asker.state is State.REJECTED
        with pytest.raises((Unanswered, Refusal), match="does not let our key in"):
            await asker.ask("do", within_s=PATIENCE_S)
        assert bench.done == 1
        curve_keys.authorise(tmp_path / "server", str(tmp_path / "friend" / curve_keys.PUBLIC))
        await asyncio.sleep(2 * LOOK_S)
        asker.reconnect()
        await asker.ask("do", within_s=PATIENCE_S)
        asker.close()


async def test_a_request_with_a_revoked_key_is_refused_before_its_connection_is_closed(
    tmp_path: Path,
):
    async with Bench(tmp_path) as bench:
        desk, key = bench.server._desk, bench.friend.public
        asked = [pack(Request(session="0" * 16, id=1, kind="do"))]
        curve_keys.revoke(tmp_path / "server", "friend")
        answer = desk.respond(key, asked)
        assert answer is not None
        assert b"let in no more" in answer[0]
        assert bench.done == 0


@pytest.mark.parametrize("role", curve_keys.ROLES)
async def test_a_key_may_what_its_role_allows(tmp_path: Path, role: str):
    async with Bench(tmp_path) as bench:
        curve_keys.revoke(tmp_path / "server", "friend")
        public = tmp_path / "friend" / curve_keys.PUBLIC
        curve_keys.authorise(tmp_path / "server", str(public), role=role)
        asker = bench.asker(bench.friend)
        for place, kind in enumerate(("look", "do", "undo")):
            if place <= curve_keys.ROLES.index(role):
                await asker.ask(kind, within_s=PATIENCE_S)
            else:
                with pytest.raises(Refusal, match=f"the key friend may {role}; {kind} takes"):
                    await asker.ask(kind, within_s=PATIENCE_S)
        asker.close()


async def test_a_server_with_another_key_than_expected_is_rejected(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        await rejected(bench, bench.asker(bench.friend, bench.stranger.public))


@pytest.mark.parametrize("mechanism", ["NULL", "PLAIN"])
async def test_null_and_plain_are_not_let_in(tmp_path: Path, mechanism: str):
    async with Bench(tmp_path) as bench:
        socket = bench.context.socket(zmq.DEALER)
        socket.linger = 0
        if mechanism == "PLAIN":
            socket.plain_username, socket.plain_password = b"friend", b"secret"
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)
        socket.connect(bench.server.endpoint)
        await socket.send(pack(Request(session="a" * 16, id=1, kind="do", run=None)))
        await asyncio.wait_for(monitor.recv_multipart(), PATIENCE_S)
        assert "NULL and PLAIN" in await bench.received("key rejected")
        assert bench.done == 0
        socket.disable_monitor()
        monitor.close(0)
        socket.close(0)


async def test_keys_that_others_could_have_written_turn_everybody_away(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        (tmp_path / "server" / curve_keys.AUTHORISED).chmod(0o777)
        await rejected(bench, bench.asker(bench.friend))
        assert "chmod go-w" in await bench.received("not to be trusted")


class Tap:
    """A TCP relay that records what a client sends, and can send it again."""

    def __init__(self, endpoint: str) -> None:
        self.host, self.port = endpoint.removeprefix("tcp://").split(":")
        self.recorded: list[bytes] = []

    async def start(self) -> str:
        self.server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return f"tcp://127.0.0.1:{port}"

    async def _relay(self, reader: Any, writer: Any) -> None:
        there = await asyncio.open_connection(self.host, int(self.port))

        async def pass_on(source: Any, target: Any, keep: bool) -> None:
            while octets := await source.read(65_536):
                if keep:
                    self.recorded.append(octets)
                target.write(octets)
            target.close()

        await asyncio.gather(pass_on(reader, there[1], True), pass_on(there[0], writer, False))

    async def replay(self) -> bytes:
        """Send everything again over a new connection; what came back."""
        reader, writer = await asyncio.open_connection(self.host, int(self.port))
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # hung up on octets that nobody had read
            for octets in self.recorded:
                writer.write(octets)
            await writer.drain()
            while octets := await reader.read(65_536):
                answer += octets
        writer.close()
        return answer


async def test_what_was_recorded_cannot_be_played_again(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        tap = Tap(bench.server.endpoint)
        endpoint = await tap.start()
        asker = RpcClient(bench.context, "server", endpoint, bench.own.public, bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        asker.close()
        assert bench.done == 1
        await asyncio.wait_for(tap.replay(), PATIENCE_S)  # the server hangs up
        assert bench.done == 1
        assert "key rejected" in await bench.received("key rejected")
        tap.server.close()


async def test_an_old_version_is_told_which_one_is_spoken(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        octets = pack(Request(session="a" * 16, id=1, kind="do", run=None))
        socket = asker._socket
        for task in asker._tasks[:1]:
            task.cancel()
        await socket.send(octets.replace(b'"v":1', b'"v":0'))
        answer = await asyncio.wait_for(socket.recv_multipart(), PATIENCE_S)
        assert b"protocol version 0 is not spoken here, 1 is" in answer[0]
        assert bench.done == 1
        asker.close()


async def test_nobody_there_is_told_apart_from_a_rejected_key(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        asker = RpcClient(
            bench.context, "agent x", "tcp://127.0.0.1:1", bench.own.public, bench.friend
        )
        with pytest.raises(Unanswered, match="no peer") as raised:
            await asker.ask("do", within_s=0.5)
        assert not raised.value.rejected
        asker.close()


async def test_what_nobody_waits_for_any_more_does_not_reach_a_successor(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        endpoint = bench.server.endpoint
        bench.server.close()
        while asker.state is not State.NONE:
            await asyncio.sleep(0.01)
        with pytest.raises(Unanswered):
            await asker.ask("do", within_s=0.2)
        bench.done = 0
        desk = RequestDispatcher({"do": Handler(Nothing, bench._do)})
        bench.server = RpcServer(endpoint, bench.own, tmp_path / "server", desk, bench.said.append)
        bench.server.start()
        await asker.ask("do", within_s=PATIENCE_S)
        assert bench.done == 1
        asker.close()
