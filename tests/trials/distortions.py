"""Kinds of distortion: what is done to a run behind tailback's back, and how it must be named.

`before`: done to the machines when they are joined. `during`: from when the run has begun. `rule`:
by a relay in the middle of the link. `stop`: by the trial itself, from outside the worker.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from pyroute2 import IPRoute

from orchestrator import python_command
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, MTU, Machines
from tests.trials import rules
from tests.trials.relay import Rule

SPIN = "import ctypes; ctypes.CDLL(None).prctl(1, 9)\nwhile True: pass"
"""A process that wants a core, and dies with the thread that started it (PR_SET_PDEATHSIG)."""
SPINS_FROM_S = 1.0
TURN_S = 0.02
"""Of a machine that is throttled: how often it is stopped."""
FOREIGN = bytes.fromhex("025442000099 025442000098 88b5") + bytes(46)
"""A frame of an EtherType that is left to experiments."""


@dataclass(frozen=True)
class Place:
    """The link that is meddled with: interface `out` of one machine to interface `into`."""

    machines: Machines
    sender: str
    out: int
    receiver: str
    into: int
    slow: float
    """Seconds per second of the run: times are the run's own."""

    def set(self, end: str, **what: object) -> None:
        """Change the interface of one end, "sender" or "receiver"."""
        name, number = (self.sender, self.out) if end == "sender" else (self.receiver, self.into)
        with self.machines._inside(self.machines.machines[name]), IPRoute() as netlink:
            netlink.link("set", index=FIRST_INTERFACE + number, **what)

    def shape(self, megabits: float, octets: int) -> None:
        """A shaper behind the sender's interface, with room for so many octets."""
        rate = round(1e6 * megabits / self.slow)
        with self.machines._inside(self.machines.machines[self.sender]), IPRoute() as netlink:
            index, shaped = FIRST_INTERFACE + self.out, {"burst": 3000, "limit": octets}
            netlink.tc("add", "tbf", index, 0x10000, parent=0xFFFFFFFF, rate=f"{rate}bit", **shaped)


Act = Callable[[Place, float], None]


@dataclass(frozen=True)
class Kind:
    """What is done, how strongly (four strengths), and a sentence of which kind must name it."""

    strengths: tuple[float, ...]
    unit: str
    named: str
    before: Act | None = None
    during: Act | None = None
    rule: Callable[[float], Rule] | None = None
    stop: Callable[[int, float, float], None] | None = None


def down(place: Place, seconds: float) -> None:
    """The receiver's end of the link is down for a while."""
    place.set("receiver", state="down")
    time.sleep(seconds * place.slow)
    place.set("receiver", state="up")


def narrow(place: Place, octets: float) -> None:
    """The link takes shorter frames only."""
    place.set("receiver", mtu=int(octets))


def narrow_for_a_while(place: Place, octets: float) -> None:
    """Likewise, and only for the time of some frames."""
    narrow(place, octets)
    time.sleep(TURN_S * place.slow)
    narrow(place, MTU)


def foreign(place: Place, count: float) -> None:
    """Somebody else sends over the link."""
    with place.machines._inside(place.machines.machines[place.sender]):
        other = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with other:
        other.bind((f"p{place.out}", 0))
        for _ in range(int(count)):
            other.send(FOREIGN)
            time.sleep(1e-3)


def shaped(place: Place, megabits: float) -> None:
    """The link is slower than it says, and has room for a few frames."""
    place.shape(megabits, 10_000)


def kept(place: Place, megabits: float) -> None:
    """The link is slower than it says, and has room for all that waits."""
    place.shape(megabits, 40_000_000)


def taken(place: Place, each: float) -> None:
    """So many processes on each core want it as much as the data path does."""
    for core in sorted(os.sched_getaffinity(0)):
        for _ in range(int(each)):
            spinner = subprocess.Popen(python_command.code(SPIN))
            os.sched_setaffinity(spinner.pid, {core})
    time.sleep(SPINS_FROM_S)


def once(worker: int, seconds: float, until: float) -> None:
    """The data path is stopped once."""
    os.kill(worker, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(worker, signal.SIGCONT)


def again(worker: int, share: float, until: float) -> None:
    """The data path has a part of each turn, as a cgroup's quota gives it."""
    while time.monotonic() < until:
        once(worker, share * TURN_S, until)
        time.sleep((1 - share) * TURN_S)


LATE = r"lateness|later than|held back"
LOST = r"frames lost outside"
SLOW = r"octets instead of|a frame takes"
MADE = r"frames that were not sent|frames out of order"

KINDS: dict[str, Kind] = {
    "link down": Kind((0.003, 0.01, 0.03, 0.1), "s", LOST, during=down),
    "MTU": Kind((1400, 1000, 600, 100), "B", LOST, during=narrow),
    "MTU for a while": Kind((1400, 1000, 600, 100), "B", LOST, during=narrow_for_a_while),
    "stopped": Kind((0.03, 0.06, 0.12, 0.25), "s", LATE, stop=once),
    "throttled": Kind((0.1, 0.25, 0.5, 0.75), "of the time", LATE, stop=again),
    "cores taken": Kind((1, 2, 3, 4), "each", LATE, before=taken),
    "foreign frames": Kind((1, 5, 20, 100), "frames", MADE, during=foreign),
    "shaped": Kind((40, 30, 20, 10), "Mb/s", f"{LOST}|{SLOW}", before=shaped),
    "kept back": Kind((48, 40, 30, 20), "Mb/s", SLOW, before=kept),
    "late": Kind((0.001, 0.002, 0.005, 0.01), "s", SLOW, rule=rules.late),
    "bunched": Kind((0.003, 0.006, 0.012, 0.025), "s", SLOW, rule=rules.bunched),
    "lost": Kind((1, 5, 20, 100), "frames", LOST, rule=rules.lost),
    "doubled": Kind((1, 5, 20, 100), "frames", MADE, rule=rules.doubled),
    "replayed": Kind((1, 5, 20, 100), "frames", MADE, rule=rules.replayed),
    "swapped": Kind((1, 5, 20, 100), "frames", "out of order", rule=rules.swapped),
    "exchanged": Kind((1, 5, 20, 100), "frames", MADE, rule=rules.exchanged),
    "corrupted": Kind((1, 5, 20, 100), "frames", LOST, rule=rules.corrupted),
}
