"""What points of gateware are kept by: its Verilog and its loop, beside all Python."""

from __future__ import annotations

from pathlib import Path

import firmware
from orchestrator.run import source_digest


def test_gateware_and_its_loop_are_among_the_sources() -> None:
    names = {Path(path).name for path in source_digest._sources(firmware)}
    assert {"frame_fifo.v", "fabric.cpp", "model.cpp", "gateware_target.py"} <= names
