"""Skip what needs namespaces or the extra `otg` where they cannot be had."""

from __future__ import annotations

import pytest

from orchestrator.targets.software.namespace_probe import probe


@pytest.fixture(scope="session")
def namespaces() -> None:
    """The test needs emulated machines."""
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
