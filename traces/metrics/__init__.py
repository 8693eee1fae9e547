"""Metrics of a run: per phase, per entity, in SI units (see `traces.metrics.compute_metrics`)."""

from traces.metrics.compute_metrics import UNITS, compute

__all__ = ["UNITS", "compute"]
