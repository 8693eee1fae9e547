"""Condition coverage of this process and of the processes that it starts.

A folder has a list of files with the number of each one's first condition, and a map of two octets
a condition: the first is 1 when it was false once, the second when it was true. Processes that
have the folder's name in their environment (TAILBACK_CONDITIONS, and `startup` on PYTHONPATH) load
these files marked and write into the same map, so that no result has to be sent when they end.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from orchestrator.hunt.conditions import LOOP, MARK, Condition, conditions, marked

VARIABLE = "TAILBACK_CONDITIONS"
STARTUP = Path(__file__).parent / "startup"
FILES, MAP = "files.json", "marks"


class Marks:
    """The conditions of some files, and how they have come out so far."""

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self.folder = folder
        self.files: dict[Path, list[Condition]] = {}
        self.first: dict[Path, int] = {}
        count = 0
        for path in files:
            self.files[path] = conditions(path.read_text("utf-8"))
            self.first[path] = count
            count += len(self.files[path])
        numbers = {str(path): number for path, number in self.first.items()}
        (folder / FILES).write_text(json.dumps(numbers), encoding="utf-8")
        (folder / MAP).write_bytes(bytes(2 * max(count, 1)))
        self._map = _mapped(folder)

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """Of a process that is to note conditions, and of all that it starts."""
        path = os.pathsep.join(filter(None, (str(STARTUP), given.get("PYTHONPATH"))))
        return given | {VARIABLE: str(self.folder), "PYTHONPATH": path}

    def came_out(self, path: Path, number: int, how: bool) -> bool:
        """True if a file's condition was true, or false, once."""
        return self._map[2 * (self.first[path] + number) + how] == 1

    def state(self) -> bytes:
        """All of it, to be compared."""
        return self._map[:]

    def add(self, state: bytes) -> None:
        """Add the outcomes of another `state`."""
        self._map[:] = bytes(here | there for here, there in zip(self._map[:], state, strict=True))

    def clear(self) -> None:
        """Reset all outcomes."""
        self._map[:] = bytes(len(self._map))

    def close(self) -> None:
        """No more is asked."""
        self._map.close()


def _mapped(folder: Path) -> mmap.mmap:
    with (folder / MAP).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def install(folder: Path) -> None:
    """Have this process load the listed files marked."""
    numbers: dict[str, int] = json.loads((folder / FILES).read_text("utf-8"))
    marks = _mapped(folder)

    def mark(number: int, value: Any) -> Any:
        marks[2 * number + bool(value)] = 1
        return value

    def rounds(number: int, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            marks[2 * number + 1] = 1
            yield value
        marks[2 * number] = 1

    setattr(builtins, MARK, mark)
    setattr(builtins, LOOP, rounds)
    loader: Any = importlib.machinery.SourceFileLoader
    as_before: Callable[[Any, str], CodeType | None] = loader.get_code

    def get_code(self: Any, name: str) -> CodeType | None:
        source = os.path.realpath(self.get_filename(name))
        if source not in numbers:
            return as_before(self, name)
        text = Path(source).read_text("utf-8")
        made: CodeType = compile(marked(text, numbers[source]), source, "exec", dont_inherit=True)
        return made

    loader.get_code = get_code
