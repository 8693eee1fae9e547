"""Faults drawn by a seed over the whole tree: does a test beside the file turn red?

    python -m tests.mutation.drawn --draw 60 --seed 1 [--pure] [--out FILE]

A file is drawn by its lines, then one of its mutants. The tests beside a file are those of
`covered.py`, then the nearest test files (`nearness.py`), so many in all. Where these pass, those
of them that need real frames are run too. Each fault is planted at the import of a process of its
own and of those that this one starts; the test that failed has to pass without the fault, with as
much to compile, or the fault counts as not found.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.engine import cache_paths
from tests.mutation.covered import HERE, NEAREST, files_of, module
from tests.mutation.mutants import Mutant, drawn_mutant
from tests.mutation.nearness import PACKAGES, imported_by, nearest
from tests.scores import Score, Survivor, write_score

CHOSEN = ("-q", "-x", "-n0", "-p", "no:cacheprovider", "-m")
SHARED, REAL_FRAMES = "not slow and not software", "not slow and software"
COMPILES = re.compile(r"^@(compiled|inlined)|\bKernel\b|kernels=", re.MULTILINE)
COMPILER = "orchestrator/engine/numba_backend/"
MOST_FILES = 12
NONE_SELECTED = 5
PASSED = (0, NONE_SELECTED)
LIMIT_S = 1500.0
"""Of a whole run: a test that does not end is failed by its own limit long before, and tests that
compile anew take minutes on a busy machine."""
KILLED, SURVIVED, UNTESTED, TIMED_OUT = "killed", "survived", "no test beside it", "no end"
UNDECIDED = "undecided"
"""The test that failed fails without the fault as well."""
FAILED_LINE = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
"""A summary line of pytest: an identifier may hold spaces and dashes between brackets."""
AT_START = "sitecustomize.py"
"""Python imports it before all else, in each process that inherits the path."""
PLANTED = """
import runpy
from pathlib import Path
text = Path({text!r}).read_text()
runpy.run_path({planting!r})["plant"](dict.fromkeys({modules!r}, lambda _: text))
"""


@dataclass(frozen=True)
class Fault:
    """A mutant of a file."""

    file: str
    mutant: Mutant

    @property
    def name(self) -> str:
        """File, line and change."""
        return f"{self.file}:{self.mutant.line}: {self.mutant.key}"


def sources(*, pure: bool) -> list[str]:
    """The tree's modules but for tests; `pure`: without those that numba compiles."""
    found = [
        str(path.relative_to(HERE))
        for package in PACKAGES
        for path in sorted((HERE / package).rglob("*.py"))
    ]
    if pure:
        found = [one for one in found if not _compiles(one)]
    return [one for one in found if len((HERE / one).read_text().splitlines()) > 10]


def drawn(count: int, seed: int, *, pure: bool) -> list[Fault]:
    """So many faults, in files drawn by their lines."""
    draw, files = random.Random(f"faults {seed}"), sources(pure=pure)
    lines = [len((HERE / one).read_text().splitlines()) for one in files]
    found: list[Fault] = []
    while len(found) < count:
        file = draw.choices(files, lines)[0]
        if (mutant := drawn_mutant(HERE / file, draw)) is not None:
            found.append(Fault(file, mutant))
    return found


def beside(file: str) -> list[str]:
    """The tests of a file, the nearest first."""
    listed = [one for one in NEAREST.get(file, ()) if (HERE / one.partition("::")[0]).exists()]
    others = [one for one in nearest(file, MOST_FILES) if one not in files_of(tuple(listed))]
    return [*listed, *others][: max(MOST_FILES, len(listed))]


def called(file: str) -> list[str]:
    """The names that a file is imported by: pytest has our plugin by one of its own."""
    name = module(file).removesuffix(".__init__")
    package, alias = "traces.pytest_plugin.", "_tailback_pytest_plugin."
    return [name, *([name.replace(package, alias)] if name.startswith(package) else [])]


