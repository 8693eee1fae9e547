"""List of the files that are made from the register maps, and their text."""

from __future__ import annotations

from pathlib import Path

from firmware.registers.maps import MAPS
from firmware.registers.page import page
from firmware.registers.verilog import verilog

FIRMWARE = Path(__file__).parents[1]
PAGE = FIRMWARE.parent / "docs" / "registers.md"


def generated() -> dict[Path, str]:
    """Texts of the generated files, by path."""
    folder = FIRMWARE / "rtl" / "registers"
    decodes = {folder / f"{map_.module}_registers.v": verilog(map_) for map_ in MAPS}
    return {**decodes, PAGE: page()}
