"""Which NICs are leased: those that nothing on this machine uses, by their right names, once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.testbed.agent import ethtool, netlink, nic_claims
from orchestrator.testbed.agent.nic_claims import Claim
from orchestrator.testbed.wire.envelope import Unacceptable
from tests.orchestrator.testbed.agent.test_agent_service import Served

WORLD = """
import json, socket
from pyroute2 import IPRoute
from orchestrator.testbed.agent import nic_claims
from orchestrator.testbed.wire.envelope import Unacceptable
with IPRoute() as ip:
    def at(name):
        return socket.if_nametoindex(name)
    ip.link("add", ifname="br0", kind="bridge")
    for n in range(6):
        ip.link("add", ifname=f"v{n}", kind="veth", peer=f"w{n}")
    ip.link("add", ifname="mv", kind="macvlan", link=at("v4"))
    ip.link("set", index=at("v0"), master=at("br0"))
    for name in ("v1", "w1"):
        ip.link("set", index=at(name), state="up")  # it gives itself a link-local address
    ip.addr("add", index=at("v2"), address="fd00::7", prefixlen=64)
    ip.addr("add", index=at("v3"), address="10.0.0.1", prefixlen=24, label="v3:1")
said = {}
for name in ("v0", "v1", "v2", "v3", "v4", "v5", "w4", "br0", "lo", "none"):
    try:
        nic_claims.check(name)
        said[name] = "free"
    except Unacceptable as no:
        said[name] = no.sentence
print(json.dumps(said))
"""
EXPECTED = {
    "v0": "is a port of br0",
    "v1": "free",
    "v2": "has the address fd00::7",
    "v3": "has the address 10.0.0.1",
    "v4": "carries mv",
    "v5": "free",
    "w4": "free",
    "br0": "has the port v0",
    "lo": "is the loopback",
    "none": "there is no NIC none",
}


@pytest.mark.software
@pytest.mark.shares_cores
def test_a_nic_that_something_uses_is_not_leased():
    words = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-P", "-c", WORLD]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for name, words_of_it in EXPECTED.items():
        assert words_of_it in said[name], name


@pytest.mark.parametrize(
    "name",
    ["eth1\0", "eth1\n", "../all", "x/../../all", "a" * 16, "a" * 30_000, "", ".", "e 1", "e\x1b["],
)
def test_the_name_of_a_nic_is_checked(tmp_path: Path, name: str):
    served = Served(tmp_path / "state")
    told = served.lease(nics=[name])
    assert told["code"] == "schema"
    assert len(told["refused"]) < 1000
    with pytest.raises(Unacceptable, match="no name of a NIC") as caught:
        nic_claims.check(name)
    assert caught.value.sentence == f"{name[:20]!r} is no name of a NIC"
    served.agent.close()


class Free:
    """Stands for a NIC that is there and free, whatever this machine has."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(nic_claims, "check", lambda name, *, in_use: None)
        patch.setattr(ethtool, "flags", lambda name: 0)
        patch.setattr(ethtool, "offloads", lambda name: {})
        patch.setattr(nic_claims, "restore", lambda name, before: None)


def test_a_nic_is_claimed_once(monkeypatch: pytest.MonkeyPatch):
    Free(monkeypatch)
    name = f"t{os.getpid()}"
    claim = Claim.make(name)
    with pytest.raises(Unacceptable, match="held by another agent"):
        Claim.make(name)
    Claim.make(f"{name}x").release()
    claim.release()
    Claim.make(name).release()


def test_a_stranger_who_binds_the_names_of_a_nic_holds_nothing(monkeypatch: pytest.MonkeyPatch):
    """The kernel tells whose a socket is: a stranger's and those of root and one's own differ."""
    Free(monkeypatch)
    name = f"t{os.getpid()}"
    squatters = []
    for word in ("", "/", "/0", "/" + "0" * 16):
        squatter = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        squatter.bind(f"\0tailback/nic/{name}{word}")
        squatters.append(squatter)
    told = netlink.holders(f"tailback/nic/{name}/")
    assert told == [os.getuid()] * 3
    real = netlink.holders

    def as_if_of_a_stranger(asked: str) -> list[int]:
        mine = real(asked)
        return [12345] * 3 + mine[3:]

    monkeypatch.setattr(netlink, "holders", as_if_of_a_stranger)
    claim = Claim.make(name)
    claim.release()
    for squatter in squatters:
        squatter.close()


@pytest.mark.root
def test_the_kernel_tells_whose_a_socket_is():
    code = "import os, socket, sys; os.setuid(12345); s = socket.socket(socket.AF_UNIX, 2)\n"
    code += "s.bind('\\0tailback/test/' + sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    name = str(os.getpid())
    words = [sys.executable, "-P", "-c", code, name]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"1\n"
        assert netlink.holders(f"tailback/test/{name}") == [12345]
        stranger.communicate()
