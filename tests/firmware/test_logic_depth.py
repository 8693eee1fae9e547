"""Levels of logic, counted in netlists written out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firmware.logic_depth import Depth, logic_depth


def cell(kind: str, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> dict[str, Any]:
    ways = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    return {"type": kind, "port_directions": ways, "connections": inputs | outputs}


def measured(folder: Path, **cells: dict[str, Any]) -> Depth:
    netlist = folder / "netlist.json"
    netlist.write_text(json.dumps({"modules": {"top": {"cells": cells}}}))
    return logic_depth(netlist, "top")


def test_levels_lie_between_registers(tmp_path: Path) -> None:
    """Bit 9 comes in by a port: what is behind it alone does not count."""
    register = cell("FDRE", {"D": [4], "C": [1]}, {"Q": [2]})
    cells = {
        "first": cell("LUT2", {"I0": [2], "I1": [9]}, {"O": [3]}),
        "second": cell("LUT2", {"I0": [3], "I1": [8]}, {"O": [4]}),
        "a": cell("LUT1", {"I0": [9]}, {"O": [7]}),
        "b": cell("LUT1", {"I0": [7]}, {"O": [6]}),
        "c": cell("LUT1", {"I0": [6]}, {"O": [8]}),
    }
    assert measured(tmp_path, register=register, **cells) == (2, 0, 950)


def test_a_chain_of_carries_is_one_level(tmp_path: Path) -> None:
    cells = {
        "from": cell("FDRE", {"D": [30], "C": [1]}, {"Q": [2]}),
        "lut": cell("LUT1", {"I0": [2]}, {"O": [3]}),
        "low": cell("CARRY4", {"S": [3], "CI": []}, {"CO": [4], "O": [5]}),
        "high": cell("CARRY4", {"S": [9], "CI": [4]}, {"CO": [6], "O": [7]}),
        "to": cell("FDRE", {"D": [7], "C": [1]}, {"Q": [8]}),
    }
    assert measured(tmp_path, **cells) == (2, 2, 990)


def test_a_memory_is_read_in_its_clock_and_written_at_its_end(tmp_path: Path) -> None:
    cells = {
        "address": cell("FDRE", {"D": [30], "C": [1]}, {"Q": [2]}),
        "data": cell("LUT1", {"I0": [2]}, {"O": [3]}),
        "ram": cell("RAM32M", {"ADDRA": [2], "DIA": [3], "WCLK": [1]}, {"DOA": [4]}),
        "behind": cell("LUT1", {"I0": [4]}, {"O": [5]}),
        "to": cell("FDRE", {"D": [5], "C": [1]}, {"Q": [6]}),
    }
    assert measured(tmp_path, **cells) == (2, 0, 950)


def test_the_longest_path_need_not_have_the_most_of_both(tmp_path: Path) -> None:
    """Three look-up tables in one path, a table and a chain of twelve bits in another."""
    cells = {
        "from": cell("FDRE", {"D": [30], "C": [1]}, {"Q": [2]}),
        "one": cell("LUT1", {"I0": [2]}, {"O": [3]}),
        "two": cell("LUT1", {"I0": [3]}, {"O": [4]}),
        "three": cell("LUT1", {"I0": [4]}, {"O": [5]}),
        "low": cell("CARRY4", {"S": [3], "CI": []}, {"CO": [10]}),
        "middle": cell("CARRY4", {"S": [9], "CI": [10]}, {"CO": [11]}),
        "high": cell("CARRY4", {"S": [9], "CI": [11]}, {"O": [12]}),
        "to": cell("FDRE", {"D": [5], "C": [1]}, {"Q": [6]}),
        "too": cell("FDRE", {"D": [12], "C": [1]}, {"Q": [13]}),
    }
    assert measured(tmp_path, **cells) == (3, 3, 150 + 3 * 400)
