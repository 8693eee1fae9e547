"""An algorithm's parameters beside the generated page: defaults, bounds, presets, former names.

The page is written from the code and read by people: a number that changes in the code alone
differs from it.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from orchestrator.algorithm import Algorithm
from orchestrator.plan.former_names import former_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "algorithms.md"


def rows(algorithm: Algorithm) -> list[str]:
    """Beginning of each line of an algorithm's tables."""
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
    """A value as TOML has it."""
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


def check_page(module: str) -> int:
    """Compare the algorithms that a module defines with the page; the number of lines compared."""
    things = vars(importlib.import_module(module)).values()
    page = PAGE.read_text(encoding="utf-8")
    own = [
        thing
        for thing in things
        if isinstance(thing, Algorithm) and thing.params.__module__ == module
    ]
    assert own, module
    compared = 0
    for algorithm in own:
        _, heading, section = page.partition(f"\n### `{algorithm.name}`\n")
        assert heading, algorithm.name
        section = section.partition("\n### ")[0].partition("\n## ")[0]
        lines = [line for line in section.split("\n") if line[:3] == "| `"]
        wanted = rows(algorithm)
        assert len(lines) == len(wanted), algorithm.name
        for line, begins in zip(lines, wanted, strict=True):
            assert line.startswith(begins)
        former = [f"`{name}`" for name in algorithm.former]
        assert all(f"Formerly {name}" in section for name in former)
        compared += len(wanted)
    return compared
