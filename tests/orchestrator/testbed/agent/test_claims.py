"""What becomes of NICs that are claimed, on a made up machine; `test_nics` has real ones."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.testbed.agent import ethtool, netlink, nic_claims
from orchestrator.testbed.agent.netlink import Link
from orchestrator.testbed.agent.nic_claims import Claim, check, restore, survey
from orchestrator.testbed.wire.envelope import Unacceptable

UP, RUNNING, LOOPBACK = ethtool.UP, ethtool.RUNNING, ethtool.LOOPBACK
E2 = f"e{os.getpid()}"
"""A NIC that no other process of these tests claims."""
FREE = Link(index=2, name=E2, master=0, over=0)


class Machine:
    """Interfaces, what they are like, and what was done to them, in `log`."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.links = [Link(index=1, name="lo", master=0, over=0), FREE]
        self.flags = {"lo": UP | LOOPBACK, E2: UP}
        self.addresses: dict[int, list[str]] = {}
        self.log: list[str] = []
        self.gone: set[str] = set()
        self.folder = folder
        patch.setattr(nic_claims, "netlink", self.netlink())
        patch.setattr(nic_claims, "ethtool", self.ethtool())
        patch.setattr(nic_claims, "switch_off", self.switch_off)
        patch.setattr(nic_claims, "_ipv6", lambda name: folder / name)
        interfaces = lambda: [(one.index, one.name) for one in self.links]  # noqa: E731
        patch.setattr(nic_claims.socket, "if_nameindex", interfaces)

    def netlink(self) -> Any:
        return SimpleNamespace(
            Link=Link,
            links=lambda: self.links,
            addresses=lambda index: self.addresses.get(index, []),
            holders=netlink.holders,
        )

    def ethtool(self) -> Any:
        return SimpleNamespace(
            **{name: getattr(ethtool, name) for name in ("UP", "RUNNING", "LOOPBACK")},
            flags=self.flags_of,
            timestamping=lambda name: (["receive by software"], 3),
            mac=lambda name: f"mac of {name}",
            speed_mbps=lambda name: 1000,
            mtu=lambda name: 1500,
            driver=lambda name: "made up",
            offloads=lambda name: {"gro": True, "tso": None},
            set_offloads=lambda name, state: self.do(name, f"{name} offloads {state}"),
            set_up=lambda name, up: self.do(name, f"{name} up {up}"),
        )

    def flags_of(self, name: str) -> int:
        if name in self.gone:
            raise OSError(19, "No such device")
        return self.flags.get(name, 0)

    def do(self, name: str, what: str) -> None:
        if name in self.gone:
            raise OSError(19, "No such device")
        self.log.append(what)

    def switch_off(self, name: str) -> dict[str, bool | None]:
        self.log.append(f"{name} offloads off")
        return {"gro": False, "tso": None}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    return Machine(monkeypatch, tmp_path)


def test_every_interface_but_the_loopback_is_told(machine: Machine):
    machine.links.append(Link(index=3, name="e3", master=0, over=0))
    machine.flags["e3"] = RUNNING
    machine.addresses[3] = ["10.0.0.1", "10.0.0.2"]
    first, second = survey()
    assert first.model_dump() == {
        "name": E2,
        "mac": f"mac of {E2}",
        "speed_mbps": 1000,
        "mtu": 1500,
        "driver": "made up",
        "up": True,
        "carrier": False,
        "address": None,
        "offloads": {"gro": True, "tso": None},
        "timestamping": ["receive by software"],
        "ptp_clock": 3,
        "lease": None,
    }
    assert (second.name, second.up, second.carrier, second.address) == (
        *("e3", False, True, "10.0.0.1"),
    )


def test_an_interface_that_goes_while_it_is_looked_at_is_left_out(machine: Machine):
    machine.links.append(Link(index=3, name="e3", master=0, over=0))
    machine.gone.add(E2)
    assert [nic.name for nic in survey()] == ["e3"]


@pytest.mark.parametrize(
    ("index", "others", "use"),
    [
        (1, [], "is the loopback"),
        (3, [Link(index=3, name="e3", master=0, over=0)], "has the address 10.0.0.1: it may be"),
        (3, [Link(index=3, name="e3", master=2, over=0)], "is a port of {}; only"),
        (3, [Link(index=3, name="e3", master=99, over=0)], "is a port of another"),
        (2, [Link(index=3, name="e3", master=0, over=2)], "carries e3; only NICs that nothing"),
        (2, [Link(index=3, name="e3", master=2, over=0)], "has the port e3"),
        (2, [Link(index=at, name=f"e{at}", master=0, over=2) for at in (3, 4)], "carries e3;"),
        (2, [Link(index=at, name=f"e{at}", master=2, over=0) for at in (3, 4)], "has the port e3;"),
    ],
)
def test_what_is_in_use_is_told_with_what_uses_it(
    machine: Machine, index: int, others: list[Link], use: str
):
    machine.links += others
    if "address" in use:
        machine.addresses[3] = ["10.0.0.1", "fd00::7"]
    name = next(one.name for one in machine.links if one.index == index)
    with pytest.raises(Unacceptable, match=f"NIC {name} {use.format(E2)}"):
        check(name)
    with pytest.raises(Unacceptable, match=f"NIC {name} {use.format(E2)}"):
        Claim.make(name)


