"""The conformance suite: the same rules on every target, each with a figure for the table."""

from __future__ import annotations

import pytest

from traces.pytest_plugin.dut_description import Device
from traces.pytest_plugin.target_runner import Lab


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on real frames carry the marker by which all of them are chosen."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("tailback_target") == "software":
            item.add_marker(pytest.mark.software)


@pytest.fixture
def device(testbed: Lab) -> Device:
    """The description of the device under test."""
    assert testbed.device is not None
    if testbed.device.is_nic:
        pytest.skip("the device is a NIC, and this figure is one of a switch")
    return testbed.device
