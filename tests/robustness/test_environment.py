"""Environment variables that libraries read, with hostile values: the result of a run is the same,
or the refusal is a sentence; nothing that a variable names is executed.

Names and values: tests/robustness/hostile_environment.py. The run includes a report, so that every
library of a run is loaded. numba's variables have it compile anew: they are among the trials.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator import private_cache, python_command
from tests.robustness import hostile_environment
from tests.robustness.runs import QUICK

GROUPS = 3
SECONDS = 300
COMPILER = "numba"
SPOKEN = (
    "GRPC_VERBOSITY",
    "GRPC_TRACE",
    "grpc_proxy",
    "http_proxy",
    "https_proxy",
    "SSLKEYLOGFILE",
)
"""Variables of servers' libraries that no pattern finds."""


def tailback(
    folder: Path, name: str, given: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    """A run in a folder of hostile files with these variables: how it ended, and its result."""
    out = folder.parent / f"runs-{name}"
    words = [*QUICK, "--target", "simulated", "--out", str(out)]
    script = str(Path(sys.executable).with_name("tailback"))
    cache = {private_cache.FOLDER: str(private_cache.folder("numba").parent)}
    environment = {**os.environ, "HOME": str(Path.home()), **cache, **given}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [script, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    results = sorted(out.glob("*/*/result.json"))
    made = json.loads(results[0].read_text(encoding="utf-8")) if results else None
    if made is not None:
        made.pop("performance", None)
    return done, made


def wrong(folder: Path, name: str, given: dict[str, str], due: dict[str, Any] | None) -> str | None:
    """What a run with these variables does that it must not; None: nothing."""
    done, made = tailback(folder, name, given)
    said = done.stderr.splitlines()
    if (folder / "ran").exists():
        return "something was executed"
    if "Traceback" in done.stderr or "bug in tailback" in done.stderr:
        return f"a traceback: {done.stderr[-1500:]}"
    if done.returncode == 0:
        report = list((folder.parent / f"runs-{name}").glob("*/*/report.html"))
        return None if made == due and report else f"another result: {said[-3:]}"
    sentences = [line for line in said if line.startswith("tailback: ")]
    if done.returncode == 2 and len(sentences) == 1:
        return None
    return f"exit code {done.returncode}: {done.stderr[-1500:]}"


def guilty(folder: Path, given: dict[str, str], due: dict[str, Any] | None) -> dict[str, str]:
    """A smallest set of these variables with which a run goes wrong."""
    kept, number = dict(given), 0
    for size in (16, 4, 1):
        for first in range(0, len(given), size):
            without = dict(kept)
            for name in list(given)[first : first + size]:
                without.pop(name, None)
            number += 1
            if without != kept and wrong(folder, f"less-{size}-{number}", without, due):
                kept = without
    return kept


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], Any]:
    """A folder of hostile files, values that name them, and the result that is due."""
    folder = tmp_path_factory.mktemp("hostile") / "cwd"
    folder.mkdir()
    planted = hostile_environment.plant(folder)
    done, due = tailback(folder, "reference", {})
    assert done.returncode == 0, done.stderr
    assert due is not None
    return folder, planted, due


def groups(seed: int) -> list[list[str]]:
    """All variables but the compiler's, in a few groups."""
    found = hostile_environment.variables()
    names = sorted({one for name, read in found.items() if name != COMPILER for one in read})
    random.Random(seed).shuffle(names)
    return [names[first::GROUPS] for first in range(GROUPS)]


def test_the_names_are_those_that_libraries_read() -> None:
    found = hostile_environment.variables()
    assert {"MPLBACKEND", "MATPLOTLIBRC"} <= set(found["matplotlib"])
    assert "NUMBA_DISABLE_JIT" in found["numba"]
    assert "PYTHONWARNINGS" in found["python"]
    assert {"COLUMNS", "NO_COLOR"} <= set(found["rich"])
    assert "ARROW_DEFAULT_MEMORY_POOL" in found["pyarrow"]
    assert sum(map(len, found.values())) > 150


@pytest.mark.parametrize("number", range(GROUPS))
def test_every_variable_of_a_library(number: int, hostile: tuple[Path, list[str], Any]) -> None:
    folder, planted, due = hostile
    given = hostile_environment.drawn(groups(1)[number], number, planted)
    assert len(given) > 20
    assert wrong(folder, f"group-{number}", given, due) is None, given


@pytest.mark.parametrize(("number", "features"), [*enumerate(("\x1b[31m", "+sse2,,-avx", "sse2"))])
def test_features_of_a_cpu_that_the_compiler_cannot_read(
    number: int, features: str, hostile: tuple[Path, list[str], Any]
) -> None:
    """LLVM ends the process of one without a sign."""
    folder, _, due = hostile
    assert wrong(folder, f"features-{number}", {"NUMBA_CPU_FEATURES": features}, due) is None


SERVING = """
import sys, urllib.request
from orchestrator.cli.__main__ import _check_surroundings
_check_surroundings()
from tests.orchestrator.otg.serving import served, version
from tests.orchestrator.metrics_export.test_http_endpoint import READINGS
from orchestrator.metrics_export import http_endpoint
with served() as server, http_endpoint.served("127.0.0.1:0", lambda: READINGS, print) as metrics:
    open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    print(server.ask(), version(server.grpc).split()[0], open_url(metrics.url).status)
"""


@pytest.mark.parametrize("seed", range(4))
def test_every_variable_of_a_servers_library(seed: int, tmp_path: Path) -> None:
    """Of the extras `otg` and `metrics`: both servers answer, and write nothing."""
    for module in ("snappi", "aiohttp", "grpc", "prometheus_client"):
        pytest.importorskip(module)
    planted = hostile_environment.plant(tmp_path)
    before = set(tmp_path.iterdir())
    read = hostile_environment.variables(hostile_environment.SERVERS)
    others = {name for names in hostile_environment.variables().values() for name in names}
    names = sorted({name for found in read.values() for name in found} - others)
    assert {"GRPC_VERBOSITY", "GRPC_TRACE", "PROMETHEUS_MULTIPROC_DIR"} <= {*names, *SPOKEN}
    given = hostile_environment.drawn([*names, *SPOKEN], f"server {seed}", planted)
    done = subprocess.run(
        [sys.executable, "-P", "-c", SERVING],
        cwd=tmp_path,
        env=python_command.environment(HOME=str(Path.home()), **given),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["200 tailback 200"], (given, done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 2000, (given, done.stderr[-2000:])
    assert set(tmp_path.iterdir()) == before, "something was written or executed"


SEEDS = int(os.environ.get("TAILBACK_ENVIRONMENT_SEEDS", "10"))


@pytest.mark.trials
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_many_values_of_every_variable(seed: int, hostile: tuple[Path, list[str], Any]) -> None:
    folder, planted, due = hostile
    for number, names in enumerate(groups(seed)):
        given = hostile_environment.drawn(names, (seed, number), planted)
        if (what := wrong(folder, f"{seed}-{number}", given, due)) is not None:
            pytest.fail(f"{what}\n{guilty(folder, given, due)}")


@pytest.mark.trials
@pytest.mark.timeout(7200)
def test_every_variable_of_the_compiler(hostile: tuple[Path, list[str], Any]) -> None:
    """One at a time, and each with a value that means something to it."""
    folder, planted, due = hostile
    found = []
    for name in hostile_environment.variables()[COMPILER]:
        given = hostile_environment.drawn([name], name, ["1", *planted])
        if (what := wrong(folder, f"numba-{name}", given, due)) is not None:
            found.append(f"{given}: {what[:300]}")
    assert found == []
