"""Metrics of a controller: jobs, machines, runs that go on; of its process, and of an agent's."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator import python_command
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.metrics_export.http_endpoint import on_loop
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed.controller.controller_messages import MachineState
from orchestrator.testbed.controller.controller_metrics import ControllerExporter
from tests.orchestrator.metrics_export.scraping import Key, fetched, read, samples, valued
from tests.orchestrator.testbed.held.bench import Bench, Server
from tests.orchestrator.testbed.test_lab import lab, mark, tailback
from tests.orchestrator.worlds import line_of_three
from tests.patience import eventually

__all__ = ["lab", "mark"]

pytest.importorskip("prometheus_client")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


def job(target: str = "software", **more: Any) -> Any:
    """A job of a controller, as far as it is read."""
    usual = {"over": False, "run": None, "error": None, "result": None, "watched": None,
             "exit_code": 0}  # fmt: skip
    made = SimpleNamespace(asked=SimpleNamespace(target=target), **usual | more)
    made.progress = lambda after: SimpleNamespace(stage=more.get("stage", "waiting"), done=0.25)
    return made


def result(verdict: str, fidelity: str = "valid") -> dict[str, Any]:
    return {"verdict": verdict, "fidelity": {"verdict": fidelity}}


def test_jobs_machines_and_runs_of_a_controller(loop: asyncio.AbstractEventLoop) -> None:
    session = Session(Plan(**line_of_three()).check(Registry.load()), "software")
    session.run = "r2"
    columns = [p.column for p in probes(session.resolved, Indices(session.resolved.plan))]
    rows = AccumulatedRows(10, len(columns))
    session.begin(columns, rows, ())
    rows.add(np.array([0]), np.arange(len(columns))[np.newaxis])
    jobs = {
        "r1": job(),
        "r2": job(run=object(), stage="running", watched=SimpleNamespace(session=session)),
        "r3": job(over=True, result=result("met")),
        "r4": job("gateware", over=True, error="refused", exit_code=2),
    }
    machines = {
        "left": MachineState(name="left", state="up", lease="l", cores=4, clock={"error_s": 1e-5}),
        "right": MachineState(name="right", state="gone"),
    }
    threads = set()

    def machine(name: str) -> MachineState:
        threads.add(threading.current_thread())
        return machines[name]

    controller = SimpleNamespace(peers=machines, jobs=jobs, machine=machine)
    exporter = ControllerExporter(controller, loop)  # type: ignore[arg-type]
    found = read(exporter.readings())
    assert len(threads) == 1, "the loop's thread alone reads the controller"
    assert threading.current_thread() not in threads
    states = {s: valued(found, "tailback_controller_jobs", state=s) for s in
              ("waiting", "running", "done", "failed")}  # fmt: skip
    assert states == {"waiting": [1.0], "running": [1.0], "done": [1.0], "failed": [1.0]}
    assert valued(found, "tailback_controller_job_stage", run="r2", stage="running") == [1.0]
    assert valued(found, "tailback_controller_job_progress_ratio", run="r1") == [0.25]
    assert valued(found, "tailback_controller_job_exit_code", run="r4", target="gateware") == [2.0]
    assert valued(found, "tailback_run_verdict", run="r3", verdict="met") == [1.0]
    assert not valued(found, "tailback_run_verdict", run="r4")
    state = "tailback_controller_machine_state"
    assert valued(found, state, machine="left", state="up") == [1.0]
    assert valued(found, state, machine="right", state="gone") == [1.0]
    assert valued(found, state, machine="right", state="up") == [0.0]
    assert valued(found, "tailback_controller_machine_leased", machine="left") == [1.0]
    assert valued(found, "tailback_controller_machine_leased", machine="right") == [0.0]
    assert valued(found, "tailback_controller_machine_clock_error_seconds") == [1e-5]
    for position, column in enumerate(columns):
        if column.quantity == "queue_bytes":
            octets = valued(found, "tailback_port_queue_bytes", run="r2", entity=column.entity)
            assert octets == [position]
    assert session.watched.is_set(), "samples are fetched from the agents"
    reader = exporter._readers["r2"]
    read(exporter.readings())
    assert exporter._readers["r2"] is reader
    jobs["r2"].watched = None
    assert not valued(read(exporter.readings()), "tailback_port_queue_bytes")
    assert not exporter._readers, "nothing is kept of runs that are over"


def test_a_loop_that_is_busy_does_not_hang_a_scrape(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.metrics_export.http_endpoint.IDLE_S", 0.05)
    busy = threading.Event()
    loop.call_soon_threadsafe(busy.wait)
    try:
        with pytest.raises(TimeoutError):
            on_loop(loop, lambda: 1)
    finally:
        busy.set()
    assert on_loop(loop, lambda: 1) == 1


def endpoint_of(server: Server) -> str:
    """Where a process said that it is scraped."""
    said = eventually(
        lambda: next((s for s in server.said if "metrics at " in s), ""), "it says where"
    )
    return str(said.split("metrics at ")[1].split()[0])


def test_processes_of_a_controller_and_an_agent_are_scraped(tmp_path: Path) -> None:
    with Bench(tmp_path) as bench:
        agent = bench.agent("left", metrics="127.0.0.1:0")
        bench.start(metrics="0")
        assert bench.controller is not None
        url = endpoint_of(bench.controller)
        assert url.startswith("http://127.0.0.1:"), "a port alone is on the loopback"
        found = samples(fetched(url)[1])
        state = "tailback_controller_machine_state"
        assert valued(found, state, machine="left", state="up") == [1.0]
        assert valued(found, "tailback_controller_machine_leased", machine="left") == [0.0]
        assert valued(found, "tailback_controller_jobs") == [0.0] * 4
        found = samples(fetched(endpoint_of(agent))[1])
        assert valued(found, "tailback_agent_info", machine="left") == [1.0]
        assert valued(found, "tailback_agent_target_available", target="gateware")
        assert sum(valued(found, "tailback_agent_leases")) == 0.0
        for server in (bench.controller, agent):
            assert server.end() == 0


@pytest.mark.software
@pytest.mark.slow
def test_a_run_across_machines_is_scraped_at_its_controller(
    lab: tuple[subprocess.Popen[str], dict[str, str], Path], tmp_path: Path
) -> None:
    _, said, folder = lab
    words = ["controller", said["inventory"], "--listen", "tcp://127.0.0.1:*", "--metrics", "0"]
    keys = [path for path in folder.rglob("keys/controller") if path.is_dir()]
    words += ["--keys", str(keys[0]), "--out", str(tmp_path / "there")]
    server = Server(words, python_command.environment())
    run = None
    try:
        url = endpoint_of(server)
        up = "tailback_controller_machine_state"
        eventually(
            lambda: (
                len(valued(samples(fetched(url)[1]), up, state="up")) == 2
                and sum(valued(samples(fetched(url)[1]), up, state="up")) == 2
            ),
            "both agents are up",
        )
        line = ["run", Path(__file__).parents[2] / "short.toml", "--no-report", "--json"]
        line += ["--controller", server.address, "--keys", keys[0].parent / "user"]
        run = subprocess.Popen(
            tailback(*line, "--out", tmp_path / "mine"),
            env=python_command.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        octets = "tailback_flow_received_bytes_total"
        seen: list[dict[Key, float]] = []

        def growing() -> bool:
            found = samples(fetched(url)[1])
            if sum(valued(found, octets)):
                seen.append(found)
            return len({sum(valued(f, octets)) for f in seen}) >= 2

        eventually(growing, "samples of both machines grow", 240)
        assert valued(seen[-1], "tailback_controller_machine_leased") == [1.0, 1.0]
        assert valued(seen[-1], "tailback_controller_jobs", state="running") == [1.0]
        run.communicate(timeout=240)
        over = eventually(
            lambda: (
                valued(found, "tailback_controller_jobs", state="done") and found
                if (found := samples(fetched(url)[1]))
                else None
            ),
            "the run is over",
        )
        assert sum(valued(over, "tailback_run_verdict")) == 1.0
        assert valued(over, "tailback_controller_machine_leased") == [0.0, 0.0]
    finally:
        if run is not None and run.poll() is None:
            run.kill()
            run.communicate()
        server.end()
