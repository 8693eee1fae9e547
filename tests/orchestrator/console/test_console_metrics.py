"""Metrics of a console: the runs that it shows, side by side, and its controller's machines."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from orchestrator.console.console_metrics import ConsoleExporter
from orchestrator.live.feed_messages import Judgement
from orchestrator.testbed.controller.controller_messages import MachineState
from tests.orchestrator.console.made import MadeSource, data
from tests.orchestrator.console.test_key_actions import console, driving
from tests.orchestrator.metrics_export.scraping import Key, read, valued

pytest.importorskip("prometheus_client")
pytestmark = pytest.mark.usefixtures("catalog", "alone", "listed")


def scraped(exporter: ConsoleExporter) -> dict[Key, float]:
    """As the endpoint's thread does it."""
    return read(exporter.readings())


async def test_runs_that_are_shown_are_exported_with_what_is_known_of_them() -> None:
    first, second = data(name="first"), data("done", name="second")
    second.judged = Judgement(final=True, verdict="met", fidelity={"verdict": "valid"})
    app = console(MadeSource(first))
    exporter = ConsoleExporter(app)
    assert not read(exporter.readings()), "it is not on the screen"
    async with driving(app) as (_pilot, app):
        found = await asyncio.to_thread(scraped, exporter)
        stage = "tailback_run_stage"
        assert valued(found, stage, run="first", stage="running", target="simulated") == [1.0]
        for name in ("queue_bytes", "frames_dropped"):
            shown = first.values[-1, first.index["switch.sink"][name]]
            of = f"tailback_port_{name}" + ("_total" if name == "frames_dropped" else "")
            assert valued(found, of, entity="switch.sink") == [shown]
        rate = first.values[-1, first.index["nic.rp0"]["current_rate"]] / 8
        limit = "tailback_limiter_current_rate_bytes_per_second"
        assert valued(found, limit, entity="nic.rp0") == [rate]
        app.other = MadeSource(second)
        app.site = SimpleNamespace(  # type: ignore[assignment]
            state=SimpleNamespace(machines=[MachineState(name="left", state="gone", cores=2)]),
            close=lambda: None,
        )
        found = await asyncio.to_thread(scraped, exporter)
        assert valued(found, stage, run="second", stage="done") == [1.0]
        assert valued(found, "tailback_run_fidelity", run="second", fidelity="valid") == [1.0]
        machine = "tailback_controller_machine_state"
        assert valued(found, machine, machine="left", state="gone") == [1.0]
        assert valued(found, "tailback_controller_machine_cores", machine="left") == [2.0]
        app.other = app.site = None


async def test_a_limiter_that_is_not_active_has_no_rate_though_messages_do_not_say_so() -> None:
    run = data()
    run.values[-1, run.index["nic.rp0"]["active"]] = 0
    exporter = ConsoleExporter(console(MadeSource(run)))
    async with driving(exporter._app) as (_pilot, _app):
        found = await asyncio.to_thread(scraped, exporter)
        assert valued(found, "tailback_limiter_active", entity="nic.rp0") == [0.0]
        for limiter, count in (("nic.rp0", 0), ("nic.rp1", 1)):
            for name in ("limiter_current_rate_bytes_per_second", "algorithm_test_rp_byte_stage"):
                assert len(valued(found, f"tailback_{name}", entity=limiter)) == count
