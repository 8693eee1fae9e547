"""Peers that send what a seed draws, without a key and with one: sizes, counts, half handshakes."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import zmq

from orchestrator.testbed import curve_keys
from tests.patience import PATIENCE_S

CURVE_HELLO = b"\x04\xc8\x05HELLO" + bytes(194)
MECHANISMS = [b"CURVE", b"NULL", b"PLAIN", b"GSSAPI", b"", b"curve", b"A" * 20, b"\xff" * 20]
TEXTS = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(506),
    b"SSH-2.0-x\r\n",
    b"\x00" * 4096,
    b"\xff" * 4096,
]
SIZES = [
    0,
    1,
    63,
    64,
    65,
    255,
    256,
    2047,
    2048,
    2049,
    65_536,
    8 * 2**20,
    2**32,
    2**63 - 1,
    2**64 - 1,
]


def greeting(draw: random.Random) -> bytes:
    """A greeting of ZMTP with drawn signature, version, mechanism and role."""
    signature = draw.choice([b"\xff" + bytes(8) + b"\x7f", draw.randbytes(10)])
    version = draw.choice([b"\x03\x00", b"\x03\x01", b"\x01\x00", b"\x7f\xff", draw.randbytes(2)])
    mechanism = draw.choice(MECHANISMS)[:20].ljust(20, b"\0")
    return signature + version + mechanism + bytes([draw.choice([0, 1, 255])]) + bytes(31)


def frame(draw: random.Random) -> bytes:
    """A frame whose flags, announced size and octets are drawn, so that they need not agree."""
    flags, size = draw.randrange(256), draw.choice(SIZES)
    head = bytes([flags])
    head += struct.pack(">Q", size) if flags & 2 else bytes([size & 255])
    return head + draw.randbytes(draw.choice([0, 1, 200, 2048, 5000, 300_000]))


def handshake(draw: random.Random) -> bytes:
    """The beginning of a connection, right up to some point or not at all."""
    right = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(47)
    if draw.random() < 0.5:  # one that goes no further
        return right[: draw.randrange(len(right))]
    whole = draw.choice([right, greeting(draw), draw.choice(TEXTS), b""])
    whole += draw.choice([CURVE_HELLO, b"", frame(draw)])
    whole += b"".join(frame(draw) for _ in range(draw.choice([0, 0, 1, 3, 50])))
    return whole[: draw.randint(0, len(whole))] if draw.random() < 0.3 else whole


class Strangers(threading.Thread):
    """Connections without a key, `count` in all, of which some stay open until `close`."""

    def __init__(self, address: tuple[str, int], seed: object, count: int) -> None:
        super().__init__(name="strangers", daemon=True)
        self._address, self._draw, self._count = address, random.Random(str(seed)), count
        self._open: list[socket.socket] = []
        self.connected = 0

    def run(self) -> None:
        """Connect, send, and go away in one way or another."""
        for _ in range(self._count):
            try:
                peer = socket.create_connection(self._address, timeout=5)
            except OSError:
                continue
            self.connected += 1
            peer.settimeout(0.2)
            with suppress(OSError):
                self._send(peer, handshake(self._draw))
                end = self._draw.randrange(8)
                if end == 0:
                    peer.shutdown(socket.SHUT_WR)
                elif end == 1:  # a reset in place of an end
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    peer.close()
                elif end == 2:
                    peer.close()
            self._open.append(peer)

    def _send(self, peer: socket.socket, octets: bytes) -> None:
        while octets:
            count = self._draw.choice([1, 10, 64, 4096, len(octets)])
            peer.sendall(octets[:count])
            octets = octets[count:] if count < 10 or self._draw.random() < 0.9 else b""

    def close(self) -> None:
        """Close all connections."""
        for peer in self._open:
            peer.close()


def body(draw: random.Random) -> bytes:
    """A frame of a message with a key: JSON, nearly JSON, or none."""
    number = draw.choice(["9" * 5_000, "1e999", "NaN", "-1", "18446744073709551616"])
    nested = draw.choice([10, 5_000, 100_000])
    choices: list[Callable[[], bytes]] = [
        lambda: draw.randbytes(draw.choice([0, 1, 100, 70_000, 2**20])),
        lambda: b"[" * nested,
        lambda: b'{"a":' * nested,
        lambda: f'{{"v": {number}}}'.encode(),
        lambda: f'{{"v": 1, "session": "abcdefab", "id": {number}}}'.encode(),
        lambda: json.dumps({"v": 1, "kind": "hello", "body": {"x" * 1000: "y" * 100_000}}).encode(),
        lambda: json.dumps({"kind": "watch", "from_row": 2**62, "request": "z" * 5_000}).encode(),
    ]
    return draw.choice(choices)()


def send_with_key(
    endpoint: str, server: curve_keys.Pair, own: curve_keys.Pair, seed: object
) -> int:
    """Messages of drawn counts and sizes with an authorised key; how many were sent.

    The peer is a process that vanishes at the end: libzmq aborts the process (session_base.cpp,
    "Resource temporarily unavailable") in which a socket is closed while a message of many frames
    is half sent and its connection breaks.
    """
    words = [endpoint, server.public, own.public, own.secret.decode(), str(seed)]
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(words),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[4],
        timeout=PATIENCE_S,
    )
    return int(done.stdout)


def _send(endpoint: str, server: str, public: str, secret: str, seed: str) -> int:
    draw, peer = random.Random(seed), zmq.Context().socket(zmq.DEALER)
    peer.linger, peer.sndtimeo = 0, 500
    peer.curve_serverkey = server.encode()
    peer.curve_publickey, peer.curve_secretkey = public.encode(), secret.encode()
    peer.connect(endpoint)
    sent, end = 0, time.monotonic() + 3.0
    while time.monotonic() < end and sent < 60:
        parts = [body(draw) for _ in range(draw.choice([1, 1, 1, 2, 3, 40]))]
        with suppress(zmq.Again):
            peer.send_multipart(parts)
            sent += 1
    return sent


if __name__ == "__main__":
    print(_send(*json.loads(sys.stdin.read())), flush=True)
    os._exit(0)
