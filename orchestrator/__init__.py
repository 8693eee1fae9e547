"""Core of tailback: plans, plugins, node logic, targets and runs."""

__version__ = "0.3.0"
