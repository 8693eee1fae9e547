"""Two given NICs as the path: here a veth pair, put back as it was; refused without the rights."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.calibration import trial_links
from orchestrator.errors import Refused

CODE = """
import json, os, sys
from pyroute2 import IPRoute
from orchestrator.calibration.calibration_run import CalibrationRequest, calibrate
from orchestrator.errors import BadInput
from orchestrator.targets.software.linux_syscalls import CLONE_NEWNET, unshare
from orchestrator.testbed.agent import ethtool

unshare(CLONE_NEWNET)

def state():
    return {
        n: [ethtool.flags(n) & ethtool.UP, ethtool.offloads(n),
            open(f"/proc/sys/net/ipv6/conf/{n}/disable_ipv6").read()]
        for n in ("left", "right")
    }

with IPRoute() as netlink:
    netlink.link("add", kind="veth", ifname="left", peer={"ifname": "right"})
    before = state()
    told = calibrate(CalibrationRequest(5.0, None, ("left", "right")), lambda news: None)
    after = state()
    named = ""
    try:
        calibrate(CalibrationRequest(5.0, None, ("left", "middle")), lambda news: None)
    except BadInput as error:
        named = str(error)
    links = [link.get("ifname") for link in netlink.get_links()]
    left = state()
print(json.dumps([before, after, left, links, named, told.model_dump(mode="json")]))
"""


@pytest.mark.slow
@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.usefixtures("namespaces")
@pytest.mark.root
def test_a_pair_of_nics_is_measured_and_put_back(tmp_path: Path) -> None:
    done = subprocess.run(
        python_command.code(CODE), capture_output=True, text=True, timeout=200, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    before, after, left, links, named, told = json.loads(done.stdout)
    assert before == after == left
    assert set(links) == {"lo", "left", "right"}
    assert "middle" in named
    assert told["path"] == {
        "kind": "nics",
        "datapath": "packet",
        "ports": ["left", "right"],
        "drivers": ["veth", "veth"],
    }
    assert len(told["limiter"]) == len(told["delay"]) == len(told["forwarding"]) == 3
    for limiter in told["limiter"]:
        assert limiter["frames"] > 100
    for delay in told["delay"]:
        assert (delay["lost_frames"], delay["reordered_frames"]) == (0, 0)
    assert told["turnaround"]["cnm"]["count"] > 10


def test_without_the_rights_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_links, "capabilities", lambda: {trial_links.NET_RAW})
    with pytest.raises(Refused, match="CAP_NET_ADMIN, to set NICs up") as caught:
        trial_links.require_rights()
    assert "CAP_NET_RAW" not in str(caught.value)
    assert caught.value.exit_code == 2
