"""`tailback lab`: a testbed on this machine in one command."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput, Refused
from orchestrator.terminal import exit_codes

if TYPE_CHECKING:
    from orchestrator.testbed.lab.local_testbed import Lab

LISTEN = "tcp://127.0.0.1:7011"
MOST_CABLES = 8
READY = "run "
"""Begins the last line that is printed."""


def lab(
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address that the controller listens on.")
    ] = LISTEN,
    cables: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=MOST_CABLES, help="Cables between the machines."),
    ] = 1,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Run folders are made in DIR/<plan>/.")
    ] = Path("runs"),
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of keys, inventory and the agents' journals. Default: a temporary folder.",
        ),
    ] = None,
    detach: Annotated[
        bool,
        typer.Option(
            "--detach",
            help="Return when all processes are ready; with --folder, which then has `pid` and "
            "`log`.",
        ),
    ] = False,
) -> None:
    """Run a local testbed of two emulated machines until Ctrl-C.

    The machines are network namespaces; each has a real agent, and a veth pair is the cable between
    their NICs eth1. The controller is an ordinary one. The lab prints the command that runs a plan
    across the machines. At its end, also after SIGKILL, the lab removes everything it created.

    \b
      tailback lab
      tailback lab --folder lab --detach
      tailback run quickstart --controller tcp://127.0.0.1:7011 --keys lab/keys/user
      kill $(cat lab/pid)

    Exit codes: 0 ended, 2 this machine has no namespaces, or a lab runs in the folder.
    """
    if not sys.platform.startswith("linux"):
        raise Refused("tailback lab", f"it needs Linux, and this is {sys.platform}", "")
    if detach:
        if folder is None:
            raise BadInput("--detach", "needs --folder DIR, for the keys and the log")
        _detached(folder, ["--listen", listen, "--cables", str(cables), "--out", str(out)])
        return
    with _lab_folder(folder) as place:
        _serve(place, listen, cables, out)


@contextlib.contextmanager
def _only_lab_in(folder: Path, *, keep: bool) -> Iterator[None]:
    """Refuse a folder in which a lab runs, at once and untouched; `keep`: hold it for this lab."""
    from orchestrator.run import folder_lock

    handle = None
    try:
        handle = folder_lock.acquire(folder)
    except BlockingIOError as error:
        text = (
            f"{folder}: a lab runs in it{_running_in(folder)}; end that one, or name another folder"
        )
        raise BadInput("--folder", text) from error
    except OSError as error:
        if error.errno not in folder_lock.UNKNOWN_HERE:
            raise BadInput("--folder", f"{folder}: {error.strerror}") from error
    if not keep:  # the process that is started takes the lock
        folder_lock.release(handle)
        yield
        return
    try:
        yield
    finally:
        folder_lock.release(handle)


def _running_in(folder: Path) -> str:
    """How to end the lab in a folder, as far as its file says."""
    try:
        return f" (kill {int((folder / 'pid').read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        return ""


@contextlib.contextmanager
def _lab_folder(folder: Path | None, *, keep: bool = True) -> Iterator[Path]:
    if folder is not None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput("--folder", f"{folder}: cannot be made ({error.strerror})") from error
        with _only_lab_in(folder, keep=keep):
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tailback-lab-") as made:
        yield Path(made)


def _serve(place: Path, listen: str, cables: int, out: Path) -> None:
    """Make the testbed and run its controller until SIGINT or SIGTERM."""
    import asyncio

    from orchestrator.testbed.controller.controller_process import serve
    from orchestrator.testbed.inventory import Testbed
    from orchestrator.testbed.lab.local_testbed import CONTROLLER, Lab

    pid = place / "pid"
    with Lab(place, cables) as made:
        pid.write_text(f"{os.getpid()}\n", encoding="ascii")
        try:
            say = _until_up(made, listen)
            asyncio.run(
                serve(Testbed.load(made.inventory), listen, made.keys(CONTROLLER), out, say)
            )
        finally:
            pid.unlink(missing_ok=True)


def _until_up(lab: Lab, listen: str) -> Callable[[str], None]:
    """Passes on what the controller says; when all agents are up, how to run a plan is printed."""
    waiting = set(lab.addresses)

    def say(text: str) -> None:
        exit_codes.say(text)
        up = {name for name in waiting if text.startswith(f"agent {name}: up")}
        waiting.difference_update(up)
        if up and not waiting:
            _print_instructions(lab, listen)

    return say


def _print_instructions(lab: Lab, listen: str) -> None:
    from orchestrator.testbed.lab.local_testbed import MACHINES, USER

    agents = ", ".join(f"{name} {address}" for name, address in lab.addresses.items())
    left, right = MACHINES
    pairs = [f"{left}:eth{n} - {right}:eth{n}" for n in range(1, lab.cables + 1)]
    run = ["tailback", "run", "quickstart", "--controller", listen]
    for what, text in (
        ("agents", agents),
        ("cables" if len(pairs) > 1 else "cable", ", ".join(pairs)),
        ("controller", listen),
        ("inventory", str(lab.inventory)),
        ("keys", str(lab.keys(USER))),
        (READY.strip(), shlex.join([*run, "--keys", str(lab.keys(USER))])),
    ):
        print(f"{what:<11} {text}", flush=True)


def _detached(folder: Path, options: list[str]) -> None:
    """Start it as a process of its own, and wait until it is up."""
    from orchestrator import python_command

    with _lab_folder(folder, keep=False), (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            python_command.module("orchestrator.cli", "lab", "--folder", str(folder), *options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env=python_command.environment(),
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                if line.startswith(READY):
                    print(f"{'end':<11} kill {process.pid}")
                    return
        except BaseException:
            process.terminate()
            raise
    code = process.wait()
    exit_codes.say((folder / "log").read_text("utf-8", "replace").strip() or f"exit code {code}")
    raise typer.Exit(code or exit_codes.INVALID)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(lab)
