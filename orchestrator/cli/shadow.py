"""Finds a foreign package that hides one of tailback's, whose names are common ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from orchestrator.errors import Refused

PACKAGES = ("plugins", "traffic", "traces")
"""What is installed beside `orchestrator`, under these top-level names."""


def _place(name: str) -> Path | None:
    """The folder a package would be imported from; None when there is none."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    places = [found.origin] if found.origin else list(found.submodule_search_locations or [])
    if not places or places[0] is None:
        return None
    place = Path(places[0])
    return (place.parent if place.name == "__init__.py" else place).resolve()


def refuse_foreign_packages(names: tuple[str, ...] = PACKAGES) -> None:
    """Raise Refused when Python would import another package under one of our names."""
    ours = Path(__file__).resolve().parents[2]
    for name in names:
        place = _place(name)
        if place is None:
            raise Refused(
                "tailback",
                f"its package {name!r} is not there (expected at {ours / name})",
                "Install tailback again: pip install --force-reinstall tailback.",
            )
        if place != ours / name:
            raise Refused(
                "tailback",
                f"the package {name!r} at {place} hides tailback's own at {ours / name}",
                "Run tailback from another folder, take that place out of PYTHONPATH, or install "
                "tailback in a virtual environment of its own.",
            )
