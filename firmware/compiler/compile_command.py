"""`tailback gateware compile`: Verilog-2005 of an algorithm from its Python kernels."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import unknown
from orchestrator.registry import Registry

if TYPE_CHECKING:
    from firmware.compiler.compiled_module import CompiledModule
    from orchestrator.algorithm import Algorithm

WHERE = "tailback gateware compile"


def complete_compiled_name(incomplete: str) -> list[tuple[str, str]]:
    """For the shell: algorithms with kernels whose names begin like this, with their summaries."""
    every = algorithms_with_kernels(Registry.load())
    return [(one.name, one.summary) for one in every if one.name.startswith(incomplete)]


def algorithms_with_kernels(registry: Registry) -> list[Algorithm]:
    """Algorithms that have kernels, in the order of the registry."""
    return [one for one in registry.algorithms if one.kernels or one.timers]


def select_algorithm(registry: Registry, name: str) -> Algorithm:
    """The algorithm of this name. Raises BadInput where none has it or it has no kernels."""
    every = {one.name: one for one in registry.algorithms}
    compilable = {one.name: one for one in algorithms_with_kernels(registry)}
    if name in compilable:
        return compilable[name]
    if name in every:
        accepted = f"an algorithm with kernels: a {every[name].kind} of messages has none"
        raise BadInput(WHERE, [Problem("NAME", name, accepted)])
    raise BadInput(WHERE, [unknown("NAME", "algorithm", name, compilable)])


def compiled(algorithm: Algorithm) -> CompiledModule:
    """The compiled module. Raises BadInput, with file and line, for code outside of the subset."""
    from firmware.compiler.verilog_module import compile_module
    from firmware.proof.symbolic_state import Untranslated

    try:
        return compile_module(algorithm)
    except Untranslated as refused:
        remedy = "docs/gateware.md, 'Compiled kernels', names what a kernel may use"
        raise BadInput(f"{WHERE} {algorithm.name}", f"{refused}; {remedy}") from None


def write_module(module: CompiledModule, folder: Path) -> list[Path]:
    """Write a module and the divider that it uses. Raises BadInput where that is impossible."""
    from firmware.verilog_modules import RTL

    files = [folder / f"{module.name}.v"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(module.verilog, encoding="utf-8")
        if module.divides:
            files.append(folder / "divide.v")
            shutil.copyfile(RTL / "divide.v", files[-1])
    except OSError as error:
        accepted = f"a folder that can be written is expected ({error.strerror})"
        raise BadInput(WHERE, [Problem("--out", str(folder), accepted)]) from None
    return files


def proofs_of(algorithm: Algorithm) -> dict[str, str]:
    """Result of the proof of each kernel's form, by event: "proved", or "open: " and a reason."""
    from firmware.compiler.form_proof import prove_forms

    return {
        one.event: f"{one.verdict}: {one.reason}" if one.reason else one.verdict
        for one in prove_forms(algorithm)
    }


def as_json(module: CompiledModule, files: list[Path], proofs: dict[str, str]) -> dict[str, Any]:
    """A module as plain values: clocks by event, ports with their widths, files or the text."""
    events = {
        event: {"number": number, "least": clocks.least, "most": clocks.most}
        for event, number in module.events.items()
        for clocks in (module.clocks[event],)
    }
    shown: dict[str, Any] = {"module": module.name, "events": events}
    shown |= {"forms": proofs} if proofs else {}
    shown["inputs"] = {str(field): bits for field, bits in module.inputs.items()}
    shown["outputs"] = {str(field): bits for field, bits in module.outputs.items()}
    shown["arrays"] = {str(field): field.size for field in module.arrays}
    if files:
        return shown | {"files": list(map(str, files))}
    return shown | {"verilog": module.verilog}


def compile_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Algorithm with kernels.", autocompletion=complete_compiled_name
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the Verilog; without, it is printed.")
    ] = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Prove for all inputs that the intermediate form equals each kernel without loops "
            "and arrays; some kernels take a minute.",
        ),
    ] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compile the Python kernels of an algorithm to Verilog-2005.

    \b
      tailback gateware compile qcn-rp --out build/qcn-rp
      tailback gateware compile hpcc --json

    Without --out the module is printed. A kernel outside of the subset is refused with its file
    and line, exit code 2. Target `gateware` compiles congestion points that have no module by hand.
    """
    algorithm = select_algorithm(Registry.load(), name)
    module = compiled(algorithm)
    proofs = proofs_of(algorithm) if prove else {}
    files = [] if out is None else write_module(module, out)
    if json_wanted:
        print(json.dumps(as_json(module, files, proofs), indent=1))
        return
    for file in files:
        print(file)
    if not files:
        print(module.verilog, end="")
    for event, clocks in module.clocks.items():
        most = "no known bound" if clocks.most is None else str(clocks.most)
        form = f"; form {proofs[event]}" if event in proofs else ""
        text = f"{event}: {clocks.least} clocks at least, at most: {most}{form}"
        print(text, file=sys.stderr)
