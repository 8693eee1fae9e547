"""Metrics of a run: per phase, per entity, in SI units (see `traces.metrics.compute`)."""

from traces.metrics.compute import UNITS, compute

__all__ = ["UNITS", "compute"]