def test_what_others_are_used_for_does_not_matter(machine: Machine):
    machine.links += [Link(index=3, name="e3", master=4, over=4)]
    machine.links += [Link(index=4, name="br", master=0, over=0)]
    machine.addresses[4] = ["10.0.0.1"]
    check(E2)


def test_a_nic_that_is_not_there_is_told_with_those_that_are(machine: Machine):
    with pytest.raises(Unacceptable, match=f"there is no NIC e9; there are: {E2}$"):
        check("e9")
    machine.links.pop()
    with pytest.raises(Unacceptable, match=r"there is no NIC e9; there are: none$"):
        check("e9")


def claimed(machine: Machine) -> Claim:
    claim = Claim.make(E2)
    assert machine.log == [], "nothing is set before it is noted"
    return claim


def test_a_claim_keeps_what_the_nic_was_like_and_puts_it_back(machine: Machine):
    (machine.folder / E2).write_text("0\n")
    machine.flags[E2] = 0
    claim = claimed(machine)
    assert claim.before == {"up": False, "offloads": {"gro": True, "tso": None}, "ipv6_off": "0"}
    assert claim.prepare() == {"gro": False, "tso": None}
    assert machine.log == [f"{E2} offloads off", f"{E2} up True"]
    assert (machine.folder / E2).read_text() == "1"
    machine.log.clear()
    claim.release()
    assert machine.log == [f"{E2} offloads {claim.before['offloads']}", f"{E2} up False"]
    assert (machine.folder / E2).read_text() == "0"
    again = claimed_again(machine)
    again.release()


def claimed_again(machine: Machine) -> Claim:
    """It can be: the first claim has let go."""
    machine.log.clear()
    return claimed(machine)


def test_where_there_is_no_ipv6_none_is_switched_off(machine: Machine):
    claim = claimed(machine)
    assert (claim.before["up"], claim.before["ipv6_off"]) == (True, None)
    claim.prepare()
    claim.release()
    assert not (machine.folder / E2).exists()


def test_ipv6_that_cannot_be_switched_off_stays(machine: Machine):
    (machine.folder / E2).write_text("0")
    claim = claimed(machine)
    (machine.folder / E2).unlink()
    (machine.folder / E2).mkdir()
    claim.prepare()
    assert machine.log == [f"{E2} offloads off", f"{E2} up True"]
    (machine.folder / E2).rmdir()
    claim.release()
    assert not (machine.folder / E2).exists(), "what is gone is not made anew"


def test_a_nic_that_has_gone_is_let_go(machine: Machine):
    claim = claimed(machine)
    machine.gone.add(E2)
    claim.release()
    machine.gone.clear()
    claimed_again(machine).release()
    machine.gone.add(E2)
    restore(E2, {"up": True, "offloads": {}, "ipv6_off": None})


ME = 1000
"""Somebody who is not root, whoever runs these tests."""


@pytest.mark.parametrize("user", [0, ME])
def test_a_nic_that_root_or_this_user_holds_is_held(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, user: int
):
    monkeypatch.setattr(nic_claims, "os", SimpleNamespace(getuid=lambda: ME))
    holders = SimpleNamespace(**vars(nic_claims.netlink))
    holders.holders = lambda name: [ME, user] if name == f"tailback/nic/{E2}/" else []
    monkeypatch.setattr(nic_claims, "netlink", holders)
    with pytest.raises(Unacceptable, match=f"NIC {E2} is held by another agent of this machine"):
        Claim.make(E2)
    assert netlink.holders(f"tailback/nic/{E2}/") == [], "and nothing of the attempt is left"
    for stranger in (1, ME - 1, ME + 1, 12345):
        holders.holders = lambda name, theirs=stranger: [ME, theirs]
        Claim.make(E2).release()


def test_a_claim_that_fails_holds_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    def broken(name: str) -> list[int]:
        raise OSError("no diagnosis of sockets here")

    monkeypatch.setattr(
        nic_claims, "netlink", SimpleNamespace(**vars(nic_claims.netlink) | {"holders": broken})
    )
    with pytest.raises(OSError, match="no diagnosis"):
        Claim.make(E2)
    assert netlink.holders(f"tailback/nic/{E2}/") == []
