"""Pipes, devices, links and folders in the place of the file that a path of a command names.

Paths are drawn from the commands' own parameters. Each command ends soon, with its usual exit codes
and without a traceback, and what was named is as it was. For root, all but one folder is read-only.
"""

from __future__ import annotations

import os
import random
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command
from tests.robustness.hostile_numbers import commands

SECONDS = 200
BOX = """set -e
mount --bind "$0" "$0"
mount -o remount,bind,ro /
for place in /dev /proc /sys; do mount -o remount,bind,ro "$place"; done
cd "$0"
exec "$@"
"""
"""Script that makes the machine read-only but for a folder, in a namespace of mounts."""
SERVERS = ("agent", "controller", "console", "lab", "clean")
LONG = ("papers", "hunt", "shootout", "prove", "calibrate", "sweep", "mutate", "gateware")
"""Commands that go on, or remove something, where a path is accepted; those that take minutes."""
FITS = {
    "plan": "quickstart",
    "plans": "quickstart",
    "name": "QCN",
    "names": "QCN",
    "key": "0" * 40,
    "address": "127.0.0.1:1",
    "controller": "tcp://127.0.0.1:1",
    "agent": "tcp://127.0.0.1:1",
    "port": "p=lo",
}
"""Values of other parameters that a command requires, by name."""
PLACES = {"FILE", "DIR", "FOLDER", "PLAN", "RUN", "CAPTURE", "CAPSULE", "TOPOLOGY", "FLOWS"}
"""Words of a placeholder of a parameter that is read as a text first."""
WAYS = (
    "pipe",
    "zero",
    "full",
    "null",
    "loop",
    "dangling",
    "folder",
    "socket",
    "unreadable",
    "name",
)


def place(folder: Path, way: str) -> Path:
    """A path that is no plain file of this user's."""
    path = folder / f"{way}.toml"
    if way == "pipe":
        os.mkfifo(path)
    elif way in ("zero", "full", "null"):
        path.symlink_to(f"/dev/{way}")
    elif way == "loop":
        path.symlink_to(path)
    elif way == "dangling":
        path.symlink_to(folder / "none" / "at all")
    elif way == "folder":
        path.mkdir()
    elif way == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif way == "unreadable":
        path.write_text("x = 1\n")
        path.chmod(0)
    else:
        path = folder / "\x1b]0;a\x07\u202e$(id)\n'\"<b>.toml"
        path.write_text("x = 1\n")
    return path


def options() -> Iterator[tuple[list[str], Any]]:
    """(words of a command, parameter) of every parameter that is a path."""
    for words, command in commands():
        if words[0] in SERVERS + LONG:
            continue
        for parameter in command.params:
            descriptor = getattr(parameter, "type_descriptor", None)
            named = set(re.split(r"[^A-Z]", parameter.metavar or ""))
            if "Path" in str(getattr(descriptor, "annotation", "")) or named & PLACES:
                yield words, parameter


def line(words: list[str], wanted: Any, path: Path) -> list[str]:
    """A command line with the path in the place of one parameter."""
    command = next(command for found, command in commands() if found == words)
    made = list(words)
    after: list[str] = []
    for parameter in command.params:
        value = FITS.get(parameter.name, "x")
        argument = parameter.param_type_name == "argument"
        if parameter is wanted or parameter.name == wanted.name:
            if argument:
                after.append(str(path))
            else:
                made.append(f"{parameter.opts[0]}={path}")
                if wanted.name == "keys" and any(
                    one.name == "controller" for one in command.params
                ):
                    made.append(f"--controller={FITS['controller']}")
        elif argument and parameter.required:
            after += [value] * max(parameter.nargs, 1)
        elif parameter.required:
            made += [parameter.opts[0], value]
    return [*made, "--", *after] if after else made


def ended(words: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    """A command with a home of its own, that has ended."""
    box = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BOX, str(home)]
    return subprocess.run(
        [*(box if os.geteuid() == 0 else ()), *python_command.module("orchestrator.cli", *words)],
        env={
            **python_command.environment(),
            "HOME": str(home),
            "TAILBACK_LIVE": str(home / "live"),
            "TMPDIR": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
        },
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )


def controls(text: str) -> bool:
    """True where a text has characters that a terminal obeys."""
    return any(c in text for c in "\x1b\x07\u202e") or any(
        ord(c) < 32 and c not in "\n\t\r" for c in text
    )


def wrong(words: list[str], wanted: Any, way: str, folder: Path) -> str | None:
    """What a command does with a path that it must not; None: nothing."""
    path = place(folder, way)
    before = path.lstat()
    shown = line(words, wanted, path)
    try:
        done = ended(shown, folder)
    except subprocess.TimeoutExpired:
        return f"{shown}: it does not end"
    finally:
        now = path.lstat() if path.is_symlink() or path.exists() else None
    if now is None or stat.S_IFMT(now.st_mode) != stat.S_IFMT(before.st_mode):
        return f"{shown}: {way} was replaced"
    if "Traceback" in done.stderr or "bug in tailback" in done.stderr:
        return f"{shown}: {done.returncode} {done.stderr[-600:]}"
    if done.returncode not in (0, 1, 2, 3):
        return f"{shown}: exit code {done.returncode}: {done.stderr[-300:]}"
    if controls(done.stderr + done.stdout):
        return f"{shown}: {(done.stderr + done.stdout)[-300:]!r}"
    return None


def test_the_paths_of_all_commands_are_among_them() -> None:
    found = {(" ".join(words), parameter.name) for words, parameter in options()}
    assert len(found) > 40
    assert {("otg", "token_file"), ("otg", "tls_cert")} <= found


@pytest.mark.parametrize("seed", range(12))
def test_a_path_that_is_no_plain_file(seed: int, tmp_path: Path) -> None:
    draw = random.Random(f"paths {seed}")
    words, parameter = draw.choice(list(options()))
    assert wrong(words, parameter, draw.choice(WAYS), tmp_path) is None


@pytest.mark.trials
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("way", WAYS)
def test_every_path_of_every_command(way: str, tmp_path: Path) -> None:
    found = []
    for number, (words, parameter) in enumerate(options()):
        folder = tmp_path / str(number)
        folder.mkdir()
        if (what := wrong(words, parameter, way, folder)) is not None:
            found.append(what)
    assert found == []
