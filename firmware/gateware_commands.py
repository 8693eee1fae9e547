"""Commands of `tailback gateware`: modules, lint, tests, area, builds for boards, compiler."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer


def gateware_commands() -> typer.Typer:
    """The commands below `tailback gateware`."""
    gateware = typer.Typer(no_args_is_help=True, help="The Verilog: lint, tests, area, boards.")

    @gateware.command("list")
    def list_modules(
        testbed: Annotated[
            Path | None, typer.Option(help="testbed.toml: its cards, besides those found")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """List all modules, and this machine's cards: what each has, or why it cannot be used."""
        from firmware.cards.card_inventory import list_cards
        from firmware.verilog_modules import modules
        from orchestrator.testbed.inventory import Testbed

        entries = Testbed.load(testbed).cards if testbed is not None else {}
        found, cards = modules(), list_cards(entries)
        if as_json:
            shown = {m.name: {"summary": m.summary, "widths": m.widths} for m in found}
            print(json.dumps({"modules": shown, "cards": [card.as_json() for card in cards]}))
            return
        for module in found:
            print(f"{module.name:24} {module.summary}")
        for card in cards:
            print("\n".join(card.lines()))
        if not cards:
            print(
                "no card found: neither /dev/mqnic* nor one of ours on the PCI bus", file=sys.stderr
            )

    @gateware.command()
    def lint(
        names: Annotated[list[str] | None, typer.Argument(help="modules; all")] = None,
    ) -> None:
        """Lint modules with Verilator and Icarus Verilog; exit code 1 when one has a warning.

        With only one of them installed it names the missing one: their checks differ.
        """
        from firmware.verilog_modules import REMEDIES, missing_linters, select_modules
        from firmware.verilog_modules import lint as lint_module

        bad, chosen, lacking = 0, select_modules(names or []), missing_linters()
        for module in chosen:
            complaints = lint_module(module)
            bad += bool(complaints)
            for complaint in complaints:
                print(f"{module.name}: {complaint}", file=sys.stderr)
        print(f"{len(chosen)} modules, {bad} of them not clean", file=sys.stderr)
        for tool in lacking:
            remedy = REMEDIES[tool]
            print(f"not linted with {tool}, which is missing: {remedy}", file=sys.stderr)
        if bad:
            raise typer.Exit(1)

    @gateware.command()
    def test(words: Annotated[list[str] | None, typer.Argument(help="for pytest")] = None) -> None:
        """Run the benches of a checkout: pytest tests/firmware."""
        import subprocess

        from orchestrator import python_command
        from orchestrator.errors import Refused

        root = Path(__file__).parents[1]
        if not (root / "tests" / "firmware").is_dir():
            remedy = "Run it in a checkout of tailback."
            raise Refused("gateware test", "the benches are not installed", remedy)
        command = python_command.module("pytest", "tests/firmware", *(words or []))
        raise typer.Exit(
            subprocess.run(command, cwd=root, env=python_command.environment()).returncode
        )

    @gateware.command()
    def report(
        names: Annotated[list[str] | None, typer.Argument(help="modules; those of QCN")] = None,
        width: Annotated[
            list[int] | None, typer.Option(min=1, max=4096, help="DATA_W, more than once")
        ] = None,
        seeds: Annotated[
            int, typer.Option(min=1, max=1000, help="placements; the median is reported")
        ] = 1,
        last: Annotated[Path | None, typer.Option(help="a report to compare with")] = None,
        out: Annotated[Path | None, typer.Option(help="where to keep this one")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """Report area on ECP5 and UltraScale+ and the clock on ECP5, next to an earlier
        report's."""
        from firmware.synthesis_figures import measure, read, table

        earlier = read(last) if last else {}
        report_progress = partial(print, file=sys.stderr)
        rows = measure(names or [], width or [64], report_progress, seeds)
        if out:
            out.write_text(json.dumps(rows, indent=1) + "\n")
        print(json.dumps(rows) if as_json else table(rows, earlier))

    @gateware.command()
    def build(
        board: Annotated[
            str, typer.Option(help="corundum, netfpga-plus, netfpga-sume, netfpga-1g")
        ],
        limiters: Annotated[int | None, typer.Option(min=1, max=2**20, help="of each NIC")] = None,
        flows: Annotated[int | None, typer.Option(min=1, max=2**20, help="of each NIC")] = None,
        checkout: Annotated[
            Path | None, typer.Option(help="of Corundum: verify that the ports are the same")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """Print what the vendor's flow needs for a board: sources in order, macros, steps."""
        from firmware.boards.board_build import build as build_of
        from firmware.boards.board_build import verify_checkout
        from orchestrator.errors import BadInput, Problem

        sizes = {"limiters": limiters, "flows": flows}
        made = build_of(board, {name: size for name, size in sizes.items() if size is not None})
        if checkout is not None:
            if board != "corundum":
                accepted = f"--board corundum; {board} has none"
                raise BadInput("gateware build", [Problem("--checkout", str(checkout), accepted)])
            count = verify_checkout(checkout)
            print(f"{checkout}: {count} parameters and ports fit", file=sys.stderr)
        if as_json:
            print(json.dumps(made.as_json(), indent=1))
            return
        print(f"board: {made.board}\ntop: {made.top}\nsources:")
        print("\n".join(f"  {path}" for path in made.sources))
        for title, values in (("parameters", made.parameters), ("macros", made.defines)):
            if values:
                print(f"{title}: " + ", ".join(f"{name}={value}" for name, value in values.items()))
        if made.constraints:
            print("constraints:\n" + "\n".join(f"  {path}" for path in made.constraints))
        print("steps:")
        for number, step in enumerate(made.steps, 1):
            print(f"  {number}. {step}")

    from firmware.compiler.compile_command import compile_command

    gateware.command("compile")(compile_command)
    return gateware
