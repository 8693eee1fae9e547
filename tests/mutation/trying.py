"""All mutants of one file, tried: within one pytest session that forks for each.

The session has collected the tests, so that everything is imported, and runs none itself. A child
has its mutant swapped in and runs the tests that reach the changed line, the quickest first. A
change that is no matter of a function's body is tried in a session of its own, within a child that
lets go of all of this repository's modules and imports them anew.
Compiled kernels run as plain Python (NUMBA_DISABLE_JIT=1); without that each mutant is compiled,
and nothing that was compiled before is used.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tests.mutation.covered import EXAMPLES, HERE, TESTS, files_of, module
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.reached import Reached, failed, measured
from tests.mutation.swapping import Swapping
from tests.planting import plant

SLOWER, MOST_S = 5, 5
"""A mutant that takes so many times its tests' time, and so much more, does not end by itself."""
WALL_S, LEAST_S = 300, 3
"""A child that sleeps, and has computed for less than `LEAST_S` in so long a time, waits for what
does not come; on a busy machine one that computes has its share of a core, or next to none."""
FOUND, SURVIVED, UNREACHED = "found", "survived", "not reached"
OPTIONS = ("-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow and not software", "--no-header")
KEPT_BY_HYPOTHESIS = "_hypothesis_internal_use_settings"
"""Where it keeps, and looks up, a test's settings."""

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
CACHE = "NUMBA_CACHE_DIR"
"""Where numba looks for what it has compiled."""

PLUGIN = "_tailback_pytest"
"""What our own pytest plugin's modules are called: see `traces.pytest_plugin.entry_point`."""

Known = tuple[int, set[tuple[int, str]]]
"""Of a score: how many mutants there were, and line and change of each survivor."""


class Broken(Exception):
    """The tests fail, or are none, on the file as it is."""


class Fewer:
    """A pytest plugin that has properties tried on no more examples than so."""

    def __init__(self, most: int | None) -> None:
        self._most = most

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """See pytest."""
        for item in items:
            test = getattr(item, "obj", None)
            now: settings | None = getattr(test, KEPT_BY_HYPOTHESIS, None)
            if self._most is not None and now is not None:
                few = settings(now, max_examples=min(now.max_examples, self._most))
                setattr(test, KEPT_BY_HYPOTHESIS, few)


class Trying:
    """A pytest plugin that tries the mutants of a file in place of running the tests."""

    def __init__(
        self,
        file: str,
        jobs: int,
        told: Callable[[str], None],
        known: Known | None = None,
        most: int = 0,
    ) -> None:
        self._file, self._jobs, self._told, self._known = file, jobs, told, known
        self._path = HERE / file
        self._text = self._path.read_text(encoding="utf-8")
        self._bodies = set(_in_bodies(self._text))
        self.rows: list[tuple[Mutant, str]] = []
        self.wrong = ""
        self.whole = mutants(self._path)
        self.all = spread(self.whole, most)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """See pytest."""
        self._items = {item.nodeid: item for item in session.items}
        self.wrong, self._reached = self._measured()
        if not self.wrong and self._imported(self._text) != 0:
            self.wrong = "imported anew"
        if not self.wrong:
            self._swapping = Swapping(str(self._path), self._text)
            gc.freeze()  # a child that collects would copy all that it shares with us
            found = self.all if self._known is None else self._survivors(self._known)
            with ThreadPoolExecutor(self._jobs) as hands:
                for mutant, outcome in zip(found, hands.map(self._try, found), strict=True):
                    self.rows.append((mutant, outcome))
                    self._told(f"{self._file}: {len(self.rows)} of {len(found)}")
        return True

    def _survivors(self, known: Known) -> list[Mutant]:
        """Those that survived last time. Nothing, and `wrong`, where the file is another now."""
        found = [one for one in self.all if (one.line, one.key) in known[1]]
        if (len(self.all), len(found)) != (known[0], len(known[1])):
            self.wrong = "it has changed since it was tried: try it whole"
            return []
        return found

    def _measured(self) -> tuple[str, Reached]:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            notes = Path(folder) / "reached"

            def measure() -> int:
                notes.write_bytes(pickle.dumps(measured(list(self._items.values()), self._path)))
                return 0

            _child(measure, 600.0)
            if not notes.exists():
                return "no test came to its end", {}
            found: tuple[str, Reached] = pickle.loads(notes.read_bytes())
        return found

    def _try(self, mutant: Mutant) -> str:
        if COMPILED:
            return SURVIVED if self._imported(mutant.text) == 0 else FOUND
        lines = set(range(mutant.first, mutant.last + 1))
        chosen = [test for test, (_, theirs) in self._reached.items() if theirs & lines]
        if not chosen and mutant.line in self._bodies:
            return UNREACHED
        chosen.sort(key=lambda test: self._reached[test][0])
        changed = self._swapping.change(mutant.text)

        def swapped() -> int:
            self._swapping.swap(changed or {})
            return bool(failed([self._items[test] for test in chosen]))

        if changed is None:
            return SURVIVED if self._imported(mutant.text) == 0 else FOUND
        allowed = MOST_S + SLOWER * sum(self._reached[test][0] for test in chosen)
        return SURVIVED if _child(swapped, allowed) == 0 else FOUND

    def _imported(self, text: str) -> int:
        """Run all tests with another text in a child that imports it; pytest's exit code."""

        whole = sum(seconds for seconds, _ in self._reached.values())
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:

            def anew() -> int:
                _let_go()
                os.environ[CACHE] = folder
                return imported(self._file, text)

            return _child(anew, 2 * MOST_S + SLOWER * whole)


