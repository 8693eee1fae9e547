"""What `tailback doctor` says of a NIC: what it has, and by name what it lacks."""

from __future__ import annotations

import socket
import sys

import pytest

from orchestrator.targets.software import nic_capabilities
from orchestrator.targets.software.nic_capabilities import Abilities

ALL = (1 << 0) | (1 << 2) | (1 << 6)


def test_a_nic_that_has_everything_lacks_nothing():
    told = nic_capabilities.describe_nic(
        Abilities("eth7", "ice", ALL, 0b1011, 0b1, 0b101, known=True)
    )
    assert (told.name, told.lack) == ("NIC eth7", None)
    for word in ("launch times (SO_TXTIME)", "AF_XDP without a copy", "hardware clock"):
        assert word in told.what


def test_what_a_nic_lacks_is_named():
    told = nic_capabilities.describe_nic(
        Abilities("eth7", "virtio_net", 0, 0b101011, 0, 0, known=True)
    )
    assert told.lack is not None
    assert "virtio_net has XDP in the driver, AF_XDP without a copy, and no" in told.lack.lack
    for word in (
        "no receive times by hardware",
        "no send times by hardware",
        "no launch times (SO_TXTIME) in AF_XDP",
    ):
        assert word in told.lack.lack


def test_of_what_the_kernel_does_not_tell_nothing_is_said():
    told = nic_capabilities.describe_nic(Abilities("eth7", None, 0))
    assert told.lack is not None
    assert told.lack.lack.startswith("driver unknown has no receive times")
    assert "XDP" not in told.lack.lack


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")
def test_the_nics_of_this_machine_are_looked_at():
    names = {name for _, name in socket.if_nameindex()}
    found = nic_capabilities.list_nics()
    assert {nic.name for nic in found} <= names - {"lo"}
    for nic in found:
        assert nic.driver
        assert nic_capabilities.describe_nic(nic).name == f"NIC {nic.name}"
