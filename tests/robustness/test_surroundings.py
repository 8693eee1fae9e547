"""What surrounds a command, or is handed to it, is unusual: it works, or says why it does not."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator import python_command
from orchestrator.batch.parameter_axis import read_axis
from orchestrator.cli.main import command_line
from orchestrator.errors import BadInput
from orchestrator.live.feed_messages import Pace
from orchestrator.pause_storm.storm_request import _length
from orchestrator.plan import Plan
from orchestrator.plan.toml_text import parse, table_in

COMMAND = python_command.module("orchestrator.cli", "plans", "--json")
SECONDS = 120


def plans(before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """`tailback plans --json`, started by a shell after some preparation."""
    words = " ".join(f"'{word}'" for word in COMMAND)
    return subprocess.run(
        ["sh", "-c", f"{before} exec {words}" if not before.endswith("&") else f"{words} {before}"],
        env=python_command.environment() | variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_stderr_closed() -> None:
    done = plans("exec 2>&-;")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    failed = subprocess.run(
        ["sh", "-c", f"exec 2>&-; exec {sys.executable} -P -m orchestrator.cli run no-such-plan"],
        env=python_command.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (failed.returncode, failed.stdout) == (2, ""), "a sentence is no data"


def test_all_three_closed() -> None:
    assert plans("exec 0<&- 1>&- 2>&-;").returncode == 0


def test_a_working_folder_that_was_removed(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = plans(f"cd {tmp_path}/gone && rmdir ../gone;")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "tailback: the working folder: No such file or directory; change to another\n"
    )


@pytest.mark.parametrize("columns", ["0", "-1", "x", "", "1"])
def test_any_width(columns: str) -> None:
    done = subprocess.run(
        python_command.module("orchestrator.cli", "--help"),
        env=python_command.environment(COLUMNS=columns, LINES=columns),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "quickstart" in done.stdout or columns == "1"


@pytest.mark.parametrize("path", [":", "{root}:", ":{root}", "{root}::"])
def test_no_module_of_the_working_folder_is_imported(path: str, tmp_path: Path) -> None:
    for name in ("queue", "json", "typer", "numpy", "contextlib", "gzip"):
        (tmp_path / f"{name}.py").write_text(f"open('{tmp_path}/ran', 'w'); raise SystemExit(9)")
    script = Path(sys.executable).with_name("tailback")
    variables = {"PYTHONPATH": path.format(root=python_command.ROOT)}
    done = subprocess.run(
        [str(script), "plans", "--json"],
        cwd=tmp_path,
        env=dict(os.environ) | variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_file_without_end_is_no_plan(file: str) -> None:
    with pytest.raises(BadInput, match="more than 40000000 octets"):
        Plan.load(Path(file))
    with pytest.raises(BadInput, match="more than 40000000 octets"):
        table_in(Path(file))


@pytest.mark.parametrize("seed", range(12))
def test_integers_of_thousands_of_digits_are_refused_with_their_key(seed: int) -> None:
    draw = random.Random(seed)
    digits = draw.choice([20, 400, 3600, 4299, 10_000])
    number = draw.choice(
        [
            *("0x" + "f" * digits, "0o" + "7" * max(digits, 23), "0b" + "1" * max(digits, 70)),
            draw.choice("+-") + "9" * digits,
        ]
    )
    keys = ["seed", "duration", "nodes.nic.rate", "traffic.gen.count", "expect"]
    key = draw.choice(keys)
    text = f"{key} = [{{min = {number}}}]" if key == "expect" else f"{key} = {number}"
    with pytest.raises(BadInput) as refused:
        parse("plan", text)
    said = str(refused.value)
    assert key in said
    assert "at most 64 bits" in said
    assert len(said) < 200


@pytest.mark.parametrize(
    "text", ["9" * 400, "1..1" + "0" * 400, "-" + "9" * 100, "1." + "3" * 200, "2" * 61 + "Mb/s"]
)
def test_numbers_of_hundreds_of_digits_are_no_range(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        values = read_axis(f"nodes.switch.service_rate={text}", "--over")
        assert all(len(one.text) < 100 for one in values.values())
        raise BadInput("--over", "words")
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("text", ["10in", "10 in", "10minin", "m", "in", "10mm", "1e3m"])
def test_units_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|duration"):
        _length(text)


def test_minutes() -> None:
    assert [_length(text) for text in ("10m", "10min", "10 min")] == [600 * 10**12] * 3


@pytest.mark.parametrize("factor", [1e-300, 5e-324, 0.0, -1.0, float("inf"), float("nan"), 1e300])
def test_a_pace_that_never_ends_or_is_none(factor: float) -> None:
    with pytest.raises(ValidationError):
        Pace(run="x", request="1", factor=factor)


def test_signal_handlers_and_hooks_of_a_caller_are_as_before() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def now() -> list[object]:
        return [*map(signal.getsignal, numbers), sys.unraisablehook, sys.excepthook]

    before = now()
    assert command_line(["--version"]) == 0
    assert command_line(["run", "no-such-plan"]) == 2
    assert now() == before


@pytest.mark.skipif((os.cpu_count() or 1) > 4, reason="OpenBLAS takes more for more cores")
@pytest.mark.parametrize("kilobytes", [100_000, 190_000, 300_000, 450_000])
def test_a_limit_of_memory_is_a_sentence(kilobytes: int, tmp_path: Path) -> None:
    """Whatever is loaded or made when the limit is reached; what needs less than that works."""
    words = python_command.module("orchestrator.cli", "run", "quickstart", "--no-report", "--json")
    line = " ".join(f"'{word}'" for word in [*words, "--out", str(tmp_path)])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v {kilobytes}; exec {line}"],
        env=python_command.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    sentences = [one for one in done.stderr.splitlines() if one.startswith("tailback: ")]
    assert "memory" in sentences[-1], done.stderr
    assert "Traceback" not in done.stderr


def test_a_library_that_cannot_be_mapped_lacks_memory(capsys: pytest.CaptureFixture[str]) -> None:
    from orchestrator.terminal import exit_codes

    inner = OSError("libx.so: failed to map segment from shared object")
    outer = OSError("Could not find/load shared object file")
    outer.__context__ = inner
    for error in (
        outer,
        ImportError(str(inner)),
        OSError("libx.so: cannot allocate memory in TLS"),
    ):
        assert exit_codes.explain(error) == exit_codes.INVALID
        assert "no memory is left" in capsys.readouterr().err


def test_no_memory_is_no_miss(capsys: pytest.CaptureFixture[str]) -> None:
    from orchestrator.terminal import exit_codes

    assert exit_codes.explain(MemoryError()) == exit_codes.INVALID
    assert "no memory is left" in capsys.readouterr().err
