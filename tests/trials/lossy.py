"""A relay between controller and agent that loses, doubles, delays and swaps whole messages, keeps
the first answer to every order to itself, and damages one octet of a file's chunk; of another
file's chunk it renews the checksum, too, so that only the digest of the whole file differs.

It ends CURVE on one side with a key of its own and begins it anew on the other with the
controller's: below that, on the wire, such things would only break the connection.
"""

from __future__ import annotations

import json
import random
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import zmq

from orchestrator.testbed import curve_keys

RATES = {"lose": 0.15, "double": 0.15, "delay": 0.15, "swap": 0.15}
LONGEST_S = 0.3
REMEMBERED = 1000
UNANSWERED, DAMAGE, FORGE = "unanswered", "damage", "forge"
ORDERS = {"lease", "deploy", "start", "collect", "release"}
"""What an agent does once, however often it is asked for it under one number."""


class Lossy(threading.Thread):
    """See the module. `kinds` are what happens now: of RATES, UNANSWERED, DAMAGE, FORGE; none:
    it passes all on."""

    def __init__(self, listen: str, own: Path, agent: str, public: str, ours: Path) -> None:
        super().__init__(name="lossy", daemon=True)
        self.kinds: set[str] = set()
        self.draw = random.Random(1)
        self.count = dict.fromkeys((*RATES, UNANSWERED, DAMAGE, FORGE), 0)
        self._asked: dict[tuple[str, int], dict[str, Any]] = {}
        self._kept_back: set[tuple[str, int]] = set()
        self._damaged: tuple[str, int] | None = None
        self.forget = threading.Event()
        """Set: the connections of a controller that has ended are closed."""
        self.went_on = ""
        """How a fetch went on after a chunk that came damaged, unless it asked for it again."""
        self._agent, self._public, self._ours = agent, public, curve_keys.own(ours)
        self._ending = threading.Event()
        self._context = zmq.Context()
        self._near = self._context.socket(zmq.ROUTER)
        pair = curve_keys.own(own)
        self._near.curve_server = True
        self._near.curve_publickey = pair.public.encode()
        self._near.curve_secretkey = pair.secret
        self._near.linger = 0
        self._near.bind(listen)
        self._far: dict[bytes, zmq.Socket[bytes]] = {}
        self._late: list[tuple[float, zmq.Socket[bytes], list[bytes]]] = []
        self._kept: tuple[zmq.Socket[bytes], list[bytes]] | None = None

    def run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._near, zmq.POLLIN)
        while not self._ending.is_set():
            if self.forget.is_set():
                self.forget.clear()
                for socket in self._far.values():
                    poller.unregister(socket)
                    socket.close()
                self._far.clear()
            for socket, _ in poller.poll(20):
                frames = socket.recv_multipart()
                if socket is self._near:
                    identity, *rest = frames
                    if identity not in self._far:
                        self._far[identity] = self._connect()
                        poller.register(self._far[identity], zmq.POLLIN)
                    self._note(rest)
                    self._pass(self._far[identity], rest)
                else:
                    identity = next(i for i, s in self._far.items() if s is socket)
                    if (told := self._answer(frames)) is not None:
                        self._pass(self._near, [identity, *told])
            self._deliver()
        self._context.destroy(0)

    def _connect(self) -> zmq.Socket[bytes]:
        far = self._context.socket(zmq.DEALER)
        far.curve_serverkey = self._public.encode()
        far.curve_publickey = self._ours.public.encode()
        far.curve_secretkey = self._ours.secret
        far.linger = 0
        far.immediate = True  # what is not delivered is lost, as it is without a relay
        far.reconnect_ivl_max = 500
        far.connect(self._agent)
        return far

    def _note(self, frames: list[bytes]) -> None:
        """Remember a request; watch whether a damaged chunk is asked for again."""
        asked = json.loads(frames[0])
        self._asked[asked["session"], asked["id"]] = asked
        while len(self._asked) > REMEMBERED:
            self._asked.pop(next(iter(self._asked)))
        if asked["kind"] == "fetch" and self._damaged is not None:
            name, offset = self._damaged
            self._damaged = None
            if (asked["body"]["name"], asked["body"]["offset"]) != (name, offset):
                self.went_on = (
                    f"{name}: octets from {offset} came damaged, and "
                    f"{asked['body']['name']} from {asked['body']['offset']} was asked for next"
                )

    def _answer(self, frames: list[bytes]) -> list[bytes] | None:
        """An answer as it goes on; None: not at all."""
        if not self.kinds & {UNANSWERED, DAMAGE, FORGE}:
            return frames
        told = json.loads(frames[0])
        key = told["session"], told["id"]
        kind = self._asked.get(key, {}).get("kind")
        if UNANSWERED in self.kinds and kind in ORDERS and key not in self._kept_back:
            self._kept_back.add(key)
            self.count[UNANSWERED] += 1
            return None
        first = DAMAGE in self.kinds and not self.count[DAMAGE]
        if first and kind == "fetch" and len(frames) > 1 and told["body"]["offset"] > 0:
            asked = self._asked[key]["body"]
            self.count[DAMAGE] += 1
            self._damaged = asked["name"], asked["offset"]
            return [frames[0], bytes([frames[1][0] ^ 1]) + frames[1][1:], *frames[2:]]
        if FORGE in self.kinds and not self.count[FORGE] and kind == "fetch" and len(frames) > 1:
            asked = self._asked[key]["body"]
            if asked["name"] == "words" and asked["offset"] == 0:
                self.count[FORGE] += 1
                octets = bytes([frames[1][0] ^ 1]) + frames[1][1:]
                told["body"]["crc32"] = zlib.crc32(octets)
                return [json.dumps(told).encode(), octets, *frames[2:]]
        return frames

    def _happens(self, kind: str) -> bool:
        happens = kind in self.kinds and self.draw.random() < RATES[kind]
        self.count[kind] += happens
        return happens

    def _pass(self, socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
        if self._happens("lose"):
            return
        if self._happens("swap") and self._kept is None:
            self._kept = socket, frames
            return
        if self._happens("delay"):
            self._late.append((time.monotonic() + self.draw.random() * LONGEST_S, socket, frames))
            return
        for _ in range(2 if self._happens("double") else 1):
            self._send(socket, frames)
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self._send(*kept)

    def _deliver(self) -> None:
        now = time.monotonic()
        for entry in [entry for entry in self._late if entry[0] <= now]:
            self._late.remove(entry)
            self._send(entry[1], entry[2])

    def _send(self, socket: zmq.Socket[bytes], frames: list[bytes]) -> None:
        try:
            socket.send_multipart(frames, zmq.DONTWAIT)
        except zmq.Again:
            self.count["lose"] += 1

    def close(self) -> None:
        self._ending.set()
        self.join()
