"""Terminals' tests have a registry of their own."""

from tests.orchestrator.made_registry import registry

__all__ = ["registry"]
