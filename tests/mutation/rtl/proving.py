"""Which mutants that survive are no change at all: proved, so that nobody has to look at them.

A bit that is always 0 may be stuck at 0; a bit may be inverted that nothing reads. Yosys takes
registers and instances of the same name for the same and proves that, with equal ones, what goes
into each of them and into the outputs is equal. What depends on values that registers never have is
not proved so.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.mutation.rtl.netlist import CLOCKS, yosys

SECONDS = 20
"""Of computing for a proof: what takes longer is not proved (products, mostly)."""
CONTROL = re.compile(r" -ctrl \S+ \d+ \d+")
PROVED = "Equivalence successfully proven"


def same(name: str, numbers: list[int], folder: Path) -> set[int]:
    """Those of the mutants of a module, written to a folder by `mutants`, that change nothing.

    The proof does not look at clocks: a mutant of a clock is none of these.
    """
    listed = (folder / "mutants.txt").read_text().splitlines()
    asked = [number for number in numbers if not CLOCKS.search(listed[number - 1])]
    return {number for number in asked if _proved(name, listed[number - 1], folder)}


def _proved(name: str, mutant: str, folder: Path) -> bool:
    said = yosys(
        [
            "read_verilog -lib others.v",
            "read_rtlil module.il",
            CONTROL.sub("", mutant),
            "memory_collect",
            "opt_clean -purge",
            f"rename {name} changed",
            "design -stash changed",
            "read_verilog -lib others.v",
            "read_rtlil module.il",
            "memory_collect",
            "opt_clean -purge",
            f"rename {name} kept",
            "design -copy-from changed changed",
            "equiv_make kept changed both",
            "hierarchy -top both",
            "equiv_simple",
            "equiv_status",
        ],
        folder,
        SECONDS,
    )
    return PROVED in said
