"""The command line as a process: exit codes, messages, signals, pipes, speed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from orchestrator import __version__
from orchestrator.cli import main
from orchestrator.cli.main import COMMANDS, assemble
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.patience import PATIENCE_S

CHILD = [sys.executable, str(Path(__file__).with_name("child.py"))]
TAILBACK = [sys.executable, "-m", "orchestrator.cli"]


def tailback(*arguments: object, command: list[str] = TAILBACK) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end."""
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def begin(base: Path, **options: object) -> subprocess.Popen[str]:
    """Start a run that stays in its folder until something ends it."""
    process = subprocess.Popen(
        [*CHILD, "wait", str(base)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        (
            "bad",
            2,
            "tailback: plan.toml: 1 problem\n  seed: -1 is not accepted; an integer from 0\n",
        ),
        ("failed", 3, "tailback: software: the data path stopped\n"),
        ("os", 2, "tailback: /some/file: Permission denied\n"),
        ("interrupt", 130, "tailback: interrupted; nothing of an unfinished run was kept\n"),
        ("exit", 1, ""),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(how, code, said):
    done = tailback("fail", how, command=CHILD)
    assert (done.returncode, done.stderr, done.stdout) == (code, said, "")


def test_a_bug_says_that_it_is_one():
    done = tailback("fail", "bug", command=CHILD)
    assert done.returncode == 70
    assert "Traceback" in done.stderr
    assert "this is a bug in tailback (KeyError); please report" in done.stderr


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "stopped by SIGTERM"),
        (signal.SIGHUP, 129, "stopped by SIGHUP"),
    ],
)
@pytest.mark.parametrize("group", [False, True])
def test_a_signal_ends_in_a_sentence_and_leaves_nothing(tmp_path, number, code, word, group):
    process = begin(tmp_path / "runs", start_new_session=True)
    os.killpg(process.pid, number) if group else process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert said == f"tailback: {word}; nothing of an unfinished run was kept\n"
    assert list(tmp_path.iterdir()) == []


def test_a_hangup_that_nohup_ignores_stays_ignored(tmp_path):
    ignore = "trap '' HUP; exec \"$@\""
    process = subprocess.Popen(
        ["sh", "-c", ignore, "sh", *CHILD, "wait", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143


@pytest.mark.parametrize("printed", ["chatter", "tables"])
def test_a_reader_that_had_enough_is_no_error(printed: str):
    process = subprocess.Popen(
        [*CHILD, printed], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE_S) == 141
    process.stderr.close()


def test_a_full_disk_behind_stdout_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*TAILBACK, "plans"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "tailback: standard output: No space left on device\n"


def test_a_closed_stdout_is_nobodys_fault():
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *TAILBACK, "plans"], stderr=subprocess.PIPE, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stderr_does_not_change_the_exit_code():
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *CHILD, "fail", "failed"]
    assert subprocess.run(shell, timeout=PATIENCE_S, check=False).returncode == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run", "x", "--seed", "x"], "--seed: 'x' is not accepted; a whole number is expected"),
        (["run", "x", "--pace", "fast"], "--pace: 'fast' is not accepted; a number is expected"),
        (["run", "x", "--cores", "0"], "--cores: '0' is not accepted; at least 1 is expected"),
        (
            ["run", "x", "--datapath", "xdp", "--controller", "tcp://127.0.0.1:1"],
            "--datapath: not together with --controller: agents have packet sockets alone; "
            "leave it out",
        ),
        (["run"], "PLAN: missing; A shipped plan by name (see `tailback plans`), or a TOML file."),
        (["run", "x", "--seed"], "--seed: missing; a value is expected"),
        (["run", "x", "--json=yes"], "--json takes no value"),
        (["run", "x", "--sed", "3"], "command line: unknown option '--sed'; did you mean --seed"),
        (["rum"], "command line: unknown command 'rum'; did you mean run?"),
        (["keys", "mak"], "command line: unknown command 'mak'; did you mean make?"),
        (["run", "x", "y"], "command line: 'y' is more than it takes"),
        (["--sed"], "command line: unknown option '--sed'; known: --help"),
        (["run", "x", "--s\x1b[2Jed"], "unknown option '--s\\x1b[2Jed'"),
    ],
)
def test_a_wrong_command_line_is_bad_input_in_our_words(arguments, word):
    done = tailback(*arguments)
    assert done.returncode == 2
    assert word in done.stderr
    assert done.stderr.startswith("tailback: ")
    for foreign in ("Traceback", "Usage:", "Error:", "Input should", "\x1b"):
        assert foreign not in done.stderr
    if "more than" in word or "unknown" in word:
        assert "-h` tells what it takes" in done.stderr


def test_a_group_without_a_command_shows_its_help():
    done = tailback("keys")
    assert "Usage: tailback keys" in done.stdout + done.stderr


def test_a_command_that_a_plugin_contributes_is_listed():
    done = tailback("--help", command=CHILD)
    assert done.returncode == 0
    assert "chatter" in done.stdout
    assert "Print more than a pipe holds." in done.stdout


def test_a_plugin_whose_commands_fail_is_named_and_takes_no_other_down():
    done = tailback("plugins", command=CHILD)
    assert done.returncode == 0
    assert done.stderr == (
        "tailback: plugin broken is not usable: tailback_commands: "
        "ZeroDivisionError: division by zero\n"
    )


