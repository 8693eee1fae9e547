"""The pages of docs/reference that are made from the code: `python -m orchestrator.pages`."""

from orchestrator.pages.generated import PAGES, generated

__all__ = ["PAGES", "generated"]
