"""`tailback metrics`: metric families for Prometheus, and the dashboard for Grafana."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.registry import Registry
from orchestrator.terminal import format_output


def metrics(
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print the dashboard for Grafana as JSON.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the families as JSON.")] = False,
) -> None:
    """List the metrics that `--metrics` exports to Prometheus.

    One line for each metric family: name, type, labels, meaning. Families of samples and results
    follow from the metric registry, those of plugins included. With --dashboard: a dashboard with a
    panel for each of them, to be imported by Grafana.

    \b
      tailback metrics
      tailback metrics --dashboard > tailback.json
    """
    if dashboard and as_json:
        raise BadInput("--json", "not together with --dashboard, which is JSON; leave one out")
    if dashboard:
        from orchestrator.metrics_export.grafana_dashboard import dashboard as made

        format_output.print_json(made(Registry.load().algorithms))
        return
    from orchestrator.metrics_export.family_listing import all_families

    families = all_families(Registry.load().algorithms)
    if as_json:
        rows = [
            {
                "name": family.exported,
                "type": family.kind,
                "unit": family.unit,
                "labels": list(family.labels),
                "meaning": family.meaning,
            }
            for family in families
        ]
        format_output.print_json(rows)
        return
    lines = [
        (family.exported, family.kind, " ".join(family.labels), family.meaning)
        for family in families
    ]
    format_output.console().print(
        format_output.table(("metric", "type", "labels", "meaning"), lines)
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(metrics)