def is_compiled(fault: Fault) -> bool:
    """Whether numba may compile a fault: it is in a module with compiled code, in the compiler or
    what that imports, or outside of the functions of a module that such a one imports. What was
    compiled before has no such fault."""
    users = [one for one in imported_by()[fault.file] if not one.startswith("tests/")]
    if _compiles(fault.file) or any(one.startswith(COMPILER) for one in users):
        return True
    for node in ast.walk(ast.parse((HERE / fault.file).read_text())):
        inside = isinstance(node, ast.FunctionDef) and node.end_lineno is not None
        if inside and node.body[0].lineno <= fault.mutant.line <= node.end_lineno:
            return False
    return any(map(_compiles, users))


def _compiles(file: str) -> bool:
    """Whether a module has compiled code, or is of the compiler."""
    return file.startswith(COMPILER) or bool(COMPILES.search((HERE / file).read_text()))


def _run(
    words: list[str], marks: str, *, planted: tuple[str, str], folder: str, compiled: bool
) -> tuple[int, str]:
    """Run tests with these marks where a file has this text; pytest's exit code and output. A run
    without an end has the code -9. `compiled`: use nothing that was compiled before."""
    text, start = Path(folder) / "planted.py", Path(folder) / AT_START
    text.write_text(planted[1])
    planting, modules = str(HERE / "tests/planting.py"), called(planted[0])
    start.write_text(PLANTED.format(planting=planting, modules=modules, text=str(text)))
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", *CHOSEN, marks, *words]
    environment["NUMBA_CACHE_DIR"] = cache = str(Path(folder) / "cache")  # what has the fault stays
    if not compiled:
        with suppress(shutil.Error):  # another process may be writing there
            shutil.copytree(cache_paths.folder(), cache, dirs_exist_ok=True)
    with subprocess.Popen(
        command,
        cwd=HERE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -signal.SIGKILL, ""


def tried(fault: Fault) -> tuple[str, str]:
    """Outcome of a fault, and the test that turned red."""
    tests = beside(fault.file)
    if not tests:
        return UNTESTED, ""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        planted, compiled = (fault.file, fault.mutant.text), is_compiled(fault)
        codes = []
        for marks in (SHARED, REAL_FRAMES):
            code, text = _run(tests, marks, planted=planted, folder=folder, compiled=compiled)
            codes.append(code)
            if code not in PASSED:
                break
        else:
            return UNTESTED if codes == [NONE_SELECTED] * 2 else SURVIVED, ""
        names = FAILED_LINE.findall(text)
        planted = planted[0], (HERE / fault.file).read_text()
        with tempfile.TemporaryDirectory(dir=folder) as inside:  # with as much to compile
            words = names[:1] or tests
            again, _ = _run(words, marks, planted=planted, folder=inside, compiled=compiled)
        test = names[0] if names else "" if code < 0 else "at import"
        if again != 0:
            return UNDECIDED, test
        return TIMED_OUT if code < 0 else KILLED, test


def main() -> int:
    """Exit code 1 below the aim of 85 %."""
    parser = argparse.ArgumentParser(prog="tests.mutation.drawn", description=__doc__)
    parser.add_argument("--draw", type=int, default=60, metavar="N", help="faults to draw")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the draw")
    parser.add_argument(
        "--pure", action="store_true", help="only modules of which numba compiles nothing"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the score as JSON")
    asked = parser.parse_args()
    survivors, files = [], dict[str, list[str]]()
    for fault in drawn(asked.draw, asked.seed, pure=asked.pure):
        outcome, test = tried(fault)
        print(f"{outcome}: {fault.name}{f' ({test})' if test else ''}", flush=True)
        files.setdefault(outcome, []).append(fault.file)
        if outcome in (SURVIVED, UNTESTED, UNDECIDED):
            count = len(files_of(tuple(beside(fault.file))))
            survivors.append(Survivor(fault.name, f"{outcome}: {count} test files beside it"))
    found = asked.draw - len(survivors)
    print(f"{found} of {asked.draw} killed")
    command = f"make mutants DRAW={asked.draw} SEED={asked.seed}{' PURE=1' if asked.pure else ''}"
    if asked.out is not None:
        write_score(asked.out, Score("faults", asked.seed, command, asked.draw, found, survivors))
    return int(found < 0.85 * asked.draw)


if __name__ == "__main__":
    sys.exit(main())
