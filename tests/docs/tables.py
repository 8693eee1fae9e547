"""Blocks of TOML, held against what they are for: a plan, an inventory, a package, keys."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from unittest import mock

from orchestrator.console.keys import keymap
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute import run
from orchestrator.testbed.inventory import Testbed
from tests.docs.pages import Block, Page

PACKAGE = {"project", "build-system"}
INVENTORY = {"machines", "cards"}
A_MOMENT = 10**9
"""ps of a run that shows that a plan's lines do something: 1 ms."""


def check(block: Block, page: Page, folder: Path) -> None:
    """Load a block as what it is. Raises BadInput or AssertionError when it is not good for that."""
    table = tomllib.loads(block.text)
    if "goes into" in block.markers:
        into(page.saved[block.markers["goes into"]], block.text)
    elif PACKAGE & set(table):
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


def into(base: str, lines: str) -> None:
    """Check a plan with lines added to it; where it can be simulated it runs for a moment."""
    plan = Plan.load(f"{base}\n{lines}")
    if plan.check(Registry.load()).plan.target == "simulated":
        shorter = plan.with_settings([f"duration={min(A_MOMENT, plan.duration)}ps"])
        run(shorter, out=None, report=False)