def spread(found: list[Mutant], most: int) -> list[Mutant]:
    """So many of them, spread evenly over the file; all where there are no more. 0: all."""
    count = min(most or len(found), len(found))
    return [found[place * len(found) // count] for place in range(count)]


def score(
    file: str,
    jobs: int,
    told: Callable[[str], None],
    known: Known | None = None,
    most: int = 0,
) -> dict[str, Any]:
    """Try all mutants of a file: how many were found, and which not. Raises Broken.

    `known`: how many there were last time, and the survivors, which alone are tried again.
    `most`: try a sample of so many; 0: all.
    """
    trying = Trying(file, jobs, told, known, most)
    code = pytest.main([*OPTIONS, *TESTS[file]], plugins=[Fewer(EXAMPLES.get(file)), trying])
    if code != 0 or trying.wrong:
        raise Broken(f"its tests do not pass as it is (exit code {int(code)}) {trying.wrong}")
    missed = sum(outcome != FOUND for _, outcome in trying.rows)
    part = len(trying.all) < len(trying.whole)
    said = {"note": f"a sample of {len(trying.whole)}"} if part else {}
    return said | {
        "digest": digest(file),
        "mutants": len(trying.all),
        "found": len(trying.all) - missed,
        "survivors": [
            {"line": m.line, "change": m.key, "outcome": outcome}
            for m, outcome in trying.rows
            if outcome != FOUND
        ],
    }


def digest(file: str) -> str:
    """Tells whether a score is of the file, and the tests, as they are now."""
    whole = hashlib.sha256()
    for name in (file, *sorted(files_of(TESTS[file]))):
        whole.update((HERE / name).read_bytes())
    return whole.hexdigest()[:16]


def imported(file: str, text: str) -> int:
    """Run the tests of a file that is imported with another text; pytest's exit code."""
    plant({module(file): lambda _: text})
    fewer = Fewer(EXAMPLES.get(file))
    return int(pytest.main([*OPTIONS, "-x", *TESTS[file]], plugins=[fewer]))


def _let_go() -> None:
    """Forget every module of this repository; libraries, which take longer to import, stay, and so
    does our plugin, which pytest has loaded by a name of its own."""
    ours = [name for name, loaded in sys.modules.items() if _ours(loaded)]
    for name in ours:
        if not name.startswith(PLUGIN):
            del sys.modules[name]


def _ours(loaded: ModuleType) -> bool:
    places = [getattr(loaded, "__file__", None), *getattr(loaded, "__path__", ())]
    paths = [Path(place) for place in places if place is not None]
    return any(path.is_relative_to(HERE) and "site-packages" not in path.parts for path in paths)


def _in_bodies(text: str) -> set[int]:
    """Lines in bodies of functions: who does not call those does not reach them."""
    return {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }


def _child(work: Callable[[], int], cpu_s: float) -> int:
    """Carry work out in a fork; its exit code, or the signal that ended it below 0."""
    process = os.fork()
    if process == 0:
        with suppress(BaseException):
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
            silence = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(silence, number)
            os._exit(work())
        os._exit(70)
    code = _waited(process)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what its tests had started
    return code


def _waited(process: int) -> int:
    seen, end = 0.0, time.monotonic() + WALL_S
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            now, wants_a_core = _looked_at(process)
            if not wants_a_core and now < seen + LEAST_S:
                break
            seen, end = now, time.monotonic() + WALL_S
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -signal.SIGKILL


def _looked_at(process: int) -> tuple[float, bool]:
    """CPU seconds of a child and of those of its children that have ended; whether it would go on
    if it had a core."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK"), words[0] == "R"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    asked, places, most_tried, report, *before = sys.argv[1:]
    last = json.loads(before[0]) if before else None
    if last is not None:
        last = last["mutants"], {(one["line"], one["change"]) for one in last["survivors"]}
    try:
        made = score(asked, int(places), _say, last, int(most_tried))
    except Broken as broken:
        sys.exit(f"{asked}: {broken}")
    Path(report).write_text(json.dumps(made))
