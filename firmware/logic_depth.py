"""Logic levels between registers in a yosys netlist for UltraScale+.

No open tool places that device, so its clock cannot be measured; the logic between two registers
can be counted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

CHAIN = re.compile(r"CARRY\d")
LOGIC = re.compile(r"LUT\d|MUXF\d|INV|DSP48E2")
"""Cells with a combinational path from input to output. A multiplier counts as one level: it has no
register of its own here."""
MEMORY = re.compile(r"RAM(?!B)\w+")
"""Memory in look-up tables: read in the same clock, by its addresses alone."""
ADDRESS = re.compile(r"A\d*|ADDR[A-Z]|DPRA\d*")

LEVEL_PS, BLOCK_PS, REGISTER_PS = 400, 20, 150
"""Assumed delays: of a level (0.1 ns for the look-up table, 0.3 ns for the net to the next), of a
carry block, of a register's output and setup. Estimates, not from a placement."""


class Depth(NamedTuple):
    """Maxima over all paths: logic levels, carry blocks of four bits, estimated delay (ps)."""

    levels: int
    blocks: int
    ps: int


BEGIN = Depth(0, 0, REGISTER_PS)


def logic_depth(netlist: Path, top: str) -> Depth:
    """The most logic between two registers of a flat netlist (`write_json`).

    A look-up table, a memory in such, a multiplexer behind them and a multiplier are a level each,
    a carry chain one in total: the delay from block to block is small. Paths from ports begin at a
    register outside of the module, and are left out. Raises ValueError for a combinational loop.
    """
    cells = json.loads(netlist.read_text())["modules"][top]["cells"]
    driven: dict[int, list[tuple[str, bool]]] = defaultdict(list)
    reached: dict[int, Depth] = {}
    ends: set[int] = set()
    waits: dict[str, int] = {}
    for name, cell in cells.items():
        inputs, outputs = _cell_paths(cell)
        for bit, continues in inputs:
            driven[bit].append((name, continues))
        waits[name] = len(inputs)
        ends.update(_ending(cell))
        for bit in outputs if not inputs else []:
            reached[bit] = BEGIN
    arrived: dict[str, Depth] = {}
    every = {bit for cell in cells.values() for bit in _cell_paths(cell)[1]}
    # bits of ports and of constants are there from the start, and begin no path
    ready = [bit for bit in (driven.keys() | ends) if bit not in every or bit in reached]
    while ready:
        bit = ready.pop()
        for name, continues in driven[bit]:
            if bit in reached:
                before, level = reached[bit], int(not continues)
                block = int(CHAIN.fullmatch(cells[name]["type"]) is not None)
                ps = before.ps + level * LEVEL_PS + block * BLOCK_PS
                here = Depth(before.levels + level, before.blocks + block, ps)
                arrived[name] = _more(arrived.get(name, BEGIN), here)
            waits[name] -= 1
            if waits[name] == 0:
                for out in _cell_paths(cells[name])[1]:
                    if name in arrived:
                        reached[out] = _more(reached.get(out, BEGIN), arrived[name])
                    ready.append(out)
    if held_up := [name for name, count in waits.items() if count > 0]:
        raise ValueError(f"{netlist}: a loop through {held_up[0]}")
    return reduce(_more, (reached[bit] for bit in ends if bit in reached), BEGIN)


def _more(one: Depth, other: Depth) -> Depth:
    return Depth(*map(max, one, other))


def _bits(cell: dict[str, Any], way: str) -> list[tuple[str, int]]:
    return [
        (port, bit)
        for port, bits in cell["connections"].items()
        if cell["port_directions"].get(port) == way
        for bit in bits
        if isinstance(bit, int)
    ]


def _cell_paths(cell: dict[str, Any]) -> tuple[list[tuple[int, bool]], list[int]]:
    """Paths through a cell: inputs, each with whether it continues a chain; outputs."""
    kind = cell["type"]
    if CHAIN.fullmatch(kind):
        inputs = [(bit, port == "CI") for port, bit in _bits(cell, "input")]
    elif LOGIC.fullmatch(kind):
        inputs = [(bit, False) for port, bit in _bits(cell, "input") if port != "CLK"]
    elif MEMORY.fullmatch(kind):
        inputs = [(bit, False) for port, bit in _bits(cell, "input") if ADDRESS.fullmatch(port)]
    else:
        return [], [bit for _, bit in _bits(cell, "output")]
    return inputs, [bit for _, bit in _bits(cell, "output")]


def _ending(cell: dict[str, Any]) -> list[int]:
    """Bits at which paths end: a register's inputs, a memory's write data."""
    kind = cell["type"]
    if CHAIN.fullmatch(kind) or LOGIC.fullmatch(kind):
        return []
    return [
        bit
        for port, bit in _bits(cell, "input")
        if not (MEMORY.fullmatch(kind) and ADDRESS.fullmatch(port))
    ]
