"""List of the files that are made from the register maps, and their text."""

from __future__ import annotations

from pathlib import Path

from firmware.registers.register_map import ENABLE_BIT, HEADER, Register, RegisterMap
from firmware.registers.register_maps import MAPS
from firmware.registers.verilog_decoder import verilog

INTRODUCTION = """\
# Registers of the gateware

Made from `firmware/registers/register_maps.py` by `python -m firmware.registers`; not to be edited.

Every instance has a window of 4 KiB with 32-bit little-endian words. An access to a word that is
not listed reads 0 and changes nothing. A register of more than 32 bits takes two words, the low
half first; writing the high half sets both. Access: `rw` is kept and read back; `command` the
same, and every write has an effect; `ro` is read only; `counter` is read as it was at the last
snapshot. A write that does not set all four strobes is answered with an error.

## Every window

| offset | name | meaning |
|---|---|---|
"""


def _row(register: Register) -> str:
    words = f"0x{register.offset:03X}"
    if register.words == 2:
        words += f"-0x{register.offset + 4:03X}"
    reset = str(register.reset) if register.writable else ""
    allowed = ""
    if register.writable and (register.least or register.most is not None):
        allowed = f"{register.least} to {register.top}"
    cells = (words, f"`{register.name}`", str(register.width), register.access, reset)
    return f"| {' | '.join((*cells, allowed, register.unit, register.doc))} |\n"


def _section(map_: RegisterMap) -> str:
    return (
        f"\n## {map_.module}\n\n{map_.summary}. ID 0x{map_.identity:08X}, version {map_.version}, "
        f"CAPS: {map_.caps}.\n\n"
        "| offset | name | bits | access | reset | allowed | unit | meaning |\n"
        "|---|---|---|---|---|---|---|---|\n" + "".join(_row(r) for r in map_.registers)
    )


def page() -> str:
    """The text of the page."""
    header = "".join(f"| 0x{offset:03X} | {name} | {doc} |\n" for offset, name, doc in HEADER)
    control = f"\nAfter reset `enable` (bit {ENABLE_BIT} of CONTROL) is 0.\n"
    return INTRODUCTION + header + control + "".join(map(_section, MAPS))


FIRMWARE = Path(__file__).parents[1]
PAGE = FIRMWARE.parent / "docs" / "registers.md"


def generated() -> dict[Path, str]:
    """Texts of the generated files, by path."""
    folder = FIRMWARE / "rtl" / "registers"
    decodes = {folder / f"{map_.module}_registers.v": verilog(map_) for map_ in MAPS}
    return {**decodes, PAGE: page()}
