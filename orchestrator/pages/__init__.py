"""Reference pages of docs/reference, generated from the code: `python -m orchestrator.pages`."""

from orchestrator.pages.generated import PAGES, generated

__all__ = ["PAGES", "generated"]
