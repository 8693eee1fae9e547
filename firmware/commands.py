"""`tailback gateware`: what modules there are, their lint, their tests, their area and clock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def gateware_commands() -> typer.Typer:
    """The commands below `tailback gateware`."""
    gateware = typer.Typer(no_args_is_help=True, help="The Verilog: modules, lint, tests, area.")

    @gateware.command("list")
    def list_modules(
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """All modules, and what each is."""
        from firmware.modules import modules

        found = modules()
        if as_json:
            print(json.dumps({m.name: {"summary": m.summary, "widths": m.widths} for m in found}))
            return
        for module in found:
            print(f"{module.name:24} {module.summary}")

    @gateware.command()
    def lint(
        names: Annotated[list[str] | None, typer.Argument(help="modules; all")] = None,
    ) -> None:
        """Lint modules with Verilator and Icarus Verilog; exit code 1 when one has a warning."""
        from firmware.modules import lint as lint_module
        from firmware.modules import named

        bad = 0
        for module in named(names or []):
            complaints = lint_module(module)
            bad += bool(complaints)
            for complaint in complaints:
                print(f"{module.name}: {complaint}", file=sys.stderr)
        if bad:
            print(f"{bad} modules are not clean", file=sys.stderr)
            raise typer.Exit(1)

    @gateware.command()
    def test(words: Annotated[list[str] | None, typer.Argument(help="for pytest")] = None) -> None:
        """Run the benches of a checkout: pytest tests/firmware."""
        import subprocess

        from orchestrator.errors import Refused

        root = Path(__file__).parents[1]
        if not (root / "tests" / "firmware").is_dir():
            remedy = "Run it in a checkout of tailback."
            raise Refused("gateware test", "the benches are not installed", remedy)
        command = [sys.executable, "-m", "pytest", "tests/firmware", *(words or [])]
        raise typer.Exit(subprocess.run(command, cwd=root).returncode)

    @gateware.command()
    def report(
        names: Annotated[list[str] | None, typer.Argument(help="modules; those of QCN")] = None,
        width: Annotated[list[int] | None, typer.Option(help="DATA_W, more than once")] = None,
        last: Annotated[Path | None, typer.Option(help="a report to compare with")] = None,
        out: Annotated[Path | None, typer.Option(help="where to keep this one")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """Area on ECP5 and UltraScale+ and the clock on ECP5, beside those of an earlier report."""
        from firmware.area import measure, read, table

        earlier = read(last) if last else {}
        rows = measure(names or [], width or [64], lambda line: print(line, file=sys.stderr))
        if out:
            out.write_text(json.dumps(rows, indent=1) + "\n")
        print(json.dumps(rows) if as_json else table(rows, earlier))

    return gateware
