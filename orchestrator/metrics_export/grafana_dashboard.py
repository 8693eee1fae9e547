"""Dashboard for Grafana, as JSON, with a panel for every metric family there is.

Rows: the run, then a row per kind of entity, per process and for the algorithms. Counters are drawn
as rates, with Grafana's `$__rate_interval`; gauges and states as they are. Results are one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.metric_families import SAMPLED, Family, observed_families

Json = dict[str, Any]

SCHEMA = 36
"""Version of the dashboard's model: Grafana 9 and later read it."""
COLUMNS, HEIGHT, ACROSS = 24, 8, 3
"""Width of the grid, height of a panel in it, panels side by side."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GAUGE_UNITS = {
    "bytes": "decbytes",
    "seconds": "s",
    "bytes_per_second": "Bps",
    "hertz": "hertz",
    "ratio": "percentunit",
    "": "short",
}
"""Base unit -> Grafana's unit of a value."""
RATE_UNITS = {"bytes": "Bps", "seconds": "percentunit", "": "cps"}
"""Base unit -> Grafana's unit of how fast a counter grows."""
STATE_LABELS = ("stage", "state", "verdict", "fidelity")
"""Labels of which one value is current: its series is 1."""
OPEN_ROWS = ("run", "port")
"""Rows that are not collapsed."""
COUNTS_BY_STATE = (process.CONTROLLER_JOBS, process.AGENT_LEASES)
"""Families whose state label divides a number."""


def selector(family: Family) -> str:
    """Label matchers of a family: the dashboard's variables, where it has these labels."""
    mine = [f'{label}=~"${label}"' for label in ("run", "entity") if label in family.labels]
    return f"{{{', '.join(mine)}}}" if mine else ""


def expression(family: Family) -> str:
    """Query in PromQL that a family's panel draws."""
    series = f"{family.exported}{selector(family)}"
    if family.kind == "counter":
        return f"rate({series}[$__rate_interval])"
    if _is_state(family):
        return f"{series} == 1"
    return series


def _is_state(family: Family) -> bool:
    return family not in COUNTS_BY_STATE and any(one in family.labels for one in STATE_LABELS)


def grafana_unit(family: Family) -> str:
    """Grafana's name of the unit that a family's panel has."""
    return RATE_UNITS[family.unit] if family.kind == "counter" else GAUGE_UNITS[family.unit]


def _legend(family: Family) -> str:
    names = [name for name in family.labels if name not in ("run", "target", "node", "flow")]
    return " ".join(f"{{{{{name}}}}}" for name in names) or "{{run}}"


def _panel(family: Family) -> Json:
    custom = {"drawStyle": "line", "lineInterpolation": "stepAfter", "showPoints": "never"}
    return {
        "title": family.exported.removeprefix("tailback_"),
        "description": family.meaning,
        "type": "state-timeline" if _is_state(family) else "timeseries",
        "datasource": DATASOURCE,
        "fieldConfig": {
            "defaults": {"unit": grafana_unit(family), **_custom(family, custom)},
            "overrides": [],
        },
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "expr": expression(family),
                "legendFormat": _legend(family),
            }
        ],
    }


def _custom(family: Family, custom: Json) -> Json:
    return {} if _is_state(family) else {"custom": custom}


def _results() -> Json:
    """Table of all results of the chosen runs, at their last instant."""
    return {
        "title": "results by entity and phase",
        "description": "metrics of result.json, in base units; there once a run is judged",
        "type": "table",
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": {}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "expr": '{__name__=~"tailback_result_.+", run=~"$run", entity=~"$entity"}',
                "instant": True,
                "format": "table",
            }
        ],
    }


def _laid_out(panels: Sequence[Json], top: int, first_id: int) -> list[Json]:
    """Panels with their places in the grid below `top`, and their numbers."""
    width = COLUMNS // ACROSS
    return [
        {
            "id": first_id + n,
            "gridPos": {
                "x": n % ACROSS * width,
                "y": top + n // ACROSS * HEIGHT,
                "w": width,
                "h": HEIGHT,
            },
            **panel,
        }
        for n, panel in enumerate(panels)
    ]


def dashboard_rows(algorithms: Iterable[Algorithm]) -> Iterator[tuple[str, list[Json]]]:
    """(title, panels) of each row."""
    yield "run", [_panel(family) for family in process.OF_RUNS]
    for kind in dict.fromkeys(kind for kind, _ in SAMPLED):
        yield kind, [_panel(family) for (of, _), family in SAMPLED.items() if of == kind]
    yield "algorithms", [_panel(family) for family in observed_families(algorithms).values()]
    yield "results", [_results()]
    for subject, families in process.PROCESS_FAMILIES.items():
        if subject != "run":
            yield subject, [_panel(family) for family in families]


def dashboard(algorithms: Iterable[Algorithm]) -> Json:
    """The dashboard, to be imported by Grafana (Dashboards, New, Import)."""
    panels: list[Json] = []
    top, number = 0, 1
    for title, members in dashboard_rows(algorithms):
        inner = _laid_out(members, top + 1, number + 1)
        opened = title in OPEN_ROWS
        panels.append(
            {
                "id": number,
                "type": "row",
                "title": title,
                "collapsed": not opened,
                "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
                "panels": [] if opened else inner,
            }
        )
        panels += inner if opened else []
        number += 1 + len(inner)
        top += 1 + (-(-len(inner) // ACROSS) * HEIGHT if opened else 0)
    return {
        "uid": "tailback",
        "title": "tailback",
        "description": "Made from tailback's metric registry by `tailback metrics --dashboard`.",
        "tags": ["tailback"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timezone": "",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _variables() -> list[Json]:
    """Variables: the data source, runs and entities to be shown."""
    source = {
        "name": "datasource",
        "type": "datasource",
        "query": "prometheus",
        "label": "data source",
    }
    return [source, *(_label_variable(name, of) for name, of in VARIABLES.items())]


VARIABLES = {
    "run": process.RUN_INFO.exported,
    "entity": '{__name__=~"tailback_.+", run=~"$run"}',
}
"""Variable, which is a label -> the series whose values of this label it offers."""


def _label_variable(name: str, series: str) -> Json:
    return {
        "name": name,
        "type": "query",
        "label": name,
        "datasource": DATASOURCE,
        "query": {"query": f"label_values({series}, {name})", "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
