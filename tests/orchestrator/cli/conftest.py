"""A command line over a registry of the test's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from tests.orchestrator.made_registry import registry

__all__ = ["registry", "tailback"]


@pytest.fixture
def tailback(registry) -> Callable[..., Result]:
    """Run a command line in this process."""
    app = main.assemble(registry)
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))
