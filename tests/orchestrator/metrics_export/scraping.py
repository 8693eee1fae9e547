"""Scrapes of an endpoint, parsed by prometheus-client's own parsers; all families with values."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable
from typing import Any

from orchestrator.metrics_export.metric_families import Family
from orchestrator.metrics_export.run_readings import Reading

TEXT, OPENMETRICS = "text/plain", "application/openmetrics-text; version=1.0.0"
Key = tuple[str, frozenset[tuple[str, str]]]


def fetched(url: str, accept: str = TEXT) -> tuple[str, str]:
    """(content type, body) of a scrape."""
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def parsed(text: str, accept: str = TEXT) -> list[Any]:
    """Metric families of a scrape."""
    if accept == OPENMETRICS:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    else:
        from prometheus_client.parser import text_string_to_metric_families
    return list(text_string_to_metric_families(text))


def samples(text: str, accept: str = TEXT) -> dict[Key, float]:
    """(name, labels that are not empty) -> value. A series that stands twice is an error."""
    found: dict[Key, float] = {}
    for family in parsed(text, accept):
        for sample in family.samples:
            labels = frozenset((k, v) for k, v in sample.labels.items() if v)
            assert (sample.name, labels) not in found, sample
            found[sample.name, labels] = sample.value
    return found


def read(readings: Iterable[Reading]) -> dict[Key, float]:
    """The same of readings, without a server and without a text."""
    from orchestrator.metrics_export.http_endpoint import exposed

    return {
        (sample.name, frozenset((k, v) for k, v in sample.labels.items() if v)): sample.value
        for metric in exposed(readings)
        for sample in metric.samples
    }


def valued(found: dict[Key, float], name: str, **labels: str) -> list[float]:
    """Values of all series of a name that have these labels."""
    wanted = set(labels.items())
    return [value for (of, have), value in found.items() if of == name and wanted <= have]


def one_of_each(families: Iterable[Family]) -> list[Reading]:
    """A reading of every family."""
    return [(family, tuple(f"a{n}" for n in range(len(family.labels))), 1.0) for family in families]
