"""Every command that takes runs, on folders that somebody has tampered with: a sentence that names
the folder, no traceback, and nothing half-written. What is changed: tests/traces/test_tampered.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from orchestrator.errors import BadInput
from orchestrator.terminal.run_arguments import RunArgumentCommand
from tests.traces.test_tampered import CORPUS
from traces import pcapng
from traces.trace_commands import register

ARGUMENTS = {
    "compare": lambda folder, sound: [str(sound), str(folder)],
    "analyze": lambda folder, sound: [str(folder)],
    "replay": lambda folder, sound: ["--run", str(folder)],
    "pack": lambda folder, sound: [str(folder), "--out", str(folder.parent / "capsule.zip")],
}
"""Of those that take more, or something else, than one run."""
OTHERS = ("analyze", "replay")
"""They read captures, and not everything that is in a folder besides."""
MOST_S = 10.0


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    register(made)
    return made


def names() -> list[str]:
    made = typer.Typer()
    register(made)
    return [
        entry.name or entry.callback.__name__
        for entry in made.registered_commands
        if entry.cls is RunArgumentCommand and entry.callback is not None
    ]


def tried(app: typer.Typer, command: str, folder: Path, sound: Path) -> Result:
    """What came of it, in time and without anything new in the folder."""
    before = sorted(os.listdir(folder))
    arguments = ARGUMENTS.get(command, lambda folder, sound: [str(folder)])(folder, sound)
    began = time.process_time()
    done = CliRunner().invoke(app, [command, *arguments])
    assert time.process_time() - began < MOST_S
    known = done.exception is None or isinstance(done.exception, BadInput | SystemExit)
    assert known, f"{command} ends with {done.exception!r}"
    if isinstance(done.exception, BadInput):
        assert str(folder) in str(done.exception)
        assert "\n  File" not in str(done.exception)
        assert sorted(os.listdir(folder)) == before
    return done


@pytest.fixture
def folders(make_folder: Callable[..., Path], capture: Callable[..., object]) -> tuple[Path, Path]:
    """A folder to tamper with, and a sound one."""
    made = make_folder("a"), make_folder("b", 2)
    for folder in made:
        (folder / "captures").mkdir()
        pcapng.write(folder / "captures" / "switch-sink.pcapng", capture(20))
    return made


def test_the_folders_are_sound_before(app: typer.Typer, folders: tuple[Path, Path]):
    for command in set(names()) - {"replay"}:
        assert tried(app, command, *folders).exit_code == 0, command


@pytest.mark.parametrize("command", names())
@pytest.mark.parametrize("name", CORPUS)
def test_a_tampered_folder_ends_in_a_sentence(
    app: typer.Typer, folders: tuple[Path, Path], command: str, name: str
):
    CORPUS[name](folders[0])
    done = tried(app, command, *folders)
    assert command in OTHERS or isinstance(done.exception, BadInput)


def captures(change: Callable[[Path], object]) -> Callable[[Path], None]:
    """A change of the one capture of a folder."""
    return lambda folder: change(folder / "captures" / "switch-sink.pcapng") and None


def overwritten(at: int, octets: bytes) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        whole = bytearray(path.read_bytes())
        whole[at : at + len(octets)] = octets
        path.write_bytes(whole)

    return change


def replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


CAPTURES: dict[str, Callable[[Path], None]] = {
    "empty": captures(lambda path: path.write_bytes(b"")),
    "words": captures(lambda path: path.write_text("frames" * 100)),
    "cut": captures(lambda path: path.write_bytes(path.read_bytes()[:-7])),
    "a block of 4 GB": captures(overwritten(4, b"\xfc\xff\xff\xff")),
    "a block of nothing": captures(overwritten(4, bytes(4))),
    "another byte order": captures(overwritten(8, b"\x1a\x2b\x3c\x4d")),
    "a folder": captures(replaced(lambda path: path.mkdir())),
    "a link to itself": captures(replaced(lambda path: path.symlink_to(path))),
    "a pipe": captures(replaced(lambda path: os.mkfifo(path))),
    "none": captures(lambda path: path.unlink()),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", OTHERS)
@pytest.mark.parametrize("name", CAPTURES)
def test_captures_that_are_none_end_in_a_sentence(
    app: typer.Typer, folders: tuple[Path, Path], command: str, name: str
):
    CAPTURES[name](folders[0])
    done = tried(app, command, *folders)
    said = str(done.exception) + done.output + done.stderr
    assert isinstance(done.exception, BadInput) or "damaged" in said
