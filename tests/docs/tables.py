"""Blocks of TOML, held against what they are for: a plan, an inventory, a package, keys."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from unittest import mock

from orchestrator.console.key_bindings import keymap
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from orchestrator.run.execute_run import run
from orchestrator.testbed.inventory import Testbed
from tests.docs.pages import Block, Page

PACKAGE = {"project", "build-system"}
INVENTORY = {"machines", "cards", "external"}
A_MOMENT = 10**9
"""ps of a run that shows that a plan's lines do something: 1 ms."""


def check(block: Block, page: Page, folder: Path) -> None:
    """Load a block as what it is. Raises BadInput or AssertionError when it is no good as that."""
    table = tomllib.loads(block.text)
    if "goes into" in block.markers:
        base = block.markers["goes into"]
        text = page.saved[base] if base in page.saved else shipped(base)
        into(text, block.text, runs=not block.skipped)
    elif PACKAGE & set(table):
        assert set(table["project"]["entry-points"]) == {GROUP}
        if not block.skipped:
            assert {"name", "version"} <= set(table["project"]), "what pip asks of a package"
            assert table["build-system"]["requires"], "what builds it"
    elif INVENTORY & set(table):
        path = folder / "inventory.toml"
        path.write_text(block.text, "utf-8")
        assert Testbed.load(path).name
    elif Path(block.file).name == "keys.toml":
        path = folder / "tailback" / "keys.toml"
        path.parent.mkdir()
        path.write_text(block.text, "utf-8")
        with mock.patch.dict(os.environ, XDG_CONFIG_HOME=str(folder)):
            assert keymap() == table
    elif block.skipped:
        Plan.load(block.text).check(Registry.load())
    else:
        assert block.file, f"{block.place}: no file is named for it, and nothing it goes into"


def shipped(name: str) -> str:
    """The text of a shipped plan."""
    return Registry.load().plans()[name].read_text("utf-8")


def into(base: str, lines: str, runs: bool) -> None:
    """Check a plan with lines added to it, and let it run for a moment."""
    plan = Plan.load(f"{base}\n{lines}")
    plan.check(Registry.load())
    if runs:
        shorter = plan.with_settings([f"duration={min(A_MOMENT, plan.duration)}ps"])
        run(shorter, out=None, report=False)
