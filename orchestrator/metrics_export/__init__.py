"""Prometheus export: metric families by the metric registry, readings, HTTP endpoint."""
