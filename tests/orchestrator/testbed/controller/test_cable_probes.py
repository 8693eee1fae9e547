"""Probes across machines: what agents are asked to send, and what is made of what they got."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orchestrator.errors import Refused
from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.testbed.controller import cable_probes
from orchestrator.testbed.controller.cable_probes import DeviceProber

CABLES = [
    Cable("sw", "sw.a", "a.sw", "left:eth1"),
    Cable("sw", "sw.b", "b.sw", "left:eth2"),
    Cable("sw", "sw.c", "c.sw", "right:eth1"),
]
ADDRESSES = {
    "a.sw": [bytes.fromhex("025442000001"), bytes.fromhex("025442000009")],
    "b.sw": [bytes.fromhex("025442000002")],
    "c.sw": [bytes.fromhex("025442000003")],
}
NUMBER = {cable.interface: row for row, cable in enumerate(CABLES)}


class Device:
    """A device between two agents. `wires`: where what goes in by a cable comes out."""

    def __init__(self, wires: dict[int, set[int]], longest: int = 2000) -> None:
        self.wires, self.longest = wires, longest
        self.sent: list[dict[str, Any]] = []
        self.came: dict[str, list[dict[str, Any]]] = {"left": [], "right": []}

    async def ask(self, machine: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        """As an agent answers."""
        if kind == "announced":
            found, self.came[machine] = self.came[machine], []
            return {"arrived": found}
        for frame in body["frames"]:
            assert NUMBER[f"{machine}:{frame['nic']}"] == frame["number"]
            self.sent.append(frame)
            for there in self.wires[frame["number"]] if frame["octets"] <= self.longest else ():
                where, _, nic = CABLES[there].interface.partition(":")
                told = {"nic": nic, "number": frame["number"], "octets": frame["octets"]}
                self.came[where].append(told | {"tagged": True})
        return {"sent": len(body["frames"])}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes a while here."""
    monkeypatch.setattr(cable_probes, "PATIENCE_S", 0.0)


def check(device: Device, octets: int = 1500) -> None:
    """Probe it."""

    def of(machine: str) -> Any:
        return lambda kind, body: device.ask(machine, kind, body)

    ask = {machine: of(machine) for machine in ("left", "right")}
    asyncio.run(DeviceProber(CABLES, ADDRESSES, ask).check(octets))


EVERYWHERE = {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}


def test_a_device_learns_where_every_node_is() -> None:
    """From a broadcast of each of the addresses behind our ends, and long frames each way."""
    device = Device(EVERYWHERE)
    check(device)
    short = {(one["number"], one["source"]) for one in device.sent if one["to"] == "ff" * 6}
    assert short == {
        (row, address.hex())
        for row, cable in enumerate(CABLES)
        for address in ADDRESSES[cable.ours]
    }
    long = {(one["number"], one["to"]) for one in device.sent if one["octets"] == 1500}
    firsts = [ADDRESSES[cable.ours][0].hex() for cable in CABLES]
    assert long == {(row, to) for row in range(3) for n, to in enumerate(firsts) if n != row}


@pytest.mark.parametrize(
    ("wires", "longest", "words"),
    [
        (EVERYWHERE | {2: set()}, 2000, r"sent to sw.c \(right:eth1\) comes out nowhere"),
        (EVERYWHERE | {0: {1}}, 2000, r"does not come out of sw.c \(right:eth1\)"),
        (EVERYWHERE | {0: {0, 1, 2}}, 2000, r"sw.a \(left:eth1\) comes back out of it"),
        (EVERYWHERE, 1000, r"1500 octets do not pass: from sw.a \(left:eth1\) to sw.b"),
    ],
)
def test_what_is_wrong_is_told_by_machine_and_nic(
    wires: dict[int, set[int]], longest: int, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        check(Device(wires, longest))