def test_help_comes_with_examples_and_exit_codes():
    done = tailback("run", "--help")
    assert "tailback run netfpga-fig11 --target software --seed 7\n" in done.stdout
    assert (
        "Exit codes: 0 all expectations met, or none in the plan (unjudged), 1 some missed, 2 bad"
        in (" ".join(done.stdout.split()))
    )


def test_the_version_is_told():
    assert tailback("--version").stdout == f"tailback {__version__}\n"


def test_completion_is_to_be_had():
    assert "--install-completion" in tailback("--help").stdout


SLOW = ("numba", "numpy", "pyarrow", "matplotlib", "pyroute2", "zmq", "orchestrator.plan.plan")
"""Modules that take long to import: what tells of commands needs none of them."""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["figure", "-h"]])
def test_what_tells_of_commands_imports_nothing_that_is_slow(words):
    code = (
        f"import sys; from orchestrator.cli.main import command_line; command_line({words});"
        f"print([m for m in {SLOW} if m in sys.modules])"
    )
    assert tailback(code, command=[sys.executable, "-c"]).stdout.splitlines()[-1] == "[]"


NOT_FOR_A_RUN = (
    *("zmq", "networkx", "multiprocessing", "matplotlib", "scipy", "pandas"),
    *(
        "orchestrator.testbed.inventory",
        "orchestrator.profile.profile_model",
        "traces.metrics.dut_metrics",
    ),
)
"""What a simulated run that nobody watches has no use of, as long as no report is drawn."""
AN_INSTANT = """
name = "an-instant"
duration = "1us"
[nodes]
source = { kind = "nic" }
switch = { kind = "switch", pause = { plugin = "pfc", high = "30KB", low = "15KB" } }
sink = { kind = "sink" }
[links]
up = { ends = ["source", "switch"], rate = "1Gb/s" }
down = { ends = ["switch", "sink"], rate = "1Gb/s" }
[traffic]
one = { plugin = "cbr", from = "source", to = "sink", rate = "1Gb/s" }
"""


def test_a_run_that_nobody_watches_imports_no_more_than_it_needs(tmp_path):
    (tmp_path / "instant.toml").write_text(AN_INSTANT)
    words = ["run", str(tmp_path / "instant.toml"), "--no-live", "--no-report"]
    code = (
        "import sys; from orchestrator.cli.main import command_line;"
        f"code = command_line({[*words, '--out', str(tmp_path)]});"
        f"print(code, [m for m in {NOT_FOR_A_RUN} if m in sys.modules])"
    )
    assert tailback(code, command=[sys.executable, "-c"]).stdout.splitlines()[-1] == "0 []"


def test_a_command_line_imports_the_command_that_it_names_and_no_other():
    code = (
        "import sys; from orchestrator.cli.main import command_line; command_line(['run', '-h']);"
        "print([m for m in ('sweep', 'papers') if f'orchestrator.cli.{m}' in sys.modules])"
    )
    assert tailback(code, command=[sys.executable, "-c"]).stdout.splitlines()[-1] == "[]"


def test_every_command_of_the_core_is_known_by_its_module():
    every = typer.Typer()
    main.register_commands(every)
    assert list(typer.main.get_command(every).commands) == list(main.COMMANDS)
    for word in main.COMMANDS:
        alone = typer.Typer()
        main.register_command(alone, word)
        alone.callback()(lambda: None)
        assert word in typer.main.get_command(alone).commands


@pytest.mark.parametrize("word", ["compare", "run", "plugins", "keys", "verify"])
def test_a_command_of_tailback_is_not_replaced_by_a_plugin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    def contribute(app: typer.Typer) -> None:
        app.command(name=word, help="A board of another.")(lambda: None)
        app.command(name="own")(lambda: None)

    point = entry_point(monkeypatch, "board", tailback_commands=contribute)
    registry = Registry([*entry_points(group=GROUP), point])
    app = assemble(registry)
    named = [one for one in app.registered_commands if one.name == "own"]
    assert len(named) == 1
    text = f"its command {word!r} is left out, because "
    assert any(text in one and "plugin board" in one for one in registry.problems)
    shown = CliRunner().invoke(assemble(registry, [word]), [word, "--help"]).stdout
    assert "A board of another." not in shown
    called = capsys.readouterr().err
    assert (text in called) == (word not in COMMANDS or word == "plugins")


@pytest.mark.parametrize("group", [False, True])
def test_of_two_plugins_with_one_command_the_second_is_left_out(
    monkeypatch: pytest.MonkeyPatch, group: bool
) -> None:
    def contribute(app: typer.Typer) -> None:
        if group:
            app.add_typer(typer.Typer(), name="board")
        else:
            app.command(name="board")(lambda: None)

    points = [entry_point(monkeypatch, name, tailback_commands=contribute) for name in "ab"]
    registry = Registry(points)
    app = assemble(registry)
    assert len([one for one in app.registered_commands if one.name == "board"]) == (not group)
    assert len(app.registered_groups) >= group
    (problem,) = [one for one in registry.problems if "'board'" in one]
    assert problem.startswith("plugin b of ")
    assert "because plugin a has one of that name" in problem
