"""A page as one script of the shell: every block in order, in one shell, saved files in between.

All of the shell's state lasts from block to block, as a reader's does. A command that fails ends
the script; what it printed is told with the block's place.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.docs.pages import Block
from tests.docs.room import Room

ACTIVATION = ". .venv/bin/activate"
END = "END_OF_THE_BLOCK"
LENIENT = """tailback() {
  command tailback "$@" || case $? in 1 | 3) ;; 2) return 2 ;; *) return 99 ;; esac
}
export -f tailback"""
"""On real frames: what the machine does to runs, and so to expectations, is not the question."""
SESSION = "the_page.py"
"""Python that is saved under no name: all blocks of the page so far."""


def script(blocks: Sequence[Block], told: Path, activated: bool) -> str:
    """The shell's lines. What block n prints goes to the file n in `told`."""
    lines = ["set -eo pipefail", ACTIVATION if activated else ":"]
    if any("real frames" in block.markers for block in blocks):
        lines.append(LENIENT)
    for number, block in enumerate(blocks):
        if block.language == "text" or "goes into" in block.markers:
            continue
        lines += [
            f"echo {number} > {_at(told, 'block')}",
            "{",
            *_run(block),
            "}" + _into(told, number),
        ]
    lines.append(f"echo done > {_at(told, 'block')}")
    return "\n".join(lines) + "\n"


def _at(folder: Path, name: str) -> str:
    return shlex.quote(str(folder / name))


def _into(told: Path, number: int) -> str:
    return f" > {_at(told, str(number))} 2>&1"


def _run(block: Block) -> list[str]:
    """The lines that do what a reader does with a block."""
    if block.file:
        place = block.file if block.file.startswith("~/") else shlex.quote(block.file)
        return [f"mkdir -p $(dirname {place})", f"cat > {place} <<'{END}'", block.text + END]
    if block.language == "python":
        return [f"cat >> {SESSION} <<'{END}'", block.text + END, f"python {SESSION}"]
    if "ends with" in block.markers:
        code = block.markers["ends with"]
        return ["set +e", block.text.rstrip(), f"[ $? = {code} ] || exit 99", "set -e"]
    return [block.text.rstrip()]


def work_through(
    blocks: Sequence[Block], room: Room, cache: Path, activated: bool, most_s: float
) -> None:
    """Run the blocks of a page. Raises AssertionError with what the failed one printed."""
    told = room.home / "told"
    told.mkdir()
    shell = subprocess.Popen(
        ["bash", "--norc", "-c", script(blocks, told, activated)],
        cwd=room.checkout,
        env=room.environment(cache),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code: int | str = shell.wait(most_s)
    except subprocess.TimeoutExpired:
        code = f"nothing within {most_s} s"
    finally:  # and what a block has left in the background
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
        shell.wait()
    reached = (told / "block").read_text().strip() if (told / "block").exists() else "0"
    if reached != "done":
        failed = blocks[int(reached)]
        said = (told / reached).read_text("utf-8", "replace")[-4000:]
        raise AssertionError(f"{failed.place} ended with {code}:\n{failed.text}\n{said}")
    for number, block in enumerate(blocks):
        if block.language == "text":
            _compare(block, (told / str(number - 1)).read_text("utf-8", "replace"))


def _compare(shown: Block, printed: str) -> None:
    """Every line that the page shows was printed, in this order; … stands for anything."""
    rest = [" ".join(line.split()) for line in printed.splitlines()]
    for line in filter(None, (" ".join(line.split()) for line in shown.text.splitlines())):
        pattern = ".*".join(map(re.escape, line.split("…")))
        place = next((n for n, told in enumerate(rest) if re.fullmatch(pattern, told)), None)
        assert place is not None, f"{shown.place}: {line!r} was not printed:\n{printed}"
        rest = rest[place + 1 :]
