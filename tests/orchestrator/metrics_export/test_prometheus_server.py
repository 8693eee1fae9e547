"""Debian's Prometheus scrapes a run, and its answers to queries are what `result.json` says."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command
from orchestrator.plan.metric_registry import counted_by
from orchestrator.registry import Registry
from tests.orchestrator.metrics_export.scraping import fetched
from tests.patience import eventually

pytest.importorskip("prometheus_client")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SERVER, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
PLAN = """
base = "quickstart"
name = "scraped"
"""
WITHIN_S = 240.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Prometheus:
    """A server with a folder of its own that scrapes one port of the loopback."""

    def __init__(self, folder: Path, target: int) -> None:
        assert SERVER is not None
        self.port = free_port()
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {"job_name": "tailback", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
            ],
        }
        path = folder / "prometheus.yml"
        path.write_text(json.dumps(configuration))  # JSON is YAML
        words = [f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}"]
        words.append(f"--web.listen-address=127.0.0.1:{self.port}")
        with (folder / "prometheus.log").open("w") as log:
            self.process = subprocess.Popen([SERVER, *words], stdout=log, stderr=log)

    def ask(self, query: str) -> list[tuple[dict[str, str], float]]:
        """(labels, value) of an instant query; nothing before the server answers."""
        words = urllib.parse.urlencode({"query": query})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{words}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                data = json.load(answer)["data"]["result"]
        except OSError:
            return []
        return [(row["metric"], float(row["value"][1])) for row in data]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[Prometheus]:
    server = Prometheus(folder, target)
    try:
        eventually(lambda: server.ask("vector(1)"), "Prometheus answers", WITHIN_S)
        yield server
    finally:
        server.close()


def scraped_run(folder: Path, *words: str) -> tuple[dict[str, Any], Callable[[str], Any], str]:
    """Result of a run, how the server answers queries afterwards, and a scrape on the way."""
    port = free_port()
    (folder / "scraped.toml").write_text(PLAN)
    command = python_command.module(
        "orchestrator.cli", "run", str(folder / "scraped.toml"), "--json", "--no-report",
        "--out", str(folder / "runs"), "--metrics", f"127.0.0.1:{port}",
        "--metrics-hold", f"{int(WITHIN_S)}s", *words,
    )  # fmt: skip
    answers: dict[str, Any] = {}
    with prometheus(folder, port) as server:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            live = eventually(
                lambda: server.ask('tailback_run_stage{stage="running"} == 1'),
                "Prometheus has seen the run going on",
                WITHIN_S,
            )
            text = fetched(f"http://127.0.0.1:{port}/metrics")[1]
            printed, said = run.communicate(timeout=WITHIN_S)
        finally:
            if run.poll() is None:
                run.kill()
                run.communicate()
        assert run.returncode in (0, 1, 3), said
        result = json.loads(printed)
        name = live[0][0]["run"]
        judged = f'tailback_run_verdict{{run="{name}"}} == 1'
        eventually(lambda: last(server, judged), "Prometheus has the verdict", 30)
        for query in queries(result, name):
            answers[query] = last(server, query)
    return result, answers.__getitem__, text


def last(server: Prometheus, query: str) -> list[tuple[dict[str, str], float]]:
    """Answer at the last instant at which a scrape succeeded: the run is over, its target down."""
    return server.ask(query) or server.ask(f"last_over_time(({query})[2m:1s])")


def queries(result: dict[str, Any], run: str) -> dict[str, float]:
    """Query -> the answer by `result.json`."""
    found: dict[str, float] = {
        f'tailback_run_verdict{{run="{run}", verdict="{result["verdict"]}"}}': 1.0,
        f'tailback_run_fidelity{{run="{run}", fidelity="{result["fidelity"]["verdict"]}"}}': 1.0,
    }
    whole = result["metrics"]["run"]
    for entity, metrics in whole.items():
        for metric, quantity in counted_by("port").items():
            if entity == "switch.sink" and metric in metrics:
                name = f"tailback_port_{quantity}_total"
                found[f'{name}{{run="{run}", entity="{entity}"}}'] = metrics[metric]
    flows = [f"gen.{n}" for n in (0, 1)]
    frames = sum(whole[flow]["frames.received"] for flow in flows)
    found[f'sum(tailback_flow_frames_received_total{{run="{run}"}})'] = frames
    for flow in flows:
        rate = f'tailback_result_flow_throughput_bytes_per_second{{run="{run}", phase="run"'
        found[f'{rate}, entity="{flow}"}}'] = whole[flow]["throughput_bps"] / 8
    mean = f'tailback_result_port_queue_mean_bytes{{run="{run}", entity="switch.sink"'
    for phase, entities in result["metrics"].items():
        found[f'{mean}, phase="{phase}"}}'] = entities["switch.sink"]["queue_bytes.mean"]
    return found


@pytest.mark.parametrize(
    "target",
    [
        "simulated",
        pytest.param("software", marks=[pytest.mark.software, pytest.mark.shares_cores]),
    ],
)
def test_queries_answer_what_the_result_says(tmp_path: Path, target: str):
    if SERVER is None or PROMTOOL is None:
        pytest.skip("prometheus and promtool are not installed (Debian: prometheus)")
    refused = Registry.load().target(target).probe()
    if refused is not None:
        pytest.skip(str(refused))
    pace = ["--pace", "0.2"]
    result, answer, text = scraped_run(tmp_path, "--target", target, *pace)
    checked = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    run = text.partition('run="')[2].partition('"')[0]
    wanted = queries(result, run)
    assert len(wanted) > 12
    for query, value in wanted.items():
        assert [v for _, v in answer(query)] == [pytest.approx(value, rel=1e-9)], query
