"""The command: see the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.mutation import page
from tests.mutation.covered import HERE, TESTS, TWO_FORMS, files_of


def changed(base: str) -> list[str]:
    """Covered files that differ from a branch, or whose tests do, committed or not."""
    begun = [*_git("merge-base", base, "HEAD"), "HEAD"][0]
    names = {*_git("diff", "--name-only", begun), *_git("ls-files", "--others")}
    return [file for file, tests in TESTS.items() if names & {file, *files_of(tests)}]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.split()


def tried(file: str, asked: argparse.Namespace) -> dict[str, Any] | None:
    """The score of a file; None where its tests do not pass, which was said then."""
    last = page.scores().get(file) if asked.again else None
    found = _session(file, asked, last, plain=True)
    if found is not None and found["survivors"] and file in TWO_FORMS:
        found = _session(file, asked, found, plain=False)
    return found


def _session(
    file: str, asked: argparse.Namespace, last: dict[str, Any] | None, plain: bool
) -> dict[str, Any] | None:
    """The same in one form. `last`: of this score the survivors alone are tried."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        report = Path(folder) / "report.json"
        words = [file, str(asked.jobs), str(asked.sample), str(report)]
        words += [json.dumps(last)] if last else []
        command = [sys.executable, "-m", "tests.mutation.trying", *words]
        if file.endswith(".v"):
            command = [sys.executable, "-m", "tests.mutation.rtl.trying", file]
            command += [str(asked.sample), str(report), *(["quick"] if asked.quick else [])]
        form = os.environ | {"NUMBA_DISABLE_JIT": str(int(plain))}
        subprocess.run(command, cwd=HERE, env=form, stdout=subprocess.DEVNULL, check=False)
        found: dict[str, Any] | None = json.loads(report.read_text()) if report.exists() else None
        return found


def main() -> int:
    """Exit code 1 where a file stays below its room's aim, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="tests.mutation", description="Try mutants of files.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="covered files")
    parser.add_argument("--all", action="store_true", help="all covered files")
    parser.add_argument(
        "--quick", action="store_true", help="Verilog: only by sequences that are drawn evenly"
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N of a file's mutants")
    parser.add_argument("--base", default="main", help="the branch that changes are against")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--again",
        action="store_true",
        help="only what survived last time: where tests were added and the file is as it was",
    )
    parser.add_argument(
        "--survivors", action="store_true", help="list survivors of the last time; try nothing"
    )
    asked = parser.parse_args()
    if unknown := sorted(set(asked.files) - set(TESTS)):
        print(f"{unknown[0]} is not covered; see tests/mutation/covered.py", file=sys.stderr)
        return 2
    if asked.survivors:
        for file in asked.files or TESTS:
            print(page.survivors_text(file), end="")
        return 0
    files = asked.files or (list(TESTS) if asked.all else changed(asked.base))
    if not files:
        print(f"no covered file differs from {asked.base}", file=sys.stderr)
    low = False
    for file in files:
        score = tried(file, asked)
        if score is None:
            low = True
            continue
        page.keep(file, score)
        print(page.line(file, score))
        for survivor in page.unexplained(file, score):
            print(f"    {file}:{survivor['line']}: {survivor['outcome']}: {survivor['change']}")
        low = low or not page.reaches(file, score)
    page.write()
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
