"""How near a test file stands to a source file: by name, by imports, by words, by folder.

Words are those of names and sentences; one that few test files use weighs more than one that most
use (tf-idf, cosine). Imports are followed through the modules in between.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.covered import HERE, module

PACKAGES = ("orchestrator", "plugins", "traces", "traffic", "firmware", "tailback")
WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
IMPORTED = {1: 0.25, 2: 0.1}
"""What steps of imports are worth beside likeness of words, which is at most 1."""
FOLDER = 0.15
Weights = dict[str, float]


def nearest(file: str, count: int) -> list[str]:
    """So many test files, the nearest first; before all that of the file's name and of its
    folder's."""
    steps, weights = _importers(file), _weighed(_words(file))
    folder = Path("tests") / Path(file).parent
    named = [str(folder / f"test_{Path(file).name}"), str(folder.parent / f"test_{folder.name}.py")]

    def distance(test: str) -> tuple[int, float, str]:
        place = named.index(test) if test in named else len(named)
        near = _likeness(weights, _tests()[test]) + IMPORTED.get(steps.get(test, 0), 0)
        return place, -near - FOLDER * _shared_folders(file, test), test

    return sorted(_tests(), key=distance)[:count]


def _shared_folders(file: str, test: str) -> float:
    """The share of a file's folders that a test is in, as far as they are the same."""
    ours, theirs = Path(file).parts[:-1], Path(test).parts[1:-1]
    same = 0
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            break
        same += 1
    return same / max(len(ours), len(theirs), 1)


@functools.cache
def _files() -> dict[str, str]:
    """Dotted name -> file, of the tree and its tests."""
    found = (
        str(path.relative_to(HERE))
        for package in (*PACKAGES, "tests")
        for path in sorted((HERE / package).rglob("*.py"))
    )
    return {module(file).removesuffix(".__init__"): file for file in found}


def _imports(file: str) -> Iterator[str]:
    """The files of the tree that one imports, in functions as well."""
    files, package = _files(), module(file).split(".")
    for node in ast.walk(ast.parse((HERE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inner = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in files else base for name in inner]
        else:
            continue
        yield from (files[name] for name in names if name in files)


@functools.cache
def imported_by() -> dict[str, set[str]]:
    """File -> the files that import it."""
    found = defaultdict[str, set[str]](set)
    for file in _files().values():
        for other in _imports(file):
            found[other].add(file)
    return found


def _importers(file: str) -> dict[str, int]:
    """Who imports a file, in how many steps."""
    steps, edge = {file: 0}, [file]
    while edge:
        following = {other for one in edge for other in imported_by()[one]} - set(steps)
        steps |= dict.fromkeys(following, steps[edge[0]] + 1)
        edge = sorted(following)
    return steps


def _words(file: str) -> Counter[str]:
    text = (HERE / file).read_text(encoding="utf-8")
    return Counter(word.lower() for word in WORD.findall(text))


@functools.cache
def _words_of_tests() -> dict[str, Counter[str]]:
    files = _files().values()
    return {file: _words(file) for file in files if Path(file).name.startswith("test_")}


@functools.cache
def _users() -> Counter[str]:
    """Word -> how many test files use it."""
    return Counter(word for words in _words_of_tests().values() for word in words)


@functools.cache
def _tests() -> dict[str, Weights]:
    return {file: _weighed(words) for file, words in _words_of_tests().items()}


def _weighed(words: Counter[str]) -> Weights:
    """The weights of words, with length 1; words that no test uses have none."""
    every, users = len(_words_of_tests()), _users()
    weights = {
        word: (1 + math.log(count)) * math.log(every / users[word])
        for word, count in words.items()
        if word in users
    }
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}


def _likeness(one: Weights, other: Weights) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())
