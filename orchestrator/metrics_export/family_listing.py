"""List of all metric families: samples, algorithms, results, processes."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.algorithm import Algorithm
from orchestrator.metrics_export.metric_families import (
    SAMPLED,
    Family,
    observed_families,
    result_families,
    result_family,
)
from orchestrator.metrics_export.process_families import PROCESS_FAMILIES


def algorithm_results(algorithms: Iterable[Algorithm]) -> list[Family]:
    """Families of the metrics that results have of algorithms' state."""
    return [
        result_family("algorithm", metric, symbol, f"metric of the state of {algorithm.name}")
        for algorithm in algorithms
        for observed in algorithm.columns
        for metric, symbol in observed.metrics(algorithm.name).items()
    ]


def all_families(algorithms: Iterable[Algorithm]) -> list[Family]:
    """Every family, each once: of runs and samples, of results, of the other processes."""
    algorithms = list(algorithms)
    of_processes = [family for families in PROCESS_FAMILIES.values() for family in families]
    listed = [
        *of_processes,
        *SAMPLED.values(),
        *observed_families(algorithms).values(),
        *result_families().values(),
        *algorithm_results(algorithms),
    ]
    return list({family.name: family for family in listed}.values())
