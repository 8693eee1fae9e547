"""Captures, samples, metrics, figures and reports of runs."""
