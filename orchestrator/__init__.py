"""The core of tailback: plans, plugins, node logic, targets and runs."""

__version__ = "0.1.0"
