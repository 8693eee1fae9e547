"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.plan.plan import Plan

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    """The code blocks of the README in one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M
    )


def test_the_plan_is_a_plan():
    plan = Plan.load(blocks("toml")[0])
    assert plan.name == "mine"


def test_the_plugin_is_short_enough_to_type():
    (code,) = blocks("python")
    compile(code, "red_line.py", "exec")
    assert len(code.splitlines()) < 40
