"""Some of the shipped plans: those that slips are tried on, one of each kind."""

from __future__ import annotations

from pathlib import Path

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
