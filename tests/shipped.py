"""Some of the shipped plans: those that slips are tried on, one of each kind."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from orchestrator.plan.plan import composed
from orchestrator.plan.toml_text import write

FOLDER = Path(__file__).parents[1] / "plugins" / "plans"
OF_EACH_KIND = [
    FOLDER / f"{name}.toml"
    for name in (
        "af-qcn",
        "fabric-spray",
        "fecn-table1",
        "ibm-fig2a",
        "ibm-fig5c",
        "ibm-fig6-keepalive",
        "iperf-p4qcn",
        "multicast-inputs",
        "netfpga-fig11",
        "p4qcn-fig12",
        "pathology-cnm-loss",
        "pathology-deadlock-ring",
        "quickstart",
        "shootout",
        "tcp-qcn",
    )
]

AT_FIRST = {"fecn-table1", "ibm-fig5c", "p4qcn-fig12", "quickstart", "tcp-qcn"}
KINDS = [
    pytest.param(path, id=path.stem, marks=() if path.stem in AT_FIRST else pytest.mark.slow)
    for path in OF_EACH_KIND
]
"""The same as cases of a test, most of them among the slow ones."""


@functools.cache
def whole(path: Path) -> str:
    """A plan's text with its base in it, which is not found from elsewhere."""
    return write(composed(path)[1])
