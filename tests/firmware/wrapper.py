"""A Verilog module around another, whose inputs are variables that a bench can drive."""

from __future__ import annotations

import re
from pathlib import Path

HEADER = re.compile(
    r"^module (?P<name>\w+)\s*(#\((?P<parameters>.*?)\n\)\s*)?\((?P<ports>.*?)\n\);", re.S | re.M
)
PARAMETER = re.compile(r"parameter\s+(\[[^\]]*\]\s*)?(\w+)\s*=\s*(.+)", re.S)
PORT = re.compile(
    r"((?P<way>input|output)\s+(wire|reg)\s*(signed\s*)?)?(?P<range>\[.*\])?\s*(?P<name>\w+)"
)


def wrapped(path: Path, name: str, parameters: dict[str, int]) -> str:
    """The text of module `name`, which holds the module of a file as `dut`."""
    text = re.sub(r"//.*|`define.*|`if.*|`endif|/\*.*?\*/", "", path.read_text())
    found = HEADER.search(text)
    assert found is not None, path
    lines = [f"module {name} ();"]
    sets = []
    for entry in _entries(found["parameters"] or ""):
        match = PARAMETER.match(entry)
        assert match is not None, entry
        lines.append(
            f"    localparam {match[1] or ''}{match[2]} = {parameters.get(match[2], match[3])};"
        )
        sets.append(f".{match[2]}({match[2]})")
    unknown = set(parameters) - {word[1 : word.index("(")] for word in sets}
    assert not unknown, f"{path.stem} has no parameters {unknown}"
    way, extent, pins = "", "", []
    for entry in _entries(found["ports"]):
        match = PORT.fullmatch(entry)
        assert match is not None, entry
        if match["way"]:
            way, extent = match["way"], match["range"] or ""
        kind = "reg" if way == "input" else "wire"
        lines.append(f"    {kind} {extent} {match['name']};")
        pins.append(f".{match['name']}({match['name']})")
    instance = f"{found['name']} #({', '.join(sets)}) dut" if sets else f"{found['name']} dut"
    return "\n".join([*lines, f"    {instance} ({', '.join(pins)});", "endmodule", ""])


def _entries(text: str) -> list[str]:
    """What commas part, those within brackets left alone."""
    return [entry.strip() for entry in re.split(r",(?![^(\[{]*[)\]}])", text) if entry.strip()]
