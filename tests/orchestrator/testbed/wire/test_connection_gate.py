"""Connection gate: bounds on peers that have shown no key, and what an unreadable key list does."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
import time
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.testbed import curve_keys
from orchestrator.testbed.wire import connection_gate
from orchestrator.testbed.wire.connection_gate import ConnectionGate, wire_octets
from orchestrator.testbed.wire.rpc_client import Refusal, Unanswered
from orchestrator.testbed.wire.zap_authenticator import LOOK_S
from tests.orchestrator.testbed.wire.test_refusals import PATIENCE_S, Bench

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + bytes(32)
HELLO = b"\x04\xc8\x05HELLO" + bytes(194)
SEEDS = range(16)


def stranger(bench: Bench) -> socket.socket:
    host, _, port = bench.server.endpoint.removeprefix("tcp://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def closed(peer: socket.socket) -> bool:
    """True once the other end has closed; octets until then are dropped."""
    try:
        while peer.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


async def test_idle_strangers_take_neither_descriptors_nor_the_answers_of_others(
    tmp_path: Path,
) -> None:
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        before = len(os.listdir("/proc/self/fd"))
        idle: list[socket.socket] = []

        def knock() -> None:
            for _ in range(300):
                try:
                    idle.append(stranger(bench))
                except OSError:
                    return

        flood = asyncio.create_task(asyncio.to_thread(knock))
        while not flood.done():
            await asker.ask("do", within_s=PATIENCE_S)
            await asyncio.sleep(0.05)
        newcomers = [one for one in bench.server._gate._connections.values() if not one.keyed]
        assert len(newcomers) <= connection_gate.OF_SOURCE
        ours = len(os.listdir("/proc/self/fd")) - before - len(idle)
        assert ours <= 3 * connection_gate.OF_SOURCE + 8
        late = bench.asker(bench.friend)
        await late.ask("do", within_s=PATIENCE_S)
        for one in idle:
            one.close()
        for one in (asker, late):
            one.close()
        assert len(bench.said) <= 21


async def test_a_stranger_has_a_few_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_gate, "HANDSHAKE_S", 0.3)
    async with Bench(tmp_path) as bench:
        for first in (b"", GREETING[:11], GREETING, GREETING + HELLO[:50]):
            with stranger(bench) as peer:
                peer.sendall(first)
                assert await asyncio.to_thread(closed, peer), first
        assert await bench.received("it showed no key within")


def handshake(draw: random.Random) -> bytes:
    """Octets of a stranger that announce, or send, more than a handshake has."""
    size = draw.choice([connection_gate.FIRST_OCTETS + 1, 8 * 2**20, 2**40, 2**63])
    long = bytes([draw.choice([2, 3, 6])]) + size.to_bytes(8, "big")
    third = HELLO + b"\x04\x80" + bytes(128)
    return GREETING + draw.choice(
        [
            long,
            HELLO + long,
            third + b"\x04\x01\x00",
            third + b"\x04\x64" + draw.randbytes(draw.randrange(1000, 5000)),
        ]
    )


@pytest.mark.parametrize("seed", SEEDS)
async def test_more_than_a_handshake_is_not_taken(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither kept nor passed on to ZeroMQ, which would close the connection in its own time."""
    draw = random.Random(seed)
    octets = handshake(draw)
    passed, held = [0], [0]
    whole = connection_gate.Connection.of_peer

    def weighed(connection: connection_gate.Connection, taken: bytes) -> bytes:
        onwards = whole(connection, taken)
        if not connection.keyed:
            passed[0] += len(onwards)
            held[0] = max(held[0], len(connection._from_peer._held))
        return onwards

    monkeypatch.setattr(connection_gate.Connection, "of_peer", weighed)
    async with Bench(tmp_path) as bench:
        with stranger(bench) as peer:

            def send() -> bool:
                try:
                    rest = octets
                    while rest:
                        count = draw.randint(1, len(rest))
                        peer.sendall(rest[:count])
                        rest = rest[count:]
                    peer.sendall(bytes(2**20))
                except OSError:
                    return True
                return closed(peer)

            assert await asyncio.to_thread(send)
        # whoever is first: the gate, or ZeroMQ with what the gate let through
        assert await bench.received("before it", "key rejected")
        assert held[0] <= connection_gate.FIRST_OCTETS + 9
        assert passed[0] <= len(GREETING) + 2 * (connection_gate.FIRST_OCTETS + 9)
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        asker.close()


