"""The page of the algorithms has what their parameters are now: defaults, bounds, presets.

`tests/docs` holds the whole page to the code; here each plugin is alone, without the others.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.plan.former_names import former_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "algorithms.md"
PLUGINS = ("af_qcn", "bcn", "dcqcn_rp", "p4qcn_cp", "p4qcn_rp", "qcn_cp", "qcn_rp", "red_marking")


def rows(algorithm: Algorithm) -> list[str]:
    """What begins each line of its tables."""
    found = []
    for field in algorithm.params.describe():
        default = f"`{field.default_text}`" if field.default_text is not None else "must be given"
        bounds = field.bounds.replace("|", "\\|")
        found.append(f"| `{field.name}` | {field.unit} | {default} | {bounds} | ")
    found += [f"| `{old}` | `{new}` |" for old, new in former_of(algorithm.params).items()]
    for name, values in algorithm.params.presets.items():
        sets = [f"`{key} = {written(value)}`" for key, value in values.items()]
        found.append(f"| `{name}` | {', '.join(sets)} |")
    return found


def written(value: object) -> str:
    """As TOML has it."""
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


@pytest.mark.parametrize("module", PLUGINS)
def test_the_page_has_the_parameters_of(module: str) -> None:
    things = vars(importlib.import_module(f"plugins.{module}")).values()
    page = PAGE.read_text(encoding="utf-8")
    own = [
        thing
        for thing in things
        if isinstance(thing, Algorithm) and thing.params.__module__ == f"plugins.{module}"
    ]
    assert own
    for algorithm in own:
        _, _, section = page.partition(f"\n### `{algorithm.name}`\n")
        lines = [line for line in section.partition("\n### ")[0].split("\n") if line[:3] == "| `"]
        wanted = rows(algorithm)
        assert len(lines) == len(wanted) > 0
        for line, begins in zip(lines, wanted, strict=True):
            assert line.startswith(begins)
