"""List of the generated pages, with the current text of each."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.pages import algorithms_page, api_page, commands_page, metrics_page, plan_page

NOTE = "Made from the code by `python -m orchestrator.pages`; not to be edited."

PAGES: dict[str, Callable[[], str]] = {
    "plan.md": plan_page.page,
    "algorithms.md": algorithms_page.page,
    "api.md": api_page.page,
    "commands.md": commands_page.page,
    "metrics.md": metrics_page.page,
}
"""File below docs/reference -> function that returns its text: heading, blank line, body."""


def generated() -> dict[str, str]:
    """File -> text."""
    found = {}
    for name, page in PAGES.items():
        heading, rest = page().split("\n", 1)
        text = f"{heading}\n\n{NOTE}\n{rest.rstrip()}\n"
        found[name] = re.sub(r"\n{3,}", "\n\n", text)
    return found
