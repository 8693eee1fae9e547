"""The tree against the language rules of the contributing page: words, names and first sentences.

Every rule is a function of sources, so that the test of the rule runs it on a planted fault too.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PRIVATE_WORD = re.compile(r"\btold\b")
MOST_PRIVATE = 20
"""Uses of the word in all non-test Python: fewer than this."""

VAGUE = {
    "told",
    "said",
    "felt",
    "heard",
    "asked",
    "found",
    "there",
    "again",
    "beside",
    "known",
    "kept",
    "looked",
    "whole",
    "part",
    "parts",
    "one",
    "ones",
    "thing",
    "things",
    "place",
    "places",
    "way",
    "ways",
    "what",
}
"""Words that no module, function or class is named by: these words do not say a role."""

FREE_RELATIVE = re.compile(
    r"(?:(?:What|Which|Who|Whom|Where|When|How)(?:ever)?|Whether|Whose|That)\b"
)
FREE_SHARE = 0.05
"""Docstrings that begin with a free relative, as a share of all docstrings: less than this."""

MOST_DUPLICATES = 60
"""File names that more than one directory has: fewer than this."""


def python_sources() -> dict[str, str]:
    """Path -> text of the Python files that git tracks (or would), tests excepted."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    paths = listed.stdout.split() or [p.relative_to(ROOT).as_posix() for p in _walk()]
    return {
        path: (ROOT / path).read_text("utf-8")
        for path in sorted(paths)
        if not path.startswith("tests/") and (ROOT / path).is_file()
    }


def _walk() -> Iterator[Path]:
    """Python files of a tree that is no clone, such as an unpacked source archive."""
    for package in ("orchestrator", "plugins", "traffic", "traces", "firmware", "tailback"):
        yield from (ROOT / package).rglob("*.py")
    yield from ROOT.glob("*.py")


@cache
def parsed(text: str) -> ast.Module:
    """Syntax tree of a source: several rules read the same ones."""
    return ast.parse(text)


def private_words(sources: Mapping[str, str]) -> list[str]:
    """`path:line: text` of every use of the private word."""
    return [
        f"{path}:{number}: {line.strip()}"
        for path, text in sources.items()
        for number, line in enumerate(text.splitlines(), 1)
        for _ in PRIVATE_WORD.findall(line)
    ]


def name_words(name: str) -> set[str]:
    """Words of a name in snake_case or CamelCase, in lower case."""
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


def vague_names(sources: Mapping[str, str]) -> list[str]:
    """`path: name` of modules, packages, functions and classes with a vague word."""
    packages = {parent for path in sources for parent in Path(path).parents}
    wrong = [f"{path}/" for path in sorted(packages) if name_words(path.name) & VAGUE]
    for path, text in sources.items():
        names = [Path(path).stem, *(node.name for node in _definitions(parsed(text)))]
        wrong += [f"{path}: {name}" for name in names if name_words(name) & VAGUE]
    return wrong


def _definitions(
    tree: ast.AST,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def docstrings(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(`path: name`, docstring) of modules, public functions, methods and classes."""
    return [
        (f"{path}: {name}", docstring)
        for path, text in sources.items()
        for name, docstring in _docstrings(text)
    ]


@cache
def _docstrings(text: str) -> list[tuple[str, str]]:
    public = [node for node in _definitions(parsed(text)) if not node.name.startswith("_")]
    named = ((getattr(n, "name", "module"), ast.get_docstring(n)) for n in (parsed(text), *public))
    return [(name, docstring) for name, docstring in named if docstring]


def free_relatives(sources: Mapping[str, str]) -> list[str]:
    """`path: name: first line` of docstrings that do not begin with the thing they describe."""
    return [
        f"{where}: {text.splitlines()[0]}"
        for where, text in docstrings(sources)
        if FREE_RELATIVE.match(text)
    ]


def duplicate_basenames(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """File name -> paths, of names that more than one directory has."""
    names = Counter(Path(path).name for path in sources)
    return {
        name: [path for path in sources if Path(path).name == name]
        for name, count in sorted(names.items())
        if count > 1 and name != "__init__.py"
    }


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The tree as it stands."""
    tree = python_sources()
    assert len(tree) > 500
    return tree


def _lines(offenders: object) -> str:
    rows = offenders if isinstance(offenders, list) else [str(offenders)]
    return "\n" + "\n".join(rows)


def test_the_private_word_is_rare(sources: dict[str, str]) -> None:
    offenders = private_words(sources)
    assert len(offenders) < MOST_PRIVATE, _lines(offenders)


def test_no_name_has_a_vague_word(sources: dict[str, str]) -> None:
    offenders = vague_names(sources)
    assert not offenders, _lines(offenders)


def test_docstrings_begin_with_the_thing_that_they_describe(sources: dict[str, str]) -> None:
    offenders = free_relatives(sources)
    assert len(offenders) < FREE_SHARE * len(docstrings(sources)), _lines(offenders)


def test_module_docstrings_begin_with_the_thing_that_they_describe(
    sources: dict[str, str],
) -> None:
    offenders = [one for one in free_relatives(sources) if ": module: " in one]
    assert len(offenders) < FREE_SHARE * len(sources), _lines(offenders)


def test_file_names_are_rarely_reused(sources: dict[str, str]) -> None:
    duplicates = duplicate_basenames(sources)
    rows = [f"{name}: {', '.join(paths)}" for name, paths in duplicates.items()]
    assert len(duplicates) < MOST_DUPLICATES, _lines(rows)


PLANTED = {
    "tree/told.py": '"""Rate limiter."""\n',
    "tree/places/limiter.py": '"""Whether a frame may go."""\nx = "was told, is told"\n',
    "added/limiter.py": (
        '"""Rate limiter."""\n\n\nclass WholeThing:\n    """That which holds."""\n\n'
        '    async def ask_again(self):\n        """Whoever asks."""\n\n'
        '    def _inner_part(self):\n        """What is private."""\n'
    ),
}


def test_planted_private_words_are_counted_each() -> None:
    (one, other) = private_words(PLANTED)
    assert one == other == 'tree/places/limiter.py:2: x = "was told, is told"'


def test_planted_vague_names_are_listed() -> None:
    assert vague_names(PLANTED) == [
        "tree/places/",
        "tree/told.py: told",
        "added/limiter.py: WholeThing",
        "added/limiter.py: ask_again",
        "added/limiter.py: _inner_part",
    ]


def test_planted_free_relatives_are_listed() -> None:
    assert free_relatives(PLANTED) == [
        "tree/places/limiter.py: module: Whether a frame may go.",
        "added/limiter.py: WholeThing: That which holds.",
        "added/limiter.py: ask_again: Whoever asks.",
    ]
    assert not FREE_RELATIVE.match("Whatsoever")
    assert not FREE_RELATIVE.match("Thatcher")


def test_planted_duplicates_are_listed() -> None:
    assert duplicate_basenames(PLANTED) == {
        "limiter.py": ["tree/places/limiter.py", "added/limiter.py"]
    }
