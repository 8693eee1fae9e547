"""A stranger's flood beside a run over two agents: connections, half handshakes, large frames.

    python -m pytest -m trials tests/orchestrator/testbed/test_planted.py    # two minutes
    TAILBACK_FLOOD_S=3600 python -m pytest -m trials tests/orchestrator/testbed/test_planted.py

The flood has no key. The run keeps its leases and ends with a result; the memory of controller and
agents, and what they log, stay in bounds.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.trials import plans
from tests.trials.lab import until
from tests.trials.scenarios import clean, pair, submit

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(47)
HELLO = b"\x04\xc8\x05HELLO" + bytes(194)
ANNOUNCED = b"\x02" + (8 * 2**20).to_bytes(8, "big")
OPEN = 1100
"""Connections that are kept open to each server: more than the usual limit of descriptors."""
BEFORE_S, AFTER_S = 2.0, 2.0


SLOW = {'"0.1Gb/s"': '"1Mb/s"', '"0.05Gb/s"': '"0.5Mb/s"', "frames = 1000": "frames = 10"}
EXPECTED = """
[[expect]]
metric = "throughput_bps"
of = "gen"
phase = "run"
min = "0.45Mb/s"
max = "0.55Mb/s"
"""


def unhurried(duration_s: float) -> str:
    """A plan of which a machine with little time to spare is no worse a judge: its queue fills in a
    second, so that it demands a hundredth of the timing of `plans.short`. It expects that half of
    what the switch serves arrives. Its samples are few, so that an hour of them fits in memory."""
    text = plans.short(f"{duration_s:g}s")
    for old, new in SLOW.items():
        assert old in text
        text = text.replace(old, new)
    assert "sample_interval" not in text
    return f'sample_interval = "100ms"\n{text}{EXPECTED}'


class Flood:
    """Threads that flood addresses until stopped; `counts` has what each kind did."""

    def __init__(self, addresses: list[tuple[str, int]], seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._ending = threading.Event()
        kinds: list[Callable[[tuple[str, int], random.Random], None]]
        kinds = [self._idle, self._half_handshakes, self._large_frames]
        self._threads = [
            threading.Thread(target=kind, args=(address, random.Random(f"{seed} {number}")))
            for number, (address, kind) in enumerate((a, k) for a in addresses for k in kinds)
        ]

    def __enter__(self) -> Flood:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _connect(self, address: tuple[str, int]) -> socket.socket | None:
        try:
            return socket.create_connection(address, timeout=0.5)
        except OSError:
            self._ending.wait(0.05)
            return None

    def _idle(self, address: tuple[str, int], draw: random.Random) -> None:
        kept: list[socket.socket] = []
        while not self._ending.is_set():
            if (peer := self._connect(address)) is not None:
                kept.append(peer)
                self.counts["idle"] += 1
            if len(kept) > OPEN:
                kept.pop(draw.randrange(len(kept))).close()
        for peer in kept:
            peer.close()

    def _half_handshakes(self, address: tuple[str, int], draw: random.Random) -> None:
        whole = GREETING + HELLO + b"\x06\x02\x00\x00\x00\x00\x00\x00\x03" + bytes(700)
        while not self._ending.is_set():
            if (peer := self._connect(address)) is None:
                continue
            with peer, suppress(OSError):
                peer.sendall(whole[: draw.randrange(len(whole))])
                self.counts["half"] += 1
                self._ending.wait(draw.random() / 5)

    def _large_frames(self, address: tuple[str, int], draw: random.Random) -> None:
        block = bytes(1 << 16)
        while not self._ending.is_set():
            if (peer := self._connect(address)) is None:
                continue
            with peer, suppress(OSError):
                peer.sendall(GREETING + draw.choice([b"", HELLO]) + ANNOUNCED)
                self.counts["large"] += 1
                for _ in range(127):
                    peer.sendall(block)


def peak_octets(process: int) -> int:
    """Most resident memory that a process has had."""
    text = Path(f"/proc/{process}/status").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def flooded(control: Any, folder: str, seconds: float, seed: int = 1) -> dict[str, Any]:
    """A run of so many seconds with the flood beside it; what came of it."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    lab = pair(folder)
    servers = [*lab.hosts, "controller"]
    name = submit(lab, unhurried(seconds + BEFORE_S + AFTER_S))
    until(lambda: "running" in lab.said(name) or lab.processes[name].poll() is not None, "running")
    time.sleep(BEFORE_S)
    addresses = [(f"10.77.{number + 1}.2", 7010) for number in range(len(lab.hosts))]
    begun, gone_on = time.monotonic(), False
    with Flood([*addresses, ("127.0.0.1", 7011)], seed) as flood:
        while time.monotonic() - begun < seconds and lab.processes[name].poll() is None:
            time.sleep(0.2)
        gone_on = time.monotonic() - begun >= seconds
    peaks = {one: peak_octets(lab.processes[one].pid) for one in servers}
    code, result, said = lab.ended(name)
    logs = {one: os.stat(lab.folder / f"{one}.err").st_size for one in servers}
    left = clean(lab)
    return {
        "code": code,
        "verdict": result.get("verdict"),
        "cause": result.get("cause"),
        "said": said[-2000:],
        "whole": gone_on,
        "peaks": peaks,
        "logs": logs,
        "flood": dict(flood.counts),
        "left": left,
        "codes": lab.close(),
    }
