"""Table of the page docs/gateware.md: which algorithms compile, and clocks of their events."""

from __future__ import annotations

from pathlib import Path

from firmware.compiler.clock_bounds import Clocks
from firmware.compiler.compile_command import algorithms_with_kernels
from firmware.compiler.verilog_module import compile_module
from firmware.proof.symbolic_state import Untranslated
from orchestrator.algorithm import Algorithm
from orchestrator.registry import Registry

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gateware.md"
BEGIN = "<!-- compiled kernels, by `python -m firmware.compiler`; not to be edited -->\n"
END = "<!-- end of compiled kernels -->\n"
HEAD = "| algorithm | kernels: clocks per event | states | register bits |\n|---|---|---|---|\n"


def table() -> str:
    """The table of the shipped algorithms, with the count of those that compile."""
    rows, count = list[str](), 0
    every = [one for one in algorithms_with_kernels(Registry.load()) if is_shipped(one)]
    for algorithm in sorted(every, key=lambda one: one.name):
        try:
            module = compile_module(algorithm)
        except Untranslated as refused:
            file = Path(refused.file).relative_to(ROOT)
            reason = f"refused: {refused.what} (`{file}`, line {refused.line})"
            rows.append(f"| `{algorithm.name}` | {reason} | | |\n")
            continue
        count += 1
        events = " · ".join(
            f"`{event}` {_shown(clocks)}" for event, clocks in module.clocks.items()
        )
        sizes = f"{module.states} | {module.register_bits}"
        rows.append(f"| `{algorithm.name}` | {events} | {sizes} |\n")
    return f"{count} of {len(every)} algorithms with kernels compile.\n\n{HEAD}{''.join(rows)}"


def is_shipped(algorithm: Algorithm) -> bool:
    """Whether an algorithm is of this distribution, not of an installed plugin."""
    modules = {getattr(k, "__module__", "").partition(".")[0] for k in algorithm.kernels.values()}
    return modules <= {"plugins", "traffic"}


def _shown(clocks: Clocks) -> str:
    if clocks.most is None:
        return f"{clocks.least} to ?"
    return str(clocks.least) if clocks.most == clocks.least else f"{clocks.least} to {clocks.most}"


def page_text(text: str) -> str:
    """The page with the table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"