def test_the_size_on_the_wire_is_known() -> None:
    assert [wire_octets(n) for n in (0, 222, 223)] == [35, 257, 265]


@pytest.mark.parametrize(
    "endpoint", ["tcp://nowhere", "ipc:///tmp/x", "tcp://127.0.0.1:x", "", "tcp://x y:1"]
)
def test_an_address_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(BadInput, match="tcp://ADDRESS:PORT of this machine is expected"):
        ConnectionGate(endpoint, 1, lambda source, reason: None)


# --- a key list that cannot be read decides nothing


async def test_without_descriptors_the_last_list_counts_on_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Bench(tmp_path) as bench:
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)

        def none_left(path: object) -> list[str]:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        with monkeypatch.context() as patch:
            patch.setattr(curve_keys.os, "listdir", none_left)
            await asyncio.sleep(2 * LOOK_S)
            body, _ = await asker.ask("do", within_s=PATIENCE_S)
            assert body == {"peer": "friend"}
            await bench.received("Too many open files); the last list counts on")
        await asyncio.sleep(2 * LOOK_S)
        await asker.ask("do", within_s=PATIENCE_S)
        await bench.received("the authorised keys can be read again")
        asker.close()


BROKEN = ("", "name = ", 'name = "x"', 'public = "short"', "\xff", 'name = "x"\nrole = "emperor"')


@pytest.mark.parametrize("text", BROKEN)
async def test_a_broken_file_takes_no_key_of_others(text: str, tmp_path: Path) -> None:
    """And hides no revocation."""
    async with Bench(tmp_path) as bench:
        folder = tmp_path / "server" / curve_keys.AUTHORISED
        (folder / "broken.pub").write_text(text)
        asker = bench.asker(bench.friend)
        await asker.ask("do", within_s=PATIENCE_S)
        await bench.received("broken.pub: ")
        (folder / "friend.pub").write_text(text)  # damaged: the key that it had counts on
        await asyncio.sleep(2 * LOOK_S)
        await asker.ask("do", within_s=PATIENCE_S)
        (folder / "friend.pub").unlink()
        await asyncio.sleep(2 * LOOK_S)
        with pytest.raises((Refusal, Unanswered)):
            await asker.ask("do", within_s=3 * LOOK_S)
        asker.close()


def test_no_reader_finds_a_part_of_a_key(tmp_path: Path) -> None:
    """While keys are authorised and revoked, each list is whole."""
    curve_keys.make(tmp_path, "me")
    public = curve_keys.make(tmp_path / "other", "other").public
    end, reads = time.monotonic() + 0.5, 0

    def write() -> None:
        while time.monotonic() < end:
            curve_keys.authorise(tmp_path, public, "other")
            curve_keys.revoke(tmp_path, "other")

    async def both() -> None:
        nonlocal reads
        writing = asyncio.create_task(asyncio.to_thread(write))
        while not writing.done():
            found = curve_keys.read_callers(tmp_path)
            assert found.unreadable == {}
            reads += 1
            await asyncio.sleep(0)
        await writing

    asyncio.run(both())
    assert reads > 10
    assert list((tmp_path / curve_keys.AUTHORISED).iterdir()) == []


def test_a_key_that_is_being_written_is_not_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the moment at which its file is there and empty."""
    curve_keys.make(tmp_path, "me")
    public = curve_keys.make(tmp_path / "other", "other").public
    seen: list[curve_keys.KeyList] = []
    change_mode = os.fchmod

    def look(handle: int, mode: int) -> None:
        seen.append(curve_keys.read_callers(tmp_path))
        change_mode(handle, mode)

    monkeypatch.setattr(curve_keys.os, "fchmod", look)
    curve_keys.authorise(tmp_path, public, "other")
    assert [(one.by_file, one.unreadable) for one in seen] == [({}, {})]
    assert curve_keys.listed(tmp_path) == {public: "other"}
