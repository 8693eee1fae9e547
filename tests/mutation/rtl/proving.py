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

SAID = "which mutant: "
CONTROL = re.compile(r" -ctrl \S+ \d+ \d+")
PROVED = "Equivalence successfully proven"


def same(name: str, numbers: list[int], folder: Path) -> set[int]:
    """Those of the mutants of a module, written to a folder by `mutants`, that change nothing.

    The proof does not look at clocks: a mutant of a clock is none of these.
    """
    listed = (folder / "mutants.txt").read_text().splitlines()
    asked = [number for number in numbers if not CLOCKS.search(listed[number - 1])]
    if not asked:
        return set()
    lines = []
    for number in asked:
        lines += [
            "design -reset",
            "read_verilog -lib others.v",
            "read_rtlil module.il",
            CONTROL.sub("", listed[number - 1]),
            "opt_clean -purge",
            f"rename {name} changed",
            "design -stash changed",
            "read_verilog -lib others.v",
            "read_rtlil module.il",
            "opt_clean -purge",
            f"rename {name} kept",
            "design -copy-from changed changed",
            "equiv_make kept changed both",
            "hierarchy -top both",
            "equiv_simple",
            f"log {SAID}{number}",
            "equiv_status",
        ]
    told = yosys(lines, folder).split(SAID)[1:]
    return {int(part.split()[0]) for part in told if PROVED in part}
